r"""The sum over all prunings of one deep tree, in linear time.

A pruning makes leaves of some inner nodes. With the prior that all trees have,

.. math:: W(m) = (1 - p)\,L(m) + \frac{p}{C_m n_m}\,W(\text{left})\,W(\text{right}),

where :math:`C_m` columns are open in node m and :math:`n_m` cuts are possible in the one that it asks
for. These trees are some of all trees, so the sum is at most theirs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.asked_columns import AskedColumns, Sketch
from posteriori.inference.trees.bins import apply_bins
from posteriori.inference.trees.box_kernels import BoxRules
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.grower.profiles import Sums
from posteriori.inference.trees.growing import BinnedRows, GrownTree, grow_tree, make_rules
from posteriori.inference.trees.scores import TIE, score_of
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["PathLeaves", "TreePrunings", "sum_prunings"]


class PathLeaves(NamedTuple):
    """Nodes of the tree as leaves of its prunings.

    Attributes
    ----------
    probability : (M,)
        That the node is a leaf.
    sums : (M, S)
        Over the rows of each.
    """

    probability: Array
    sums: Array


def sum_prunings(
    columns: AskedColumns,
    x: Array,
    sums: Sums,
    n_sums: int,
    rules: BoxRules,
    max_depth: int,
    pool: ThreadPoolExecutor | None = None,
) -> TreePrunings:
    """Grow a tree by log evidence as deep as it goes, and add up its prunings.

    Parameters
    ----------
    columns : AskedColumns
    x : (N, D)
    sums : Sums
        What rows add to their leaf, as growing takes it.
    n_sums : int
        How many numbers that is.
    rules : BoxRules
    max_depth : int
    pool : ThreadPoolExecutor, optional
    """
    codes = apply_bins(columns.bins, columns.answer(x))
    growing = make_rules(
        rules.criterion, rules.prior, max_depth=max_depth, min_weight=0.0, min_gain=-np.inf
    )
    binned = BinnedRows(columns.bins, codes)
    grown = grow_tree(binned, sums, growing, n_sums=n_sums, pool=pool)
    log_leaf = np.empty(len(grown.sums))
    _score_nodes(rules.criterion, rules.prior, grown.sums, log_leaf)
    log_share = _log_shares(columns, codes, grown, rules, max_depth, log_leaf)
    return TreePrunings(columns, grown.trees, grown.sums, log_leaf, log_share)


def _log_shares(
    columns: AskedColumns,
    codes: Any,
    grown: GrownTree,
    rules: BoxRules,
    max_depth: int,
    log_leaf: Array,
) -> Array:
    """Return the log prior of each node's division; add to its leaf that of not being divided."""
    size = len(grown.sums)
    n_open, n_cuts = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    there = np.zeros(int(columns.bins.sizes.max()) + 1, dtype=np.int64)
    table = grown.start, grown.stop, grown.trees.column
    _count_open(codes, grown.rows, *table, there, n_open, n_cuts)
    log_leaf += np.where((n_open > 0) & (grown.trees.depth < max_depth), rules.log_stop, 0.0)
    with np.errstate(divide="ignore"):
        return rules.log_split - np.log(n_open * n_cuts)


