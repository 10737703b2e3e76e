"""Bins by middle ranks, and the places between them."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from posteriori.inference.trees.bins import apply_bins, learn_bins, middle_rank_bins, midway


@given(arrays(np.float64, st.integers(2, 60), elements=st.integers(-8, 8)), st.integers(2, 9))
def test_a_value_lies_in_the_bin_of_its_middle_rank(x, size):
    values, counts = np.unique(x, return_counts=True)
    expected = [
        min(int(size * ((x < v).sum() + (x <= v).sum()) / (2 * len(x))), size - 1) for v in values
    ]
    np.testing.assert_array_equal(middle_rank_bins(counts.astype(float), size), expected)


@given(arrays(np.float64, st.integers(1, 60), elements=st.integers(-8, 8)), st.integers(2, 9))
def test_bins_end_with_the_values_that_lie_in_them(x, size):
    values, counts = np.unique(x, return_counts=True)
    found = learn_bins(np.append(x, np.nan)[:, None], np.zeros(1, int), size)
    of_value = middle_rank_bins(counts.astype(float), size)
    if len(values) <= size:
        of_value = np.arange(len(values))
    np.testing.assert_array_equal(
        found.low, [values[of_value == b][0] for b in np.unique(of_value)]
    )
    np.testing.assert_array_equal(
        found.high, [values[of_value == b][-1] for b in np.unique(of_value)]
    )


@given(arrays(np.float64, st.tuples(st.integers(1, 40), st.just(2)), elements=st.integers(-9, 9)))
def test_few_values_have_a_bin_each_and_keep_their_order(x):
    bins = learn_bins(x, np.zeros(2, int), 255)
    codes = apply_bins(bins, x)
    for j in range(2):
        np.testing.assert_array_equal(codes[:, j], np.unique(x[:, j], return_inverse=True)[1])


@given(st.integers(0, 10**6), st.integers(2, 40))
def test_cuts_agree_with_bins_for_seen_and_new_values(seed, size):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(150, 1)).round(int(rng.integers(1, 4)))
    bins = learn_bins(x, np.zeros(1, int), size)
    assert len(bins.low) <= size
    codes, cuts = apply_bins(bins, x)[:, 0], bins.cuts(0)
    assert (bins.low[codes] <= x[:, 0]).all()
    assert (x[:, 0] <= bins.high[codes]).all()
    new = rng.normal(size=(50, 1))
    np.testing.assert_array_equal(apply_bins(bins, new)[:, 0], (new > cuts).sum(axis=1))


def test_weights_count_as_repeated_rows():
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(80, 1)), rng.integers(1, 5, 80)
    a = learn_bins(x, np.zeros(1, int), 7, w.astype(float))
    b = learn_bins(np.repeat(x, w, axis=0), np.zeros(1, int), 7)
    np.testing.assert_array_equal(a.low, b.low)


def test_gaps_and_new_levels_have_the_last_bin():
    x = np.array([[0.0, np.nan], [1.0, 2.0], [np.nan, 3.0]])
    bins = learn_bins(x, np.array([2, 0]), 255)
    new = np.array([[np.nan, np.nan], [7.0, -1.0], [1.0, 9.0]])
    np.testing.assert_array_equal(apply_bins(bins, new), [[2, 2], [2, 0], [1, 1]])


def test_a_column_without_values_has_one_bin():
    x = np.full((4, 1), np.nan)
    bins = learn_bins(x, np.zeros(1, int), 255)
    np.testing.assert_array_equal(apply_bins(bins, x)[:, 0], [1, 1, 1, 1])


@pytest.mark.parametrize(
    ("a", "b"), [(1.0, np.nextafter(1.0, 2.0)), (-1.7e308, 1.7e308), (0.0, 5e-324)]
)
def test_midway_lies_below_the_larger_number(a, b):
    assert a <= midway(a, b) < b


def test_more_values_than_small_codes_hold():
    x = np.arange(300.0)[:, None]
    codes = apply_bins(learn_bins(x, np.zeros(1, int), None), x)
    np.testing.assert_array_equal(codes[:, 0], np.arange(300))
