"""Reading of a dated column: order, gaps, calendars, and rows that are refused by their number."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.table.dated_column import read_dated_table, read_moment
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.series_calendar import (
    choose_horizon,
    choose_periods,
    name_steps,
    time_words,
)
from posteriori.sequence.series.series_clock import set_clock
from tests.analysis.forecasts.dated_tables import monthly, yearly


def test_rows_are_sorted_and_left_out_steps_are_gaps() -> None:
    table = monthly(30)
    kept = table.drop(index=[4, 5]).sample(frac=1.0, random_state=0)
    read = read_dated_table(kept, "month", "sales")
    y = read.series[0].rows.y
    expected = table["sales"].to_numpy().copy()
    expected[[4, 5]] = np.nan
    np.testing.assert_array_equal(y, expected)
    assert "rows were put in the order of their times" in read.notes


@pytest.mark.parametrize(
    ("dates", "step", "periods"),
    [
        (pd.date_range("2000-01-01", periods=20, freq="YS"), "year", ()),
        (pd.date_range("2000-01-01", periods=20, freq="QS"), "quarter", (4.0,)),
        (pd.date_range("2000-01-31", periods=20, freq="ME"), "month", (12.0,)),
        (pd.date_range("2000-01-03", periods=20, freq="W-MON"), "week", (365.25 / 7,)),
        (pd.date_range("2000-01-01", periods=20, freq="D"), "day", (7.0, 365.25)),
        (pd.bdate_range("2000-01-03", periods=20), "business day", (5.0, 365.25 * 5 / 7)),
        (pd.date_range("2000-01-01", periods=20, freq="h"), "hour", (24.0, 168.0)),
        (
            pd.date_range("2000-01-01", periods=20, freq="15min"),
            "step of 15 minutes",
            (96.0, 672.0),
        ),
        (pd.date_range("2000-01-01", periods=20, freq="min"), "minute", (1440.0, 10080.0)),
    ],
)
def test_calendars_have_names_and_periods(dates: Any, step: str, periods: Any) -> None:
    table = pd.DataFrame({"when": dates.astype(str), "y": np.arange(20.0) ** 2})
    clock = read_dated_table(table, "when", "y").series[0].rows.clock
    calendar = name_steps(clock)
    assert calendar.step == step
    assert calendar.periods == periods
    times = clock.times(np.arange(20.0))
    assert list(times) == list(dates)


def test_decimal_years_and_quarters_are_read() -> None:
    quarters = pd.DataFrame(
        {"q": [f"{2000 + k // 4}Q{k % 4 + 1}" for k in range(12)], "y": range(12)}
    )
    clock = read_dated_table(quarters, "q", "y").series[0].rows.clock
    assert name_steps(clock).step == "quarter"
    decimal = set_clock(1949.0 + np.arange(24) / 12.0)
    assert name_steps(decimal).periods == (12.0,)
    assert name_steps(set_clock(np.arange(10.0))).step == "step"


MONTHS = pd.period_range("1949-01", periods=30, freq="M")
NUMBERS = np.array([100 * month.year + month.month for month in MONTHS])
LEFT = np.arange(30) % 7 != 3


@pytest.mark.parametrize(
    "column",
    [
        NUMBERS,
        NUMBERS.astype(np.int32),
        NUMBERS.astype(np.float64),
        NUMBERS.astype(np.float32),
        pd.array(NUMBERS, dtype="Int64"),
        pd.Categorical(NUMBERS),
        NUMBERS.astype(str),
        [f" {number}\t" for number in NUMBERS],
        NUMBERS.astype(object),
        [f"{month.year}M{month.month:02d}" for month in MONTHS],
        [f"{month.year}-M{month.month}" for month in MONTHS],
        [month.strftime("%y-%m") for month in MONTHS],
    ],
)
@pytest.mark.parametrize("kept", [np.full(30, True), LEFT], ids=["all", "gaps"])
def test_months_are_read_as_their_first_days(column: Any, kept: Any) -> None:
    table = pd.DataFrame({"month": column, "y": np.arange(30.0)})[kept]
    written = table.assign(month=[f"{month}-01" for month in MONTHS[kept]])
    found, wanted = (read_dated_table(t, "month", "y").series[0].rows for t in (table, written))
    assert found.clock == wanted.clock
    np.testing.assert_array_equal(found.positions, wanted.positions)
    np.testing.assert_array_equal(found.y, wanted.y)


def test_months_of_polars_and_of_two_series_are_read() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"month": NUMBERS, "y": np.arange(30.0)})
    assert read_dated_table(to_pandas(frame), "month", "y").series[0].rows.clock.dated
    both = pd.DataFrame(
        {"month": [*NUMBERS, *NUMBERS[4:]], "by": ["a"] * 30 + ["b"] * 26, "y": 1.0}
    )
    assert all(
        s.rows.clock.kind == "months" for s in read_dated_table(both, "month", "y", "by").series
    )


def test_weeks_are_read() -> None:
    weeks = pd.DataFrame({"w": [f"1949-W{k:02d}" for k in range(1, 53)], "y": np.arange(52.0)})
    clock = read_dated_table(weeks, "w", "y").series[0].rows.clock
    assert name_steps(clock).step == "week"
    assert clock.origin == pd.Timestamp("1949-01-03")


@pytest.mark.parametrize(
    ("column", "note"),
    [
        (NUMBERS, "'month': dates are read as months; '194901' is 1949-01"),
        (
            np.roll(NUMBERS, 1),
            "could be dates: if they are, write 1951-06",
        ),
        (
            np.arange(19490101, 19490131),
            "'month': dates are read as days; '19490101' is 1949-01-01",
        ),
        (
            np.roll(np.arange(19490101, 19490131), 1),
            "could be dates: if they are, write 1949-01-30",
        ),
        (1949 + np.arange(30) // 12 + (1 + np.arange(30) % 12) / 100, "1949.01 could be dates"),
    ],
)
def test_what_is_done_with_numbers_that_could_be_dates_is_said(column: Any, note: str) -> None:
    notes = read_dated_table(
        pd.DataFrame({"month": column, "y": np.arange(30.0)}), "month", "y"
    ).notes
    assert note in notes[0]


def test_other_numbers_are_no_dates() -> None:
    for column in (np.arange(30) + 123456, np.arange(30) + 0.5, np.arange(30) + 1949):
        table = pd.DataFrame({"t": column, "y": np.arange(30.0)})
        dated = read_dated_table(table, "t", "y")
        assert not dated.series[0].rows.clock.dated
        assert dated.notes == ()


def test_rows_whose_formats_disagree_are_named() -> None:
    dates = ["2020-01-01", "13/01/2020", "01/14/2020", "2020-02-01"]
    dated = read_dated_table(pd.DataFrame({"d": dates, "y": range(4)}), "d", "y")
    assert (
        "'13/01/2020' in row 2 has the day first, '01/14/2020' in row 3 the month" in dated.notes[0]
    )
    assert "'2020-01-01' in row 1 has the year first" in dated.notes[0]


def test_moments_are_read_as_the_column_writes_them() -> None:
    column = read_dated_table(pd.DataFrame({"m": NUMBERS, "y": np.arange(30.0)}), "m", "y").time
    for entry in (194903, "194903", "1949-03", pd.Timestamp("1949-03-01")):
        assert read_moment(entry, column) == pd.Timestamp("1949-03-01")


def test_days_are_read_in_the_order_of_the_table() -> None:
    table = pd.DataFrame(
        {"d": [f"{d:02d}.01.2020" for d in range(1, 21)], "y": np.arange(20.0) ** 2}
    )
    rows = read_dated_table(table, "d", "y").series[0].rows
    assert time_words(rows.clock, rows.clock.times(rows.positions)[19]) == "2020-01-20"


@pytest.mark.parametrize(
    ("time", "words"),
    [
        (1961.0000000003, "1961"),
        (1960.9166667, "1960.92"),
        (20240101.0, "20240101"),
        (0.25, "0.25"),
    ],
)
def test_numbers_that_are_times_have_no_commas(time: float, words: str) -> None:
    assert time_words(set_clock(np.arange(10.0)), time) == words


def _changed(row: int, column: str, entry: Any) -> pd.DataFrame:
    table = monthly(30).astype(object)
    table.loc[row, column] = entry
    return table


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (
            _changed(6, "month", "soon"),
            r"'month' holds 'soon' in row 7, which cannot be read as a date or a number, unlike '2018-01' in row 1",
        ),
        (_changed(6, "month", None), r"'month' holds None in row 7"),
        (_changed(6, "month", "2018-03"), r"in rows 3 and 7; a series has one value a step"),
        (monthly(2), r"y holds 2 values"),
        (monthly(0), r"the table has no rows"),
    ],
)
def test_bad_rows_are_named(table: pd.DataFrame, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_dated_table(table, "month", "sales")


def test_bad_columns_and_infinities_are_named() -> None:
    table = monthly(30)
    with pytest.raises(ValueError, match="time names 'day', which is no column"):
        read_dated_table(table, "day", "sales")
    with pytest.raises(ValueError, match="value names 'profit', which is no column"):
        read_dated_table(table, "month", "profit")
    with pytest.raises(ValueError, match="value names 'month', which holds no numbers"):
        read_dated_table(table, "month", "month")
    table.loc[4, "sales"] = -np.inf
    with pytest.raises(ValueError, match="'sales' holds -inf in row 5"):
        read_dated_table(table, "month", "sales")


def test_levels_are_series_of_their_own() -> None:
    both = pd.concat([yearly(20).assign(shop="b"), yearly(25, 1).assign(shop="a")])
    read = read_dated_table(both, "year", "flow", "shop")
    assert sorted((one.name, len(one.rows.y)) for one in read.series) == [("a", 25), ("b", 20)]
    again = pd.concat([both, both.iloc[:1]])
    with pytest.raises(ValueError, match="of series 'b'"):
        read_dated_table(again, "year", "flow", "shop")


def test_periods_and_horizons_are_chosen() -> None:
    calendar = name_steps(set_clock(pd.date_range("2020-01-01", periods=20, freq="D")))
    assert choose_periods("auto", calendar, 100) == ((7.0,), (365.25,))
    assert choose_periods("auto", calendar, 731) == ((7.0, 365.25), ())
    assert choose_periods("none", calendar, 100) == ((), ())
    assert choose_periods("5, 30.5", calendar, 100) == ((5.0, 30.5), ())
    assert choose_periods(12, calendar, 20) == ((), (12.0,))
    assert choose_horizon(None, (7.0, 365.25), 731) == 7
    assert choose_horizon(None, (), 100) == 6
    assert choose_horizon(None, (12.0,), 24) == 6
    assert choose_horizon(9, (12.0,), 24) == 9
    for bad in ("weekly", "1", "7,7", [np.inf]):
        with pytest.raises(ValueError, match="period must be"):
            choose_periods(bad, calendar, 100)
    for wrong in (0, -3, 2.5, True):
        with pytest.raises(ValueError, match="horizon must be a whole number"):
            choose_horizon(wrong, (), 100)  # type: ignore[arg-type]  # what it refuses
