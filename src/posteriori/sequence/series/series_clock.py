"""Times of a series: which steps they are, which steps were left out, and which come next."""

from __future__ import annotations

from contextlib import suppress
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import pandas
from posteriori.numerics.types import Array

__all__ = ["SeriesClock", "as_moments", "read_times", "set_clock"]

#: A lattice may have so many steps for each value; sparser times are irregular.
_SPARSE = 10
#: Nanoseconds of a day, in which irregular dates are counted.
_DAY = 86_400e9
#: Units that dates are counted in, in nanoseconds: these reach from 1678 to 2262, microseconds further.
_UNITS = {"ns": 1.0, "us": 1e3}
#: With which the calendar ends.
_LAST_YEAR = 9999
#: Steps of numbers are equal if they differ by less, relative to the shortest.
_EQUAL = 1e-6
#: Times are looked for among multiples of 1/q up to this q, and among decimals of so many digits.
_FINEST, _DIGITS = 1000, 9
#: Rounding errors of times, also of those that were added up, relative to the largest.
_ROUNDING = 1e-12


class SeriesClock(NamedTuple):
    """How times count.

    Attributes
    ----------
    kind : {"steps", "numbers", "moments", "months", "business days", "irregular"}
        "steps" are 0, 1, …, without times; "moments" are dates a fixed time apart.
    origin : object
        Time of position 0.
    step : float
        From one position to the next: numbers, nanoseconds or months; 0 of irregular times, whose
        positions are numbers, or days for dates.
    dated : bool
        Whether times are dates.
    per_unit : int
        q where times are numbers and all of them multiples of 1/q, as months of decimal years are of 1/12; 0
        where there is none.
    """

    kind: str
    origin: Any
    step: float
    dated: bool
    per_unit: int = 0

    @property
    def regular(self) -> bool:
        """Whether positions are whole numbers."""
        return self.kind != "irregular"

    def positions(self, times: Any) -> Array:
        """Return the positions of times (N,): whole numbers where the clock is regular."""
        if self.kind == "months":
            origin = self.origin.year * 12 + self.origin.month
            found = (times.year * 12 + times.month - origin) / self.step
        elif self.kind == "business days":
            first = np.datetime64(self.origin, "D")
            found = np.busday_count(first, times.values.astype("datetime64[D]"))
        elif self.dated:
            passed = _nanoseconds((times - self.origin).values)
            found = passed / (self.step if self.regular else _DAY)
        else:
            found = (np.asarray(times) - self.origin) / (self.step if self.regular else 1.0)
        return np.asarray(found, dtype=np.float64)

    def times(self, positions: Array) -> Any:
        """Return the times of positions, an index.

        Raises
        ------
        ValueError
            When the calendar ends before, with the year 9999.
        """
        if self.dated:
            return self._dates(np.asarray(positions))
        unit = self.step if self.regular else 1.0
        found = self.origin + np.asarray(positions) * unit
        if self.per_unit:  # to the digits in which these times are written
            found = np.rint(found * self.per_unit) / self.per_unit
        return pandas.Index(found)

    def _dates(self, positions: Array) -> Any:
        for unit in _UNITS:
            with suppress(ValueError, OverflowError):  # beyond the reach of the unit
                found = pandas.DatetimeIndex(self._dates_in(unit, positions)).as_unit(unit)
                if found.year.min() >= 1 and found.year.max() <= _LAST_YEAR:
                    return found
        raise ValueError(
            f"{len(positions)} steps from {self.origin:%Y-%m-%d} go beyond the year {_LAST_YEAR}, with which the "
            "calendar ends; ask for fewer"
        )

    def _dates_in(self, unit: str, positions: Array) -> Any:
        origin = self.origin.as_unit(unit)
        if self.kind == "months":
            months = pandas.DateOffset(months=int(self.step))
            made = [origin + int(p) * months for p in positions]
            ends = origin.is_month_end
            made = [t + pandas.offsets.MonthEnd(0) for t in made] if ends else made
            return np.array([t.to_datetime64() for t in made], dtype=f"datetime64[{unit}]")
        if self.kind == "business days":
            return np.busday_offset(np.datetime64(origin, "D"), positions.astype(np.int64))
        passed = positions * (self.step if self.regular else _DAY)
        if unit == "ns":
            return origin + pandas.to_timedelta(passed, unit="ns")
        return origin + np.rint(passed / 1e3).astype("timedelta64[us]")


