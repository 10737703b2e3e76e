"""Hidden Markov chains against the sum over all paths."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.inference import forward_backward, impossible_steps, most_likely_path, sample_path
from posteriori.inference.state_chains import hidden_markov
from posteriori.inference.state_chains.chain_weights import chain_weights
from posteriori.inference.state_chains.scaled_chains import scaled_filter
from tests.inference.oracles import enumerate_paths


def log(x):
    with np.errstate(divide="ignore"):
        return np.log(np.asarray(x, dtype=float))


def random_model(rng, n_steps, n_states, *, varying=False, zeros=0.0, spread=2.0):
    lead = (n_steps - 1,) if varying else ()
    transition = rng.dirichlet(np.ones(n_states), (*lead, n_states))
    transition[rng.random(transition.shape) < zeros] = 0.0
    initial = rng.dirichlet(np.ones(n_states))
    return log(initial), log(transition), spread * rng.normal(size=(n_steps, n_states))


def assert_equals_enumeration(model, rtol=1e-10):
    paths = enumerate_paths(*model)
    post = forward_backward(*model, pairs=True)
    np.testing.assert_allclose(post.probabilities, paths.probabilities, rtol=rtol, atol=1e-13)
    np.testing.assert_allclose(post.pair_probabilities, paths.pairs, rtol=rtol, atol=1e-13)
    np.testing.assert_allclose(post.pair_sums, paths.pairs.sum(axis=0), rtol=rtol, atol=1e-13)
    np.testing.assert_allclose(post.log_evidence, paths.log_evidence, rtol=1e-12)
    best = most_likely_path(*model)
    np.testing.assert_allclose(best.log_joint, paths.log_best, rtol=1e-12)
    np.testing.assert_array_equal(best.states, paths.best)


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize(("n_steps", "n_states"), [(1, 3), (2, 2), (5, 3), (7, 2), (4, 5)])
def test_equals_the_sum_over_all_paths(engine, n_steps, n_states, varying):
    rng = np.random.default_rng(n_steps * 10 + n_states)
    assert_equals_enumeration(random_model(rng, n_steps, n_states, varying=varying))


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4), st.booleans(), st.booleans())
def test_any_chain_equals_the_sum_over_all_paths(seed, n_steps, n_states, varying, sparse):
    rng = np.random.default_rng(seed)
    model = random_model(rng, n_steps, n_states, varying=varying, zeros=0.3 * sparse)
    if not np.isfinite(enumerate_paths(*model).log_best):
        with pytest.raises(ValueError, match="probability 0"):
            forward_backward(*model)
    else:
        assert_equals_enumeration(model)


@given(st.integers(0, 10**6), st.integers(2, 6), st.sampled_from([50.0, 150.0, 400.0]))
def test_weights_far_apart_lose_no_state(seed, n_steps, spread):
    """Forbidden transitions and weights over hundreds of orders of magnitude, scaled or not."""
    rng = np.random.default_rng(seed)
    initial, transition, likelihood = random_model(rng, n_steps, 3, zeros=0.3, spread=spread)
    transition = transition - 100.0 * rng.random((3, 3))
    model = initial, transition, likelihood
    paths = enumerate_paths(*model)
    if np.isfinite(paths.log_best):
        post = forward_backward(*model)
        np.testing.assert_allclose(post.probabilities, paths.probabilities, atol=1e-11)
        np.testing.assert_allclose(post.log_evidence, paths.log_evidence, rtol=1e-12)


def test_impossible_states_and_transitions(engine):
    initial = log([1.0, 0.0, 0.0])  # left to right
    transition = log([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    likelihood = np.random.default_rng(1).normal(size=(5, 3))
    likelihood[2, 1] = -np.inf
    assert_equals_enumeration((initial, transition, likelihood))


@pytest.mark.parametrize("low", [-700.0, -1e4, -1e6])
def test_very_unlikely_data_keep_their_digits(engine, low):
    rng = np.random.default_rng(2)
    initial, transition, likelihood = random_model(rng, 6, 3)
    assert_equals_enumeration((initial, transition, likelihood + low))
    one_far = likelihood.copy()
    one_far[:, 1] += low
    assert_equals_enumeration((initial, transition, one_far))


def test_a_state_far_below_the_others_is_kept_where_only_it_can_go_on(engine):
    initial = log([0.5, 0.5])
    transition = log([[1.0, 0.0], [0.0, 1.0]])  # states never change
    likelihood = np.array([[0.0, -5000.0], [-1e6, 0.0], [0.0, 3.0]])
    model = initial, transition, likelihood
    assert_equals_enumeration(model)
    post = forward_backward(*model)
    np.testing.assert_array_equal(post.probabilities, [[0, 1]] * 3)
    np.testing.assert_array_equal(sample_path(*model, 5, rng=0), np.ones((5, 3)))


def test_the_likeliest_state_may_be_impossible(engine):
    initial = log([1.0, 0.0, 0.0])
    transition = log([[0.5, 0.5, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    likelihood = np.array([[0.0, 0.0, 0.0], [-4000.0, -4001.0, 0.0], [-1e5, -1e5, 7.0]])
    assert_equals_enumeration((initial, transition, likelihood))


def test_tiny_weights_of_a_dense_chain(engine):
    initial = np.array([0.0, -800.0])
    transition = np.array([[0.0, -2000.0], [-900.0, -1.0]])  # not normalised, far apart
    likelihood = np.array([[-2000.0, 0.0], [0.0, 0.0], [-3000.0, 0.0]])
    assert_equals_enumeration((initial, transition, likelihood))


def test_weights_need_not_be_normalised(engine):
    rng = np.random.default_rng(3)
    initial, transition, likelihood = random_model(rng, 5, 3)
    post = forward_backward(initial, transition, likelihood)
    moved = forward_backward(initial + 5.0, transition - 40.0, likelihood + 300.0)
    np.testing.assert_allclose(moved.probabilities, post.probabilities, rtol=1e-11)
    expected = post.log_evidence + 5.0 - 4 * 40.0 + 5 * 300.0
    np.testing.assert_allclose(moved.log_evidence, expected, rtol=1e-12)


def test_one_step_is_a_mixture(engine):
    weights, likelihood = np.array([0.2, 0.5, 0.3]), np.array([[1.0, -0.5, 0.3]])
    post = forward_backward(log(weights), np.zeros((3, 3)), likelihood)
    joint = weights * np.exp(likelihood[0])
    np.testing.assert_allclose(post.probabilities[0], joint / joint.sum(), rtol=1e-13)
    np.testing.assert_allclose(post.log_evidence, np.log(joint.sum()), rtol=1e-13)
    np.testing.assert_array_equal(post.pair_sums, np.zeros((3, 3)))


def test_equal_rows_are_independent_mixtures(engine):
    rng = np.random.default_rng(4)
    weights, likelihood = rng.dirichlet(np.ones(3)), rng.normal(size=(8, 3))
    post = forward_backward(log(weights), log(np.tile(weights, (3, 1))), likelihood)
    joint = weights * np.exp(likelihood)
    expected = joint / joint.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(post.probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(post.log_evidence, np.log(joint.sum(axis=1)).sum(), rtol=1e-12)


def test_missing_steps_are_marginalised_out(engine):
    rng = np.random.default_rng(5)
    initial, transition, likelihood = random_model(rng, 3, 3)
    gap = np.insert(likelihood, 1, 0.0, axis=0)
    a = np.exp(transition)
    short = forward_backward(initial, log(np.stack([a @ a, a])), likelihood)
    long = forward_backward(initial, transition, gap)
    np.testing.assert_allclose(long.probabilities[[0, 2, 3]], short.probabilities, rtol=1e-11)
    np.testing.assert_allclose(long.log_evidence, short.log_evidence, rtol=1e-12)


def test_a_batch_is_a_loop_over_its_series(engine):
    rng = np.random.default_rng(6)
    initial, transition, _ = random_model(rng, 5, 3)
    likelihood = rng.normal(size=(2, 4, 5, 3))
    post = forward_backward(initial, transition, likelihood, pairs=True)
    best = most_likely_path(initial, transition, likelihood)
    assert post.log_evidence.shape == best.log_joint.shape == (2, 4)
    for index in np.ndindex(2, 4):
        one = forward_backward(initial, transition, likelihood[index], pairs=True)
        for field in one._fields:
            whole, alone = getattr(post, field)[index], getattr(one, field)
            np.testing.assert_allclose(whole, alone, rtol=1e-12)
        path = most_likely_path(initial, transition, likelihood[index])
        np.testing.assert_array_equal(best.states[index], path.states)
        np.testing.assert_allclose(best.log_joint[index], path.log_joint, rtol=1e-13)


def test_relabelling_the_states_relabels_the_answer(engine):
    rng = np.random.default_rng(7)
    initial, transition, likelihood = random_model(rng, 6, 4)
    order = np.array([2, 0, 3, 1])
    post = forward_backward(initial, transition, likelihood)
    turned = forward_backward(
        initial[order], transition[np.ix_(order, order)], likelihood[:, order]
    )
    np.testing.assert_allclose(turned.probabilities, post.probabilities[:, order], rtol=1e-12)
    np.testing.assert_allclose(
        turned.pair_sums, post.pair_sums[np.ix_(order, order)], rtol=1e-12
    )  # fmt: skip


def test_pair_sums_add_up_to_the_probabilities(engine):
    rng = np.random.default_rng(8)
    post = forward_backward(*random_model(rng, 9, 3))
    np.testing.assert_allclose(post.pair_sums.sum(axis=1), post.probabilities[:-1].sum(axis=0))
    np.testing.assert_allclose(post.pair_sums.sum(axis=0), post.probabilities[1:].sum(axis=0))
    assert post.pair_probabilities is None


def test_paths_are_drawn_with_their_probabilities(engine):
    rng = np.random.default_rng(9)
    model = random_model(rng, 4, 2, varying=True)
    count = 20000
    draws = sample_path(*model, count, rng=1)
    assert draws.shape == (count, 4)
    paths = enumerate_paths(*model)
    for t in range(3):
        seen = np.zeros((2, 2))
        np.add.at(seen, (draws[:, t], draws[:, t + 1]), 1.0 / count)
        error = np.sqrt(paths.pairs[t] * (1 - paths.pairs[t]) / count)
        assert np.all(np.abs(seen - paths.pairs[t]) < 5 * error + 1e-12)


def test_draws_of_a_batch_belong_to_their_series_and_to_the_seed(engine):
    sure = np.array([[[0.0, -900.0]] * 3, [[-900.0, 0.0]] * 3])
    draws = sample_path(log([0.5, 0.5]), log([[0.5, 0.5]] * 2), sure, 4, rng=0)
    np.testing.assert_array_equal(draws, np.broadcast_to([[0], [1]], (4, 2, 3)))


def test_both_engines_draw_the_same_paths(set_engine):
    model = random_model(np.random.default_rng(10), 50, 4)
    set_engine("plain")
    plain = sample_path(*model, 3, rng=5)
    set_engine("compiled")
    np.testing.assert_array_equal(sample_path(*model, 3, rng=5), plain)


def test_log_space_and_scaling_agree_on_long_chains(monkeypatch, set_engine):
    model = random_model(np.random.default_rng(11), 3000, 5)
    set_engine("compiled")
    scaled = forward_backward(*model)
    monkeypatch.setattr(hidden_markov, "_scaled_pass", lambda *_: None)
    logs = forward_backward(*model)
    set_engine("plain")
    plain = forward_backward(*model)
    for other in (logs, plain):
        np.testing.assert_allclose(scaled.probabilities, other.probabilities, rtol=1e-9, atol=1e-14)
        np.testing.assert_allclose(scaled.pair_sums, other.pair_sums, rtol=1e-10)
        np.testing.assert_allclose(scaled.log_evidence, other.log_evidence, rtol=1e-13)


def test_scaling_hands_over_to_log_space_when_a_state_would_be_lost():
    transition = log([[1.0, 0.0], [0.0, 1.0]])
    likelihood = np.tile([0.0, -1.0], (2000, 1))
    likelihood[-1] = [-np.inf, 0.0]
    assert scaled_filter(chain_weights(log([0.5, 0.5]), transition, likelihood)) is None
    post = forward_backward(log([0.5, 0.5]), transition, likelihood)
    np.testing.assert_allclose(post.log_evidence, np.log(0.5) - 1999.0, rtol=1e-13)
    np.testing.assert_array_equal(post.probabilities[:, 1], 1.0)


@pytest.mark.parametrize("call", [forward_backward, most_likely_path, sample_path])
def test_contradictory_data_name_the_time_step(engine, call):
    likelihood = np.zeros((2, 6, 2))
    likelihood[1, 3] = -np.inf
    with pytest.raises(ValueError, match="no state is possible at time step 3"):
        call(log([0.5, 0.5]), log([[0.5, 0.5]] * 2), likelihood)
    blocked = np.zeros((4, 2))
    blocked[2, 0] = -np.inf
    with pytest.raises(ValueError, match="time step 2"):
        call(log([1.0, 0.0]), log([[1.0, 0.0], [0.5, 0.5]]), blocked)
    with pytest.raises(ValueError, match="time step 0"):
        call(log([1.0, 0.0]), np.zeros((2, 2)), log([[0.0, 1.0]]))


@pytest.mark.parametrize(
    ("initial", "transition", "likelihood", "message"),
    [
        (np.zeros(2), np.zeros((2, 2)), np.zeros(2), r"log_likelihood must have shape \(..., T, K"),
        (np.zeros(2), np.zeros((2, 2)), np.zeros((0, 2)), "log_likelihood must have shape"),
        (np.zeros(3), np.zeros((2, 2)), np.zeros((4, 2)), r"log_initial must have shape \(2,\)"),
        (np.zeros(2), np.zeros((3, 3)), np.zeros((4, 2)), r"log_transition must have shape \(2, 2"),
        (np.zeros(2), np.zeros((4, 2, 2)), np.zeros((4, 2)), r"\(3, 2, 2\), got \(4, 2, 2\)"),
        (
            np.zeros(2),
            np.zeros((2, 2)),
            np.full((4, 2), np.nan),
            "log_likelihood must hold numbers",
        ),
        (
            np.zeros(2),
            np.full((2, 2), np.inf),
            np.zeros((4, 2)),
            "log_transition must hold numbers",
        ),
    ],
)
def test_bad_shapes_and_values_are_named(initial, transition, likelihood, message):
    with pytest.raises(ValueError, match=message):
        forward_backward(initial, transition, likelihood)


@pytest.mark.parametrize("n_steps", [5, 1500])
def test_the_series_that_is_impossible_is_named(n_steps):
    """Nobody leaves a state: a series is impossible from the first step that forbids its own."""
    likelihood = np.zeros((2, 3, n_steps, 2))
    likelihood[1, 2, 1, 0] = likelihood[1, 2, 4, 1] = -np.inf
    model = np.zeros(2), log(np.eye(2)), likelihood
    expected = np.full((2, 3), -1)
    expected[1, 2] = 4
    np.testing.assert_array_equal(impossible_steps(*model), expected)
    for method in (forward_backward, most_likely_path, sample_path):
        with pytest.raises(ValueError, match=r"time step 4 of series \(1, 2\)"):
            method(*model)
        with pytest.raises(ValueError, match="time step 4 of series 2 "):
            method(*model[:2], likelihood[1])
        with pytest.raises(ValueError, match="time step 4 given"):
            method(*model[:2], likelihood[1, 2])


@given(seed=st.integers(0, 10**6), varying=st.booleans())
def test_impossible_steps_are_where_the_shorter_chains_end(seed, varying):
    rng = np.random.default_rng(seed)
    initial, transition, likelihood = random_model(rng, 4, 2, varying=varying, zeros=0.4)
    likelihood[rng.random(likelihood.shape) < 0.3] = -np.inf
    step = int(impossible_steps(initial, transition, likelihood))
    weights = []
    for t in range(1, 5):
        moves = transition[: t - 1] if varying else transition
        alpha = np.exp(initial + likelihood[0])
        for k in range(1, t):
            alpha = (alpha @ np.exp(moves[k - 1] if varying else moves)) * np.exp(likelihood[k])
        weights.append(alpha.sum())
    dead = np.flatnonzero(np.array(weights) == 0.0)
    assert step == (dead[0] if len(dead) else -1)
