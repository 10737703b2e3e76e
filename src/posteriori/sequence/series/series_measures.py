"""Measures of a series, from its own values: its units, widths of first states, and correlations of what is left."""

from __future__ import annotations

import warnings

import numpy as np

from posteriori.numerics.types import Array
from posteriori.sequence.series.series_form import SeriesUnits
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = ["autocorrelation", "measure_series"]

#: The first level is within so many standard deviations of the series of its mean.
_LEVEL = 3.0
#: A line through the whole series has a slope of √12 standard deviations a length.
_SLOPE = 4.0
#: No unit is smaller than this share of the standard deviation; that of a constant is one of its size.
_FINEST, _CONSTANT = 1e-4, 1e-9

#: Share of zeros from which on an input says when something happened.
_RARE = 0.8


def measure_series(rows: SeriesRows, periods: tuple[float, ...]) -> SeriesUnits:
    """Return the units of a series.

    The unit is the standard deviation of differences between neighbours, and between seasons, over √2
    for each difference taken: that of the values themselves if they are independent.

    Parameters
    ----------
    rows : SeriesRows
    periods : tuple of float
        Of seasons.
    """
    observed = ~np.isnan(rows.y)
    seen, times = rows.y[observed], (rows.positions - rows.positions[0])[observed]
    center, spread = float(seen.mean()), float(seen.std())
    tempo = 1.0 if rows.clock.regular else float(rows.steps.mean())
    span = float(rows.positions[-1] - rows.positions[0]) / tempo
    rest = span, tempo, *_column_scales(rows.inputs)
    if seen.min() == seen.max():
        warnings.warn(
            f"y is constant ({center:.6g}); forecasts repeat it", UserWarning, stacklevel=4
        )
        unit = _CONSTANT * (abs(center) or 1.0)
        return SeriesUnits(center, unit, _LEVEL, _SLOPE / span, 1.0, *rest)
    unit = max(_innovation_scale(rows.y, periods), _FINEST * spread)
    about = float(np.std(seen - np.polyval(np.polyfit(times, seen, 1), times)))
    swing, wide = max(about, unit) / unit, spread / unit
    return SeriesUnits(center, unit, _LEVEL * wide, _SLOPE * wide / span, swing, *rest)


def _column_scales(inputs: Array) -> tuple[Array, Array]:
    """Return means and standard deviations of inputs; constant ones are left as they are.

    A column that is nearly always 0 says when something happened. Its effect, not its effect times a tiny
    standard deviation, is expected to be as large as the series is wide: its width is its largest size.
    """
    if not inputs.shape[1]:
        return np.zeros(0), np.ones(0)
    center, width = np.nanmean(inputs, axis=0), np.nanstd(inputs, axis=0)
    rare = (width > 0) & (np.mean(inputs == 0.0, axis=0) >= _RARE)
    center, width = (
        np.where(rare, 0.0, center),
        np.where(rare, np.nanmax(np.abs(inputs), axis=0), width),
    )
    return np.where(width > 0, center, 0.0), np.where(width > 0, width, 1.0)


def _innovation_scale(z: Array, periods: tuple[float, ...]) -> float:
    """Return the scale of differences between neighbours and between seasons."""
    neighbours = np.diff(z)
    if np.isnan(neighbours).all():
        neighbours = np.diff(z[~np.isnan(z)])
    made, taken = neighbours, 1
    for period in periods:
        lag = round(period)
        later = made[lag:] - made[:-lag]
        if (~np.isnan(later)).sum() >= max(8, lag):
            made, taken = later, taken + 1
    return float(np.sqrt(np.nanmean(made**2) / 2.0**taken))


def autocorrelation(residuals: Array, most: int) -> Array:
    """Return the correlations of residuals with those 1, 2, … steps before, (most,); gaps are left out."""
    known = residuals[~np.isnan(residuals)]
    gaps = residuals - known.mean()
    square = float((known - known.mean()) @ (known - known.mean()))
    products = [np.nansum(gaps[lag:] * gaps[:-lag]) for lag in range(1, most + 1)]
    return np.array(products) / (square or 1.0)
