"""Figures over time and by step ahead: series with their forecasts, parts, errors, what surprised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.report.figures import DASHES, level_line
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.marks import Band, Curve, Dots, Mark, Segments, histogram
from posteriori.drawing.charts.ticks import date_ticks, days_of, round_ticks, whole_ticks
from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array

__all__ = [
    "autocorrelation",
    "draw_autocorrelation",
    "draw_errors",
    "draw_fan",
    "draw_forecast_levels",
    "draw_part",
    "draw_surprises",
    "time_axis",
    "time_places",
]

#: Width and height of figures over time.
_LONG = (BROAD, 230.0)
#: Ticks of dates, at most.
_MOST_DATES = 7
#: Steps of one figure; a longer series is thinned.
_MOST_POINTS = 2000
#: How strongly intervals are painted, the widest first.
_SHADES = (0.18, 0.32, 0.4)


def draw_fan(
    label: str,
    times: Any,
    values: Array,
    frame: pd.DataFrame,
    later: Any,
    mass: Sequence[float],
    actual: Array | None = None,
) -> str:
    """Draw a series and the fan of its forecast.

    Parameters
    ----------
    label : str
        Of the values.
    times, values : (T,)
    frame : DataFrame
        ``median`` and ends of intervals of later steps.
    later : (H,)
        Their times.
    mass : sequence of float
    actual : (H,), optional
        What came at these steps, where that is known.
    """
    step, ahead = max(1, len(values) // _MOST_POINTS), time_places(later)
    marks: list[Mark] = [Curve(time_places(times)[::step], values[::step], "ink", 1.1)]
    for shade, m in zip(_SHADES, sorted(mass, reverse=True), strict=False):
        low, high = (frame[f"{end}_{100 * m:g}"].to_numpy() for end in ("lower", "upper"))
        marks.append(Band(ahead, low, high, opacity=shade, label=f"{100 * m:g} %"))
    marks.append(Curve(ahead, frame["median"].to_numpy(), width=1.8, label="median"))
    if actual is not None and len(actual):
        marks.append(Curve(ahead, actual, "second", 1.5, label="what came"))
    up = Axis(short_text(label, 26), grid=True)
    return Chart(f"{label} and its forecast", marks, time_axis(times), up, _LONG).svg()


def draw_part(label: str, times: Any, part: pd.DataFrame) -> str:
    """Draw a smoothed part with its band; the columns of ``part`` are mean, lower and upper end."""
    step = max(1, len(part) // _MOST_POINTS)
    mean, low, high = (part.iloc[::step, k].to_numpy() for k in range(3))
    places = time_places(times)[::step]
    marks: list[Mark] = [Band(places, low, high, opacity=0.25), Curve(places, mean, width=1.5)]
    up = Axis(short_text(label, 20), grid=True)
    return Chart(label, marks, time_axis(times), up, (_LONG[0], 137.0)).svg()


def draw_errors(errors: Mapping[str, Array], steps: Array, unit: str) -> str:
    """Draw mean absolute errors by how far ahead, a line for each model."""
    marks: list[Mark] = []
    for (name, line), color, dashes in zip(
        errors.items(), ("first", "muted"), DASHES, strict=False
    ):
        marks += [
            Curve(steps, line, color, 1.6, dashes, label=short_text(name, 30)),
            Dots(steps, line, color, 2.0),
        ]
    axes = Axis(f"{unit} ahead", ticks=whole_ticks), Axis("mean absolute error", low=0.0, grid=True)
    return Chart("Error by step ahead", marks, *axes).svg()


def draw_forecast_levels(levels: Array) -> str:
    """Draw how many values lie at which level of their forecasts: even where these are calibrated."""
    bars = histogram(levels, (0.0, 1.0), 10, opacity=0.75)
    expected = level_line(len(levels) / 10.0, "second", 1.3, "6 3")
    axes = Axis("level in the forecast", 0.0, 1.0), Axis("values", low=0.0, grid=True)
    return Chart("Levels of values in their forecasts", [bars, expected], *axes).svg()


def draw_autocorrelation(residuals: Array, most: int) -> str:
    """Draw the autocorrelation of residuals, with the band that independent ones stay within."""
    found = autocorrelation(residuals, most)
    band = 1.96 / np.sqrt(max((~np.isnan(residuals)).sum(), 1))
    lags = np.arange(1, most + 1)
    marks: list[Mark] = [
        Band([-np.inf, np.inf], -band, band, "muted", 0.2),
        Segments((lags, lags), (np.zeros(most), found), width=2.0),
        Dots(lags, found, radius=2.0),
        level_line(0.0, "muted", 0.8),
    ]
    wide = max(0.5, 1.15 * float(np.abs(found).max()))
    axes = Axis("steps between", ticks=whole_ticks), Axis("correlation", -wide, wide, grid=True)
    return Chart("Autocorrelation of residuals", marks, *axes).svg()


def draw_surprises(times: Any, residuals: pd.DataFrame, limit: float) -> str:
    """Draw standardised outliers and shifts of the level over time."""
    marks: list[Mark] = []
    for column, color, hollow in (("outlier", "first", False), ("shift", "second", True)):
        line = residuals[column].to_numpy()
        if not np.isnan(line).all():
            marks.append(Dots(time_places(times), line, color, 1.6, 0.8, hollow, f"{column}s"))
    marks += [level_line(side, "muted", 1.0, "4 3") for side in (-limit, limit)]
    up = Axis("standard deviations", grid=True)
    size = (_LONG[0], 166.0)
    return Chart("Outliers and shifts of the level", marks, time_axis(times), up, size).svg()


def time_places(times: Any) -> Array:
    """Return times as numbers: dates as days."""
    if isinstance(times, pd.DatetimeIndex):
        return days_of(times.tz_localize(None).to_numpy())
    return np.asarray(times, dtype=np.float64)


def time_axis(times: Any) -> Axis:
    """Write dates in short, and other times as plain numbers."""
    dated = isinstance(times, pd.DatetimeIndex)
    return Axis(most=_MOST_DATES, ticks=date_ticks if dated else _plain_ticks)


def _plain_ticks(low: float, high: float, most: int) -> tuple[Array, list[str]]:
    places = round_ticks(low, high, most)
    return places, [f"{place:g}" for place in places]


def autocorrelation(residuals: Array, most: int) -> Array:
    """Return the correlations of residuals with those 1, 2, … steps before, (most,); gaps are left out."""
    known = residuals[~np.isnan(residuals)]
    gaps = residuals - known.mean()
    square = float((known - known.mean()) @ (known - known.mean()))
    products = [np.nansum(gaps[lag:] * gaps[:-lag]) for lag in range(1, most + 1)]
    return np.array(products) / (square or 1.0)
