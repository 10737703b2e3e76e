"""Bootstrap samples have as many rows as there are, and leave 1/e of them out."""

import numpy as np
import pytest

from posteriori.ensemble import bootstrap_samples
from posteriori.ensemble.bootstrap import draw_rows


@pytest.mark.topic("000/K4")
def test_samples_repeat_rows_and_leave_others_out():
    samples = bootstrap_samples(400, 300, rng=0)
    assert samples.counts.shape == samples.out_of_bag.shape == (300, 400)
    np.testing.assert_array_equal(samples.counts.sum(axis=1), 400)
    np.testing.assert_array_equal(samples.out_of_bag, samples.counts == 0)
    assert samples.counts.max() > 1
    absent = samples.out_of_bag.mean(axis=1)
    expected = (1.0 - 1.0 / 400.0) ** 400
    assert expected == pytest.approx(np.exp(-1.0), abs=1e-3)
    assert abs(absent.mean() - expected) < 5 * absent.std() / np.sqrt(300)


def test_counts_of_a_row_are_binomial():
    counts = bootstrap_samples(5, 20_000, rng=1).counts
    assert counts.mean() == 1.0
    error = counts.var(axis=0) - 5 * 0.2 * 0.8
    assert np.abs(error).max() < 5 * 2.0 / np.sqrt(20_000)


def test_a_seed_gives_the_same_samples():
    one, other = (bootstrap_samples(9, 4, rng=3).counts for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("replace", [True, False])
def test_a_row_of_frequency_two_is_drawn_as_two_rows(replace):
    frequency = np.array([2.0, 1.0, 3.0])
    rows = np.repeat(np.arange(3), frequency.astype(int))
    weighted = draw_rows(frequency, 4, replace, np.random.default_rng(5))
    repeated = draw_rows(np.ones(6), 4, replace, np.random.default_rng(5))
    np.testing.assert_array_equal(weighted, np.bincount(rows, weights=repeated))


@pytest.mark.parametrize(("n", "size"), [(0, 1), (3, 0), (2.5, 1), (True, 1)])
def test_sizes_are_whole_numbers(n, size):
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        bootstrap_samples(n, size)
