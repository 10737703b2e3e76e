"""Hidden Markov chains with known parameters: the reference case, enumeration, gaps, bad input."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori import Categorical, MvNormal, Normal, Poisson
from posteriori.distributions import Mixture
from posteriori.factors import contract, decode
from posteriori.sequence import HiddenMarkovChain

X = [0, 1, 2]


@pytest.fixture
def hmm():
    return HiddenMarkovChain(
        [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], Categorical([[0.5, 0.4, 0.1], [0.1, 0.3, 0.6]])
    )


def random_chain(seed, n_states=3, n_symbols=4):
    rng = np.random.default_rng(seed)
    return HiddenMarkovChain(
        rng.dirichlet(np.ones(n_states)),
        rng.dirichlet(np.ones(n_states), n_states),
        Categorical(rng.dirichlet(np.ones(n_symbols), n_states)),
    )


def all_paths(chain, x):
    paths = np.array(list(product(range(chain.n_states), repeat=len(x))))
    return paths, np.array([chain.joint_log_prob(x, path) for path in paths])


@pytest.mark.topic("003/H.3", "003/H.6", "003/H.8", "000/W6", "000/W7", "000/W9", "001/4.1")
def test_the_reference_case(hmm):
    """003: α, β, γ, ξ, p(X) at every n, and the best path, to the digits that are given."""
    post = hmm.smooth(X, pairs=True)
    gamma = [
        [0.8765159868, 0.1234840132],
        [0.6229327453, 0.3770672547],
        [0.2121278942, 0.7878721058],
    ]
    xi = [
        [[0.578831312, 0.2976846748], [0.0441014333, 0.0793825799]],
        [[0.1744211687, 0.4485115766], [0.0377067255, 0.3393605292]],
    ]
    np.testing.assert_allclose(post.probabilities, gamma, atol=5e-11)
    np.testing.assert_allclose(post.pair_probabilities, xi, atol=5e-11)
    np.testing.assert_allclose(np.exp(post.log_evidence), 0.03628, rtol=1e-12)
    filtered = hmm.filter(X)
    parts = np.exp([hmm.log_prob(X[: t + 1]) for t in range(3)])
    alpha = filtered.probabilities * parts[:, None]
    np.testing.assert_allclose(
        alpha, [[0.3, 0.04], [0.0904, 0.0342], [0.007696, 0.028584]], rtol=1e-12
    )
    beta = post.probabilities * 0.03628 / alpha
    np.testing.assert_allclose(beta, [[0.106, 0.112], [0.25, 0.4], [1, 1]], rtol=1e-12)
    np.testing.assert_allclose((alpha * beta).sum(axis=1), 0.03628, rtol=1e-12)
    best = hmm.decode(X)
    np.testing.assert_array_equal(best.states, [0, 0, 1])
    np.testing.assert_allclose(np.exp(best.log_joint), 0.01512, rtol=1e-12)


@pytest.mark.topic("001/4.3", "000/W1")
def test_the_joint_is_a_product_of_conditionals(hmm):
    expected = 0.6 * 0.5 * 0.7 * 0.4 * 0.3 * 0.6
    np.testing.assert_allclose(hmm.joint_log_prob(X, [0, 0, 1]), np.log(expected), rtol=1e-13)


@given(seed=st.integers(0, 10**6), length=st.integers(1, 5))
def test_answers_are_sums_and_maxima_over_all_paths(seed, length):
    chain = random_chain(seed)
    x = np.random.default_rng(seed + 1).integers(0, 4, length)
    paths, logs = all_paths(chain, x)
    total = np.logaddexp.reduce(logs)
    np.testing.assert_allclose(chain.log_prob(x), total, rtol=1e-12)
    shares = np.exp(logs - total)
    each = (paths[:, :, None] == np.arange(3)) * shares[:, None, None]
    np.testing.assert_allclose(chain.smooth(x).probabilities, each.sum(axis=0), rtol=1e-10)
    np.testing.assert_array_equal(chain.decode(x).states, paths[logs.argmax()])


@pytest.mark.topic("000/W11", "003/H.9")
def test_contraction_of_the_factors_gives_the_same_answers(hmm):
    x = [0, 1, 2, 2, 0]
    factors, post = hmm.to_factors(x), hmm.smooth(x, pairs=True)
    assert [f.names for f in factors[:3]] == [("z1",), ("z1", "z2"), ("z2", "z3")]
    np.testing.assert_allclose(contract(factors).log_total, hmm.log_prob(x), rtol=1e-12)
    for t in range(5):
        marginal = contract(factors, f"z{t + 1}").normalize().factor.values
        np.testing.assert_allclose(marginal, post.probabilities[t], rtol=1e-11)
    for t in range(4):  # a factor's belief needs β, too
        pair = contract(factors, (f"z{t + 1}", f"z{t + 2}")).normalize().factor.values
        np.testing.assert_allclose(pair, post.pair_probabilities[t], rtol=1e-11)
    best = decode(factors).assignment
    np.testing.assert_array_equal([best[f"z{t + 1}"] for t in range(5)], hmm.decode(x).states)


def test_steps_of_the_filter_are_the_filter_of_all_rows(hmm):
    x = [0, 1, 2, 2, 1]
    whole, now = hmm.filter(x), hmm.filter(x[:1])
    for t in range(1, 5):
        now = hmm.step(now, x[t])
        np.testing.assert_allclose(now.probabilities, whole.probabilities[t : t + 1], rtol=1e-12)
    np.testing.assert_allclose(now.log_evidence, whole.log_evidence, rtol=1e-13)
    np.testing.assert_allclose(whole.probabilities[-1], hmm.smooth(x).probabilities[-1], rtol=1e-12)


def test_the_filter_keeps_a_state_that_only_logarithms_can_hold():
    """The first state is 5000 nats ahead until a row that only the second can emit."""
    chain = HiddenMarkovChain([0.5, 0.5], np.eye(2), Normal([0.0, 100.0], variance=[1.0, 1.0]))
    now = chain.filter([0.0])
    now = chain.step(chain.step(now, 100.0), 100.0)
    np.testing.assert_array_equal(now.probabilities, [[0.0, 1.0]])
    np.testing.assert_allclose(now.log_evidence, chain.log_prob([0.0, 100.0, 100.0]), rtol=1e-12)


def test_forecasts_are_mixtures_by_the_powers_of_the_transition(hmm):
    future = hmm.forecast(X, 3)
    assert future.batch_shape == (3,)
    p = hmm.smooth(X).probabilities[-1]
    for h in range(3):
        p = p @ hmm.transition
        expected = p @ hmm.emission.probabilities
        np.testing.assert_allclose(
            np.exp(future.log_prob([[0], [1], [2]]))[:, h], expected, rtol=1e-12
        )
    joint = [hmm.log_prob([*X, s]) for s in range(3)]
    np.testing.assert_allclose(future.log_prob([[0], [1], [2]])[:, 0], joint - hmm.log_prob(X))
    with pytest.raises(ValueError, match="horizon"):
        hmm.forecast(X, 0)


def test_forecasts_of_vectors_and_of_columns():
    means, moves = np.array([[0.0, 1.0], [4.0, -2.0]]), [[0.9, 0.1], [0.2, 0.8]]
    x = np.array([[0.1, 0.8], [3.8, -1.0]])
    vectors = HiddenMarkovChain([0.5, 0.5], moves, MvNormal(means, cov=[np.eye(2)] * 2))
    columns = HiddenMarkovChain([0.5, 0.5], moves, Normal(means, variance=np.ones((2, 2))))
    np.testing.assert_allclose(columns.log_prob(x), vectors.log_prob(x), rtol=1e-12)
    ahead, each = vectors.forecast(x, 4), columns.forecast(x, 4)
    assert (ahead.batch_shape, ahead.event_shape) == ((4,), (2,))
    assert (each.batch_shape, each.event_shape) == ((4,), (2,))
    assert isinstance(ahead, Mixture)
    np.testing.assert_allclose(each.log_prob(means[0]), ahead.log_prob(means[0]), rtol=1e-12)
    np.testing.assert_allclose(each.mean, ahead.mean, rtol=1e-12)
    np.testing.assert_allclose(each.variance, ahead.variance, rtol=1e-12)


def test_a_list_of_sequences_has_a_number_each(hmm):
    sequences = [[0, 1, 2], [2], [1, 1]]
    expected = [hmm.log_prob(one) for one in sequences]
    np.testing.assert_allclose(hmm.log_prob(sequences), expected, rtol=1e-13)
    np.testing.assert_allclose(hmm.log_prob(np.array([[0], [1], [2]])), hmm.log_prob(X))
    np.testing.assert_allclose(hmm.log_prob([[0], [1], [2]]), [hmm.log_prob([s]) for s in X])
    normal = HiddenMarkovChain([1.0], [[1.0]], MvNormal([[0.0, 0.0]], cov=[np.eye(2)]))
    rows = [[0.0, 1.0], [1.0, 2.0]]
    assert np.ndim(normal.log_prob(rows)) == 0
    assert normal.log_prob([np.array(rows), np.array(rows[:1])]).shape == (2,)
    with pytest.raises(ValueError, match="one sequence here"):
        hmm.smooth(sequences)


@pytest.mark.topic("000/W15")
def test_draws_have_the_frequencies_of_the_chain(hmm):
    drawn = hmm.sample(20000, rng=0)
    assert drawn.states.shape == drawn.observations.shape == (20000,)
    moves = np.zeros((2, 2))
    np.add.at(moves, (drawn.states[:-1], drawn.states[1:]), 1.0)
    for table, expected, counts in (
        (moves, hmm.transition, moves.sum(axis=1)),
        (
            np.array(
                [np.bincount(drawn.observations[drawn.states == k], minlength=3) for k in (0, 1)]
            ),
            hmm.emission.probabilities,
            np.bincount(drawn.states),
        ),
    ):
        error = np.sqrt(expected * (1 - expected) / counts[:, None])
        assert np.all(np.abs(table / counts[:, None] - expected) < 5 * error)
    again = hmm.sample(20000, rng=0)
    np.testing.assert_array_equal(drawn.observations, again.observations)


def test_drawn_paths_have_the_smoothed_frequencies(hmm):
    paths = hmm.sample_paths(X, 4000, rng=1)
    gamma = hmm.smooth(X).probabilities[:, 1]
    error = np.sqrt(gamma * (1 - gamma) / 4000)
    assert np.all(np.abs(paths.mean(axis=0) - gamma) < 5 * error)


@pytest.mark.topic("001/4.1")
def test_symbols_and_states_may_have_names():
    words = Categorical([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], labels=("work", "well", "the"))
    tagger = HiddenMarkovChain(
        [0.5, 0.5], [[0.2, 0.8], [0.6, 0.4]], words, states=("verb", "other")
    )
    codes = HiddenMarkovChain([0.5, 0.5], tagger.transition, Categorical(words.probabilities))
    text, numbers = ["the", "work", "well"], [2, 0, 1]
    np.testing.assert_allclose(tagger.log_prob(text), codes.log_prob(numbers), rtol=1e-13)
    named = np.array(["verb", "other"])[codes.decode(numbers).states]
    np.testing.assert_array_equal(tagger.decode(text).states, named)
    best = tagger.joint_log_prob(text, named)
    np.testing.assert_allclose(best, codes.decode(numbers).log_joint, rtol=1e-13)
    gap = tagger.log_prob(["the", None, "well"])
    np.testing.assert_allclose(gap, codes.log_prob([2, np.nan, 1]), rtol=1e-13)
    assert set(tagger.sample(5, rng=0).observations) <= set(words.labels)
    assert tagger.to_factors(text)[0].labels["z1"] == ("verb", "other")
    with pytest.raises(ValueError, match="'wall' is no label; did you mean 'well'"):
        tagger.log_prob(["the", "wall"])
    with pytest.raises(ValueError, match="'noun' is no label"):
        tagger.joint_log_prob(text, ["noun"] * 3)


EMISSIONS = {
    "numbers": (Poisson(rate=[1.0, 4.0]), [2.0, np.nan, 5.0]),
    "columns": (
        Normal([[0.0, 1.0], [2.0, -1.0]], variance=[[1.0, 2.0], [0.5, 1.0]]),
        [[0.2, np.nan], [np.nan, np.nan], [1.0, -0.5]],
    ),
    "vectors": (
        MvNormal(
            [[0.0, 1.0], [2.0, -1.0]], cov=[[[1.0, 0.4], [0.4, 2.0]], [[0.5, 0.1], [0.1, 1.0]]]
        ),
        [[0.2, np.nan], [np.nan, np.nan], [1.0, -0.5]],
    ),
}


@pytest.mark.parametrize("kind", EMISSIONS)
def test_missing_entries_are_integrated_out(kind):
    """The density of what is seen: the other entries' marginal, and nothing for a missing row."""
    emission, x = EMISSIONS[kind]
    chain = HiddenMarkovChain([0.3, 0.7], [[0.8, 0.2], [0.3, 0.7]], emission)
    if kind == "numbers":
        seen = np.array([emission.log_prob([2.0]), emission.log_prob([5.0])])
    else:
        cov = emission.variance if kind == "columns" else emission.cov[:, [0, 1], [0, 1]]
        first = Normal(emission.mean[:, 0], variance=cov[:, 0]).log_prob(0.2)
        last = emission.log_prob([x[2]] if kind == "columns" else x[2])
        seen = np.array([first, last.sum(axis=-1) if kind == "columns" else last])
    start, end = chain.initial * np.exp(seen[0]), np.exp(seen[1])
    expected = start @ chain.transition @ chain.transition @ end
    np.testing.assert_allclose(chain.log_prob(x), np.log(expected), rtol=1e-12)


