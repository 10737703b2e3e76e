r"""What a model relies on: how much worse it predicts when a column no longer tells what only it knows.

Shuffling a column that repeats others makes rows that cannot be, and the model looks as if it relied on
both. So what the other columns of numbers tell of a column is left as it is, and only the rest is
shuffled: :math:`x_j' = \hat E[x_j\mid x_{-j}] + r_{\pi}`, with the residuals r of least squares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.preparation import learn_scale, scaled
from posteriori.analysis.fitting.table_problem import Problem
from posteriori.estimators.contract import predictive_of
from posteriori.numerics.types import Array

__all__ = ["Effects", "column_importance", "largest_first"]

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
