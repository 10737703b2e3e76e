"""Learned linear systems: the notes' updates, ascent and its top, data in all their forms."""

import numpy as np
import pandas as pd
import pytest

from posteriori.numerics import ConvergenceWarning, gradient
from posteriori.sequence import LinearGaussianModel, LinearGaussianSystem
from tests.inference.oracles import dense_posterior
from tests.scikit_learn_checks import every_check

TURN = 0.95 * np.array([[np.cos(0.4), -np.sin(0.4)], [np.sin(0.4), np.cos(0.4)]])
TRUTH = LinearGaussianSystem(
    TURN,
    [[0.3, 0.1], [0.1, 0.2]],
    [[1.0, 0.0], [0.5, 1.0]],
    [[0.4, 0.1], [0.1, 0.3]],
    [2.0, 0.0],
    np.eye(2),
)
MATRICES = (
    "transition",
    "transition_cov",
    "emission",
    "emission_cov",
    "initial_mean",
    "initial_cov",
)


def data(length=60, gaps=0.0, seed=0, system=TRUTH):
    y = system.sample(length, rng=seed).observations
    return np.where(np.random.default_rng(seed).random(y.shape) < gaps, np.nan, y)


def one_step(start, y, **options):
    with pytest.warns(ConvergenceWarning, match="1 step"):
        return LinearGaussianModel(2, start=start, max_iter=1, tol=0.0, **options).fit(y)


