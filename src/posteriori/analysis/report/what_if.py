"""What the model says of rows: some typical ones, and one that changes in a single column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.comparisons.table_problem import Problem
from posteriori.analysis.fitting.preparation import learn_scale, scaled
from posteriori.analysis.report.figures import draw_added, draw_curve
from posteriori.analysis.table.wording import entry_text, entry_words, number_within
from posteriori.analysis.targets.class_costs import say_classes
from posteriori.analysis.tasks.sections import Figure, Figures, Grid, Part, Words
from posteriori.drawing.measures import short_text
from posteriori.estimators.contract import AddsColumns, offers, predictive_of
from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import point_prediction

if TYPE_CHECKING:
    from posteriori.analysis.comparisons.conclusions import Analysis

__all__ = [
    "EffectCurve",
    "Effects",
    "added_curves",
    "adding_columns",
    "changing_columns",
    "column_importance",
    "driving_first",
    "effect_curves",
    "largest_first",
    "typical_rows",
    "typical_table",
]


#: Typical rows that are shown, and columns whose entries are told of them.
_ROWS, _MOST_TOLD = 10, 4

#: Columns whose curves are drawn, those that matter most.
_MOST_CURVES = 6

#: Points of a curve, and the part of a column's values that it runs over.
_POINTS, _ENDS = 40, (0.02, 0.98)

#: How far a missing number counts as being from the median, in typical differences; none counts more.
_GAP = 4.0

#: More classes than this make no figure that can be read.
_MOST_CLASSES = 5


class EffectCurve(NamedTuple):
    """What is predicted of a typical row as one of its numbers changes.

    Attributes
    ----------
    name : str
        The column.
    at : (P,)
    lines : dict of (P,)
        The prediction, or the probability of each class, by label.
    low, high : (P,) or None
        Interval of 90 %, of numbers.
    """

    name: str
    at: Array
    lines: dict[str, Array]
    low: Array | None
    high: Array | None


def changing_columns(found: Analysis) -> list[Part]:
    """Draw what the kept model predicts of a typical row as each column changes."""
    curves = effect_curves(found)
    if not curves:
        return []
    shade = ", with intervals of 90%" if found.problem.classes is None else ""
    said = (
        f"What “{found.words(found.kept)}” predicts of a row that is typical in all other columns"
        f"{shade}:"
    )
    target = found.target.column.name
    return [
        Words(said),
        Figures([Figure(draw_curve(curve, target)) for curve in curves]),
    ]


def adding_columns(found: Analysis) -> list[Part]:
    """Return what each column adds, by the best model that is a sum over columns; nothing without one."""
    name, curves = added_curves(found)
    if not curves:
        return []
    said = (
        f"“{found.words(name)}” is a sum of a level and of what each column adds: 0 on average over all "
        "rows, here with the band that holds it with a probability of 90%, all on one scale. Columns that "
        "add most come first; one whose band holds a flat line may add nothing."
    )
    ends = (
        min(float(np.asarray(c.low).min()) for c in curves),
        max(float(np.asarray(c.high).max()) for c in curves),
    )
    target = found.target.column.name
    drawn = [Figure(draw_added(curve, target, ends)) for curve in curves]
    return [Words(said), Figures(drawn)]


def effect_curves(found: Analysis) -> list[EffectCurve]:
    """Return curves of the columns of numbers that matter most; none where they cannot be drawn."""
    importance = found.importance
    classes = found.problem.classes
    if importance is None or (classes is not None and len(classes) > _MOST_CLASSES):
        return []
    kinds = found.problem.kinds
    names = [n for n, lost in zip(importance.names, importance.mean, strict=True) if lost > 0.0]
    numbers = [n for n in names if kinds[n] == "number" and found.problem.X[n].nunique() > 2]
    return _predicted_curves(found, numbers[:_MOST_CURVES])


def added_curves(found: Analysis) -> tuple[str, list[EffectCurve]]:
    """Return the best model that adds up columns, and what each column of numbers adds, the widest first.

    Columns that are held at one value have no curve; without such a model there are none.
    """
    for row in found.single_rows:
        model = found.outcomes[row.name].model
        if model is not None and offers(model[-1], AddsColumns):
            kinds, X = found.problem.kinds, found.problem.X
            inputs = [str(name) for name in model[0].get_feature_names_out()]
            names = [n for n in inputs if kinds.get(n) == "number" and X[n].nunique() > 2]
            curves = _added(found, model, {name: 1 + inputs.index(name) for name in names})
            curves.sort(key=lambda curve: -float(np.ptp(curve.lines[""])))
            return row.name, curves[:_MOST_CURVES]
    return "", []


def _added(found: Analysis, model: Any, places: Mapping[str, int]) -> list[EffectCurve]:
    """Return what each column adds, by the place of its summand."""
    at, rows = _changed_rows(found, list(places))
    effects = model[-1].effects(model[0].transform(rows))
    curves = []
    for k, (name, place) in enumerate(places.items()):
        belief, mine = effects[place].belief, slice(k * _POINTS, (k + 1) * _POINTS)
        low, high = _ends_of(belief)[:, mine]
        curves.append(EffectCurve(name, at[k], {"": np.asarray(belief.mean)[mine]}, low, high))
    return curves


def _changed_rows(found: Analysis, names: Sequence[str]) -> tuple[Array, pd.DataFrame]:
    """Return values of columns, (C, P), and a typical row with each of them in turn, one below the other."""
    X = found.problem.X
    first, last = X[list(names)].quantile(_ENDS).to_numpy(np.float64)
    at = np.linspace(first, last, _POINTS, axis=1)
    rows = _typical_row(X, found.problem.kinds, _POINTS * len(names))
    for k, name in enumerate(names):
        values = rows[name].to_numpy(np.float64, copy=True)
        values[k * _POINTS : (k + 1) * _POINTS] = at[k]
        rows[name] = values
    return at, rows


def _predicted_curves(found: Analysis, names: Sequence[str]) -> list[EffectCurve]:
    """Return what the kept model predicts as columns change, from one prediction of all rows."""
    if not names:
        return []
    model = found.outcomes[found.kept].model
    at, rows = _changed_rows(found, names)
    parts = len(names), _POINTS
    if found.problem.classes is not None:
        p, labels = np.asarray(model.predict_proba(rows)), [str(c) for c in model.classes_]
        shown = range(1, 2) if len(labels) == 2 else range(len(labels))
        shares = {labels[k]: p[:, k].reshape(parts) for k in shown}
        return [
            EffectCurve(
                name, at[k], {label: share[k] for label, share in shares.items()}, None, None
            )
            for k, name in enumerate(names)
        ]
    predictive = predictive_of(model, rows)
    said = point_prediction(model, rows, predictive, found.problem.loss).reshape(parts)
    low, high = _ends_of(predictive).reshape(2, *parts)
    return [
        EffectCurve(name, at[k], {"": said[k]}, low[k], high[k]) for k, name in enumerate(names)
    ]


def _ends_of(predictive: Any) -> Array:
    """Return both ends of the central intervals of 90 %, (2, N)."""
    return np.asarray(predictive.quantile(np.array([[0.05], [0.95]])))


def _typical_row(X: pd.DataFrame, kinds: dict[str, str], count: int) -> pd.DataFrame:
    """Return one row of the table many times: the one nearest to what is usual, its gaps filled.

    A row that is there has levels that go together, which the most frequent ones need not.
    """
    usual, apart = {}, np.zeros(len(X))
    for name, kind in kinds.items():
        series = X[name]
        if kind in ("number", "date"):
            usual[name] = series.median()
            spread = float((series - usual[name]).abs().median()) or float(series.std()) or 1.0
            apart += (
                ((series - usual[name]).abs() / spread).fillna(_GAP).clip(upper=_GAP).to_numpy()
            )
        else:
            usual[name] = series.mode().iloc[0]
            apart += (series != usual[name]).to_numpy(float)
    nearest = X.iloc[[int(np.argmin(apart))] * count].reset_index(drop=True)
    return nearest.fillna(usual)


def typical_rows(found: Analysis) -> list[Part]:
    """Tell what is said of rows at even steps of the predictions."""
    if found.target.task == "density":
        return []
    told = driving_first(found, found.strongest)[:_MOST_TOLD]
    order = (
        "predictions, from the lowest to the highest"
        if found.problem.classes is None
        else ("certainty, from the least to the most certain")
    )
    said = (
        f"Rows at even steps of their {order}; said by “{found.words(found.kept)}”, which has "
        "learned from all rows."
    )
    rows = Grid(*typical_table(found, np.flatnonzero(found.target.known), told))
    return [Words(said), rows]


def driving_first(found: Analysis, columns: Sequence[str]) -> list[str]:
    """Return columns with those first that drive the predictions, the strongest at the head."""
    driving = [] if found.importance is None else list(found.importance.names)
    return sorted(columns, key=lambda c: driving.index(c) if c in driving else len(driving))


def typical_table(
    found: Analysis, places: Any, shown: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table of predictions, from the lowest to the highest.

    Parameters
    ----------
    found : Analysis
    places : (N,) of int
        Where the rows stand in the table, from 0.
    shown : sequence of str
        Columns whose entries are told.
    """
    problem, model = found.problem, found.outcomes[found.kept].model
    unseen = found.outcomes[found.kept].unseen
    assert unseen is not None
    order = unseen.prediction if problem.classes is None else unseen.prediction.max(axis=1)
    steps = np.unique(np.linspace(0, len(order) - 1, _ROWS).round().astype(int))
    rows = np.argsort(order, kind="stable")[steps]
    said = (
        _numbers_said(found, model, rows)
        if problem.classes is None
        else _classes_said(found, model, rows)
    )
    written = {column.name: column.written for column in found.columns}
    entries = [[entry_text(problem.X[n].iloc[r], written[n]) for n in shown] for r in rows]
    cells = [
        (f"{places[r] + 1:,}", *entry, *told)
        for r, entry, told in zip(rows, entries, said, strict=True)
    ]
    last = ("came", "predicted", "90% interval" if problem.classes is None else "probability")
    return ("row", *(short_text(name, 16) for name in shown), *last), cells


