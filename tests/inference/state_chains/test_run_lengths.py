"""Chains with explicit run lengths, against a sum over all segmentations."""

from itertools import groupby, pairwise, product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.inference import (
    filter_runs,
    forward_backward,
    most_likely_path,
    most_likely_runs,
    sample_runs,
    smooth_runs,
    step_runs,
)
from tests.inference.state_chains.test_hidden_markov import log


def random_runs(rng, n_rows, n_states, longest, *, zeros=0.0):
    """π, A with a zero diagonal, lengths (K, longest), and likelihoods, as logarithms."""
    transition = rng.dirichlet(np.ones(n_states), n_states)
    transition[np.eye(n_states, dtype=bool)] = 0.0
    durations = rng.dirichlet(np.ones(longest), n_states)
    durations[rng.random(durations.shape) < zeros] = 0.0
    initial = rng.dirichlet(np.ones(n_states))
    return log(initial), log(transition), log(durations), 2.0 * rng.normal(size=(n_rows, n_states))


def enumerate_segmentations(initial, transition, durations, likelihood):
    """Every path with its runs: weights, states (N,), whole runs and the cut one (state, length)."""
    n_rows, n_states = likelihood.shape
    longest = durations.shape[1]
    for path in product(range(n_states), repeat=n_rows):
        runs = [(state, len(list(rows))) for state, rows in groupby(path)]
        if max(length for _, length in runs) > longest:
            continue
        weight = np.exp(initial[path[0]] + likelihood[np.arange(n_rows), path].sum())
        for (j, length), (k, _) in pairwise(runs):
            weight *= np.exp(durations[j, length - 1] + transition[j, k])
        state, length = runs[-1]
        weight *= np.exp(durations[state, length - 1 :]).sum()
        yield weight, np.array(path), runs[:-1], runs[-1]


def expected_answers(model):
    n_rows, n_states = model[3].shape
    longest = model[2].shape[1]
    gamma, pairs = np.zeros((n_rows, n_states)), np.zeros((n_states, n_states))
    whole, cut, total, best = (
        np.zeros((n_states, longest)),
        np.zeros((n_states, longest)),
        0.0,
        None,
    )
    for weight, path, runs, last in enumerate_segmentations(*model):
        total += weight
        gamma[np.arange(n_rows), path] += weight
        for (j, length), (k, _) in zip(runs, [*runs, last][1:], strict=True):
            pairs[j, k] += weight
            whole[j, length - 1] += weight
        cut[last[0], last[1] - 1] += weight
        if best is None or weight > best[0]:
            best = weight, path
    return gamma / total, pairs / total, whole / total, cut / total, np.log(total), best


def assert_equals_enumeration(model):
    *sums, log_evidence, (best, path) = expected_answers(model)
    post = smooth_runs(*model)
    for found, expected in zip(post[:4], sums, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)
    np.testing.assert_allclose(post.log_evidence, log_evidence, rtol=1e-12, atol=1e-12)
    decoded = most_likely_runs(*model)
    np.testing.assert_array_equal(decoded.states, path)
    np.testing.assert_allclose(decoded.log_joint, np.log(best), rtol=1e-12, atol=1e-12)


@pytest.mark.topic("003/H.11")
@pytest.mark.parametrize(
    ("n_rows", "n_states", "longest"), [(1, 2, 3), (5, 3, 2), (6, 2, 4), (4, 3, 6), (7, 2, 1)]
)
def test_equals_the_sum_over_all_segmentations(engine, n_rows, n_states, longest):
    rng = np.random.default_rng(10 * n_rows + longest)
    assert_equals_enumeration(random_runs(rng, n_rows, n_states, longest))


@given(seed=st.integers(0, 10**6), n_rows=st.integers(1, 6), longest=st.integers(1, 5))
def test_any_lengths_equal_the_sum_over_all_segmentations(seed, n_rows, longest):
    model = random_runs(np.random.default_rng(seed), n_rows, 3, longest, zeros=0.4)
    if not any(weight > 0 for weight, *_ in enumerate_segmentations(*model)):
        with pytest.raises(ValueError, match="probability 0"):
            smooth_runs(*model)
    else:
        assert_equals_enumeration(model)