def test_vectors_of_student_t_are_missing_by_entry():
    from posteriori import MvStudentT, StudentT

    scale = np.array([[1.0, 0.3], [0.3, 2.0]])
    family = MvStudentT(5.0, [[0.0, 0.0], [2.0, 2.0]], scale=[scale] * 2)
    chain = HiddenMarkovChain([0.3, 0.7], [[0.8, 0.2], [0.3, 0.7]], family)
    seen = StudentT(5.0, [0.0, 2.0], scale=np.sqrt(2.0)).log_prob(1.0)
    expected = np.log(chain.initial @ np.exp(seen))
    np.testing.assert_allclose(chain.log_prob([[np.nan, 1.0]]), expected, rtol=1e-12)


def test_other_vectors_are_missing_by_row():
    from posteriori import Dirichlet

    family = Dirichlet([[2.0, 1.0, 1.0], [1.0, 1.0, 4.0]])
    chain = HiddenMarkovChain([0.3, 0.7], [[0.8, 0.2], [0.3, 0.7]], family)
    rows = [[0.1, 0.3, 0.6], [0.5, np.nan, 0.5], [0.2, 0.2, 0.6]]
    dropped = [rows[0], [np.nan] * 3, rows[2]]
    np.testing.assert_allclose(chain.log_prob(rows), chain.log_prob(dropped), rtol=1e-13)


