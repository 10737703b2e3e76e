r"""Targets with Student-t noise as curves of their centre η, whose log shape is the log scale θ.

.. math:: \ln p(y) = c - \ln s - \tfrac{\nu+1}2\ln(1 + z^2/\nu),\qquad z = (y - \eta)/s,\quad
          s^2 = e^{2\theta} + \text{resolution}^2
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.row_fits import weighted_median
from posteriori.inference.predictors.generalized_linear import Curve, Likelihood, ShapeCurve
from posteriori.numerics.special import log_gamma_ratio
from posteriori.numerics.types import Array

__all__ = ["median_and_distance", "student_curve", "student_member", "student_scale"]

#: Log scales beyond this are taken as this: the square of their exponential is still a number.
_LARGEST = 300.0


def student_scale(log_scale: Any, resolution: float) -> Any:
    """Return s, that of the noise and of the resolution of targets together."""
    return np.hypot(_exp(log_scale), resolution)


def student_curve(y: Array, dof: float, resolution: float) -> Likelihood:
    """Return ln p of rows with Student-t noise.

    Parameters
    ----------
    y : (N,)
    dof : float
        ν > 0; infinity is normal noise.
    resolution : float
        To which targets are taken as rounded, so that exact data have a scale.
    """
    nu, height = float(dof), _log_height(float(dof))

    def curve(eta: Array, log_scale: float, rows: Any) -> Curve:
        s = float(student_scale(log_scale, resolution))
        share = (_exp(log_scale) / s) ** 2  # d ln s/dθ
        z = (y[rows] - eta) / s
        weight, inner = _weights_of(z, nu)
        value = height - np.log(s) - _log_tail(z, nu)
        in_scale = weight * z * z - 1.0
        twice = 2.0 * share * weight * inner * z * z - 2.0 * (1.0 - share) * in_scale
        shape = ShapeCurve(share * in_scale, share * twice, share * 2.0 * weight * inner * z / s)
        return Curve(value, weight * z / s, weight * (2.0 * inner - 1.0) / s**2, shape)

    return curve


def student_member(eta: Array, scale: Any, dof: Any, blur: Array) -> Any:
    """Return the distribution of targets with centres N(η, blur): normal where all dof are infinite."""
    width = np.sqrt(np.square(scale) + blur)
    if np.all(np.isinf(dof)):
        return Normal(eta, variance=width**2)
    return StudentT(dof, eta, scale=width)


def median_and_distance(y: Array, frequency: Array | None = None) -> tuple[float, float]:
    """Return the median and the median distance from it, or a larger number where that is 0.

    Examples
    --------
    >>> median_and_distance(np.array([1.0, 2.0, 2.5, 3.0, 90.0]))
    (2.5, 0.5)
    """
    f = np.ones(len(y)) if frequency is None else frequency
    share = f / f.sum()
    level = float(weighted_median(y, share))
    distances = np.abs(y - level)
    found = (weighted_median(distances, share), share @ distances, np.abs(y).max(), 1.0)
    return level, next(float(value) for value in found if value > 0)


def _exp(log_scale: Any) -> Any:
    return np.exp(np.minimum(log_scale, _LARGEST))


def _weights_of(z: Array, nu: float) -> tuple[Array, Array]:
    """Return (ν+1)/(ν+z²), the weight of an observation, and ν/(ν+z²): near 1, far away 0."""
    if np.isinf(nu):
        return np.ones_like(z), np.ones_like(z)
    inner = 1.0 / (1.0 + z * z / nu)
    return (nu + 1.0) / nu * inner, inner


def _log_tail(z: Array, nu: float) -> Array:
    return 0.5 * z * z if np.isinf(nu) else 0.5 * (nu + 1.0) * np.log1p(z * z / nu)


def _log_height(nu: float) -> float:
    """Return the log density of a standard t distribution at 0."""
    if np.isinf(nu):
        return -0.5 * float(np.log(2.0 * np.pi))
    ratio = log_gamma_ratio(np.asarray(0.5 * nu), 0.5)
    return float(ratio - 0.5 * np.log(nu * np.pi))
