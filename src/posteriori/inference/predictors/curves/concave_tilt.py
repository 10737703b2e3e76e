r"""Moments of any log-concave likelihood of a predictor under a normal cavity.

.. math:: Z = \int p(y\mid\eta)\,N(\eta\mid m, v)\,d\eta

by the trapezoid rule around the mode of the integrand, with steps of its own width there: however much
narrower the likelihood is than the cavity, or the cavity than the likelihood.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from posteriori.inference.predictors.generalized_linear import Curve, Likelihood
from posteriori.inference.predictors.site_predictors import Tilt
from posteriori.numerics.lazy import special
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["concave_tilt"]

#: Nodes, and how many widths they reach to each side: one side may be much wider than the mode is.
_NODES, _REACH = 161, 12.0

#: Most Newton steps to a mode, and halvings of one.
_STEPS, _HALVINGS = 60, 30


def concave_tilt(likelihood: Likelihood, shape: float = 0.0) -> Tilt:
    """Return ln Z and its derivatives as a function of cavities, for a log-concave likelihood.

    Parameters
    ----------
    likelihood : callable
        Of all rows.
    shape : float
        The log shape, where the family has one.
    """

    def tilt(mean: Array, variance: Array) -> tuple[Array, Array, Array]:
        places = np.arange(len(mean))

        def curve(eta: Array) -> Curve:
            return likelihood(eta, shape, places)

        centre, width = _mode(curve, mean, variance)
        z = np.linspace(-_REACH, _REACH, _NODES)
        eta = centre[:, None] + width[:, None] * z
        logs = likelihood(eta.ravel(), shape, np.repeat(places, _NODES)).value.reshape(eta.shape)
        logs = logs - 0.5 * ((eta - mean[:, None]) ** 2 / variance[:, None])
        log_sum = special.logsumexp(logs, axis=1)
        share = np.exp(logs - log_sum[:, None])
        first = (share * (eta - mean[:, None])).sum(axis=1)  # of cavity × likelihood, less m
        second = (share * (eta - mean[:, None] - first[:, None]) ** 2).sum(axis=1)
        log_z = log_sum + np.log(width * (z[1] - z[0])) - 0.5 * (LOG_2PI + np.log(variance))
        return log_z, first / variance, (1.0 - second / variance) / variance

    return tilt


def _mode(curve: Callable[[Array], Curve], mean: Array, variance: Array) -> tuple[Array, Array]:
    """Return modes of cavity × likelihood, and the widths there."""
    eta = mean.copy()

    def height(at: Array, found: Curve) -> Array:
        return found.value - 0.5 * (at - mean) ** 2 / variance

    here = curve(eta)
    for _ in range(_STEPS):
        bend = here.curvature + 1.0 / variance
        step = (here.slope - (eta - mean) / variance) / bend
        if np.all(np.abs(step) * np.sqrt(bend) < 1e-6):
            break
        value = height(eta, here)
        for _ in range(_HALVINGS):
            there = curve(eta + step)
            worse = ~(height(eta + step, there) >= value - 1e-12 * np.abs(value))
            if not worse.any():
                break
            step = np.where(worse, 0.5 * step, step)
        eta = eta + step
        here = curve(eta)
    return eta, 1.0 / np.sqrt(here.curvature + 1.0 / variance)
