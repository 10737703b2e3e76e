"""Small tables whose density is known, or nearly."""

from functools import cache

import numpy as np
import pandas as pd

from posteriori import compare
from posteriori.analysis import TableDensity

#: Candidates that cost little, for tests that need no more than some.
QUICK = ("independent columns", "normal", "Student t")


def people(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    """Return heights in metres and weights in grams that go together, and what goes with neither."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=rows)
    return pd.DataFrame(
        {
            "height": 1.7 + 0.08 * size,
            "weight": 70e3 + 9e3 * size + 4e3 * rng.normal(size=rows),
            "luck": rng.normal(size=rows),
        }
    )


def with_gaps(rows: int = 120, seed: int = 0) -> pd.DataFrame:
    """Return the same with every ninth weight and every eleventh height missing, and a row without entries."""
    table = people(rows, seed)
    table.loc[::9, "weight"] = np.nan
    table.loc[3::11, "height"] = np.nan
    table.loc[rows - 1] = np.nan
    return table


def customers(rows: int = 140, seed: int = 0) -> pd.DataFrame:
    """Return columns of all kinds that depend on one unseen trait, with gaps and useless columns."""
    rng = np.random.default_rng(seed)
    trait = rng.random(rows) < 0.4
    days = rng.integers(0, 200, rows) + 900 * trait
    table = pd.DataFrame(
        {
            "plan": np.where(rng.random(rows) < 0.1 + 0.8 * trait, "year", "month"),
            "paid": np.where(rng.random(rows) < 0.9 - 0.7 * trait, "yes", "no"),
            "spent": rng.normal(20.0 + 8.0 * trait, 2.0),
            "since": (pd.Timestamp("2020-01-01") + pd.to_timedelta(days, "D")).astype(str),
            "always": 3,
            "never": np.nan,
        }
    )
    for place, name in enumerate(["plan", "paid", "spent", "since"]):
        table.loc[place::11, name] = None
    return table


#: What takes little time where there are gaps.
GAPPY = (*QUICK, "principal components", "factor analysis", "latent classes")

TABLES = {"people": people, "gaps": with_gaps, "customers": customers}


@cache
def density_of(kind: str) -> TableDensity:
    """Return what all candidates say of one of the tables, or of that with gaps most of them."""
    models = GAPPY if kind == "gaps" else ()
    return compare(TABLES[kind](), task="density", models=models, jobs=1)


@cache
def page_of(kind: str) -> str:
    """Return the report of one of the tables."""
    return density_of(kind).html("data.csv")
