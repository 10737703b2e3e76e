"""Student t noise in variational models: rows with weights of their own."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from posteriori import Gamma, Input, Model, Normal, StudentT
from posteriori.distributions import HalfCauchy, HalfNormal
from posteriori.modeling import Chain
from posteriori.modeling.views.free_energy import free_energy_of
from tests.modeling.variational.cases import noise
from tests.modeling.variational.models import variational

GROUPS = 7
G = np.repeat(np.arange(GROUPS), 12)
Y = 2.0 * noise(GROUPS, seed=1)[G] + 0.5 * np.random.default_rng(2).standard_t(3.0, len(G))


def groups(noise_of: Any) -> Model:
    """Group effects with an unknown spread; what is given makes the noise of ``m.y``."""
    m = Model()
    m.g = Input("n")
    m.between = HalfNormal(3.0)
    m.b = Normal(0.0, scale=m.between).iid(GROUPS)
    noise_of(m)
    return m


def student(m: Model) -> None:
    m.s = HalfCauchy(1.0)
    m.y = StudentT(4.0, m.b[m.g], scale=m.s)


def student_of_unknown_dof(m: Model) -> None:
    m.nu = Gamma(2.0, 0.1)
    student_with(m, m.nu)


def student_with(m: Model, dof: Any) -> None:
    m.s = HalfCauchy(1.0)
    m.y = StudentT(dof, m.b[m.g], scale=m.s)


def test_weights_can_be_written_out() -> None:
    """With a known scale the model is that of normal rows with gamma weights."""

    def short(m: Model) -> None:
        m.y = StudentT(4.0, m.b[m.g], scale=0.5)

    def long(m: Model) -> None:
        m.w = Gamma(2.0, 2.0).iid("n")
        m.y = Normal(m.b[m.g], precision=4.0 * m.w)

    one, two = (groups(n).infer(y=Y, g=G, tol=1e-11, method="vmp") for n in (short, long))
    assert float(one.log_evidence) == pytest.approx(float(two.log_evidence), abs=1e-8)
    assert_allclose(one.b.mean, two.b.mean, rtol=1e-7)
    assert_allclose(one.between.mean, two.between.mean, rtol=1e-6)


@pytest.mark.parametrize("write", [student, student_of_unknown_dof])
def test_two_routes_to_the_bound(write: Any) -> None:
    result = variational(groups(write).infer(y=Y, g=G, method="vmp")).informed
    problem = result.problem
    assert_allclose(problem.slow_bound()[0], result.log_evidence, rtol=1e-11)
    before = problem.slow_bound()
    for node in (*problem.shared, *problem.local):
        problem.reduce()
        problem.update(node)
        after = problem.slow_bound()
        assert_allclose(problem.bound(node), after, rtol=1e-11)
        assert after[0] > before[0] - 1e-10 * abs(before[0])
        before = after


def test_mean_field_by_hand() -> None:
    """E[w] = (ν + 1)/(ν + E[z²]) and a normal belief about the mean, until nothing changes."""
    y, nu, s = np.array([0.1, -0.4, 0.3, 0.7, 9.0]), 3.0, 0.5
    m, v = 0.0, 1.0
    for _ in range(2000):
        w = (nu + 1.0) / (nu + ((y - m) ** 2 + v) / s**2)
        v = 1.0 / (0.25 + w.sum() / s**2)
        m = v * (w @ y) / s**2
    model = Model()
    model.mu = Normal(0.0, variance=4.0)
    model.y = StudentT(nu, model.mu, scale=s).iid("n")
    post = model.infer(y=y, method="vmp", tol=1e-14, max_iter=5000)
    assert_allclose([post.mu.mean, post.mu.variance], [m, v], rtol=1e-5)
    u = np.linspace(-10.0, 15.0, 50_001)
    logs = stats.norm.logpdf(u, 0.0, 2.0) + stats.t.logpdf(y[:, None], nu, u, s).sum(axis=0)
    exact = np.log(np.trapezoid(np.exp(logs), u))
    assert exact - 1.0 < float(post.log_evidence) < exact


def test_degrees_of_freedom_are_learned() -> None:
    rng = np.random.default_rng(4)
    found = []
    for dof in (2.5, 50.0):
        y = noise(GROUPS, seed=5)[np.repeat(np.arange(GROUPS), 60)]
        y = y + 0.5 * rng.standard_t(dof, len(y))
        post = groups(student_of_unknown_dof).infer(y=y, g=np.repeat(np.arange(GROUPS), 60))
        found.append(float(post.nu.mean))
    assert 1.5 < found[0] < 4.0
    assert found[1] > 8.0


def test_outliers_do_not_move_effects() -> None:
    y = Y.copy()
    y[0] += 50.0
    clean, far = (groups(student).infer(y=data, g=G) for data in (Y, y))
    assert abs(float(far.b.mean[0] - clean.b.mean[0])) < 2.0 * float(clean.b.std[0])


def test_answers() -> None:
    post = groups(student).infer(y=np.where(np.arange(len(Y)) % 9, Y, np.nan), g=G)
    assert set(post.sample(3, rng=0)) == {"between", "b", "s"}
    assert "[weight]" not in repr(post)
    assert post.explain().log_evidence == pytest.approx(float(post.log_evidence))
    assert -float(free_energy_of(post)) == pytest.approx(float(post.log_evidence))
    new = post.predict("y", g=[0, 3])
    assert isinstance(new, StudentT)
    assert_allclose(new.dof, 4.0)
    assert_allclose(new.mean, post.b.mean[[0, 3]])
    expected = post.b.variance[[0, 3]] + 2.0 * (post.s.variance + post.s.mean**2)  # ν/(ν − 2) = 2
    assert_allclose(new.variance, expected, rtol=1e-3)
    more = post.update(y=Y[:5], g=G[:5])
    assert np.isfinite(float(more.log_evidence))


def test_heavy_priors_of_unknowns() -> None:
    """An effect with a Student t prior is normal given its weight: large ones are shrunk less."""
    y = 0.3 * noise(5, 8, seed=6)
    y[:, -1] += 8.0

    def last(write: Any) -> float:
        m = Model()
        m.s = HalfNormal(1.0)
        m.b = write(m.s).iid(8)
        m.y = Normal(m.b, scale=1.0).iid("n")
        return float(m.infer(y=y, method="vmp").b.mean[-1])

    heavy, light = last(lambda s: StudentT(2.0, 0.0, scale=s)), last(lambda s: Normal(0.0, scale=s))
    assert light < heavy < y[:, -1].mean()


def test_chains_with_student_steps_are_refused() -> None:
    m = Model()
    m.tau = Gamma(2.0, 1.0)
    m.s = Chain(Normal(0.0, variance=1.0), lambda s: StudentT(4.0, s, scale=0.5), length="t")
    m.y = Normal(m.s, precision=m.tau)
    with pytest.raises(TypeError, match="s"):
        m.infer(y=noise(20), method="vmp")
