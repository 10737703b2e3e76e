"""What rows that a model has not seen teach about its noise: widths, tails and dispersions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, kernel
from posteriori.numerics.lazy import optimize, special
from posteriori.numerics.types import Array

__all__ = [
    "count_score",
    "fit_log_mean",
    "fit_spread",
    "fit_tail",
    "fit_width",
    "squared_width",
    "student_log_density",
    "student_score",
]

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
    return float(np.sqrt(squared_width(z * z, as_kernel_input(weight), tail)))


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


def fit_log_mean(logs: Array, mean: Array, variance: Array, weight: Array, most: float) -> float:
    r"""Return the h from 0 to ``most`` with :math:`\sum w e^{m+hv} = \sum w y`, or the nearest; ``logs`` is ln y."""
    seen = weight > 0
    logs, mean, variance, weight = logs[seen], mean[seen], variance[seen], weight[seen]
    total = special.logsumexp(logs, b=weight)

    def excess(h: float) -> float:
        return float(special.logsumexp(mean + h * variance, b=weight) - total)

    if excess(0.0) >= 0.0:
        return 0.0
    return float(optimize.brentq(excess, 0.0, most)) if excess(most) > 0.0 else most


def fit_spread(y: Array, mean: Array, weight: Array) -> float:
    """Return the s of counts with variance μ + sμ² that suits them best."""
    y, weight, mean = as_kernel_input(y), as_kernel_input(weight), np.array(mean)

    def loss(log_spread: float) -> float:
        return -float(count_score(y, mean, weight, float(np.exp(log_spread))))

    found = optimize.minimize_scalar(loss, bounds=_LOG_SPREADS, method="bounded")
    return float(np.exp(found.x))


@kernel(allocates=False)
def squared_width(squares: Any, weight: Any, tail: float) -> float:
    """Return c² of :func:`fit_width` from squared residuals (N,)."""
    total = width = 0.0
    for n in range(len(squares)):
        total += weight[n]
        width += weight[n] * squares[n]
    width = max(width / total, _LEAST)
    for _ in range(100 if tail > 0.0 else 0):
        new, old = 0.0, width
        for n in range(len(squares)):
            new += weight[n] * (1.0 + tail) * squares[n] / (1.0 + tail * squares[n] / old)
        width = max(new / total, _LEAST)
        if abs(width - old) <= 1e-6 * old:
            break
    return width


@kernel(allocates=False)
def student_score(squares: Any, weight: Any, tail: float) -> float:
    """Return the log density of all residuals of a common width that suits them best."""
    width, total, score = squared_width(squares, weight, tail), 0.0, 0.0
    peak = -0.5 * math.log(2.0 * math.pi * width)
    if tail > 0.0:
        half = 0.5 / tail
        peak = math.lgamma(half + 0.5) - math.lgamma(half) - 0.5 * math.log(math.pi * width / tail)
    for n in range(len(squares)):
        z = squares[n] / width
        total += weight[n]
        score += weight[n] * (-0.5 * z if tail == 0.0 else -(half + 0.5) * math.log1p(tail * z))
    return score + total * peak


@kernel(allocates=False)
def count_score(y: Any, mean: Any, weight: Any, spread: float) -> float:
    """Return the log mass of all counts with variance μ + sμ²; s = 0 is the Poisson distribution."""
    score = 0.0
    for n in range(len(y)):
        log = y[n] * math.log(mean[n]) - mean[n] if y[n] > 0.0 else -mean[n]
        if spread > 0.0:
            r, excess = 1.0 / spread, spread * mean[n]
            log = math.lgamma(y[n] + r) - math.lgamma(r) - r * math.log1p(excess)
            log -= y[n] * math.log1p(1.0 / excess) if y[n] > 0.0 else 0.0
        score += weight[n] * (log - math.lgamma(y[n] + 1.0))
    return score
