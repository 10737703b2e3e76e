"""What is to be predicted, from what, and by which models: the task is guessed from the target column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.date_seasons import find_seasons
from posteriori.analysis.table.columns import (
    Column,
    column_name,
    convert_column,
    guess_column,
    numbers_in,
)
from posteriori.analysis.table.values import are_whole_days
from posteriori.analysis.table.wording import counted
from posteriori.analysis.targets.class_costs import ALIKE, Costs, Stakes, read_stakes
from posteriori.analysis.targets.past_rows import Past, cut_by_origins, some_after_origins
from posteriori.numerics.validation import require_moderate
from posteriori.selection.candidates import Candidate, candidates_for
from posteriori.selection.cross_validation import (
    LOSSES,
    repeated_value,
    split_rows,
)

__all__ = [
    "TASKS",
    "Problem",
    "Target",
    "make_problem",
    "read_target",
    "suited_candidates",
]

TASKS = ("auto", "regression", "classification", "density")

#: Counts above 0 from which their sizes are learned apart, and standard errors beyond chance.
_FEWEST_COUNTS, _SURE = 20, 2.0

#: Skewness up to which a distribution is called nearly symmetric (M. Bulmer, "Principles of statistics", 1979). A
#: logarithm gains where noise is a percentage, and that skews amounts that differ by factors: of nine public tables
#: below, boosted trees lost with it on five and gained more than two nats on one.
_SYMMETRIC = 0.5

#: Integers up to this many different ones, from 0 or 1, may be names of classes if each of them
#: is frequent; counts have rare large ones.
_FEW_CLASSES = 10

#: How often each of them must occur at least.
_RAREST_CLASS = 5

#: More different values than this are refused as classes.
_MOST_CLASSES = 100

#: Rows with a known target that an analysis needs.
_FEWEST_ROWS = 5

#: Whole numbers from here on are not all told apart, and soon no integers.
_LARGEST_INTEGER = 2.0**53

#: Amounts beyond this, or all below its inverse, cannot be squared and summed.
_LARGEST = 1e120


@dataclass(frozen=True)
class Target:
    """The target column.

    Attributes
    ----------
    column : Column
    task : {"regression", "classification", "density"}
    values : (N,)
        Numbers, or labels; of the rows where it is known.
    known : (N_all,) of bool
        Which rows of the table these are.
    classes : (K,) or None
        Sorted labels.
    notes : tuple of str
        What was guessed and done.
    stakes : Stakes
        Which class is to be found, and what mistakes cost.
    """

    column: Column
    task: str
    values: Any
    known: Any
    classes: Any
    notes: tuple[str, ...]
    stakes: Stakes = ALIKE

    @property
    def kind(self) -> str:
        """What its numbers stand for: "number", "date" (decimal years of days) or "time"."""
        if self.column.kind != "date" or self.classes is not None:
            return "number"
        return "date" if are_whole_days(self.values) else "time"

    @property
    def traits(self) -> tuple[str, ...]:
        """What candidates ask about targets: "counts", "many zeros", "positive", "skewed", "two classes"."""
        if self.classes is not None:
            return ("two classes",) if len(self.classes) == 2 else ()
        y = self.values
        whole = bool((y >= 0).all() and (y == np.floor(y)).all())
        counts = whole and bool(1 < y.max() < _LARGEST_INTEGER)  # larger numbers are all whole
        zeros = ("many zeros",) * (counts and _has_many_zeros(y))
        positive = bool((y > 0).all())
        skewed = ("skewed",) * (positive and _is_skewed(y))
        return ("counts",) * counts + zeros + ("positive",) * positive + skewed

    def some(self, rows: Any) -> Target:
        """Return the target as if it were known in some of its rows only."""
        known = np.zeros_like(self.known)
        known[np.flatnonzero(self.known)[rows]] = True
        return replace(self, values=self.values[rows], known=known)


class Problem(NamedTuple):
    """What the candidates are fitted to.

    Attributes
    ----------
    X : DataFrame
        Converted columns.
    y : (N,)
    kinds : dict from column to kind
    classes : (K,) or None
    splits : list of pairs of rows
    loss : {"squared", "absolute", "log"}
        For which numbers are predicted.
    seasons : mapping from column to tuple of str
        Cycles in which dates have a place.
    past : Past or None
        Rows before the first origin, where scores are by origins: ``X`` and ``y`` are the rows after it.
    """

    X: pd.DataFrame
    y: Any
    kinds: dict[str, str]
    classes: Any
    splits: list[tuple[Any, Any]]
    loss: str = "squared"
    seasons: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    past: Past | None = None

    @property
    def learned(self) -> tuple[pd.DataFrame, Any]:
        """All rows that models learn from in the end, and their targets; those before the first origin first."""
        if self.past is None:
            return self.X, self.y
        X = pd.concat([self.past.X, self.X], ignore_index=True)
        return X, np.concatenate([self.past.y, self.y])

    def some(self, rows: Any, seed: int) -> Problem:
        """Return the problem of some rows, with folds of their own."""
        y, folds = self.y[rows], len(self.splits)
        if self.past is not None:
            return some_after_origins(self, rows)
        splits = split_rows(y, folds, seed, classes=self.classes is not None)
        return self._replace(X=self.X.iloc[rows].reset_index(drop=True), y=y, splits=splits)


def make_problem(
    frame: pd.DataFrame,
    goal: Target,
    columns: list[Column],
    folds: int,
    seed: int,
    loss: str = "squared",
    time: Column | None = None,
) -> Problem:
    """Convert the rows with a known target, and cut them into folds: at random, or by origins in time."""
    _require_loss(loss, goal)
    used = [c for c in columns if c.used and goal.task != "density"]
    if not used and goal.task != "density":
        why = "; ".join(f"{c.name!r}: {c.note}" for c in columns[:5])
        raise ValueError(
            "no column is left to predict from" + (f" ({why})" if why else ": the target is alone")
        )
    rows = frame.loc[goal.known]
    X = pd.DataFrame({c.name: convert_column(c, rows[c.name]) for c in used}, index=rows.index)
    splits = split_rows(goal.values, folds, seed, classes=goal.classes is not None)
    kinds = {c.name: c.kind for c in used}
    seasons = find_seasons(X, kinds) if "date" in kinds.values() else {}
    X = X.reset_index(drop=True)
    problem = Problem(X, goal.values, kinds, goal.classes, splits, loss, seasons)
    if time is None:
        return problem
    return cut_by_origins(problem, numbers_in(time, rows[time.name]), time.name, folds)


def _require_loss(loss: str, goal: Target) -> None:
    """Refuse a loss that there is not, or that the targets cannot have."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    if loss == "squared":
        return
    name = goal.column.name
    if goal.classes is not None:
        raise ValueError(f"the loss {loss!r} is for numbers, and {name!r} is classified")
    if loss == "log" and not (goal.values > 0.0).all():
        least = goal.values.min()
        raise ValueError(
            f"the loss 'log' compares logarithms, and {name!r} is {least:g} in some row; take "
            "'absolute'"
        )


