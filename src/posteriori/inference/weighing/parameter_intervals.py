"""Intervals of unknowns by weighted draws, with what is not to be trusted of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posteriori.inference.weighing.approximate_beliefs import WeighedDraws
from posteriori.numerics.types import Array

__all__ = ["ParameterIntervals", "intervals_by_draws"]

#: Numbers of an unknown that are printed.
_SHOWN = 8


class ParameterIntervals(NamedTuple):
    """Intervals of the numbers of each unknown.

    Attributes
    ----------
    mass : float
        Posterior probability inside each, half of the rest on either side.
    lower, median, upper : mapping from the name of an unknown to an array of its shape
    cautions : tuple of str
        What not to trust; nothing where draws of the posterior, or weights that settle, have corrected them.
    """

    mass: float
    lower: Mapping[str, Array]
    median: Mapping[str, Array]
    upper: Mapping[str, Array]
    cautions: tuple[str, ...] = ()

    def __repr__(self) -> str:
        lines = [f"{100 * self.mass:g} % intervals"]
        rows = [row for name in self.median for row in self._rows(name)]
        width = max(len(row[0]) for row in rows)
        lines += [f"  {at:<{width}}  {middle:>10}  {ends}".rstrip() for at, middle, ends in rows]
        return "\n".join([*lines, *(f"  {text}" for text in self.cautions)])

    def _rows(self, name: str) -> list[tuple[str, str, str]]:
        """Return place, median and ends of the first numbers of an unknown, as texts."""
        shape = np.shape(self.median[name])
        rows = []
        for place in list(np.ndindex(shape))[:_SHOWN]:
            at = f"{name}[{', '.join(map(str, place))}]" if place else name
            low, middle, high = (d[name][place] for d in (self.lower, self.median, self.upper))
            rows.append((at, f"{middle:.4g}", f"({low:.4g}, {high:.4g})"))
        left = int(np.prod(shape)) - len(rows)
        return [*rows, *([(f"{name}: {left} more", "", "")] if left else [])]


def intervals_by_draws(drawn: WeighedDraws, mass: float) -> ParameterIntervals:
    """Return intervals between quantiles of weighted draws."""
    if not 0.0 < mass < 1.0:
        raise ValueError(f"mass must be a number between 0 and 1, got {mass!r}")
    tail = 0.5 * (1.0 - mass)
    ends = {
        name: _quantiles(x, drawn.weights, (tail, 0.5, 1.0 - tail))
        for name, x in drawn.values.items()
    }
    lower, median, upper = ({name: found[i] for name, found in ends.items()} for i in range(3))
    return ParameterIntervals(mass, lower, median, upper, drawn.cautions)


def _quantiles(x: Array, weights: Array, at: tuple[float, ...]) -> Array:
    """Return weighted quantiles of draws (S, *shape), the middle of each draw's share of the mass."""
    flat = x.reshape(len(x), -1)
    order = flat.argsort(axis=0)
    ordered = np.take_along_axis(flat, order, axis=0)
    shares = weights[order]
    mass = shares.cumsum(axis=0) - 0.5 * shares
    found = [
        np.interp(at, mass[:, i] / shares[:, i].sum(), ordered[:, i]) for i in range(flat.shape[1])
    ]
    return np.array(found).T.reshape(len(at), *x.shape[1:])
