"""Figures of forecasts: history and fan, parts, errors by step ahead, levels, autocorrelation, surprises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

from posteriori.drawing.measures import short_text
from posteriori.numerics.types import Array
from posteriori.plotting.page_figures import (
    BROAD,
    FIRST,
    INK,
    MUTED,
    SECOND,
    SMALL,
    number_ticks,
    render_svg,
)
from posteriori.plotting.parts.frame import place_legend

__all__ = [
    "autocorrelation",
    "draw_autocorrelation",
    "draw_errors",
    "draw_fan",
    "draw_forecast_levels",
    "draw_part",
    "draw_surprises",
]

#: Width and height of figures over time.
_LONG = (BROAD + 3.4, 2.9)
#: Steps of one figure; a longer series is thinned.
_MOST_POINTS = 2000


def draw_fan(
    name: str,
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
    name : str
        Of the figure, among those of the page.
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

    def paint(axes: Axes) -> None:
        step = max(1, len(values) // _MOST_POINTS)
        axes.plot(times[::step], values[::step], color=INK, lw=1.1)
        for shade, m in zip((0.18, 0.32, 0.4), sorted(mass, reverse=True), strict=False):
            ends = [frame[f"{end}_{100 * m:g}"] for end in ("lower", "upper")]
            axes.fill_between(later, *ends, color=FIRST, alpha=shade, lw=0, label=f"{100 * m:g} %")
        axes.plot(later, frame["median"], color=FIRST, lw=1.8, label="median")
        if actual is not None and len(actual):
            axes.plot(later, actual, color=SECOND, lw=1.5, label="what came")
        _time_axis(axes, times)
        axes.set_ylabel(short_text(label, 26))
        place_legend(axes, above=True)

    return render_svg(name, f"{label} and its forecast", paint, _LONG)


def draw_part(name: str, label: str, times: Any, part: pd.DataFrame) -> str:
    """Draw a smoothed part with its band; the columns of ``part`` are mean, lower and upper end."""

    def paint(axes: Axes) -> None:
        step = max(1, len(part) // _MOST_POINTS)
        mean, low, high = (part.iloc[::step, k] for k in range(3))
        axes.fill_between(times[::step], low, high, color=FIRST, alpha=0.25, lw=0)
        axes.plot(times[::step], mean, color=FIRST, lw=1.5)
        _time_axis(axes, times)
        axes.set_ylabel(short_text(label, 20))

    return render_svg(name, label, paint, (_LONG[0], 1.9))


def draw_errors(errors: Mapping[str, Array], steps: Array, unit: str) -> str:
    """Draw mean absolute errors by how far ahead, a line for each model."""

    def paint(axes: Axes) -> None:
        for (name, line), color, dash in zip(
            errors.items(), (FIRST, MUTED), ("o-", "s--"), strict=False
        ):
            axes.plot(steps, line, dash, color=color, ms=4, lw=1.6, label=short_text(name, 30))
        number_ticks(axes)
        axes.set(xlabel=f"{unit} ahead", ylabel="mean absolute error")
        axes.set_ylim(bottom=0.0)
        place_legend(axes, above=True)

    return render_svg("errors", "Error by step ahead", paint, SMALL)


def draw_forecast_levels(levels: Array) -> str:
    """Draw how many values lie at which level of their forecasts: even where these are calibrated."""

    def paint(axes: Axes) -> None:
        bins = np.linspace(0.0, 1.0, 11).tolist()
        axes.hist(levels, bins=bins, color=FIRST, alpha=0.75)
        axes.axhline(len(levels) / 10.0, color=SECOND, ls="--", lw=1.3)
        axes.set(xlabel="level in the forecast", ylabel="values", xlim=(0.0, 1.0))

    return render_svg("levels", "Levels of values in their forecasts", paint, SMALL)


def autocorrelation(residuals: Array, most: int) -> Array:
    """Return the correlations of residuals with those 1, 2, … steps before, (most,); gaps are left out."""
    known = residuals[~np.isnan(residuals)]
    gaps = residuals - known.mean()
    square = float((known - known.mean()) @ (known - known.mean()))
    products = [np.nansum(gaps[lag:] * gaps[:-lag]) for lag in range(1, most + 1)]
    return np.array(products) / (square or 1.0)


def draw_autocorrelation(residuals: Array, most: int) -> str:
    """Draw the autocorrelation of residuals, with the band that independent ones stay within."""

    def paint(axes: Axes) -> None:
        found = autocorrelation(residuals, most)
        band = 1.96 / np.sqrt(max((~np.isnan(residuals)).sum(), 1))
        lags = np.arange(1, most + 1)
        axes.axhspan(-band, band, color=MUTED, alpha=0.2, lw=0)
        axes.vlines(lags, 0.0, found, color=FIRST, lw=2)
        axes.plot(lags, found, "o", color=FIRST, ms=4)
        axes.axhline(0.0, color=MUTED, lw=0.8)
        wide = max(0.5, 1.15 * float(np.abs(found).max()))
        axes.set(xlabel="steps between", ylabel="correlation", ylim=(-wide, wide))

    return render_svg("autocorrelation", "Autocorrelation of residuals", paint, SMALL)


def draw_surprises(times: Any, residuals: pd.DataFrame, limit: float) -> str:
    """Draw standardised outliers and shifts of the level over time."""

    def paint(axes: Axes) -> None:
        for column, color, mark in (("outlier", FIRST, "o"), ("shift", SECOND, "s")):
            line = residuals[column].to_numpy()
            if np.isnan(line).all():
                continue
            axes.plot(times, line, mark, color=color, ms=2.6, alpha=0.8, label=f"{column}s")
        for side in (-limit, limit):
            axes.axhline(side, color=MUTED, ls="--", lw=1.0)
        _time_axis(axes, times)
        axes.set_ylabel("standard deviations")
        place_legend(axes, above=True)

    return render_svg("surprises", "Outliers and shifts of the level", paint, (_LONG[0], 2.3))


def _time_axis(axes: Axes, times: Any) -> None:
    """Write numbers as the page does, and dates in short."""
    number_ticks(axes)
    if isinstance(times, pd.DatetimeIndex):
        locator = AutoDateLocator(maxticks=7)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    else:
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
