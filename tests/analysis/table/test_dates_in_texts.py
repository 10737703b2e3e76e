"""Dates in texts: every format as it says, the order of day and month as the column says."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.table import dates_in_texts
from posteriori.analysis.table.columns import could_be_dates
from posteriori.analysis.table.dates_in_texts import are_periods, read_dates
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
    assert days(read_dates([text, "01.03.20"]))[0] == f"{year}-03-01"


@pytest.mark.parametrize(
    ("texts", "first", "style"),
    [
        (["01.03.49", "02.03.49", "13.03.60"], "1949-03-01", "day first of the past century"),
        (["1-Jan-49", "2-Feb-60"], "1949-01-01", "month in words of the past century"),
        (
            [f"{49 + k // 12}-{k % 12 + 1:02d}" for k in range(13)],
            "1949-01-01",
            "as months of the past century",
        ),
        (["01.03.26", "13.03.49"], "2026-03-01", "day first"),
        (["01.03.2049", "13.03.2049"], "2049-03-01", "day first"),
    ],
)
def test_years_of_two_digits_that_would_all_lie_ahead_are_of_the_past_century(
    monkeypatch, texts, first, style
):
    monkeypatch.setattr(dates_in_texts, "_this_year", lambda: 2026)
    found = read_dates(texts)
    assert days(found)[0] == first
    assert found.style == style
    ahead = [remark for remark in found.remarks if "would lie ahead" in remark]
    assert len(ahead) == style.endswith("of the past century")
    np.testing.assert_array_equal(read_dates(texts, style=style).values, found.values)


def test_later_years_of_two_digits_are_of_the_century_that_was_found(monkeypatch):
    monkeypatch.setattr(dates_in_texts, "_this_year", lambda: 2026)
    past, posix = "day first of the past century", "day first"
    assert days(read_dates(["01.03.22", "01.03.75"], style=past)) == ["1922-03-01", "1975-03-01"]
    assert days(read_dates(["01.03.27", "01.03.75"], style=posix)) == ["2027-03-01", "1975-03-01"]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        *(("1949M01", "1949-01-01"), ("1949-M12", "1949-12-01"), ("1949 M3", "1949-03-01")),
        *(("1949Q1", "1949-01-01"), ("1949-Q4", "1949-10-01"), ("1949 q3", "1949-07-01")),
        *(("1949-W05", "1949-01-31"), ("1949W05", "1949-01-31"), ("2020-W01", "2019-12-30")),
        ("2020-W53", "2020-12-28"),
    ],
)
def test_months_quarters_and_weeks_begin_on_their_first_day(text, day):
    assert days(read_dates([text])) == [day]


@pytest.mark.parametrize("text", ["1949M13", "1949M00", "1949Q5", "1949Q0", "1949-W54", "2021-W53"])
def test_months_quarters_and_weeks_that_no_year_has_are_missing(text):
    assert np.isnan(read_dates([text], style="year first").values[0])


AFTER_ANOTHER = [f"{1949 + k // 12}{k % 12 + 1:02d}" for k in range(30)]


@pytest.mark.parametrize(
    "texts",
    [
        AFTER_ANOTHER,
        AFTER_ANOTHER[::-1],
        [f"{text}.0" for text in AFTER_ANOTHER],
        [f"{text[2:4]}-{text[4:]}" for text in AFTER_ANOTHER],
        [text for k, text in enumerate(AFTER_ANOTHER) if k % 5 != 3],
        AFTER_ANOTHER[::3],
        AFTER_ANOTHER[::6],
        ["194901", "195001", "195101"],
    ],
)
def test_a_column_of_months_after_another_is_read_as_months(texts):
    found = read_dates(texts)
    plain = [text.removesuffix(".0").replace("-", "")[-4:] for text in texts]
    assert are_periods(texts)
    assert days(found) == [f"19{text[:2]}-{text[2:]}-01" for text in plain]
    assert found.style.startswith("as months")
    np.testing.assert_array_equal(read_dates(texts[:1], found.style).values, found.values[:1])


@pytest.mark.parametrize(
    "texts",
    [
        ["123456", "123457", "123458"],
        ["194901", "194902", "194913"],
        ["194901", "194902", "194900"],
        ["149901", "149902", "149903"],
        ["220101", "220102", "220103"],
        ["194901", "194902"],
        ["194901", "194903", "194902", "194904"],
        ["194901", "194906", "195411", "196002", "196112"],
        ["194901", "194902", "abc"],
        ["194901", "194902", "1949.5"],
        ["01-02", "02-03", "03-04", "04-05"],
        [f"10-{k:02d}" for k in range(1, 20)],
        ["01-04", "05-08", "09-12"],
        ["20-29", "30-39", "40-49"],
        ["-194901", "-194902", "-194903"],
        ["199000", "205000", "219900"],
        ["19490101", "19490103", "19490102"],
        ["19490101", "19490131", "19490132"],
        ["19490130", "194902", "194903"],
        ["1949", "1950", "1951"],
    ],
)
def test_numbers_that_do_not_follow_as_months_or_days_are_none(texts):
    assert not are_periods(texts)
    found = read_dates(texts)
    assert found is None or not found.style.startswith("as ")


@pytest.mark.parametrize(
    "texts",
    [
        ["19491230", "19491231", "19500101"],
        ["19500104.0", "19500103.0", "19491230.0"],
        ["19490131", "19490228", "19490331"],
    ],
)
def test_days_without_a_sign_are_read_where_dates_are_asked_for(texts):
    """They are as with signs; where none are asked for, such numbers may be anything."""
    found = read_dates(texts, asked=True)
    assert are_periods(texts)
    assert days(found) == [f"{text[:4]}-{text[4:6]}-{text[6:8]}" for text in texts]
    assert found.style == "as days"
    np.testing.assert_array_equal(read_dates(texts[:1], found.style).values, found.values[:1])
    assert read_dates(texts) is None


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["Jan 1949", "Sept 1949"], ["1949-01-01", "1949-09-01"]),
        (["1949 Jan", "1949-March"], ["1949-01-01", "1949-03-01"]),
        (["Jan-49", "Dec-60"], ["1949-01-01", "1960-12-01"]),
        (["Jan '09", "Feb '10"], ["2009-01-01", "2010-02-01"]),
        (["Q1 1949", "q4-1950"], ["1949-01-01", "1950-10-01"]),
    ],
)
def test_months_and_quarters_whose_year_stands_last(texts, expected):
    assert days(read_dates(texts)) == expected
    assert read_dates(["Ton 1949", "Jam-50"]) is None


@pytest.mark.parametrize("count", [3, 12])
def test_a_few_texts_that_may_be_codes_are_months_only_if_dates_are_asked_for(count):
    texts = [f"10-{k:02d}" for k in range(1, count + 1)]
    assert read_dates(texts) is None
    assert days(read_dates(texts, asked=True)) == [f"2010-{text[3:]}-01" for text in texts]


@pytest.mark.parametrize(
    ("numbers", "written"),
    [
        ([194901, 195503], "1949-01"),
        ([19490131, 19490201], "1949-01-31"),
        ([123456, 194901], None),
        ([194901.5, 194902], None),
        ([199000, 205000], None),
        ([19490132, 19490201], None),
        ([1949, 1950], None),
        ([-194901, -194902], None),
    ],
)
def test_numbers_that_could_be_dates_are_doubted(numbers, written):
    found = could_be_dates(np.array(numbers, dtype=float))
    assert [remark.endswith(f"write {written}") for remark in found] == [True] * bool(written)


def test_zones_and_halves_of_the_day():
    texts = ["2020-01-01T01:00:00+02:00", "1/13/2020 3:00 PM"]
    values = read_dates(texts).values
    expected = np.array(["2019-12-31T23:00", "2020-01-13T15:00"], dtype="datetime64[s]")
    np.testing.assert_array_equal(dates_of(values, whole_days=False), expected)
