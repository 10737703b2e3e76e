"""Data of any kind become finite float64 blocks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from posteriori.numerics import read_blocks


@pytest.mark.parametrize(
    "data",
    [
        [1, 2, 3],
        (1.0, 2.0, 3.0),
        np.array([1, 2, 3], dtype=np.int8),
        np.array([1, 2, 3], dtype=np.float32),
        np.array([1, 2, 3], dtype=object),
        pd.Series([1, 2, 3]),
        pd.Series([1, 2, 3], dtype="Int64"),
        pl.Series([1, 2, 3]),
        iter([[1], [2, 3]]),
        (np.array(chunk) for chunk in ([1, 2], [3])),
        iter([pd.Series([1, 2]), pl.Series([3.0])]),
    ],
)
def test_all_kinds_of_numbers(data):
    blocks = list(read_blocks(data))
    assert all(block.dtype == np.float64 for block in blocks)
    np.testing.assert_array_equal(np.concatenate(blocks), [1.0, 2.0, 3.0])


def test_flags_count_as_zero_and_one():
    np.testing.assert_array_equal(next(read_blocks([True, False])), [1.0, 0.0])


def test_frames_are_rows():
    frame = pd.DataFrame({"a": [1, 2], "b": [3.5, 4.5]})
    np.testing.assert_array_equal(next(read_blocks(frame, 1)), [[1.0, 3.5], [2.0, 4.5]])


def test_a_float64_array_is_not_copied():
    data = np.arange(10.0)
    assert all(np.shares_memory(block, data) for block in read_blocks(data))


def test_a_long_array_comes_in_pieces_that_add_up():
    data = np.arange(300_001, dtype=np.int32)
    blocks = list(read_blocks(data))
    assert len(blocks) > 1
    assert max(block.size for block in blocks) <= 1 << 16
    np.testing.assert_array_equal(np.concatenate(blocks), data)
    wide = np.zeros((50, 70_000))
    assert [block.shape for block in read_blocks(wide, 1)] == [(1, 70_000)] * 50


def test_a_single_datum_is_one_row():
    assert next(read_blocks(3.0)).shape == (1,)
    assert next(read_blocks([1.0, 2.0], 1)).shape == (1, 2)
    with pytest.raises(ValueError, match="rows of 1 axes"):
        next(read_blocks(3.0, 1))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_the_row_of_a_bad_value_is_named(bad):
    with pytest.raises(ValueError, match=rf"y must be finite, row 3 holds {bad}; drop or impute"):
        list(read_blocks(iter([[1.0, 2.0], [3.0, bad, bad]]), name="y"))
    rows = np.ones((100_000, 2))
    rows[98_765, 1] = bad
    with pytest.raises(ValueError, match="row 98765"):
        list(read_blocks(rows, 1))


def test_huge_finite_values_are_not_mistaken_for_infinite_ones():
    assert next(read_blocks([1e308, 1e308, 1e308])).shape == (3,)


@pytest.mark.parametrize("empty", [[], iter([]), iter([[], []]), np.zeros((0, 3))])
def test_no_data_is_an_error(empty):
    with pytest.raises(ValueError, match="data is empty: at least one observation"):
        list(read_blocks(empty))


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        (["a", "b"], TypeError),
        ([1.0, "b"], TypeError),
        ([1.0, None], (TypeError, ValueError)),
        ([[1.0], [2.0, 3.0]], ValueError),
        ([1.0 + 2.0j], TypeError),
    ],
)
def test_what_is_not_numbers_is_refused(wrong, error):
    with pytest.raises(error, match="data"):
        list(read_blocks(wrong))
