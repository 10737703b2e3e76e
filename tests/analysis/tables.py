"""Small tables of mixed columns, and analyses of them that several tests look at."""

from functools import cache
from unittest.mock import patch

import numpy as np
import pandas as pd

from posteriori.analysis import Analysis, compare
from posteriori.analysis.fitting import preparation
from posteriori.selection import cross_validation

INPUTS = ["x", "when", "colour", "flag"]


def mixed_table(rows: int = 80, seed: int = 0) -> pd.DataFrame:
    """Return numbers, dates, categories and truth values with gaps, and targets of every kind."""
    rng = np.random.default_rng(seed)
    x = rng.normal(50, 10, rows)
    days = pd.to_timedelta(rng.integers(0, 2000, rows), unit="D")
    colour = rng.choice(["red", "green", "blue"], rows)
    flag = rng.choice(["yes", "no"], rows)
    level = 0.05 * (x - 50) + 0.7 * (colour == "red") + 0.5 * (flag == "yes")
    y = level + rng.normal(0, 0.3, rows)
    table = pd.DataFrame(
        {
            "x": x,
            "when": (pd.Timestamp("2015-01-01") + days).astype(str),
            "colour": colour,
            "flag": flag,
            "y": y,
            "count": rng.poisson(np.exp(level)),
            "positive": np.exp(y),
            "two": np.where(level + rng.normal(0, 0.6, rows) > 0.5, "up", "down"),
            "five": np.array(list("abcde"))[np.argsort(np.argsort(y)) * 5 // rows],
        }
    )
    for place, name in enumerate(INPUTS):
        table.loc[place::17, name] = None
    return table


@cache
def long_analysis_of(target: str, task: str = "auto") -> Analysis:
    """Return all models of a table that is learned from in parts: of few rows, since parts are small."""
    with (
        patch.object(cross_validation, "_FIT_PART", 64),
        patch.object(preparation, "_PART", 64),
    ):
        return compare(mixed_table(200)[[*INPUTS, target]], target, task=task, folds=2, jobs=1)


@cache
def long_lines() -> Analysis:
    """Return linear models of a table that is long indeed."""
    return compare(
        mixed_table(4200)[[*INPUTS, "positive"]],
        "positive",
        models=["linear", "log-linear"],
        folds=2,
        jobs=1,
    )


@cache
def analysis_of(target: str, task: str = "auto", *asked: str) -> Analysis:
    """Return all models of one target of the table, or those that are asked for, in few folds.

    The target "zeros" has them for half of the counts.
    """
    table = mixed_table()
    table = table.assign(zeros=(table["count"] + 1) * (np.arange(len(table)) % 2))
    models = asked or None
    return compare(table[[*INPUTS, target]], target, task=task, models=models, folds=2, jobs=1)
