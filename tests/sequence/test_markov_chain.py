"""Markov chains with known parameters: probabilities, order reduction, structure."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.sequence import MarkovChain


def random_chain(seed, n_states, order, *, zeros=0.0):
    rng = np.random.default_rng(seed)
    if order == 0:
        return MarkovChain(rng.dirichlet(np.ones(n_states)))
    initial = rng.dirichlet(np.ones(n_states**order)).reshape((n_states,) * order)
    table = rng.dirichlet(np.ones(n_states), (n_states,) * order)
    table[rng.random(table.shape) < zeros] = 0.0
    table[..., 0] += table.sum(axis=-1) == 0.0
    return MarkovChain(initial, table / table.sum(axis=-1, keepdims=True))


def chain_rule(chain, x):
    """p(x) as the product of one conditional after another."""
    order = chain.order
    if order == 0:
        return np.prod(chain.initial[list(x)])
    p = chain.initial[tuple(x[:order])] if len(x) >= order else chain.initial[tuple(x)].sum()
    for t in range(order, len(x)):
        p *= chain.transition[tuple(x[t - order : t + 1])]
    return p


@pytest.mark.topic("000/W1", "000/W2", "003/H.1", "003/H.2")
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_sequences_have_the_product_of_their_conditionals(order):
    chain = random_chain(order, 2, order)
    for length in (1, 2, 5):
        every = [list(x) for x in product(range(2), repeat=length)]
        logs = chain.log_prob(every)
        np.testing.assert_allclose(np.exp(logs), [chain_rule(chain, x) for x in every], rtol=1e-12)
        np.testing.assert_allclose(np.exp(logs).sum(), 1.0, rtol=1e-12)


@pytest.mark.topic("000/W2")
def test_the_table_of_parameter_counts():
    """000: K = 3, orders 0 to 3."""
    counts = [MarkovChain.parameter_count(3, order) for order in range(4)]
    assert counts == [(2, 0), (2, 6), (8, 18), (26, 54)]


@pytest.mark.topic("000/W4", "003/H.2")
@given(seed=st.integers(0, 10**6), n_states=st.integers(2, 3), order=st.integers(0, 3))
def test_order_reduction_keeps_probabilities(seed, n_states, order):
    """A new symbol depends on M predecessors: moves to tuples that do not overlap are impossible."""
    chain = random_chain(seed, n_states, order)
    reduced = chain.to_first_order()
    assert reduced.order == 1
    x = np.random.default_rng(seed).integers(0, n_states, max(order, 1) + 4).tolist()
    stacked = [tuple(x[t : t + order]) for t in range(len(x) - order + 1)] if order > 1 else x
    np.testing.assert_allclose(reduced.log_prob(stacked), chain.log_prob(x), rtol=1e-12)
    if order > 1:
        contexts = list(product(range(n_states), repeat=order))
        overlap = np.array([[a[1:] == b[:-1] for b in contexts] for a in contexts])
        np.testing.assert_array_equal(reduced.transition[~overlap], 0.0)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_steps_ahead_are_sums_over_what_lies_between(order):
    chain = random_chain(7, 3, order)
    for n in (1, 2, 3):
        ahead = chain.n_step(n)
        if order == 0:
            np.testing.assert_array_equal(ahead, chain.initial)
            continue
        for context in product(range(3), repeat=order):
            expected = np.zeros(3)
            for between in product(range(3), repeat=n):
                x = (*context, *between)
                steps = [chain.transition[x[i : i + order + 1]] for i in range(n)]
                expected[between[-1]] += np.prod(steps)
            np.testing.assert_allclose(ahead[context], expected, rtol=1e-12)


@given(seed=st.integers(0, 10**6), n_states=st.integers(1, 5), order=st.integers(1, 2))
def test_the_stationary_law_stays(seed, n_states, order):
    chain = random_chain(seed, n_states, order)
    law = chain.stationary()
    stay = np.einsum("ij,ijk->jk", law, chain.transition) if order == 2 else law @ chain.transition
    np.testing.assert_allclose(stay, law, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(law.sum(), 1.0, rtol=1e-12)


def test_a_stationary_law_far_from_uniform_keeps_its_digits():
    """Birth and death: π_k ∝ Π up/down, over 40 orders of magnitude, by ratios alone."""
    up, down, n = 1e-4, 0.5, 12
    a = np.diag(np.full(n - 1, up), 1) + np.diag(np.full(n - 1, down), -1)
    a += np.diag(1 - a.sum(axis=1))
    law = MarkovChain(np.eye(n)[0], a).stationary()
    expected = (up / down) ** np.arange(n)
    np.testing.assert_allclose(law, expected / expected.sum(), rtol=1e-12)


GAMBLER = MarkovChain(
    [0, 0, 1, 0, 0],
    [
        [1, 0, 0, 0, 0],
        [0.6, 0, 0.4, 0, 0],
        [0, 0.6, 0, 0.4, 0],
        [0, 0, 0.6, 0, 0.4],
        [0, 0, 0, 0, 1],
    ],
    states=("ruin", 1, 2, 3, "rich"),
)


def test_the_gamblers_ruin():
    """Feller: with r = q/p, P(ruin | k) = (r^k − r^n)/(1 − r^n), and the expected duration."""
    r, n = 0.6 / 0.4, 4
    k = np.arange(5)
    ruin = (r**k - r**n) / (1 - r**n)
    duration = k / (0.6 - 0.4) - n / (0.6 - 0.4) * (1 - r**k) / (1 - r**n)
    found = GAMBLER.absorption()
    assert [c.states for c in found.classes] == [("ruin",), ("rich",)]
    np.testing.assert_allclose(found.probabilities[:, 0], ruin, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(found.expected_steps, duration, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(GAMBLER.hitting_probabilities("ruin"), ruin, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(
        GAMBLER.hitting_times("ruin"), [0, np.inf, np.inf, np.inf, np.inf]
    )
    np.testing.assert_allclose(GAMBLER.hitting_times(["ruin", "rich"]), duration, rtol=1e-12)
    with pytest.raises(ValueError, match="2 closed classes"):
        GAMBLER.stationary()
    np.testing.assert_array_equal(GAMBLER.stationary_laws(), np.eye(5)[[0, 4]])


@given(seed=st.integers(0, 10**6), n_states=st.integers(1, 6))
def test_structure_equals_powers_of_the_matrix(seed, n_states):
    """Reachability, closedness and periods read off A^n; hitting by iteration from 0."""
    chain = random_chain(seed, n_states, 1, zeros=0.6)
    a = np.asarray(chain.transition)
    edges = (a > 0).astype(int)
    powers = [np.eye(n_states, dtype=int)]
    for _ in range(4 * n_states**2):
        powers.append(((powers[-1] @ edges) > 0).astype(int))
    reach = np.maximum.reduce(powers[: n_states + 1]) > 0
    together = reach & reach.T
    found = chain.classes()
    assert sorted(s for c in found for s in c.states) == list(range(n_states))
    for c in found:
        members = list(c.states)
        assert members == np.flatnonzero(together[members[0]]).tolist()
        outside = np.setdiff1d(np.arange(n_states), members)
        assert c.closed == (not reach[np.ix_(members, outside)].any())
        returns = [n for n in range(1, len(powers)) if powers[n][members[0], members[0]]]
        assert c.period == (np.gcd.reduce(returns) if returns else 0)
    target = [int(seed % n_states)]
    h = np.zeros(n_states)
    for _ in range(2000):
        h = a @ h
        h[target] = 1.0
    np.testing.assert_allclose(chain.hitting_probabilities(target), h, atol=1e-4)
    times = chain.hitting_times(target)
    np.testing.assert_array_equal(np.isfinite(times), h > 1 - 1e-4)
    finite = np.isfinite(times)
    expected = 1.0 + np.where(finite, a[:, finite] @ times[finite], np.inf)
    expected[target] = 0.0
    np.testing.assert_allclose(times[finite], expected[finite], rtol=1e-9)


def test_a_cycle_has_its_length_as_period():
    cycle = MarkovChain(np.eye(4)[0], np.roll(np.eye(4), 1, axis=1))
    assert [(c.states, c.closed, c.period) for c in cycle.classes()] == [((0, 1, 2, 3), True, 4)]
    assert not cycle.is_reversible()
    assert cycle.entropy_rate() == 0.0


def test_reversibility_and_entropy():
    assert MarkovChain(
        [0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]]
    ).is_reversible()  # all of two states are
    flow = MarkovChain([1, 0, 0], [[0, 0.9, 0.1], [0.1, 0, 0.9], [0.9, 0.1, 0]])
    assert not flow.is_reversible()
    assert MarkovChain([0.2, 0.8]).is_reversible()
    one = MarkovChain([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]])
    h = -np.array([0.7 * np.log(0.7) + 0.3 * np.log(0.3), 0.4 * np.log(0.4) + 0.6 * np.log(0.6)])
    np.testing.assert_allclose(one.entropy_rate(), (4 * h[0] + 3 * h[1]) / 7, rtol=1e-12)
    same = MarkovChain(np.full((2, 2), 0.25), np.tile([[0.7, 0.3], [0.4, 0.6]], (2, 1, 1)))
    np.testing.assert_allclose(same.entropy_rate(), one.entropy_rate(), rtol=1e-12)
    assert same.is_reversible()
    expected = -(0.2 * np.log(0.2) + 0.8 * np.log(0.8))
    np.testing.assert_allclose(MarkovChain([0.2, 0.8]).entropy_rate(), expected, rtol=1e-12)


@pytest.mark.topic("000/W15", "003/H.1")
@pytest.mark.parametrize("order", [0, 1, 2])
def test_draws_have_the_frequencies_of_the_chain(order):
    chain = random_chain(3, 2, order)
    x = chain.sample(20000, rng=0)
    np.testing.assert_array_equal(x, chain.sample(20000, rng=0))
    windows = np.lib.stride_tricks.sliding_window_view(x, order + 1)
    counts = np.zeros((2,) * (order + 1))
    np.add.at(counts, tuple(windows.T), 1.0)
    table = chain.initial if order == 0 else chain.transition
    total = counts.sum(axis=-1, keepdims=True)
    assert np.all(np.abs(counts / total - table) < 5 * np.sqrt(table * (1 - table) / total))
    starts = np.array([chain.sample(max(order, 1), rng=s) for s in range(400)])
    shares = np.zeros(chain.initial.shape)
    np.add.at(shares, tuple(starts.T), 1 / 400)
    p = chain.initial
    assert np.all(np.abs(shares - p) < 5 * np.sqrt(p * (1 - p) / 400))


def test_symbols_may_be_labels_of_any_kind():
    walk = MarkovChain([0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], states=("dry", "wet"))
    np.testing.assert_allclose(np.exp(walk.log_prob(["dry", "wet", "wet"])), 0.6 * 0.3 * 0.6)
    assert walk.log_prob([["dry"], ["wet", "wet"]]).shape == (2,)
    assert set(walk.sample(20, rng=0)) == {"dry", "wet"}
    letters = MarkovChain([0.6, 0.4], walk.transition, states="AB")
    np.testing.assert_allclose(letters.log_prob("ABB"), walk.log_prob(["dry", "wet", "wet"]))
    assert letters.log_prob([list("AB"), list("BBA")]).shape == (2,)
    tuples = MarkovChain([0.6, 0.4], walk.transition, states=[(0, 1), (1, 0)])
    np.testing.assert_allclose(tuples.log_prob([(0, 1), (1, 0)]), np.log(0.18))
    with pytest.raises(ValueError, match="'wett' is no label; did you mean 'wet'"):
        walk.log_prob(["dry", "wett"])


def test_impossible_sequences_have_probability_0():
    assert MarkovChain([1.0, 0.0], np.eye(2)).log_prob([0, 1]) == -np.inf
    assert MarkovChain([1.0, 0.0], np.eye(2)).log_prob([1]) == -np.inf


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5, 0.4],), "initial must sum to 1"),
        (([0.5, 0.5], [[0.5, 0.5], [0.5, 0.50001]]), "transition must sum to 1"),
        (([0.5, 0.5], np.eye(3)), r"transition must have shape \(2, 2\)"),
        (([0.5, 0.5], np.full((2, 2, 2), 0.5)), r"initial must have shape \(2, 2\)"),
        ((1.0,), "initial must be a vector"),
        (([0.5, 0.5], [0.5, 0.5]), "transition has an axis more"),
    ],
)
def test_bad_parameters_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        MarkovChain(*arguments)


def test_bad_questions_are_named():
    walk = MarkovChain([0.5, 0.5], [[0.7, 0.3], [0.4, 0.6]])
    for x, message in (([], "sequence 0 is empty"), ([0, 2], "got 2"), ([0, 0.5], "whole numbers")):
        with pytest.raises(ValueError, match=message):
            walk.log_prob(x)
    with pytest.raises(ValueError, match="n must be at least 1"):
        walk.n_step(0)
    with pytest.raises(ValueError, match="length must be at least 1"):
        walk.sample(0)
    with pytest.raises(ValueError, match="targets must be states"):
        walk.hitting_times([2])
    with pytest.raises(ValueError, match="states must name the 2 states"):
        MarkovChain([0.5, 0.5], walk.transition, states=["a"])
    assert walk == MarkovChain([0.5, 0.5], walk.transition)
    assert walk != MarkovChain([0.5, 0.5], walk.transition, states="ab")