def _numbers_said(found: Analysis, model: Any, rows: Array) -> list[tuple[str, str, str]]:
    inputs, y = found.problem.X.iloc[rows], found.problem.y[rows]
    predictive = predictive_of(model, inputs)
    point = point_prediction(model, inputs, predictive, found.problem.loss)
    low, high = _ends_of(predictive)
    written = found.target.column.written
    told = []
    for came, said, least, most in zip(y, point, low, high, strict=True):
        ends = (number_within(number, most - least, written) for number in (said, least, most))
        told.append((entry_words(written, came), next(ends), " to ".join(ends)))
    return told


def _classes_said(found: Analysis, model: Any, rows: Array) -> list[tuple[str, str, str]]:
    p = np.asarray(model.predict_proba(found.problem.X.iloc[rows]))
    best = say_classes(p, found.model.costs)
    return [
        (short_text(str(found.problem.y[r])), short_text(str(model.classes_[k])), f"{share[k]:.2f}")
        for r, k, share in zip(rows, best, p, strict=True)
    ]


#: Rows that are predicted again for every shuffle; where there are more, each has others.
_MOST_ROWS = 700

#: Directions of the other columns that are narrower than this share of the widest tell nothing.
_SAME = 1e-6

#: Shuffles of each column: their mean and range are shown.
_REPEATS = 3