@pytest.mark.topic("000/W14")
def test_a_step_is_that_of_the_notes():
    y = data(8)
    post = dense_posterior(TRUTH.chain, y)
    m, v, j = post.mean, post.cov, post.cross_cov
    n = len(y)
    second = [v[t] + np.outer(m[t], m[t]) for t in range(n)]
    pairs = [j[t] + np.outer(m[t + 1], m[t]) for t in range(n - 1)]  # E[z_{n} z_{n−1}ᵀ]
    a = sum(pairs) @ np.linalg.inv(sum(second[:-1]))
    gamma = sum(
        second[t + 1] - a @ pairs[t].T - pairs[t] @ a.T + a @ second[t] @ a.T for t in range(n - 1)
    ) / (n - 1)
    c = sum(np.outer(y[t], m[t]) for t in range(n)) @ np.linalg.inv(sum(second))
    sigma = (
        sum(
            np.outer(y[t], y[t])
            - c @ np.outer(m[t], y[t])
            - np.outer(y[t], m[t]) @ c.T
            + c @ second[t] @ c.T
            for t in range(n)
        )
        / n
    )
    found = one_step(TRUTH, y, fixed=("emission_offset",)).model_
    for name, expected in zip(MATRICES, (a, gamma, c, sigma, m[0], v[0]), strict=True):
        np.testing.assert_allclose(getattr(found, name), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.topic("000/W14")
@pytest.mark.parametrize("noise", ["full", "diagonal"])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_the_likelihood_never_falls(noise, gaps):
    y = data(gaps=gaps)
    found = LinearGaussianModel(2, noise=noise).fit(y)
    assert found.converged_
    assert np.diff(found.trace_).min() > -1e-10 * abs(found.trace_[-1])
    assert found.trace_[-1] - found.trace_[0] > 1.0
    np.testing.assert_allclose(found.log_likelihood_, found.model_.log_prob(y), rtol=1e-11)
    np.testing.assert_allclose(found.score(y), found.log_likelihood_ / len(y), rtol=1e-11)


def likelihood_at(system, y, name, offset_of=0.0):
    """ln p(y) as a function of one parameter; covariances by their lower triangles."""

    def value(flat):
        given = {n: getattr(system, n) for n in (*MATRICES, "transition_offset", "emission_offset")}
        if name.endswith("cov"):
            matrix = np.zeros(given[name].shape)
            matrix[np.tril_indices(len(matrix))] = flat
            given[name] = matrix + np.tril(matrix, -1).T
        else:
            given[name] = flat.reshape(given[name].shape)
        return float(np.sum(LinearGaussianSystem(**given).log_prob(y)))

    here = getattr(system, name)
    flat = here[np.tril_indices(len(here))] if name.endswith("cov") else here.ravel()
    return value, flat


@pytest.mark.topic("000/W14")
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_where_the_ascent_ends_no_derivative_is_left(gaps):
    """Several series, so that V₀ has a maximum inside; one state, so that ascent is fast."""
    system = LinearGaussianSystem(
        0.8, 0.5, [[1.0], [0.6]], [[0.5, 0.2], [0.2, 0.4]], 1.0, 2.0, 0, [3.0, 1.0]
    )
    series = [data(25, gaps, seed, system) for seed in range(12)]
    found = LinearGaussianModel(1, tol=1e-12, max_iter=5000).fit(series)
    assert found.converged_
    assert found.floored_ == ()
    for name in (*MATRICES, "emission_offset"):
        value, flat = likelihood_at(found.model_, series, name)
        slope = gradient(value, flat)
        step = slope * np.maximum(np.abs(flat), 0.1)  # nats for a change by its own size
        assert np.abs(step).max() < 2e-3, name


@pytest.mark.parametrize("name", MATRICES)
def test_what_is_fixed_is_kept(name):
    found = one_step(TRUTH, data(20), fixed=(name, "emission_offset")).model_
    for other in MATRICES:
        kept = np.array_equal(getattr(found, other), getattr(TRUTH, other))
        assert kept == (other == name)
    np.testing.assert_allclose(found.emission_offset, 0.0, atol=1e-15)


def test_all_that_is_known_leaves_a_regression():
    """States seen without noise: A is the least-squares slope of each row on the one before."""
    states = data(40)
    exact = LinearGaussianSystem(
        TURN, np.eye(2), np.eye(2), 1e-10 * np.eye(2), states[0], np.eye(2)
    )
    kept = ("emission", "emission_cov", "emission_offset", "initial_mean", "initial_cov")
    found = one_step(exact, states, fixed=kept).model_
    slope = np.linalg.lstsq(states[:-1], states[1:], rcond=None)[0].T
    np.testing.assert_allclose(found.transition, slope, rtol=1e-6)
    rest = states[1:] - states[:-1] @ slope.T
    np.testing.assert_allclose(found.transition_cov, rest.T @ rest / 39, rtol=1e-6)


def test_series_may_be_lists_lengths_or_tables():
    series = [data(n, 0.1, n) for n in (15, 22, 15)]
    together = np.concatenate(series)
    options = {"tol": 1e-3}
    listed = LinearGaussianModel(2, **options).fit(series)
    cut = LinearGaussianModel(2, **options).fit(together, lengths=[15, 22, 15])
    frames = [pd.DataFrame(y, columns=["a", "b"]) for y in series]
    named = LinearGaussianModel(2, **options).fit(frames)
    for other in (cut, named):
        np.testing.assert_allclose(other.log_likelihood_, listed.log_likelihood_, rtol=1e-12)
    assert list(named.feature_names_in_) == ["a", "b"]
    assert listed.log_prob(series).shape == (3,)
    np.testing.assert_allclose(listed.log_prob(series).sum(), listed.log_likelihood_, rtol=1e-10)
    assert [len(z) for z in listed.transform(series)] == [15, 22, 15]
    np.testing.assert_allclose(
        listed.transform(series)[1], listed.model_.smooth(series[1]).mean, rtol=1e-12
    )
    assert [ahead.batch_shape for ahead in listed.forecast(series, 4)] == [(4,)] * 3


def test_units_of_the_columns_do_not_matter():
    y = data(80, 0.1)
    scale, shift = np.array([1e3, 1e-2]), np.array([1e6, -3.0])
    plain = LinearGaussianModel(2, tol=1e-6).fit(y)
    other = LinearGaussianModel(2, tol=1e-6).fit(y * scale + shift)
    seen = (~np.isnan(y)).sum(axis=0)
    np.testing.assert_allclose(
        other.log_likelihood_, plain.log_likelihood_ - seen @ np.log(scale), atol=1e-2
    )
    np.testing.assert_allclose(
        other.forecast(y * scale + shift, 3).mean,
        plain.forecast(y, 3).mean * scale + shift,
        rtol=1e-3,
    )


def test_inputs_act_on_states_and_observations():
    rng = np.random.default_rng(4)
    u = rng.normal(size=(400, 1))
    truth = LinearGaussianSystem(
        0.7, 0.2, [[1.0], [2.0]], 0.1 * np.eye(2), 0.0, 1.0, u @ [[1.5]], u @ [[0.0, -3.0]]
    )
    y = truth.sample(400, rng=1).observations
    found = LinearGaussianModel(1).fit(y, inputs=u)
    effect = found.model_.emission @ found.transition_inputs_ / 1.0  # in any coordinates
    np.testing.assert_allclose(effect[:, 0], [1.5, 3.0], atol=0.15)
    np.testing.assert_allclose(found.emission_inputs_[:, 0], [0.0, -3.0], atol=0.15)
    assert found.log_likelihood_ > truth.log_prob(y)
    np.testing.assert_allclose(found.log_prob(y, inputs=u), found.log_likelihood_, rtol=1e-10)
    ahead = found.forecast(y, 2, inputs=u, future_inputs=[[1.0], [0.0]])
    last = found.system_for(u, 400).filter(y).mean[-1]
    state = found.model_.transition @ last + found.transition_inputs_[:, 0]
    mean = found.model_.emission @ state + found.model_.emission_offset
    np.testing.assert_allclose(ahead.mean[0], mean + found.emission_inputs_[:, 0], rtol=1e-10)
    split = LinearGaussianModel(1).fit([y[:200], y[200:]], inputs=[u[:200], u[200:]])
    np.testing.assert_allclose(split.emission_inputs_, found.emission_inputs_, atol=0.05)
    with pytest.raises(ValueError, match="fit had 1 inputs"):
        found.forecast(y, 2, inputs=u)
    with pytest.raises(ValueError, match="inputs must have the 400 rows"):
        LinearGaussianModel(1).fit(y, inputs=u[:3])
    with pytest.raises(ValueError, match="inputs must be finite, row 2"):
        LinearGaussianModel(1).fit(y, inputs=np.where(np.arange(400) == 2, np.nan, u[:, 0]))


def test_the_first_covariance_of_one_series_is_floored_and_that_is_said():
    y = data(50)
    found = LinearGaussianModel(2, tol=1e-9, max_iter=5000).fit(y)
    assert "initial_cov" in found.floored_
    spread = np.mean(found.transform(y) ** 2, axis=0)
    least = np.linalg.eigvalsh(found.model_.initial_cov / np.sqrt(np.outer(spread, spread)))[0]
    assert 1e-8 < least < 1e-4
    many = LinearGaussianModel(2).fit([data(20, seed=s) for s in range(15)])
    assert many.floored_ == ()


def test_gaps_are_filled_with_expectations():
    """By the joint of all observations: E[missing | seen]."""
    y = data(6, 0.3, seed=2)
    states = dense_posterior(TRUTH.chain, np.full((6, 2), np.nan))
    big = np.kron(np.eye(6), TRUTH.emission)
    mean = big @ states.joint_mean
    cov = big @ states.joint_cov @ big.T + np.kron(np.eye(6), TRUTH.emission_cov)
    flat = y.ravel()
    seen = ~np.isnan(flat)
    told = np.linalg.solve(cov[np.ix_(seen, seen)], flat[seen] - mean[seen])
    expected = np.where(seen, flat, mean + cov[:, seen] @ told).reshape(6, 2)
    np.testing.assert_allclose(TRUTH.impute(y), expected, rtol=1e-10)
    found = LinearGaussianModel(2, tol=0.1).fit(data(50, 0.2))
    filled = found.impute(data(50, 0.2))
    assert np.isfinite(filled).all()
    np.testing.assert_allclose(filled, found.model_.impute(data(50, 0.2)), rtol=1e-12)


def test_information_criteria_find_the_number_of_states():
    y = data(400)
    criteria = [LinearGaussianModel(k).fit(y).bic_ for k in (1, 2, 3)]
    assert int(np.argmin(criteria)) == 1


@pytest.mark.topic("000/W15")
def test_learned_systems_are_sampled():
    found = LinearGaussianModel(2, tol=0.1).fit(data(50))
    draws = found.sample(7, rng=0)
    assert draws.states.shape == (7, 2)
    np.testing.assert_allclose(draws.observations, found.model_.sample(7, rng=0).observations)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"n_states": 0}, ValueError, "n_states must be a whole number"),
        ({"noise": "none"}, ValueError, "noise must be 'full' or 'diagonal'"),
        ({"fixed": ("A",), "start": TRUTH}, ValueError, "fixed must hold names among"),
        ({"fixed": ("emission",)}, ValueError, "give start=LinearGaussianSystem"),
        ({"start": np.eye(2)}, TypeError, "start must be a LinearGaussianSystem"),
        ({"n_states": 1, "start": TRUTH}, ValueError, "start has 2 states and 2 outputs"),
        ({"n_states": 40}, ValueError, "n_states=40 needs a series of at least"),
    ],
)
def test_what_cannot_be_learned_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        LinearGaussianModel(**options).fit(data(20))


