"""What the best model has learned of each input, and which rows it did not expect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.analysis.comparisons.table_problem import Problem
from posteriori.analysis.fitting.preparation import OTHER, NumberColumns
from posteriori.analysis.report.figures import draw_effects
from posteriori.analysis.report.what_if import Effects, largest_first
from posteriori.analysis.table.wording import counted, entry_text, entry_words, short_number
from posteriori.analysis.tasks.sections import Beside, Figure, Grid, Markup, Part, Words
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.drawing.measures import short_text
from posteriori.estimators.contract import (
    DrawsWeights,
    HasBestTree,
    HasPosterior,
    offers,
)
from posteriori.estimators.group_columns import GroupEffects
from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import Unseen

if TYPE_CHECKING:
    from posteriori.analysis.comparisons.conclusions import Analysis

__all__ = [
    "LIMIT",
    "best_tree",
    "drivers",
    "expected_at_least",
    "level_effects",
    "spread_words",
    "surprise_table",
    "surprises",
    "surprising_rows",
    "weight_effects",
]


#: Draws of weights from which intervals of 90 % are read.
_DRAWS = 2_000

#: Effects of levels that are shown, the largest, and letters of the name of a column before a level.
_MOST_EFFECTS, _SHORT = 20, 9

#: What effects are measured in, where it is not the unit of the target.
_UNITS = {
    "LogLinearRegressor": " in logarithms",
    "HurdleRegressor": " in log odds of a count above 0",
    "PoissonRegressor": " in logarithms",
    "NegativeBinomialRegressor": " in logarithms",
    "ZeroInflatedRegressor": " in logarithms",
    "BayesianLogisticRegression": " in log odds",
    "ProbitRegression": " in probits",
}

#: Columns whose entries are told of surprising rows.
_MOST_TOLD = 4

#: A row surprises if the model expected fewer such rows than this.
LIMIT = 0.1


def drivers(found: Analysis) -> list[Part]:
    """Tell which columns the best single model relies on, and the weights and groups that it has learned."""
    name = found.words(found.best_single)
    if not found.problem.kinds:
        return []
    if found.importance is None:
        return [Words(f"No column: “{name}” predicts the same for every row.")]
    lost = Figure(
        draw_effects(found.importance, "log density per row lost by shuffling"),
        f"What “{name}” loses when a column no longer tells what only it knows: the more, the more "
        "it relies on that column. Lines are the range of three shuffles.",
    )
    model = found.outcomes[found.best_single].model
    weights, levels = weight_effects(model), level_effects(model)
    drawn = _weights(weights, name, grouped=levels is not None)
    if levels is None:
        return [Beside([lost], drawn)]
    return [Beside([lost, *drawn], _groups(model, levels, name))]  # both sides of about one height


def _weights(effects: Effects | None, name: str, *, grouped: bool) -> list[Part]:
    if effects is None or not len(effects.names):
        return []
    against = "" if grouped else "; a level stands against the most frequent one"
    caption = (
        f"Weights of “{name}”. Columns of numbers are in units of their "
        f"standard deviation{against}."
    )
    svg = draw_effects(effects, "weight, posterior mean and 90% interval")
    return [Figure(svg, caption)]


def _groups(model: Any, effects: Effects, name: str) -> list[Part]:
    """Tell of the groups: how much their levels differ, and which of them stand out."""
    columns = [column for column, *_ in _groups_of(model)]
    of = f" of “{columns[0]}”" if len(columns) == 1 else ""
    return [
        Words(
            "Levels of categories have effects with a common spread, told with its 90% interval: "
            f"{'; '.join(spread_words(model))}. A level that was not seen has the width of the spread."
        ),
        Figure(
            draw_effects(effects, "effect, mean and 90% interval"),
            f"The largest effects of levels{of} in “{name}”.",
        ),
    ]


def weight_effects(pipeline: Any) -> Effects | None:
    """Return the weights of a linear model, largest first; None if the model has no such weights."""
    final = pipeline[-1]
    inputs, encoder = pipeline[0].get_feature_names_out(), pipeline[0]
    groups = encoder.group_names() if isinstance(encoder, NumberColumns) else []
    names = [str(name) for name in inputs[: len(inputs) - len(groups)]]
    if not names:
        return None
    if offers(final, DrawsWeights):
        mean = np.asarray(final.coef_)[: len(names)]
        draws = final.sample_weights(_DRAWS, rng=0)[:, : len(names)]
        low, high = np.quantile(draws, [0.05, 0.95], axis=0)
        return largest_first(Effects(names, mean, low, high))
    posterior = final.posterior_ if offers(final, HasPosterior) else None
    if not isinstance(posterior, MvNormal) or posterior.mean.ndim != 1:
        return None
    if len(posterior.mean) not in (len(names), len(names) + 1):
        return None  # several classes: a set of weights for each
    mean = np.asarray(posterior.mean)[: len(names)]
    half = 1.6449 * np.asarray(posterior.std)[: len(names)]
    return largest_first(Effects(names, mean, mean - half, mean + half))


def level_effects(pipeline: Any) -> Effects | None:
    """Return the largest effects of levels of groups; None if the model has no groups."""
    groups = _groups_of(pipeline)
    if not groups:
        return None
    # levels tell rows of the figure apart: names of columns leave them their room
    names = [
        level if len(groups) == 1 else f"{short_text(name, _SHORT)} = {level}"
        for name, levels, _ in groups
        for level in levels
    ]
    mean = np.concatenate([effects.mean for *_, effects in groups])
    half = 1.6449 * np.concatenate([effects.std for *_, effects in groups])
    if mean.ndim > 1:  # one effect on each of several classes
        names = [f"{name} on {label}" for name in names for label in pipeline[-1].classes_]
        mean, half = mean.ravel(), half.ravel()
    order = np.argsort(-np.abs(mean), kind="stable")[:_MOST_EFFECTS]
    shown = [names[k] for k in order]
    return Effects(shown, mean[order], (mean - half)[order], (mean + half)[order])


def spread_words(pipeline: Any) -> list[str]:
    """Return how much the levels of each group differ, in words."""
    unit, told = _UNITS.get(type(pipeline[-1]).__name__, ""), []
    if unit == _UNITS["BayesianLogisticRegression"] and len(pipeline[-1].classes_) > 2:
        unit += " of a class against the average one"
    for name, levels, effects in _groups_of(pipeline):
        low, high = (short_number(end, 2) for end in effects.spread_interval)
        told.append(
            f"{counted(len(levels), 'level')} of {short_text(name)!r} differ by "
            f"±\N{NO-BREAK SPACE}{short_number(effects.spread, 2)}{unit} ({low} to {high})"
        )
    return told


def _groups_of(pipeline: Any) -> list[tuple[str, list[str], GroupEffects]]:
    """Return the names of groups, their levels as the table has them, and their effects."""
    encoder, final = pipeline[0], pipeline[-1]
    if not isinstance(encoder, NumberColumns) or not encoder.group_names():
        return []
    known = zip(encoder.levels_, final.group_effects_.values(), strict=True)
    return [
        (part.name, [part.levels[int(code)] for code in effects.levels], effects)
        for part, effects in known
    ]


# -- surprising rows -----------------------------------------------------------------------------


def surprises(found: Analysis) -> list[Part]:
    """Tell the rows that the best model did not expect."""
    places, columns = np.flatnonzero(found.target.known), found.strongest
    written = {column.name: column.written for column in found.columns}
    told = {name: written[name] for name in columns[:_MOST_TOLD]}
    header, rows = surprise_table(
        found.unseen, found.problem, places, told, found.target.column.written
    )
    if not rows:
        none = "None: the best model could expect rows like the least probable ones among so many."
        return [Words(none)]
    entries = " Of the other columns those are told that go with the target most closely."
    said = (
        f"Rows so improbable that the best model expected fewer than {LIMIT:g} of the kind among "
        "all: errors in the data, or what the model does not know. Row 1 is the first below the "
        f"header.{entries if columns else ''}"
    )
    return [Words(said), Grid(header, rows)]


def surprising_rows(unseen: Unseen, codes: Any = None, *, most: int = 8) -> Array:
    """Return the rows of which a model expected fewer than 0.1 so improbable, worst first.

    Parameters
    ----------
    unseen : Unseen
    codes : (N,) of int, optional
        Places of the classes that came; for numbers there are none.
    most : int
        No more than this many are returned.
    """
    expected = expected_at_least(unseen, codes)
    order = np.lexsort((unseen.log_density, expected))[:most]
    return order[expected[order] < LIMIT]


def expected_at_least(unseen: Unseen, codes: Any = None) -> Array:
    r"""Return how many rows at least as improbable as each the model expected among all, (N,).

    For numbers it is :math:`2N\min(F, 1 - F)`, F being the level of what came; for classes the sum of
    all probabilities, of any class in any row, up to that of the class that came.
    """
    if codes is None:
        level = unseen.level
        return 2.0 * len(level) * np.minimum(level, 1.0 - level)
    p = unseen.prediction
    came = p[np.arange(len(p)), codes]
    ascending = np.sort(p, axis=None)
    below = np.append(0.0, np.cumsum(ascending))
    # equal probabilities differ in their last digit from fold to fold
    return below[np.searchsorted(ascending, came * (1.0 + 1e-9), side="right")]


def surprise_table(
    unseen: Unseen,
    problem: Problem,
    places: Any,
    shown: Mapping[str, str] = MappingProxyType({}),
    kind: str = "number",
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table of the surprising rows; no rows if there are none.

    Parameters
    ----------
    unseen : Unseen
    problem : Problem
    places : (N,) of int
        Where the rows stand in the table, from 0.
    shown : mapping of str to str
        Columns whose entries are told, and how these are written.
    kind : str
        How numbers of the target are written.
    """
    y, classes = problem.y, problem.classes
    codes = None if classes is None else np.searchsorted(classes, y)
    expected = expected_at_least(unseen, codes)
    rows = []
    for row in surprising_rows(unseen, codes):
        if classes is None:
            came = entry_text(float(y[row]), kind)
            said = entry_words(kind, float(unseen.prediction[row]))
        else:
            came, said = str(y[row]), str(classes[unseen.prediction[row].argmax()])
        entries = [entry_text(problem.X[n].iloc[row], written) for n, written in shown.items()]
        told = (short_text(came), short_text(said), *entries, short_number(expected[row], 1))
        rows.append((f"{places[row] + 1:,}", *told))
    names = (short_text(name, 16) for name in shown)
    return ("row", "came", "predicted", *names, "such rows expected"), rows