def test_an_emission_may_be_any_object_with_densities_and_draws():
    class Parabolas:
        def log_prob(self, x):
            return -((x[:, :1] - np.array([0.0, 3.0])) ** 2)

        def sample(self, codes, rng):
            return rng.normal(size=(len(codes), 1)) + 3.0 * codes[:, None]

    chain = HiddenMarkovChain([0.5, 0.5], [[0.9, 0.1], [0.1, 0.9]], Parabolas())
    same = HiddenMarkovChain([0.5, 0.5], chain.transition, Normal([0.0, 3.0], variance=[0.5, 0.5]))
    x = np.array([0.1, 2.9, 3.3])
    offset = 3 * 0.5 * np.log(np.pi)
    np.testing.assert_allclose(chain.log_prob(x), same.log_prob(x) + offset, rtol=1e-12)
    assert chain.sample(6, rng=0).observations.shape == (6, 1)
    ahead = chain.forecast(x, 2)
    np.testing.assert_allclose(
        ahead.log_prob([[0.5]]), same.forecast(x, 2).log_prob(0.5) + offset / 3, rtol=1e-12
    )
    with pytest.raises(TypeError, match="have no mean; draw rows with sample"):
        _ = ahead.mean


def test_values_are_equal_by_their_parameters_and_locked(hmm):
    twin = HiddenMarkovChain(hmm.initial, hmm.transition, hmm.emission)
    assert twin == hmm
    assert hmm != HiddenMarkovChain([0.5, 0.5], hmm.transition, hmm.emission)
    with pytest.raises(ValueError, match="read-only"):
        hmm.transition[0, 0] = 0.0
    with pytest.raises(AttributeError):
        hmm.initial = [1.0, 0.0]


