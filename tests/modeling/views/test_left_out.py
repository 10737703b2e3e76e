"""Likelihood of single data under draws, data left out in closed form, and priors made wider."""

import numpy as np
import pytest
from scipy import stats

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Chain,
    Dirichlet,
    Gamma,
    Input,
    InverseGamma,
    Model,
    MvNormal,
    Normal,
    Poisson,
    Wishart,
    dot,
    take,
)
from posteriori.modeling.posterior.pointwise import draw_unknowns, find_data, log_likelihood
from posteriori.modeling.views.left_out import leave_one_out, log_density_without
from posteriori.modeling.views.prior_scale import evidence_with_prior_scaled, scalable_priors

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 2))
Y = X @ [1.0, 2.0] + RNG.normal(size=12)
GAPPED = np.where(np.arange(12) == 4, np.nan, Y)


def one_mean():
    m = Model()
    m.mu = Normal(1, variance=9)
    m.y = Normal(m.mu, variance=2).iid("n")
    return m, {"y": GAPPED}


def groups():
    m = Model()
    m.mu = Normal(0, variance=9)
    m.theta = Normal(m.mu, variance=4).iid("n")
    m.y = Normal(m.theta, variance=1)
    return m, {"y": GAPPED}


def random_walk():
    m = Model()
    m.s = Chain(Normal(0, variance=9), lambda s: Normal(s, variance=1), length="t")
    m.y = Normal(m.s, precision=2.0)
    return m, {"y": GAPPED}


def common_precision():
    m = Model()
    m.tau = Gamma(2, rate=1)
    m.mu = Normal(0, precision=0.1 * m.tau)
    m.y = Normal(m.mu, precision=2 * m.tau).iid("n")
    return m, {"y": GAPPED}


def common_variance():
    m = Model()
    m.v = InverseGamma(2, scale=1)
    m.mu = Normal(0, variance=10 * m.v)
    m.y = Normal(m.mu, variance=2 * m.v).iid("n")
    return m, {"y": GAPPED}


def precision_alone():
    m = Model()
    m.tau = Gamma(2, rate=1)
    m.y = Normal(1.0, precision=m.tau).iid("n")
    return m, {"y": GAPPED}


def regression():
    m = Model()
    m.X = Input()
    m.w = MvNormal(np.zeros(2), cov=10 * np.eye(2))
    m.y = Normal(m.X @ m.w, variance=2.0)
    return m, {"X": X, "y": Y}


def regression_on_a_plate():
    m = Model()
    m.X = Input("n")
    m.tau = Gamma(2, rate=1)
    m.w = MvNormal(np.zeros(2), precision=0.1 * np.eye(2) * m.tau)
    m.y = Normal(dot(m.X, m.w), precision=m.tau)
    return m, {"X": X, "y": GAPPED}


def coins():
    m = Model()
    m.p = Beta([1.0, 2.0, 3.0], 2.0)
    m.i = Input("n")
    m.y = Bernoulli(m.p[m.i])
    return m, {"y": [1.0, 0.0, np.nan, 1.0, 0.0, 0.0], "i": [0, 1, 2, 0, 1, 2]}


def shares():
    m = Model()
    m.p = Beta(1, 2)
    m.k = Input("n")
    m.y = Binomial(m.k, m.p)
    return m, {"y": [1.0, 0.0, 3.0], "k": [5, 4, 3]}


def counts():
    m = Model()
    m.rate = Gamma(1, rate=2)
    m.y = Poisson(m.rate).iid("n")
    return m, {"y": [1.0, 0.0, 5.0, 0.0]}


def categories():
    m = Model()
    m.p = Dirichlet([1.0, 2.0, 3.0])
    m.y = Categorical(m.p).iid("n")
    return m, {"y": [1.0, 0.0, 2.0, 0.0]}


