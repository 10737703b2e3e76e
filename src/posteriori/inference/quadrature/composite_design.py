r"""Integrals over a few numbers by a central composite design around the top of their density.

Points are the top, :math:`2d` on the axes and a fraction of the corners of a cube, all of these at the
distance :math:`f\sqrt d` in coordinates in which the density is normal near its top. Weights are those that
are right for a normal density and its covariance,

.. math:: \Delta_0 = 1 - f^{-2},\qquad \Delta = \frac{e^{df^2/2}}{n f^2},

times the density there: what is not normal about it moves them. Along each axis the unit is that in which
the density falls as a normal one does, on each side by itself.

References: H. Rue, S. Martino & N. Chopin, "Approximate Bayesian inference for latent Gaussian models by using
integrated nested Laplace approximations", 2009, §6.5; S. Sanchez & P. Sanchez, "Very large fractional factorial
and central composite designs", 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["MOST_NUMBERS", "DesignedIntegral", "central_composite_points", "integrate_by_design"]

#: f: how far outside the sphere of typical points the design lies.
_REACH = 1.1

#: Indices of Walsh functions whose products of two are all different: main effects stay apart from others.
_WALSH = (1, 2, 4, 8, 15, 16, 32, 51, 64, 85, 106, 128, 150, 171, 219, 237, 247)

#: So many numbers can be integrated over.
MOST_NUMBERS = len(_WALSH)

#: No direction is taken to be wider than this many units, nor than the fall along it allows.
_WIDEST = 10.0
#: Distance at which the fall along an axis is measured.
_LOOK = np.sqrt(2.0)
#: Axes are stretched or shrunk by this factor at most.
_STRETCH = 3.0


class DesignedIntegral(NamedTuple):
    """Points, their weights, and the logarithm of the integral.

    Attributes
    ----------
    points : (K, D)
        The top first.
    weights : (K,)
        Normalised.
    log_integral : float
        ln ∫ p.
    """

    points: Array
    weights: Array
    log_integral: float


def integrate_by_design(
    log_density: Callable[[Array], float], top: Array, precision: Array
) -> DesignedIntegral:
    """Return points and weights for integrals over a density of D numbers.

    Parameters
    ----------
    log_density : callable
        ln p of one point (D,), normalised or not.
    top : (D,)
        Where it is highest.
    precision : (D, D)
        −∂² ln p there; eigenvalues that are not positive are replaced by small ones.

    Examples
    --------
    >>> normal = lambda z: -0.5 * float(z @ z)
    >>> found = integrate_by_design(normal, np.zeros(2), np.eye(2))
    >>> bool(abs(found.log_integral - np.log(2 * np.pi)) < 1e-12)
    True
    """
    size = len(top)
    height = log_density(top)
    values, axes = np.linalg.eigh(precision)
    root = axes / np.sqrt(np.maximum(values, _WIDEST**-2.0))  # columns are standard deviations
    ups, downs = (
        np.array([_stretch(log_density(top + s * _LOOK * one) - height) for one in root.T])
        for s in (1.0, -1.0)
    )
    points = central_composite_points(size)
    sides = np.where(points > 0, ups, np.where(points < 0, downs, 0.5 * (ups + downs)))
    places = top + (points * sides) @ root.T
    logs = np.array([height, *(log_density(place) for place in places[1:])]) - height
    logs += _log_delta(len(points), size) + np.log(sides).sum(axis=1)  # a wide side has more volume
    log_volume = 0.5 * size * LOG_2PI + np.log(np.linalg.norm(root, axis=0)).sum()
    total = height + log_volume + float(log_sum_exp(logs))
    return DesignedIntegral(places, np.exp(log_softmax(logs)), float(total))


def _log_delta(count: int, size: int) -> Array:
    """Return ln Δ of the points of a design, the center first."""
    logs = np.full(count, 0.5 * size * _REACH**2 - 2.0 * np.log(_REACH) - np.log(count - 1))
    logs[0] = np.log1p(-(_REACH**-2.0))
    return logs


def central_composite_points(size: int) -> Array:
    """Return the design for standard normal numbers, (K, D), the center first.

    Examples
    --------
    >>> [len(central_composite_points(d)) for d in (1, 2, 3, 5, 8)]
    [3, 9, 15, 27, 81]
    """
    if size > MOST_NUMBERS:
        raise ValueError(
            f"a design is known for up to {MOST_NUMBERS} numbers, got {size}; keep some of them fixed"
        )
    star = np.vstack([np.eye(size), -np.eye(size)]) * np.sqrt(size)
    corners = _walsh_corners(size) if size > 1 else np.zeros((0, 1))
    return np.vstack([np.zeros((1, size)), _REACH * star, _REACH * corners])


def _walsh_corners(size: int) -> Array:
    """Return a fraction of the corners of the cube, as signs (K, D)."""
    chosen = np.array(_WALSH[:size])
    count = 1 << int(chosen[-1]).bit_length()
    shared = np.arange(count)[:, None] & chosen
    parity = np.zeros_like(shared)
    while shared.any():
        parity ^= shared & 1
        shared >>= 1
    return 1.0 - 2.0 * parity


def _stretch(fall: float) -> float:
    """Return the standard deviation, in units of the axis, of a normal that falls so much at √2: 1 of 1."""
    if not np.isfinite(fall):
        return 1.0 / _STRETCH
    return float(np.clip(np.sqrt(1.0 / max(-fall, 1e-3)), 1.0 / _STRETCH, _STRETCH))