FAIR = Categorical([[0.5, 0.5], [0.5, 0.5]])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (([0.5, 0.4], np.eye(2), FAIR), ValueError, "initial must sum to 1"),
        (([0.5, 0.5], [[0.5, 0.5], [0.5, 0.51]], FAIR), ValueError, "transition must sum to 1"),
        (([0.5, 0.5], np.eye(3), FAIR), ValueError, r"transition must have shape \(2, 2\)"),
        (([0.5, 0.5], np.eye(2), Normal(0.0, variance=1.0)), ValueError, r"a batch \(2,\)"),
        (([0.5, 0.5], np.eye(2), "normal"), TypeError, "emission must be a distribution"),
    ],
)
def test_bad_parameters_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        HiddenMarkovChain(*arguments)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([], "at least one row"),
        ([0.0, np.inf], "row 1 holds ±inf"),
        ([0, 7], "x holds 7 in row 1"),
        ([[0, 1], []], "at least one row"),
        (np.zeros((3, 2)), "x must have 1 columns, got 2"),
    ],
)
def test_bad_sequences_are_named(hmm, x, message):
    with pytest.raises(ValueError, match=message):
        hmm.log_prob(x)


def test_impossible_sequences_name_the_step():
    stuck = HiddenMarkovChain([1.0, 0.0], np.eye(2), Categorical([[1.0, 0.0], [0.0, 1.0]]))
    for question in (stuck.log_prob, stuck.smooth, stuck.decode, stuck.filter):
        with pytest.raises(ValueError, match="time step 2"):
            question([0, 0, 1])
    with pytest.raises(ValueError, match="time step 1 of sequence 1"):
        stuck.log_prob([[0, 0], [0, 1]])
    assert stuck.joint_log_prob([0, 0], [0, 1]) == -np.inf
    with pytest.raises(ValueError, match="states must lie in 0 … 1, got 2"):
        stuck.joint_log_prob([0, 0], [0, 2])
    with pytest.raises(ValueError, match="states must have shape"):
        stuck.joint_log_prob([0, 0], [0])
    with pytest.raises(ValueError, match="states must name the 2 states"):
        HiddenMarkovChain([1.0, 0.0], np.eye(2), FAIR, states=["a"])