def suited_candidates(
    goal: Target, problem: Problem, models: Sequence[str] | None = (), *, thorough: bool = False
) -> list[Candidate]:
    """Return the models to try on a table, or those of the given names, cheapest first."""
    rows, inputs = problem.X.shape
    numbers = [name for name, kind in problem.kinds.items() if kind in ("number", "date")]
    return candidates_for(
        goal.task,
        models,
        targets=goal.traits,
        inputs=inputs,
        rows=rows,
        classes=1 if problem.classes is None else len(problem.classes),
        curved=any(problem.X[name].nunique() > 2 for name in numbers),
        thorough=thorough,
    )


def read_target(
    frame: pd.DataFrame,
    target: Any,
    task: str = "auto",
    costs: Costs | None = None,
    positive: Any = None,
) -> Target:
    """Read the target column, guess the task, and see what is at stake.

    Raises
    ------
    ValueError
        When there is no such column, too little of it is known, or it never changes.
    """
    name = column_name(target)
    if task not in TASKS:
        raise ValueError(f"task must be one of {', '.join(TASKS)}, got {task!r}")
    if name not in frame.columns:
        near = get_close_matches(name, list(frame.columns), n=1)
        hint = f"did you mean {near[0]!r}? There are" if near else "there are"
        raise ValueError(f"there is no column {name!r}; {hint} {_some(frame.columns)}")
    column = guess_column(name, frame[name])
    if column.kind in ("identifier", "text") and not _is_number(frame[name]):
        raise ValueError(
            f"the target {name!r} has a text of its own in nearly every row "
            f"({column.distinct} different ones); choose a column that repeats, or one of numbers"
        )
    if column.kind == "identifier":
        column = Column(name, "number", missing=column.missing, distinct=column.distinct)
    if column.kind == "empty":
        raise ValueError(f"the target {name!r} is missing in every row; choose another column")
    if column.kind == "constant":
        raise ValueError(
            f"the target {name!r} is {column.note.removesuffix(': left out')}: with one value "
            "there is nothing to predict; choose another column"
        )
    goal = _with_values(frame[name], convert_column(column, frame[name]), column, task)
    if goal.classes is None and not costs and positive is None:
        return goal
    return replace(goal, stakes=read_stakes(name, goal.values, goal.classes, costs, positive))


