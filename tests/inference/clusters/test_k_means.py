"""Seeds, moves and the best of several descents."""

import numpy as np
import pytest

from posteriori.inference.clusters.bisection import cut_longest
from posteriori.inference.clusters.cluster_rows import make_rows
from posteriori.inference.clusters.distinct_rows import distinct_rows
from posteriori.inference.clusters.k_means import find_clusters
from posteriori.inference.clusters.rough_clusters import nearest_of, rough_centers
from posteriori.inference.clusters.seeding import random_centers, seed_centers, spread_centers
from tests.inference.clusters import slow_clusters as slow


def rng_of(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.topic("000/I2", "002/M1")
@pytest.mark.parametrize("seed", range(6))
def test_no_partition_of_a_few_rows_is_better(seed):
    rng = rng_of(seed)
    x, w = rng.normal(size=(8, 2)), rng.integers(1, 4, size=8) * 1.0
    found = find_clusters(make_rows(x, w), 3, rng_of(), n_init=5)
    assert found.inertia == pytest.approx(slow.best_partition(x, w, 3), rel=1e-12)


def grid(seed=0):
    places = 6.0 * np.stack(np.meshgrid(np.arange(10), np.arange(10)), -1).reshape(-1, 2)
    return np.repeat(places, 40, axis=0) + rng_of(seed).normal(size=(4000, 2))


def test_moves_find_a_hundred_clusters_from_any_start():
    x = grid()
    rows = make_rows(x)
    truth = slow.lloyd(x, np.ones(4000), slow.means(x, np.ones(4000), np.repeat(np.arange(100), 40), 100), 50)  # fmt: skip
    best = slow.cost(x, np.ones(4000), *truth)
    plain = [find_clusters(rows, 100, rng_of(s), split_merge=False).inertia for s in range(4)]
    moved = [find_clusters(rows, 100, rng_of(s)).inertia for s in range(4)]
    assert max(plain) > 1.05 * best
    assert max(moved) < 1.001 * best


@pytest.mark.slow
def test_moves_end_within_a_thousandth_over_twenty_seeds():
    rows = make_rows(grid())
    moved = [find_clusters(rows, 100, rng_of(s)).inertia for s in range(20)]
    assert max(moved) < 1.001 * min(moved)


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_moves_only_lower_the_objective(gaps):
    rng = rng_of(1)
    x = rng.normal(size=(300, 2))
    x[rng.random(300) < gaps, 0] = np.nan
    rows = make_rows(x, rng.random(300), gappy=gaps > 0)
    plain = find_clusters(rows, 12, rng_of(2), split_merge=False)
    moved = find_clusters(rows, 12, rng_of(2), keep_path=True)
    steps = [step.inertia for step in moved.path]
    assert moved.inertia <= plain.inertia
    assert "move" in {step.kind for step in moved.path}
    assert (np.diff(steps) <= 1e-10 * steps[0]).all()


def test_many_rows_are_searched_by_a_sample():
    x = np.repeat(6.0 * np.arange(30)[:, None], 1000, axis=0) + rng_of(3).normal(size=(30_000, 1))
    found = find_clusters(make_rows(x), 30, rng_of(4))
    np.testing.assert_allclose(np.sort(found.centers.ravel()), 6.0 * np.arange(30), atol=0.3)
    assert found.labels.shape == (30_000,)
    again = find_clusters(make_rows(x[::-1].copy()), 30, rng_of(4))
    np.testing.assert_allclose(found.centers, again.centers, atol=1e-9)


@pytest.mark.parametrize("most", [1000, 40])
def test_distinct_rows_know_neither_order_nor_copies(most):
    rng = rng_of(5)
    x = rng.integers(0, 9, size=(100, 2)) * 1.0
    x[rng.random(x.shape) < 0.1] = np.nan
    x[x == 0] *= rng.choice([-1.0, 1.0], size=(x == 0).sum())  # −0 is 0
    times = rng.integers(0, 4, size=100)
    repeated = np.repeat(x, times, axis=0)
    mixed = repeated[rng.permutation(len(repeated))]
    weighed = distinct_rows(x, times * 1.0, most, rng_of(6))
    copied = distinct_rows(mixed, None, most, rng_of(6))
    np.testing.assert_array_equal(weighed.rows, copied.rows)
    np.testing.assert_allclose(weighed.weight, copied.weight)
    np.testing.assert_array_equal(mixed[copied.first], copied.rows)
    keys = {tuple(row) for row in np.nan_to_num(repeated, nan=77.0)}
    assert len(weighed.rows) == min(most, len(keys))
    for row, weight in zip(weighed.rows, weighed.weight, strict=True):
        same = ((repeated == row) | (np.isnan(repeated) & np.isnan(row))).all(axis=1)
        assert weight == same.sum()


def test_a_sample_takes_every_row_equally_often():
    x = np.arange(200.0)[:, None]
    taken = np.zeros(200)
    for seed in range(300):
        taken[distinct_rows(x, None, 50, rng_of(seed)).first] += 1
    # Each is in with probability ¼: five standard errors of 300 draws, for all of 200 rows.
    assert (np.abs(taken / 300 - 0.25) < 5 * np.sqrt(0.25 * 0.75 / 300)).all()
    assert taken.sum() == 300 * 50


@pytest.mark.parametrize("start", [spread_centers, random_centers])
def test_starts_are_distinct_rows(start):
    x = np.array([[0.0], [0.0], [1e-12], [1.0], [5.0]]) + 1e3
    for seed in range(20):
        centers = start(distinct_rows(x, None, 10, rng_of()), 4, rng_of(seed))
        np.testing.assert_array_equal(np.unique(centers), np.unique(x))


def test_seeds_lie_far_apart():
    x = np.concatenate([rng_of(7).normal(size=(500, 2)), [[100.0, 0.0]]])
    assert all((seed_centers(x, 2, None, rng_of(s)) > 50).any() for s in range(10))


def test_fewer_distinct_rows_are_repeated_as_seeds():
    centers = seed_centers(np.array([[1.0], [1.0], [2.0]]), 4, None, rng_of())
    assert centers.shape == (4, 1)
    assert set(centers.ravel()) == {1.0, 2.0}


def test_gaps_of_seeds_lie_at_the_mean():
    x = np.array([[0.0, np.nan], [4.0, 2.0], [np.nan, 6.0]])
    found = {tuple(c) for c in seed_centers(x, 3, None, rng_of())}
    assert found == {(0.0, 4.0), (4.0, 2.0), (2.0, 6.0)}


def test_rough_centers_are_steps_of_lloyd():
    rng = rng_of(8)
    x, w = rng.normal(size=(200, 3)) + 1e6, rng.random(200)
    centers = rough_centers(x, 4, w, rng_of(9), steps=3)
    expected, labels = slow.lloyd(x, w, seed_centers(x, 4, w, rng_of(9)), 3)
    np.testing.assert_allclose(centers, expected, rtol=1e-13)
    np.testing.assert_array_equal(nearest_of(x, centers), labels)


@pytest.mark.parametrize("d", [3, 60])
def test_the_cut_across_the_longest_axis_is_the_best_of_all_cuts(d):
    rng = rng_of(10)
    z, w = rng.normal(size=(40, d)) * np.r_[99.0, np.ones(d - 1)], rng.random(40)
    cut = cut_longest(z, w)
    mean = w @ z / w.sum()
    axis = np.linalg.eigh(np.cov(z.T, aweights=w))[1][:, -1]
    along = (z - mean) @ axis
    costs = []
    for edge in np.sort(along)[:-1]:
        sides = along <= edge, along > edge
        costs.append(
            sum(w[s] @ (along[s] - np.average(along[s], weights=w[s])) ** 2 for s in sides)
        )
    assert cut.within == pytest.approx(min(costs))
    assert cut.variance == pytest.approx(w @ along**2)
    share = w[cut.leaves].sum() / w.sum()
    assert cut.share == pytest.approx(share)
