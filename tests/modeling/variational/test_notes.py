"""What the notes say of approximate inference, with their numbers: EM, hybrids, a whole workflow."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from posteriori import Bernoulli, Beta, Categorical, Dirichlet, Gamma, MvNormal, Normal, Wishart
from posteriori.datasets import load_old_faithful
from posteriori.distributions import PointMass
from posteriori.factors import Factor
from posteriori.forney import ForneyGraph
from posteriori.modeling import Chain, Model, free_energy

# -- EM ------------------------------------------------------------------------------------------


def em_by_hand(x: np.ndarray, pi: np.ndarray, mu: np.ndarray, rounds: int) -> list[Any]:
    """Return weights, means and covariances after each round of textbook EM."""
    cov = np.stack([np.diag([0.5, 100.0])] * 2)
    trace = []
    for _ in range(rounds):
        logs = [
            np.log(pi[k]) + stats.multivariate_normal.logpdf(x, mu[k], cov[k]) for k in range(2)
        ]
        total = np.logaddexp(*logs)
        r = np.exp(np.stack(logs, axis=1) - total[:, None])
        counts = r.sum(axis=0)
        pi, mu = counts / len(x), (r.T @ x) / counts[:, None]
        cov = np.stack(
            [(r[:, k, None] * (x - mu[k])).T @ (x - mu[k]) / counts[k] for k in range(2)]
        )
        trace.append(float(total.sum()))
    return [pi, mu, cov, trace]


def faithful_mixture() -> Model:
    """Priors so wide that the best values are those of the likelihood."""
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.mu = MvNormal(np.zeros(2), cov=1e14 * np.eye(2)).iid(2)
    m.Lambda = Wishart(3.0, scale=1e9 * np.eye(2)).iid(2)  # |Λ|⁰ e^{−tr Λ/2e9}: flat
    m.z = Categorical(m.pi).iid("n")
    m.x = MvNormal(m.mu[m.z], precision=m.Lambda[m.z])
    return m


@pytest.mark.topic("000/T3", "004/9.12")
def test_points_for_the_parameters_make_it_expectation_maximisation() -> None:
    """Old Faithful: the converged numbers of EM, which are those of textbook rounds."""
    x = load_old_faithful().data
    start = np.array([[4.0, 60.0], [2.0, 80.0]])
    points = dict.fromkeys(("pi", "mu", "Lambda"), "point")
    pi, mu, cov, trace = em_by_hand(x, np.full(2, 0.5), start, 300)
    assert_allclose(trace[:3], [-1908.40253, -1276.39722, -1261.18677], atol=6e-6)
    assert_allclose(trace[-1], -1130.2639601847, atol=1e-9)
    post = faithful_mixture().infer(x=x, form=points, tol=1e-10)
    assert isinstance(post.pi, PointMass)
    order = np.argsort(-np.asarray(post.pi.mean))
    assert_allclose(post.pi.mean[order], pi, rtol=1e-6)
    assert_allclose(pi, [0.64412714, 0.35587286], atol=5e-9)
    assert_allclose(post.mu.mean[order], mu, rtol=1e-6)
    assert_allclose(np.linalg.inv(post.Lambda.mean[order]), cov, rtol=1e-6)


@pytest.mark.topic("000/T3")
def test_after_an_e_step_free_energy_is_minus_the_log_likelihood() -> None:
    """With parameters at points and q(z) their posterior, F = −ln p(x | θ) − ln p(θ)."""
    x = np.array([[1, 1, 0], [1, 0, 0], [0, 0, 1], [0, 1, 1], [0, 0, 1.0]])
    pi, mu = np.array([0.4, 0.6]), np.array([[0.9, 0.6, 0.1], [0.2, 0.3, 0.8]])
    m = Model()
    m.pi = Dirichlet(np.ones(2))
    m.mu = Beta(np.ones((2, 3)), np.ones((2, 3)))
    m.z = Categorical(m.pi).iid("n")
    m.x = Bernoulli(m.mu[m.z])
    joint = pi * np.prod(np.where(x[:, None] == 1, mu, 1.0 - mu), axis=2)
    points = {"pi": PointMass(pi, event_ndim=1), "mu": PointMass(mu)}
    exact = {**points, "z": Categorical(joint / joint.sum(axis=1, keepdims=True))}
    f = free_energy(m, {"x": x}, exact)
    assert_allclose(float(f), -np.sum(np.log(joint.sum(axis=1))), rtol=1e-12)
    other = free_energy(m, {"x": x}, {**points, "z": Categorical(np.full((5, 2), 0.5))})
    assert float(other) > float(f)


@pytest.mark.topic("000/T3")
def test_without_latent_classes_the_scheme_is_plain_variational_bayes() -> None:
    """Known classes: the same model, updated only in its parameters, is exact counting."""
    m = Model()
    m.pi = Dirichlet([1.0, 2.0])
    m.mu = Beta([1.0, 1.0], [1.0, 1.0])
    m.z = Categorical(m.pi).iid("n")
    m.x = Bernoulli(m.mu[m.z])
    post = m.infer(z=[0, 0, 1, 1, 1], x=[1, 1, 0, 1, 0])
    assert_allclose(post.pi.concentration, [3.0, 5.0])
    assert_allclose(post.mu.a, [3.0, 2.0])
    assert_allclose(post.mu.b, [1.0, 3.0])


# -- messages ------------------------------------------------------------------------------------


@pytest.mark.topic("004/9.21")
def test_sum_product_inside_variational_messages_between() -> None:
    """The states given E[τ] are what the exact smoother says at that precision."""
    y = np.array([0.3, 0.9, 1.4, 1.1, 2.0, 2.2])

    def walk(m: Model, precision: Any) -> Model:
        m.s = Chain(Normal(0.0, variance=4.0), lambda s: Normal(s, variance=0.3), length="t")
        m.y = Normal(m.s, precision=precision)
        return m

    m = Model()
    m.tau = Gamma(2.0, rate=1.0)
    post = walk(m, m.tau).infer(y=y, tol=1e-15)
    exact = walk(Model(), float(post.tau.mean)).infer(y=y).s
    assert_allclose(post.s.mean, exact.mean, rtol=1e-6)
    assert_allclose(post.s.variance, exact.variance, rtol=1e-6)
    assert_allclose(post.tau.shape, 2.0 + 6 / 2)
    misfit = np.sum((y - post.s.mean) ** 2 + post.s.variance)
    assert_allclose(post.tau.rate, 1.0 + 0.5 * misfit, rtol=1e-6)


@pytest.mark.topic("004/9.24")
def test_messages_of_a_normal_node() -> None:
    """To γ: Gam(3/2, ½[(ȳ − m̄)² + V_y + V_m]); to m and y: the other's mean at precision E[γ]."""
    m = Model()
    m.gamma = Gamma(1.0, rate=0.25)
    m.m = Normal(1.0, variance=0.5)
    m.y = Normal(m.m, precision=m.gamma)
    m.seen = Normal(m.y, variance=0.2)
    post = m.infer(seen=2.0, factorize="full", tol=1e-13)
    g, mean, y = post.gamma, post.m, post.y
    assert_allclose(g.shape, 1.0 + 0.5)
    away = (y.mean - mean.mean) ** 2 + y.variance + mean.variance
    assert_allclose(g.rate, 0.25 + 0.5 * away, rtol=1e-6)
    assert_allclose(1.0 / mean.variance, 2.0 + g.mean, rtol=1e-6)
    assert_allclose(1.0 / y.variance, 5.0 + g.mean, rtol=1e-6)
    assert_allclose(y.mean * (5.0 + g.mean), 10.0 + g.mean * mean.mean, rtol=1e-6)


