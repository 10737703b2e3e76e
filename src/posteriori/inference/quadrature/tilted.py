r"""Densities of numbers above an end, known up to their integral, for many members at once.

.. math:: q(x) \propto \exp \sum_k c_k f_k(x), \qquad a < x < b \le \infty,

is integrated over :math:`u = \ln(x - a)`, or :math:`u = \ln\frac{x-a}{b-x}`, on a window beyond which
nothing is left. There it is smooth and vanishes at both ends, where the trapezoid rule converges
faster than any power of its step (L. Trefethen & J. Weideman, "The exponentially convergent
trapezoidal rule", 2014).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["Evaluate", "ImproperError", "Line", "Tilted", "best_point", "tilt"]

#: Returns the functions f_k at points (G, C) of some members, (G, C) each.
Evaluate = Callable[[Array, slice], Sequence[Array]]

#: Coordinates reach from − to + this: squares of e³⁰⁰ are still numbers.
_REACH = 300.0
#: Nats below the highest point where a window ends: less than one rounding error lies beyond.
_DEPTH = 36.0
#: Points of a search and of the first rule; rules have twice as many steps until two agree.
_POINTS, _MOST_POINTS = 129, 4097
#: Points at which a window of before is looked at.
_FEW_POINTS = 33
#: Parts of an integral by which rules of step h and 2h may differ: the error of h is near the square.
_AGREEMENT = 1e-7
#: Times that a window is narrowed: 64-fold each time, so that this is never the end.
_ROUNDS = 12
#: Numbers that are looked at together.
_CHUNK = 2**20
#: Functions are kept within ± this, so that products with 0 are 0.
_LARGEST = 1e250


class ImproperError(ValueError):
    """A density that does not fall towards an end."""


class Line(NamedTuple):
    """Where numbers end, (C,) each; the upper end may be infinite."""

    low: Array
    high: Array

    def part(self, columns: slice) -> Line:
        """Return some members."""
        return Line(self.low[columns], self.high[columns])

    def at(self, u: Array) -> tuple[Array, Array]:
        """Return the numbers at coordinates (G, C), and the logarithm of dx/du."""
        bounded = np.isfinite(self.high)
        with np.errstate(over="ignore"):
            above = np.exp(u)
            if not bounded.any():
                return self.low + above, u
            # ln x' = ln(b − a) − |u| − 2 ln(1 + e^{−|u|})
            width = np.where(bounded, self.high - self.low, 1.0)
            inside = self.low + width / (1.0 + np.exp(-u))
            slope = np.log(width) - np.abs(u) - 2.0 * np.log1p(np.exp(-np.abs(u)))
        return np.where(bounded, inside, self.low + above), np.where(bounded, slope, u)


class Tilted(NamedTuple):
    """A density on its window.

    Attributes
    ----------
    low, high : arrays (C,)
        Ends of the window, coordinates u.
    log_total : array (C,)
        ln ∫ exp Σ c f dx.
    means : list of arrays (C,)
        E[f_k].
    """

    low: Array
    high: Array
    log_total: Array
    means: list[Array]


def tilt(
    line: Line,
    evaluate: Evaluate,
    coefficients: Sequence[Array],
    near: Tilted | None = None,
) -> Tilted:
    """Integrate a density of each member, and the functions that it is made of.

    Parameters
    ----------
    line : Line
    evaluate : callable
    coefficients : sequence of arrays (C,)
    near : Tilted, optional
        A density whose window is tried first.

    Raises
    ------
    ImproperError
        When a density does not fall towards an end.
    """
    count = len(line.low)
    size = max(1, _CHUNK // _POINTS)
    parts = []
    for start in range(0, max(count, 1), size):
        columns = slice(start, min(start + size, count))
        logs = _LogDensity(line, evaluate, coefficients, columns)
        window = None if near is None else (near.low[columns], near.high[columns])
        parts.append(_integrate(logs, *_find_window(logs, window)))
    if len(parts) == 1:
        return parts[0]
    low, high, total = (np.concatenate([p[i] for p in parts]) for i in range(3))
    means = [np.concatenate(found) for found in zip(*(p.means for p in parts), strict=True)]
    return Tilted(low, high, total, means)


def best_point(
    line: Line, evaluate: Evaluate, coefficients: Sequence[Array], found: Tilted
) -> Array:
    """Return the number of highest density of each member, NaN where that is an end."""
    logs = _LogDensity(line, evaluate, coefficients, slice(0, len(line.low)))
    low, high = found.low, found.high
    inside = np.ones(len(low), dtype=bool)
    for _ in range(_ROUNDS):
        u = _grid(low, high)
        values, _ = logs(u)
        best = (values - line.at(u)[1]).argmax(axis=0)
        inside &= (best > 0) & (best < _POINTS - 1)
        low, high = (_at(u, np.clip(best + k, 0, _POINTS - 1)) for k in (-1, 1))
    x, _ = line.at(0.5 * (low + high)[None])
    return np.where(inside, x[0], np.nan)


class _LogDensity:
    """The density of some members in their coordinates, unnormalised, and its functions."""

    def __init__(
        self, line: Line, evaluate: Evaluate, coefficients: Sequence[Array], columns: slice
    ) -> None:
        self.line = line.part(columns)
        self.evaluate = evaluate
        self.coefficients = [c[columns] for c in coefficients]
        self.columns = columns

    def __call__(self, u: Array) -> tuple[Array, list[Array]]:
        x, log_slope = self.line.at(u)
        with np.errstate(all="ignore"):  # ends are beyond what some functions allow
            found = self.evaluate(x, self.columns)
        functions = [np.nan_to_num(np.clip(f, -_LARGEST, _LARGEST), nan=-_LARGEST) for f in found]
        logs = log_slope
        for c, f in zip(self.coefficients, functions, strict=True):
            logs = logs + c * f
        return logs, functions


def _grid(low: Array, high: Array, points: int = _POINTS) -> Array:
    return low + np.linspace(0.0, 1.0, points)[:, None] * (high - low)


def _at(u: Array, index: Array) -> Array:
    return np.take_along_axis(u, index[None], axis=0)[0]


def _find_window(logs: _LogDensity, near: tuple[Array, Array] | None) -> tuple[Array, Array]:
    """Return where a density is not negligible: from where it was before, or from everywhere."""
    if near is not None:
        low, high = near
        wide = 0.5 * (high - low)
        low, high = np.maximum(low - wide, -_REACH), np.minimum(high + wide, _REACH)
        found = _narrowed(logs, low, high, _FEW_POINTS)
        if found is not None:
            return found
    ends = np.full(len(logs.line.low), _REACH)
    found = _narrowed(logs, -ends, ends, _POINTS)
    if found is None:
        raise ImproperError("a density does not fall towards an end")
    return found


def _narrowed(
    logs: _LogDensity, low: Array, high: Array, points: int
) -> tuple[Array, Array] | None:
    """Return what is left of a window without its negligible ends; None where these are not."""
    for round_ in range(_ROUNDS):
        u = _grid(low, high, points)
        values, _ = logs(u)
        top = values.max(axis=0)
        there = values > top - _DEPTH
        first, last = there.argmax(axis=0), points - 1 - there[::-1].argmax(axis=0)
        if round_ == 0:
            cut = (first == 0) & (low > -_REACH) | (last == points - 1) & (high < _REACH)
            best = values.argmax(axis=0)
            if np.any(cut | (best == 0) | (best == points - 1) | ~np.isfinite(top)):
                return None
        low, high = _at(u, np.maximum(first - 1, 0)), _at(u, np.minimum(last + 1, points - 1))
        if np.all(last - first > points // 4):
            break
    return low, high


def _integrate(logs: _LogDensity, low: Array, high: Array) -> Tilted:
    """Apply the trapezoid rule, with more points until two rules agree."""
    points = _POINTS
    while True:
        values, functions = logs(_grid(low, high, points))
        top = values.max(axis=0)
        weights = np.exp(values - top)
        weights[[0, -1]] *= 0.5
        total = weights.sum(axis=0)
        coarse = 2.0 * weights[::2].sum(axis=0)
        if points >= _MOST_POINTS or np.all(np.abs(coarse - total) <= _AGREEMENT * total):
            break
        points = 2 * points - 1
    step = (high - low) / (points - 1)
    means = [(weights * f).sum(axis=0) / total for f in functions]
    return Tilted(low, high, top + np.log(total * step), means)