#: Leaves that are told; of a larger tree the last questions are left out.
_MOST_LEAVES = 16

#: Years: a cut at noon, between a day and the next, is told by the day before it.
_QUARTER_DAY = 0.25 / 365.2425


def best_tree(found: Analysis) -> list[Part]:
    """Tell the most probable tree of the first candidate that has one; nothing where none has."""
    for row in found.single_rows:
        model = found.outcomes[row.name].model
        if model is not None and offers(model[-1], HasBestTree):
            return _tree(model, found.words(row.name), {c.name: c.written for c in found.columns})
    return []


def _tree(pipeline: Any, name: str, written: Mapping[str, str]) -> list[Part]:
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
    columns = [
        _Asked(name, written[name], (OTHER, *encoder.levels_.get(name, ())))
        for name in encoder.kinds
    ]
    return [Words(words + "."), Markup(_branches(tree, columns, 0, depth, gaps))]


def _told_depth(tree: Any) -> int:
    """Return how many questions after one another can be told."""
    inner = np.bincount(tree.trees.depth[~tree.trees.is_leaf])
    leaves = 1 + np.cumsum(inner)  # each question has one leaf more
    return max(int(np.searchsorted(leaves, _MOST_LEAVES, side="right")), 1)


class _Asked(NamedTuple):
    """A column that a tree asks of: its name, how its entries are written, and its levels."""

    name: str
    written: str
    levels: tuple[str, ...]