@pytest.mark.topic("004/3.6")
def test_arrows_only_name_the_messages() -> None:
    """Factors in another order: forward and backward may change places, marginals do not."""
    rng = np.random.default_rng(2)
    a, b = Factor("x", rng.random(3)), Factor(["x", "y"], rng.random((3, 2)))
    one = ForneyGraph.from_factors(a=a, b=b).sum_product()
    other = ForneyGraph.from_factors(b=b, a=a).sum_product()
    assert one.forward("x").allclose(other.backward("x"))
    assert one.backward("x").allclose(other.forward("x"))
    assert one.marginal("x").allclose(other.marginal("x"))


@pytest.mark.topic("001/3.34")
def test_messages_of_continuous_variables_are_integrals() -> None:
    """On a Gaussian tree the marginals are those of the dense joint distribution."""
    m = Model()
    m.a = Normal(0.5, variance=2.0)
    m.b = Normal(2.0 * m.a, variance=1.0)
    m.c = Normal(m.a - 1.0, variance=0.5)
    m.d = Normal(0.5 * m.c, variance=0.4)
    m.y = Normal(m.b, variance=0.3)
    m.w = Normal(m.d, variance=0.2)
    made = ForneyGraph.from_model(m, {"y": 1.5, "w": -0.3}).sum_product()
    mix = np.array([[1, 0, 0, 0], [2, 1, 0, 0], [1, 0, 1, 0], [0.5, 0, 0.5, 1]])
    mean = np.array([0.5, 1.0, -0.5, -0.25])
    cov = mix @ np.diag([2.0, 1.0, 0.5, 0.4]) @ mix.T
    seen = np.array([[0, 1, 0, 0], [0, 0, 0, 1.0]])
    s = seen @ cov @ seen.T + np.diag([0.3, 0.2])
    gain = np.linalg.solve(s, seen @ cov).T
    after = mean + gain @ (np.array([1.5, -0.3]) - seen @ mean)
    spread = np.diag(cov - gain @ seen @ cov)
    for i, name in enumerate("abcd"):
        found = made.marginal(name)
        assert_allclose(found.mean, after[i], rtol=1e-12)
        assert_allclose(found.variance, spread[i], rtol=1e-12)
    want = stats.multivariate_normal.logpdf([1.5, -0.3], seen @ mean, s)
    assert_allclose(made.log_total, want, rtol=1e-12)


