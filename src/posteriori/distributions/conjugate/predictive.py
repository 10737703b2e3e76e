r"""The predictive distribution of any conjugate pair, written once.

.. math:: p(x) = \int p(x\mid\theta)\,p(\theta)\,d\theta
          = \frac{p(x\mid\theta)\,p(\theta)}{p(\theta\mid x)} \quad\text{at every } \theta.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.batches import take_members
from posteriori.numerics.types import Array

__all__ = ["Predictive"]


class Predictive(Distribution):
    """Distribution of the next datum with the parameters integrated out.

    Parameters
    ----------
    belief : distribution
        What is known of the parameters: a prior or a posterior.
    pair : Pair
        The conjugate pair; its known parameters describe the next datum.
    """

    _parameters = {}
    _shown = ("belief", "likelihood=")

    belief: Any
    pair: Any

    def __new__(cls, belief: Any, pair: Any) -> Predictive:
        self = object.__new__(cls)
        self.__dict__.update(belief=belief, pair=type(pair)(belief, pair.conditional))
        return self

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Batch shape of the belief."""
        shape: tuple[int, ...] = self.belief.batch_shape
        return shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one datum."""
        shape: tuple[int, ...] = self.pair.event_shape
        return shape

    @property
    def _event_ndim(self) -> int:  # type: ignore[override]
        ndim: int = self.pair.event_ndim
        return ndim

    @property
    def mean(self) -> Array:
        """E[x] = E[E[x | θ]]."""
        mean: Array = self.pair.predictive_moments(self.belief)[0]
        return mean

    @property
    def variance(self) -> Array:
        """Var[x] = E[Var[x | θ]] + Var[E[x | θ]]."""
        variance: Array = self.pair.predictive_moments(self.belief)[1]
        return variance

    @property
    def std(self) -> Array:
        """Standard deviation."""
        root: Array = np.sqrt(self.variance)
        return root

    def _outside(self, x: Array) -> Any:
        return self.pair.off_support(x)

    def _interior(self) -> Array:
        return np.zeros(self.event_shape)

    def _log_density(self, x: Array) -> Array:
        statistics = self.pair.summarize(np.asarray(x)[None])
        posterior = self.pair.update(self.belief, statistics)
        value: Array = self.pair.log_evidence(posterior, statistics)
        return value

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        lead = shape[: len(shape) - len(self.batch_shape)]
        theta = self.belief.sample(lead, rng=rng)
        values = theta if isinstance(theta, tuple) else (theta,)
        return self.pair.conditional.at(*values).sample(rng=rng)

    def _take_members(self, index: Any) -> Predictive:
        return Predictive(take_members(self.belief, index), self.pair)

    def _key(self) -> tuple[Array, ...]:
        known = self.pair.known
        return (*self.belief._key(), *(np.asarray(known[name]) for name in sorted(known)))

    def __reduce__(self) -> tuple[Any, ...]:
        return Predictive, (self.belief, self.pair)

    def __repr__(self) -> str:
        family = self.pair.likelihood_family.__name__
        return f"Predictive({self.belief!r}, likelihood={family})"
