r"""Densities on a box: what is beyond a bound is folded back.

.. math:: p(x) = \sum_{T} p_0(T x)

over all reflections T at the bounds, so that no mass is lost and none lies outside.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["Box", "check_bounds"]


class Box(NamedTuple):
    """Bounds of columns, infinite where there are none.

    Attributes
    ----------
    low, high : (D,)
    """

    low: Array
    high: Array

    def outside(self, x: Array) -> Array:
        """Tell which entries are, (N, D)."""
        return (x < self.low) | (x > self.high)

    def images(self, x: Array, reach: Array) -> Iterator[Array]:
        """Return the rows (N, D), and then the images that a kernel of this reach (D,) may come from."""
        columns = [
            _moves(low, high, far)
            for low, high, far in zip(self.low, self.high, reach, strict=True)
        ]
        for chosen in itertools.product(*columns):
            signs, shifts = (np.array(part) for part in zip(*chosen, strict=True))
            yield signs * x + shifts

    def fold(self, x: Array) -> Array:
        """Return rows reflected into the box."""
        made = x.copy()
        for d, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            column = made[:, d]
            if np.isfinite(low) and np.isfinite(high):
                turn = np.mod(column - low, 2.0 * (high - low))
                column = low + np.minimum(turn, 2.0 * (high - low) - turn)
            elif np.isfinite(low):
                column = low + np.abs(column - low)
            elif np.isfinite(high):
                column = high - np.abs(column - high)
            made[:, d] = np.clip(column, low, high)
        return made


def _moves(low: float, high: float, reach: float) -> list[tuple[float, float]]:
    """Return signs and shifts of a column; the first is none."""
    found = [(1.0, 0.0)]
    if np.isfinite(low) and np.isfinite(high):
        length = high - low
        turns = max(1, int(np.ceil(reach / (2.0 * length))))
        for k in range(-turns, turns + 1):
            found += [(1.0, 2.0 * k * length)] if k else []
            found += [(-1.0, 2.0 * (low + k * length))]
        return found
    end = low if np.isfinite(low) else high
    return [*found, (-1.0, 2.0 * end)] if np.isfinite(end) else found


def check_bounds(bounds: Any, columns: int) -> Box | None:
    """Return the box of ``bounds``: a pair for each column, or None; None ends are open."""
    if bounds is None:
        return None
    pairs = list(bounds)
    if columns == 1 and len(pairs) == 2:
        pairs = [pairs]
    if len(pairs) != columns or not all(p is None or np.size(p) == 2 for p in pairs):
        raise ValueError(
            f"bounds must hold a pair (low, high), or None, for each of the {columns} columns; got {bounds!r}"
        )
    ends = [(None, None) if p is None else tuple(p) for p in pairs]
    low = np.array([-np.inf if a is None else float(a) for a, _ in ends])
    high = np.array([np.inf if b is None else float(b) for _, b in ends])
    if not (low < high).all():
        d = int(np.argmin(low < high))
        raise ValueError(f"bounds must be in order, got {pairs[d]!r} for column {d}")
    return Box(low, high)
