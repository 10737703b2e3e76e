"""Ticks of dates: even, between the ends, and written with what tells them apart."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.drawing.charts.ticks import date_ticks, days_of


def ticks_between(first, last, most=7):
    low, high = days_of(np.array([first, last], dtype="datetime64[s]"))
    return date_ticks(low, high, most)[1]


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ("1949-01-01", "1960-12-01", ["1950", "1952", "1954", "1956", "1958", "1960"]),
        ("1900-06-01", "2010-01-01", ["1920", "1940", "1960", "1980", "2000"]),
        ("2020-01-15", "2021-02-01", ["2020-04", "2020-07", "2020-10", "2021-01"]),
        (
            "2020-02-27",
            "2020-03-03",
            [f"2020-{d}" for d in ("02-27", "02-28", "02-29", "03-01", "03-02", "03-03")],
        ),
        (
            "2020-02-27T22:10",
            "2020-02-28T09:00",
            ["2020-02-28 00:00", "2020-02-28 03:00", "2020-02-28 06:00", "2020-02-28 09:00"],
        ),
        ("2020-01-01T10:01", "2020-01-01T10:18", [f"2020-01-01 10:{m}" for m in ("05", 10, 15)]),
    ],
)
def test_people_would_write_them_so(first, last, expected):
    assert ticks_between(first, last) == expected


@given(st.floats(-50_000.0, 50_000.0), st.floats(-3.0, 5.0), st.integers(2, 10))
def test_ticks_lie_between_the_ends_in_order(low, log_width, most):
    high = low + 10.0**log_width
    places, texts = date_ticks(low, high, most)
    assert len(places) == len(texts) == len(set(texts)) <= most
    assert (np.diff(places) > 0).all()
    if len(places):
        assert low - 1e-6 <= places.min()
        assert places.max() <= high + 1e-6
    assert len(places) >= 1 or most < 4
