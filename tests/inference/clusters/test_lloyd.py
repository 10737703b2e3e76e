"""Lloyd's iterations against loops: bounds, gaps, weights, offsets, threads, empty clusters."""

import numpy as np
import pytest

from posteriori.inference.clusters import cluster_rows
from posteriori.inference.clusters.cluster_rows import (
    Sweeps,
    column_moments,
    distances_to,
    make_rows,
    nearest_labels,
    objective,
)
from posteriori.inference.clusters.lloyd import descend
from tests.inference.clusters import slow_clusters as slow


def rows_with_gaps(rng, n, d, gaps):
    x = rng.normal(size=(n, d)) + 3.0 * rng.integers(0, 3, size=(n, 1))
    x[rng.random(x.shape) < gaps] = np.nan
    return x[~np.isnan(x).all(axis=1)]


@pytest.mark.topic("000/I2", "002/M1")
@pytest.mark.parametrize("gaps", [0.0, 0.25])
@pytest.mark.parametrize(("d", "k"), [(1, 2), (2, 5), (5, 4), (9, 7)])
def test_every_iteration_is_that_of_loops_over_all_distances(d, k, gaps):
    rng = np.random.default_rng(10 * d + k)
    x = rows_with_gaps(rng, 300, d, gaps)
    w = rng.random(len(x)) * (rng.random(len(x)) < 0.9)
    start = np.nan_to_num(x[:k]) + 0.1 * rng.normal(size=(k, d))
    for steps in (1, 2, 5, 100):
        found = descend(make_rows(x, w, gappy=gaps > 0), start, max_iter=steps)
        centers, labels = slow.lloyd(x, w, start, steps)
        np.testing.assert_allclose(found.centers, centers, atol=1e-12)
        np.testing.assert_array_equal(found.labels, labels)
        assert found.inertia == pytest.approx(slow.cost(x, w, centers, labels), rel=1e-12)
    assert found.converged


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_rows_in_several_threads_are_the_same_rows(monkeypatch, gaps):
    monkeypatch.setattr(cluster_rows, "_WORTH_THREADS", 1)
    monkeypatch.setattr(cluster_rows, "thread_count", lambda: 3)
    rng = np.random.default_rng(0)
    x = rows_with_gaps(rng, 400, 3, gaps)
    start = np.nan_to_num(x[:6])
    found = descend(make_rows(x, gappy=gaps > 0), start)
    centers, labels = slow.lloyd(x, np.ones(len(x)), start, 300)
    np.testing.assert_allclose(found.centers, centers, atol=1e-12)
    np.testing.assert_array_equal(found.labels, labels)
    assert found.inertia == pytest.approx(slow.cost(x, np.ones(len(x)), centers, labels), rel=1e-12)


def test_an_offset_of_1e8_changes_nothing():
    rng = np.random.default_rng(1)
    x = np.round(rng.normal(size=(500, 3)), 6)
    near, far = (descend(make_rows(x + o), x[:5] + o) for o in (0.0, 1e8))
    np.testing.assert_array_equal(near.labels, far.labels)
    assert far.inertia == pytest.approx(near.inertia, rel=1e-6)  # of numbers with 8 digits less


def test_clusters_far_apart_keep_what_is_near():
    """Products of coordinates of size 1e8 cannot tell distances of size 1 apart; differences can."""
    rng = np.random.default_rng(2)
    places = np.array([[-1e8, 0.0], [-1e8, 4.0], [1e8, 0.0], [1e8, 4.0]])
    x = np.repeat(places, 50, axis=0) + 0.2 * rng.normal(size=(200, 2))
    found = descend(make_rows(x), places)
    np.testing.assert_array_equal(found.labels, np.repeat(np.arange(4), 50))


