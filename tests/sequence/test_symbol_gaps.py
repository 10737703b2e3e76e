"""Missing symbols of Markov chains against enumeration of all that could stand there."""

import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from posteriori.sequence import MarkovChain, MarkovModel, homogeneity_test
from posteriori.sequence.symbol_gaps import bound_gaps

_ = None
DATA = {
    "inside": [[0, 1, _, 1, 0, 0], [1, 1, 0]],
    "at the start": [[_, 1, 1, 0, 1], [0, 0, 1, 1]],
    "at both ends": [[_, _, 1, 0, 0, 1, _], [1, 0, _, 1, _]],
    "short": [[_, 1], [1, _], [1], [0, 1, 1, 0], [_, 1, 0]],
    "side by side": [[0, 1, _, _, 1, 0, _, 1, 1]],
}


def completions(sequences, size=2):
    """All ways to fill the gaps."""
    gaps = [(s, t) for s, one in enumerate(sequences) for t, x in enumerate(one) if x is None]
    for symbols in product(range(size), repeat=len(gaps)):
        filled = [list(one) for one in sequences]
        for (s, t), x in zip(gaps, symbols, strict=True):
            filled[s][t] = x
        yield filled


@pytest.mark.parametrize("homogeneous", [True, False])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
@pytest.mark.parametrize("data", DATA)
def test_evidence_sums_over_all_completions(data, order, homogeneous):
    options = {"order": order, "homogeneous": homogeneous, "concentration": 0.7, "states": (0, 1)}
    exact = logsumexp(
        [float(MarkovModel(**options).fit(f).log_evidence_) for f in completions(DATA[data])]
    )
    m = MarkovModel(**options).fit(DATA[data])
    assert m.log_evidence_.kind == "exact"
    assert float(m.log_evidence_) == pytest.approx(exact, rel=1e-12)
    if order and m._known.gappy.coded.sequences:
        bound = bound_gaps(m._known.gappy, m._known.counts, 0.7)
        assert bound.value < exact
        ways = 2.0 ** len(m._known.gappy.gaps)  # the bound of one of them alone
        assert bound.value > exact - np.log(ways)


@pytest.mark.parametrize("order", [1, 2])
def test_expected_counts_are_averages_over_completions(order):
    data = DATA["at both ends"]
    models = [MarkovModel(order=order, states=(0, 1)).fit(f) for f in completions(data)]
    logs = np.array([float(one.log_evidence_) for one in models])
    weights = np.exp(logs - logsumexp(logs))
    moves = sum(w * one.counts_.moves for w, one in zip(weights, models, strict=True))
    found = MarkovModel(order=order, states=(0, 1)).fit(data).counts_
    trailing = 2  # symbols missing at ends are counted by the completions alone
    assert found.moves.sum() == pytest.approx(moves.sum() - trailing)
    assert (found.moves <= moves + 1e-12).all()


@pytest.mark.parametrize("order", [0, 1, 2])
def test_known_tables_sum_over_all_completions(order):
    rng = np.random.default_rng(order)
    size = 3
    initial = rng.dirichlet(np.ones(size ** max(order, 1))).reshape((size,) * max(order, 1))
    moves = rng.dirichlet(np.ones(size), (size,) * order) if order else None
    chain = MarkovChain(initial, moves)
    for x in ([0, _, 2, 1], [_, _, 1, 0, _, 2, 2, _], [_, 2], [_], [0, 1, np.nan, np.nan, 0]):
        missing = [None if v is None or v != v else v for v in x]
        exact = logsumexp([chain.log_prob(f[0]) for f in completions([missing], size)])
        assert chain.log_prob(x) == pytest.approx(exact, abs=1e-12)
    assert chain.log_prob([[0, _], [_, 1]]).shape == (2,)


def test_an_impossible_sequence_with_gaps_has_no_probability():
    chain = MarkovChain([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0]], states="ab")
    assert chain.log_prob(["a", None, "a"]) == 0.0
    assert chain.log_prob(["a", None, "b"]) == -np.inf


@pytest.mark.parametrize("order", [1, 2])
def test_new_sequences_with_gaps_are_predicted_exactly(order):
    train, new = [[0, 1, 1, 0, 1, 0, 0]], [0, _, 1, _, _, 1, _]
    m = MarkovModel(order=order).fit(train)
    exact = logsumexp([m.log_prob([f[0]])[0] for f in completions([new])])
    assert m.log_prob([new])[0] == pytest.approx(exact, abs=1e-12)


