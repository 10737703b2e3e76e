"""Small tables whose groups are known."""

from functools import cache

import numpy as np
import pandas as pd

from posteriori.analysis import Clustering, cluster


def blobs(rows: int = 120, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return three clouds of 1/2, 1/3 and 1/6 of the rows, far apart, and which row is of which."""
    rng = np.random.default_rng(seed)
    truth = np.repeat([0, 1, 2], [rows // 2, rows // 3, rows - rows // 2 - rows // 3])
    centres = np.array([[0.0, 0.0], [9.0, 2.0], [-3.0, 11.0]])
    places = centres[truth] + rng.normal(size=(rows, 2)) @ np.array([[1.0, 0.6], [0.0, 0.8]])
    order = rng.permutation(rows)
    return pd.DataFrame(places[order], columns=["width", "height"]), truth[order]


def mixed(rows: int = 160, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return two groups of customers with gaps, columns without information, and who is of which."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(rows) < 0.4).astype(int)
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(
        rng.integers(0, 200, rows) + 900 * truth, "D"
    )
    table = pd.DataFrame(
        {
            "plan": np.where(rng.random(rows) < 0.1 + 0.8 * truth, "year", "month"),
            "paid": np.where(rng.random(rows) < 0.9 - 0.7 * truth, "yes", "no"),
            "spent": rng.normal(20.0 + 8.0 * truth, 2.0),
            "since": day.astype(str),
            "always": 3,
            "never": np.nan,
        }
    )
    for place, name in enumerate(["plan", "paid", "spent", "since"]):
        table.loc[place::11, name] = None
    return table, truth


@cache
def groups_of(kind: str) -> Clustering:
    """Return the groups of one of the tables."""
    table = {"blobs": blobs, "mixed": mixed}[kind]()[0]
    return cluster(table, max_clusters=4)


@cache
def page_of(kind: str) -> str:
    """Return the report of one of the tables."""
    return groups_of(kind).html("data.csv")