def test_columns_that_teach_nothing_are_refused():
    y = data(20)
    with pytest.raises(ValueError, match="column 1 of X is constant"):
        LinearGaussianModel().fit(np.column_stack([y[:, 0], np.ones(20)]))
    with pytest.raises(ValueError, match="column 1 of X is missing in all rows"):
        LinearGaussianModel().fit(np.column_stack([y[:, 0], np.full(20, np.nan)]))
    with pytest.raises(ValueError, match="lengths must add up"):
        LinearGaussianModel().fit(y, lengths=[3, 4])
    varying = LinearGaussianSystem(
        np.stack([TURN] * 20), np.eye(2), np.eye(2), np.eye(2), [0, 0], np.eye(2)
    )
    with pytest.raises(ValueError, match="time axis"):
        LinearGaussianModel(start=varying).fit(y)


def expected_failures(estimator):
    reason = "a state depends on all rows of its sequence, and on their order"
    return {
        "check_methods_subset_invariance": reason,
        "check_methods_sample_order_invariance": reason,
    }


@every_check(
    [
        LinearGaussianModel(1, tol=1.0),
        LinearGaussianModel(2, noise="diagonal", tol=1.0),
        LinearGaussianModel(1, method="variational", tol=1.0),
    ],
    expected_failures,
)
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