@pytest.mark.parametrize("homogeneous", [True, False])
def test_the_likelihood_with_gaps_is_at_its_maximum(homogeneous):
    data = [[0, 1, _, 1, 0, 0, 1, 1, _, _, 0], [_, 1, 0, 1, 1], [0, 0, 1, _, 1, 0]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # steps of the longest sequence alone
        m = MarkovModel(method="maximum-likelihood", homogeneous=homogeneous).fit(data)
    assert float(m.log_prob(data).sum()) == pytest.approx(m.log_likelihood_, abs=1e-9)
    if not homogeneous:
        return
    rng = np.random.default_rng(0)

    def log_likelihood(initial, transition):
        return MarkovChain(initial, transition).log_prob(data).sum()

    best = log_likelihood(m.initial_, m.transition_)
    assert best == pytest.approx(m.log_likelihood_, abs=1e-9)
    for _try in range(30):
        p, q = rng.dirichlet([1, 1]), rng.dirichlet([1, 1], 2)
        near = 0.999 * m.initial_ + 0.001 * p, 0.999 * m.transition_ + 0.001 * q
        assert log_likelihood(*near) <= best + 1e-6


def test_chunks_with_gaps_are_as_all_at_once():
    data = DATA["at both ends"]
    whole = MarkovModel(order=1).fit(data)
    parts = MarkovModel(order=1, states=(0, 1)).fit(data[:1]).partial_fit(data[1:])
    assert float(parts.log_evidence_) == pytest.approx(float(whole.log_evidence_), rel=1e-13)
    np.testing.assert_allclose(parts.transition_, whole.transition_, rtol=1e-12)


def test_weights_are_repeats_of_gappy_sequences():
    data = DATA["inside"]
    twice = MarkovModel().fit(data, sequence_weight=[2, 1])
    listed = MarkovModel().fit([data[0], data[0], data[1]])
    assert float(twice.log_evidence_) == pytest.approx(float(listed.log_evidence_), rel=1e-13)
    half = MarkovModel().fit(data, sequence_weight=[0.5, 1])
    assert half.log_evidence_.kind == "bound"


def test_many_gaps_are_bounded_and_answered_by_the_tables():
    rng = np.random.default_rng(1)
    chain = MarkovChain([0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]])
    x = [int(v) for v in chain.sample(2000, rng=rng)]
    gappy = [None if u < 0.2 else v for u, v in zip(rng.random(2000), x, strict=True)]
    m = MarkovModel().fit([gappy])
    assert m.log_evidence_.kind == "bound"
    np.testing.assert_allclose(m.transition_, chain.transition, atol=0.05)
    with pytest.raises(ValueError, match="too many to sum over"):
        m.log_prob([gappy])
    assert np.isfinite(m.model_.log_prob(gappy))
    assert float(m.log_evidence_) < m.model_.log_prob(gappy)


@pytest.mark.parametrize("parts", [2, 3])
@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("data", ["inside", "at the start", "side by side"])
def test_the_factor_of_homogeneity_sums_over_all_completions(data, order, parts):
    """Each completion as one part and as several, which are sequences of their own after a shared start."""
    sequences = DATA[data]
    pieces, whole = [], []
    for filled in completions(sequences):
        fit = MarkovModel(order=order, states=(0, 1)).fit(filled)
        whole.append(float(fit.log_evidence_))
        pieces.append(_evidence_of_parts(filled, order, parts))
    found = homogeneity_test(sequences, parts, order=order)
    exact = logsumexp(whole) - logsumexp(pieces)
    assert found.log_bayes_factor == pytest.approx(exact, rel=1e-9, abs=1e-12)


def _evidence_of_parts(sequences, order, parts):
    """Evidence symbol by symbol, of an urn for the first tuples and one for each context of each part."""
    urns, total = {}, 0.0
    for x in sequences:
        moves = len(x) - order
        for t, symbol in enumerate(x):
            if t < order:  # a tuple of first symbols has 2^(M − t − 1) ways to go on
                key, alpha = ("first", *x[:t]), 2.0 ** (order - 1 - t)
            else:
                key, alpha = ((t - order) * parts // moves, *x[t - order : t]), 1.0
            counts = urns.setdefault(key, np.zeros(2))
            total += np.log((counts[symbol] + alpha) / (counts.sum() + 2.0 * alpha))
            counts[symbol] += 1.0
    return total


def test_the_statistic_of_homogeneity_counts_moves_that_are_seen():
    gappy = [0, 1, 1, 0, 0, 1, _, 1, 0, 1, 1, 1, 0, 0, 1, 0]
    found = homogeneity_test([gappy])
    seen = np.zeros((2, 2, 2))
    for i, (a, b) in enumerate(pairwise(gappy)):
        if a is not None and b is not None:
            seen[i * 2 // 15, a, b] += 1
    tables = [seen[:, a] for a in (0, 1)]
    g = [stats.chi2_contingency(t, correction=False, lambda_="log-likelihood") for t in tables]
    assert found.statistic == pytest.approx(sum(one.statistic for one in g))
    assert found.degrees_of_freedom == sum(one.dof for one in g)


def test_too_many_gaps_for_the_test_of_homogeneity():
    with pytest.raises(
        ValueError, match=r"sequences miss 40 symbols, too many .* cut the sequence"
    ):
        homogeneity_test([[0, 1, None] * 40 + [1]])
