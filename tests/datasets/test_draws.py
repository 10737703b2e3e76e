"""Generated draws are distributed as their stated truth."""

import numpy as np
import pytest
from scipy import stats

from posteriori.datasets import (
    make_coin_flips,
    make_constant_signal,
    make_correlated_pair,
    make_die_rolls,
    make_mixed_sources,
)
from tests.datasets.sample_checks import MANY, assert_mean, assert_normal, assert_shares


class TestDraws:
    def test_coin_of_the_lesson(self):
        assert len(make_coin_flips(rng=0)) == 192
        heads = make_coin_flips(MANY, rng=0)["head"]
        assert set(heads) == {0.0, 1.0}
        assert_mean(heads, 0.4)
        assert_mean((heads[1:] - 0.4) * (heads[:-1] - 0.4), 0.0)

    @pytest.mark.parametrize("probability", [0, 1])
    def test_a_coin_that_always_falls_the_same(self, probability):
        assert set(make_coin_flips(probability=probability, rng=0)["head"]) == {probability}

    def test_jaynes_die_has_mean_4_5_and_the_largest_entropy(self):
        die = make_die_rolls(MANY, rng=0)
        p = die.truth["probabilities"]
        np.testing.assert_allclose(
            p, [0.05435, 0.07877, 0.11416, 0.16545, 0.23977, 0.34749], rtol=0, atol=5e-6
        )
        assert p @ np.arange(1, 7) == pytest.approx(4.5, abs=1e-8)
        np.testing.assert_allclose(np.diff(np.log(p)), np.log(p[1] / p[0]), rtol=1e-12)
        assert_mean(die["face"], 4.5)
        assert_shares(die["face"] - 1, p)

    def test_a_die_of_ones_own(self):
        die = make_die_rolls(MANY, probabilities=[0.2, 0.0, 0.8], rng=0)
        assert set(die["face"]) == {1.0, 3.0}
        assert_mean(die["face"], 0.2 + 2.4)

    def test_constant_of_the_lesson(self):
        signal = make_constant_signal(rng=0)
        assert signal["t"].tolist() == list(range(1, 51))
        many = make_constant_signal(MANY, rng=0)
        assert_normal(many.data, np.array([2.0]), np.array([[0.25]]))

    def test_pair_of_the_lesson(self):
        pair = make_correlated_pair(MANY, rng=0)
        mean, cov = np.array([0.0, 1.0]), np.array([[0.8, 0.5], [0.5, 1.0]])
        assert_normal(pair.data, mean, cov)
        low, high = pair.truth["rectangle_low"], pair.truth["rectangle_high"]
        inside = np.all((pair.data >= low) & (pair.data <= high), axis=1)
        assert_mean(inside, 0.20823322)
        law = stats.multivariate_normal(pair.truth["mean"], pair.truth["cov"])
        assert law.cdf(high, lower_limit=low) == pytest.approx(0.20823322, abs=1e-6)

    def test_sources_are_independent_laplace_and_mixed(self):
        heard = make_mixed_sources(MANY, rng=0)
        sources, mixing = heard.truth["sources"], heard.truth["mixing"]
        assert mixing.tolist() == [[1.0, 0.5], [0.3, 1.0]]
        np.testing.assert_allclose(heard.data, sources @ mixing.T, rtol=1e-12)
        assert_mean(sources, [0.0, 0.0])
        assert_mean(np.abs(sources), 1.0)
        assert_mean(sources**2, 2.0)
        assert_mean(sources[:, 0] * sources[:, 1], 0.0)
        assert_mean((np.abs(sources[:, 0]) - 1) * (np.abs(sources[:, 1]) - 1), 0.0)

    def test_three_sensors(self):
        mixing = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.3], [0.5, 0.0, 1.0]])
        heard = make_mixed_sources(10, mixing=mixing, rng=0)
        assert heard.names == ("x1", "x2", "x3")
