"""Beliefs about the matrices of linear systems: the model language, quadrature, and what is refused."""

import numpy as np
import pytest

from posteriori import Chain, Gamma, Model, MvNormal, Normal
from posteriori.inference.systems.linear_learning import group_series
from posteriori.inference.systems.subspace_start import start_by_subspace
from posteriori.inference.systems.variational_system import (
    SystemPriors,
    learn_system_beliefs,
    start_beliefs,
)
from posteriori.sequence import LinearGaussianModel, LinearGaussianSystem

PRIORS = SystemPriors()


def learn(y, n_states, lengths=None):
    groups = group_series(y, np.array([len(y)] if lengths is None else lengths))
    seen = (~np.isnan(y)).sum(axis=0)
    start = start_beliefs(start_by_subspace(groups, n_states, 0), PRIORS, seen)
    return learn_system_beliefs(groups, start, PRIORS, tol=1e-9, max_iter=5000)


def in_the_model_language(n_states, n_outputs):
    eye = np.eye(n_states)
    m = Model()
    m.A = MvNormal(np.zeros(n_states), cov=eye).iid(n_states)
    m.C = MvNormal(np.zeros(n_states), cov=4 * eye).iid(n_outputs)
    m.tau = Gamma(shape=1, rate=0.1).iid(n_outputs)
    m.s = Chain(
        MvNormal(np.zeros(n_states), cov=eye),
        lambda s: MvNormal(m.A @ s, cov=eye),
        length="t",
    )
    m.y = Normal(m.C @ m.s, precision=m.tau)
    return m


def oscillation(length, gaps=0.15):
    turn = 0.97 * np.array([[np.cos(0.5), -np.sin(0.5)], [np.sin(0.5), np.cos(0.5)]])
    c = np.array([[1.0, 0.0], [0.5, 1.0], [-1.0, 0.7]])
    system = LinearGaussianSystem(turn, 0.2 * np.eye(2), c, 0.1 * np.eye(3), [1.5, 0], np.eye(2))
    y = system.sample(length, rng=1).observations
    return np.where(np.random.default_rng(0).random(y.shape) < gaps, np.nan, y)


def test_the_bound_is_that_of_the_model_language_at_equal_priors():
    y = oscillation(50)
    beliefs, ascent = learn(y, 2)
    posterior = in_the_model_language(2, 3).infer(y=y)
    np.testing.assert_allclose(ascent.trace[-1], float(posterior.log_evidence), atol=1e-4)
    np.testing.assert_allclose(beliefs.shape / beliefs.rate, posterior.tau.mean, rtol=1e-3)
    np.testing.assert_allclose(
        np.sort_complex(np.linalg.eigvals(beliefs.transition)),
        np.sort_complex(np.linalg.eigvals(posterior.A.mean)),
        atol=1e-3,
    )


def exact_log_evidence(y):
    """ln p(y) of two or more rows with one column and one state, by sums over a, c and ln τ."""
    a = np.linspace(-6.0, 6.0, 41)
    c = np.linspace(-12.0, 12.0, 61)
    log_tau = np.linspace(-8.0, 6.0, 51)
    grid = np.meshgrid(a, c, np.exp(log_tau), indexing="ij")
    a_, c_, tau = (part.ravel() for part in grid)
    n = len(y)
    states = np.zeros((len(a_), n, n))  # Cov(s_i, s_j)
    states[:, 0, 0] = 1.0
    for t in range(1, n):
        states[:, t, :t] = a_[:, None] * states[:, t - 1, :t]
        states[:, :t, t] = states[:, t, :t]
        states[:, t, t] = a_**2 * states[:, t - 1, t - 1] + 1.0
    cov = c_[:, None, None] ** 2 * states + np.eye(n) / tau[:, None, None]
    log_density = -0.5 * (
        y @ np.linalg.solve(cov, np.broadcast_to(y[:, None], (len(a_), n, 1)))[..., 0].T
        + np.linalg.slogdet(2 * np.pi * cov)[1]
    )
    log_prior = -0.5 * (a_**2 + np.log(2 * np.pi)) - 0.5 * (c_**2 / 4 + np.log(8 * np.pi))
    log_prior += np.log(0.1) - 0.1 * tau + np.log(tau)  # Gamma(1, 0.1), in ln τ
    width = (a[1] - a[0]) * (c[1] - c[0]) * (log_tau[1] - log_tau[0])
    total = log_density + log_prior
    return float(np.log(np.exp(total - total.max()).sum() * width) + total.max())


def test_the_bound_lies_below_the_evidence_and_near_it():
    y = np.array([0.8, 1.1, 0.3, -0.4, 0.2, 0.9])
    _, ascent = learn(y[:, None], 1)
    exact = exact_log_evidence(y)
    assert exact - 4.0 < ascent.trace[-1] < exact  # ln 2 for the two signs of the state alone


def test_the_bound_never_falls_and_gaps_and_series_are_taken():
    y = oscillation(60)
    _, ascent = learn(y, 2, [25, 35])
    assert ascent.converged
    assert np.diff(ascent.trace).min() > -1e-10 * abs(ascent.trace[-1])
    _, turned = learn(np.concatenate([y[25:], y[:25]]), 2, [35, 25])
    np.testing.assert_allclose(turned.trace[-1], ascent.trace[-1], atol=1e-4)


def test_the_estimator_has_a_bound_and_a_system_at_the_means():
    y = oscillation(80)
    found = LinearGaussianModel(2, method="variational").fit(y)
    assert found.log_evidence_.kind == "bound"
    assert not hasattr(found, "log_likelihood_")
    np.testing.assert_allclose(found.model_.transition, found.posterior_.transition)
    climbed = LinearGaussianModel(2, noise="diagonal").fit(y)
    assert float(found.log_evidence_) < climbed.log_likelihood_
    assert float(found.log_evidence_) < found.log_prob(y) < climbed.log_likelihood_
    assert found.forecast(y, 3).batch_shape == (3,)


def test_the_bound_chooses_the_number_of_states():
    bounds = [
        float(LinearGaussianModel(k, method="variational").fit(oscillation(150)).log_evidence_)
        for k in (1, 2, 3)
    ]
    assert int(np.argmax(bounds)) == 1


def test_other_units_change_the_evidence_by_their_logarithms():
    y = oscillation(60)
    scale = np.array([10.0, 0.1, 3.0])
    plain = LinearGaussianModel(2, method="variational", tol=1e-6).fit(y)
    other = LinearGaussianModel(2, method="variational", tol=1e-6).fit(y * scale + 7.0)
    change = -(~np.isnan(y)).sum(axis=0) @ np.log(scale)
    np.testing.assert_allclose(
        float(other.log_evidence_), float(plain.log_evidence_) + change, atol=1e-3
    )


def test_a_given_start_leads_to_the_same_top():
    y = oscillation(60)
    plain = LinearGaussianModel(2, method="variational", tol=1e-7).fit(y)
    again = LinearGaussianModel(2, method="variational", tol=1e-7, start=plain.model_).fit(y)
    np.testing.assert_allclose(float(again.log_evidence_), float(plain.log_evidence_), atol=1e-3)


@pytest.mark.parametrize(
    ("options", "inputs"),
    [
        ({"noise": "full"}, None),
        ({"fixed": ("emission",)}, None),
        ({}, np.ones((20, 1))),
    ],
)
def test_what_beliefs_do_not_take_is_refused(options, inputs):
    with pytest.raises(ValueError, match='use method="em"'):
        LinearGaussianModel(2, method="variational", **options).fit(oscillation(20), inputs=inputs)
