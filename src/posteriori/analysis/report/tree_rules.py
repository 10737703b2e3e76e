"""The rules of a tree as a nested list: what leads to each leaf, and what the leaf says."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from posteriori.analysis.fitting.findings import Findings
from posteriori.analysis.fitting.preparation import OTHER, CodeColumns
from posteriori.analysis.report.insights import entry_text
from posteriori.analysis.table.wording import counted, short_number
from posteriori.analysis.tasks.sections import Markup, Part, Words
from posteriori.drawing.measures import short_text
from posteriori.estimators.contract import HasBestTree, offers

__all__ = ["best_tree"]

#: Leaves that are told; of a larger tree the last questions are left out.
_MOST_LEAVES = 16

#: Years: a cut at noon, between a day and the next, is told by the day before it.
_QUARTER_DAY = 0.25 / 365.2425


def best_tree(found: Findings) -> list[Part]:
    """Tell the most probable tree of the first candidate that has one; nothing where none has."""
    for row in found.single_rows:
        model = found.outcomes[row.name].model
        if model is not None and offers(model[-1], HasBestTree):
            return _tree(model, found.words(row.name))
    return []


def _tree(pipeline: Any, name: str) -> list[Part]:
    tree, encoder = pipeline[-1].best_tree_, pipeline[0]
    if tree.n_leaves == 1:
        return [Words(f"Of the trees of “{name}” the most probable one asks nothing.")]
    depth = _told_depth(tree)
    words = (
        f"“{name}” averages many trees. This is the most probable of them (probability "
        f"{short_number(pipeline[-1].best_tree_probability_, 2)}): "
        f"{counted(tree.n_leaves, 'leaf', 'leaves')}, each with what it says of its rows"
        + (", ± one standard deviation" if tree.classes is None else "")
    )
    if depth < tree.depth:
        words += f"; what it asks after {counted(depth, 'question')} is left out"
    gaps = frozenset(np.flatnonzero(tree.gaps).tolist())
    return [Words(words + "."), Markup(_branches(tree, encoder, 0, depth, gaps))]


def _told_depth(tree: Any) -> int:
    """Return how many questions after one another can be told."""
    inner = np.bincount(tree.trees.depth[~tree.trees.is_leaf])
    leaves = 1 + np.cumsum(inner)  # each question has one leaf more
    return max(int(np.searchsorted(leaves, _MOST_LEAVES, side="right")), 1)


def _branches(tree: Any, encoder: CodeColumns, node: int, depth: int, gaps: frozenset[int]) -> str:
    """Return both answers to a node's question, with what follows from them.

    Of the columns in ``gaps`` entries may be missing here.
    """
    trees, column = tree.trees, int(tree.trees.column[node])
    children = int(trees.left[node]), int(trees.right[node])
    items = []
    for child, words in zip(children, _answers(tree, encoder, node, column in gaps), strict=True):
        with_gaps = (child == children[0]) == trees.missing_left[node]
        left_over = gaps if with_gaps else gaps - {column}
        end = trees.is_leaf[child] or depth == 1
        more = _said(tree, child) if end else _branches(tree, encoder, child, depth - 1, left_over)
        items.append(f"<li>{escape(words)}{more}</li>")
    return f'<ul class="tree">{"".join(items)}</ul>'


def _said(tree: Any, node: int) -> str:
    """Return what a node says of its rows."""
    if tree.classes is None:
        value = f"{short_number(tree.value[node])} ± {short_number(tree.spread[node], 2)}"
    else:
        label = short_text(str(tree.classes.tolist()[int(tree.value[node])]))
        value = f"{label} {tree.spread[node]:.0%}"
    rows = counted(round(tree.weight[node]), "row")
    return f": <b>{escape(value)}</b> <small>{rows}</small>"


def _answers(tree: Any, encoder: CodeColumns, node: int, gaps: bool) -> tuple[str, str]:
    """Return what leads left and what leads right, in words."""
    trees, column = tree.trees, int(tree.trees.column[node])
    name = list(encoder.kinds)[column]
    cut, start = float(trees.threshold[node]), trees.subset[node]
    marked = np.flatnonzero(trees.levels[start : start + trees.n_levels[column]])
    left, right = "is known", "is missing"
    if start >= 0 and len(marked) == 1:
        level = short_text((OTHER, *encoder.levels_[name])[marked[0]])
        left, right = f"is {level}", f"is not {level}"
    elif start < 0 and np.isfinite(cut):
        ends = (" or missing" * gaps, "")[:: 1 if trees.missing_left[node] else -1]
        left, right = (
            side + end for side, end in zip(_sides(cut, encoder.kinds[name]), ends, strict=True)
        )
    return f"{short_text(name)} {left}", f"{short_text(name)} {right}"


def _sides(cut: float, kind: str) -> tuple[str, str]:
    """Return both sides of a cut, in words."""
    if kind == "boolean":
        return "is no", "is yes"
    if kind == "date":
        last = entry_text(cut - _QUARTER_DAY, kind)
        return f"until {last}", f"after {last}"
    told = entry_text(cut, kind)
    return f"≤ {told}", f"> {told}"