def as_moments(times: Any) -> Any:
    """Return dates as an index of nanoseconds, or of microseconds for years before 1678 or after 2262."""
    index = pandas.DatetimeIndex(times)
    try:
        return index.as_unit("ns")
    except pandas.errors.OutOfBoundsDatetime:
        return index.as_unit("us")


def read_times(time: Any, count: int) -> Any:
    """Return times as dates (DatetimeIndex) or numbers (N,); name the row of one that is neither.

    Raises
    ------
    ValueError
        When one cannot be read, or when they are not ``count``.
    """
    values = np.asarray(time)
    if values.shape != (count,):
        raise ValueError(f"time must hold one entry per value ({count}), got shape {values.shape}")
    if values.dtype.kind in "iuf":
        numbers = values.astype(np.float64)
        _refuse(~np.isfinite(numbers), time, "is not a finite number")
        return numbers
    dates = time.to_timestamp() if isinstance(time, pandas.PeriodIndex) else time
    if values.dtype.kind == "M":
        _refuse(np.isnat(values), time, "is no date")
        return as_moments(dates)
    parsed = pandas.to_datetime(pandas.Series(list(dates)), errors="coerce", format="mixed")
    _refuse(parsed.isna().to_numpy(), time, "cannot be read as a date or a number")
    return as_moments(parsed)


def set_clock(times: Any) -> SeriesClock:
    """Return the clock of sorted times that differ: the coarsest lattice that holds them all."""
    if not isinstance(times, np.ndarray):
        return _set_calendar(times)
    gaps = np.diff(times)
    step = float(gaps.min())
    whole = np.rint(gaps / step)
    regular = np.abs(gaps / step - whole).max() <= _EQUAL * whole.max()
    if regular and whole.sum() <= _SPARSE * len(times):
        mean = float(gaps.sum() / whole.sum())
        return SeriesClock("numbers", times[0], mean, dated=False, per_unit=_per_unit(times, mean))
    return SeriesClock("irregular", times[0], 0.0, dated=False)


def _per_unit(times: Array, step: float) -> int:
    """Return the least q such that times are multiples of 1/q to rounding; 0 if there is none.

    Examples
    --------
    >>> months, days = np.arange(1949, 1952, 1 / 12), np.arange(0.3, 9.0, 0.7)
    >>> _per_unit(months, 1 / 12), _per_unit(days, 0.7), _per_unit(np.pi * days, 0.7 * np.pi)
    (12, 10, 0)
    """
    largest = float(np.abs(times).max())
    simple = Fraction(step).limit_denominator(_FINEST).denominator
    for q in (simple, *(10**digits for digits in range(1, _DIGITS + 1))):
        error = _ROUNDING * q * largest
        if error < 0.01 and np.abs(times * q - np.rint(times * q)).max() <= error:
            return q
    return 0


def _set_calendar(times: Any) -> SeriesClock:
    origin = times[0]
    same_day = len(set(times.day)) == 1 or bool(times.is_month_end.all())
    if same_day and bool((times == times.normalize()).all()):
        months = np.diff(times.year * 12 + times.month)
        if months.min() > 0:
            return SeriesClock("months", origin, float(np.gcd.reduce(months)), dated=True)
    gaps = np.diff(times.values)
    shortest = np.gcd.reduce(gaps.astype(np.int64))
    step = float(_nanoseconds(shortest.astype(gaps.dtype)))
    if step == _DAY and _are_business_days(times):
        return SeriesClock("business days", origin, step, dated=True)
    if gaps.astype(np.int64).sum() / shortest <= _SPARSE * len(times):
        return SeriesClock("moments", origin, step, dated=True)
    return SeriesClock("irregular", origin, 0.0, dated=True)


def _nanoseconds(passed: Any) -> Any:
    """Return times that have passed, in any unit, as numbers of nanoseconds."""
    return passed.astype(np.int64) * _UNITS[np.datetime_data(passed.dtype)[0]]


def _are_business_days(times: Any) -> bool:
    """Tell whether weekends, and nothing but weekends and the odd holiday, are left out."""
    days = times.values.astype("datetime64[D]")
    steps = np.busday_count(days[0], days[-1]) + 1
    return bool(np.is_busday(days).all()) and len(days) >= 10 and len(days) > 0.5 * steps


def _refuse(wrong: Array, time: Any, why: str) -> None:
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"time holds {list(time)[row]!r} in row {row}, which {why}; correct it or leave the row out"
        )
