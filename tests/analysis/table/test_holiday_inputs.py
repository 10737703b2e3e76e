"""Holidays as inputs: which steps they fall into, what is said of them, and their effects."""

import sys

import numpy as np
import pandas as pd
import pytest

from posteriori import forecast
from posteriori.analysis.table.series_calendar import count_holidays
from posteriori.sequence.series.series_clock import set_clock

# the package is an extra: where it is not installed nothing of it can be seen
holidays = pytest.importorskip("holidays")


def test_days_fall_into_their_steps() -> None:
    days = set_clock(pd.date_range("2020-12-01", periods=62, freq="D"))
    found = count_holidays(days, np.arange(62.0), "DE")
    names = holidays.country_holidays("DE", years=[2020, 2021])
    christmas = names["2020-12-25"]
    assert np.flatnonzero(found[christmas]).tolist() == [24]
    months = set_clock(pd.date_range("2020-01-01", periods=24, freq="MS"))
    counts = count_holidays(months, np.arange(24.0), "DE")
    assert np.flatnonzero(counts[christmas]).tolist() == [11, 23]
    weeks = set_clock(pd.date_range("2020-11-30", periods=8, freq="W-MON"))
    assert np.flatnonzero(count_holidays(weeks, np.arange(8.0), "DE")[christmas]).tolist() == [3]


def test_the_effect_of_a_holiday_is_forecast() -> None:
    dates = pd.date_range("2019-01-01", periods=730, freq="D")
    rng = np.random.default_rng(0)
    y = 100.0 + rng.standard_normal(730)
    y[(dates.month == 1) & (dates.day == 1)] -= 40.0
    table = pd.DataFrame({"day": dates, "y": y.round(2)})
    f = forecast(
        table,
        time="day",
        value="y",
        holidays="DE",
        models=["constant"],
        period="none",
        horizon=3,
        origins=0,
    )
    assert any("holidays of DE within the series" in note for note in f.notes)
    assert 60.0 < f.frame["median"].iloc[1] < 80.0  # two days say much, and are shrunk
    assert f.frame["median"].iloc[2] == pytest.approx(100.0, abs=1.0)


def test_unknown_countries_and_a_missing_package_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pd.DataFrame(
        {"day": pd.date_range("2020-01-01", periods=40, freq="D"), "y": np.arange(40.0)}
    )
    with pytest.raises(ValueError, match="holidays='XX' is no country"):
        forecast(table, time="day", value="y", holidays="XX")
    monkeypatch.setitem(sys.modules, "holidays", None)
    with pytest.raises(ValueError, match=r"pip install posteriori\[holidays\]"):
        forecast(table, time="day", value="y", holidays="DE")