def vectors():
    m = Model()
    m.precision = Wishart(4, scale=np.eye(2))
    m.y = MvNormal([0.0, 0.0], precision=m.precision).iid("n")
    return m, {"y": X}


CLOSED = [
    one_mean,
    groups,
    random_walk,
    common_precision,
    common_variance,
    precision_alone,
    regression,
    regression_on_a_plate,
    coins,
    shares,
    counts,
    categories,
    vectors,
]


@pytest.mark.parametrize("case", CLOSED, ids=lambda case: case.__name__)
def test_left_out_densities_are_ratios_of_evidences(case):
    model, given = case()
    post = model.infer(given)
    (data,) = find_data(post)
    expected = []
    for n in data.positions:
        y = np.array(given["y"], dtype=np.float64)
        y[n] = np.nan
        without = model.infer({**given, "y": y}).log_evidence
        expected.append(float(post.log_evidence) - float(without))
    np.testing.assert_allclose(leave_one_out(post, data).pointwise, expected, atol=1e-11)


def test_leverages_count_the_parameters_that_data_determine():
    model, given = regression()
    post = model.infer(given)
    gram = X.T @ X / 2.0
    expected = np.trace(np.linalg.solve(gram + 0.1 * np.eye(2), gram))
    assert leave_one_out(post, find_data(post)[0]).leverage == pytest.approx(expected, rel=1e-10)


def likelihood_of(post, size=50):
    (data,) = find_data(post)
    draws = draw_unknowns(post, size, 0)
    return log_likelihood(post, data, draws, np.arange(len(data))), draws


def test_likelihood_of_a_regression_under_draws():
    model, given = regression_on_a_plate()
    found, draws = likelihood_of(model.infer(given))
    there = ~np.isnan(GAPPED)
    scale = draws["tau"][:, None] ** -0.5
    expected = stats.norm.logpdf(Y[there], draws["w"] @ X[there].T, scale)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_states_of_single_data_are_summed_over():
    m = Model()
    m.p = Dirichlet([1.0, 1.0])
    m.mu = Normal(0, variance=25).iid(2)
    m.z = Categorical(m.p).iid("n")
    m.y = Normal(m.mu[m.z], variance=1)
    found, draws = likelihood_of(m.infer(y=Y, method="vmp"))  # not a sum over 4096 joint states
    parts = draws["p"][:, None] * stats.norm.pdf(Y[:, None], draws["mu"][:, None])
    np.testing.assert_allclose(found, np.log(parts.sum(axis=-1)), rtol=1e-10)


def test_what_is_observed_on_one_plate_is_one_datum():
    m = Model()
    m.a = Normal(0, variance=4)
    m.x = Normal(m.a, variance=1).iid("n")
    m.y = Normal(2 * m.x, variance=3)
    found, draws = likelihood_of(m.infer(x=X[:, 0], y=Y))
    expected = stats.norm.logpdf(X[:, 0], draws["a"][:, None])
    expected = expected + stats.norm.logpdf(Y, 2 * X[:, 0], np.sqrt(3.0))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_numbers_within_a_member_of_a_plate_are_one_datum():
    m = Model()
    m.a = Normal(0, variance=4).iid(2)
    m.e = Input("n")
    m.y = Normal(m.a + m.e, variance=1)
    values = np.array([[1.0, 2.0], [np.nan, 1.0], [np.nan, np.nan]])
    found, draws = likelihood_of(m.infer(y=values, e=np.zeros((3, 2))))
    logs = stats.norm.logpdf(values[None], draws["a"][:, None])
    np.testing.assert_allclose(found, np.nansum(logs, axis=2)[:, :2], rtol=1e-10)


def pairs_on_a_plate():
    m = Model()
    m.a = Normal(0, variance=4).iid(2)
    m.e = Input("n")
    m.y = Normal(m.a + m.e, variance=1)
    y = RNG.normal(size=(6, 2))
    return m.infer(y=y, e=np.zeros((6, 2))), y


