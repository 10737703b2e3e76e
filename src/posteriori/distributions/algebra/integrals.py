r"""Expectations with a bound on their error: summed over atoms, or integrated over a density.

.. math:: E[f] = \sum_x p(x) f(x)\quad\text{or}\quad \int p(x) f(x)\,dx.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.distributions.algebra.count_panels import sum_counts
from posteriori.distributions.algebra.density_panels import integrate_density
from posteriori.distributions.algebra.landmarks import landmarks
from posteriori.distributions.base import Univariate, has_atoms
from posteriori.numerics.calculus.quadrature import Integral
from posteriori.numerics.types import Array, number

__all__ = ["integrate_against", "trusted"]

_INFINITE = Integral(np.inf, 0.0, np.inf)

#: Estimated error, relative to E|f|, beyond which an integral is refused.
_TOLERANCE = 1e-6


def integrate_against(d: Univariate, f: Callable[[Array], Any], breaks: Any = ()) -> Integral:
    """Return E[f(x)] under a single distribution of one number, its error, and E|f(x)|.

    Parameters
    ----------
    d : distribution of a number, without batch axes
        Discrete ones live on whole numbers or list their points.
    f : callable
        Takes points (n,) of positive probability and returns one number for each.
    breaks : array, optional
        Where f has kinks, jumps or narrow parts, such as the :func:`landmarks` of another
        distribution that f asks.

    Examples
    --------
    >>> from posteriori import Beta
    >>> round(integrate_against(Beta(2, 3), lambda x: x**2).value, 12)  # 0.04 + 0.4²
    0.2
    """
    if d.batch_shape:
        raise ValueError(f"a single distribution is needed, got batch shape {d.batch_shape}")
    if not has_atoms(d):
        return integrate_density(d, f, _divided(landmarks(d), breaks))
    if "points" in d.__dict__ or hasattr(type(d), "points"):
        return _sum_points(d, f)
    if "base" in d.__dict__:  # of mapped whole numbers: E[f(h(x))]
        return integrate_against(d.base, lambda x: f(d.map.forward(x)))
    return sum_counts(d, f, _divided(landmarks(d), breaks))


def trusted(found: Integral, what: str) -> Array:
    """Return the value of an integral, infinite where it is, or refuse one that is not known.

    Raises
    ------
    ValueError
        When the error is beyond 1e-6 of E|f|.
    """
    known = found.error <= _TOLERANCE * found.size
    if not (known and np.isfinite(found.value)) and found != _INFINITE:
        raise ValueError(
            f"{what} could not be integrated: the error is about {found.error:.2g}; it may be "
            "undefined or infinite, or change within less than neighbouring floating-point numbers"
        )
    return number(found.value)


def _divided(places: Array, breaks: Any) -> Array:
    """Add breaks that lie within the ends of the support."""
    more = np.ravel(breaks)
    inside = (more > places[0]) & (more < places[-1]) & np.isfinite(more)
    return np.unique(np.append(places, more[inside])) if inside.any() else places


def _sum_points(d: Any, f: Callable[[Array], Any]) -> Integral:
    weights = np.broadcast_to(d.weights, d.points.shape)
    possible = weights > 0
    terms = weights[possible] * np.asarray(f(d.points[possible]), dtype=np.float64)
    size = float(np.abs(terms).sum())
    return Integral(float(terms.sum()), 0.0 if np.isfinite(size) else np.inf, size)
