"""What columns are taken for, and what becomes of their entries."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.table.columns import (
    Column,
    column_name,
    convert_column,
    describe_columns,
    guess_column,
    numbers_in,
)
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.values import (
    are_whole_days,
    dates_of,
    read_numbers,
    read_truths,
    years_of,
)
from posteriori.analysis.table.wording import entry_words


def guess(values, name="x", **options):
    return guess_column(name, pd.Series(values, **options))


def converted(values, name="x"):
    series = pd.Series(values)
    return convert_column(guess_column(name, series), series)


# -- texts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "values"),
    [
        (["1", "2.5", "-3e2"], [1.0, 2.5, -300.0]),
        (["1,234.5", "12", "1,000,000"], [1234.5, 12.0, 1e6]),
        (["1.234,5", "3,25", "7"], [1234.5, 3.25, 7.0]),
        (["$12", "$1,300.50", "€ 7"], [12.0, 1300.5, 7.0]),
        (["12%", "3.5 %", "100%"], [12.0, 3.5, 100.0]),
        (["−4", "+2", ".5"], [-4.0, 2.0, 0.5]),
        (["1 000", "20\N{NO-BREAK SPACE}000", "3"], [1000.0, 20000.0, 3.0]),
        (["(45)", "190", "(1,899.5)"], [-45.0, 190.0, -1899.5]),
        (["($45)", "-$3", "$-4"], [-45.0, -3.0, -4.0]),
        (["60 kg", "71kg", "8.5 kg"], [60.0, 71.0, 8.5]),
        (["20,5 °C", "-3,25 °C"], [20.5, -3.25]),
        (["1.234", "2,5"], [1234.0, 2.5]),
    ],
)
def test_numbers_in_texts(texts, values):
    found = read_numbers(texts)
    assert found is not None
    np.testing.assert_array_equal(found.values, values)


@pytest.mark.parametrize(
    "texts",
    [
        ["a", "b"],
        ["1", "two"],
        ["1,23,4", "x"],
        ["", "."],
        ["12-3"],
        ["60 kg", "71 lb"],
        ["1st", "2nd", "3rd"],
        ["(1)", "(2)", "(3)"],
        ["(-4)", "5)"],
        ["+44 337937", "+44 552597"],
        ["01:49", "07:55"],
    ],
)
def test_texts_that_are_no_numbers(texts):
    assert read_numbers(texts) is None


@pytest.mark.parametrize(
    ("texts", "remark"),
    [
        (["$3", "€ 4", "5%"], "the sign $ is left out"),
        (["$3", "€ 4", "5%"], "amounts of different currencies are not converted"),
        (["$3", "€ 4", "5%"], "12% is 12"),
        (["60 kg", "71 kg"], "the unit 'kg' is left out"),
        (["(45)", "190"], "(12) is −12"),
        (
            ["388", "50,112"],
            "'50,112' is read as 50112: commas part thousands here; if they are decimal signs, write "
            "points",
        ),
        (
            ["$1.234", "$5.678"],
            "'$1.234' is read as 1.234: points are decimal signs here; if they part thousands, leave "
            "them out",
        ),
    ],
)
def test_what_is_left_out_of_numbers_is_said(texts, remark):
    assert remark in read_numbers(texts).remarks
    assert remark in guess([*texts, *texts]).note


@pytest.mark.parametrize(
    "texts", [["1", "2.5"], ["3,25", "1.234,5"], ["1,234.5", "1,000"], ["1,000,000", "2,5"]]
)
def test_numbers_that_can_be_read_in_one_way_need_no_remark(texts):
    found = read_numbers(texts)
    assert found is None or found.remarks == ()


def test_numbers_beyond_the_largest_are_missing():
    found = read_numbers(["1e999", *map(str, range(40))])
    assert (np.isnan(found.values[0]), found.strange) == (True, ["1e999"])


def test_units_are_part_of_the_style():
    column = guess(["60 kg", "71,5 kg", "8 kg"])
    assert (column.kind, column.style) == ("number", "comma kg")
    new = convert_column(column, pd.Series(["1,5 kg", "2", "3 lb"]))
    np.testing.assert_array_equal(new, [1.5, 2.0, np.nan])


@pytest.mark.parametrize(
    ("times", "whole_days"),
    [
        (["2024-02-29", "1899-12-31", "2262-01-01"], True),
        (["2024-02-29T23:59:59", "2000-01-01T00:00:01"], False),
    ],
)
def test_decimal_years_go_back_to_dates(times, whole_days):
    moments = pd.Series(np.array(times, dtype="datetime64[s]"))
    years = years_of(moments)
    assert are_whole_days(years) is whole_days
    np.testing.assert_array_equal(dates_of(years, whole_days=whole_days), moments)


def test_years_beyond_the_reach_of_nanoseconds():
    # 2000 less 1700 is more nanoseconds than a whole number of 64 bits holds
    moments = pd.Series(pd.to_datetime(["1700-01-01", "2000-01-01"])).astype("datetime64[ns]")
    days = (np.datetime64("1700-01-01") - np.datetime64("2000-01-01")).astype(float)
    assert np.allclose(years_of(moments), [2000.0 + days / 365.2425, 2000.0], rtol=1e-14)


def test_years_beyond_the_calendar_are_no_dates():
    found = dates_of(np.array([np.nan, np.inf, -3.0, 1e300, 2000.0]), whole_days=True)
    np.testing.assert_array_equal(np.isnat(found), [True, True, True, True, False])


def test_an_impossible_date_among_many_is_missing():
    column = guess([*(f"2020-01-{d:02d}" for d in range(1, 31)), "2020-02-31"])
    assert (column.kind, column.missing) == ("date", 1)
    assert "1 entry such as '2020-02-31' in row 31 taken as missing" in column.note


@pytest.mark.parametrize("entry", ["31/31/2024", "02-2024", "5th of Feb"])
def test_a_date_that_fits_no_order_leaves_that_of_the_others(entry):
    days = pd.date_range("2024-01-01", periods=40).strftime("%d/%m/%Y")
    column = guess([*days[:35], entry, *days[36:]])
    assert (column.kind, column.style, column.missing) == ("date", "day first", 1)
    assert f"1 entry such as {entry!r} in row 36 taken as missing" in column.note


@pytest.mark.parametrize(("texts", "yes"), [(["Yes", "NO"], "yes"), (["t", "f"], "t")])
def test_truths_in_texts(texts, yes):
    found = read_truths(texts)
    assert found is not None
    assert found.style == yes
    np.testing.assert_array_equal(found.values, [1.0, 0.0])


@pytest.mark.parametrize("texts", [["yes"], ["yes", "no", "maybe"], ["yes", "true"]])
def test_texts_that_are_no_truths(texts):
    assert read_truths(texts) is None


# -- kinds -------------------------------------------------------------------------------------

LEVELS = ["red", "green", "blue"] * 20


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, 2.5, np.nan], "number"),
        ([True, False, True], "boolean"),
        (["yes", "no", None, "yes"], "boolean"),
        (LEVELS, "category"),
        (pd.Categorical([3, 1, 3, 1]), "category"),
        (pd.to_datetime(["2020-01-01", "2021-01-01"]), "date"),
        (pd.to_timedelta(["1D", "2D"]), "number"),
        ([f"u{k:05d}" for k in range(50)], "identifier"),
        ([f"{k} " + "word " * 20 for k in range(50)], "text"),
        ([7, 7, 7], "constant"),
        (["a", "a", None], "constant"),
        ([None, np.nan], "empty"),
        (["?", "n/a", ""], "empty"),
        (pd.array([1, None, 3], dtype="Int64"), "number"),
        (pd.array([True, None, False], dtype="boolean"), "boolean"),
        (pd.array(["x", None, "y"], dtype="string"), "category"),
    ],
)
def test_kinds(values, kind):
    assert guess(values).kind == kind


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("customer_id", np.random.default_rng(0).permutation(1000)[:40] * 7, "identifier"),
        ("paid", np.random.default_rng(0).permutation(1000)[:40] * 7, "number"),
        ("year", np.arange(40), "number"),
        ("income", np.arange(40) + 0.5, "number"),
        ("row", np.arange(1, 41), "identifier"),
        ("serial", np.arange(40), "identifier"),
        ("serial", np.arange(40)[::-1], "number"),
    ],
)
def test_integers_that_only_number_the_rows(name, values, kind):
    assert guess(values, name).kind == kind


def test_integers_whose_differences_overflow_number_no_rows():
    values = pd.Series([0.0, 1.7e308, -1.7e308, *range(2, 12)])
    assert guess_column("x", values).kind == "number"


def test_many_levels_are_said():
    assert "40 levels" in guess([f"l{k % 40}" for k in range(400)]).note


def test_repeated_columns_are_used_once():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1.0, np.nan, 3.0], "c": [1.0, 2.0, 3.0]})
    kinds = [(c.name, c.kind) for c in describe_columns(frame)]
    assert kinds == [("a", "number"), ("b", "duplicate"), ("c", "number")]


X = np.random.default_rng(3).normal(20.0, 5.0, 40)


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        (100.0 * X, "duplicate"),
        (32.0 - 1.8 * X, "duplicate"),
        (X + 1e-5 * X**2, "number"),
        (np.where(np.arange(40) == 7, np.nan, X), "number"),
    ],
)
def test_columns_that_repeat_others_up_to_scale_are_used_once(other, kind):
    frame = pd.DataFrame({"a": X, "noise": X[::-1] ** 2, "b": other, "c": 3.0 * X})
    columns = describe_columns(frame)
    assert [c.kind for c in columns] == ["number", "number", kind, "duplicate"]
    assert columns[3].note == "repeats 'a' up to scale: left out"


def test_few_rows_are_functions_of_one_another_by_chance():
    frame = pd.DataFrame({"a": [1.0, 2.0, None], "b": [5.0, 9.0, None]})
    assert [c.used for c in describe_columns(frame)] == [True, True]


def test_what_was_seen_is_remembered():
    assert guess([3.0, np.nan, -1.5]).limits == (-1.5, 3.0)
    assert guess(["$3", "$5,000"]).limits == (3.0, 5000.0)
    assert guess(LEVELS).levels == ("red", "green", "blue")
    assert guess([f"l{k % 2000}" for k in range(4000)]).levels == ()


@pytest.mark.parametrize(("name", "text"), [("x", "x"), (" x ", "x"), (0, "0"), (np.int64(3), "3")])
def test_names_of_columns(name, text):
    assert column_name(name) == text


@pytest.mark.parametrize("name", [None, True, 1.5, ["x"]])
def test_what_names_no_column(name):
    with pytest.raises(ValueError, match="a column is named by a text or an integer, got"):
        column_name(name)


def test_columns_can_be_left_out():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]})
    assert [c.used for c in describe_columns(frame, drop=["a"])] == [False, True]


def test_complex_numbers_are_refused():
    with pytest.raises(ValueError, match="'x' holds complex numbers"):
        guess_column("x", pd.Series([1j, 2j], name="x"))


# -- values ------------------------------------------------------------------------------------


def test_infinite_entries_are_missing():
    assert guess([1.0, np.inf, 2.0]).note == "1 infinite entry taken as missing"
    np.testing.assert_array_equal(converted([1.0, np.inf, 2.0]), [1.0, np.nan, 2.0])


def test_words_for_missing_are_missing():
    np.testing.assert_array_equal(converted(["1", "N/A", "3", "-"]), [1.0, np.nan, 3.0, np.nan])
    found = converted(["a", " b", "?", "a "])
    assert list(found.dropna()) == ["a", "b", "a"]
    assert list(found.isna()) == [False, False, True, False]


def test_new_tables_are_read_in_the_style_of_the_old():
    column = guess(["1.234,5", "3,5"])
    np.testing.assert_array_equal(convert_column(column, pd.Series(["1,25"])), [1.25])
    column = guess(["13.02.2000", "01.02.2000"])
    year = convert_column(column, pd.Series(["01.02.2000"]))
    np.testing.assert_allclose(year, [2000 + 31 / 365.2425])


def test_a_column_of_numbers_takes_numbers_in_texts_but_no_words():
    column = Column("x", "number")
    np.testing.assert_array_equal(convert_column(column, pd.Series(["1", "2"])), [1.0, 2.0])
    with pytest.raises(
        ValueError, match="'x' should hold a number, but it holds texts such as 'a'"
    ):
        convert_column(column, pd.Series(["a", "b"]))


# -- tables ------------------------------------------------------------------------------------


def test_names_become_distinct_texts():
    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["a", "a", "", 7])
    assert list(to_pandas(frame).columns) == ["a", "a (2)", "column 3", "7"]


def test_the_table_of_the_caller_keeps_its_names():
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    to_pandas(frame)
    assert list(frame.columns) == ["a", "a"]


def test_polars_is_read():
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({"x": [1, None, 3], "s": ["a", None, "b"], "t": [True, False, None]})
    frame = to_pandas(table)
    assert [guess_column(name, frame[name]).kind for name in frame] == [
        "number",
        "category",
        "boolean",
    ]


def test_vectors_are_no_tables():
    with pytest.raises(ValueError, match=r"a table has two axes, got an array of shape \(3,\)"):
        to_pandas(np.arange(3))


@pytest.mark.parametrize("form", [int, float, str])
def test_numbers_that_could_be_months_stay_numbers_unless_they_order_rows(form):
    months = pd.Series([form(f"19{49 + k // 12}{k % 12 + 1:02d}") for k in range(30)])
    column = guess_column("month", months)
    assert (column.kind, column.limits) == ("number", (194901.0, 195106.0))
    assert "could be dates: if they are, write 1949-01" in column.note
    dated = guess_column("month", months, orders_rows=True)
    assert (dated.kind, dated.style) == ("date", "as months")
    again = numbers_in(dated, pd.Series(["195106", "1951-06", None]))
    np.testing.assert_allclose(again, [dated.limits[1]] * 2 + [np.nan])


@pytest.mark.parametrize("name", ["id", "price"])
def test_numbers_of_six_digits_that_are_no_months_stay_what_they_are(name):
    numbers = pd.Series(np.arange(123456, 123496))
    column = guess_column(name, numbers)
    assert guess_column(name, numbers, orders_rows=True) == column
    assert "dates" not in column.note


# -- how numbers are written -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "values", "written"),
    [
        ("when", [1991, 2008, 2019], "code"),  # years
        ("flow", [1120, 1160, 963], "number"),
        ("price", [1750.5, 1800.25, 1999.75], "number"),
        ("price", [1750.0, 2199.0, 2600.0], "number"),
        (
            "share",
            [1800.0, 1800.1, 1800.2, 1800.3, 1801.0],
            "number",
        ),  # more than whole numbers there are
        ("Zip", [10115, 80331, 80331], "code"),
        ("postal code", [10115, 80331, 80331], "code"),
        ("ward_id", [50112, 70333, 70333], "code"),
        ("year", [476, 1066, 1453], "code"),
        ("yearly income", [52_300, 48_100, 61_000], "number"),
        ("period", [10115, 80331, 80331], "number"),
        ("colour", ["red", "blue", "red"], "category"),
        ("day", ["2020-01-01", "2020-01-02", "2020-02-01"], "date"),
    ],
)
def test_years_and_codes_are_written_without_a_mark_of_thousands(name, values, written):
    column = guess(values, name)
    assert column.written == written
    if written == "code":
        assert [entry_words(written, value) for value in values] == [str(v) for v in values]