def test_vectors_are_predicted_without_them_by_draws():
    post, y = pairs_on_a_plate()
    (data,) = find_data(post)
    found = log_density_without(post, data, np.arange(3), draws=20_000, rng=0)
    variance = 1 / (0.25 + 3)
    spread = np.sqrt(1 + variance)
    expected = stats.norm.logpdf(y[:3], variance * y[3:].sum(axis=0), spread).sum(axis=1)
    np.testing.assert_allclose(found, expected, atol=0.05)


def test_states_of_two_chains_are_drawn_where_data_are_left_out():
    step = [[0.8, 0.2], [0.3, 0.7]]
    m = Model()
    for name in "ab":
        m[name] = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(step, z)), length="t")
    m.y = Normal(take([-1.0, 1.0], m.a) + take([-0.5, 0.5], m.b), variance=0.5)
    values = np.array([0.3, -1.2, 0.8])
    post = m.infer(y=values)
    (data,) = find_data(post)
    found = log_density_without(post, data, np.array([1]), draws=20_000, rng=0)
    gapped = np.where(np.arange(3) == 1, np.nan, values)
    expected = float(post.log_evidence) - float(m.infer(y=gapped).log_evidence)
    assert found[0] == pytest.approx(expected, abs=0.05)


def observed_chain():
    m = Model()
    m.a = Normal(0, variance=1)
    m.y = Chain(Normal(0, variance=1), lambda y: Normal(m.a * y, variance=1), length="t")
    return m.infer(y=Y)


def test_states_of_a_chain_are_not_those_of_single_data():
    m = Model()
    m.z = Chain(
        Categorical([0.5, 0.5]),
        lambda z: Categorical(take([[0.9, 0.1], [0.1, 0.9]], z)),
        length="t",
    )
    m.y = Normal(take([-1.0, 1.0], m.z), variance=1)
    with pytest.raises(TypeError, match="the states of z are not those of single data"):
        likelihood_of(m.infer(y=Y))


def updated():
    model, given = one_mean()
    return model.infer(given).update(y=[1.0])


@pytest.mark.parametrize(
    ("case", "reason"),
    [(observed_chain, "y is an observed chain"), (updated, "earlier data are no longer there")],
)
def test_data_that_cannot_be_told_apart_are_refused(case, reason):
    with pytest.raises(TypeError, match=reason):
        find_data(case())


@pytest.mark.parametrize("scale", [0.25, 4.0])
def test_wider_priors_are_those_of_another_model(scale):
    model, given = regression_on_a_plate()
    wide = Model()
    wide.X = Input("n")
    wide.tau = Gamma(2 / scale**2, rate=1 / scale**2)
    wide.w = MvNormal(np.zeros(2), precision=0.1 * np.eye(2) * wide.tau)
    wide.y = Normal(dot(wide.X, wide.w), precision=wide.tau)
    post = model.infer(given)
    assert scalable_priors(post) == ["tau"]
    found = evidence_with_prior_scaled(post, scale)
    assert float(found) == pytest.approx(float(wide.infer(given).log_evidence), rel=1e-12)


@pytest.mark.parametrize("factor", [0.0, -2.0, np.inf, np.nan])
def test_priors_are_wider_by_a_positive_number(factor):
    model, given = regression_on_a_plate()
    with pytest.raises(ValueError, match="factor must be"):
        evidence_with_prior_scaled(model.infer(given), factor)


def test_wider_wishart_keeps_its_mean():
    model, given = vectors()
    wide = Model()
    wide.precision = Wishart(1.75, scale=4 / 1.75 * np.eye(2))  # dof beyond 1: 3 → 3/4
    wide.y = MvNormal([0.0, 0.0], precision=wide.precision).iid("n")
    found = evidence_with_prior_scaled(model.infer(given), 2.0)
    assert float(found) == pytest.approx(float(wide.infer(given).log_evidence), rel=1e-12)
