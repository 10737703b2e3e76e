"""Sums over all ways to divide the rows of a box, in compiled loops."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees.scores import TIE, score_of
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "Boxes",
    "BoxRules",
    "Cells",
    "CutTable",
    "SumTable",
    "list_cuts",
    "new_cuts",
    "new_sums",
    "new_workspace",
    "sum_children",
    "sum_leaves",
    "weigh_cuts",
]


class Cells(NamedTuple):
    """Rows in bins; those that share all bins are one cell.

    Attributes
    ----------
    codes : (C, D) of uint16
        The bin of each cell in each column.
    sums : (C, S)
        Over the rows of each cell.
    first : (D + 1,)
        Where the bins of each column begin among those of all.
    group : (D,)
        Which columns belong together: a tree that asks for one of them uses the group.
    groups : int
        How many groups there are.
    """

    codes: Any
    sums: Array
    first: IntArray
    group: IntArray
    groups: int


class BoxRules(NamedTuple):
    """The prior of trees.

    Attributes
    ----------
    criterion : int
        An evidence.
    prior : (P,)
        Of the leaves.
    log_split, log_stop : float
        ln p and ln(1 − p) of a node that can be split.
    """

    criterion: int
    prior: Array
    log_split: float
    log_stop: float


class Boxes(NamedTuple):
    """Boxes of bins, (M, D) each: the least and the largest bin of each column."""

    low: Any
    high: Any


class CutTable(NamedTuple):
    """The divisions of boxes: one for each pair of neighbouring bins that a box's rows lie in.

    Attributes
    ----------
    size : (M,)
        How many there are.
    column : (M, E)
    place : (M, E)
        The last bin that goes left, midway between the bins that rows lie in.
    log_share : (M, E)
        Log prior probability of each, that the box is divided included.
    left, total : (M, E, S), (M, S)
        Sums over the rows that go left, and over all.
    """

    size: IntArray
    column: Any
    place: Any
    log_share: Array
    left: Array
    total: Array


class SumTable(NamedTuple):
    """What is added up over all trees that begin at a box.

    Attributes
    ----------
    log_sum : (M, 1 + G)
        Log of the sum of prior times evidence; of all trees, and of those without each group of columns.
    log_best : (M,)
        Log of the largest term.
    best : (M,)
        Which division it begins with; −1 for none.
    log_leaf : (M,)
        The term of the tree that is a leaf.
    total : (M, S)
        Sums over the rows.
    """

    log_sum: Array
    log_best: Array
    best: IntArray
    log_leaf: Array
    total: Array


class _Workspace(NamedTuple):
    """Room to work in: sums and rows by bin, terms of divisions, their sums by group, sums of a part."""

    counted: Array
    there: IntArray
    terms: Array
    by_group: Array
    right: Array


def new_cuts(boxes: int, cells: Cells) -> CutTable:
    """Return room for the divisions of so many boxes."""
    cuts, width = int(cells.first[-1]) - cells.codes.shape[1], cells.sums.shape[1]
    return CutTable(
        np.zeros(boxes, dtype=np.int64),
        np.zeros((boxes, cuts), dtype=np.int32),
        np.zeros((boxes, cuts), dtype=np.uint16),
        np.zeros((boxes, cuts)),
        np.zeros((boxes, cuts, width)),
        np.zeros((boxes, width)),
    )


def new_sums(boxes: int, cells: Cells) -> SumTable:
    """Return room for the sums of so many boxes."""
    return SumTable(
        np.zeros((boxes, 1 + cells.groups)),
        np.zeros(boxes),
        np.full(boxes, -1, dtype=np.int64),
        np.zeros(boxes),
        np.zeros((boxes, cells.sums.shape[1])),
    )


def new_workspace(cells: Cells) -> _Workspace:
    """Return a workspace."""
    size = int(cells.first[-1])
    return _Workspace(
        np.zeros((size, cells.sums.shape[1])),
        np.zeros(size, dtype=np.int64),
        np.zeros(size),
        np.zeros(cells.groups),
        np.zeros(cells.sums.shape[1]),
    )


@kernel(allocates=False)
def list_cuts(
    cells: Cells, boxes: Boxes, rules: BoxRules, workspace: _Workspace, cuts: CutTable
) -> None:
    """Find the divisions of all boxes."""
    for m in range(len(cuts.size)):
        _list_cuts(cells, boxes, m, rules, workspace, cuts, m)


@kernel(called="kernels")
def _list_cuts(
    cells: Cells,
    boxes: Boxes,
    m: int,
    rules: BoxRules,
    workspace: _Workspace,
    cuts: CutTable,
    to: int,
) -> None:
    """Write the divisions of box m to row ``to`` of the table."""
    low, high = boxes.low[m], boxes.high[m]
    _count(cells, low, high, workspace, cuts.total[to])
    size = n_open = 0
    for c in range(len(low)):
        before = size
        size = _cut_column(cells.first[c], c, low[c], high[c], workspace, cuts, to, size)
        n_open += size > before
    cuts.size[to] = size
    i = 0
    while i < size:  # cuts of a column stand side by side
        column, end = cuts.column[to, i], i
        while end < size and cuts.column[to, end] == column:
            end += 1
        share = rules.log_split - math.log(n_open * (end - i))  # p/(open columns · cuts)
        for k in range(i, end):
            cuts.log_share[to, k] = share
        i = end


@kernel(called="kernels")
def _count(cells: Cells, low: Any, high: Any, workspace: _Workspace, total: Any) -> None:
    """Add up the cells of a box by the bins of each column in which it is wider than one."""
    first, codes, sums = cells.first, cells.codes, cells.sums
    workspace.counted[:] = 0.0
    workspace.there[:] = 0
    total[:] = 0.0
    for n in range(len(codes)):
        inside = True
        for c in range(len(low)):
            if codes[n, c] < low[c] or codes[n, c] > high[c]:
                inside = False
                break
        if not inside:
            continue
        for s in range(len(total)):
            total[s] += sums[n, s]
        for c in range(len(low)):
            if low[c] < high[c]:
                b = first[c] + codes[n, c]
                workspace.there[b] = 1
                for s in range(len(total)):
                    workspace.counted[b, s] += sums[n, s]


@kernel(called="kernels")
def _cut_column(
    first: int,
    c: int,
    low: int,
    high: int,
    workspace: _Workspace,
    cuts: CutTable,
    to: int,
    size: int,
) -> int:
    """Write the divisions of one column; return how many there are so far."""
    last = -1
    if low == high:
        return size
    for b in range(low, high + 1):
        if not workspace.there[first + b]:
            continue
        if last >= 0:
            cuts.column[to, size] = c
            cuts.place[to, size] = (last + b - 1) // 2
            for s in range(cuts.left.shape[2]):
                cuts.left[to, size, s] = workspace.counted[first + last, s]
            size += 1
            for s in range(cuts.left.shape[2]):  # counted becomes the sum of all bins so far
                workspace.counted[first + b, s] += workspace.counted[first + last, s]
        last = b
    return size


@kernel(allocates=False)
def sum_leaves(
    cells: Cells,
    boxes: Boxes,
    rules: BoxRules,
    workspace: _Workspace,
    cuts: CutTable,
    sums: SumTable,
) -> None:
    r"""Add up, for all boxes, the trees of one division at most.

    .. math:: W = (1 - p)\,L + \frac{p}{C}\sum_c\frac1{n_c}\sum_k L(\text{left})\,L(\text{right})

    ``cuts`` has room for one box.
    """
    for m in range(len(sums.log_leaf)):
        _list_cuts(cells, boxes, m, rules, workspace, cuts, 0)
        _weigh_leaves(rules, workspace, cuts, 0)
        _start(rules, cuts, 0, sums, m)
        _find_best(workspace, cuts, 0, sums, m)
        _sum_groups(cells, workspace, cuts, sums, m)


@kernel(called="kernels")
def _weigh_leaves(rules: BoxRules, workspace: _Workspace, cuts: CutTable, row: int) -> None:
    """Set the terms: log prior times evidence of each division into two leaves."""
    total, right = cuts.total[row], workspace.right
    for i in range(cuts.size[row]):
        left = cuts.left[row, i]
        for s in range(len(total)):
            right[s] = total[s] - left[s]
        workspace.terms[i] = (
            cuts.log_share[row, i]
            + score_of(rules.criterion, rules.prior, left)
            + score_of(rules.criterion, rules.prior, right)
        )


@kernel(called="kernels")
def _start(rules: BoxRules, cuts: CutTable, row: int, sums: SumTable, m: int) -> None:
    """Set the term of the tree that is a leaf; it has no other where nothing can be divided."""
    for s in range(sums.total.shape[1]):
        sums.total[m, s] = cuts.total[row, s]
    sums.log_leaf[m] = score_of(rules.criterion, rules.prior, cuts.total[row])
    if cuts.size[row] > 0:
        sums.log_leaf[m] += rules.log_stop


@kernel(called="kernels")
def _find_best(workspace: _Workspace, cuts: CutTable, row: int, sums: SumTable, m: int) -> None:
    best, place = sums.log_leaf[m], -1
    for i in range(cuts.size[row]):
        if workspace.terms[i] > best + TIE * abs(best):
            best, place = workspace.terms[i], i
    sums.log_best[m], sums.best[m] = best, place


@kernel(called="kernels")
def _sum_groups(
    cells: Cells, workspace: _Workspace, cuts: CutTable, sums: SumTable, m: int
) -> None:
    """Add up the terms, all of them and without each group of columns."""
    by_group, top = workspace.by_group, sums.log_leaf[m]
    for i in range(cuts.size[0]):
        top = max(top, workspace.terms[i])
    by_group[:] = 0.0
    for i in range(cuts.size[0]):
        by_group[cells.group[cuts.column[0, i]]] += math.exp(workspace.terms[i] - top)
    leaf = math.exp(sums.log_leaf[m] - top)
    for g in range(len(by_group) + 1):
        total = 0.0
        for k in range(len(by_group)):
            total += by_group[k] if k != g - 1 else 0.0
        # what is less than e⁻⁷⁰⁰ of the whole is lost where only that is left
        total += leaf
        sums.log_sum[m, g] = top + math.log(total) if total > 0.0 else sums.log_leaf[m]


@kernel(allocates=False)
def sum_children(
    cells: Cells,
    rules: BoxRules,
    workspace: _Workspace,
    cuts: CutTable,
    left: Any,
    right: Any,
    below: SumTable,
    sums: SumTable,
) -> None:
    r"""Add up the trees of boxes whose parts are added up.

    .. math:: W = (1 - p)\,L + \frac{p}{C}\sum_c\frac1{n_c}\sum_k W(\text{left})\,W(\text{right})

    Parameters
    ----------
    cells, rules, workspace
    cuts : CutTable
    left, right : (M, E)
        The parts of each division, among the boxes below.
    below, sums : SumTable
    """
    group = cells.group
    for m in range(len(cuts.size)):
        _start(rules, cuts, m, sums, m)
        for i in range(cuts.size[m]):
            pair = below.log_best[left[m, i]] + below.log_best[right[m, i]]
            workspace.terms[i] = cuts.log_share[m, i] + pair
        _find_best(workspace, cuts, m, sums, m)
        for g in range(sums.log_sum.shape[1]):
            top = sums.log_leaf[m]
            for i in range(cuts.size[m]):
                term = -math.inf
                if group[cuts.column[m, i]] != g - 1:
                    pair = below.log_sum[left[m, i], g] + below.log_sum[right[m, i], g]
                    term = cuts.log_share[m, i] + pair
                workspace.terms[i] = term
                top = max(top, term)
            total = math.exp(sums.log_leaf[m] - top)
            for i in range(cuts.size[m]):
                total += math.exp(workspace.terms[i] - top)
            sums.log_sum[m, g] = top + math.log(total)


@kernel(allocates=False)
def weigh_cuts(
    cells: Cells,
    boxes: Boxes,
    rules: BoxRules,
    workspace: _Workspace,
    cuts: CutTable,
    weights: Array,
) -> None:
    """Set the log terms (M, E) of the divisions of boxes into two leaves."""
    for m in range(len(weights)):
        _list_cuts(cells, boxes, m, rules, workspace, cuts, m)
        _weigh_leaves(rules, workspace, cuts, m)
        for i in range(cuts.size[m]):
            weights[m, i] = workspace.terms[i]
