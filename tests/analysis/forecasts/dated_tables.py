"""Tables with a dated column."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from posteriori import forecast


def monthly(count: int = 60, seed: int = 0) -> pd.DataFrame:
    """A level that drifts, with a season, in months."""
    rng = np.random.default_rng(seed)
    t = np.arange(count)
    y = 50.0 + np.cumsum(0.3 * rng.standard_normal(count)) + 5.0 * np.sin(2.0 * np.pi * t / 12.0)
    y += 0.5 * rng.standard_normal(count)
    months = pd.date_range("2018-01-01", periods=count, freq="MS").strftime("%Y-%m")
    return pd.DataFrame({"month": months, "sales": y.round(3)})


def yearly(count: int = 40, seed: int = 0) -> pd.DataFrame:
    """A level that drifts, in years that are numbers."""
    rng = np.random.default_rng(seed)
    y = 10.0 + np.cumsum(0.5 * rng.standard_normal(count)) + rng.standard_normal(count)
    return pd.DataFrame({"year": np.arange(1980, 1980 + count), "flow": y.round(3)})


def saved_forecasts() -> Iterator[Any]:
    """Models of series of every kind, as they are saved: with gaps, and an average."""
    table = monthly(36).assign(sales=lambda t: t["sales"].round())
    given: dict[str, Any] = {"time": "month", "value": "sales", "horizon": 3}
    for name in ("level", "autoregression", "counts"):
        yield forecast(table, **given, models=[name], origins=0).model
    yield forecast(table.drop(index=20), **given, models=["autoregression"], origins=0).model
    averaged = forecast(monthly(40), **given, models=["walk", "level"], origins=3)
    shelf = averaged.model.pipeline[-1].series
    shelf[""] = shelf[""]._replace(model=averaged.outcomes["average"].model[-1])
    yield averaged.model
