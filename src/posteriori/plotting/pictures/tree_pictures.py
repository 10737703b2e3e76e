"""Trees of decisions: boxes with questions, leaves with answers; yes leads left, no leads right.

Each leaf has a place of its own, and a question stands midway above its two answers. So two leaves of
one level are a place apart or more, a leaf and a question one and a half, two questions two: boxes do
not overlap where a place is wide enough for these.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import mpl_colors
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import COLORS, INK, Axes, axes_for, color_of

__all__ = ["plot_tree"]

#: Leaves that are drawn; a picture of more is wider than a page of any size.
_MOST_LEAVES = 32
#: Letters of a line in a box; the rest is left out.
_MOST_LETTERS = 26
#: Points of the text, and inches of a letter of it, of the border of a box, and of a level.
_POINTS, _LETTER, _BORDER, _LEVEL = 9.0, 0.083, 0.22, 0.95


class _Layout(NamedTuple):
    """Where nodes stand (M,), what they say, and how many inches a place is wide."""

    x: Array
    depth: Any
    texts: list[str]
    place: float


def plot_tree(tree: Any, ax: Any = None) -> Axes:
    """Draw a tree with its questions and answers.

    Leaves of a class have its colour, leaves of numbers a stronger one where these are larger; lines
    are wider where more rows go.

    Parameters
    ----------
    tree : LabelledTree
        As ``model.tree_``.
    ax : matplotlib Axes, optional
        Where to draw; a new figure if None, as large as the tree needs. On given axes the text is
        made smaller where it would not fit.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        When the tree has more than 32 leaves.
    """
    if tree.n_leaves > _MOST_LEAVES:
        raise ValueError(
            f"a tree of {tree.n_leaves} leaves is too wide to be drawn (at most {_MOST_LEAVES}): limit "
            "max_leaves or max_depth, or prune it"
        )
    layout = _lay_out(tree)
    size = (tree.n_leaves * layout.place, (tree.depth + 0.8) * _LEVEL)
    with axes_for(ax, (max(size[0], 2.0), size[1])) as axes:
        axes.set(xlim=(-0.5, tree.n_leaves - 0.5), ylim=(tree.depth + 0.4, -0.4))
        axes.set_axis_off()
        shrink = 1.0 if ax is None else min(1.0, *(_inches(axes) / size))
        _draw_lines(axes, tree, layout, _POINTS * shrink)
        _draw_boxes(axes, tree, layout, _POINTS * shrink)
    return axes


def _lay_out(tree: Any) -> _Layout:
    trees = tree.trees
    x, order = np.zeros(len(trees.column)), _leaves_in_order(trees)
    x[order] = np.arange(len(order))
    for node in np.flatnonzero(~trees.is_leaf)[::-1]:  # children come after their parents
        x[node] = 0.5 * (x[trees.left[node]] + x[trees.right[node]])
    texts = [_text(tree, node) for node in range(len(x))]
    wide = np.array([max(map(len, text.splitlines())) * _LETTER + _BORDER for text in texts])
    leaf = wide[trees.is_leaf].max()
    question = wide[~trees.is_leaf].max(initial=0.0)
    return _Layout(x, trees.depth, texts, max(leaf, (leaf + question) / 3.0, question / 2.0))


def _leaves_in_order(trees: Any) -> list[int]:
    """Return the leaves from left to right."""
    found, open_nodes = [], [0]
    while open_nodes:
        node = open_nodes.pop()
        if trees.is_leaf[node]:
            found.append(node)
        else:
            open_nodes += [int(trees.right[node]), int(trees.left[node])]
    return found


def _text(tree: Any, node: int) -> str:
    """Return what a node says, in two lines."""
    if tree.trees.is_leaf[node]:
        first, _, second = tree.answer(node).rpartition(" (")
        lines = first, second.rstrip(")")
    else:
        name = tree.names[tree.trees.column[node]]
        lines = name, tree.question(node)[len(name) + 1 :]
    return "\n".join(x if len(x) <= _MOST_LETTERS else f"{x[: _MOST_LETTERS - 1]}…" for x in lines)


def _inches(axes: Axes) -> Array:
    figure: Any = axes.figure
    box = axes.get_position()
    return np.array([box.width, box.height]) * figure.get_size_inches()


def _draw_lines(axes: Axes, tree: Any, layout: _Layout, points: float) -> None:
    trees, share = tree.trees, tree.weight / tree.weight[0]
    for node in np.flatnonzero(~trees.is_leaf):
        for child, word, side in (
            (trees.left[node], "yes", "right"),
            (trees.right[node], "no", "left"),
        ):
            x, y = layout.x[[node, child]], layout.depth[[node, child]]
            axes.plot(x, y, color=INK, lw=0.6 + 4.0 * share[child], alpha=0.6, zorder=1)
            if node == 0:
                away = -0.06 if side == "right" else 0.06
                axes.text(x.mean() + away, y.mean(), word, ha=side, va="bottom", size=points)


def _draw_boxes(axes: Axes, tree: Any, layout: _Layout, points: float) -> None:
    for node, text in enumerate(layout.texts):
        leaf = bool(tree.trees.is_leaf[node])
        box = {"boxstyle": "round,pad=0.35", "edgecolor": INK, "linewidth": 0.8}
        box["facecolor"] = _shade(tree, node) if leaf else "white"
        axes.text(
            layout.x[node],
            layout.depth[node],
            text,
            ha="center",
            va="center",
            size=points,
            color="#22262b",
            bbox=box,
            zorder=2,
        )


def _shade(tree: Any, node: int) -> Any:
    """Return the colour of a leaf, light enough for dark text."""
    if tree.classes is not None:
        return _lightened(color_of(int(tree.value[node])), 0.15 + 0.4 * float(tree.spread[node]))
    low, high = (f(tree.value[tree.trees.is_leaf]) for f in (np.min, np.max))
    return _lightened(
        COLORS[0], 0.1 + 0.5 * float((tree.value[node] - low) / ((high - low) or 1.0))
    )


def _lightened(color: str, share: float) -> tuple[float, ...]:
    """Return a share of a colour on white."""
    return tuple(1.0 - share * (1.0 - part) for part in mpl_colors.to_rgb(color))
