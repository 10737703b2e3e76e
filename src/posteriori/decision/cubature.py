r"""Integrals of class densities over all of space, for points of one to three numbers.

Space is folded into a box, :math:`x_d = c_d + s_d\,u_d/(1-u_d^2)`, and the box is cut into cells that
are halved in every direction where Gauss's rules of five and of three nodes disagree.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.types import Array

__all__ = ["MOST_DIMENSIONS", "integrate_over_space"]

#: A cell has 5 nodes along each dimension: 125 in three, and more are not attempted.
MOST_DIMENSIONS = 3

#: Points of each class that tell where it lies, and the share of them that one cell may hold.
_POINTS, _SHARE = 400, 0.1

#: How much wider than its draws the surroundings of a class are, in which cells are small too.
_REACHES = (1.0, 4.0)

#: How far the middle is moved, in quartile ranges: no simple fraction.
_SHIFT = 0.137

#: Points at which densities are asked for in all.
_MOST_POINTS = 20_000_000

#: Halvings by which first cells are found, at most.
_DEPTH = 60


class _Cells(NamedTuple):
    """Boxes with lower corners and widths, both (M, D)."""

    lower: Array
    width: Array

    def split(self) -> _Cells:
        """Return the 2^D halves of each."""
        corners = np.array(list(product((0.0, 0.5), repeat=self.lower.shape[1])))
        lower = self.lower[:, None] + corners * self.width[:, None]
        width = np.broadcast_to(0.5 * self.width[:, None], lower.shape)
        d = self.lower.shape[1]
        return _Cells(lower.reshape(-1, d), width.reshape(-1, d))

    def take(self, chosen: Any) -> _Cells:
        """Return some of them."""
        return _Cells(self.lower[chosen], self.width[chosen])

    def join(self, other: _Cells) -> _Cells:
        """Return both lots."""
        return _Cells(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))


def integrate_over_space(
    f: Callable[[Array], Array], members: Sequence[Any], tol: float
) -> tuple[Array, float]:
    """Return integrals (R,) of functions over all of space, and a bound of their error.

    Parameters
    ----------
    f : callable
        Takes points (n, D) and returns values (n, R), small far from the classes.
    members : sequence of distributions of D numbers
        Where the functions live.
    tol : float
        Sum of the cells' errors at which to stop; so do 20 million points.
    """
    draws = np.stack([np.asarray(m.sample(_POINTS, rng=0)) for m in members])  # (K, S, D)
    low, centre, high = np.quantile(draws.reshape(-1, draws.shape[-1]), [0.25, 0.5, 0.75], axis=0)
    scale = np.where(high > low, high - low, 1.0)
    centre += _SHIFT * scale  # symmetric classes part where both rules would agree by symmetry
    middle = np.median(draws, axis=1, keepdims=True)
    draws = np.concatenate([middle + reach * (draws - middle) for reach in _REACHES])

    def folded(u: Array) -> Array:
        rest = 1.0 - u * u
        jacobian = np.prod(scale * (1.0 + u * u) / rest**2, axis=-1)
        return f(centre + scale * u / rest) * jacobian[:, None]

    cells = _first_cells(_fold((draws - centre) / scale))
    total, bound, used = 0.0, 0.0, 0
    while True:
        value, error = _apply_rules(folded, cells)
        used += len(cells.lower) * sum(n ** cells.lower.shape[1] for n in (3, 5))
        left = error.sum() + bound
        if left <= tol or used > _MOST_POINTS:
            return total + value.sum(axis=0), float(left)
        rough = error > 0.5 * tol / len(error)
        total, bound = total + value[~rough].sum(axis=0), bound + float(error[~rough].sum())
        cells = cells.take(rough).split()


def _fold(y: Array) -> Array:
    """Solve y = u/(1 − u²) for −1 < u < 1."""
    return 2.0 * y / (1.0 + np.sqrt(1.0 + 4.0 * y * y))


def _first_cells(draws: Array) -> _Cells:
    """Return cells none of which holds more than a share of the draws (K, S, D) of any class."""
    d = draws.shape[-1]
    cells = _Cells(np.full((1, d), -1.0), np.full((1, d), 2.0))
    done = cells.take(np.zeros(1, dtype=bool))
    for _ in range(_DEPTH):
        above = draws[:, :, None] - cells.lower
        inside = ((above >= 0) & (above < cells.width)).all(axis=-1)
        full = (inside.mean(axis=1) > _SHARE).any(axis=0)
        done = done.join(cells.take(~full))
        cells = cells.take(full).split()
        if not full.any():
            break
    return done.join(cells)


def _apply_rules(f: Callable[[Array], Array], cells: _Cells) -> tuple[Array, Array]:
    """Return the integral (M, R) over each cell by five nodes, and how far three are off, (M,)."""
    fine, coarse = (_rule(n, cells.lower.shape[1]) for n in (5, 3))
    nodes = np.concatenate([fine[0], coarse[0]])
    values, errors = [], []
    step = rows_per_block(len(nodes), IN_MEMORY)
    for first in range(0, len(cells.lower), step):
        part = cells.take(slice(first, first + step))
        points = part.lower[:, None] + part.width[:, None] * nodes
        shape = points.shape[:2]
        at = f(points.reshape(-1, points.shape[-1])).reshape(*shape, -1)
        at *= np.prod(part.width, axis=1)[:, None, None]
        value = np.einsum("mnr,n->mr", at[:, : len(fine[0])], fine[1])
        rough = np.einsum("mnr,n->mr", at[:, len(fine[0]) :], coarse[1])
        values.append(value)
        errors.append(np.abs(value - rough).max(axis=1))
    return np.concatenate(values), np.concatenate(errors)


def _rule(n: int, d: int) -> tuple[Array, Array]:
    """Return nodes (n^D, D) and weights of Gauss's rule on the unit box."""
    x, w = np.polynomial.legendre.leggauss(n)
    nodes = np.array(list(product(0.5 * (x + 1.0), repeat=d)))
    return nodes, np.prod(list(product(0.5 * w, repeat=d)), axis=1)
