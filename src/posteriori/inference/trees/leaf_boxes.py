"""The leaves of all trees: boxes, each with the probability that the tree has it."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.box_kernels import Boxes, BoxRules, Cells
from posteriori.inference.trees.box_levels import Level, join_boxes, take_parts, weigh_leaves
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["BoxLeaves", "collect_leaves", "find_members"]

#: Probability that leaves which are left out have in all.
LOST = 1e-10

#: Divisions that are looked at together.
_CHUNK = 400_000


class BoxLeaves(NamedTuple):
    """Leaves, the most probable first.

    Attributes
    ----------
    sides : (K, H, 3) of uint16
        Column, least and largest bin of each side that is not as wide as all bins.
    probability : (K,)
        That the tree has the leaf. The leaves that a row lies in add up to 1.
    sums : (K, S)
        Over the rows of each.
    """

    sides: Any
    probability: Array
    sums: Array


def collect_leaves(cells: Cells, rules: BoxRules, levels: tuple[Level, ...]) -> BoxLeaves:
    """Return the leaves of all trees, but for the least probable ones, whose sum is below 1e-10."""
    reached, found = np.ones(1), []
    for level, below in pairwise(levels):
        found.append(_stopped(level, reached))
        reached = _descend(level, below, reached)
    found.append(_stopped(levels[-1], reached))
    if levels[-1].cuts is None:
        found += _divided(cells, rules, levels[-1], reached)
    low, high, probability, sums = (np.concatenate(part) for part in zip(*found, strict=True))
    low, high, probability, sums = _join(low, high, probability, sums)
    order = _likely(probability, 0.5 * LOST)
    return BoxLeaves(_sides(cells, low[order], high[order]), probability[order], sums[order])


def _likely(probability: Array, lost: float) -> IntArray:
    """Return the most probable ones in order, without those that add up to ``lost`` at most."""
    order = np.argsort(-probability, kind="stable")
    rest = np.cumsum(probability[order][::-1])[::-1]
    return order[rest > lost]


def _descend(level: Level, below: Level, reached: Array) -> Array:
    """Return the probability that the tree has each box of the next level."""
    cuts, sums = level.cuts, below.sums.log_sum[:, 0]
    assert cuts is not None
    box, place = np.nonzero(np.arange(cuts.column.shape[1]) < cuts.size[:, None])
    left, right = level.left[box, place], level.right[box, place]
    log_share = cuts.log_share[box, place] - level.sums.log_sum[box, 0]
    share = reached[box] * np.exp(log_share + sums[left] + sums[right])
    return np.bincount(left, share, len(sums)) + np.bincount(right, share, len(sums))


def _stopped(level: Level, reached: Array) -> tuple[Any, Any, Array, Array]:
    """Return the boxes of a level that may be leaves, with their probabilities and sums."""
    probability = reached * np.exp(level.sums.log_leaf - level.sums.log_sum[:, 0])
    kept = probability > 0.0
    low, high = (ends[kept] for ends in level.boxes)
    return low, high, probability[kept], level.sums.total[kept]


def _divided(
    cells: Cells, rules: BoxRules, level: Level, reached: Array
) -> list[tuple[Any, Any, Array, Array]]:
    """Return the parts of the last boxes, which are leaves, a chunk of boxes at a time."""
    width = int(cells.first[-1]) - cells.codes.shape[1]
    kept = _likely(reached, 0.1 * LOST)  # each has two leaves
    least = 0.1 * LOST / max(len(kept) * width, 1)
    found = []
    for some in np.array_split(kept, max(len(kept) * width // _CHUNK, 1)):
        boxes = Boxes(level.boxes.low[some], level.boxes.high[some])
        cuts, terms = weigh_leaves(cells, rules, boxes)
        share = reached[some, None] * np.exp(terms - level.sums.log_sum[some, :1])
        box, place = np.nonzero(share > least)
        parts = take_parts(boxes, box, cuts.column[box, place], cuts.place[box, place])
        left = cuts.left[box, place]
        sums = np.concatenate([left, cuts.total[box] - left])
        found.append(_join(*parts, np.tile(share[box, place], 2), sums))
    return found


def _join(low: Any, high: Any, probability: Array, sums: Array) -> tuple[Any, Any, Array, Array]:
    """Let each box be there once, with the probability of all ways to it."""
    first, which = join_boxes(Boxes(low, high))
    return low[first], high[first], np.bincount(which, probability, len(first)), sums[first]


def _sides(cells: Cells, low: Any, high: Any) -> Any:
    widest = (np.diff(cells.first) - 1).astype(np.uint16)
    most = int(((low > 0) | (high < widest)).sum(axis=1).max(initial=0))
    sides = np.zeros((len(low), max(most, 1), 3), dtype=np.uint16)
    sides[:, :, 2] = widest[0]  # where there are fewer, the first column from end to end
    _fill_sides(low, high, widest, sides)
    return sides


@kernel(allocates=False)
def _fill_sides(low: Any, high: Any, widest: Any, sides: Any) -> None:
    for m in range(len(sides)):
        h = 0
        for c in range(len(widest)):
            if low[m, c] > 0 or high[m, c] < widest[c]:
                sides[m, h, 0], sides[m, h, 1], sides[m, h, 2] = c, low[m, c], high[m, c]
                h += 1


def find_members(leaves: BoxLeaves, codes: Any) -> tuple[IntArray, Any]:
    """Return the leaves that rows lie in, one row after another.

    Parameters
    ----------
    leaves : BoxLeaves
    codes : (N, E) of uint16
        Bins of the rows.

    Returns
    -------
    start : (N + 1,)
        Where the leaves of each row begin.
    which : (n,) of int32
    """
    by_column, inside = np.ascontiguousarray(codes.T), np.zeros(len(codes), dtype=np.bool_)
    counts = np.zeros(len(codes), dtype=np.int64)
    _count_members(leaves.sides, by_column, inside, counts)
    start = np.concatenate([[0], np.cumsum(counts)])
    which = np.empty(start[-1], dtype=np.int32)
    _fill_members(leaves.sides, by_column, inside, start[:-1].copy(), which)
    return start, which


@kernel(called="kernels")
def _mark_inside(sides: Any, k: int, codes: Any, inside: Any) -> None:
    """Mark the rows that lie in leaf k, all rows of a side after one another."""
    inside[:] = True
    for h in range(sides.shape[1]):
        column, low, high = codes[sides[k, h, 0]], sides[k, h, 1], sides[k, h, 2]
        for n in range(len(inside)):
            inside[n] &= (column[n] >= low) & (column[n] <= high)


@kernel(allocates=False)
def _count_members(sides: Any, codes: Any, inside: Any, counts: Any) -> None:
    for k in range(len(sides)):
        _mark_inside(sides, k, codes, inside)
        for n in range(len(inside)):
            counts[n] += inside[n]


@kernel(allocates=False)
def _fill_members(sides: Any, codes: Any, inside: Any, end: Any, which: Any) -> None:
    for k in range(len(sides)):
        _mark_inside(sides, k, codes, inside)
        for n in range(len(inside)):
            if inside[n]:
                which[end[n]] = k
                end[n] += 1