@pytest.mark.topic("003/H.11")
def test_geometric_lengths_are_the_plain_chain(engine):
    """p(d) = a^(d−1) (1 − a), with what lies beyond the data in the last entry."""
    rng = np.random.default_rng(0)
    transition = rng.dirichlet(np.ones(3), 3)
    stay, n_rows = transition.diagonal(), 40
    lengths = np.arange(n_rows + 1)
    durations = stay[:, None] ** lengths * (1 - stay[:, None])
    durations[:, -1] = stay**n_rows
    moves = transition / (1 - stay[:, None])
    np.fill_diagonal(moves, 0.0)
    likelihood = 2.0 * rng.normal(size=(n_rows, 3))
    model = log([0.2, 0.5, 0.3]), log(moves), log(durations), likelihood
    post = smooth_runs(*model)
    plain = forward_backward(log([0.2, 0.5, 0.3]), log(transition), likelihood)
    np.testing.assert_allclose(post.probabilities, plain.probabilities, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(post.log_evidence, plain.log_evidence, rtol=1e-12)
    off = ~np.eye(3, dtype=bool)
    np.testing.assert_allclose(post.pair_sums[off], plain.pair_sums[off], rtol=1e-9)
    path = most_likely_path(log([0.2, 0.5, 0.3]), log(transition), likelihood)
    np.testing.assert_array_equal(most_likely_runs(*model).states, path.states)
    assert (
        abs(1 / (1 - 0.9) - (np.arange(1, 10**4) * 0.9 ** np.arange(10**4 - 1) * 0.1).sum()) < 1e-9
    )


def test_sequences_of_different_lengths_and_weights(engine):
    rng = np.random.default_rng(1)
    lengths, weights = [4, 1, 6], [2.0, 0.5, 1.0]
    *parameters, likelihood = random_runs(rng, 11, 2, 3)
    post = smooth_runs(*parameters, likelihood, lengths=lengths, weights=weights)
    best = most_likely_runs(*parameters, likelihood, lengths=lengths)
    sums = [0.0, 0.0, 0.0]
    for s, (end, n) in enumerate(zip(np.cumsum(lengths), lengths, strict=True)):
        rows = slice(end - n, end)
        alone = smooth_runs(*parameters, likelihood[rows])
        np.testing.assert_allclose(post.probabilities[rows], alone.probabilities, rtol=1e-10)
        np.testing.assert_allclose(post.log_evidence[s], alone.log_evidence, rtol=1e-12)
        np.testing.assert_array_equal(
            best.states[rows], most_likely_runs(*parameters, likelihood[rows]).states
        )
        sums = [a + weights[s] * b for a, b in zip(sums, alone[1:4], strict=True)]
    for found, expected in zip(post[1:4], sums, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-13)


def test_draws_have_the_expected_states_and_lengths(engine):
    model = random_runs(np.random.default_rng(2), 6, 2, 3)
    count = 3000
    draws, post = sample_runs(*model, count, rng=0), smooth_runs(*model)
    assert draws.shape == (count, 6)
    gamma = post.probabilities[:, 1]
    error = np.sqrt(gamma * (1 - gamma) / count)
    assert np.all(np.abs(draws.mean(axis=0) - gamma) < 5 * error + 1e-9)
    moves = (draws[:, 1:] - draws[:, :-1] == 1).sum(axis=1)
    assert abs(moves.mean() - post.pair_sums[0, 1]) < 5 * moves.std() / np.sqrt(count)
    lasts = [next(len(list(rows)) for _, rows in groupby(path[::-1])) for path in draws]
    expected = post.cut_runs.sum(axis=0)
    error = np.sqrt(expected * (1 - expected) / count)
    assert np.all(np.abs(np.bincount(lasts, minlength=4)[1:] / count - expected) < 5 * error + 1e-9)


def test_the_filter_and_its_steps(engine):
    *parameters, likelihood = random_runs(np.random.default_rng(3), 9, 3, 4)
    whole = filter_runs(*parameters, likelihood)
    now = filter_runs(*parameters, likelihood[:2])
    for t in range(9):
        part = smooth_runs(*parameters, likelihood[: t + 1])
        np.testing.assert_allclose(whole.probabilities[t], part.probabilities[-1], rtol=1e-10)
        if t >= 2:
            now = step_runs(now, *parameters[1:], likelihood[t : t + 1])
            np.testing.assert_allclose(now.probabilities[0], whole.probabilities[t], rtol=1e-10)
            np.testing.assert_allclose(now.log_evidence, part.log_evidence, rtol=1e-12)


@pytest.mark.parametrize("low", [0.0, -1e4, -1e6])
def test_unlikely_rows_keep_their_digits(engine, low):
    *parameters, likelihood = random_runs(np.random.default_rng(4), 6, 2, 3)
    moved = smooth_runs(*parameters, likelihood + low)
    post = smooth_runs(*parameters, likelihood)
    rtol = 1e-10 + 4e-16 * 6 * abs(low)
    np.testing.assert_allclose(moved.probabilities, post.probabilities, rtol=rtol)
    np.testing.assert_allclose(moved.log_evidence, post.log_evidence + 6 * low, rtol=1e-12)


def test_long_chains_stay_exact(set_engine):
    """No drift: a run ends every third row for sure, whatever came before."""
    set_engine("compiled")
    n_rows = 30000
    likelihood = np.tile([0.0, -3.0], (n_rows, 1)) - 50.0
    model = log([0.5, 0.5]), log([[0, 1], [1, 0]]), log([[0, 0, 1], [0, 0, 1]]), likelihood
    post = smooth_runs(*model)
    np.testing.assert_allclose(post.log_evidence, -50.0 * n_rows - 1.5 * n_rows, rtol=1e-14)
    np.testing.assert_allclose(post.probabilities, 0.5, rtol=1e-9)


def test_contradictory_data_name_the_time_step(engine):
    model = [log([0.5, 0.5]), log([[0, 1], [1, 0]]), log([[0, 1], [0, 1]]), np.zeros((5, 2))]
    model[3][1, 0] = model[3][2, 0] = model[3][4, 0] = -np.inf  # 1 1 0 … cannot be at row 2
    for call in (smooth_runs, most_likely_runs, filter_runs, sample_runs):
        with pytest.raises(ValueError, match="no run is possible at time step 2"):
            call(*model)
    with pytest.raises(ValueError, match="time step 2 of sequence 1"):
        smooth_runs(*model[:3], np.vstack([np.zeros((3, 2)), model[3]]), lengths=[3, 5])
    with pytest.raises(ValueError, match=r"log_durations must have shape \(2, longest\)"):
        smooth_runs(*model[:2], np.zeros((3, 2)), np.zeros((5, 2)))
    with pytest.raises(ValueError, match=r"log_likelihood must have shape \(N, K\)"):
        smooth_runs(*model[:3], np.zeros((2, 5, 2)))
