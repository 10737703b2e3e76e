r"""Student's t distribution,
:math:`p(x) = \frac{\Gamma(\frac{\nu+1}2)}{\Gamma(\frac\nu2)\sqrt{\nu\pi}\,s}
\left(1 + \frac{z^2}\nu\right)^{-\frac{\nu+1}2}`, :math:`z = (x-m)/s`.

A normal distribution whose precision is itself uncertain,
:math:`\tau\sim\mathrm{Gamma}(\tfrac\nu2, \tfrac\nu2)`, :math:`x\sim N(m, s^2/\tau)`: outliers are
explained by a small τ, so that fits stay with the bulk of the data.

Reference: C. Liu & D. Rubin, "ML estimation of the t distribution using EM and its extensions,
ECM and ECME", 1995.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Symmetric, any_of
from posteriori.distributions.formatting import format_distribution
from posteriori.distributions.row_fits import gather_rows, weighted_median
from posteriori.numerics.lazy import special
from posteriori.numerics.special import (
    LOG_2PI,
    log1pmx,
    log_gamma_correction,
    log_gamma_correction_slope,
)
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive, real

__all__ = ["StudentT", "log1p_square"]

_FAR = 1e150  # from here on z² would overflow
_DOF_RANGE = (1e-2, 1e6)  # where fit looks for dof

#: Steps of a fit, at most.
_MAX_ITER = 2000


class StudentT(Symmetric):
    """Student's t distribution on the real line.

    Parameters
    ----------
    dof : float or array
        Degrees of freedom ν > 0: 1 is the Cauchy distribution, ∞ the normal.
    mean : float or array
        Centre m: the mean where ν > 1, the median and the mode always.
    scale : float or array
        Scale s > 0, not the standard deviation: the variance is s²ν/(ν − 2).

    Examples
    --------
    >>> StudentT(4.0, 1.0, scale=1.5**0.5).log_prob(2.2).round(6)
    np.float64(-1.72134)
    >>> StudentT(4.0, scale=1.0).variance
    np.float64(2.0)
    """

    _parameters = {"dof": 0, "mean": 0, "scale": 0}
    _shown = ("dof", "mean", "scale=")

    dof: Array
    scale: Array

    def __new__(cls, dof: Any, mean: Any = 0.0, *, scale: Any) -> Self:
        return cls._from(
            dof=positive("dof", dof), mean=real("mean", mean), scale=positive("scale", scale)
        )

    @property
    def location(self) -> Array:
        """Centre m, whether or not it is a mean."""
        centre: Array = self.__dict__["mean"]
        return centre

    @property
    def mean(self) -> Array:
        """Mean m, which exists where ν > 1."""
        if np.any(self.dof <= 1):
            raise ValueError(
                "the mean of StudentT exists only for dof > 1; location and median always do"
            )
        return self.location

    @cached_property
    def variance(self) -> Array:
        """Variance s²ν/(ν − 2); infinite where 1 < ν <= 2."""
        if np.any(self.dof <= 1):
            raise ValueError("the variance of StudentT exists only for dof > 1")
        finite = self.dof > 2
        ratio = self.dof / np.where(finite, self.dof - 2.0, 1.0)
        return np.where(finite, self.scale**2 * ratio, np.inf)[()]

    @property
    def _centre(self) -> Array:
        return self.location

    # -- density ---------------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        z = (x - self.location) / self.scale
        return -self._power * log1p_square(z / self._root) - self._log_height

    @cached_property
    def _power(self) -> Array:
        return 0.5 * (self.dof + 1.0)

    @cached_property
    def _root(self) -> Array:
        return np.sqrt(self.dof)

    @cached_property
    def _log_height(self) -> Array:
        return _log_peak(self.dof) + np.log(self.scale)

    def entropy(self) -> Array:
        r"""Return the entropy in nats.

        .. math:: H = \tfrac{\nu+1}2[\psi(\tfrac{\nu+1}2) - \psi(\tfrac\nu2)]
                  + \ln\{\sqrt\nu\,B(\tfrac\nu2, \tfrac12)\,s\}.
        """
        return self._power * _digamma_step(0.5 * self.dof) + self._log_height

    # -- univariate ------------------------------------------------------------------------

    def _cdf(self, x: Array) -> Array:
        return special.stdtr(self.dof, (x - self.location) / self.scale)

    def _quantile(self, q: Array) -> Array:
        z = np.where(q == 0, -np.inf, special.stdtrit(self.dof, q))  # SciPy answers inf at 0
        return (self.location + self.scale * z)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        return self.location + self.scale * rng.standard_t(self.dof, shape or None)

    def _interior(self) -> Array:
        return self.location

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(cls, data: Any, weights: Any = None, dof: Any = None) -> Self:
        """Fit by maximum likelihood, with the precisions τ of the data as latent variables.

        Alternates expected precisions E[τ] = (ν + 1)/(ν + z²), the weighted mean and scale they
        imply, and (unless given) the dof that maximises the likelihood (ECME).

        Parameters
        ----------
        data : array_like (N, ...), or iterator of chunks
            Rows are data points; further axes make a batch.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        dof : float or array (...), optional
            Known degrees of freedom; estimated between 0.01 and 10⁶ if None. Data with tails
            no heavier than the normal's are fitted by the largest, which is normal in effect.

        Raises
        ------
        ValueError
            When the data do not vary, or so many coincide that the likelihood is unbounded.

        Examples
        --------
        >>> x = [-0.3, 0.1, 0.2, 0.4, -0.2, 0.3, 0.0, 25.0]
        >>> fitted = StudentT.fit(x, dof=2.0)
        >>> bool(abs(fitted.mean) < 0.3)  # 25 does not move it
        True
        """
        x, w = gather_rows(data, weights)
        known = None if dof is None else positive("dof", dof)
        unit = np.exp2(np.floor(np.log2(np.maximum(np.abs(x).max(axis=0), 1e-300))))
        x = x / unit  # exact, and squares stay in range
        centre, scale, nu = _starting_point(x, w, known)
        for _ in range(_MAX_ITER):
            before = centre, scale, nu
            centre, scale = _update_centre_and_scale(x, w, centre, scale, nu)
            if known is None:
                nu = _update_dof(_squared((x - centre) / scale), w, nu)
            if _settled(before, (centre, scale, nu)):
                break
        return cls(nu, centre * unit, scale=scale * unit)

    # -- being a value ---------------------------------------------------------------------

    def _key(self) -> tuple[Array, ...]:
        return tuple(np.asarray(self.__dict__[name]) for name in self._parameters)

    def __repr__(self) -> str:
        parts = {"dof": self.dof, "mean": self.location, "scale=": self.scale}
        return format_distribution(type(self).__name__, parts)


# -- functions of dof that approach those of the normal ---------------------------------------


def log1p_square(y: Array) -> Array:
    """Return ln(1 + y²), also where y² overflows."""
    size = np.abs(y)
    if any_of(size > _FAR):
        safe = np.minimum(size, _FAR)
        return np.where(size > _FAR, 2.0 * np.log(np.maximum(size, 1.0)), np.log1p(safe * safe))[()]
    return np.log1p(y * y)


def _log_peak(dof: Array) -> Array:
    r"""Return :math:`\ln\{\sqrt\nu B(\frac\nu2, \frac12)\}`, which tends to ½ ln 2π.

    With a = ν/2 it is :math:`\tfrac12\ln 2\pi - a[\ln(1+\tfrac1{2a}) - \tfrac1{2a}]
    - R(a+\tfrac12) + R(a)`, R the correction to Stirling's formula.
    """
    a = 0.5 * dof
    correction = log_gamma_correction(a + 0.5) - log_gamma_correction(a)
    return 0.5 * LOG_2PI - a * log1pmx(0.5 / a) - correction


def _digamma_step(a: Array) -> Array:
    r"""Return :math:`\psi(a+\tfrac12) - \psi(a)` without cancellation."""
    correction = log_gamma_correction_slope(a + 0.5) - log_gamma_correction_slope(a)
    return np.log1p(0.5 / a) + 0.5 / (a * (2.0 * a + 1.0)) + correction


# -- the steps of fit -------------------------------------------------------------------------


def _starting_point(x: Array, w: Array, known: Array | None) -> tuple[Array, Array, Array]:
    """Start from the median and the median distance to it, which outliers do not move."""
    centre = weighted_median(x, w)
    spread = weighted_median(np.abs(x - centre), w)
    gap = np.abs(x - centre)
    largest = gap.max(axis=0)
    if not np.all(largest > 0):
        raise ValueError("data do not vary: the maximum-likelihood scale is 0")
    deviation = largest * np.sqrt((w * (gap / largest) ** 2).sum(axis=0))
    scale = np.where(spread > 0, 1.5 * spread, deviation)
    nu = np.full(np.shape(centre), 5.0) if known is None else known
    return centre, scale, nu


def _update_centre_and_scale(
    x: Array, w: Array, centre: Array, scale: Array, nu: Array
) -> tuple[Array, Array]:
    expected = w * (nu + 1.0) / (nu + _squared((x - centre) / scale))
    total = expected.sum(axis=0)
    centre = (expected * x).sum(axis=0) / total
    # dividing by Σ E[τ] instead of N is parameter-expanded EM: the same limit, sooner
    variance = (expected * (x - centre) ** 2).sum(axis=0) / total
    scale = np.sqrt(variance)
    if not np.all(scale > 1e-12 * np.abs(x - centre).max(axis=0)):
        raise ValueError(
            "too many data coincide: the likelihood grows without bound as the scale goes to 0; "
            "give dof a larger value"
        )
    return centre, scale


def _squared(z: Array) -> Array:
    return np.minimum(np.abs(z), 1e150) ** 2


def _update_dof(z2: Array, w: Array, nu: Array) -> Array:
    """Maximise the likelihood over ln ν, by Newton's method kept inside a shrinking bracket."""
    low, high = (np.full(np.shape(nu), np.log(end)) for end in _DOF_RANGE)
    t = np.clip(np.log(nu), low, high)
    for _ in range(60):
        slope, curvature = _likelihood_slope(np.exp(t), z2, w)
        low, high = np.where(slope > 0, t, low), np.where(slope > 0, high, t)
        newton = t - slope / np.where(curvature < 0, curvature, -1.0)
        inside = (newton > low) & (newton < high) & (curvature < 0)
        new = np.where(inside, newton, 0.5 * (low + high))
        done = np.all(np.abs(new - t) < 1e-12)
        t = new
        if done:
            break
    return np.exp(t)