def test_bounds_leave_out_rows_and_no_answer():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2000, 2))
    sweeps = Sweeps(make_rows(x), 20)
    centers = x[:20].copy()
    for _ in range(30):
        sweeps.assign(centers - sweeps.rows.shift)
        np.testing.assert_array_equal(sweeps.labels, slow.squares(x, centers).argmin(axis=1))
        distances = np.sort(np.sqrt(slow.squares(x, centers)), axis=1)
        assert (sweeps.gap <= distances[:, 1] - distances[:, 0] + 1e-12).all()
        centers = centers + 0.02 * rng.normal(size=centers.shape)
    assert (sweeps.gap > 0).mean() > 0.5


@pytest.mark.parametrize("absolute", [False, True])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_no_half_step_raises_the_objective(gaps, absolute):
    rng = np.random.default_rng(4)
    for _ in range(10):
        x = rows_with_gaps(rng, 80, 3, gaps)
        rows = make_rows(x, rng.random(len(x)), gappy=gaps > 0, absolute=absolute)
        found = descend(rows, np.nan_to_num(x[:6]), keep_path=True)
        steps = [step.inertia for step in found.path]
        assert len(steps) > 2
        assert (np.diff(steps) <= 1e-10 * steps[0]).all()
        assert steps[-1] == pytest.approx(found.inertia, rel=1e-12)


def test_an_empty_cluster_takes_the_farthest_row():
    x = np.array([[0.0], [1.0], [2.0], [10.0]])
    start = np.array([[1.0], [99.0], [98.0]])  # all rows go to the first
    found = descend(make_rows(x), start, keep_path=True)
    np.testing.assert_array_equal(found.path[0].labels, 0)
    # Of the mean 3.25 the row 10 is farthest; beside that, 0 (3.25²).
    np.testing.assert_allclose(found.path[1].centers.ravel(), [3.25, 10.0, 0.0])
    assert found.inertia == pytest.approx(0.5)


def test_medians_are_those_of_repeated_rows():
    rng = np.random.default_rng(5)
    x = rows_with_gaps(rng, 60, 2, 0.2)
    times = rng.integers(0, 4, size=len(x))
    centers = np.nan_to_num(x[:3])
    found = descend(make_rows(x, times * 1.0, gappy=True, absolute=True), centers)
    again = descend(make_rows(np.repeat(x, times, axis=0), gappy=True, absolute=True), centers)
    np.testing.assert_allclose(found.centers, again.centers, atol=1e-12)
    assert found.inertia == pytest.approx(again.inertia)
    tenths = descend(make_rows(x, 0.1 * times, gappy=True, absolute=True), centers)
    np.testing.assert_allclose(found.centers, tenths.centers, atol=1e-12)
    labels = found.labels[times > 0]
    for k in range(3):
        members = np.repeat(x[times > 0][labels == k], times[times > 0][labels == k], axis=0)
        np.testing.assert_allclose(found.centers[k], np.nanmedian(members, axis=0), atol=1e-12)


def test_distances_and_labels_of_new_rows():
    rng = np.random.default_rng(6)
    x, centers = rows_with_gaps(rng, 100, 4, 0.2), rng.normal(size=(5, 4))
    expected = np.nansum(np.abs(x[:, None] - centers), axis=2)
    np.testing.assert_allclose(distances_to(x, centers, absolute=True), expected)
    np.testing.assert_allclose(distances_to(x, centers) ** 2, slow.squares(x, centers))
    labels = nearest_labels(x, centers, gappy=True, absolute=True)
    np.testing.assert_array_equal(labels, expected.argmin(axis=1))
    assert objective(make_rows(x, gappy=True, absolute=True), centers, labels) == pytest.approx(
        expected.min(axis=1).sum()
    )


def test_moments_of_columns_with_gaps():
    rng = np.random.default_rng(7)
    x = rows_with_gaps(rng, 50, 3, 0.3) + 1e6
    mean, variance = column_moments(x, np.empty(0))
    np.testing.assert_allclose(mean, np.nanmean(x, axis=0), rtol=1e-13)
    np.testing.assert_allclose(variance, np.nanvar(x, axis=0), rtol=1e-8)
