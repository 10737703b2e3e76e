"""Markov chains learned from symbols: exact evidence, shares, streams, weights, homogeneity."""

from itertools import product
from math import comb, log

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats
from sklearn.base import clone

from posteriori.mathematics import stationary_point
from posteriori.sequence import MarkovChain, MarkovModel, homogeneity_test


def urn(sequences, n_states, order, alpha, homogeneous=True):
    """Evidence symbol by symbol: p(x_t | all before) = (n + α) / (N + Kα), counted as we go.

    The first M symbols of a sequence are one draw of an urn of K^M tuples, or of those that begin so.
    """
    tuples, rows, total = [], {}, 0.0
    for x in sequences:
        start = tuple(x[:order])
        for m in range(len(start)):  # a short sequence says nothing of what would follow
            longer = sum(len(one) > m and one[:m] == start[:m] for one in tuples)
            here = sum(one[: m + 1] == start[: m + 1] for one in tuples)
            each = alpha * n_states ** (order - 1 - m)
            total += log((here + each) / (longer + n_states * each))
        tuples.append(start)
        for t in range(order, len(x)):
            key = (tuple(x[t - order : t]), None if homogeneous else t)
            counts = rows.setdefault(key, [0] * n_states)
            total += log((counts[x[t]] + alpha) / (sum(counts) + n_states * alpha))
            counts[x[t]] += 1
    return total


def random_sequences(seed, n_states, lengths):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, n_states, n).tolist() for n in lengths]


LENGTHS = st.lists(st.integers(1, 8), min_size=1, max_size=5)


@pytest.mark.topic("000/W2", "003/H.1", "003/H.2")
@given(
    seed=st.integers(0, 10**6),
    lengths=LENGTHS,
    order=st.integers(0, 3),
    alpha=st.floats(0.1, 5.0),
    homogeneous=st.booleans(),
)
def test_evidence_is_that_of_one_symbol_after_another(seed, lengths, order, alpha, homogeneous):
    sequences = random_sequences(seed, 3, lengths)
    model = MarkovModel(order, alpha, homogeneous=homogeneous, states=range(3)).fit(sequences)
    expected = urn(sequences, 3, order, alpha, homogeneous)
    np.testing.assert_allclose(float(model.log_evidence_), expected, rtol=1e-10, atol=1e-10)
    assert (model.log_evidence_.kind, model.log_evidence_.of) == ("exact", "X")


def test_evidence_by_hand():
    """Starts A, B: 1/2 · 1/3. After A: B, B. After B: A, B, A, B, A: 3! 2! / 6!."""
    model = MarkovModel().fit([list("ABABBA"), list("BBA")])
    by_hand = 1 / 6 * 1 / 3 * 1 / (6 * comb(5, 2))
    np.testing.assert_allclose(float(model.log_evidence_), np.log(by_hand), rtol=1e-12)
    np.testing.assert_allclose(model.transition_, [[1 / 4, 3 / 4], [4 / 7, 3 / 7]], rtol=1e-12)
    assert model.states_ == ("A", "B")
    np.testing.assert_allclose(model.posterior_.transition.concentration, [[1, 3], [4, 3]])
    np.testing.assert_allclose(model.posterior_.initial[0].concentration, [2, 2])


@pytest.mark.parametrize("order", [0, 1, 2])
def test_the_evidence_of_all_sequences_adds_up_to_1(order):
    """Every symbol is counted, so orders compare: each is a law of all sequences of a length."""
    total = [
        float(MarkovModel(order, 0.7, states=(0, 1)).fit([list(x)]).log_evidence_)
        for x in product((0, 1), repeat=6)
    ]
    np.testing.assert_allclose(np.exp(total).sum(), 1.0, rtol=1e-10)


def test_evidence_finds_the_order():
    table = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.6, 0.4]]])
    truth = MarkovChain(np.full((2, 2), 0.25), table)
    x = [truth.sample(300, rng=seed).tolist() for seed in range(3)]
    evidence = [float(MarkovModel(order).fit(x).log_evidence_) for order in range(4)]
    assert np.argmax(evidence) == 2


