"""Integrals over a few unknowns around exact blocks, against dense grids and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln, logsumexp

from posteriori import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Chain,
    Gamma,
    Input,
    Model,
    Normal,
    Poisson,
    take,
)
from posteriori.distributions import HalfCauchy, HalfNormal, LogNormal, Uniform
from posteriori.modeling import load_posterior
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.nested.choice import choose_outside
from posteriori.modeling.nested.nested_block import NestedBlock
from posteriori.modeling.planning.planner import exact_parts
from tests.modeling.nested.dense_densities import log_densities

SCHOOLS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])


def eight_schools() -> Model:
    m = Model()
    m.tau = HalfCauchy(scale=5.0)
    m.mu = Normal(0, scale=5.0)
    m.theta = Normal(m.mu, scale=m.tau).iid(8)
    m.y = Normal(m.theta, scale=ERRORS)
    return m


class DenseSchools:
    """p(y | τ) = N(0, σ² + τ² + 25·11ᵀ), on a fine grid of ln τ."""

    def __init__(self) -> None:
        log_tau = np.linspace(-14.0, 8.0, 4401)
        self.tau = np.exp(log_tau)
        self.means, self.variances, logs = [], [], []
        for tau in self.tau:
            prior = tau**2 * np.eye(8) + 25.0
            total = prior + np.diag(ERRORS**2)
            gain = np.linalg.solve(total, prior).T
            self.means.append(gain @ SCHOOLS)
            self.variances.append(np.diagonal(prior - gain @ prior))
            logs.append(stats.multivariate_normal(np.zeros(8), total).logpdf(SCHOOLS))
        logs = np.array(logs) + stats.halfcauchy(scale=5.0).logpdf(self.tau) + log_tau
        step = log_tau[1] - log_tau[0]
        self.log_evidence = logsumexp(logs) + np.log(step)
        self.weights = np.exp(logs - logsumexp(logs))

    def mean_and_std(self, values):
        mean = self.weights @ values
        return mean, np.sqrt(self.weights @ (values - mean) ** 2)


@pytest.fixture(scope="module")
def dense() -> DenseSchools:
    return DenseSchools()


@pytest.fixture(scope="module")
def schools():
    return eight_schools().infer(y=SCHOOLS)


def test_the_plan_says_what_is_integrated_over():
    text = str(eight_schools().plan(y=SCHOOLS))
    assert "integral over tau" in text
    assert "given tau all else is exact" in text


def test_evidence_of_eight_schools(schools, dense):
    assert schools.log_evidence.kind == "quadrature"
    assert float(schools.log_evidence) == pytest.approx(dense.log_evidence, abs=1e-5)
    assert schools.log_evidence.error < 2e-3


def test_outer_marginal_of_eight_schools(schools, dense):
    mean, std = dense.mean_and_std(dense.tau)
    assert float(schools.tau.mean) == pytest.approx(mean, rel=2e-3)
    assert float(schools.tau.std) == pytest.approx(std, rel=2e-3)
    edges = np.cumsum(dense.weights)
    for q in (0.05, 0.5, 0.95):
        exact = np.interp(q, edges, dense.tau)
        assert float(schools.tau.quantile(q)) == pytest.approx(exact, rel=5e-3)


def test_inner_marginals_of_eight_schools(schools, dense):
    means, variances = np.array(dense.means), np.array(dense.variances)
    mean = dense.weights @ means
    variance = dense.weights @ (variances + (means - mean) ** 2)
    np.testing.assert_allclose(schools.theta.mean, mean, rtol=1e-4)
    np.testing.assert_allclose(schools.theta.variance, variance, rtol=1e-4)


def test_draws_follow_the_posterior(schools):
    draws = schools.sample(20_000, rng=0)
    assert np.mean(draws["tau"]) == pytest.approx(float(schools.tau.mean), rel=0.03)
    assert np.std(draws["tau"]) == pytest.approx(float(schools.tau.std), rel=0.06)
    np.testing.assert_allclose(draws["theta"].mean(0), schools.theta.mean, atol=0.2)
    np.testing.assert_allclose(draws["theta"].std(0), schools.theta.std, rtol=0.05)
    # far effects go with a large spread between them
    far = np.abs(draws["theta"] - draws["theta"].mean(1, keepdims=True)).max(1)
    assert np.corrcoef(far, draws["tau"])[0, 1] > 0.7


def test_predictions_are_averages_over_the_points(schools, dense):
    predicted = schools.predict("y")
    np.testing.assert_allclose(predicted.mean, schools.theta.mean, rtol=1e-12)
    np.testing.assert_allclose(predicted.variance, schools.theta.variance + ERRORS**2, rtol=1e-9)


def test_terms_add_up(schools):
    account = schools.explain()
    assert account.log_evidence == pytest.approx(float(schools.log_evidence), rel=1e-12)
    assert set(account.energies) == {"tau", "mu", "theta", "y"}


def test_saved_and_read(schools, tmp_path):
    schools.save(tmp_path / "schools.post")
    again = load_posterior(tmp_path / "schools.post")
    assert again.log_evidence == schools.log_evidence
    assert again.log_evidence.error == schools.log_evidence.error
    assert again.tau == schools.tau
    np.testing.assert_allclose(again.theta.mean, schools.theta.mean, rtol=1e-12)


def test_outside_and_inside_have_no_joint_family(schools):
    assert schools.joint("mu", "theta").event_shape == (9,)
    with pytest.raises(TypeError, match=r"sample\(\)"):
        schools.joint("tau", "mu")


# -- laws ------------------------------------------------------------------------------------


def forced(model: Model, **data) -> NestedBlock:
    """The nested block of a model that the planner would solve otherwise."""
    bound = model.plan(**data).bound
    group = Group(bound, bound.latent, bound.factors)
    return NestedBlock(group, choose_outside(group, exact_parts), exact_parts)


def test_a_gamma_prior_gives_the_conjugate_answer():
    m = Model()
    m.tau = Gamma(3.0, rate=2.0)
    m.mu = Normal(1.0, precision=m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    y = np.array([0.3, -1.2, 2.2, 0.9])
    exact = m.infer(y=y)
    assert exact.log_evidence.kind == "exact"
    found = forced(m, y=y).solve()
    assert found.log_evidence == pytest.approx(float(exact.log_evidence), abs=1e-6)
    tau = found.marginal("tau")
    assert float(tau.mean) == pytest.approx(float(exact.tau.mean), rel=1e-3)
    assert float(tau.std) == pytest.approx(float(exact.tau.std), rel=1e-3)
    q = np.array([0.01, 0.3, 0.5, 0.9, 0.99])
    np.testing.assert_allclose(tau.cdf(exact.tau.quantile(q)), q, atol=1e-3)
    mu = found.marginal("mu")
    assert float(mu.mean) == pytest.approx(float(exact.mu.mean), rel=1e-6)
    assert float(mu.std) == pytest.approx(float(exact.mu.std), rel=1e-3)


def test_a_spread_that_is_all_but_known_gives_the_exact_answer():
    def model(scale):
        m = Model()
        if scale is None:
            m.s = Uniform(0.7999999, 0.8000001)
        m.mu = Normal(0, scale=2.0)
        m.x = Normal(m.mu, scale=0.5).iid(3)
        m.y = Normal(m.x, scale=m.s if scale is None else scale)
        return m

    y = np.array([1.0, 2.0, -0.5])
    exact, found = model(0.8).infer(y=y), model(None).infer(y=y)
    assert float(found.log_evidence) == pytest.approx(float(exact.log_evidence), abs=1e-5)
    np.testing.assert_allclose(found.x.mean, exact.x.mean, atol=1e-6)
    np.testing.assert_allclose(found.x.std, exact.x.std, rtol=1e-6)


def test_evidence_does_not_depend_on_the_coordinate():
    y = np.array([1.0, 2.5, -0.5, 4.0])

    def evidence(prior, key):
        m = Model()
        m.s = prior
        m.mu = Normal(0, scale=2.0)
        m.x = Normal(m.mu, **{key: m.s}).iid(4)
        m.y = Normal(m.x, scale=0.7)
        return float(m.infer(y=y).log_evidence)

    scale = evidence(LogNormal(0.2, variance=0.5), "scale")
    variance = evidence(LogNormal(0.4, variance=2.0), "variance")
    precision = evidence(LogNormal(-0.4, variance=2.0), "precision")
    assert variance == pytest.approx(scale, abs=1e-6)
    assert precision == pytest.approx(scale, abs=1e-6)


def test_update_is_inference_from_all_data():
    m = Model()
    m.mu = Normal(0, scale=5.0)
    m.s = HalfNormal(scale=2.0)
    m.y = Normal(m.mu, scale=m.s).iid("n")
    y = np.random.default_rng(0).normal(1.0, 2.0, 20)
    first = m.infer(y=y[:12])
    second, whole = first.update(y=y[12:]), m.infer(y=y)
    together = first.log_evidence + second.log_evidence
    assert float(together) == pytest.approx(float(whole.log_evidence), abs=1e-9)
    assert together.comparable(whole.log_evidence)
    assert float(second.mu.mean) == pytest.approx(float(whole.mu.mean))


# -- chains and crossed effects ----------------------------------------------------------------


def test_a_slope_beside_a_chain_with_unknown_noise():
    """The joint of level and slope is dense algebra given the precision, on a grid of it."""
    rng = np.random.default_rng(3)
    n = 30
    x = np.linspace(-1, 1, n)
    y = np.cumsum(rng.normal(size=n) * 0.3) + 1.5 * x + 0.5 * rng.normal(size=n)
    m = Model()
    m.x = Input("t")
    m.tau = Gamma(2, 0.5)
    m.b = Normal(0, variance=4)
    m.s = Chain(Normal(0, variance=1), lambda s: Normal(s, variance=0.09), length="t")
    m.y = Normal(m.s + m.b * m.x, precision=m.tau)
    post = m.infer(x=x, y=y)

    times = np.arange(n)
    level = 1.0 + 0.09 * np.minimum.outer(times, times)
    log_tau = np.linspace(-3.0, 5.0, 400)
    logs, means, variances = [], [], []
    for tau in np.exp(log_tau):
        total = level + 4.0 * np.outer(x, x) + np.eye(n) / tau
        gain = 4.0 * np.linalg.solve(total, x)
        means.append(gain @ y)
        variances.append(4.0 - 4.0 * gain @ x)
        logs.append(stats.multivariate_normal(np.zeros(n), total).logpdf(y))
    logs = np.array(logs) + stats.gamma(2, scale=2.0).logpdf(np.exp(log_tau)) + log_tau
    weights = np.exp(logs - logsumexp(logs))
    mean = weights @ means
    variance = weights @ (np.array(variances) + (np.array(means) - mean) ** 2)
    evidence = logsumexp(logs) + np.log(log_tau[1] - log_tau[0])
    assert float(post.log_evidence) == pytest.approx(evidence, abs=1e-4)
    assert float(post.b.mean) == pytest.approx(mean, abs=1e-3)
    assert float(post.b.std) == pytest.approx(np.sqrt(variance), rel=1e-3)


def test_two_spreads_of_crossed_effects():
    rng = np.random.default_rng(1)
    y = rng.normal(size=(4, 1)) + 0.5 * rng.normal(size=(1, 3)) + 0.3 * rng.normal(size=(4, 3))
    m = Model()
    m.sa = HalfNormal(scale=1.0)
    m.sb = HalfNormal(scale=1.0)
    m.a = Normal(0, scale=m.sa).iid("rows")
    m.b = Normal(0, scale=m.sb).iid("columns")
    m.y = Normal(m.a + m.b, scale=0.3)
    post = m.infer(y=y)

    of_rows = np.kron(np.eye(4), np.ones((3, 3)))
    of_columns = np.kron(np.ones((4, 4)), np.eye(3))
    grid = np.linspace(-7.0, 2.5, 96)
    prior = stats.halfnorm(scale=1.0)
    u, v = grid[:, None, None, None], grid[:, None, None]
    cov = np.exp(2 * u) * of_rows + np.exp(2 * v) * of_columns + 0.09 * np.eye(12)
    weighed = prior.logpdf(np.exp(grid)) + grid
    logs = log_densities(y.ravel(), cov) + weighed[:, None] + weighed
    evidence = logsumexp(logs) + 2 * np.log(grid[1] - grid[0])
    weights = np.exp(logs - logsumexp(logs))
    assert float(post.log_evidence) == pytest.approx(evidence, abs=2e-3)
    for name, share in (("sa", weights.sum(1)), ("sb", weights.sum(0))):
        mean = share @ np.exp(grid)
        std = np.sqrt(share @ (np.exp(grid) - mean) ** 2)
        assert float(post[name].mean) == pytest.approx(mean, rel=0.01)
        assert float(post[name].std) == pytest.approx(std, rel=0.02)


def test_forecasts_average_over_the_unknown_spread():
    y = np.array([0.1, 0.4, 0.3, 0.8, 1.1])
    m = Model()
    m.q = HalfNormal(scale=0.5)
    m.s = Chain(Normal(0, variance=1), lambda s: Normal(s, scale=m.q), length="t")
    m.y = Normal(m.s, scale=0.2)
    post = m.infer(y=y)
    ahead = post.predict("s", t=3)
    assert ahead.batch_shape == (3,)
    np.testing.assert_allclose(ahead.mean, post.s.mean[-1], rtol=1e-9)
    # each step adds E[q²]
    steps = np.diff(np.append(post.s.variance[-1], ahead.variance))
    square = float(post.q.variance) + float(post.q.mean) ** 2
    np.testing.assert_allclose(steps, square, rtol=0.01)


# -- sums --------------------------------------------------------------------------------------


def test_a_switch_over_conjugate_parts_is_summed_out():
    m = Model()
    m.c = Bernoulli(0.7)
    m.th = Beta([2, 7], [7, 2])
    m.y = Bernoulli(m.th[m.c]).iid(10)
    post = m.infer(y=[1, 1, 1] + [0] * 7)
    zero = np.log(0.3) + betaln(5, 14) - betaln(2, 7)
    one = np.log(0.7) + betaln(10, 9) - betaln(7, 2)
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(np.logaddexp(zero, one), abs=1e-12)
    p = 1.0 / (1.0 + np.exp(zero - one))
    assert float(post.c.probability) == pytest.approx(p, rel=1e-12)
    mean = [(1 - p) * 5 / 19 + p * 2 / 9, (1 - p) * 7 / 9 + p * 10 / 19]
    np.testing.assert_allclose(post.th.mean, mean, rtol=1e-12)


def test_a_switch_between_spreads_of_hierarchies():
    """Three classes of three members, enumerated by hand."""
    y = np.array([0.5, -1.0, 4.0])
    spreads, prior = np.array([0.3, 2.0]), np.array([0.6, 0.4])
    m = Model()
    m.z = Categorical(prior).iid(3)
    m.mu = Normal(0, scale=1.0)
    m.y = Normal(m.mu, scale=take(spreads, m.z))
    post = m.infer(y=y)
    logs = {}
    for z in np.ndindex(2, 2, 2):
        cov = 1.0 + np.diag(spreads[list(z)] ** 2)
        logs[z] = np.log(prior[list(z)]).sum() + stats.multivariate_normal(np.zeros(3), cov).logpdf(
            y
        )
    total = logsumexp(list(logs.values()))
    assert float(post.log_evidence) == pytest.approx(total, abs=1e-10)
    wide = [sum(np.exp(v - total) for z, v in logs.items() if z[i]) for i in range(3)]
    np.testing.assert_allclose(post.z.probabilities[:, 1], wide, rtol=1e-9)


def test_an_unknown_number_of_trials():
    k = np.array([6, 8, 7, 9])
    m = Model()
    m.n = Poisson(20.0)
    m.p = Beta(2, 2)
    m.k = Binomial(m.n, m.p).iid(4)
    post = m.infer(k=k)
    n = np.arange(9, 120)
    chosen = [
        stats.poisson(20).logpmf(i)
        + sum(stats.binom(i, 0.5).logpmf(x) + i * np.log(2.0) for x in k)
        + betaln(2 + k.sum(), 2 + 4 * i - k.sum())
        - betaln(2, 2)
        for i in n
    ]
    total = logsumexp(chosen)
    assert float(post.log_evidence) == pytest.approx(total, abs=1e-9)
    assert float(post.n.mean) == pytest.approx(np.exp(chosen - total) @ n, rel=1e-9)


# -- planning and refusals ---------------------------------------------------------------------


def test_choices_of_an_ascent_ask_for_one():
    assert "variational" in str(eight_schools().plan(y=SCHOOLS, method="vmp"))
    half = Model()
    half.a = Gamma(2, 1)
    half.b = Gamma(2, 1)
    half.mu = Normal(0, precision=half.a)
    half.y = Normal(half.mu, precision=half.b).iid("n")
    assert "integral over" in str(half.plan(y=[1.0, 2.0]))
    for chosen in ({"method": "vmp"}, {"max_iter": 50}, {"factorize": "full"}):
        assert "variational" in str(half.plan(y=[1.0, 2.0], **chosen))


def test_unknown_algorithms_are_refused():
    with pytest.raises(ValueError, match=r'"vmp".*got .mcmc.'):
        eight_schools().plan(y=SCHOOLS, method="mcmc")


def test_too_many_points_are_told_and_not_taken(monkeypatch):
    monkeypatch.setattr("posteriori.modeling.nested.choice.PATIENCE", 0.1)
    m = Model()
    m.a = Gamma(2, 1)
    m.b = Gamma(2, 1)
    m.mu = Normal(0, precision=m.a)
    m.y = Normal(m.mu, precision=m.b).iid("n")
    text = str(m.plan(y=[1.0, 2.0]))
    assert "variational" in text
    assert "instead of: an integral over a, b with 150 points" in text
    assert 'method="quadrature" asks for it' in text
    assert "integral over" in str(m.plan(y=[1.0, 2.0], method="quadrature"))


def test_a_spread_that_nothing_bounds_is_refused():
    """One group says nothing about how groups differ, and this prior rules out nothing."""
    m = Model()
    m.s = Gamma(0.001, 0.001)
    m.x = Normal(0, scale=m.s)
    m.y = Normal(m.x, scale=1.0)
    with pytest.raises(ValueError, match=r"posterior of s is improper.*give it a prior"):
        m.infer(y=0.5)


def test_a_spread_at_the_boundary():
    """All groups agree: the spread between them may be 0, and its density is highest there."""
    m = Model()
    m.s = HalfNormal(scale=1.0)
    m.mu = Normal(0, scale=5.0)
    m.x = Normal(m.mu, scale=m.s).iid(5)
    m.y = Normal(m.x, scale=1.0)
    post = m.infer(y=np.zeros(5))
    assert float(post.s.quantile(0.02)) < 0.05
    assert np.exp(post.s.log_prob(0.01)) > np.exp(post.s.log_prob(1.0))
    assert np.isfinite(float(post.log_evidence))


def test_data_that_no_state_allows():
    m = Model()
    m.n = Poisson(2.0)
    m.p = Beta(1, 1)
    m.k = Binomial(m.n, m.p)
    with pytest.raises(ValueError, match="impossible whatever n"):
        m.infer(k=400)


def test_two_peaks_of_a_coefficient_are_found():
    """Of every second member of an AR(1) the signs of its coefficient are equally likely."""
    rng = np.random.default_rng(8)
    x = np.zeros(121)
    for t in range(1, 121):
        x[t] = 0.9 * x[t - 1] + rng.normal(scale=0.3)
    y = x + 0.05 * rng.normal(size=121)
    y[1::2] = np.nan
    m = Model()
    m.a = Uniform(-1.0, 1.0)
    m.s = Chain(Normal(0, scale=1.0), lambda s: Normal(m.a * s, scale=0.3), length="t")
    m.y = Normal(m.s, scale=0.05)
    post = m.infer(y=y)
    assert float(post.a.cdf(0.0)) == pytest.approx(0.5, abs=2e-3)
    grid = np.linspace(-0.999, 0.999, 401)
    given = Model()
    given.a = Uniform(-1.0, 1.0)
    given.s = Chain(Normal(0, scale=1.0), lambda s: Normal(given.a * s, scale=0.3), length="t")
    given.y = Normal(given.s, scale=0.05)
    logs = np.array([float(given.infer(a=a, y=y).log_evidence) for a in grid])
    weights = np.exp(logs - logs.max())
    total = np.log(weights.sum() * (grid[1] - grid[0])) + logs.max()
    assert float(post.log_evidence) == pytest.approx(total, abs=5e-3)
    mean = weights @ np.abs(grid) / weights.sum()
    size = np.trapezoid(np.abs(post.a.nodes) * np.exp(post.a.log_prob(post.a.nodes)), post.a.nodes)
    assert size == pytest.approx(mean, abs=2e-3)
