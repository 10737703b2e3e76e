"""Weighted draws as a distribution."""

import numpy as np
import pytest

from posteriori.distributions import Empirical, UnivariateEmpirical


def test_weighted_draws():
    d = Empirical([3.0, 1.0, 2.0, 1.0], [1.0, 2.0, 4.0, 1.0])
    assert isinstance(d, UnivariateEmpirical)
    np.testing.assert_allclose(d.log_prob([1.0, 2.0, 2.5]), [np.log(0.375), np.log(0.5), -np.inf])
    np.testing.assert_allclose(d.cdf([0.9, 1.0, 2.0, 3.0]), [0.0, 0.375, 0.875, 1.0])
    np.testing.assert_array_equal(d.quantile([0.0, 0.375, 0.4, 1.0]), [1.0, 1.0, 2.0, 3.0])
    assert d.mean == pytest.approx(1.75)
    assert d.expect(np.square) == pytest.approx((9 + 2 + 16 + 1) / 8)
    assert d.effective_sample_size == pytest.approx(64 / 22)
    assert Empirical(np.arange(7.0)).effective_sample_size == pytest.approx(7.0)


def test_weighted_draws_of_matrices():
    x = np.arange(12.0).reshape(3, 2, 2)
    d = Empirical(x, [0.5, 0.25, 0.25])
    assert d.event_shape == (2, 2)
    np.testing.assert_allclose(d.mean, np.tensordot([0.5, 0.25, 0.25], x, 1))
    np.testing.assert_allclose(d.expect(np.linalg.det), -2.0)
    assert d.log_prob(x[0]) == np.log(0.5)
    assert d.sample(5, rng=0).shape == (5, 2, 2)
    with pytest.raises(ValueError, match="vectors"):
        _ = d.cov
    vectors = Empirical(np.random.default_rng(0).normal(size=(50, 3)))
    np.testing.assert_allclose(vectors.cov, np.cov(vectors.points.T, ddof=0), rtol=1e-12)


def test_resampling_repeats_points_by_their_weights():
    weights = np.array([0.1, 0.45, 0.25, 0.2])
    d = Empirical([0.0, 1.0, 2.0, 3.0], weights)
    for seed in range(20):
        again = d.resample(40, rng=seed)
        counts = np.bincount(again.points.astype(int), minlength=4)
        assert np.all(np.abs(counts - 40 * weights) < 1 + 1e-9)
        assert again.effective_sample_size == pytest.approx(40.0)
    batch = Empirical([[0.0, 1.0], [5.0, 6.0]], [[0.5, 0.5], [0.0, 1.0]], event_ndim=0)
    assert set(batch.resample(6, rng=0).points[1]) == {6.0}
    with pytest.raises(ValueError, match="n must be"):
        d.resample(0)


def test_weighted_draws_refuse_bad_input():
    for make, words in (
        (lambda: Empirical([]), "empty"),
        (lambda: Empirical([1.0, np.nan]), "finite"),
        (lambda: Empirical([1.0, 2.0], [1.0]), "shape"),
        (lambda: Empirical([1.0, 2.0], [0.0, 0.0]), "all be 0"),
        (lambda: Empirical([1.0, 2.0], [-1.0, 2.0]), "negative"),
        (lambda: Empirical([1.0, 2.0], event_ndim=3), "event_ndim"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