@pytest.mark.topic("001/4.2", "001/4.4", "000/W2")
def test_shares_of_counts_are_the_constrained_maximum():
    """Lagrange: the rows that maximise Σ n ln p under Σ p = 1 are the shares of the counts."""
    x = [list("AABABBBAAB"), list("BABBA")]
    model = MarkovModel(method="maximum-likelihood").fit(x)
    counts = model.counts_.moves[0]
    best = stationary_point(
        lambda p: float((counts * np.log(np.maximum(p.reshape(2, 2), 1e-9))).mean()),
        np.full(4, 0.5),
        equalities=lambda p: p.reshape(2, 2).sum(axis=1) - 1.0,
        maximize=True,
    )
    np.testing.assert_allclose(model.transition_.ravel(), best.x, atol=1e-7)
    np.testing.assert_allclose(model.initial_, [0.5, 0.5])  # π is the share of first symbols
    np.testing.assert_allclose(model.log_likelihood_, model.model_.log_prob(x).sum(), rtol=1e-12)
    np.testing.assert_allclose(model.bic_, 3 * np.log(15) - 2 * model.log_likelihood_)
    assert not hasattr(model, "log_evidence_")
    flips = MarkovModel(order=0, method="maximum-likelihood").fit([0] * 20 + [1] * 80)
    np.testing.assert_allclose(flips.model_.initial, [0.2, 0.8])


def test_rows_that_were_never_seen_are_uniform_and_said():
    with pytest.warns(UserWarning, match="1 of 2 rows of the transition table were never seen"):
        model = MarkovModel(method="maximum-likelihood").fit(list("AAB"))
    np.testing.assert_allclose(model.transition_, [[0.5, 0.5], [0.5, 0.5]])


@given(
    seed=st.integers(0, 10**6),
    lengths=st.lists(st.integers(1, 8), min_size=2, max_size=5),
    order=st.integers(0, 2),
    homogeneous=st.booleans(),
)
def test_a_stream_is_a_batch(seed, lengths, order, homogeneous):
    sequences = random_sequences(seed, 3, lengths)
    model = MarkovModel(order, homogeneous=homogeneous, states=range(3))
    batch, stream = clone(model).fit(sequences), clone(model)
    for one in sequences:
        stream.partial_fit([one])
    assert float(stream.log_evidence_) == pytest.approx(float(batch.log_evidence_), rel=1e-12)
    np.testing.assert_allclose(stream.transition_, batch.transition_, rtol=1e-12)
    assert stream.log_evidence_.fingerprint == batch.log_evidence_.fingerprint
    weights = np.random.default_rng(seed).integers(1, 4, len(sequences))
    repeated = [x for x, w in zip(sequences, weights, strict=True) for _ in range(w)]
    weighted = clone(model).fit(sequences, sequence_weight=weights)
    again = clone(model).fit(repeated)
    assert float(weighted.log_evidence_) == pytest.approx(float(again.log_evidence_), rel=1e-12)
    assert weighted.log_evidence_.fingerprint == again.log_evidence_.fingerprint


@pytest.mark.parametrize("order", [0, 1, 2])
def test_predictions_are_ratios_of_evidence(order):
    old, new = random_sequences(0, 2, [6, 5]), random_sequences(1, 2, [4, 1, 3])
    model = MarkovModel(order).fit(old)
    expected = [
        float(MarkovModel(order).fit([*old, x]).log_evidence_) - float(model.log_evidence_)
        for x in new
    ]
    np.testing.assert_allclose(model.log_prob(new), expected, rtol=1e-10)
    np.testing.assert_allclose(model.score(new), np.sum(expected) / 8, rtol=1e-10)
    shares = MarkovModel(order, method="maximum-likelihood").fit(old)
    np.testing.assert_allclose(shares.log_prob(new), shares.model_.log_prob(new), rtol=1e-12)


@pytest.mark.topic("000/W2")
def test_each_step_may_have_its_own_table():
    """Inhomogeneous: (N − M) tables of conditionals."""
    x = [list("AABB"), list("ABAB"), list("BBBA"), list("ABBB")]
    model = MarkovModel(homogeneous=False).fit(x)
    assert model.transition_.shape == (3, 2, 2)
    np.testing.assert_allclose(model.transition_[0], [[2 / 5, 3 / 5], [1 / 3, 2 / 3]])
    assert not hasattr(model, "model_")
    with pytest.warns(UserWarning, match="never seen"):
        shares = MarkovModel(homogeneous=False, method="maximum-likelihood").fit(x[:2])
    np.testing.assert_allclose(
        shares.log_prob([list("AABB"), list("AB"), list("BA")]), [np.log(0.5), np.log(0.5), -np.inf]
    )
    with pytest.raises(ValueError, match="tables for 3 steps, a sequence has 4 moves"):
        shares.log_prob([list("AABBA")])


