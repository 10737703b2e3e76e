"""Tables with segments, and what was found in them, made once."""

from functools import cache

import numpy as np
import pandas as pd

from posteriori.analysis import Segmentation, segment


def regimes(n: int = 240, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    """Return two columns of numbers by day with two states, and these."""
    rng = np.random.default_rng(seed)
    state = (np.cumsum(rng.random(n) < 0.03) % 2).astype(int)
    frame = pd.DataFrame(
        {
            "day": pd.date_range("2024-01-01", periods=n).astype(str),
            "load": (np.array([20.0, 10.0])[state] + 2 * rng.normal(size=n)).round(2),
            "heat": np.array([0.0, 5.0])[state] + rng.normal(size=n),
        }
    )
    return frame, state


def mixed(n: int = 240, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a column of numbers with gaps, a category and a truth value, of two machines, and states."""
    rng = np.random.default_rng(seed)
    state = (np.cumsum(rng.random(n) < 0.05) % 2).astype(int)
    load = np.array([0.0, 6.0])[state] + rng.normal(size=n)
    load[rng.random(n) < 0.1] = np.nan
    frame = pd.DataFrame(
        {
            "machine": np.repeat(["north", "south"], n // 2),
            "load": load,
            "mode": np.where(rng.random(n) < np.array([0.9, 0.2])[state], "eco", "full"),
            "alarm": np.where(rng.random(n) < np.array([0.05, 0.4])[state], "yes", "no"),
            "same": 1.0,
            "never": np.nan,
        }
    )
    return frame, state


@cache
def segments_of(kind: str) -> Segmentation:
    """Return what is found in one of the tables."""
    if kind == "regimes":
        return segment(regimes()[0], states=(1, 3))
    if kind == "one category":
        return segment(mixed()[0], columns=["mode", "load"], states=2)
    return segment(mixed()[0], by="machine", states=(2, 3))


@cache
def page_of(kind: str) -> str:
    """Return the report of one of the tables."""
    return segments_of(kind).html(kind)
