"""Rows become series: in the order of time, divided by levels, with missing steps."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.table.columns import Column, guess_column
from posteriori.analysis.table.series import arrange_rows

T = Column("t", "number")


def rows_of(table, time=T, by=None):
    found = arrange_rows(pd.DataFrame(table), time, by)
    return [one.rows.tolist() for one in found.series], " ".join(found.notes)


@pytest.mark.parametrize(
    ("times", "rows", "words"),
    [
        ([1, 2, 3, 4], [[0, 1, 2, 3]], ""),
        ([3, 1, 2, 4], [[1, 2, 0, 3]], "put in the order of their times"),
        ([1, 2, 5, 6], [[0, 1, -1, -1, 2, 3]], "2 steps without a row"),
        ([1, 2, 2, 3], [[0, 1, 2, 3]], "1 row at the time of the one before"),
        ([1, 2, np.nan, 3], [[0, 1, 3]], "1 row without 't': left out"),
        ([1, 2, 3, 1000, 1001], [[0, 1, 2], [3, 4]], "1 long gap: another series begins"),
        ([1, 2.4, 2.5, 4.2, 5.1, 9.7], [[0, 1, 2, 3, 4, 5]], "times are uneven"),
        ([7], [[0]], ""),
    ],
)
def test_order_and_gaps(times, rows, words):
    found, notes = rows_of({"t": times})
    assert found == rows
    assert words in notes
    assert bool(words) == bool(notes)


def test_months_are_even_steps():
    days = pd.Series(pd.date_range("2020-01-31", periods=24, freq="ME").astype(str))
    time = guess_column("t", days)
    assert time.kind == "date"
    assert rows_of({"t": days}, time) == ([list(range(24))], "")
    found, _ = rows_of({"t": days.drop(index=[5, 6]).reset_index(drop=True)}, time)
    assert found[0][4:8] == [4, -1, -1, 5]


def test_levels_are_series_of_their_own():
    table = {"t": [1, 1, 2, 2, 3, 5], "who": ["b", "a", "b", "a", None, "a"]}
    found = arrange_rows(pd.DataFrame(table), T, Column("who", "category"))
    assert {one.name: one.rows.tolist() for one in found.series} == {
        "b": [0, 2],
        "a": [1, 3, -1, -1, 5],
    }
    assert found.notes[0] == "1 row without 't' or 'who': left out"
    numbered = arrange_rows(pd.DataFrame({"n": [7, 8, 7]}), None, Column("n", "number"))
    assert [(one.name, one.rows.tolist()) for one in numbered.series] == [("7", [0, 2]), ("8", [1])]


def test_answers_return_to_their_rows():
    found = arrange_rows(pd.DataFrame({"t": [3.0, 1.0, np.nan, 5.0, 2.0]}), T)
    x = np.arange(10.0).reshape(5, 2)
    steps = found.spread(x)
    assert np.isnan(steps[found.rows < 0]).all()
    back = found.gather(steps, 5)
    np.testing.assert_array_equal(back[[0, 1, 3, 4]], x[[0, 1, 3, 4]])
    assert np.isnan(back[2]).all()


def test_no_time_at_all_is_refused():
    with pytest.raises(ValueError, match="no row has a time"):
        rows_of({"t": [np.nan, np.nan]})


def business_days(count, *left_out):
    days = pd.bdate_range("2024-01-01", periods=count).delete(list(left_out))
    return pd.Series(days.astype(str))


def test_weekends_are_no_gaps_of_business_days():
    days = business_days(30, 12)
    time = guess_column("t", days)
    found = arrange_rows(pd.DataFrame({"t": days}), time)
    assert (found.steps, found.working) == ("business days", True)
    assert found.series[0].rows.tolist() == [*range(12), -1, *range(12, 29)]
    assert found.notes == (
        "steps are business days: weekends are no gaps",
        "1 step without a row, taken as missing",
    )
    as_days = arrange_rows(pd.DataFrame({"t": days}), time, working=False)
    assert as_days.steps == "days"
    assert (as_days.rows < 0).sum() == 5 * 2 + 1  # five weekends, and the day


def test_few_rows_are_of_business_days_where_that_is_known():
    days = business_days(7)
    frame, time = pd.DataFrame({"t": days}), guess_column("t", days)
    assert arrange_rows(frame, time, working=True).rows.tolist() == list(range(7))
    assert (arrange_rows(frame, time).rows < 0).sum() == 2  # Monday to Tuesday over a weekend


@pytest.mark.parametrize(
    ("times", "steps"),
    [
        (pd.date_range("2024-01-01", periods=30, freq="D"), "days"),
        (pd.date_range("2024-01-31", periods=30, freq="ME"), "months"),
        (pd.date_range("2024-01-01", periods=30, freq="h"), "hours"),
        (pd.date_range("2024-01-01", periods=30, freq="2D"), "steps of 2 days"),
        (np.arange(1871, 1901), "years"),
        (np.arange(30), "steps"),
        (np.r_[np.arange(20), np.arange(20, 60, 2)], "steps"),
        (np.cumsum(np.random.default_rng(0).random(30)), "rows"),
    ],
)
def test_steps_have_the_names_of_their_calendar(times, steps):
    column = pd.Series(times.astype(str) if isinstance(times, pd.DatetimeIndex) else times)
    time = guess_column("t", column) if isinstance(times, pd.DatetimeIndex) else T
    assert arrange_rows(pd.DataFrame({"t": column}), time).steps == steps
