"""Passes over several chains, against one chain of all joint states and against all paths."""

import itertools
import math
from functools import reduce

import numpy as np
import pytest

from posteriori.inference import forward_backward, most_likely_path
from posteriori.inference.factorial_chains import kronecker_passes
from posteriori.inference.factorial_chains.kronecker_passes import (
    Chains,
    Sequences,
    chain_indicators,
    most_likely_states,
    smooth_factorial,
)

SIZES = [(3,), (2, 3), (2, 2, 2, 2), (3, 2, 4), (9, 2), (1, 3), (2, 9), (4, 4, 3)]
SEQUENCES = Sequences(np.array([4, 1, 6]), np.array([1.0, 2.0, 0.5]))
N_ROWS = 11


def random_chains(rng, sizes):
    return Chains(
        tuple(rng.dirichlet(np.ones(k)) for k in sizes),
        tuple(rng.dirichlet(np.ones(k), k) for k in sizes),
    )


def joint_chain(chains):
    """Return ln π and ln A of the one chain of all joint states."""
    with np.errstate(divide="ignore"):
        return tuple(np.log(reduce(np.kron, parts)) for parts in chains)


def given(scores):
    return lambda rows: scores[rows].copy()


def check_against_joint(found, chains, scores, sequences=SEQUENCES):
    """Compare with the plain chain, sequence by sequence."""
    model, indicators = joint_chain(chains), chain_indicators(chains.sizes)
    marginals = np.concatenate(found.chains.probabilities, axis=1)
    joint, pairs = 0.0, 0.0
    for s, (start, weight) in enumerate(zip(sequences.starts, sequences.weights, strict=True)):
        rows = slice(start, start + sequences.lengths[s])
        plain = forward_backward(*model, scores[rows])
        np.testing.assert_allclose(
            marginals[rows], plain.probabilities @ indicators, rtol=1e-9, atol=1e-12
        )
        np.testing.assert_allclose(
            found.chains.log_evidence[s], plain.log_evidence, rtol=1e-12, atol=1e-10
        )
        joint = joint + weight * plain.probabilities.sum(axis=0)
        pairs = pairs + weight * plain.pair_sums
    np.testing.assert_allclose(found.joint_sums.sum(axis=0), joint, rtol=1e-9, atol=1e-12)
    by_chain, ends = indicators.T @ pairs @ indicators, np.cumsum(chains.sizes)
    for k, end, sums in zip(chains.sizes, ends, found.chains.pair_sums, strict=True):
        expected = by_chain[end - k : end, end - k : end]
        np.testing.assert_allclose(sums, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.topic("003/H.14")
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("block", [1, 30, 10**6])
def test_exact_is_the_chain_of_all_joint_states(sizes, block, monkeypatch):
    monkeypatch.setattr(kronecker_passes, "BLOCK", block)
    rng = np.random.default_rng(0)
    chains, scores = random_chains(rng, sizes), 3 * rng.normal(size=(N_ROWS, math.prod(sizes)))
    check_against_joint(smooth_factorial(chains, given(scores), SEQUENCES), chains, scores)


def test_all_paths_of_two_chains():
    """Σ over the (2·3)⁴ paths of both chains, none of it by a recursion."""
    rng = np.random.default_rng(1)
    sizes, n = (2, 3), 4
    chains, scores = random_chains(rng, sizes), rng.normal(size=(n, *sizes))
    total, marginals = 0.0, [np.zeros((n, k)) for k in sizes]
    for path in itertools.product(np.ndindex(*sizes), repeat=n):
        weight = math.exp(sum(scores[t][state] for t, state in enumerate(path)))
        for m in range(2):
            weight *= chains.initial[m][path[0][m]]
            for before, after in itertools.pairwise(path):
                weight *= chains.transition[m][before[m], after[m]]
        total += weight
        for t, state in enumerate(path):
            for m in range(2):
                marginals[m][t, state[m]] += weight
    found = smooth_factorial(
        chains, given(scores.reshape(n, -1)), Sequences(np.array([n]), np.ones(1))
    ).chains
    np.testing.assert_allclose(found.log_evidence, math.log(total), rtol=1e-12)
    for ours, expected in zip(found.probabilities, marginals, strict=True):
        np.testing.assert_allclose(ours, expected / total, rtol=1e-10)


@pytest.mark.parametrize("block", [1, 10**6])
def test_forbidden_moves_and_far_tails_need_logs(block, monkeypatch):
    """A state 10⁻⁴⁰⁰ below the others is the only one that may go on."""
    monkeypatch.setattr(kronecker_passes, "BLOCK", block)
    rng = np.random.default_rng(2)
    chains = random_chains(rng, (2, 3))
    stay = np.array([[1.0, 0.0], [1e-150, 1.0]])
    chains = chains._replace(transition=(stay, chains.transition[1]))
    scores = rng.normal(size=(N_ROWS, 6))
    scores[5, 3:] -= 900.0  # the first chain's state 1, at the first row of a sequence
    scores[6, :3] = -np.inf
    check_against_joint(smooth_factorial(chains, given(scores), SEQUENCES), chains, scores)


def test_impossible_sequences_and_negative_probabilities_are_refused():
    chains = Chains((np.array([1.0, 0.0]),), (np.eye(2),))
    scores = np.array([[0.0, 0.0], [-np.inf, 0.0]])
    one = Sequences(np.array([2]), np.ones(1))
    with pytest.raises(ValueError, match="probability 0"):
        smooth_factorial(chains, given(scores), one)
    with pytest.raises(ValueError, match="no joint state is possible at row 1"):
        most_likely_states(chains, given(scores), one)
    with pytest.raises(ValueError, match="must not be negative"):
        smooth_factorial(Chains((np.array([1.1, -0.1]),), (np.eye(2),)), given(scores), one)


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("block", [1, 30, 10**6])
def test_best_path_is_that_of_the_joint_chain(sizes, block, monkeypatch):
    monkeypatch.setattr(kronecker_passes, "BLOCK", block)
    rng = np.random.default_rng(3)
    chains, scores = random_chains(rng, sizes), 3 * rng.normal(size=(N_ROWS, math.prod(sizes)))
    found = most_likely_states(chains, given(scores), SEQUENCES)
    for start, length in zip(SEQUENCES.starts, SEQUENCES.lengths, strict=True):
        rows = slice(start, start + length)
        plain = most_likely_path(*joint_chain(chains), scores[rows]).states
        expected = np.stack(np.unravel_index(plain, sizes), axis=1)
        np.testing.assert_array_equal(found[rows], expected)


def test_sums_of_groups_add_up():
    rng = np.random.default_rng(4)
    chains, scores = random_chains(rng, (2, 2)), rng.normal(size=(N_ROWS, 4))
    groups = np.arange(N_ROWS) % 3
    parts = smooth_factorial(chains, given(scores), SEQUENCES, groups).joint_sums
    whole = smooth_factorial(chains, given(scores), SEQUENCES).joint_sums
    np.testing.assert_allclose(parts.sum(axis=0, keepdims=True), whole, rtol=1e-12)
    weights = np.bincount(groups, weights=SEQUENCES.row_weights)
    np.testing.assert_allclose(parts.sum(axis=1), weights, rtol=1e-12)
