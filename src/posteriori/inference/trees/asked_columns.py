r"""Columns as a tree may ask for them: numbers in bins by rank, levels and gaps by indicators.

A number lies in one of G bins by its rank (:func:`middle_rank_bins`). A gap lies in the bin of the
median, and a column that has gaps gets an indicator of them. A category gets an indicator for each
level. All of it follows from X alone, so that a prior may be built on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.trees.bins import Bins, distinct_values, rank_ends
from posteriori.inference.trees.flat_trees import Trees
from posteriori.numerics.types import Array, IntArray

__all__ = ["AskedColumns", "Sketch", "ask_columns", "draw_trees"]

#: What is asked of a column beside its levels 0, 1, ….
VALUE, GAP = -1, -2


class AskedColumns(NamedTuple):
    """What may be asked, E questions.

    Attributes
    ----------
    source : (E,)
        The column of the table.
    asks : (E,)
        The level that goes left; −1 asks for a number, −2 whether it is there.
    fill : (E,)
        The number that stands for a gap.
    bins : Bins
        Of the answers.
    n_levels : (D,)
        Of the columns of the table; 0 for numbers.
    """

    source: IntArray
    asks: IntArray
    fill: Array
    bins: Bins
    n_levels: IntArray

    @property
    def with_gaps(self) -> Array:
        """Of which columns of the table something was missing, (D,)."""
        return np.isin(np.arange(len(self.n_levels)), self.source[self.asks == GAP])

    def answer(self, x: Array) -> Array:
        """Return what rows (N, D) answer, (N, E); levels that are new are gaps."""
        gaps = _gaps(x, self.n_levels)
        answers = np.empty((len(x), len(self.source)))
        for e, (j, asked) in enumerate(zip(self.source, self.asks, strict=True)):
            if asked == VALUE:
                answers[:, e] = np.where(gaps[:, j], self.fill[e], x[:, j])
            else:
                answers[:, e] = gaps[:, j] if asked == GAP else x[:, j] != asked
        return answers


def ask_columns(
    x: Array, n_levels: IntArray, max_bins: int, frequency: Array | None
) -> AskedColumns:
    """Return what may be asked of a table.

    Parameters
    ----------
    x : (N, D)
        NaN is missing; categories are codes 0, 1, ….
    n_levels : (D,)
        0 for numbers.
    max_bins : int
        G.
    frequency : (N,) or None
    """
    weight = np.ones(len(x)) if frequency is None else frequency
    gaps, asked = _gaps(x, n_levels), []
    for j, levels in enumerate(n_levels):
        asked += [(j, k, np.nan) for k in range(levels)] or [
            (j, VALUE, _median(x[~gaps[:, j], j], weight[~gaps[:, j]]))
        ]
        if gaps[:, j].any() and not gaps[:, j].all():
            asked.append((j, GAP, np.nan))
    source, asks, fill = (np.array(part) for part in zip(*asked, strict=True))
    nothing = Bins(np.zeros(0), np.zeros(0), np.zeros(1, dtype=np.int64), np.zeros_like(source))
    columns = AskedColumns(source, asks, fill, nothing, np.asarray(n_levels, dtype=np.int64))
    return columns._replace(bins=_learn_bins(columns, x, gaps, max_bins, weight))


def _learn_bins(columns: AskedColumns, x: Array, gaps: Array, max_bins: int, weight: Array) -> Bins:
    answers, ends = columns.answer(x), []
    for e, (j, asked) in enumerate(zip(columns.source, columns.asks, strict=True)):
        seen = ~gaps[:, j] if asked == VALUE and not gaps[:, j].all() else slice(None)
        ends.append(rank_ends(*distinct_values(answers[seen, e], weight[seen]), max_bins))
    low, high = (np.concatenate(part) for part in zip(*ends, strict=True))
    starts = np.cumsum([0, *(len(part) for part, _ in ends)])
    return Bins(low, high, starts, np.zeros(len(ends), dtype=np.int64))


def _gaps(x: Array, n_levels: IntArray) -> Array:
    known = (n_levels == 0) | (x < n_levels)  # not so where it is NaN
    return np.isnan(x) | ~known


def _median(values: Array, weight: Array) -> float:
    """Return the least value that half of the weight is not above; 0 of nothing."""
    if not len(values):
        return 0.0
    distinct, counts = distinct_values(values, weight)
    not_above = np.cumsum(counts)
    return float(distinct[np.searchsorted(not_above, 0.5 * not_above[-1])])


# -- trees over the questions, and over the table ------------------------------------------------


class Sketch(NamedTuple):
    """A tree as nested records: the sums of a leaf, or a question and what follows.

    Attributes
    ----------
    sums : (S,)
        Over the rows.
    question : int
        −1 in leaves.
    threshold : float
        Answers up to this go left.
    left, right : Sketch or None
    """

    sums: Array
    question: int = -1
    threshold: float = np.nan
    left: Sketch | None = None
    right: Sketch | None = None


def draw_trees(columns: AskedColumns, sketches: list[Sketch]) -> tuple[Trees, Array]:
    """Return sketches as trees over the columns of the table, with the sums of their nodes, (M, S)."""
    nodes: list[Sketch] = []
    left: list[int] = []
    right: list[int] = []
    roots = []
    for sketch in sketches:
        roots.append(len(nodes))
        waiting = [(sketch, left, -1)]
        while waiting:  # a node, then all to its left
            node, side, parent = waiting.pop()
            if parent >= 0:
                side[parent] = len(nodes)
            here = len(nodes)
            nodes.append(node)
            left.append(-1)
            right.append(-1)
            if node.left is not None and node.right is not None:
                waiting += [(node.right, right, here), (node.left, left, here)]
    question = np.array([node.question for node in nodes])
    threshold = np.array([node.threshold for node in nodes])
    trees = _over_table(columns, question, threshold, np.array(left), np.array(right), roots)
    return trees, np.array([node.sums for node in nodes])


def _over_table(
    columns: AskedColumns,
    question: IntArray,
    threshold: Array,
    left: IntArray,
    right: IntArray,
    roots: list[int],
) -> Trees:
    """Return trees of the same form that ask for columns of the table."""
    inner = question >= 0
    source = np.where(inner, columns.source[question], -1)
    asks = np.where(inner, columns.asks[question], VALUE)
    with np.errstate(invalid="ignore"):
        missing_left = inner & (asks == VALUE) & (columns.fill[question] <= threshold)
    sizes = np.where(inner, columns.n_levels[source], 0)
    subset = np.where(sizes > 0, np.cumsum(sizes) - sizes, -1)
    levels = np.zeros(int(sizes.sum()), dtype=np.bool_)
    for i in np.flatnonzero(sizes):
        marks = levels[subset[i] : subset[i] + sizes[i]]
        marks[:] = asks[i] == GAP  # what is there goes left
        if asks[i] >= 0:
            marks[asks[i]] = True
    cut = np.where(asks == VALUE, threshold, np.where(sizes > 0, np.nan, np.inf))
    return Trees(
        source, cut, left, right, missing_left, subset, levels, columns.n_levels, np.array(roots)
    )
