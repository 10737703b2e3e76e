"""Normal models with one unknown common precision, against dense joints at every precision."""

from typing import Any

import numpy as np
import pytest
from scipy import integrate

from posteriori import (
    Gamma,
    InverseGamma,
    MvNormal,
    MvStudentT,
    Normal,
    NormalGamma,
    NormalInverseGamma,
    StudentT,
    bayes,
)
from posteriori.modeling import Input, Model
from tests.modeling.oracles import dense_answer
from tests.modeling.scaled_models import CASES, STRENGTH, C, R, X, Y, mean_and_precision, regression


def vectors_of_known_mean() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.0)
    m.y = Normal(0.0, precision=m.tau).iid("n")
    m.z = MvNormal(np.zeros(2), precision=STRENGTH * m.tau)
    return m


@pytest.mark.parametrize("name", CASES)
def test_bayes_rule_holds_at_every_precision(name: str) -> None:
    case = CASES[name]
    model = case.build()
    post = model.infer(case.data)
    for tau in (0.3, 1.0, 2.5):
        at = dense_answer(model, {**case.data, "tau": tau}, case.shapes)
        # p(τ | y) p(y) = p(y, τ)
        assert post.tau.log_prob(tau) + float(post.log_evidence) == pytest.approx(
            at.log_evidence, abs=1e-7
        )


@pytest.mark.parametrize("name", CASES)
def test_normal_variables_are_averaged_over_the_precision(name: str) -> None:
    case = CASES[name]
    model = case.build()
    post = model.infer(case.data)
    unit = dense_answer(model, {**case.data, "tau": 1.0}, case.shapes)
    spread = post.tau.mean if isinstance(post.tau, InverseGamma) else expected_inverse(post.tau)
    for variable, shape in case.shapes.items():
        d, place = post[variable], unit.places[variable]
        assert isinstance(d, StudentT | MvStudentT)
        assert np.shape(d.mean) == shape
        np.testing.assert_allclose(np.ravel(d.mean), unit.mean[place], atol=1e-8)
        np.testing.assert_allclose(
            np.ravel(d.variance), spread * np.diag(unit.cov)[place], rtol=1e-7
        )
    joint = post.joint(*case.shapes)
    np.testing.assert_allclose(joint.mean, unit.mean, atol=1e-8)
    np.testing.assert_allclose(joint.cov, spread * unit.cov, atol=1e-7)


def expected_inverse(precision: Gamma) -> float:
    """Return E[1/τ]."""
    return integrate.quad(
        lambda u: 1.0 / float(precision.quantile(u)), 0.0, 1.0, epsabs=0.0, epsrel=1e-11, limit=400
    )[0]


def test_marginals_are_integrals_of_normals() -> None:
    post = mean_and_precision().infer(y=Y)
    for mu in (-1.0, 0.2, 0.9):

        def density(u: float, mu: float = mu) -> float:
            tau = post.tau.quantile(u)
            at = Normal(post.mu.mean, precision=(0.5 + len(Y)) * tau)
            return float(np.exp(at.log_prob(mu)))

        exact = integrate.quad(density, 0.0, 1.0, epsabs=0.0, epsrel=1e-11, limit=400)[0]
        assert post.mu.log_prob(mu) == pytest.approx(np.log(exact), abs=1e-8)


@pytest.mark.topic("000/M7")
def test_mean_and_precision_of_the_notes() -> None:
    x = [1.2, 0.4, 2.3, 1.9, 0.7]
    m = Model()
    m.tau = Gamma(1.0, 1.0)
    m.mu = Normal(0.0, precision=m.tau)
    m.x = Normal(m.mu, precision=m.tau).iid("n")
    post = m.infer(x=x)
    assert post.tau.shape == 3.5
    assert post.tau.rate == pytest.approx(2.97416667, abs=5e-9)
    assert post.mu.mean == pytest.approx(1.08333333, abs=5e-9)
    assert float(post.log_evidence) == pytest.approx(-8.10447241, abs=5e-9)
    exact = bayes(NormalGamma(0.0, 1.0, 1.0, 1.0), Normal, x)
    assert float(post.log_evidence) == pytest.approx(exact.log_evidence.value, rel=1e-12)
    marginal = exact.posterior.marginal_mean()
    assert post.mu.dof == marginal.dof
    assert post.mu.scale == pytest.approx(marginal.scale, rel=1e-12)