@pytest.mark.topic("004/4.12")
def test_conditioning_the_joint_is_a_kalman_gain() -> None:
    """[x, θ] has means μ₀, covariance [[σ₀²+σ², σ₀²], [σ₀², σ₀²]]; K = σ₀²/(σ₀²+σ²)."""
    mu0, prior, noise, x = 0.7, 4.0, 1.5, 2.2
    joint = MvNormal([mu0, mu0], cov=[[prior + noise, prior], [prior, prior]])
    conditioned = joint.condition([0], [x])
    gain = prior / (prior + noise)
    assert_allclose(conditioned.mean, [mu0 + gain * (x - mu0)], rtol=1e-13)
    assert_allclose(conditioned.cov, [[(1.0 - gain) * prior]], rtol=1e-13)
    m = Model()
    m.theta = Normal(mu0, variance=prior)
    m.x = Normal(m.theta, variance=noise)
    post = m.infer(x=x).theta
    assert_allclose([post.mean, post.variance], [conditioned.mean[0], conditioned.cov[0, 0]])


# -- a workflow ----------------------------------------------------------------------------------


@pytest.mark.topic("004/0.1")
def test_models_are_written_solved_and_judged_in_one_way() -> None:
    """Data of two clusters: exact for one, approximate for two and three; evidence picks two."""
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(-4.0, 0.7, 30), rng.normal(3.0, 0.7, 20)])

    def mixture(k: int) -> Model:
        m = Model()
        m.tau = Gamma(1.0, rate=1.0).iid(k)
        m.mu = Normal(0.0, variance=25.0).iid(k)
        m.pi = Dirichlet(np.ones(k))
        m.z = Categorical(m.pi).iid("n")
        m.x = Normal(m.mu[m.z], precision=m.tau[m.z])
        return m

    single = Model()
    single.tau = Gamma(1.0, rate=1.0)
    single.mu = Normal(0.0, precision=0.04 * single.tau)
    single.x = Normal(single.mu, precision=single.tau).iid("n")
    exact = single.infer(x=x).log_evidence
    assert exact.kind == "exact"
    two, three = (mixture(k).infer(x=x).log_evidence for k in (2, 3))
    assert two.kind == three.kind == "bound"
    assert float(two) > float(three)
    assert float(two) > float(exact) + 10.0
