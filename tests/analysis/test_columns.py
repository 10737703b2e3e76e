"""What columns are taken for, and what becomes of their entries."""

import numpy as np
import pandas as pd
import pytest

from posteriori.analysis.columns import (
    Column,
    convert_column,
    describe_columns,
    guess_column,
    to_pandas,
)
from posteriori.analysis.values import read_dates, read_numbers, read_truths


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
    ],
)
def test_numbers_in_texts(texts, values):
    found = read_numbers(texts)
    assert found is not None
    np.testing.assert_array_equal(found.values, values)


@pytest.mark.parametrize("texts", [["a", "b"], ["1", "two"], ["1,23,4", "x"], ["", "."], ["12-3"]])
def test_texts_that_are_no_numbers(texts):
    assert read_numbers(texts) is None


@pytest.mark.parametrize(
    ("texts", "style", "years"),
    [
        (["2000-01-01", "2001-01-01"], "year first", [2000.0, 2000.0 + 366 / 365.2425]),
        (["13.02.2000", "01.02.2000"], "day first", [2000 + 43 / 365.2425, 2000 + 31 / 365.2425]),
        (["02/13/2000", "02/01/2000"], "month first", [2000 + 43 / 365.2425, 2000 + 31 / 365.2425]),
        (["2000-01-01T12:00:00Z"], "year first", [2000 + 0.5 / 365.2425]),
        (["Jan 1, 2000", "Feb 1, 2000"], "year first", [2000.0, 2000 + 31 / 365.2425]),
    ],
)
def test_dates_in_texts(texts, style, years):
    found = read_dates(texts)
    assert found is not None
    assert found.style == style
    np.testing.assert_allclose(found.values, years, rtol=1e-12)


@pytest.mark.parametrize("texts", [["1-2"], ["Room 12"], ["3.14"], ["abc"], ["99/99/2000", "x"]])
def test_texts_that_are_no_dates(texts):
    found = read_dates(texts)
    assert found is None or np.isnan(found.values).all()


def test_an_impossible_date_among_many_is_missing():
    column = guess([*(f"2020-01-{d:02d}" for d in range(1, 31)), "2020-02-31"])
    assert (column.kind, column.missing) == ("date", 1)
    assert "'2020-02-31' count as missing" in column.note


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


def test_many_levels_are_said():
    assert "40 levels" in guess([f"l{k % 40}" for k in range(400)]).note


def test_repeated_columns_are_used_once():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0], "b": [1.0, np.nan, 3.0], "c": [1.0, 2.0, 3.0]})
    kinds = [(c.name, c.kind) for c in describe_columns(frame)]
    assert kinds == [("a", "number"), ("b", "duplicate"), ("c", "number")]


def test_columns_can_be_left_out():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]})
    assert [c.used for c in describe_columns(frame, drop=["a"])] == [False, True]


def test_complex_numbers_are_refused():
    with pytest.raises(ValueError, match="'x' holds complex numbers"):
        guess_column("x", pd.Series([1j, 2j], name="x"))


# -- values ------------------------------------------------------------------------------------


def test_infinite_entries_are_missing():
    assert guess([1.0, np.inf, 2.0]).note == "1 infinite entries count as missing"
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
