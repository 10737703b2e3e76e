r"""The negative binomial distribution,
:math:`p(x) = \frac{\Gamma(x+r)}{\Gamma(r)\,x!}\,p^r(1-p)^x` for x in {0, 1, 2, …}.

The number of failures before the r-th success, and a Poisson count whose rate has a gamma
distribution: its variance :math:`\mu + \mu^2/r` exceeds the mean μ = r(1−p)/p. As r grows at
equal mean it becomes Poisson.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.counts.compound_counts import negative_binomial_log_mass
from posteriori.distributions.counts.geometric import success_probability
from posteriori.distributions.counts.poisson_terms import count_quantile, off_whole_numbers
from posteriori.distributions.row_fits import gather_rows, require_support
from posteriori.numerics.calculus.newton import solve_increasing
from posteriori.numerics.lazy import special
from posteriori.numerics.random import draw_counts
from posteriori.numerics.special import log1pmx, log_gamma_correction_slope
from posteriori.numerics.types import Array
from posteriori.numerics.validation import exactly_one, positive

__all__ = ["NegativeBinomial"]

_COUNT_RANGE = (1e-8, 1e10)  # where fit looks for the count
_NO_LIMIT = np.asarray(np.inf)
#: Where both arguments of an incomplete beta function are larger, its expansion is exact to 10⁻¹⁰; the sum
#: that others take has as many terms as their root.
_MANY = 1e8


class NegativeBinomial(Univariate):
    """Negative binomial distribution of counts.

    Parameters
    ----------
    count : float or array
        Number of successes r > 0, not necessarily whole.
    probability : float or array
        Probability of success in one trial, in (0, 1].
    mean : float or array
        Instead of the probability, the mean μ > 0: it keeps its digits where p is near 1.

    Examples
    --------
    >>> d = NegativeBinomial(3.0, 0.25)
    >>> d.mean, d.variance
    (np.float64(9.0), np.float64(36.0))
    >>> NegativeBinomial(3.0, mean=9.0).probability
    np.float64(0.25)
    """

    _parameters = {"count": 0, "probability": 0, "mean": 0}
    _shown = ("count", "mean=")
    _has_atoms = True

    count: Array

    def __new__(cls, count: Any, probability: Any = None, *, mean: Any = None) -> Self:
        name = exactly_one("NegativeBinomial", probability=probability, mean=mean)
        given = success_probability(probability) if mean is None else positive("mean", mean)
        return cls._from(**{"count": positive("count", count), name: given})

    @cached_property
    def probability(self) -> Array:
        """Probability p = r/(r + μ) of success."""
        return self.count / (self.count + self.mean)

    @cached_property
    def mean(self) -> Array:
        """Mean μ = r(1 − p)/p."""
        return self.count * (1.0 - self.probability) / self.probability

    @cached_property
    def variance(self) -> Array:
        """Variance μ + μ²/r; infinite where it is beyond the largest number."""
        with np.errstate(over="ignore"):
            return self.mean * (1.0 + self.mean / self.count)

    @cached_property
    def mode(self) -> Array:
        """The whole number at or below μ(r − 1)/r, or 0 where r < 1."""
        return np.floor(self.mean * np.maximum(self.count - 1.0, 0.0) / self.count)

    # -- density ---------------------------------------------------------------------------

    def _outside(self, x: Array) -> Any:
        return off_whole_numbers(x)

    def _log_density(self, x: Array) -> Array:
        return negative_binomial_log_mass(x, self.count, self.mean)

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        last = np.minimum(np.floor(np.maximum(x, 0.0)), 1e300)
        r, mean, above = np.broadcast_arrays(self.count, self.mean, last + 1.0)
        many = np.minimum(r, above) > _MANY
        below = np.empty(r.shape)
        rare = mean > r  # the smaller of p and 1 − p has all its digits
        special.betainc(r, above, r / (r + mean), out=below, where=rare & ~many)
        special.betaincc(above, r, mean / (r + mean), out=below, where=~rare & ~many)
        below[many] = _cdf_of_many(r[many], mean[many], above[many])
        return np.where(x < 0, 0.0, np.where(x == np.inf, 1.0, below))[()]

    def _quantile(self, q: Array) -> Array:
        return count_quantile(self._cdf, q, self.mean, self.variance, _NO_LIMIT)

    def _panjer(self) -> tuple[Array, Array]:
        """Return a and b with p(x + 1)/p(x) = a + b/(x + 1)."""
        failure = self.mean / (self.count + self.mean)
        return failure, (self.count - 1.0) * failure

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        scale = np.minimum(self.mean / self.count, 1e300)  # a draw of 0 stays one
        rate = rng.standard_gamma(self.count, shape or None) * scale
        return draw_counts(rate, rng)

    def _interior(self) -> Array:
        return self.mode

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None, *, count: Any = None) -> Self:
        """Fit by maximum likelihood: the mean of the data, and the count that suits their spread.

        Parameters
        ----------
        data : array_like (N, ...), or iterator of chunks
            Rows are counts; further axes make a batch.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        count : float or array (...), optional
            The count r where it is known.

        Raises
        ------
        ValueError
            When all data are 0, or (for unknown count) their variance does not exceed their
            mean: the most likely count is then infinite, which is a Poisson distribution.
        """
        x, w = gather_rows(data, weights)
        require_support(cls.__name__, x, off_whole_numbers)
        mean = positive("the mean of the counts", (w * x).sum(axis=0))
        if count is not None:
            return cls(positive("count", count), mean=mean)
        variance = (w * (x - mean) ** 2).sum(axis=0)
        if not np.all(variance > mean):
            raise ValueError(
                "the data vary no more than Poisson counts: no finite count is most likely; "
                "fit Poisson instead"
            )

        def fall(t: Array) -> tuple[Array, Array]:
            return _likelihood_fall(np.exp(t), x, w, mean)

        low, high = np.log(_COUNT_RANGE)
        start = np.log(np.clip(mean**2 / (variance - mean), *_COUNT_RANGE))
        return cls(np.exp(solve_increasing(fall, low, high, start)), mean=mean)


def _likelihood_fall(r: Array, x: Array, w: Array, mean: Array) -> tuple[Array, Array]:
    r"""Return −d/d ln r of the mean log likelihood at the best mean, and its slope in ln r.

    :math:`\overline{\psi(x+r)} - \psi(r) - \ln(1+\bar x/r)` with the large terms cancelled.
    """
    slope_r = log_gamma_correction_slope(r)
    shrink = 0.5 * x / (r * (x + r)) + log_gamma_correction_slope(x + r) - slope_r
    first = (w * (log1pmx(x / r) + shrink)).sum(axis=0) - log1pmx(mean / r)
    gap = special.polygamma(1, x + r) - special.polygamma(1, r)
    second = (w * gap).sum(axis=0) + mean / (r * (r + mean))
    return -r * first, -r * first - r * r * second


def _cdf_of_many(r: Array, mean: Array, above: Array) -> Array:
    r"""Return :math:`I_p(r, k)` for large r and k, uniformly in p (DLMF 8.18.9, its first two terms).

    .. math:: I_p(r, k) \approx \tfrac12\mathrm{erfc}(-\eta\sqrt{n/2}) + \frac{e^{-n\eta^2/2}}{\sqrt{2\pi n}}
              \Big(\frac1\eta - \frac{\sqrt{x_0 y_0}}{p - x_0}\Big), \qquad n = r + k,\; x_0 = r/n

    with :math:`-\tfrac12\eta^2 = x_0\ln(p/x_0) + y_0\ln(q/y_0)`.
    """
    n = r + above
    ahead = (above - mean) / (r + mean)  # p/x₀ − 1
    half = -(r * log1pmx(ahead) + above * log1pmx(-ahead * r / above)) / n
    eta = np.sign(ahead) * np.sqrt(2.0 * np.maximum(half, 0.0))
    root = np.sqrt(r / n * (above / n))
    near = np.abs(eta) < 1e-9
    apart = np.where(near, 1.0, eta), np.where(near, 1.0, r / n * ahead)
    bend = np.where(near, (above - r) / n / (3.0 * root), 1.0 / apart[0] - root / apart[1])
    tail = 0.5 * special.erfc(-eta * np.sqrt(0.5 * n))
    return np.clip(tail + np.exp(-n * half) * bend / np.sqrt(2.0 * np.pi * n), 0.0, 1.0)