def _likelihood_slope(nu: Array, z2: Array, w: Array) -> tuple[Array, Array]:
    """Return first and second derivative of the mean log likelihood in ln ν."""
    a = 0.5 * nu
    ratio = z2 / nu
    share = ratio / (1.0 + ratio)
    terms = -0.5 * np.log1p(ratio) + 0.5 * (nu + 1.0) / nu * share
    first = 0.5 * _digamma_step(a) - 0.5 / nu + (w * terms).sum(axis=0)
    # d/dν of the above: shares s = r/(1+r) have ds/dν = −s(1−s)/ν
    slopes = 0.5 * share / nu - 0.5 * share / nu**2 - 0.5 * (nu + 1.0) / nu**2 * share * (1 - share)
    step = special.polygamma(1, a + 0.5) - special.polygamma(1, a)
    second = 0.25 * step + 0.5 / nu**2 + (w * slopes).sum(axis=0)
    return nu * first, nu * first + nu * nu * second


def _settled(before: tuple[Array, ...], after: tuple[Array, ...]) -> bool:
    (m0, s0, n0), (m, s, n) = before, after
    shift = np.abs(m - m0) / s
    return bool(np.all(shift + np.abs(s / s0 - 1.0) + np.abs(np.log(n / n0)) < 1e-11))
