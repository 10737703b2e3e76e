"""States whose runs last: against all paths, of which those with a shorter run are left out."""

from itertools import groupby, product

import numpy as np
import pytest

from posteriori.inference.state_chains.hidden_markov import forward_backward
from posteriori.inference.state_chains.long_runs import smooth_long_runs


def by_paths(initial, transition, scores, least):
    """Add up all paths whose runs, but for the first and the last, have so many rows."""
    total = np.zeros(scores.shape)
    steps = np.arange(len(scores))
    for path in product(range(len(initial)), repeat=len(scores)):
        runs = [len(list(run)) for _, run in groupby(path)]
        if all(run >= least for run in runs[1:-1]):
            z = np.array(path)
            weight = initial[z[0]] * transition[z[:-1], z[1:]].prod()
            total[steps, z] += weight * np.exp(scores[steps, z].sum())
    return total / total.sum(axis=1, keepdims=True), np.log(total[0].sum())


@pytest.mark.parametrize("least", [1, 2, 3, 9])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_all_paths_add_up(count, least):
    rng = np.random.default_rng(count)
    initial = rng.dirichlet(np.ones(count))
    transition = rng.dirichlet(np.ones(count), size=count)
    scores = rng.normal(scale=2.0, size=(7, count))
    scores[3] = 0.0  # a gap
    found = smooth_long_runs(initial, transition, scores, least, np.array([7]))
    shares, log_joint = by_paths(initial, transition, scores, least)
    np.testing.assert_allclose(found.probabilities, shares, atol=1e-12)
    np.testing.assert_allclose(found.log_joint, [log_joint], rtol=1e-12)


def test_every_series_is_taken_by_itself():
    rng = np.random.default_rng(4)
    initial, transition = np.full(2, 0.5), np.array([[0.8, 0.2], [0.4, 0.6]])
    scores = rng.normal(size=(12, 2))
    both = smooth_long_runs(initial, transition, scores, 3, np.array([5, 7]))
    parts = [by_paths(initial, transition, part, 3) for part in (scores[:5], scores[5:])]
    shares, log_joint = zip(*parts, strict=True)
    np.testing.assert_allclose(both.probabilities, np.concatenate(shares), atol=1e-12)
    np.testing.assert_allclose(both.log_joint, log_joint, rtol=1e-12)


def test_runs_of_one_row_are_those_of_the_chain():
    rng = np.random.default_rng(5)
    initial, transition = np.full(3, 1 / 3), rng.dirichlet(np.ones(3), size=3)
    scores = rng.normal(size=(40, 3))
    usual = forward_backward(np.log(initial), np.log(transition), scores).probabilities
    found = smooth_long_runs(initial, transition, scores, 1, np.array([40]))
    np.testing.assert_allclose(found.probabilities, usual, atol=1e-12)
