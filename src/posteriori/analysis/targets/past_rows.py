"""Scores by origins: each part of the rows is told by the rows before it, as what comes next will be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.table.columns import Column, column_name, guess_column
from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import fit_in_parts, predict_fold, split_origins

__all__ = ["Past", "cut_by_origins", "fit_in_time", "read_time", "some_after_origins"]


class Past(NamedTuple):
    """Rows before the first of several origins in time, of which nothing is told.

    Attributes
    ----------
    X : DataFrame
    y : (N₀,)
    before : tuple of (n,) of int
        Of the rows that are told, those before each origin.
    judged : (N,) of int
        Which of all rows are told.
    time : str
        The column that orders them.
    """

    X: pd.DataFrame
    y: Any
    before: tuple[Any, ...]
    judged: Any
    time: str


def read_time(frame: pd.DataFrame, name: Any, day_first: bool | None = None) -> Column:
    """Return the column that orders rows in time.

    Raises
    ------
    ValueError
        When it is not there, or holds no times.
    """
    name = column_name(name)
    if name not in frame.columns:
        raise ValueError(
            f"time names {name!r}, and there are {', '.join(map(repr, frame.columns[:12]))}"
        )
    column = guess_column(name, frame[name], day_first, orders_rows=True)
    if column.kind == "identifier" and pd.api.types.is_numeric_dtype(frame[name].dtype):
        column = replace(column, kind="number")
    if column.kind not in ("date", "number"):
        raise ValueError(
            f"time names {name!r}, which holds no dates and no numbers ({column.note or column.kind})"
        )
    return column


def cut_by_origins(problem: Any, times: Array, name: str, folds: int) -> Any:
    """Return the problem whose parts are each told by the rows before them.

    Parameters
    ----------
    problem : Problem
    times : (N,)
    name : str
        Of the column that they stand in.
    folds : int
        Origins.
    """
    if np.isnan(times).any():
        raise ValueError(
            f"{name!r} is missing in {counted(int(np.isnan(times).sum()), 'row')} whose target is known: leave "
            "these out, or fill them in, to score by origins"
        )
    origins = split_origins(times, folds)
    first, judged = origins[0][0], np.sort(np.concatenate([held for _, held in origins]))
    place = np.full(len(times), -1)
    place[judged] = np.arange(len(judged))
    splits = [
        (np.setdiff1d(np.arange(len(judged)), place[held]), place[held]) for _, held in origins
    ]
    before = tuple(place[np.setdiff1d(earlier, first)] for earlier, _ in origins)
    X, y = problem.X, problem.y
    past = Past(X.iloc[first].reset_index(drop=True), y[first], before, judged, name)
    later = X.iloc[judged].reset_index(drop=True)
    return problem._replace(X=later, y=y[judged], splits=splits, past=past)


def some_after_origins(problem: Any, rows: Any) -> Any:
    """Return the problem of some of its rows, with the same origins, and as large a share of those before."""
    past = problem.past
    place = np.full(len(problem.y), -1)
    place[rows] = np.arange(len(rows))

    def kept(part: Any) -> Any:
        return place[part][place[part] >= 0]

    first = np.linspace(0, len(past.y) - 1, len(past.y) * len(rows) // len(problem.y))
    few = np.unique(first.astype(int))
    past = past._replace(
        X=past.X.iloc[few].reset_index(drop=True),
        y=past.y[few],
        before=tuple(kept(part) for part in past.before),
        judged=past.judged[rows],
    )
    splits = [(kept(others), kept(held)) for others, held in problem.splits]
    X = problem.X.iloc[rows].reset_index(drop=True)
    return problem._replace(X=X, y=problem.y[rows], splits=splits, past=past)


def fit_in_time(pipeline: Any, problem: Any, fold: int | None) -> Any:
    """Return what a pipeline of the rows before an origin says of the part that follows; for no fold one of all rows."""
    if fold is None:
        return fit_in_parts(pipeline, *problem.learned)
    first = len(problem.past.y)
    earlier = np.concatenate([np.arange(first), first + problem.past.before[fold]])
    split = earlier, first + problem.splits[fold][1]
    X, y = problem.learned
    told = predict_fold(pipeline, X, y, split, problem.classes, problem.loss)
    return told._replace(predictive=tuple((rows - first, dist) for rows, dist in told.predictive))
