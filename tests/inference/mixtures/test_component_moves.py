"""Moves out of local maxima: from two components in one cluster and one over two others."""

from functools import partial

import numpy as np
import pytest

from posteriori.inference.mixtures.component_moves import longest_halves
from posteriori.inference.mixtures.mixture_rows import CompleteRows, GappyRows
from posteriori.inference.mixtures.normal_learning import PointLearner, ascend_normals, look_from
from posteriori.inference.mixtures.normal_starts import NormalSearch, best_ascent

CENTRES = np.array([[0.0, 0.0], [12.0, 0.0], [12.0, 9.0], [0.0, 9.0]])


def rows_and_labels(gaps=False):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 40)
    x = CENTRES[labels] + rng.normal(size=(160, 2))
    if gaps:
        x[rng.random(x.shape) < 0.05] = np.nan
    return x, labels


def bad_shares(labels):
    """Cluster 0 is halved at random, and one component covers clusters 2 and 3."""
    bad = np.where(labels == 3, 2, labels)
    bad[np.flatnonzero(labels == 0)[::2]] = 3
    return (bad == np.arange(4)[:, None]) * 1.0


@pytest.mark.parametrize("kind", ["full", "diagonal", "spherical", "shared"])
@pytest.mark.parametrize("gaps", [False, True])
def test_a_bad_start_is_left_by_moves_only(kind, gaps):
    x, labels = rows_and_labels(gaps)
    rows = (GappyRows if gaps else CompleteRows).of(x, None, kind)
    learner = PointLearner(kind, rows.spread, None, {})

    ascend = partial(ascend_normals, tol=1e-4, max_iter=500)

    def end(shares, moves):
        search = NormalSearch(4, 1, moves, False, False, False, rows.expected_sums(shares), ascend)
        return best_ascent(learner, rows, search, np.random.default_rng(0), lambda s: True)

    best = end((labels == np.arange(4)[:, None]) * 1.0, False).trace[-1]
    stuck = end(bad_shares(labels), False).trace[-1]
    moved = end(bad_shares(labels), True)
    assert stuck < best - 20.0
    assert moved.trace[-1] == pytest.approx(best, abs=0.01)
    assert np.all(np.diff(moved.trace[-3:]) >= -1e-8)


def test_two_components_are_cut_anew_where_both_lie_across():
    """Two long clusters that mirror each other, cut left from right: mirrored shares stay mirrored."""
    quarter = np.abs(np.random.default_rng(0).normal(size=(50, 2)) * [6.0, 0.3])
    quarter[:, 1] += 8.0
    x = np.concatenate([quarter * sign for sign in ([1, 1], [-1, 1], [1, -1], [-1, -1])])
    rows = CompleteRows.of(x, None, "spherical")
    learner = PointLearner("spherical", rows.spread, None, {})
    across = (x[:, 0] > 0) == np.array([[False], [True]])
    along = (x[:, 1] > 0) == np.array([[False], [True]])
    ascend = partial(ascend_normals, tol=1e-4, max_iter=500)

    def end(shares, moves):
        start = rows.expected_sums(shares * 1.0)
        search = NormalSearch(2, 1, moves, False, False, True, start, ascend)
        return best_ascent(learner, rows, search, np.random.default_rng(0), lambda s: True)

    best = end(along, False).trace[-1]
    assert end(across, False).trace[-1] < best - 20.0
    assert end(across, True).trace[-1] == pytest.approx(best, abs=0.01)


def test_halves_are_where_a_cluster_parts():
    x, labels = rows_and_labels()
    both = ((labels == 0) | (labels == 1)) * 1.0
    one = (labels == 2) * 1.0
    two, single = longest_halves(x, np.stack([both, one]))
    assert two.gain > 20.0
    assert single.gain < 0.0
    leaving = two.leaves[labels <= 1]
    assert set(leaving[:40]) == {not leaving[40]}
    assert set(leaving[40:]) == {leaving[40]}


def test_an_objective_is_that_of_its_parameters():
    x, labels = rows_and_labels()
    rows = CompleteRows.of(x, None, "full")
    learner = PointLearner("full", rows.spread, None, {})
    start = rows.expected_sums((labels == np.arange(4)[:, None]) * 1.0)
    value = look_from(learner, rows)(start).log_likelihood
    means = np.stack([x[labels == k].mean(axis=0) for k in range(4)])
    covs = np.stack([np.cov(x[labels == k].T, bias=True) for k in range(4)])
    shift = x[:, None] - means
    quad = np.einsum("nki,kij,nkj->nk", shift, np.linalg.inv(covs), shift)
    log_joint = np.log(0.25) - 0.5 * (quad + np.log(np.linalg.det(2 * np.pi * covs)))
    assert value == pytest.approx(np.logaddexp.reduce(log_joint, axis=1).sum(), abs=1e-8)