def _with_values(series: pd.Series, values: pd.Series, column: Column, asked: str) -> Target:
    """Return the target with its known values, from what stands in the table and what that is as numbers."""
    known = values.notna().to_numpy()
    rows, missing = int(known.sum()), int((~known).sum())
    notes = []
    if rows < _FEWEST_ROWS:
        raise ValueError(
            f"the target {column.name!r} is known in {counted(rows, 'row')} only; at least "
            f"{_FEWEST_ROWS} are needed"
        )
    if missing:
        share = missing / len(known)
        most = "most of them: check that this is the right column" if share > 0.5 else "left out"
        notes.append(f"the target is missing in {missing} of {len(known)} rows ({most})")
    seen = values[known]
    guess, why = _guess_task(column, seen)
    task = guess if asked == "auto" else asked
    words_are_classes = task == "classification" and column.kind in ("category", "boolean")
    if column.note and not words_are_classes:  # such notes are about words as inputs
        notes.insert(0, f"{column.name!r}: {column.note}")
    if asked == "auto":
        notes.append(why)
    if task == "classification":
        labels = _labels(series[known], seen, column)
        return Target(column, task, labels, known, np.unique(labels), tuple(notes))
    if column.kind == "category":
        raise ValueError(
            f"the target {column.name!r} holds texts such as {seen.iloc[0]!r}: it can be classified, "
            f"but {task} needs numbers"
        )
    numbers = seen.to_numpy(np.float64)
    require_moderate(f"the target {column.name!r}", numbers, _LARGEST)
    notes += _notes_on_repeats(column.name, numbers)
    return Target(column, task, numbers, known, None, tuple(notes))


def _has_many_zeros(counts: Any) -> bool:
    """Tell whether counts are 0 more often than Poisson counts of their mean, beyond chance."""
    expected = np.exp(-counts.mean())
    error = np.sqrt(expected * (1.0 - expected) / len(counts))
    enough = (counts > 0).sum() >= _FEWEST_COUNTS
    return bool(enough and (counts == 0).mean() > expected + _SURE * error)


def _is_skewed(amounts: Any) -> bool:
    """Tell whether positive numbers are skewed, and more so than their logarithms."""
    skewness = _skewness(amounts)
    return skewness > _SYMMETRIC and skewness > abs(_skewness(np.log(amounts)))


def _skewness(values: Any) -> float:
    """Return the mean cube of standardised values; 0 where all are equal."""
    gaps = values - values.mean()
    spread = np.sqrt(np.mean(gaps**2))
    return float(np.mean((gaps / spread) ** 3)) if spread > 0 else 0.0


def _notes_on_repeats(name: str, values: Any) -> list[str]:
    """Say that an amount takes one value again and again, which no density expects."""
    found = None if (values == np.floor(values)).all() else repeated_value(values)
    if found is None:
        return []
    value, share = found
    return [
        f"{name!r} is {value:g} in {share:.0%} of the rows, which models of amounts do not expect: "
        f"judge them by their errors as well, or predict whether it is {value:g} and, from the "
        "other rows, how large it is otherwise"
    ]


def _guess_task(column: Column, seen: pd.Series) -> tuple[str, str]:
    if column.kind in ("category", "boolean"):
        if column.distinct > _MOST_CLASSES:
            raise ValueError(
                f"the target {column.name!r} has {column.distinct} classes; group them into at most "
                f"{_MOST_CLASSES}"
            )
        return "classification", f"classification: {column.name!r} names {column.distinct} classes"
    distinct, counts = np.unique(seen.to_numpy(np.float64), return_counts=True)
    few = len(distinct) == 2 or (
        len(distinct) <= _FEW_CLASSES
        and distinct[0] in (0, 1)
        and bool((np.diff(distinct) == 1).all())
        and len(seen) >= 10 * len(distinct)
        and counts.min() >= _RAREST_CLASS
    )
    if few:
        return "classification", (
            f"classification: {column.name!r} has only {len(distinct)} different numbers; "
            "the task 'regression' takes them as amounts"
        )
    return "regression", f"regression: {column.name!r} is a {column.kind}"


def _labels(series: pd.Series, seen: pd.Series, column: Column) -> Any:
    """Return labels: texts as they stand in the table, whole numbers as integers, others as texts."""
    if column.kind == "category" or not _is_number(series):
        return np.array([str(value).strip() for value in series])
    if pd.api.types.is_bool_dtype(series.dtype):
        return series.to_numpy(bool)
    numbers = seen.to_numpy(np.float64)
    if len(np.unique(numbers)) > _MOST_CLASSES:
        raise ValueError(
            f"the target {column.name!r} has {len(np.unique(numbers))} different numbers; classes "
            f"are at most {_MOST_CLASSES}; use task 'regression'"
        )
    whole = (numbers == np.floor(numbers)) & (np.abs(numbers) < _LARGEST_INTEGER)
    return numbers.astype(np.int64) if whole.all() else np.array([str(x) for x in numbers.tolist()])


def _is_number(series: pd.Series) -> bool:
    return bool(pd.api.types.is_numeric_dtype(series.dtype))


def _some(names: Any) -> str:
    shown = [repr(str(name)) for name in names[:12]]
    return ", ".join(shown) + (f" and {len(names) - 12} more" if len(names) > 12 else "")