def _branches(
    tree: Any, columns: Sequence[_Asked], node: int, depth: int, gaps: frozenset[int]
) -> str:
    """Return both answers to a node's question, with what follows from them.

    Of the columns in ``gaps`` entries may be missing here.
    """
    trees, column = tree.trees, int(tree.trees.column[node])
    children = int(trees.left[node]), int(trees.right[node])
    items = []
    for child, words in zip(
        children, _answers(tree, columns[column], node, column in gaps), strict=True
    ):
        with_gaps = (child == children[0]) == trees.missing_left[node]
        left_over = gaps if with_gaps else gaps - {column}
        end = trees.is_leaf[child] or depth == 1
        more = _said(tree, child) if end else _branches(tree, columns, child, depth - 1, left_over)
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


def _answers(tree: Any, asked: _Asked, node: int, gaps: bool) -> tuple[str, str]:
    """Return what leads left and what leads right, in words."""
    trees, column = tree.trees, int(tree.trees.column[node])
    cut, start = float(trees.threshold[node]), trees.subset[node]
    marked = np.flatnonzero(trees.levels[start : start + trees.n_levels[column]])
    left, right = "is known", "is missing"
    if start >= 0 and len(marked) == 1:
        level = short_text(asked.levels[marked[0]])
        left, right = f"is {level}", f"is not {level}"
    elif start < 0 and np.isfinite(cut):
        ends = (" or missing" * gaps, "")[:: 1 if trees.missing_left[node] else -1]
        left, right = (
            side + end for side, end in zip(_sides(cut, asked.written), ends, strict=True)
        )
    return f"{short_text(asked.name)} {left}", f"{short_text(asked.name)} {right}"


def _sides(cut: float, kind: str) -> tuple[str, str]:
    """Return both sides of a cut, in words."""
    if kind == "boolean":
        return "is no", "is yes"
    if kind == "date":
        last = entry_text(cut - _QUARTER_DAY, kind)
        return f"until {last}", f"after {last}"
    told = entry_text(cut, kind)
    return f"≤ {told}", f"> {told}"