def test_regression_is_the_conjugate_pair() -> None:
    m = Model()
    m.X = Input()
    m.v = InverseGamma(2.0, 1.5)
    m.w = MvNormal([0.1, -0.2], cov=np.linalg.inv(STRENGTH) * m.v)
    m.y = Normal(m.X @ m.w, variance=m.v)
    post = m.infer(X=X, y=Y)
    prior = NormalInverseGamma([0.1, -0.2], mean_precision=STRENGTH, shape=2.0, scale=1.5)
    exact = bayes(prior, lambda w, v: Normal(X @ w, variance=v), Y)
    assert float(post.log_evidence) == pytest.approx(exact.log_evidence.value, rel=1e-12)
    marginal = exact.posterior.marginal_mean()
    np.testing.assert_allclose(post.w.scale, marginal.scale, rtol=1e-11)
    np.testing.assert_allclose(post.w.location, marginal.location, rtol=1e-11)
    spread = exact.posterior.marginal_variance()
    assert post.v.shape == spread.shape
    assert post.v.scale == pytest.approx(spread.scale, rel=1e-12)


def test_vectors_of_known_mean_scale_with_the_precision() -> None:
    post = vectors_of_known_mean().infer(y=[1.0, 2.0], z=[0.0, 1.0])
    assert post.tau == Gamma(4.0, 1.0 + 0.5 * (1.0 + 4.0 + STRENGTH[1, 1]))
    # all four numbers together follow a Student t
    scale = np.eye(4)
    scale[2:, 2:] = np.linalg.inv(STRENGTH)
    exact = MvStudentT(4.0, np.zeros(4), scale=0.5 * scale)
    assert float(post.log_evidence) == pytest.approx(
        exact.log_prob([1.0, 2.0, 0.0, 1.0]), rel=1e-12
    )


def test_precision_and_variance_are_the_same_model() -> None:
    by_variance = Model()
    by_variance.v = InverseGamma(2.0, 1.5)
    by_variance.mu = Normal(0.3, variance=2.0 * by_variance.v)
    by_variance.y = Normal(by_variance.mu, variance=by_variance.v).iid("n")
    one, two = by_variance.infer(y=Y), mean_and_precision().infer(y=Y)
    assert float(one.log_evidence) == pytest.approx(float(two.log_evidence), rel=1e-12)
    assert one.v.scale == pytest.approx(two.tau.rate, rel=1e-12)
    assert one.mu.scale == pytest.approx(two.mu.scale, rel=1e-12)


# -- predictions -------------------------------------------------------------------------------


def test_predictions_are_ratios_of_evidence() -> None:
    new, value = np.array([[0.4, -1.3]]), 0.7
    post = regression().infer(X=X, y=Y)
    more = regression().infer(X=np.vstack([X, new]), y=np.append(Y, value))
    predicted = post.predict("y", X=new)
    assert predicted.batch_shape == (1,)
    assert predicted.log_prob([value])[0] == pytest.approx(
        float(more.log_evidence) - float(post.log_evidence), abs=1e-10
    )


def test_vectors_and_leaves_are_predicted() -> None:
    m = regression()
    m.leaf = MvNormal(C @ m.w, precision=np.linalg.inv(R) * m.tau)
    value = np.array([0.3, -0.2, 1.0])
    post = m.infer(X=X, y=Y)
    more = m.infer(X=X, y=Y, leaf=value)
    assert post.leaf.log_prob(value) == pytest.approx(
        float(more.log_evidence) - float(post.log_evidence), abs=1e-10
    )


def test_without_data_the_prior_is_a_student_t() -> None:
    post = regression().infer(X=X)
    assert float(post.log_evidence) == 0.0
    assert post.tau == Gamma(2.0, 1.5)
    assert post.w.dof == 4.0
    np.testing.assert_allclose(post.w.scale, 0.75 * np.linalg.inv(STRENGTH), rtol=1e-12)


@pytest.mark.parametrize("y", [np.full(7, np.nan), np.zeros(0)])
def test_no_rows_say_nothing(y: Any) -> None:
    post = mean_and_precision().infer(y=y)
    assert float(post.log_evidence) == pytest.approx(0.0, abs=1e-12)
    assert post.tau == Gamma(2.0, 1.5)
    assert post.mu.dof == 4.0
