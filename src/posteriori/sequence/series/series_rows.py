"""What a series is given as: values with gaps, times, inputs; each check names value and remedy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas
from scipy.sparse import issparse

from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.types import Array
from posteriori.numerics.validation import naming_overflow, require_squares, unmasked
from posteriori.sequence.series.series_clock import SeriesClock, read_times, set_clock

__all__ = [
    "SeriesRows",
    "check_inputs_of_steps",
    "check_values",
    "continue_series",
    "fingerprint_of",
    "read_series",
    "require_positive",
]

#: Values without which nothing can be said.
_FEWEST = 3


class SeriesRows(NamedTuple):
    """A series step by step.

    Attributes
    ----------
    y : (T,)
        NaN where a step was left out or its value is missing.
    positions : (T,)
        When: whole numbers one apart where the clock is regular.
    clock : SeriesClock
    inputs : (T, K)
        Known numbers of each step; NaN of those that were left out.
    """

    y: Array
    positions: Array
    clock: SeriesClock
    inputs: Array

    @property
    def steps(self) -> Array:
        """Times from each value to the next, (T − 1,)."""
        return np.diff(self.positions)


def read_series(y: Any, time: Any = None, inputs: Any = None, fewest: int = _FEWEST) -> SeriesRows:
    """Return a series sorted by time, its left-out steps filled in as gaps.

    Parameters
    ----------
    y : (T,) or (T, 1)
        NaN is missing.
    time : (T,), optional
        Dates or numbers; by default the index of y where that holds dates.
    inputs : (T, K), optional
    fewest : int
        Values that must be there.
    """
    time = _dates_beside(y) if time is None else time
    values = check_values(y)
    known = check_inputs_of_steps(inputs, len(values))
    if (~np.isnan(values)).sum() < fewest:
        raise ValueError(
            f"y holds {int((~np.isnan(values)).sum())} values, which say nothing about how they vary; a "
            f"series needs at least {fewest}"
        )
    if time is None:
        clock = SeriesClock("steps", 0, 1.0, dated=False)
        return SeriesRows(values, np.arange(float(len(values))), clock, known)
    times = read_times(time, len(values))
    order = np.argsort(times, kind="stable")
    times = times[order]
    _refuse_duplicates(times, order)
    return _on_clock(values[order], times, known[order], set_clock(times), None)


def continue_series(
    y: Any, time: Any, inputs: Any, clock: SeriesClock, last: float, step: float
) -> SeriesRows:
    """Return later values of a series, after its position ``last``; the first row is that position.

    Without times they follow one another ``step`` apart.
    """
    values = check_values(y)
    if clock.dated and time is None:
        time = _dates_beside(y)
    known = check_inputs_of_steps(inputs, len(values))
    if time is None:
        positions = last + step * np.arange(len(values) + 1.0)
        padded = np.concatenate([[np.nan], values])
        return SeriesRows(
            padded, positions, clock, np.vstack([np.zeros((1, known.shape[1])), known])
        )
    times = read_times(time, len(values))
    order = np.argsort(times, kind="stable")
    times = times[order]
    _refuse_duplicates(times, order)
    if not clock.positions(times[:1])[0] > last:
        raise ValueError(
            f"time begins with {times[0]}, which does not come after {clock.times(np.array([last]))[0]}, the last "
            "step of the series; fit anew to insert values"
        )
    return _on_clock(values[order], times, known[order], clock, last)


def _dates_beside(y: Any) -> Any:
    """Return the index of values that come with dates, or None."""
    index = getattr(y, "index", None)
    if isinstance(index, pandas.PeriodIndex):
        return index.to_timestamp()
    return index if isinstance(index, pandas.DatetimeIndex) else None


def check_values(y: Any) -> Array:
    """Return values (T,) without infinities; NaN is missing."""
    if issparse(y):
        raise TypeError(
            "sparse data are not supported: y must be one series, as y.toarray() gives it"
        )
    if np.iscomplexobj(y):
        raise ValueError("Complex data not supported: y must be one series of real numbers")
    with naming_overflow("y"):
        values = np.asarray(unmasked("y", y), dtype=np.float64)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 2 and not values.size:
        found = f"{values.shape[1]} feature(s) (shape={values.shape})"
        raise ValueError(f"y has {found} while a minimum of 1 is required: give one series, (T,)")
    if values.ndim != 1:
        raise ValueError(f"y must be one series, (T,) or (T, 1); got shape {values.shape}")
    if np.isinf(values).any():
        row = int(np.argmax(np.isinf(values)))
        raise ValueError(f"y holds {values[row]} in row {row}; make it NaN if it is missing")
    require_squares("y", values[~np.isnan(values)])
    return values


def check_inputs_of_steps(inputs: Any, count: int) -> Array:
    """Return inputs (T, K), finite; (T, 0) if there are none."""
    if inputs is None:
        return np.zeros((count, 0))
    known = np.asarray(unmasked("inputs", inputs), dtype=np.float64)
    known = known[:, None] if known.ndim == 1 else known
    if known.ndim != 2 or len(known) != count:
        raise ValueError(
            f"inputs must have a row for each of {count} steps, got shape {known.shape}"
        )
    if not np.isfinite(known).all():
        row, column = np.argwhere(~np.isfinite(known))[0]
        raise ValueError(
            f"inputs hold {known[row, column]} in row {row}, column {column}; inputs must be known: fill them in"
        )
    return known


def require_positive(y: Array, argument: str) -> None:
    """Refuse values <= 0, which have no logarithm."""
    wrong = y <= 0.0
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y holds {y[row]:.6g} in step {row}, which has no logarithm; use {argument}='none', or make it NaN "
            "if it is missing"
        )


def fingerprint_of(y: Array) -> Fingerprint:
    """Return the fingerprint of the observed values."""
    return Fingerprint().update(y[~np.isnan(y)])


def _refuse_duplicates(times: Any, order: Array) -> None:
    twice = np.asarray(times[1:] == times[:-1])
    if twice.any():
        place = int(np.argmax(twice))
        raise ValueError(
            f"time holds {times[place]} in rows {order[place]} and {order[place + 1]}; a series has one value a "
            "step: add them up, or leave one out"
        )


def _on_clock(
    y: Array, times: Any, inputs: Array, clock: SeriesClock, last: float | None
) -> SeriesRows:
    """Lay values on the steps of a clock, from ``last`` on if there are earlier ones."""
    places = clock.positions(times)
    start = places[0] if last is None else last
    if not clock.regular:
        positions = places if last is None else np.concatenate([[last], places])
        values = y if last is None else np.concatenate([[np.nan], y])
        first = np.zeros((0 if last is None else 1, inputs.shape[1]))
        return SeriesRows(values, positions, clock, np.vstack([first, inputs]))
    rows = np.rint(places - start).astype(np.int64)
    off = np.abs(places - start - rows) > 1e-3
    if off.any():
        raise ValueError(
            f"time holds {times[int(np.argmax(off))]}, which lies between the steps of the series; round it, or "
            "fit anew"
        )
    values = np.full(rows[-1] + 1, np.nan)
    values[rows] = y
    known = np.full((len(values), inputs.shape[1]), np.nan)
    known[rows] = inputs
    return SeriesRows(values, start + np.arange(float(len(values))), clock, known)
