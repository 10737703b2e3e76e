"""Chains against one dense joint Gaussian, and against themselves."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori import MvNormal, Normal, bayes
from posteriori.inference import (
    LinearGaussianChain,
    filter_chain,
    predict_chain,
    sample_chain_posterior,
    simulate_chain,
    smooth_chain,
)
from posteriori.inference.chains import chain_passes
from posteriori.numerics.compilation import run
from tests.inference.oracles import dense_posterior, random_chain

pytestmark = pytest.mark.blas

LEVEL = LinearGaussianChain(0.0, 4.0, 1.0, 0.0, 0.5, 1.0, 0.0, 2.0)


def holes(rng, shape, share=0.3):
    return np.where(rng.random(shape) < share, np.nan, rng.normal(size=shape) * 2)


def assert_equals_dense(chain, y, rtol=1e-9):
    post, dense = smooth_chain(chain, y), dense_posterior(chain, y)
    np.testing.assert_allclose(post.mean, dense.mean, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(post.cov, dense.cov, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(post.cross_cov, dense.cross_cov, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(post.log_evidence, dense.log_evidence, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("varying", [False, True])
@pytest.mark.parametrize(("size", "outputs"), [(1, 1), (3, 2), (2, 3), (4, 1)])
def test_smoother_equals_the_dense_joint(engine, size, outputs, varying):
    rng = np.random.default_rng(size * 10 + outputs)
    chain = random_chain(rng, size, outputs, 6, varying=varying)
    assert_equals_dense(chain, rng.normal(size=(6, outputs)))
    assert_equals_dense(chain, holes(rng, (6, outputs)))


@given(
    st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 3), st.integers(1, 7), st.booleans()
)
def test_any_chain_equals_the_dense_joint(seed, size, outputs, n_steps, varying):
    rng = np.random.default_rng(seed)
    chain = random_chain(rng, size, outputs, n_steps, varying=varying)
    y = holes(rng, (n_steps, outputs), rng.random())
    post, dense = smooth_chain(chain, y), dense_posterior(chain, y)
    np.testing.assert_allclose(post.mean, dense.mean, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(post.cov, dense.cov, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(post.log_evidence, dense.log_evidence, rtol=1e-8, atol=1e-8)


def test_the_compiler_sees_one_type_whatever_the_order_of_the_data(monkeypatch):
    orders = []

    def run_and_note(body, work, *arguments, series=()):
        arrays = [a for a in (*arguments, *series) if isinstance(a, np.ndarray)]
        orders.extend(a.flags.c_contiguous for a in arrays)
        return run(body, work, *arguments, series=series)

    monkeypatch.setattr(chain_passes, "run", run_and_note)
    rng = np.random.default_rng(0)
    filter_chain(random_chain(rng, 2, 3, 6), np.asfortranarray(holes(rng, (6, 3))))
    assert orders
    assert all(orders)


def test_filter_at_t_is_the_smoother_of_the_data_up_to_t(engine):
    rng = np.random.default_rng(3)
    chain = random_chain(rng, 3, 2, 7)
    y = holes(rng, (7, 2))
    filtered = filter_chain(chain, y)
    for t in range(7):
        part = smooth_chain(chain, y[: t + 1])
        np.testing.assert_allclose(filtered.mean[t], part.mean[-1], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(filtered.cov[t], part.cov[-1], rtol=1e-10, atol=1e-12)
        total = filtered.log_predictive[: t + 1].sum()
        np.testing.assert_allclose(total, part.log_evidence, rtol=1e-10, atol=1e-12)


def test_transitions_of_length_t_and_t_minus_one_mean_the_same(engine):
    rng = np.random.default_rng(4)
    chain = random_chain(rng, 2, 2, 5, varying=True)
    y = rng.normal(size=(5, 2))
    shorter = chain._replace(
        transition=chain.transition[1:],
        transition_offset=chain.transition_offset[1:],
        transition_cov=chain.transition_cov[1:],
    )
    np.testing.assert_array_equal(smooth_chain(chain, y).mean, smooth_chain(shorter, y).mean)


def test_one_step_is_bayes_rule_for_a_gaussian(engine):
    rng = np.random.default_rng(5)
    chain = random_chain(rng, 3, 2, 1)
    y = rng.normal(size=(1, 2))
    prior = MvNormal(chain.initial_mean, cov=chain.initial_cov)
    joint = prior.joint(chain.emission, chain.emission_offset, noise=chain.emission_cov)
    post = smooth_chain(chain, y)
    np.testing.assert_allclose(post.mean[0], joint.condition([3, 4], y[0]).mean, rtol=1e-10)
    np.testing.assert_allclose(post.cov[0], joint.condition([3, 4], y[0]).cov, rtol=1e-9)
    np.testing.assert_allclose(post.log_evidence, joint.marginal([3, 4]).log_prob(y[0]), rtol=1e-10)
    assert post.cross_cov.shape == (0, 3, 3)


def test_without_transition_noise_it_is_recursive_regression(engine):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(30, 3))
    y = x @ [1.0, -2.0, 0.5] + 0.3 * rng.normal(size=30)
    chain = LinearGaussianChain(
        np.zeros(3), 9 * np.eye(3), np.eye(3), 0.0, np.zeros((3, 3)), x[:, None, :], 0.0, 0.09
    )
    post = smooth_chain(chain, y)
    precision = np.eye(3) / 9 + x.T @ x / 0.09
    mean = np.linalg.solve(precision, x.T @ y / 0.09)
    np.testing.assert_allclose(post.mean, np.broadcast_to(mean, (30, 3)), rtol=1e-10)
    np.testing.assert_allclose(post.cov[0], np.linalg.inv(precision), rtol=1e-10)
    np.testing.assert_allclose(post.cov[-1], post.cov[0], rtol=1e-12)
    spread = 9 * x @ x.T + 0.09 * np.eye(30)
    expected = MvNormal(np.zeros(30), cov=spread).log_prob(y)
    np.testing.assert_allclose(post.log_evidence, expected, rtol=1e-10)


def test_a_constant_seen_repeatedly_is_the_conjugate_normal(engine):
    data = [1.0, 3.0, 2.5, 0.5]
    result = bayes(Normal(0.0, variance=4.0), lambda mean: Normal(mean, variance=2.0), data)
    post = smooth_chain(LEVEL._replace(transition_cov=0.0), data)
    np.testing.assert_allclose(post.mean[:, 0], result.posterior.mean, rtol=1e-12)
    np.testing.assert_allclose(post.cov[:, 0, 0], result.posterior.variance, rtol=1e-12)
    np.testing.assert_allclose(post.log_evidence, float(result.log_evidence), rtol=1e-12)


def test_missing_entries_are_marginalised_out(engine):
    rng = np.random.default_rng(7)
    chain = random_chain(rng, 3, 3, 6)
    y = rng.normal(size=(6, 3))
    y[:, 1] = np.nan  # a sensor that never answers might as well not be there
    y[2] = np.nan
    keep = [0, 2]
    fewer = chain._replace(
        emission=chain.emission[keep],
        emission_offset=chain.emission_offset[keep],
        emission_cov=chain.emission_cov[np.ix_(keep, keep)],
    )
    full, part = smooth_chain(chain, y), smooth_chain(fewer, y[:, keep])
    np.testing.assert_allclose(full.mean, part.mean, rtol=1e-12)
    np.testing.assert_allclose(full.cov, part.cov, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(full.log_evidence, part.log_evidence, rtol=1e-12)


def test_nothing_observed_gives_the_prior_and_evidence_zero(engine):
    rng = np.random.default_rng(8)
    chain = random_chain(rng, 2, 2, 5)
    post = smooth_chain(chain, np.full((5, 2), np.nan))
    assert post.log_evidence == 0.0
    mean, cov = np.asarray(chain.initial_mean), np.asarray(chain.initial_cov)
    for t in range(5):
        np.testing.assert_allclose(post.mean[t], mean, rtol=1e-11)
        np.testing.assert_allclose(post.cov[t], cov, rtol=1e-11)
        mean = chain.transition @ mean + chain.transition_offset
        cov = chain.transition @ cov @ chain.transition.T + chain.transition_cov


def test_a_batch_is_a_loop_over_its_series(engine):
    rng = np.random.default_rng(9)
    chain = random_chain(rng, 3, 2, 6)
    y = rng.normal(size=(2, 3, 6, 2))
    for data in (y, np.where(rng.random(y.shape) < 0.2, np.nan, y)):
        post, filtered = smooth_chain(chain, data), filter_chain(chain, data)
        assert post.cov.shape == (2, 3, 6, 3, 3)
        assert post.cross_cov.shape == (2, 3, 5, 3, 3)
        assert post.log_evidence.shape == (2, 3)
        for index in np.ndindex(2, 3):
            one, forward = smooth_chain(chain, data[index]), filter_chain(chain, data[index])
            for field in ("mean", "cov", "cross_cov", "log_evidence"):
                whole, alone = getattr(post, field)[index], getattr(one, field)
                np.testing.assert_allclose(whole, alone, rtol=1e-10, atol=1e-13)
            np.testing.assert_allclose(filtered.mean[index], forward.mean, rtol=1e-10)
            np.testing.assert_allclose(filtered.cov[index], forward.cov, rtol=1e-10, atol=1e-14)


def test_a_stream_in_two_parts_equals_the_whole(engine):
    rng = np.random.default_rng(10)
    chain = random_chain(rng, 3, 2, 9)
    y = holes(rng, (9, 2))
    whole = filter_chain(chain, y)
    first = filter_chain(chain, y[:4])
    ahead = predict_chain(chain, first, 1)
    rest = filter_chain(
        chain._replace(initial_mean=ahead.state_mean[0], initial_cov=ahead.state_cov[0]), y[4:]
    )
    np.testing.assert_allclose(rest.mean, whole.mean[4:], rtol=1e-10)
    np.testing.assert_allclose(rest.cov, whole.cov[4:], rtol=1e-10, atol=1e-13)
    total = first.log_evidence + rest.log_evidence
    np.testing.assert_allclose(total, whole.log_evidence, rtol=1e-11)


def test_shifting_data_and_prior_together_changes_only_the_means(engine):
    y = np.array([1.0, 3.0, np.nan, 2.0])
    post, moved = smooth_chain(LEVEL, y), smooth_chain(LEVEL._replace(initial_mean=8.0), y + 8)
    np.testing.assert_allclose(moved.mean, post.mean + 8, rtol=1e-13)
    np.testing.assert_allclose(moved.log_evidence, post.log_evidence, rtol=1e-13)


def test_a_forecast_is_the_smoother_of_steps_without_data(engine):
    rng = np.random.default_rng(11)
    chain = random_chain(rng, 3, 2, 5)
    y = rng.normal(size=(5, 2))
    long = smooth_chain(chain, np.concatenate([y, np.full((3, 2), np.nan)]))
    ahead = predict_chain(chain, smooth_chain(chain, y), 3)
    np.testing.assert_allclose(ahead.state_mean, long.mean[5:], rtol=1e-10)
    np.testing.assert_allclose(ahead.state_cov, long.cov[5:], rtol=1e-10)
    c = chain.emission
    np.testing.assert_allclose(ahead.mean, long.mean[5:] @ c.T + chain.emission_offset, rtol=1e-10)
    expected = c @ long.cov[5:] @ c.T + chain.emission_cov
    np.testing.assert_allclose(ahead.cov, expected, rtol=1e-10)


def test_a_forecast_reads_the_parameters_of_the_future():
    rng = np.random.default_rng(12)
    chain = random_chain(rng, 2, 2, 7, varying=True)
    y = rng.normal(size=(7, 2))
    y[4:] = np.nan
    past = LinearGaussianChain(*chain[:2], *(a[:4] for a in chain[2:]))
    future = LinearGaussianChain(*chain[:2], *(a[4:] for a in chain[2:]))
    ahead = predict_chain(future, smooth_chain(past, y[:4]), 3)
    long = smooth_chain(chain, y)
    np.testing.assert_allclose(ahead.state_mean, long.mean[4:], rtol=1e-10)
    np.testing.assert_allclose(ahead.state_cov, long.cov[4:], rtol=1e-10)
    np.testing.assert_allclose(ahead.mean[-1], chain.emission[-1] @ long.mean[-1]
                               + chain.emission_offset[-1], rtol=1e-10)  # fmt: skip


def test_a_forecast_keeps_the_batch():
    ahead = predict_chain(LEVEL, filter_chain(LEVEL, np.zeros((4, 5, 1))), 2)
    assert ahead.mean.shape == (4, 2, 1)
    assert ahead.state_cov.shape == (4, 2, 1, 1)


def test_draws_have_the_moments_of_the_posterior(engine):
    rng = np.random.default_rng(13)
    chain = random_chain(rng, 2, 1, 4)
    y = np.array([[0.3], [np.nan], [1.0], [-2.0]])
    dense, count = dense_posterior(chain, y), 20000
    draws = sample_chain_posterior(chain, y, count, rng=1).reshape(count, -1)
    sd = np.sqrt(np.diag(dense.joint_cov))
    assert np.all(np.abs(draws.mean(axis=0) - dense.joint_mean) < 5 * sd / np.sqrt(count))
    # the standard error of a sample covariance is √((ΣᵢᵢΣⱼⱼ + Σᵢⱼ²)/S)
    error = np.sqrt((np.outer(sd, sd) ** 2 + dense.joint_cov**2) / count)
    assert np.all(np.abs(np.cov(draws.T) - dense.joint_cov) < 5 * error)


def test_draws_of_a_batch_belong_to_their_series(engine):
    y = np.array([[[0.0], [0.0]], [[50.0], [50.0]], [[np.nan], [100.0]]])
    draws = sample_chain_posterior(LEVEL, y, 200, rng=0)
    assert draws.shape == (200, 3, 2, 1)
    expected = smooth_chain(LEVEL, y)
    error = 5 * np.sqrt(expected.cov[..., 0] / 200)
    assert np.all(np.abs(draws.mean(axis=0) - expected.mean) < error)


def test_the_same_seed_gives_the_same_draws_on_both_engines(set_engine):
    rng = np.random.default_rng(14)
    set_engine("plain")
    chain = random_chain(rng, 3, 2, 5)
    y = rng.normal(size=(5, 2))
    posterior, prior = sample_chain_posterior(chain, y, 3, rng=7), simulate_chain(chain, 5, rng=7)
    np.testing.assert_array_equal(posterior, sample_chain_posterior(chain, y, 3, rng=7))
    set_engine("compiled")
    compiled = sample_chain_posterior(chain, y, 3, rng=7)
    np.testing.assert_allclose(compiled, posterior, rtol=1e-11)
    np.testing.assert_allclose(simulate_chain(chain, 5, rng=7).states, prior.states, rtol=1e-11)


def test_simulated_data_have_the_moments_of_the_prior(engine):
    rng = np.random.default_rng(15)
    chain = random_chain(rng, 2, 2, 3, varying=True)
    count = 20000
    sample = simulate_chain(chain, 3, count, rng=2)
    assert sample.states.shape == (count, 3, 2)
    nothing = dense_posterior(chain, np.full((3, 2), np.nan))
    sd = np.sqrt(np.diag(nothing.joint_cov))
    flat = sample.states.reshape(count, -1)
    assert np.all(np.abs(flat.mean(axis=0) - nothing.joint_mean) < 5 * sd / np.sqrt(count))
    rest = sample.observations[:, 2] - sample.states[:, 2] @ chain.emission[2].T
    rest -= chain.emission_offset[2]
    noise = chain.emission_cov[2]
    error = np.sqrt((np.outer(np.diag(noise), np.diag(noise)) + noise**2) / count)
    assert np.all(np.abs(np.cov(rest.T) - noise) < 5 * error)


def test_settled_covariances_equal_those_of_a_walk_without_shortcut(set_engine):
    set_engine("plain")
    rng = np.random.default_rng(16)
    chain = random_chain(rng, 3, 2, 3)
    n_steps = 400
    y = rng.normal(size=(n_steps, 2))
    y[200] = np.nan  # has to settle again
    repeat = np.broadcast_to(chain.transition, (n_steps, 3, 3))
    short, full = smooth_chain(chain, y), smooth_chain(chain._replace(transition=repeat), y)
    for field in ("mean", "cov", "cross_cov", "log_evidence"):
        one, other = getattr(short, field), getattr(full, field)
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_compiled_settled_covariances_equal_those_of_a_walk_without_shortcut(set_engine):
    set_engine("compiled")
    rng = np.random.default_rng(17)
    chain = random_chain(rng, 3, 2, 3)
    n_steps = 4000
    y = rng.normal(size=(n_steps, 2))
    y[1000, 1] = np.nan
    repeat = np.broadcast_to(chain.transition, (n_steps, 3, 3))
    short, full = smooth_chain(chain, y), smooth_chain(chain._replace(transition=repeat), y)
    for field in ("mean", "cov", "cross_cov", "log_evidence"):
        one, other = getattr(short, field), getattr(full, field)
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-12)


def test_both_engines_agree_on_long_series(set_engine):
    set_engine("plain")
    rng = np.random.default_rng(18)
    chain = random_chain(rng, 4, 2, 3)
    y = holes(rng, (300, 2), 0.05)
    plain = smooth_chain(chain, y)
    set_engine("compiled")
    compiled = smooth_chain(chain, y)
    for field in ("mean", "cov", "cross_cov", "log_evidence"):
        one, other = getattr(plain, field), getattr(compiled, field)
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)


def test_read_only_data_and_parameters_are_accepted(engine):
    rng = np.random.default_rng(19)
    chain = random_chain(rng, 2, 1, 4)
    y = rng.normal(size=(4, 1))
    expected = smooth_chain(chain, y).mean
    for array in (*chain, y):
        array.setflags(write=False)
    np.testing.assert_array_equal(smooth_chain(chain, y).mean, expected)
    np.testing.assert_array_equal(smooth_chain(chain, y[::-1][::-1]).mean, expected)


def test_pairs_can_be_left_out(engine):
    y = [1.0, 2.0, 3.0]
    post = smooth_chain(LEVEL, y, pairs=False)
    assert post.cross_cov is None
    np.testing.assert_array_equal(post.cov, smooth_chain(LEVEL, y).cov)


def test_a_short_chain_does_not_import_numba():
    code = (
        "import sys; from posteriori.inference import *;"
        "c = LinearGaussianChain(0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0);"
        "smooth_chain(c, [1.0, 2.0]); sample_chain_posterior(c, [1.0], rng=0);"
        "forward_backward([0.0], [[0.0]], [[0.0], [0.0]]); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_the_compiled_loops_run_with_the_compiler_off():
    code = """