@dataclass(frozen=True, eq=False)
class TreePrunings:
    """All prunings of a tree, weighed by prior and evidence.

    Attributes
    ----------
    columns : AskedColumns
    trees : Trees
        The deep tree, over what may be asked.
    sums : (M, S)
        Of its nodes.
    log_leaf : (M,)
        Log of prior and evidence of each node as a leaf.
    log_share : (M,)
        Log prior of each node's division.
    """

    columns: AskedColumns
    trees: Trees
    sums: Array
    log_leaf: Array
    log_share: Array

    @cached_property
    def _log_sum(self) -> Array:
        """Log of W, of all prunings and of those without each column of the table, (M, 1 + D)."""
        width = 1 + len(self.columns.n_levels)
        log_sum = np.repeat(self.log_leaf[:, None], width, axis=1)
        for i, left, right in self._upwards:
            divided = self.log_share[i] + log_sum[left] + log_sum[right]
            divided[1 + self.columns.source[self.trees.column[i]]] = -np.inf
            log_sum[i] = np.logaddexp(log_sum[i], divided)
        return log_sum

    @property
    def _upwards(self) -> Any:
        """Inner nodes with their children, children first."""
        inner = np.flatnonzero(~self.trees.is_leaf)[::-1]
        return zip(inner, self.trees.left[inner], self.trees.right[inner], strict=True)

    @property
    def log_evidence(self) -> float:
        """Log of the sum."""
        return float(self._log_sum[0, 0])

    @property
    def log_without(self) -> Array:
        """Log of the sum over the prunings that do not ask for each column of the table, (D,)."""
        return self._log_sum[0, 1:]

    @cached_property
    def _best(self) -> tuple[Array, Array]:
        """Log of the largest term from each node on, and whether it divides the node."""
        log_best, divides = self.log_leaf.copy(), np.zeros(len(self.sums), dtype=np.bool_)
        for i, left, right in self._upwards:
            divided = self.log_share[i] + log_best[left] + log_best[right]
            if divided > log_best[i] + TIE * abs(log_best[i]):
                log_best[i], divides[i] = divided, True
        return log_best, divides

    @property
    def log_best(self) -> float:
        """Log of the largest term."""
        return float(self._best[0][0])

    @cached_property
    def leaves(self) -> PathLeaves:
        """All nodes, with the probability that each is a leaf."""
        stops = np.exp(self.log_leaf - self._log_sum[:, 0])
        reached = np.ones(len(stops))
        for i, left, right in reversed(list(self._upwards)):
            reached[[left, right]] = reached[i] * (1.0 - stops[i])
        return PathLeaves(reached * stops, self.sums)

    @cached_property
    def _parent(self) -> IntArray:
        parent = np.full(len(self.sums), -1, dtype=np.int64)
        for side in (self.trees.left, self.trees.right):
            inner = np.flatnonzero(~self.trees.is_leaf)
            parent[side[inner]] = inner
        return parent

    def places(self, x: Array) -> IntArray:
        """Return where rows (N, D) are: what :meth:`members` is asked with."""
        return self.trees.find_leaves(self.columns.answer(x))[:, 0]

    def members(self, places: IntArray) -> tuple[IntArray, IntArray]:
        """Return the nodes that rows pass, one row after another, and where those of each begin."""
        path = [places]
        while (path[-1] >= 0).any():
            path.append(np.where(path[-1] >= 0, self._parent[path[-1]], -1))
        passed = np.stack(path, axis=1)
        counts = (passed >= 0).sum(axis=1)
        return np.concatenate([[0], np.cumsum(counts)]), passed[passed >= 0]

    def best(self) -> Sketch:
        """Return the most probable pruning."""
        return self._sketch(0, self._best[1])

    def sample(self, size: int, rng: np.random.Generator) -> list[Sketch]:
        """Draw prunings from their posterior."""
        divides = 1.0 - np.exp(self.log_leaf - self._log_sum[:, 0])
        return [self._sketch(0, rng.random(len(divides)) < divides) for _ in range(size)]

    def _sketch(self, i: int, divides: Array) -> Sketch:
        """Return the pruning whose nodes are divided where it is said."""
        if self.trees.is_leaf[i] or not divides[i]:
            return Sketch(self.sums[i])
        sides = (
            self._sketch(int(side[i]), divides) for side in (self.trees.left, self.trees.right)
        )
        question, threshold = int(self.trees.column[i]), float(self.trees.threshold[i])
        return Sketch(self.sums[i], question, threshold, *sides)


@kernel(allocates=False)
def _score_nodes(criterion: int, prior: Any, sums: Any, score: Any) -> None:
    for m in range(len(score)):
        score[m] = score_of(criterion, prior, sums[m])


@kernel(allocates=False)
def _count_open(
    codes: Any, rows: Any, start: Any, stop: Any, column: Any, there: Any, n_open: Any, n_cuts: Any
) -> None:
    """Count the columns in which a node's rows lie in several bins, and the cuts of its own column."""
    for m in range(len(start)):
        for c in range(codes.shape[1]):
            there[:] = 0
            bins = 0
            for i in range(start[m], stop[m]):
                b = codes[rows[i], c]
                bins += 1 - there[b]
                there[b] = 1
            n_open[m] += bins > 1
            if c == column[m]:
                n_cuts[m] = bins - 1
