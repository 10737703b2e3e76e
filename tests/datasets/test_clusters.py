"""Generated clusters are distributed as their stated truth."""

import itertools

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from posteriori.datasets import (
    make_blobs_unequal,
    make_contaminated_normal,
    make_elongated,
    make_mouse,
    make_rings,
)
from tests.datasets.sample_checks import (
    MANY,
    assert_mean,
    assert_mixture,
    assert_normal,
    assert_shares,
    is_separable,
)


class TestClusters:
    @pytest.mark.parametrize("maker", [make_blobs_unequal, make_elongated])
    def test_components_have_the_stated_moments(self, maker):
        assert_mixture(maker(MANY, rng=0))

    @pytest.mark.parametrize("maker", [make_blobs_unequal, make_elongated, make_mouse])
    def test_a_mixture_finds_what_k_means_does_not(self, maker):
        table = maker(rng=0)
        n_clusters = len(table.classes)
        hard = KMeans(n_clusters, n_init=3, random_state=0).fit_predict(table.X)
        soft = GaussianMixture(n_clusters, n_init=3, random_state=0).fit_predict(table.X)
        by_means, by_mixture = (adjusted_rand_score(table.y, found) for found in (hard, soft))
        assert by_mixture > 0.9
        assert by_means < by_mixture - 0.1

    def test_the_mouse_is_three_even_discs(self):
        mouse = make_mouse(MANY, rng=0)
        truth = mouse.truth
        assert_shares(mouse.y, [0.6, 0.2, 0.2])
        for k, (center, radius) in enumerate(zip(truth["centers"], truth["radii"], strict=True)):
            offset = mouse.X[mouse.y == k] - center
            assert_mean(offset, [0.0, 0.0])
            assert_mean(offset**2, radius**2 / 4)
            distance = np.hypot(*offset.T)
            assert distance.max() <= radius + 1e-12
            assert_mean(distance < radius / 2, 0.25)
        for a, b in itertools.combinations(range(3), 2):
            gap = np.linalg.norm(truth["centers"][a] - truth["centers"][b])
            assert gap > truth["radii"][a] + truth["radii"][b]

    def test_rings_have_the_stated_radii(self):
        rings = make_rings(MANY, radii=[2.0, 5.0, 9.0], noise_variance=0.01, rng=0)
        assert_shares(rings.y, np.full(3, 1 / 3))
        distance = np.hypot(*rings.X.T)
        assert_normal((distance - rings.truth["radii"][rings.y])[:, None], 0.0, np.array([[0.01]]))
        assert_mean(rings.X / distance[:, None], [0.0, 0.0])
        assert_mean(rings.X[:, 0] * rings.X[:, 1] / distance**2, 0.0)

    def test_no_line_separates_rings(self):
        assert not is_separable(make_rings(rng=0))

    def test_contaminated_normal_has_a_bulk_and_a_tail(self):
        data = make_contaminated_normal(
            MANY, n_outliers=MANY, mean=3.0, variance=4.0, shift=50.0, rng=0
        )
        outlier = data.truth["outlier"]
        assert outlier.tolist() == [False] * MANY + [True] * MANY
        assert_normal(data.data[~outlier], np.array([3.0]), np.array([[4.0]]))
        assert_normal(data.data[outlier], np.array([53.0]), np.array([[4.0]]))
