"""What the model says of rows: some typical ones, and one that changes in a single column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.findings import Findings
from posteriori.analysis.report.insights import entry_text
from posteriori.analysis.table.wording import short_number
from posteriori.drawing.measures import short_text
from posteriori.estimators.contract import AddsColumns, offers, predictive_of
from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import point_prediction

__all__ = ["EffectCurve", "added_curves", "driving_first", "effect_curves", "typical_table"]

#: Typical rows that are shown.
_ROWS = 10

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


def effect_curves(found: Findings) -> list[EffectCurve]:
    """Return curves of the columns of numbers that matter most; none where they cannot be drawn."""
    importance = found.importance
    classes = found.problem.classes
    if importance is None or (classes is not None and len(classes) > _MOST_CLASSES):
        return []
    kinds = found.problem.kinds
    names = [n for n, lost in zip(importance.names, importance.mean, strict=True) if lost > 0.0]
    numbers = [n for n in names if kinds[n] == "number" and found.problem.X[n].nunique() > 2]
    return _predicted_curves(found, numbers[:_MOST_CURVES])


def added_curves(found: Findings) -> tuple[str, list[EffectCurve]]:
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


def _added(found: Findings, model: Any, places: Mapping[str, int]) -> list[EffectCurve]:
    """Return what each column adds, by the place of its summand."""
    at, rows = _changed_rows(found, list(places))
    effects = model[-1].effects(model[0].transform(rows))
    curves = []
    for k, (name, place) in enumerate(places.items()):
        belief, mine = effects[place].belief, slice(k * _POINTS, (k + 1) * _POINTS)
        low, high = _ends_of(belief)[:, mine]
        curves.append(EffectCurve(name, at[k], {"": np.asarray(belief.mean)[mine]}, low, high))
    return curves


def _changed_rows(found: Findings, names: Sequence[str]) -> tuple[Array, pd.DataFrame]:
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


def _predicted_curves(found: Findings, names: Sequence[str]) -> list[EffectCurve]:
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


def driving_first(found: Findings, columns: Sequence[str]) -> list[str]:
    """Return columns with those first that drive the predictions, the strongest at the head."""
    driving = [] if found.importance is None else list(found.importance.names)
    return sorted(columns, key=lambda c: driving.index(c) if c in driving else len(driving))


def typical_table(
    found: Findings, places: Any, shown: Sequence[str]
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table of predictions, from the lowest to the highest.

    Parameters
    ----------
    found : Findings
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
        else _classes_said(model, problem, rows)
    )
    entries = [[entry_text(problem.X[n].iloc[r], problem.kinds[n]) for n in shown] for r in rows]
    cells = [
        (f"{places[r] + 1:,}", *entry, *told)
        for r, entry, told in zip(rows, entries, said, strict=True)
    ]
    last = ("came", "predicted", "90% interval" if problem.classes is None else "probability")
    return ("row", *(short_text(name, 16) for name in shown), *last), cells


def _numbers_said(found: Findings, model: Any, rows: Array) -> list[tuple[str, str, str]]:
    inputs, y = found.problem.X.iloc[rows], found.problem.y[rows]
    predictive = predictive_of(model, inputs)
    point = point_prediction(model, inputs, predictive, found.problem.loss)
    low, high = _ends_of(predictive)
    return [
        (short_number(a), short_number(b, 3), f"{short_number(c, 3)} to {short_number(d, 3)}")
        for a, b, c, d in zip(y, point, low, high, strict=True)
    ]


def _classes_said(model: Any, problem: Any, rows: Array) -> list[tuple[str, str, str]]:
    p = np.asarray(model.predict_proba(problem.X.iloc[rows]))
    best = p.argmax(axis=1)
    return [
        (short_text(str(problem.y[r])), short_text(str(model.classes_[k])), f"{share[k]:.2f}")
        for r, k, share in zip(rows, best, p, strict=True)
    ]
