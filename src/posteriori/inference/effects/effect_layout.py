r"""Where the effects of categories stand among the coordinates, and what rows say of them.

.. math:: \eta_n = x_n\cdot w + \sum_c u_c[\ell_{nc}],\qquad u_c[\ell]\sim N(0, \sigma_c^2)

The category with most levels has the corner of a :class:`Bordered` matrix; plain coordinates and the
levels of the others are its core.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.inference.effects.bordered import Bordered, BorderedFactor
from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.lazy import sparse
from posteriori.numerics.linalg import weighted_gram
from posteriori.numerics.types import Array

__all__ = [
    "EffectLayout",
    "GroupedRows",
    "core_rows",
    "effect_gram",
    "level_sums",
    "open_rows",
]

#: Up to so many columns are summed one by one; a sparse matrix takes longer to make.
_FEW_COLUMNS = 8


@dataclass(frozen=True)
class GroupedRows:
    """Inputs of rows, and their levels in every category.

    Attributes
    ----------
    x : (N, D)
    codes : (N, C)
        Negative where a level is unknown: rows of one unknown level have the same number.
    """

    x: Array
    codes: Array

    def __len__(self) -> int:
        return len(self.x)

    def __getitem__(self, rows: Any) -> GroupedRows:
        return GroupedRows(self.x[rows], self.codes[rows])


@dataclass(frozen=True)
class EffectLayout:
    """Coordinates: the plain ones, then the levels of all categories, those of the largest last.

    Attributes
    ----------
    plain : int
        How many coordinates are no effects of levels.
    sizes : tuple of int
        How many levels each category has.
    """

    plain: int
    sizes: tuple[int, ...]

    @cached_property
    def largest(self) -> int:
        """Which category has the corner."""
        return int(np.argmax(self.sizes))

    @cached_property
    def places(self) -> list[slice]:
        """Where the levels of each category stand, in the order of the categories."""
        order = [c for c in range(len(self.sizes)) if c != self.largest] + [self.largest]
        ends = self.plain + np.cumsum([self.sizes[c] for c in order])
        found = {
            c: slice(int(end) - self.sizes[c], int(end)) for c, end in zip(order, ends, strict=True)
        }
        return [found[c] for c in range(len(self.sizes))]

    @cached_property
    def core(self) -> int:
        """K, the size of the core."""
        return self.plain + sum(self.sizes) - self.sizes[self.largest]

    @cached_property
    def size(self) -> int:
        """How many coordinates there are."""
        return self.plain + sum(self.sizes)

    def spread_out(self, plain: Array, per_category: Array) -> Array:
        """Return a number for every coordinate from those of plain ones and one for each category."""
        whole = np.empty(self.size)
        whole[: self.plain] = plain
        for place, value in zip(self.places, per_category, strict=True):
            whole[place] = value
        return whole

    def values(self, coordinates: Array, codes: Array) -> Array:
        """Return the sum of the effects of each row's levels (N, ...); unknown levels have none."""
        total = np.zeros((len(codes), *coordinates.shape[1:]))
        for place, code in zip(self.places, codes.T, strict=True):
            if np.all(code >= 0):
                total += np.take(coordinates[place], code, axis=0)
            else:
                known = np.flatnonzero(code >= 0)
                total[known] += coordinates[place][code[known]]
        return total


def level_sums(values: Array, codes: Array, size: int, weight: Array | None = None) -> Array:
    """Return the weighted sums of rows (N, D) over each level, (L, D); all levels are known.

    ``codes`` are the levels of rows (N,), or (N, C) where each row belongs to several.
    """
    n, several = len(codes), codes.size // max(len(codes), 1)
    if values.shape[1] <= _FEW_COLUMNS:
        each = values if weight is None else values * weight[:, None]
        sums = [np.bincount(codes.ravel(), np.repeat(column, several), size) for column in each.T]
        return np.column_stack(sums) if sums else np.zeros((size, 0))
    data = np.ones(codes.size) if weight is None else np.repeat(weight, several)
    ends = np.arange(n + 1) * several
    return np.asarray(sparse.csr_array((data, codes.ravel(), ends), shape=(n, size)).T @ values)


