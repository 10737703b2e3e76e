"""What an event changed: values that came beside forecasts from before it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.forecasts.prepared_series import ForecastOptions, Prepared
from posteriori.numerics.types import Array

__all__ = ["EventEffect", "measure_event"]

#: Paths behind the effect in sum.
_PATHS = 4000


class EventEffect(NamedTuple):
    """The effect of what began with an event.

    Attributes
    ----------
    frame : DataFrame
        For each step the value that came, and the effect, value less forecast: median and ends of intervals.
    total : float
        Median of the effect in sum, over the steps that have a value.
    intervals : dict from mass to (low, high)
        Of the effect in sum.
    probability : float
        That the effect in sum is positive.
    """

    frame: pd.DataFrame
    total: float
    intervals: dict[float, tuple[float, float]]
    probability: float


def measure_event(
    model: Any, dist: Any, prepared: Prepared, options: ForecastOptions
) -> EventEffect:
    """Return the effect of an event, from a model that has seen only what was before.

    Parameters
    ----------
    model : model of a series
    dist : distributions
        Its forecasts from the event on.
    prepared : Prepared
        With the values that came.
    options : ForecastOptions
    """
    actual = prepared.actual
    columns: dict[str, Any] = {"time": prepared.later.times, "value": actual}
    columns["effect"] = actual - np.asarray(dist.median)
    for m in options.mass:
        low, high = (np.asarray(dist.quantile(0.5 + side * m)) for side in (-0.5, 0.5))
        columns[f"effect_lower_{100 * m:g}"] = actual - high
        columns[f"effect_upper_{100 * m:g}"] = actual - low
    known = ~np.isnan(actual)
    sums = actual[known].sum() - _paths(model, prepared, options.seed)[:, known].sum(axis=1)
    intervals = {
        m: tuple(np.quantile(sums, [0.5 - 0.5 * m, 0.5 + 0.5 * m]).tolist()) for m in options.mass
    }
    total = float(np.median(sums))
    return EventEffect(pd.DataFrame(columns), total, intervals, float(np.mean(sums > 0.0)))


def _paths(model: Any, prepared: Prepared, seed: int) -> Array:
    """Return later values drawn together, (S, H)."""
    return np.asarray(model.sample_paths(draws=_PATHS, rng=seed, **prepared.asked_steps))
