r"""The Bernoulli distribution, :math:`p(x) = \mu^x(1-\mu)^{1-x}` for x in {0, 1}.

Natural parameter :math:`\eta = \ln\frac\mu{1-\mu}` with statistic x and
:math:`A = \ln(1+e^\eta)`. Probabilities 0 and 1 are legal: certainty has infinite log odds.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.statistics import Sums
from posteriori.numerics.lazy import special
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.types import Array, Natural, number
from posteriori.numerics.validation import probability as check_probability

__all__ = ["Bernoulli"]


class Bernoulli(ExponentialFamily, Univariate):
    """Bernoulli distribution: 1 with the given probability, else 0.

    Parameters
    ----------
    probability : float or array
        Probability of a 1, in [0, 1].

    Examples
    --------
    >>> Bernoulli(0.25).log_prob([0, 1]).round(6)
    array([-0.287682, -1.386294])
    >>> Bernoulli.fit([1, 0, 1, 1])
    Bernoulli(0.75)
    """

    _parameters = {"probability": 0, "log_odds": 0}
    _shown = ("probability",)
    _has_atoms = True
    _natural_ndims = (0,)

    def __new__(cls, probability: Any) -> Self:
        return cls._from(probability=check_probability("probability", probability))

    @cached_property
    def probability(self) -> Array:
        """Probability μ of a 1."""
        return special.expit(self.log_odds)

    @cached_property
    def log_odds(self) -> Array:
        """The natural parameter ln μ/(1−μ), which keeps its digits where μ is near 1."""
        return special.logit(self.probability)

    @property
    def mean(self) -> Array:
        """Mean μ."""
        return self.probability

    @cached_property
    def variance(self) -> Array:
        """Variance μ(1 − μ)."""
        return self.probability * (1.0 - self.probability)

    @cached_property
    def mode(self) -> Array:
        """1 where μ > ½, else 0."""
        return np.where(self.probability > 0.5, 1.0, 0.0)[()]

    # -- exponential family ----------------------------------------------------------------

    def _averaged(self, weights: Array) -> Bernoulli:
        mean = np.einsum("...k,...k->...", weights, self.probability)
        return Bernoulli._from(probability=np.minimum(mean, 1.0))  # but for rounding

    @cached_property
    def natural(self) -> Natural:
        """(ln μ/(1−μ),)."""
        return (self.log_odds,)

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        (log_odds,) = natural
        if np.any(np.isnan(log_odds)):
            raise ValueError("contradictory certainties: the product of the two is 0 everywhere")
        return cls._from(log_odds=log_odds)

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the Bernoulli with E[x] as given."""
        return cls(*mean_params)

    def _log_normalizer(self) -> Array:
        return -np.log1p(-self.probability)

    @classmethod
    def _off_support(cls, x: Array) -> Any:
        return (x != 0) & (x != 1) & (x == x)

    # -- forms that hold at certainty ------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        p = self.probability
        return special.xlogy(x, p) + special.xlog1py(1.0 - x, -p)

    def _entropy(self) -> Array:
        return special.entr(self.probability) + special.entr(1.0 - self.probability)

    def _kl(self, other: Self) -> Array:
        p, q = self.probability, other.probability
        return relative_entropy_terms(p, q) + relative_entropy_terms(1.0 - p, 1.0 - q)

    def _fisher_information(self) -> Array:
        return self.variance[..., None, None]

    @classmethod
    def statistics(cls, x: Array, weights: Array | None = None) -> Sums:
        """Summarise by the number of ones."""
        count = number(len(x)) if weights is None else weights.sum()
        ones = x.sum(axis=0) if weights is None else np.tensordot(weights, x, axes=(0, 0))
        return Sums(count, (ones,), number(0.0))

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return np.where(x < 0, 0.0, np.where(x < 1, 1.0 - self.probability, 1.0))[()]

    def _quantile(self, q: Array) -> Array:
        return np.where(q > 1.0 - self.probability, 1.0, 0.0)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return (rng.random(shape or None) < self.probability) * 1.0

    def _interior(self) -> Array:
        return self.mode
