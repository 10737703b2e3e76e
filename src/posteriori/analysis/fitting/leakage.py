"""Columns that give the target away: they may be known only after it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.running import Problem
from posteriori.numerics.types import Array

__all__ = ["revealing_columns"]

#: With fewer rows, a column may do so by chance.
_FEWEST_ROWS = 20

#: Fewest rows with and without an entry, if its being missing is to tell something.
_FEWEST_GAPS = 5

#: Rank correlation with a number from which on a column says the same.
_SAME = 0.999


def revealing_columns(problem: Problem) -> dict[str, str]:
    """Return the columns that alone tell the target, with next to no error, and by what.

    By "values": a number does so if each class has an interval of its own, or if it orders the rows
    as the target does; a category, if all rows of a level are of one class. By "gaps": entries
    are missing for all rows of some classes and no others, or for the rows with the largest or
    the smallest targets.
    """
    numbers = problem.classes is None
    y = problem.y if numbers else np.searchsorted(problem.classes, problem.y)
    told = {}
    for name, series in problem.X.items():
        if _gaps_reveal(series.isna().to_numpy(), y, numbers=numbers):
            told[str(name)] = "gaps"
        elif _reveals(series, y, numbers=numbers):
            told[str(name)] = "values"
    return told


def _gaps_reveal(missing: Any, y: Any, *, numbers: bool) -> bool:
    if len(y) < _FEWEST_ROWS or min(missing.sum(), (~missing).sum()) < _FEWEST_GAPS:
        return False
    codes = missing.astype(int)
    return _intervals_are_pure(y, codes) if numbers else _levels_are_pure(y, codes)


def _reveals(series: pd.Series, y: Any, *, numbers: bool) -> bool:
    known = series.notna().to_numpy()
    if known.sum() < max(_FEWEST_ROWS, 0.5 * len(known)):
        return False
    seen, target = series[known], y[known]
    if isinstance(seen.dtype, pd.CategoricalDtype):
        return not numbers and _levels_are_pure(seen.cat.codes.to_numpy(), target)
    values = seen.to_numpy(np.float64)
    if numbers:
        ranks = pd.Series(values).rank(), pd.Series(target).rank()
        return bool(abs(ranks[0].corr(ranks[1])) > _SAME)
    return _intervals_are_pure(values, target)


def _levels_are_pure(codes: Array, target: Array) -> bool:
    """Tell whether every level is of one class, and levels repeat."""
    pairs = len(np.unique(np.stack([codes, target]), axis=1).T)
    levels = len(np.unique(codes))
    return pairs == levels and len(codes) >= 5 * levels


def _intervals_are_pure(values: Array, target: Array) -> bool:
    """Tell whether the classes lie one after the other, with no value in two of them."""
    order = np.lexsort((target, values))
    x, c = values[order], target[order]
    changes = np.flatnonzero(c[1:] != c[:-1])
    return len(changes) == len(np.unique(c)) - 1 and bool((x[changes] < x[changes + 1]).all())