def effect_gram(x: Array, codes: Array, weight: Array, layout: EffectLayout) -> Bordered:
    """Return Σ_n h_n z_n z_nᵀ of rows z = (x, indicators of levels) with weights h.

    Parameters
    ----------
    x : (N, D)
        The first plain coordinates; others are left 0. It is read once, block by block.
    codes : (N, C)
        Levels of rows in each category, all known.
    weight : (N,)
    layout : EffectLayout
    """
    d, places, k = x.shape[1], layout.places, layout.core
    core, border = np.zeros((k, k)), np.zeros((layout.size - k, k))
    # a block has no fewer rows than there are levels: else their sums would take longer than it
    starts = np.cumsum((0, *layout.sizes))
    step, sums = max(rows_per_block(d), starts[-1]), np.zeros((starts[-1], d))
    for first in range(0, len(x), step):
        rows = slice(first, first + step)
        block = x[rows]
        core[:d, :d] += weighted_gram(block, weight[rows])
        sums += level_sums(block, codes[rows] + starts[:-1], len(sums), weight[rows])
    counts = [np.bincount(codes[:, c], weight, n) for c, n in enumerate(layout.sizes)]
    for c, place in enumerate(places):
        block, own = (border, slice(None)) if c == layout.largest else (core, place)
        block[own, :d] = sums[starts[c] : starts[c + 1]]
        for other in range(len(places)):
            if other not in (c, layout.largest):
                block[own, places[other]] = _cross_table(
                    codes[:, [c, other]], weight, layout, c, other
                )
        if c != layout.largest:
            core[:d, place] = core[place, :d].T
            core[place, place] = np.diag(counts[c])
    return Bordered(core, border, counts[layout.largest])


def _cross_table(pairs: Array, weight: Array, layout: EffectLayout, one: int, other: int) -> Array:
    """Return the weights of rows with each level of one category and each of another, (L, L')."""
    rows, columns = layout.sizes[one], layout.sizes[other]
    return np.bincount(pairs[:, 0] * columns + pairs[:, 1], weight, rows * columns).reshape(
        rows, columns
    )


def open_rows(
    x: Array, codes: Array, factor: BorderedFactor, layout: EffectLayout, variances: Array
) -> Iterator[tuple[slice, Array, Array]]:
    r"""Yield what rows say of the core, and what variance they have beside it, block by block.

    With V and e of a row its predictor has the variance :math:`V^TS^{-1}V + e`, where A = ``factor``
    is the precision of all coordinates; an unknown level has its category's prior variance.

    Parameters
    ----------
    x : (N, D)
    codes : (N, C)
        Negative where a level is unknown.
    factor : BorderedFactor
    layout : EffectLayout
    variances : (C,)
        Prior variances of the categories.

    Yields
    ------
    rows : slice
    open : (n, K)
        V.
    extra : (n,)
        e.
    """
    largest = layout.largest
    for first in range(0, len(x), step := rows_per_block(layout.core, WITH_COPY)):
        rows = slice(first, first + step)
        here = codes[rows]
        core, extra = core_rows(x[rows], here, layout), (here < 0) @ variances
        at = np.flatnonzero(here[:, largest] >= 0)
        level = here[at, largest]
        core[at] -= factor.shares[level]
        extra[at] += 1.0 / factor.corner[level]
        yield rows, core, extra


def core_rows(x: Array, codes: Array, layout: EffectLayout) -> Array:
    """Return rows along the coordinates of the core, (N, K): x, and indicators of known levels."""
    core = np.zeros((len(x), layout.core))
    core[:, : x.shape[1]] = x
    for c, place in enumerate(layout.places):
        if c != layout.largest:
            at = np.flatnonzero(codes[:, c] >= 0)
            core[at, place.start + codes[at, c]] = 1.0
    return core
