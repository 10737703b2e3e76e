r"""Targets of regression that a function is behind: counts, noise with outliers, ordered categories.

.. math:: \eta = l + f(x),\qquad f\sim GP

with a level l such as the one that ignores all inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.predictors.curves.concave_tilt import concave_tilt
from posteriori.inference.predictors.curves.count_curves import (
    negative_binomial_curve,
    poisson_curve,
)
from posteriori.inference.predictors.curves.ordered_curves import ordered_curve
from posteriori.inference.predictors.curves.student_curves import student_curve
from posteriori.inference.predictors.generalized_linear import Curve, Likelihood
from posteriori.inference.processes.latent.latent_likelihoods import SingleLatent
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = [
    "count_targets",
    "log_mean_level",
    "ordered_targets",
    "robust_targets",
    "usual_thresholds",
]

#: Targets are taken as rounded to this share of the scale of their noise, which so never vanishes.
_RESOLUTION = 1e-8


def count_targets(
    y: Array, frequency: Array | None = None, *, level: float, log_count: float | None = None
) -> SingleLatent:
    """Return counts around e^η: Poisson, or negative binomial with ln r.

    Both are log-concave in η.

    Parameters
    ----------
    y : (N,)
        Whole numbers >= 0.
    frequency : (N,), optional
        How often each row counts.
    level : float
        η where the function is 0.
    log_count : float, optional
        ln r; without it counts are Poisson.
    """
    curve = poisson_curve(y) if log_count is None else negative_binomial_curve(y)
    moved = _around(curve, level)
    shape = 0.0 if log_count is None else float(log_count)
    return SingleLatent(moved, concave_tilt(moved, shape), frequency, shape)


def log_mean_level(y: Array, frequency: Array | None = None) -> float:
    """Return the logarithm of the mean of counts; as if there were half of one where there is none."""
    total = len(y) if frequency is None else float(frequency.sum())
    return float(np.log(np.average(y, weights=frequency) or 0.5 / total))


def robust_targets(
    y: Array, frequency: Array | None = None, *, level: float, log_scale: float, dof: float
) -> SingleLatent:
    """Return targets with Student-t noise, which is not log-concave: for Laplace and the bound.

    Parameters
    ----------
    y : (N,)
    frequency : (N,), optional
    level : float
        η where the function is 0.
    log_scale : float
        Of the noise.
    dof : float
    """
    scale = float(np.exp(log_scale))
    curve = student_curve(y, dof, _RESOLUTION * scale)
    # 1 + z²/ν is 0 at z = ±i√ν
    return SingleLatent(
        _around(curve, level), None, frequency, float(log_scale), scale * float(np.sqrt(dof))
    )


def ordered_targets(codes: Any, thresholds: Array, frequency: Array | None = None) -> SingleLatent:
    """Return ordered categories 0 to K − 1 between thresholds (K − 1,) on the scale of the function."""
    if np.any(np.diff(thresholds) <= 0):
        raise ValueError(f"thresholds must rise, got {thresholds!r}")
    curve = ordered_curve(codes, thresholds)
    return SingleLatent(curve, concave_tilt(curve), frequency)


def usual_thresholds(codes: Any, frequency: Array | None = None) -> Array:
    """Return the thresholds at which categories have their shares where the function is 0, (K − 1,)."""
    counts = np.bincount(codes, weights=frequency).astype(np.float64)
    return np.asarray(special.logit(np.cumsum(counts)[:-1] / counts.sum()))


def _around(likelihood: Likelihood, level: float) -> Likelihood:
    """Return the likelihood of predictors less a level."""

    def curve(eta: Array, shape: float, rows: Any) -> Curve:
        return likelihood(eta + level, shape, rows)

    return curve
