r"""The sum over all trees up to a depth, and what follows from it: exact, without listing them.

A node is a box of bins with the rows in it. Its trees add up to

.. math:: W(\text{box}, d) = (1 - p)\,L(\text{box}) + \frac{p}{C}\sum_{c\ \text{open}}\frac1{n_c}
          \sum_{k}W(\text{left}_{ck}, d + 1)\,W(\text{right}_{ck}, d + 1),

with the evidence L of a leaf, the C columns in which the box's rows lie in several bins, and the
:math:`n_c` cuts between these. Boxes that are reached in several ways are added up once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.asked_columns import AskedColumns, Sketch
from posteriori.inference.trees.box_kernels import Boxes, BoxRules, Cells
from posteriori.inference.trees.box_levels import (
    PAIR,
    Level,
    bins_of,
    make_cells,
    sum_levels,
    weigh_leaves,
)
from posteriori.inference.trees.leaf_boxes import BoxLeaves, collect_leaves, find_members
from posteriori.numerics.types import Array, IntArray

__all__ = ["BUDGET", "AllTrees", "steps_of_all_trees", "sum_all_trees"]

#: Steps that the sum may take: about ten seconds.
BUDGET = 5e9


def steps_of_all_trees(columns: AskedColumns, rows: int, max_depth: int) -> float:
    """Return about how many steps the sum over all trees takes.

    Boxes of depth d − 1 number at most (2E)^(d−1)/(d−1)! with E cuts in all columns, as the order of
    cuts does not matter, and no more than there are ways to choose two ends in each column.
    """
    sizes = columns.bins.sizes.astype(np.float64)
    cuts = float((sizes - 1.0).sum())
    inner = max(max_depth - 1, 0)
    log_ways = inner * math.log(max(2.0 * cuts, 1.0)) - math.lgamma(inner + 1.0)
    log_boxes = min(log_ways, float(np.log(sizes * (sizes + 1.0) / 2.0).sum()), 100.0)
    return math.exp(log_boxes) * (rows * len(sizes) + PAIR * cuts)


def sum_all_trees(
    columns: AskedColumns, x: Array, sums: Array, rules: BoxRules, max_depth: int
) -> AllTrees:
    """Return all trees of a table.

    Parameters
    ----------
    columns : AskedColumns
    x : (N, D)
    sums : (N, S)
        What each row adds to its leaf.
    rules : BoxRules
    max_depth : int
    """
    cells = make_cells(columns, bins_of(columns, x), sums)
    return AllTrees(columns, cells, rules, sum_levels(cells, rules, max_depth))


@dataclass(frozen=True, eq=False)
class AllTrees:
    """The trees up to a depth, weighed by prior and evidence.

    Attributes
    ----------
    columns : AskedColumns
    cells : Cells
    rules : BoxRules
    levels : tuple of Level
    """

    columns: AskedColumns
    cells: Cells
    rules: BoxRules
    levels: tuple[Level, ...]

    @property
    def log_evidence(self) -> float:
        """Log of the sum."""
        return float(self.levels[0].sums.log_sum[0, 0])

    @property
    def log_without(self) -> Array:
        """Log of the sum over the trees that do not ask for each column of the table, (D,)."""
        return self.levels[0].sums.log_sum[0, 1:]

    @property
    def log_best(self) -> float:
        """Log of the largest term."""
        return float(self.levels[0].sums.log_best[0])

    @cached_property
    def leaves(self) -> BoxLeaves:
        """All leaves, with the probability that the tree has each."""
        return collect_leaves(self.cells, self.rules, self.levels)

    def members(self, places: Any) -> tuple[IntArray, Any]:
        """Return the leaves that rows lie in; see :func:`find_members`."""
        return find_members(self.leaves, places)

    def places(self, x: Array) -> Any:
        """Return where rows (N, D) are: what :meth:`members` is asked with."""
        return bins_of(self.columns, x)

    def best(self) -> Sketch:
        """Return the most probable tree."""
        return self._best(0, 0)

    def sample(self, size: int, rng: np.random.Generator) -> list[Sketch]:
        """Draw trees from their posterior."""
        return self._draw(0, 0, size, rng)

    def _best(self, depth: int, box: int) -> Sketch:
        cuts, place = self._cuts_of(depth, box), int(self.levels[depth].sums.best[box])
        if place < 0:
            return Sketch(cuts.total)
        if cuts.children is None:
            return self._divide(cuts, place, *cuts.leaves(place))
        sides = [self._best(depth + 1, int(child)) for child in cuts.children[place]]
        return self._divide(cuts, place, *sides)

    def _draw(self, depth: int, box: int, size: int, rng: np.random.Generator) -> list[Sketch]:
        """Draw trees that begin at a box, in random order."""
        cuts = self._cuts_of(depth, box)
        counts = rng.multinomial(size, cuts.probability)
        drawn = [Sketch(cuts.total)] * int(counts[-1])
        for place in np.flatnonzero(counts[:-1]).tolist():
            n = int(counts[place])
            if cuts.children is None:
                drawn += [self._divide(cuts, place, *cuts.leaves(place))] * n
                continue
            sides = [self._draw(depth + 1, int(child), n, rng) for child in cuts.children[place]]
            drawn += [self._divide(cuts, place, *pair) for pair in zip(*sides, strict=True)]
        return [drawn[i] for i in rng.permutation(size)]

    def _divide(self, cuts: _Cuts, place: int, left: Sketch, right: Sketch) -> Sketch:
        question = int(cuts.column[place])
        threshold = float(self.columns.bins.cuts(question)[cuts.place[place]])
        return Sketch(cuts.total, question, threshold, left, right)

    def _cuts_of(self, depth: int, box: int) -> _Cuts:
        level, children = self.levels[depth], None
        if level.cuts is None:
            one = Boxes(level.boxes.low[box : box + 1], level.boxes.high[box : box + 1])
            table, found = weigh_leaves(self.cells, self.rules, one)
            row, size = 0, int(table.size[0])
            terms = found[0, :size]
        else:
            table, row, size = level.cuts, box, int(level.cuts.size[box])
            children = np.stack([level.left[box, :size], level.right[box, :size]], axis=1)
            terms = table.log_share[box, :size]
            if size:
                terms = terms + self.levels[depth + 1].sums.log_sum[children, 0].sum(axis=1)
        terms = np.append(terms, level.sums.log_leaf[box]) - level.sums.log_sum[box, 0]
        share = np.exp(terms) / np.exp(terms).sum()
        parts = table.column[row], table.place[row], table.left[row], table.total[row]
        return _Cuts(*parts, children, share)


class _Cuts(NamedTuple):
    """The divisions of one box, with their probabilities; the last one is that it is a leaf."""

    column: Any
    place: Any
    left: Array
    total: Array
    children: Any
    probability: Array

    def leaves(self, place: int) -> tuple[Sketch, Sketch]:
        """Return both parts as leaves."""
        return Sketch(self.left[place]), Sketch(self.total - self.left[place])
