"""Sequences of different lengths, one after another: as if each were asked for alone."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.inference import forward_backward, impossible_steps, most_likely_path, sample_path
from tests.inference.oracles import enumerate_paths
from tests.inference.state_chains.test_hidden_markov import log


def ragged_model(rng, lengths, n_states, *, varying=False, zeros=0.0):
    n_rows = sum(lengths)
    transition = rng.dirichlet(np.ones(n_states), (*((n_rows,) if varying else ()), n_states))
    transition[rng.random(transition.shape) < zeros] = 0.0
    initial = rng.dirichlet(np.ones(n_states))
    return log(initial), log(transition), 2.0 * rng.normal(size=(n_rows, n_states))


def alone(model, lengths):
    """Each sequence with its own arguments: a row's transition is the one that arrives there."""
    initial, transition, likelihood = model
    for end, n in zip(np.cumsum(lengths), lengths, strict=True):
        rows = slice(end - n, end)
        moves = transition[rows][1:] if transition.ndim == 3 else transition
        yield rows, (initial, moves, likelihood[rows])


@pytest.mark.parametrize("zeros", [0.0, 0.25])
@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize("lengths", [[1], [3, 1, 4], [1, 1], [2, 5, 2, 1]])
def test_each_sequence_equals_the_sum_over_its_paths(engine, lengths, varying, zeros):
    rng = np.random.default_rng(sum(lengths))
    model = ragged_model(rng, lengths, 3, varying=varying, zeros=zeros)
    weights = rng.uniform(0.5, 3.0, len(lengths))
    post = forward_backward(*model, lengths=lengths, weights=weights)
    kept = forward_backward(*model, lengths=lengths, weights=weights, pairs=True)
    best = most_likely_path(*model, lengths=lengths)
    sums = np.zeros((3, 3))
    for s, (rows, one) in enumerate(alone(model, lengths)):
        paths = enumerate_paths(*one)
        np.testing.assert_allclose(post.probabilities[rows], paths.probabilities, atol=1e-12)
        np.testing.assert_allclose(post.log_evidence[s], paths.log_evidence, rtol=1e-12)
        np.testing.assert_allclose(best.log_joint[s], paths.log_best, rtol=1e-12)
        np.testing.assert_array_equal(best.states[rows], paths.best)
        np.testing.assert_array_equal(kept.pair_probabilities[rows][0], 0.0)
        np.testing.assert_allclose(kept.pair_probabilities[rows][1:], paths.pairs, atol=1e-12)
        sums += weights[s] * paths.pairs.sum(axis=0)
    np.testing.assert_allclose(post.pair_sums, sums, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(kept.pair_sums, sums, rtol=1e-11, atol=1e-12)


@given(seed=st.integers(0, 10**6), lengths=st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_whole_weights_are_repeated_sequences(seed, lengths):
    rng = np.random.default_rng(seed)
    model = ragged_model(rng, lengths, 2)
    weights = rng.integers(0, 3, len(lengths))
    post = forward_backward(*model, lengths=lengths, weights=weights)
    sums = [forward_backward(*one).pair_sums for _, one in alone(model, lengths)]
    expected = sum(w * pairs for w, pairs in zip(weights, sums, strict=True))
    np.testing.assert_allclose(post.pair_sums, expected, rtol=1e-11, atol=1e-13)


def test_log_space_gives_the_same_answers_as_each_sequence_alone(engine):
    """A state 5000 below the others that only it can leave: scaling cannot hold it."""
    likelihood = np.array([[0, -5000], [-1e6, 0], [0, 3], [1, 0], [0, 0], [0, -1.0]])
    model = log([0.5, 0.5]), log(np.eye(2)), likelihood
    post = forward_backward(*model, lengths=[3, 3], weights=[2.0, 5.0])
    draws = sample_path(*model, 4, lengths=[3, 3], rng=0)
    np.testing.assert_array_equal(draws[:, :3], 1)
    sums = np.zeros((2, 2))
    for (rows, one), weight in zip(alone(model, [3, 3]), [2.0, 5.0], strict=True):
        paths = enumerate_paths(*one)
        np.testing.assert_allclose(post.probabilities[rows], paths.probabilities, rtol=1e-12)
        sums += weight * paths.pairs.sum(axis=0)
    np.testing.assert_allclose(post.pair_sums, sums, rtol=1e-12)


def test_equal_lengths_are_a_batch(engine):
    rng = np.random.default_rng(0)
    initial, transition, likelihood = ragged_model(rng, [4] * 20, 3)
    flat = forward_backward(initial, transition, likelihood, lengths=[4] * 20)
    batch = forward_backward(initial, transition, likelihood.reshape(20, 4, 3))
    np.testing.assert_allclose(flat.probabilities.reshape(20, 4, 3), batch.probabilities)
    np.testing.assert_allclose(flat.log_evidence, batch.log_evidence, rtol=1e-13)
    np.testing.assert_allclose(flat.pair_sums, batch.pair_sums.sum(axis=0), rtol=1e-13)


def test_draws_have_the_probabilities_of_their_sequence(engine):
    lengths, count = [2, 1, 3], 4000
    model = ragged_model(np.random.default_rng(3), lengths, 2, varying=True)
    draws = sample_path(*model, count, lengths=lengths, rng=1)
    assert draws.shape == (count, 6)
    expected = forward_backward(*model, lengths=lengths, pairs=True)
    shares = (draws == 1).mean(axis=0)
    error = np.sqrt(expected.probabilities.prod(axis=1) / count)
    assert np.all(np.abs(shares - expected.probabilities[:, 1]) < 5 * error + 1e-12)
    both = (draws[:, 3] * draws[:, 4]).mean()
    chance = expected.pair_probabilities[4, 1, 1]
    assert abs(both - chance) < 5 * np.sqrt(chance * (1 - chance) / count)


@pytest.mark.parametrize("varying", [False, True])
def test_the_impossible_sequence_and_its_step_are_named(engine, varying):
    likelihood = np.zeros((9, 2))
    likelihood[3, 0] = likelihood[6, 1] = -np.inf  # sequence 1 has the rows 2 … 6
    moves = log(np.tile(np.eye(2), (9, 1, 1)) if varying else np.eye(2))
    model = np.zeros(2), moves, likelihood
    np.testing.assert_array_equal(impossible_steps(*model, lengths=[2, 5, 2]), [-1, 4, -1])
    for method in (forward_backward, most_likely_path, sample_path):
        with pytest.raises(ValueError, match="time step 4 of sequence 1 given"):
            method(*model, lengths=[2, 5, 2])


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([2, 2], "must add up to the 5 rows, they add up to 4"),
        ([5, 0], "must be at least 1, got 0 for sequence 1"),
        ([6, -1], "must be at least 1, got -1 for sequence 1"),
        ([2.5, 2.5], "must be whole numbers"),
        ([], "must be whole numbers"),
        ([[5]], "must be whole numbers"),
    ],
)
def test_bad_lengths_are_named(lengths, message):
    with pytest.raises(ValueError, match=message):
        forward_backward(np.zeros(2), np.zeros((2, 2)), np.zeros((5, 2)), lengths=lengths)


def test_bad_weights_and_shapes_are_named():
    model = np.zeros(2), np.zeros((2, 2)), np.zeros((5, 2))
    with pytest.raises(ValueError, match="give their lengths"):
        forward_backward(*model, weights=[1.0])
    with pytest.raises(ValueError, match=r"weights must have shape \(2,\)"):
        forward_backward(*model, lengths=[2, 3], weights=[1.0])
    with pytest.raises(ValueError, match="weights"):
        forward_backward(*model, lengths=[2, 3], weights=[1.0, -1.0])
    with pytest.raises(ValueError, match=r"\(N, K\) where lengths are given"):
        forward_backward(*model[:2], np.zeros((1, 5, 2)), lengths=[5])
    with pytest.raises(ValueError, match=r"\(5, 2, 2\), got \(4, 2, 2\)"):
        forward_backward(np.zeros(2), np.zeros((4, 2, 2)), model[2], lengths=[2, 3])