def test_one_column_of_symbols_with_lengths():
    pandas = pytest.importorskip("pandas")
    model = MarkovModel().fit(list("ABABBABBA"), lengths=[6, 3])
    expected = MarkovModel().fit([list("ABABBA"), list("BBA")]).log_evidence_
    assert float(model.log_evidence_) == float(expected)
    column = pandas.DataFrame({"symbol": list("ABABBABBA")})
    assert float(MarkovModel().fit(column, lengths=[6, 3]).log_evidence_) == float(expected)
    assert set(model.sample(30, rng=0)) == {"A", "B"}


@pytest.mark.parametrize(
    ("change", "data", "message"),
    [
        ({"order": -1}, "AB", "order must be a whole number"),
        ({"order": 1.5}, "AB", "order must be a whole number"),
        ({"concentration": 0.0}, "AB", "concentration must be a positive number"),
        ({"method": "em"}, "AB", "method must be"),
        ({}, [], "sequence 0 is empty"),
        ({}, [["A"], []], "sequence 1 is empty"),
        ({}, [None, None], "no symbol that is not missing"),
        ({}, np.zeros((3, 2)), "a column of symbols"),
        ({"states": "AB"}, "ABC", "'C' is no label"),
        ({"states": "AA"}, "A", "'A' occurs twice"),
    ],
)
def test_bad_input_is_named(change, data, message):
    with pytest.raises(ValueError, match=message):
        MarkovModel(**change).fit(data)


def test_bad_calls_are_named_and_change_nothing():
    model = MarkovModel().fit("ABBA")
    before = float(model.log_evidence_)
    with pytest.raises(ValueError, match="'C' is no label"):
        model.partial_fit("AC")
    with pytest.raises(ValueError, match="'C' is no label"):
        model.log_prob("AC")
    with pytest.raises(ValueError, match=r"sequence_weight must have shape \(1,\)"):
        model.partial_fit("AB", sequence_weight=[1, 2])
    with pytest.raises(ValueError, match="add up to the 4 rows"):
        model.fit("ABBA", lengths=[1, 1])
    assert float(model.log_evidence_) == before


# -- homogeneity -----------------------------------------------------------------------------


@pytest.mark.topic("000/W3")
@given(seed=st.integers(0, 10**6), parts=st.integers(2, 4), order=st.integers(0, 2))
def test_homogeneity_equals_tables_of_contingency(seed, parts, order):
    """G² adds those of one table (part × symbol) for each context; the factor is one of evidences."""
    sequences = random_sequences(seed, 2, [40, 31])
    found = homogeneity_test(sequences, parts, order=order)
    tables, statistic, freedom = {}, 0.0, 0
    for x in sequences:
        moves = range(order, len(x))
        for i, t in enumerate(moves):
            table = tables.setdefault(tuple(x[t - order : t]), np.zeros((parts, 2)))
            table[i * parts // len(moves), x[t]] += 1
    for table in tables.values():
        seen = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
        if min(seen.shape) > 1:
            g = stats.chi2_contingency(seen, correction=False, lambda_="log-likelihood")
            statistic, freedom = statistic + g.statistic, freedom + g.dof
    np.testing.assert_allclose(found.statistic, statistic, rtol=1e-9, atol=1e-9)
    assert found.degrees_of_freedom == freedom
    np.testing.assert_allclose(found.p_value, stats.chi2.sf(statistic, freedom), rtol=1e-9)
    one = sum(_urn_of(table.sum(axis=0)) for table in tables.values())
    each = sum(_urn_of(row) for table in tables.values() for row in table)
    np.testing.assert_allclose(found.log_bayes_factor, one - each, rtol=1e-9, atol=1e-9)


def _urn_of(counts):
    """ln of 1/(n + 1) / C(n, n_1): a uniform share integrated out."""
    n = int(counts.sum())
    return -log((n + 1) * comb(n, int(counts[0])))


@pytest.mark.topic("000/W3")
def test_a_change_is_found_and_none_is_not():
    slow = MarkovChain([0.5, 0.5], [[0.95, 0.05], [0.05, 0.95]])
    fast = MarkovChain([0.5, 0.5], [[0.3, 0.7], [0.7, 0.3]])
    same = homogeneity_test(slow.sample(600, rng=0))
    changed = homogeneity_test(np.append(slow.sample(300, rng=1), fast.sample(300, rng=2)))
    assert same.log_bayes_factor > 0 > changed.log_bayes_factor
    assert changed.p_value < 1e-6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"parts": 1}, "parts must be at least 2"),
        ({"order": -1}, "order must not be negative"),
        ({"concentration": 0.0}, "concentration must be positive"),
        ({"order": 9}, "hold no move of order 9"),
    ],
)
def test_bad_tests_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        homogeneity_test("ABBA", **arguments)
