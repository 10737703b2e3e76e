r"""Expectations with a bound on their error: summed over atoms, or integrated over a density.

.. math:: E[f] = \sum_x p(x) f(x)\quad\text{or}\quad \int p(x) f(x)\,dx.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.distributions.base import Univariate
from posteriori.distributions.batches import has_atoms
from posteriori.numerics.calculus.quadrature import Integral, integrate
from posteriori.numerics.types import Array

__all__ = ["integrate_against"]

_FAR = 30.0  # ends of the support so many widths away do not shape the integrand

#: Atoms that are added up: 80 MB.
_MOST_ATOMS = 10_000_000


def integrate_against(
    d: Univariate, f: Callable[[Array], Any], split: float | None = None
) -> Integral:
    """Return E[f(x)] under a single distribution of one number, and its error.

    Parameters
    ----------
    d : distribution of a number, without batch axes
        Discrete ones live on whole numbers.
    f : callable
        Takes points (n,) of positive probability and returns one number for each.
    split : float, optional
        Where f has a kink or a jump; both sides are integrated on their own.

    Examples
    --------
    >>> from posteriori import Beta
    >>> round(integrate_against(Beta(2, 3), lambda x: x**2).value, 12)  # 0.04 + 0.4²
    0.2
    """
    if d.batch_shape:
        raise ValueError(f"a single distribution is needed, got batch shape {d.batch_shape}")
    return _sum_atoms(d, f) if has_atoms(d) else _integrate_density(d, f, split)


def _sum_atoms(d: Univariate, f: Callable[[Array], Any]) -> Integral:
    """Sum over listed points, or over whole numbers, twice as many until the last are nothing."""
    points = getattr(d, "points", None)
    if points is not None:
        return Integral(float(_terms(d, f, points).sum()), 0.0)
    spread = float(np.sqrt(d.variance))
    start, stop = (float(d.quantile(q)) for q in (0.0, 1.0))
    start = start if np.isfinite(start) else float(np.floor(d.median - 60.0 * spread))
    size = int(stop - start) + 1 if np.isfinite(stop) else int(d.median - start + 20 * spread) + 32
    while True:
        x = start + np.arange(min(size, _MOST_ATOMS), dtype=np.float64)
        terms = _terms(d, f, x)
        total, last = float(terms.sum()), float(np.abs(terms[-1]) * len(x))
        if x[-1] >= stop or not np.isfinite(total):
            return Integral(total, 0.0)
        if last <= 1e-14 * max(abs(total), 1e-300):
            return Integral(total, last)
        if size >= _MOST_ATOMS:
            return Integral(total, np.inf)
        size *= 2


def _integrate_density(d: Univariate, f: Callable[[Array], Any], split: float | None) -> Integral:
    lower, left, middle, right, upper = (float(d.quantile(q)) for q in (0.0, 0.25, 0.5, 0.75, 1.0))
    width = right - left
    lower = lower if 0 <= middle - lower < _FAR * width else -np.inf
    upper = upper if 0 <= upper - middle < _FAR * width else np.inf
    scale = middle - lower if np.isfinite(lower) else upper - middle
    scale = scale if np.isfinite(scale) else width

    def part(a: float, b: float) -> Integral:
        return integrate(lambda x: _terms(d, f, x), a, b, centre=middle, scale=scale)

    if split is None or not lower < split < upper:
        return part(lower, upper)
    left_part, right_part = part(lower, split), part(split, upper)
    return Integral(left_part.value + right_part.value, left_part.error + right_part.error)


def _terms(d: Univariate, f: Callable[[Array], Any], x: Array) -> Array:
    """Return p(x) f(x), asking for f only where p is positive."""
    p = np.exp(d.log_prob(x))
    possible = p > 0
    values = np.zeros(x.shape)
    values[possible] = np.asarray(f(x[possible]), dtype=np.float64)
    return p * values
