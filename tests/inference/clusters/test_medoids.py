"""Medoids against enumeration and against swaps tried one by one."""

import numpy as np
import pytest

from posteriori.inference import count_partitions
from posteriori.inference.clusters.medoids import find_medoids
from tests.inference.clusters import slow_clusters as slow


def distances_of(rng, n, asymmetric=False):
    d = rng.random((n, n)) if asymmetric else None
    if d is None:
        x = rng.normal(size=(n, 2))
        d = np.abs(x[:, None] - x).sum(axis=2)
    np.fill_diagonal(d, 0.0)
    return d


@pytest.mark.topic("000/I4")
@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_no_swap_lowers_the_sum_of_dissimilarities(k, asymmetric):
    rng = np.random.default_rng(k)
    reached = []
    for _ in range(20):
        d, w = distances_of(rng, 12, asymmetric), rng.integers(0, 3, size=12) * 1.0
        w[:6] += 1.0  # at least six rows count
        found = find_medoids(d, k, weight=w)
        inside = [i for i in range(12) if w[i] > 0]
        part, wi = d[np.ix_(inside, inside)], w[inside]
        medoids = [inside.index(m) for m in found.medoids]
        assert found.converged
        assert len(set(medoids)) == k
        assert found.inertia == pytest.approx(slow.medoid_cost(part, wi, medoids))
        np.testing.assert_allclose(
            d[np.arange(12), found.medoids[found.labels]], d[:, found.medoids].min(axis=1)
        )
        if len(inside) > k:
            assert slow.best_swap(part, wi, medoids) >= found.inertia * (1 - 1e-9)
        reached.append(found.inertia <= slow.best_medoids(part, wi, k) * (1 + 1e-9))
    assert np.mean(reached) >= 0.6  # swaps end in local minima, seldom
    if k == 1:
        assert all(reached)


def test_clusters_far_apart_have_their_best_medoids():
    rng = np.random.default_rng(0)
    x = np.repeat([0.0, 50.0, 90.0], 5) + rng.normal(size=15)
    d = np.abs(x[:, None] - x)
    found = find_medoids(d, 3)
    assert found.inertia == pytest.approx(slow.best_medoids(d, np.ones(15), 3))


def test_too_few_rounds_are_said_to_be():
    d = distances_of(np.random.default_rng(3), 60)
    assert find_medoids(d, 8).converged
    assert not find_medoids(d, 8, max_iter=1).converged


@pytest.mark.topic("002/M2")
def test_partitions_are_counted_as_they_are_listed():
    for n in range(1, 8):
        for k in range(1, n + 1):
            assert count_partitions(n, k) == sum(1 for _ in slow.partitions(n, k))
    assert count_partitions(0, 0) == 1
    assert count_partitions(3, 0) == count_partitions(3, 4) == 0


@pytest.mark.topic("002/M2")
def test_a_hundred_points_have_too_many_partitions_to_compare():
    found = count_partitions(100, 5)
    assert isinstance(found, int)
    assert found / 1e67 == pytest.approx(6.5738, abs=5e-5)
    # S(n, k) = k S(n − 1, k) + S(n − 1, k − 1), exactly
    assert found == 5 * count_partitions(99, 5) + count_partitions(99, 4)


@pytest.mark.parametrize(("n", "k"), [(-1, 2), (3, -1), (2.5, 1), (3, True), ("3", 1)])
def test_only_whole_numbers_are_counted(n, k):
    with pytest.raises(ValueError, match=r"must be a whole number >= 0, got"):
        count_partitions(n, k)
