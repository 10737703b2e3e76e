"""The n best paths and all the best, against a list of every path."""

from itertools import islice, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.inference import most_likely_path, most_likely_paths, optimal_paths
from tests.inference.state_chains.test_hidden_markov import log, random_model


def score_paths(initial, transition, likelihood):
    """All paths, last step first in order of their states, and their log joint probabilities."""
    n_steps, n_states = likelihood.shape
    paths = np.array(list(product(range(n_states), repeat=n_steps)))[:, ::-1]
    scores = initial[paths[:, 0]] + likelihood[np.arange(n_steps), paths].sum(axis=1)
    for t in range(1, n_steps):
        moves = transition if transition.ndim == 2 else transition[t - 1]
        scores = scores + moves[paths[:, t - 1], paths[:, t]]
    return paths, scores


@given(
    seed=st.integers(0, 10**6),
    n_steps=st.integers(1, 5),
    n_states=st.integers(1, 5),
    n=st.integers(1, 40),
    varying=st.booleans(),
    sparse=st.booleans(),
)
def test_the_n_best_of_all_paths(seed, n_steps, n_states, n, varying, sparse):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_steps, n_states, varying=varying, zeros=0.3 * sparse)
    paths, scores = score_paths(*model)
    order = np.argsort(-scores, kind="stable")[:n]
    order = order[scores[order] > -np.inf]
    if not len(order):
        with pytest.raises(ValueError, match="probability 0"):
            most_likely_paths(*model, n)
        return
    found = most_likely_paths(*model, n)
    np.testing.assert_allclose(found.log_joint, scores[order], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found.states, paths[order])


def test_both_engines_rank_alike(engine):
    model = random_model(np.random.default_rng(0), 6, 3, varying=True)
    paths, scores = score_paths(*model)
    order = np.argsort(-scores, kind="stable")[:9]
    found = most_likely_paths(*model, 9)
    np.testing.assert_array_equal(found.states, paths[order])
    np.testing.assert_allclose(found.log_joint, scores[order], rtol=1e-12)
    np.testing.assert_array_equal(found.states[0], most_likely_path(*model).states)


def small_whole_weights(rng, n_steps, n_states):
    """Sums of small whole numbers are exact, so that ties are."""
    draw = rng.integers
    return tuple(
        draw(-1, 1, shape).astype(float)
        for shape in ((n_states,), (n_states, n_states), (n_steps, n_states))
    )


@pytest.mark.topic("000/W10")
@given(seed=st.integers(0, 10**6), n_steps=st.integers(1, 5), n_states=st.integers(1, 4))
def test_all_optimal_paths_and_the_order_of_equals(seed, n_steps, n_states):
    model = small_whole_weights(np.random.default_rng(seed), n_steps, n_states)
    paths, scores = score_paths(*model)
    best = paths[scores == scores.max()]
    np.testing.assert_array_equal(list(optimal_paths(*model)), best)
    ranked = most_likely_paths(*model, len(best) + 1)
    np.testing.assert_array_equal(ranked.states[: len(best)], best)
    np.testing.assert_array_equal(ranked.log_joint[: len(best)], scores.max())


@pytest.mark.topic("000/W10")
def test_ties_that_rounding_parts_are_ties():
    """The order of two equal factors must not matter, though 0.1 + 0.7 + 0.2 rounds by the order."""
    transition = log([[0.6, 0.4], [0.4, 0.6]])
    likelihood = log([[0.3, 0.3], [0.1, 0.1], [0.7, 0.7]] * 20)
    model = log([0.5, 0.5]), transition, likelihood + 1e3 * np.random.default_rng(0).random((60, 1))
    found = list(optimal_paths(*model))
    np.testing.assert_array_equal(found, [[0] * 60, [1] * 60])


def test_paths_within_a_tolerance():
    model = log([0.5, 0.5]), log([[0.6, 0.4], [0.4, 0.6]]), np.zeros((3, 2))
    one_move = np.log(0.6 / 0.4)
    assert len(list(optimal_paths(*model))) == 2
    assert len(list(optimal_paths(*model, tolerance=one_move * 1.01))) == 2 + 4
    assert len(list(optimal_paths(*model, tolerance=one_move * 2.02))) == 8


def test_paths_come_one_by_one():
    """2^200 paths are equally good: the first come at once."""
    model = np.zeros(2), np.zeros((2, 2)), np.zeros((200, 2))
    first = list(islice(optimal_paths(*model), 3))
    np.testing.assert_array_equal(first[1], [1] + [0] * 199)
    np.testing.assert_array_equal(first[2], [0, 1] + [0] * 198)


def test_bad_arguments_are_named():
    model = np.zeros(2), np.zeros((2, 2)), np.zeros((3, 2))
    with pytest.raises(ValueError, match="n must be at least 1"):
        most_likely_paths(*model, 0)
    with pytest.raises(ValueError, match="one series"):
        most_likely_paths(*model[:2], np.zeros((2, 3, 2)), 1)
    with pytest.raises(ValueError, match="time step 1"):
        optimal_paths(*model[:2], log([[1, 1], [0, 0], [1, 1]]))