# -- several paths ---------------------------------------------------------------------------


@given(seed=st.integers(0, 10**6), length=st.integers(1, 4), n=st.integers(1, 12))
def test_the_n_best_paths_of_all(seed, length, n):
    chain = random_chain(seed)
    x = np.random.default_rng(seed + 1).integers(0, 4, length)
    paths, logs = all_paths(chain, x)
    order = np.argsort(-logs)[:n]
    found = chain.decode(x, n=n)
    np.testing.assert_allclose(found.log_joint, logs[order], rtol=1e-12)
    log_of = {tuple(path): log for path, log in zip(paths, logs, strict=True)}
    said = [tuple(path) for path in found.states]  # of equally probable paths either may be first
    assert len(set(said)) == len(said)
    np.testing.assert_allclose([log_of[path] for path in said], found.log_joint, rtol=1e-12)


@pytest.mark.topic("000/W10")
def test_all_optimal_paths_are_yielded_up_to_a_limit(hmm):
    np.testing.assert_array_equal(list(hmm.optimal_paths(X)), [[0, 0, 1]])
    fair = HiddenMarkovChain([0.5, 0.5], [[0.5, 0.5]] * 2, FAIR, states=("a", "b"))
    assert len(list(fair.optimal_paths([0] * 12))) == 1000
    everything = [tuple(path) for path in fair.optimal_paths([0] * 12, limit=None)]
    assert len(everything) == len(set(everything)) == 2**12
    assert set("".join(everything[0])) == {"a"}


