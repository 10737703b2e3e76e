"""Numbers are written as people read them."""

import math

import pytest
from hypothesis import given, strategies as st

from posteriori.analysis.table.wording import (
    even_number,
    fixed_number,
    number_with_error,
    number_within,
    short_number,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (49316.2, "49,320"),
        (4.9316, "4.932"),
        (2.24, "2.24"),
        (999.96, "1,000"),
        (0.0001, "0.0001"),
        (123456789.0, "123,500,000"),
        (-0.25, "−0.25"),
        (0.0, "0"),
        (-0.0, "0"),
        (1.0, "1"),
        (2.22e-16, "2.2e−16"),
        (-4.6e12, "−4.6e12"),
        (math.nan, ""),
        (math.inf, "∞"),
    ],
)
def test_short_numbers(value, text):
    assert short_number(value) == text


def read(text):
    return float(text.replace("−", "-").replace(",", ""))


@given(st.floats(-1e15, 1e15))
def test_short_numbers_are_the_rounded_ones(value):
    text = short_number(value)
    digits = 4 if text == "0" or "e" not in text else 2
    assert read(text) == float(f"{value:.{digits - 1}e}")


@given(st.floats(-1e6, 1e6))
def test_nothing_is_minus_zero(value):
    for decimals in (0, 1):
        text = fixed_number(value, decimals)
        assert not (text.startswith("−") and read(text) == 0.0)
        assert abs(read(text) - value) <= 0.5 * 10.0**-decimals * (1 + 1e-9)


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (-43.12, 9.7, "−43.1 ± 9.7"),
        (-3167.3, 54.4, "−3,167 ± 54"),
        (-0.04, 0.02, "0.0 ± 0.0"),
        (-999_999.0, 12.0, "−999,999 ± 12"),
        (-4_600_000.0, 339_353.0, "−4.6e6"),
        (-5.2e10, math.nan, "−5.2e10"),
        (-7.0, math.nan, "−7.0"),
        (-math.inf, math.nan, "−∞"),
    ],
)
def test_numbers_with_errors(value, error, text):
    assert number_with_error(value, error) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(55.3, "55.30"), (1.0, "1.000"), (0.9944, "0.9944"), (49_300.0, "49,300"), (0.0, "0")],
)
def test_numbers_of_a_column_have_equally_many_digits(value, text):
    assert even_number(value) == text


@given(
    st.floats(-1e8, 1e8).filter(lambda value: abs(value) > 1e-3),
    st.floats(1e-3, 1e6),
    st.sampled_from(["number", "code"]),
)
def test_numbers_within_a_spread_are_off_by_little_of_it(value, spread, kind):
    told = float(number_within(value, spread, kind).replace("−", "-").replace(",", ""))
    # three digits, or two of the spread
    assert abs(told - value) <= 1.000001 * max(
        5e-3 * abs(value) if spread > abs(value) else 0.0, 0.05 * spread
    )


@pytest.mark.parametrize("spread", [0.0, math.nan, math.inf])
def test_without_a_spread_there_are_three_digits(spread):
    assert number_within(20314.2, spread) == "20,300"
    assert number_within(0.0, spread) == "0"
