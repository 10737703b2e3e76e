"""What about the rows of a table makes its held-out scores say less than they seem to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.running import Problem
from posteriori.analysis.table.wording import counted

__all__ = ["cautions"]

#: Share of rows that repeat others from which on it is said.
_MANY_REPEATS = 0.01

#: How many times as often as by chance rows must repeat before it is said.
_BEYOND_CHANCE = 5.0


def cautions(problem: Problem, target: str, revealing: Mapping[str, str]) -> list[str]:
    """Return notes on columns that tell the target, repeated rows, and rare classes.

    Parameters
    ----------
    problem : Problem
    target : str
    revealing : mapping from column to {"values", "gaps"}
        What :func:`revealing_columns` returned.
    """
    remedy = "if it is known only afterwards, leave it out with --drop (drop=)"
    says = {"values": "{!r} alone tells", "gaps": "whether {!r} is missing tells"}
    return [
        *(f"{says[by].format(name)} {target!r}: {remedy}" for name, by in revealing.items()),
        *_on_repeated_rows(problem),
        *_on_rare_classes(problem, target),
    ]


def _on_repeated_rows(problem: Problem) -> list[str]:
    """Say how many rows repeat others, target included, if chance does not explain it."""
    n_rows = len(problem.y)
    if not problem.X.shape[1]:
        return []
    codes = _row_codes(problem)
    repeats = n_rows - len(np.unique(codes))
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
