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

#: Rows that are predicted again for every shuffle.
_MOST_ROWS = 2_000

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

    The mean of three shuffles of up to 2,000 rows, with their range; of all columns, or of those named.
    Of numbers only what the others do not tell is shuffled.
    """
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(problem.y))[:_MOST_ROWS]
    X, y = problem.X.iloc[rows].reset_index(drop=True), problem.y[rows]
    full = _score(pipeline, X, y, problem.classes)
    chosen = list(X) if names is None else list(names)
    told = _told_by_others(X[[n for n in chosen if problem.kinds[n] != "category"]])
    shifted = {n: told.get(n) for n in chosen if problem.kinds[n] in ("number", "date")}
    losses = {
        name: [
            full - _score(pipeline, _shuffled(X, name, shifted.get(name), rng), y, problem.classes)
            for _ in range(_REPEATS)
        ]
        for name in chosen
    }
    table = np.array(list(losses.values()))
    return largest_first(
        Effects([str(n) for n in losses], table.mean(1), table.min(1), table.max(1))
    )


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


def _shuffled(
    X: pd.DataFrame, name: str, told: Array | None, rng: np.random.Generator
) -> pd.DataFrame:
    """Shuffle a column, or what others do not tell of it; entries that are missing stay so."""
    order = rng.permutation(len(X))
    if told is None:  # categories and truth values stay what they are
        return X.assign(**{name: X[name].iloc[order].set_axis(X.index)})
    x = X[name].to_numpy(np.float64)
    known = np.flatnonzero(~np.isnan(x))
    mixed = x.copy()
    mixed[known] = told[known] + (x - told)[rng.permutation(known)]
    return X.assign(**{name: mixed})


def _score(pipeline: Any, X: pd.DataFrame, y: Any, classes: Any) -> float:
    if classes is None:
        return float(np.mean(predictive_of(pipeline, X).log_prob(y)))
    p = np.asarray(pipeline.predict_proba(X))
    chosen = p[np.arange(len(y)), np.searchsorted(pipeline.classes_, y)]
    return float(np.mean(np.log(np.maximum(chosen, 1e-300))))


def largest_first(effects: Effects) -> Effects:
    """Return effects in the order of their size."""
    order = np.argsort(-np.abs(effects.mean), kind="stable")
    return Effects(
        [effects.names[k] for k in order],
        effects.mean[order],
        effects.low[order],
        effects.high[order],
    )