class Effects(NamedTuple):
    """Numbers with intervals, one for each input.

    Attributes
    ----------
    names : list of str
    mean, low, high : (D,)
        Posterior mean and 90% interval.
    """

    names: list[str]
    mean: Array
    low: Array
    high: Array


def column_importance(
    pipeline: Any, problem: Problem, seed: int, names: Sequence[str] | None = None
) -> Effects:
    """Return how much log predictive density per row is lost when a column is shuffled.

    The mean of three shuffles of up to 700 rows, with their range; of all columns, or of those named. Of
    more rows, each shuffle has others. Of numbers only what the others do not tell is shuffled.
    """
    rng = np.random.default_rng(seed)
    parts = _parts(rng.permutation(len(problem.y)))
    rows = np.unique(parts)
    X, y = problem.X.iloc[rows].reset_index(drop=True), problem.y[rows]
    chosen = list(X) if names is None else list(names)
    told = _told_by_others(X[[n for n in chosen if problem.kinds[n] != "category"]])
    shifted = {n: told.get(n) for n in chosen if problem.kinds[n] in ("number", "date")}
    places = np.searchsorted(rows, parts)
    full = _scores(pipeline, X, y, problem.classes)[places].mean(axis=1)
    together = X.iloc[places.ravel()].reset_index(drop=True)
    losses = []
    for name in chosen:
        entries = [
            _shuffled(X[name].iloc[part], _take(shifted.get(name), part), rng) for part in places
        ]
        changed = together.assign(**{name: pd.concat(entries, ignore_index=True)})
        scores = _scores(pipeline, changed, y[places.ravel()], problem.classes)
        losses.append(full - scores.reshape(places.shape).mean(axis=1))
    table = np.array(losses)
    return largest_first(
        Effects([str(n) for n in chosen], table.mean(1), table.min(1), table.max(1))
    )


