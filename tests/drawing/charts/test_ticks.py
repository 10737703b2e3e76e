"""Ticks are round numbers inside the ends, and their texts tell them apart."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from posteriori.drawing.charts.ticks import round_ticks, tick_texts, widened

ENDS = st.tuples(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300)).map(sorted)


def number_of(text):
    return float(text.replace("−", "-").replace(",", ""))


@given(ENDS, st.integers(2, 10))
def test_ticks_lie_inside_in_even_round_steps(ends, most):
    low, high = widened(*ends)
    ticks = round_ticks(low, high, most)
    assert 1 <= len(ticks) <= most
    room = 1e-6 * (high - low)
    assert low - room <= ticks.min()
    assert ticks.max() <= high + room
    if len(ticks) > 1:
        step = (ticks[-1] - ticks[0]) / (len(ticks) - 1)
        np.testing.assert_allclose(np.diff(ticks), step, rtol=1e-6)
        digits = step / 10.0 ** math.floor(math.log10(step) + 1e-9)
        assert min(abs(digits - times) for times in (1.0, 2.0, 2.5, 5.0, 10.0)) < 1e-6


@given(ENDS)
def test_texts_say_the_ticks(ends):
    assume(ends[1] - ends[0] > 1e-3 * max(map(abs, ends)))
    low, high = widened(*ends)
    ticks = round_ticks(low, high)
    said = [number_of(text) for text in tick_texts(ticks)]
    np.testing.assert_allclose(said, ticks, rtol=1e-3, atol=1e-6 * (high - low))
    assert len(set(said)) == len(ticks)


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        ((0.0, 1.0), ["0", "0.25", "0.5", "0.75", "1"]),
        ((-180.0, 5.0), ["−150", "−100", "−50", "0"]),
        ((0.0, 31_000.0), ["0", "10,000", "20,000", "30,000"]),
        ((0.0, 4.3e6), ["0", "1e6", "2e6", "3e6", "4e6"]),
        ((0.0, 4.3e-7), ["0", "1e−7", "2e−7", "3e−7", "4e−7"]),
        ((1949.0, 1960.9), ["1950", "1952.5", "1955", "1957.5", "1960"]),
    ],
)
def test_people_would_write_them_so(ends, expected):
    assert tick_texts(round_ticks(*ends)) == expected


def test_whole_ticks_have_no_halves():
    for high in (0.7, 1.2, 2.6, 4.9, 23.0, 104.0):
        ticks = round_ticks(0.0, high, whole=True)
        assert (ticks == np.floor(ticks)).all()


@pytest.mark.parametrize("value", [0.0, 3.0, -1e300, 5e-324, 1.7e308, np.inf, -np.inf])
def test_a_single_number_has_room_about_it(value):
    low, high = widened(value, value)
    assert np.isfinite([low, high]).all()
    assert low < min(max(value, -1e308), 1e308) < high or abs(value) > 1e307
    assert low < high


def test_the_largest_numbers_have_finite_ends():
    low, high = widened(-1.7e308, 1.7e308)
    assert np.isfinite(high - low)
