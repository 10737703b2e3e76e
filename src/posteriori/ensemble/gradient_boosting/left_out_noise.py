"""What rows that a model has not seen teach about its noise: widths, tails and dispersions."""

from __future__ import annotations

import numpy as np

from posteriori.distributions.counts.compound_counts import negative_binomial_log_mass
from posteriori.numerics.lazy import optimize, special
from posteriori.numerics.types import Array

__all__ = ["fit_spread", "fit_tail", "fit_width", "student_log_density"]

#: Degrees of freedom that are tried.
_DEGREES = (3.0, 5.0, 8.0, 15.0, 30.0, np.inf)

#: Logarithms between which a dispersion 1/r is looked for.
_LOG_SPREADS = (-12.0, 7.0)

#: Of a squared width: residuals that are all 0 have one, too.
_LEAST = 2.0**-200


def student_log_density(z: Array, tail: float) -> Array:
    """Return the log density of Student's t with t = 1/ν; 0 is the normal distribution.

    Examples
    --------
    >>> student_log_density(np.zeros(1), 0.0).round(6)
    array([-0.918939])
    """
    if tail == 0.0:
        return -0.5 * (z * z + np.log(2.0 * np.pi))
    dof = 1.0 / tail
    peak = (
        special.gammaln(0.5 * (dof + 1.0)) - special.gammaln(0.5 * dof) - 0.5 * np.log(dof * np.pi)
    )
    return peak - 0.5 * (dof + 1.0) * np.log1p(tail * z * z)


def fit_width(z: Array, weight: Array, tail: float) -> float:
    r"""Return the scale that suits residuals best, by :math:`c^2 = \overline{(1+t)z^2/(1+tz^2/c^2)}`."""
    squares, total = z * z, weight.sum()
    width = max(float(weight @ squares) / total, _LEAST)
    for _ in range(100 if tail > 0.0 else 0):
        new = float(weight @ ((1.0 + tail) * squares / (1.0 + tail * squares / width))) / total
        new, old = max(new, _LEAST), width
        width = new
        if abs(new - old) <= 1e-6 * old:
            break
    return float(np.sqrt(width))


def fit_tail(z: Array, weight: Array) -> tuple[float, float]:
    """Return t = 1/ν and the scale that suit residuals best, with ν of 3, 5, 8, 15, 30 and ∞."""
    tails = [1.0 / dof for dof in _DEGREES]
    widths = [fit_width(z, weight, tail) for tail in tails]
    scores = [
        float(weight @ (student_log_density(z / width, tail) - np.log(width)))
        for tail, width in zip(tails, widths, strict=True)
    ]
    best = int(np.argmax(scores))
    return tails[best], widths[best]


def fit_spread(y: Array, mean: Array, weight: Array) -> float:
    """Return the s of counts with variance μ + sμ² that suits them best."""

    def loss(log_spread: float) -> float:
        count = np.asarray(np.exp(-log_spread))
        return -float(weight @ negative_binomial_log_mass(y, count, mean))

    found = optimize.minimize_scalar(loss, bounds=_LOG_SPREADS, method="bounded")
    return float(np.exp(found.x))