import numpy as np
from posteriori.inference import *
from posteriori.numerics import compilation
rng = np.random.default_rng(0)
chain = LinearGaussianChain(np.zeros(2), np.eye(2), [[1, 1], [0, 1]], 0.0, np.eye(2), [[1, 0]],
                            0.0, 1.0)
y = rng.normal(size=8)
likelihood = rng.normal(size=(6, 3))
hmm = np.zeros(3), np.log(rng.dirichlet(np.ones(3), 3)), likelihood
def answers():
    return [*smooth_chain(chain, y), filter_chain(chain, y + 1e8).log_evidence,
            sample_chain_posterior(chain, y, rng=0).shape, forward_backward(*hmm).probabilities,
            most_likely_path(*hmm).states, sample_path(*hmm, 3, rng=0)]
plain = answers()
compilation._pays = lambda *_: True
for one, other in zip(plain, answers()):
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
"""
    subprocess.run(
        [sys.executable, "-c", code], check=True, env={"NUMBA_DISABLE_JIT": "1"}, timeout=120
    )


@pytest.mark.parametrize(
    ("changes", "y", "message"),
    [
        ({}, np.zeros((3, 3)), r"y must have shape \(..., T, 2\).*got \(3, 3\)"),
        ({}, np.zeros((0, 2)), "at least one time step"),
        ({}, np.array([[np.inf, 0.0]]), "finite, or NaN"),
        ({"initial_mean": np.zeros((2, 2))}, None, "initial_mean must be a vector"),
        (
            {"initial_cov": np.eye(3)},
            None,
            r"initial_cov must have event shape \(D, D\) = \(2, 2\)",
        ),
        ({"transition": np.eye(3)}, None, "transition must have event shape"),
        ({"transition": np.ones((7, 2, 2))}, None, "time axis of length 7.*needs 1, 3 or 4"),
        ({"emission": np.ones((3, 2, 2))}, None, "emission has a time axis of length 3.*1 or 4"),
        ({"emission_offset": np.zeros(3)}, None, "emission_offset must have event shape"),
        ({"transition_cov": -np.eye(2)}, None, "transition_cov has a negative variance"),
        ({"transition_cov": [[1, 2], [2, 1]]}, None, "transition_cov must be positive semi-def"),
        ({"transition_cov": [[0, 1], [1, 1]]}, None, "transition_cov must be positive semi-def"),
        ({"emission_cov": [[1, 0.5], [0, 1]]}, None, "emission_cov must be symmetric"),
        ({"emission_cov": np.nan * np.eye(2)}, None, "emission_cov must be finite"),
        ({"emission_cov": np.zeros((1, 1, 2, 2))}, None, "emission_cov must have 2 axes"),
    ],
)
def test_bad_shapes_and_values_are_named(changes, y, message):
    chain = LinearGaussianChain(
        np.zeros(2), np.eye(2), np.eye(2), 0.0, np.eye(2), np.eye(2), 0.0, np.eye(2)
    )
    with pytest.raises(ValueError, match=message):
        smooth_chain(chain._replace(**changes), np.zeros((4, 2)) if y is None else y)


def test_a_noise_free_observation_of_what_is_known_is_refused(engine):
    exact = LinearGaussianChain(0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0)
    with pytest.raises(ValueError, match="time step 1 has no variance"):
        filter_chain(exact, [1.0, 1.0])


@pytest.mark.parametrize("call", [lambda: predict_chain(LEVEL, filter_chain(LEVEL, [1.0]), 0),
                                  lambda: simulate_chain(LEVEL, 0)])  # fmt: skip
def test_no_steps_are_refused(call):
    with pytest.raises(ValueError, match=r"(horizon|n_steps) must be at least 1"):
        call()
