"""Boxes of bins, depth by depth, and the sums over the trees that begin at each."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.trees import box_kernels as kernels
from posteriori.inference.trees.asked_columns import AskedColumns
from posteriori.inference.trees.bins import apply_bins
from posteriori.inference.trees.box_kernels import Boxes, BoxRules, Cells, CutTable, SumTable
from posteriori.numerics.compilation import kernel
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "PAIR",
    "Level",
    "bins_of",
    "join_boxes",
    "make_cells",
    "sum_levels",
    "take_parts",
    "weigh_leaves",
]

#: The names of boxes begin with this, and are multiplied by that.
_FIRST_NAME, _NAME_FACTOR = np.uint64(0xCBF29CE484222325), np.uint64(0x100000001B3)

#: Steps that a pair of leaves takes; a row in a column takes one.
PAIR = 500.0

#: Steps that are taken together: about a fifth of a second.
_TOGETHER = 1e8


class Level(NamedTuple):
    """All boxes of one depth.

    Attributes
    ----------
    boxes : Boxes
    cuts : CutTable or None
        None where the parts are leaves, which are too many to be kept.
    left, right : (M, E)
        The parts of each division, among the boxes of the next level.
    sums : SumTable
    """

    boxes: Boxes
    cuts: CutTable | None
    left: Any
    right: Any
    sums: SumTable


def bins_of(columns: AskedColumns, x: Array) -> Any:
    """Return the bins of what rows answer, (N, E) of uint16."""
    return apply_bins(columns.bins, columns.answer(x)).astype(np.uint16)


def make_cells(columns: AskedColumns, codes: Any, sums: Array) -> Cells:
    """Return rows as cells.

    Parameters
    ----------
    columns : AskedColumns
    codes : (N, E)
        Bins of the answers.
    sums : (N, S)
        What each row adds.
    """
    cells, place = np.unique(codes, axis=0, return_inverse=True)
    totals = np.stack([np.bincount(place.ravel(), s, len(cells)) for s in sums.T], axis=1)
    return Cells(
        np.ascontiguousarray(cells),
        totals,
        columns.bins.starts,
        columns.source,
        len(columns.n_levels),
    )


def sum_levels(cells: Cells, rules: BoxRules, max_depth: int) -> tuple[Level, ...]:
    """Return the boxes of each depth above the last, with the sums of their trees.

    Parameters
    ----------
    cells : Cells
    rules : BoxRules
    max_depth : int
        0 is a leaf and nothing else.
    """
    workspace = kernels.new_workspace(cells)
    widest = (np.diff(cells.first) - 1).astype(np.uint16)[None]
    boxes, above = Boxes(np.zeros_like(widest), widest), []
    for _ in range(max(max_depth, 1) - (max_depth > 0)):
        cuts = kernels.new_cuts(len(boxes.low), cells)
        kernels.list_cuts(cells, boxes, rules, workspace, cuts)
        if max_depth == 0:
            cuts.size[:] = 0
        parts, left, right = _divide(boxes, cuts)
        above.append((boxes, cuts, left, right))
        boxes = parts
    levels = [_sum_last(cells, rules, boxes, workspace)] if max_depth else []
    for here, cuts, left, right in reversed(above):
        sums = kernels.new_sums(len(here.low), cells)
        below = levels[-1].sums if levels else sums
        kernels.sum_children(cells, rules, workspace, cuts, left, right, below, sums)
        levels.append(Level(here, cuts, left, right, sums))
    return tuple(reversed(levels))


def _sum_last(cells: Cells, rules: BoxRules, boxes: Boxes, workspace: Any) -> Level:
    """Return the last level; Ctrl-C is heard between some boxes and the next."""
    count, cuts = len(boxes.low), kernels.new_cuts(1, cells)
    sums = kernels.new_sums(count, cells)
    step = max(int(_TOGETHER / (cells.codes.size + PAIR * cuts.column.size + 1)), 1)
    progress = Progress(None, kept="nothing of the sum")
    try:
        for first in range(0, count, step):
            some = slice(first, first + step)
            here, to = Boxes(*(x[some] for x in boxes)), SumTable(*(x[some] for x in sums))
            kernels.sum_leaves(cells, here, rules, workspace, cuts, to)
            progress.say(f"all trees: {min(first + step, count):,} of {count:,} boxes")
    finally:
        progress.close()
    return Level(boxes, None, None, None, sums)


def weigh_leaves(cells: Cells, rules: BoxRules, boxes: Boxes) -> tuple[CutTable, Array]:
    """Return the divisions of boxes into two leaves, and the log of prior times evidence of each."""
    cuts = kernels.new_cuts(len(boxes.low), cells)
    terms = np.full(cuts.column.shape, -np.inf)
    kernels.weigh_cuts(cells, boxes, rules, kernels.new_workspace(cells), cuts, terms)
    return cuts, terms


def _divide(boxes: Boxes, cuts: CutTable) -> tuple[Boxes, IntArray, IntArray]:
    """Return the distinct parts of boxes, and which parts each division has."""
    box, place = np.nonzero(np.arange(cuts.column.shape[1]) < cuts.size[:, None])
    parts = take_parts(boxes, box, cuts.column[box, place], cuts.place[box, place])
    first, which = join_boxes(parts)
    left, right = (np.zeros(cuts.column.shape, dtype=np.int64) for _ in range(2))
    left[box, place], right[box, place] = np.split(which, 2)
    return Boxes(parts.low[first], parts.high[first]), left, right


def take_parts(boxes: Boxes, box: IntArray, column: Any, place: Any) -> Boxes:
    """Return the left parts of divisions, then the right ones."""
    low, high = (np.concatenate([ends[box], ends[box]]) for ends in boxes)
    here = np.arange(len(box))
    high[here, column] = place
    low[here + len(box), column] = place + 1
    return Boxes(low, high)


def join_boxes(boxes: Boxes) -> tuple[IntArray, IntArray]:
    """Return where each distinct box comes first, and which of these each box is."""
    _, first, which = np.unique(_name_boxes(boxes), return_index=True, return_inverse=True)
    if _are_same(boxes.low, boxes.high, first[which]):
        return first, which
    both = np.concatenate(boxes, axis=1)  # two boxes of one name: compare them as they are
    _, first, which = np.unique(both, axis=0, return_index=True, return_inverse=True)
    return first, which.ravel()


def _name_boxes(boxes: Boxes) -> Any:
    """Return a random-looking number for each box (G. Fowler, L. Noll & K. Vo's hash of its ends)."""
    names = np.full(len(boxes.low), _FIRST_NAME)
    for ends in zip(boxes.low.T, boxes.high.T, strict=True):
        for end in ends:
            names ^= end
            names *= _NAME_FACTOR  # modulo 2⁶⁴
    return names ^ (names >> np.uint64(32))


@kernel(allocates=False)
def _are_same(low: Any, high: Any, other: Any) -> bool:
    """Tell whether each box is the same as the one that is said to be."""
    for m in range(len(other)):
        for c in range(low.shape[1]):
            if low[m, c] != low[other[m], c] or high[m, c] != high[other[m], c]:
                return False
    return True
