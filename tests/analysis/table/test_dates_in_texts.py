"""Dates in texts: every format as it says, the order of day and month as the column says."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.table.dates_in_texts import read_dates
from posteriori.analysis.table.values import dates_of


def days(found) -> list[str]:
    """Return dates as they are written, year first."""
    return [str(day)[:10] for day in dates_of(found.values, whole_days=False)]


@pytest.mark.parametrize(
    ("texts", "style", "years"),
    [
        (["2000-01-01", "2001-01-01"], "year first", [2000.0, 2000.0 + 366 / 365.2425]),
        (["13.02.2000", "01.02.2000"], "day first", [2000 + 43 / 365.2425, 2000 + 31 / 365.2425]),
        (["02/13/2000", "02/01/2000"], "month first", [2000 + 43 / 365.2425, 2000 + 31 / 365.2425]),
        (["2000-01-01T12:00:00Z"], "year first", [2000 + 0.5 / 365.2425]),
        (["01 February 2000", "1-Jan-00"], "month in words", [2000 + 31 / 365.2425, 2000.0]),
        (["01/02/2000", "02/01/2000"], "month first", [2000 + 1 / 365.2425, 2000 + 31 / 365.2425]),
        (["01.02.2000", "02.01.2000"], "day first", [2000 + 31 / 365.2425, 2000 + 1 / 365.2425]),
        (["Jan 1, 2000", "Feb 1, 2000"], "month in words", [2000.0, 2000 + 31 / 365.2425]),
    ],
)
def test_dates_in_texts(texts, style, years):
    found = read_dates(texts)
    assert found is not None
    assert found.style == style
    np.testing.assert_allclose(found.values, years, rtol=1e-12)


@pytest.mark.parametrize(
    ("texts", "remark"),
    [
        (
            ["04/03/2020", "03/03/2020"],
            "day first would fit as well: if '04/03/2020' means 2020-03-04, write the dates like that",
        ),
        (
            ["04.03.20"],
            "month first would fit as well: if '04.03.20' means 2020-04-03, write the dates like that",
        ),
        (
            ["13/01/2020", "01/13/2020"],
            "'13/01/2020' has the day first, '01/13/2020' the month: write all of them year first",
        ),
    ],
)
def test_dates_that_can_be_read_in_two_ways_are_said(texts, remark):
    assert read_dates(texts).remarks == (remark,)


@pytest.mark.parametrize("texts", [["13/01/2020", "04/03/2020"], ["03/03/2020"], ["2020-03-04"]])
def test_dates_that_can_be_read_in_one_way_need_no_remark(texts):
    assert read_dates(texts).remarks == ()


@pytest.mark.parametrize("texts", [["1-2"], ["Room 12"], ["3.14"], ["abc"], ["99/99/2000", "x"]])
def test_texts_that_are_no_dates(texts):
    found = read_dates(texts)
    assert found is None or np.isnan(found.values).all()


MONTHS = pd.date_range("2017-01-01", periods=40, freq="MS")
LATER = [d for d in MONTHS if d.month != 5]


@pytest.mark.parametrize(
    ("moments", "form", "style"),
    [
        (MONTHS, "%d/%m/%Y", "day first"),
        (MONTHS, "%m/%d/%Y", "month first"),
        (MONTHS, "%m.%d.%Y", "month first"),
        (MONTHS + pd.Timedelta(days=4), "%d/%m/%Y", "day first"),
        (LATER, "%d/%m/%y", "day first"),
        (pd.date_range("2017-01-01", periods=9, freq="QS"), "%d/%m/%Y", "day first"),
        (pd.date_range("2017-02-01", periods=240, freq="h"), "%d/%m/%Y %H:%M", "day first"),
    ],
)
def test_equal_steps_tell_the_order(moments, form, style):
    found = read_dates([f"{moment:{form}}" for moment in moments])
    assert found.style == style
    assert days(found) == [f"{moment:%Y-%m-%d}" for moment in moments]


@pytest.mark.parametrize(
    "texts",
    [
        [f"01/{k:02d}/2017" for k in range(1, 13)],  # twelve months, or twelve days
        [f"01/02/{year}" for year in range(2000, 2020)],
        ["01/02/2020", "05/06/2020", "02/11/2020", "03/12/2020"],
    ],
)
def test_where_both_orders_fit_the_choice_is_said_and_left_to_the_reader(texts):
    found = read_dates(texts)
    assert found.style == "month first"
    assert "day first would fit as well" in found.remarks[0]
    chosen = read_dates(texts, day_first=True)
    assert (chosen.style, chosen.remarks) == ("day first", ())
    assert days(chosen) == [f"{t[6:]}-{t[3:5]}-{t[:2]}" for t in texts]


def test_dates_that_contradict_the_order_asked_for_are_not_read():
    texts = [*(f"{k:02d}/01/2020" for k in range(1, 13)), "01/13/2020"]
    assert read_dates(texts, day_first=True) is None
    again = read_dates(texts, style="day first")
    assert np.isnan(again.values[-1])
    assert not np.isnan(again.values[:-1]).any()


def test_each_format_is_read_by_itself():
    texts = ["03.01.2020", "2020-01-12", "13.01.2020", "4 Jan 2020", "2020-02-03T10:00:00"]
    found = read_dates(texts)
    assert days(found) == ["2020-01-03", "2020-01-12", "2020-01-13", "2020-01-04", "2020-02-03"]
    assert found.remarks == (
        "formats are mixed, and each date is read by its own: '2020-01-12' has the year first, '4 Jan 2020' "
        "has its month in words, '03.01.2020' has the day first",
    )
    np.testing.assert_array_equal(read_dates(texts, style=found.style).values, found.values)


def test_dates_of_both_orders_are_read_again_as_they_were():
    texts = ["13/01/2020", "01/13/2020", "02/03/2020"]
    found = read_dates(texts)
    assert days(found) == ["2020-01-13", "2020-01-13", "2020-03-02"]
    np.testing.assert_array_equal(read_dates(texts, style=found.style).values, found.values)


@pytest.mark.parametrize("text", ["2020-13-01", "2020-02-30", "2020-00-10", "0000-01-01"])
def test_days_that_are_in_no_calendar_are_missing(text):
    assert np.isnan(read_dates([text], style="year first").values[0])


def test_all_years_of_four_digits_are_read():
    texts = ["0001-01-01", "1500-02-28", "31.12.1677", "2262-04-12", "9999-12-31"]
    assert days(read_dates(texts)) == [*texts[:2], "1677-12-31", *texts[3:]]


@pytest.mark.parametrize(("text", "year"), [("01.03.68", "2068"), ("01.03.69", "1969")])
def test_years_of_two_digits_are_of_the_century_that_posix_says(text, year):
    assert days(read_dates([text])) == [f"{year}-03-01"]


def test_zones_and_halves_of_the_day():
    texts = ["2020-01-01T01:00:00+02:00", "1/13/2020 3:00 PM"]
    values = read_dates(texts).values
    expected = np.array(["2019-12-31T23:00", "2020-01-13T15:00"], dtype="datetime64[s]")
    np.testing.assert_array_equal(dates_of(values, whole_days=False), expected)