# -- run lengths -----------------------------------------------------------------------------


@pytest.fixture
def runs():
    return HiddenMarkovChain(
        [0.5, 0.3, 0.2],
        [[0.0, 0.6, 0.4], [0.5, 0.0, 0.5], [0.9, 0.1, 0.0]],
        Categorical([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]),
        durations=[[0.1, 0.5, 0.4], [0.0, 0.3, 0.7], [0.6, 0.4, 0.0]],
    )


@pytest.mark.topic("003/H.11")
def test_answers_about_runs_are_sums_over_all_paths(runs):
    x = [0, 0, 1, 1, 2]
    paths, logs = all_paths(runs, x)
    total = np.logaddexp.reduce(logs)
    np.testing.assert_allclose(runs.log_prob(x), total, rtol=1e-12)
    np.testing.assert_allclose(runs.log_prob([x, x[:2]])[0], total, rtol=1e-12)
    each = (paths[:, :, None] == np.arange(3)) * np.exp(logs - total)[:, None, None]
    np.testing.assert_allclose(runs.smooth(x).probabilities, each.sum(axis=0), rtol=1e-10)
    order = np.argsort(-logs)[:7]
    best = runs.decode(x, n=7)
    np.testing.assert_array_equal(best.states, paths[order])
    np.testing.assert_allclose(best.log_joint, logs[order], rtol=1e-12)
    np.testing.assert_array_equal(runs.decode(x).states, paths[order[0]])
    np.testing.assert_array_equal(list(runs.optimal_paths(x)), paths[order[:1]])


def test_the_probabilities_of_all_sequences_add_up_to_1(runs):
    sequences = [list(x) for x in product(range(3), repeat=4)]
    np.testing.assert_allclose(np.exp(runs.log_prob(sequences)).sum(), 1.0, rtol=1e-12)


def test_runs_filter_step_forecast_and_draw(runs):
    x = [0, 0, 1, 1, 2]
    now = runs.filter(x[:3])
    for row in x[3:]:
        now = runs.step(now, row)
    np.testing.assert_allclose(now.log_evidence, runs.log_prob(x), rtol=1e-12)
    np.testing.assert_allclose(now.probabilities[0], runs.smooth(x).probabilities[-1], rtol=1e-10)
    future = runs.forecast(x, 2)
    joint = [[runs.log_prob([*x, a, b]) for b in range(3)] for a in range(3)]
    shares = np.exp(np.array(joint) - runs.log_prob(x))
    for h, axis in enumerate((1, 0)):
        expected = np.exp(future.log_prob([[0], [1], [2]]))[:, h]
        np.testing.assert_allclose(shares.sum(axis=axis), expected, rtol=1e-10)
    drawn = runs.sample(3000, rng=0).states
    ends = np.append(np.flatnonzero(np.diff(drawn)), 2999)
    lengths, states = np.diff(ends, prepend=-1)[:-1], drawn[ends][:-1]
    for k in range(3):
        seen = np.bincount(lengths[states == k], minlength=4)[1:] / (states == k).sum()
        p = runs.durations[k]
        assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / (states == k).sum()))


@pytest.mark.parametrize(
    ("transition", "durations", "message"),
    [
        ([[0.1, 0.9], [1.0, 0.0]], [[1.0], [1.0]], "diagonal must be 0, state 0 follows itself"),
        ([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.4], [1.0, 0.0]], "durations must sum to 1"),
        ([[0.0, 1.0], [1.0, 0.0]], [[0.5, 0.5]], r"durations must have shape \(2, longest\)"),
    ],
)
def test_bad_durations_are_named(transition, durations, message):
    with pytest.raises(ValueError, match=message):
        HiddenMarkovChain([0.5, 0.5], transition, FAIR, durations=durations)


def test_what_runs_cannot_answer_is_refused(runs):
    with pytest.raises(ValueError, match="without durations"):
        runs.to_factors([0, 1])
    with pytest.raises(ValueError, match="pairs"):
        runs.smooth([0, 1], pairs=True)
    assert runs != HiddenMarkovChain(runs.initial, runs.transition, runs.emission)
