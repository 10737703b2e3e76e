"""What to beware of in a table: columns that give the target away, rows that repeat, classes that are rare, dates.

They make held-out scores say less than they seem to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.comparisons.table_problem import Problem, Target
from posteriori.analysis.table.columns import MANY_LEVELS, Column
from posteriori.analysis.table.values import are_whole_days, dates_of
from posteriori.analysis.table.wording import counted, listed
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_clock import set_clock

__all__ = ["cautions", "notes_on_columns", "notes_on_seasons", "regular_date", "revealing_columns"]

#: Share of missing entries from which on a note says what stands in their place.
_MANY_MISSING = 0.2

#: Share of rows that repeat others from which on it is said.
_MANY_REPEATS = 0.01

#: How many times as often as by chance rows must repeat before it is said.
_BEYOND_CHANCE = 5.0

#: Dates from which on it is said that they are regular.
_FEWEST_DATES = 10

#: With fewer rows, a column may give the target away by chance.
_FEWEST_ROWS = 20

#: Fewest rows with and without an entry, if its being missing is to tell something.
_FEWEST_GAPS = 5

#: Rank correlation with a number from which on a column says the same; and below which, among some of many
#: rows, it does not among all.
_SAME, _UNLIKE = 0.999, 0.99

#: Rows by which most columns turn out not to tell the target.
_SOME_ROWS = 10_000


def notes_on_columns(goal: Target, columns: list[Column]) -> list[str]:
    """Say what was guessed, and what stands in for entries that are missing, where these are many."""
    rows = len(goal.known)
    return [
        *goal.notes,
        *(f"{c.name!r}: {c.note}{_elsewhere(c, goal)}" for c in columns if c.note),
        *(
            f"{c.name!r}: {c.missing / rows:.0%} are missing; "
            + ("that is a level of its own" if c.kind == "category" else "the mean stands in")
            + ("" if c.kind == "category" else ", and a further column says where")
            for c in columns
            if c.used and c.missing > _MANY_MISSING * rows
        ),
    ]


def notes_on_seasons(problem: Problem) -> list[str]:
    """Say what models see of dates beside the time."""
    return [
        f"{name!r}: models see the time and the {listed(list(cycles))}"
        for name, cycles in problem.seasons.items()
    ]


def _elsewhere(column: Column, goal: Target) -> str:
    """Say what models of classes do with many levels that have no groups."""
    if goal.task != "classification" or column.kind != "category" or column.distinct <= MANY_LEVELS:
        return ""
    return (
        f"; normal classes, neighbours and naive Bayes keep the {MANY_LEVELS} most frequent apart"
    )


def cautions(
    problem: Problem, target: str, revealing: Mapping[str, str], date: str = ""
) -> list[str]:
    """Return notes on columns that tell the target, repeated rows, rare classes and dates.

    Parameters
    ----------
    problem : Problem
    target : str
    revealing : mapping from column to {"values", "gaps"}
        What :func:`revealing_columns` returned.
    date : str
        What :func:`regular_date` returned.
    """
    remedy = "if it is known only afterwards, leave it out with --drop (drop=)"
    says = {"values": "{!r} alone tells", "gaps": "whether {!r} is missing tells"}
    notes = [
        *(f"{says[by].format(name)} {target!r}: {remedy}" for name, by in revealing.items()),
        *_on_repeated_rows(problem),
        *_on_rare_classes(problem, target),
    ]
    if problem.past is not None:
        notes.append(
            f"scored by origins: rows are told by those before them in {problem.past.time!r}, part by part; the first "
            f"{counted(len(problem.past.y), 'row')} are only learned from"
        )
    elif "date" in problem.kinds.values():
        notes.append(
            "rows are held out at random: that tests predictions between the dates, not forecasts"
        )
    if date:
        notes.append(
            f"the dates of {date!r} are regular: what comes after them is told by posteriori forecast "
            f"--time {date} --value {target}"
        )
    return notes


def regular_date(problem: Problem) -> str:
    """Return the column of dates that follow one another in regular steps, each later; empty if there is none."""
    if problem.classes is not None or problem.past or len(problem.X) < _FEWEST_DATES:
        return ""
    for name, kind in problem.kinds.items():
        years = np.sort(problem.X[name].to_numpy(np.float64)) if kind == "date" else np.zeros(0)
        if not len(years) or np.isnan(years).any() or not (np.diff(years) > 0.0).all():
            continue
        times = dates_of(years, whole_days=are_whole_days(years))
        if set_clock(pd.DatetimeIndex(times).as_unit("ns")).regular:
            return name
    return ""


def _on_repeated_rows(problem: Problem) -> list[str]:
    """Say how many rows repeat others, target included, if chance does not explain it."""
    n_rows = len(problem.y)
    if not problem.X.shape[1]:
        return []
    codes = _row_codes(problem)
    repeats = n_rows - pd.Series(codes).nunique()
    if repeats < max(1.0, _MANY_REPEATS * n_rows):
        return []
    if _share_of_pairs(codes) < _BEYOND_CHANCE * _by_chance(problem):
        return []
    return [
        f"{repeats:,} of {n_rows:,} rows repeat another exactly: a copy in the rows that a model "
        "learns from flatters its score on the row that was held out; if they are no observations of "
        "their own, remove them"
    ]


def _row_codes(problem: Problem) -> Any:
    rows = problem.X.assign(**{"\0target": problem.y})
    return pd.util.hash_pandas_object(rows, index=False).to_numpy()


def _share_of_pairs(values: Any) -> float:
    """Return the share of all pairs of rows that agree."""
    counts = pd.Series(values).value_counts(dropna=False).to_numpy(np.float64)
    n_rows = counts.sum()
    return float((counts * (counts - 1.0)).sum() / (n_rows * (n_rows - 1.0)))


def _by_chance(problem: Problem) -> float:
    """Return the share of pairs of rows that would agree if the columns were independent."""
    columns = [problem.X[name] for name in problem.X]
    return float(np.prod([_share_of_pairs(values) for values in [*columns, problem.y]]))


def _on_rare_classes(problem: Problem, target: str) -> list[str]:
    if problem.classes is None:
        return []
    labels, counts = np.unique(problem.y, return_counts=True)
    folds = len(problem.splits)
    rare = [
        f"{label} ({count})" for label, count in zip(labels, counts, strict=True) if count < folds
    ]
    if not rare:
        return []
    some = ", ".join(rare[:5]) + (", …" if len(rare) > 5 else "")
    classes = counted(len(rare), "class", "classes")
    return [
        f"{classes} of {target!r} with fewer rows than the {folds} parts that are held out in turn, "
        f"{some}: little can be learned of them; group them with others, or leave their rows out"
    ]


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
    some = np.random.default_rng(0).choice(len(values), min(len(values), _SOME_ROWS), replace=False)
    if numbers:
        likely = _rank_correlation(values[some], target[some]) > _UNLIKE
        return likely and _rank_correlation(values, target) > _SAME
    return _intervals_are_pure(values[some], target[some]) and _intervals_are_pure(values, target)


def _rank_correlation(values: Array, target: Array) -> float:
    return float(abs(pd.Series(values).rank().corr(pd.Series(target).rank())))


def _levels_are_pure(codes: Array, target: Array) -> bool:
    """Tell whether every level is of one class, and levels repeat."""
    pairs = len(pd.DataFrame({"level": codes, "class": target}).drop_duplicates())
    levels = len(np.unique(codes))
    return pairs == levels and len(codes) >= 5 * levels


def _intervals_are_pure(values: Array, target: Array) -> bool:
    """Tell whether the classes lie one after the other, with no value in two of them."""
    order = np.lexsort((target, values))
    x, c = values[order], target[order]
    changes = np.flatnonzero(c[1:] != c[:-1])
    return len(changes) == len(np.unique(c)) - 1 and bool((x[changes] < x[changes + 1]).all())