def _parts(order: Array) -> Array:
    """Return the rows of each shuffle, (3, n): all of them, or as far as there are enough rows of its own."""
    size = min(len(order), _MOST_ROWS)
    starts = np.linspace(0, len(order) - size, _REPEATS).astype(int)
    return np.stack([order[start : start + size] for start in starts])


def _take(values: Array | None, rows: Array) -> Array | None:
    return None if values is None else values[rows]


def _told_by_others(numbers: pd.DataFrame) -> dict[str, Array]:
    """Return what each column of numbers is expected to be, by least squares on all others."""
    scales = [learn_scale(str(name), numbers[name].to_numpy(np.float64)) for name in numbers]
    if len(scales) < 2:
        return {}
    z = np.column_stack([scaled(scale, numbers) for scale in scales])
    found = {}
    for k, scale in enumerate(scales):
        others = np.delete(z, k, axis=1)
        weights = np.linalg.lstsq(others, z[:, k], rcond=_SAME)[0]
        found[scale.name] = scale.mean + scale.std * (others @ weights)
    return found


def _shuffled(column: pd.Series, told: Array | None, rng: np.random.Generator) -> pd.Series:
    """Shuffle a column, or what others do not tell of it; entries that are missing stay so."""
    order = rng.permutation(len(column))
    if told is None:  # categories and truth values stay what they are
        return column.iloc[order]
    x = column.to_numpy(np.float64)
    known = np.flatnonzero(~np.isnan(x))
    mixed = x.copy()
    mixed[known] = told[known] + (x - told)[rng.permutation(known)]
    return pd.Series(mixed)


def _scores(pipeline: Any, X: pd.DataFrame, y: Any, classes: Any) -> Array:
    """Return the log predictive density of each row."""
    if classes is None:
        return np.asarray(predictive_of(pipeline, X).log_prob(y))
    p = np.asarray(pipeline.predict_proba(X))
    chosen = p[np.arange(len(y)), np.searchsorted(pipeline.classes_, y)]
    return np.log(np.maximum(chosen, 1e-300))


def largest_first(effects: Effects) -> Effects:
    """Return effects in the order of their size."""
    order = np.argsort(-np.abs(effects.mean), kind="stable")
    return Effects(
        [effects.names[k] for k in order],
        effects.mean[order],
        effects.low[order],
        effects.high[order],
    )
