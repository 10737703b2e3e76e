"""Numbers whose beliefs are densities on grids: against conjugate nodes, and fixed points by hand."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, special

from posteriori import Categorical, Dirichlet, Exponential, Gamma, Model, Normal, Poisson, StudentT
from posteriori.distributions import (
    HalfCauchy,
    HalfNormal,
    HalfStudentT,
    LogNormal,
    Numeric,
    PointMass,
    Uniform,
)
from posteriori.distributions.base import Univariate
from posteriori.modeling import Input, load_posterior
from posteriori.modeling.variational.densities.number_functions import Of
from posteriori.modeling.views.free_energy import free_energy
from tests.modeling.variational.cases import clusters, noise
from tests.modeling.variational.models import variational


class AnotherGamma(Gamma):
    """A gamma distribution without a law: its variables are believed in on a grid."""


class RootInverseGamma(Univariate):
    """σ with σ⁻² ~ Gamma(a, b): p(σ) = 2 σ⁻³ Gamma(σ⁻² | a, b)."""

    _parameters = {"shape": 0, "rate": 0}
    _shown = ("shape", "rate")

    def __new__(cls, shape: Any, rate: Any) -> Any:
        return cls._from(shape=np.asarray(shape, float), rate=np.asarray(rate, float))

    def _log_density(self, x: Any) -> Any:
        return np.log(2.0) - 3.0 * np.log(x) + Gamma(self.shape, self.rate).log_prob(x**-2.0)

    def _outside(self, x: Any) -> Any:
        return x <= 0

    def _quantile(self, q: Any) -> Any:
        with np.errstate(divide="ignore"):
            return np.asarray(Gamma(self.shape, self.rate).quantile(1.0 - q)) ** -0.5


def mixture(key: str, prior: Any) -> Model:
    m = Model()
    m.pi = Dirichlet([1.0, 1.0])
    m.mu = Normal(0.0, variance=9.0).iid(2)
    m.s = prior
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], **{key: m.s[m.z]})
    return m


X = clusters(40, seed=1)


# -- against conjugate nodes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "prior"),
    [
        ("precision", AnotherGamma(2.0, [1.0, 0.7])),
        ("scale", RootInverseGamma(2.0, [1.0, 0.7])),
    ],
)
def test_a_gamma_precision_on_a_grid_is_the_conjugate_one(key: str, prior: Any) -> None:
    options = {"tol": 1e-12, "init": {"mu": [2.0, -2.0]}, "max_iter": 5000}
    conjugate = mixture("precision", Gamma(2.0, [1.0, 0.7])).infer(x=X, **options)
    grid = mixture(key, prior).infer(x=X, **options)
    assert variational(grid).answers(["s"])["s"].kind == "grid"
    assert float(grid.log_evidence) == pytest.approx(float(conjugate.log_evidence), abs=1e-8)
    assert_allclose(grid.mu.mean, conjugate.mu.mean, rtol=1e-6)
    assert_allclose(grid.mu.std, conjugate.mu.std, rtol=1e-6)
    assert_allclose(grid.pi.mean, conjugate.pi.mean, rtol=1e-6)
    median = conjugate.s.median if key == "precision" else conjugate.s.median**-0.5
    assert_allclose(grid.s.median, median, rtol=1e-5)


def test_half_t_priors_have_half_cauchy_and_half_normal_ends() -> None:
    def evidence(prior: Any) -> float:
        return float(mixture("scale", prior.iid(2)).infer(x=X, init={"mu": [2, -2]}).log_evidence)

    assert evidence(HalfStudentT(1.0, 1.5)) == pytest.approx(evidence(HalfCauchy(1.5)), abs=1e-9)
    assert evidence(HalfStudentT(1e12, 1.5)) == pytest.approx(evidence(HalfNormal(1.5)), abs=1e-6)


def test_evidence_does_not_depend_on_what_is_called_the_spread() -> None:
    """ln σ, ln σ² and −ln σ² are normal together."""
    found = [
        float(mixture(key, prior.iid(2)).infer(x=X, init={"mu": [2, -2]}, tol=1e-10).log_evidence)
        for key, prior in (
            ("scale", LogNormal(0.2, variance=0.5)),
            ("variance", LogNormal(0.4, variance=2.0)),
            ("precision", LogNormal(-0.4, variance=2.0)),
        )
    ]
    assert_allclose(found, found[0], atol=1e-8)


def test_a_rate_on_a_grid_is_the_conjugate_one() -> None:
    counts, found = np.array([3.0, 0.0, 2.0, 5.0, 1.0, 4.0]), []
    for prior in (Gamma(2.0, 1.0), AnotherGamma(2.0, 1.0)):
        m = Model()
        m.rate = prior.iid(6)
        m.common = Gamma(3.0, 3.0)
        m.y = Poisson(m.rate * m.common)
        found.append(m.infer(y=counts, method="vmp", tol=1e-12, max_iter=5000))
    conjugate, grid = found
    assert float(grid.log_evidence) == pytest.approx(float(conjugate.log_evidence), abs=1e-8)
    assert_allclose(grid.common.mean, conjugate.common.mean, rtol=1e-6)
    expected = variational(grid).answers(["rate"])["rate"]._means[(Of("value"),)]
    assert_allclose(expected, conjugate.rate.mean, rtol=1e-6)
    assert_allclose(grid.rate.mean, conjugate.rate.mean, rtol=2e-5)  # tables: linear between nodes


# -- fixed points by hand ----------------------------------------------------------------------


def on_grid(logs: np.ndarray, step: float) -> tuple[np.ndarray, float]:
    """Return weights of points that are ``step`` apart, and the log of their integral."""
    total = float(special.logsumexp(logs))
    return np.exp(logs - total), total + np.log(step)


@pytest.mark.parametrize(
    "prior",
    [
        HalfCauchy(1.0),
        HalfNormal(0.7),
        HalfStudentT(3.0, 2.0),
        Uniform(0.0, 4.0),
        Exponential(0.5),
        LogNormal(0.3, variance=2.0),
    ],
    ids=lambda p: type(p).__name__,
)
def test_mean_and_scale(prior: Any) -> None:
    """q(μ) is normal, q(σ) a density on a fine grid of ln σ, in turn until nothing changes."""
    y = 3.0 + 0.8 * noise(9, seed=2)
    u = np.linspace(-6.0, 12.0, 4001)
    s, step, n = np.exp(u), u[1] - u[0], len(y)
    with np.errstate(divide="ignore"):
        log_prior = np.asarray(prior.log_prob(s)) + u
    m, v = 0.0, 1.0
    for _ in range(500):
        squares = np.sum((y - m) ** 2) + n * v
        q, log_z = on_grid(log_prior - n * u - 0.5 * squares * s**-2.0, step)
        tau = q @ s**-2.0
        v = 1.0 / (0.25 + n * tau)
        m = v * tau * y.sum()
    squares = np.sum((y - m) ** 2) + n * v
    q, log_z = on_grid(log_prior - n * u - 0.5 * squares * s**-2.0, step)
    kl = 0.5 * (0.25 * (m**2 + v) - 1.0 - np.log(0.25 * v))
    bound = log_z - 0.5 * n * np.log(2.0 * np.pi) - kl

    model = Model()
    model.s = prior
    model.mu = Normal(0.0, variance=4.0)
    model.y = Normal(model.mu, scale=model.s).iid("n")
    post = model.infer(y=y, method="vmp", tol=1e-13, max_iter=5000)
    assert float(post.log_evidence) == pytest.approx(bound, abs=1e-6)
    assert_allclose([post.mu.mean, post.mu.variance], [m, v], rtol=1e-5)
    mean = q @ s
    assert_allclose(post.s.mean, mean, rtol=1e-4)
    assert_allclose(post.s.std, np.sqrt(q @ (s - mean) ** 2), rtol=1e-3)


def test_shape_and_rate_of_gamma_data() -> None:
    """q(r) is gamma, q(a) ∝ p(a) exp(n a E[ln r] + a Σ ln x − n ln Γ(a))."""
    x = np.random.default_rng(3).gamma(2.5, 0.5, 30)
    u = np.linspace(-8.0, 6.0, 4001)
    a, step, n = np.exp(u), u[1] - u[0], len(x)
    log_prior = np.asarray(HalfNormal(5.0).log_prob(a)) + u - n * special.gammaln(a)
    expected = 1.0
    for _ in range(3000):
        shape, rate = 2.0 + n * expected, 1.0 + x.sum()
        logs = special.digamma(shape) - np.log(rate)
        q, _ = on_grid(log_prior + a * (n * logs + np.log(x).sum()), step)
        expected = q @ a
    m = Model()
    m.a = HalfNormal(5.0)
    m.r = Gamma(2.0, 1.0)
    m.x = Gamma(m.a, m.r).iid("n")
    post = m.infer(x=x, method="vmp", tol=1e-13, max_iter=20_000)
    assert_allclose(post.a.mean, expected, rtol=1e-4)
    assert_allclose([post.r.shape, post.r.rate], [shape, rate], rtol=1e-4)


def test_beliefs_are_stationary() -> None:
    """Any other table in the place of a belief on a grid has a higher free energy."""
    m = Model()
    m.s = HalfCauchy(1.0).iid(3)
    m.mu = Normal(0.0, variance=4.0).iid(3)
    m.x = Normal(m.mu, scale=m.s).iid("n")
    data = {"x": noise(6, 3, seed=4)}
    post = m.infer(data, method="vmp", tol=1e-12, max_iter=5000)
    best = float(free_energy(m, data, {"s": post.s, "mu": post.mu}))
    assert best == pytest.approx(-float(post.log_evidence), abs=1e-4)
    for factor in (0.9, 1.1):
        moved = Numeric(factor * post.s.nodes, post.s.density)
        assert float(free_energy(m, data, {"s": moved, "mu": post.mu})) > best + 1e-3


# -- what else a node answers ------------------------------------------------------------------


def test_points_are_modes() -> None:
    """The scale at its best value given the whole belief about the mean."""
    y = 3.0 + 0.8 * noise(9, seed=2)
    m = Model()
    m.s = HalfCauchy(1.0)
    m.mu = Normal(0.0, variance=4.0)
    m.y = Normal(m.mu, scale=m.s).iid("n")
    post = m.infer(y=y, form={"s": "point"}, tol=1e-13, max_iter=2000)
    assert isinstance(post.s, PointMass)

    def minus_log(u: float) -> float:  # the mean integrated over: y is normal with a common part
        cov = np.exp(2.0 * u) * np.eye(9) + 4.0
        logs = -0.5 * (np.linalg.slogdet(cov)[1] + y @ np.linalg.solve(cov, y))
        return -float(logs + HalfCauchy(1.0).log_prob(np.exp(u)))

    best = optimize.minimize_scalar(minus_log, bounds=(-3.0, 3.0), method="bounded").x
    assert float(post.s.mean) == pytest.approx(np.exp(best), rel=1e-4)


def test_predictions_have_the_tails_of_the_belief() -> None:
    options = {"method": "vmp", "tol": 1e-12, "max_iter": 5000}
    found = []
    for key, prior in (
        ("precision", Gamma(2.0, 1.0)),
        ("precision", AnotherGamma(2.0, 1.0)),
        ("scale", RootInverseGamma(2.0, 1.0)),
    ):
        m = Model()
        m.s = prior
        m.mu = Normal(0.0, variance=4.0)
        m.y = Normal(m.mu, **{key: m.s}).iid("n")
        found.append(m.infer(y=noise(7, seed=5), **options).predict("y", n=2))
    conjugate, *grids = found
    assert isinstance(conjugate, StudentT)
    for grid in grids:
        assert_allclose(grid.dof, conjugate.dof, rtol=1e-3)
        assert_allclose(grid.mean, conjugate.mean, rtol=1e-5)
        assert_allclose(grid.variance, conjugate.variance, rtol=1e-3)


def test_predicted_counts_average_over_the_rate() -> None:
    m = Model()
    m.rate = HalfNormal(3.0).iid(6)
    m.common = Gamma(3.0, 3.0)
    m.y = Poisson(m.rate * m.common).iid("n")
    y = np.random.default_rng(6).poisson(2.0, (8, 6)).astype(float)
    post = m.infer(y=y)
    new = post.predict("y", n=1)
    assert new.batch_shape == (1, 6)
    assert_allclose(new.mean[0], post.rate.mean * post.common.mean, rtol=0.1)


def test_draws_files_and_more_data(tmp_path: Any) -> None:
    m = mixture("scale", HalfCauchy(1.0).iid(2))
    first = m.infer(x=X[:25], init={"mu": [2.0, -2.0]})
    draws = first.sample(4000, rng=0)["s"]
    assert_allclose(draws.mean(axis=0), first.s.mean, rtol=0.05)
    first.save(tmp_path / "post")
    assert_allclose(load_posterior(tmp_path / "post").s.mean, first.s.mean)
    second, whole = first.update(x=X[25:]), m.infer(x=X)
    together = float(first.log_evidence) + float(second.log_evidence)
    assert together == pytest.approx(float(whole.log_evidence), abs=1e-3)
    assert_allclose(np.sort(second.s.mean), np.sort(whole.s.mean), rtol=1e-2)


def test_batches_climb_to_the_bound_of_all_rows() -> None:
    x = clusters(600, seed=7)
    m = mixture("scale", HalfNormal(2.0).iid(2))
    whole = m.infer(x=x, rng=0)
    batches = m.infer(x=x, batch_size=100, rng=0, max_iter=400, tol=1e-3)
    assert float(batches.log_evidence) == pytest.approx(float(whole.log_evidence), abs=0.5)
    assert_allclose(np.sort(batches.s.mean), np.sort(whole.s.mean), rtol=0.02)


def test_many_members_at_once() -> None:
    """The same answer for each of many as for one alone, priors differing from member to member."""
    scales = np.linspace(0.5, 3.0, 300)
    x = noise(5, 300, seed=8) * scales

    def model(prior: Any) -> Model:
        m = Model()
        m.s = prior
        m.x = Normal(0.0, scale=m.s).iid("n")
        return m

    post = model(HalfStudentT(3.0, scales)).infer(x=x)
    for i in (0, 111, 299):
        one = model(HalfStudentT(3.0, scales[i])).infer(x=x[:, i], method="vmp")
        assert_allclose(post.s.mean[i], one.s.mean, rtol=1e-3)


def test_a_class_without_members_keeps_its_prior() -> None:
    """Its expected precision has no end; nothing breaks."""
    m = Model()
    m.pi = Dirichlet([0.1, 0.1, 0.1, 0.1])
    m.mu = Normal(0.0, variance=9.0).iid(4)
    m.s = HalfCauchy(1.0).iid(4)
    m.z = Categorical(m.pi).iid("n")
    m.x = Normal(m.mu[m.z], scale=m.s[m.z])
    post = m.infer(x=X, rng=1)
    assert np.isfinite(float(post.log_evidence))
    used = post.z.probabilities.sum(axis=0)
    empty = used < 1e-6
    assert empty.any()
    assert_allclose(post.s.median[empty], 1.0, rtol=1e-2)


# -- words -------------------------------------------------------------------------------------


def test_plans_say_what_is_on_a_grid() -> None:
    plan = mixture("scale", HalfCauchy(1.0).iid(2)).plan(x=X)
    assert "s: density on a grid, prior HalfCauchy, 2 members" in str(plan)


def test_sums_of_spreads_are_refused_with_a_remedy() -> None:
    m = Model()
    m.g = Input("n")
    m.a, m.b = HalfNormal(1.0), HalfNormal(1.0).iid(8)
    m.x = Normal(0.0, scale=m.a + m.b[m.g])
    with pytest.raises(TypeError, match=r'is a sum of unknowns.*method="quadrature"'):
        m.infer(x=X, g=np.arange(40) % 8)


def test_starts_at_numbers_are_refused() -> None:
    with pytest.raises(TypeError, match="belief about s cannot be started"):
        mixture("scale", HalfCauchy(1.0).iid(2)).infer(x=X, init={"s": [1.0, 2.0]})
