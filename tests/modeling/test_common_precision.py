"""Normal models with one unknown common precision, against dense joints at every precision."""

from collections.abc import Callable
from typing import Any, NamedTuple

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
    Poisson,
    StudentT,
    bayes,
)
from posteriori.modeling import Chain, Input, Model
from posteriori.modeling.binding import bind
from posteriori.modeling.scaled_factors import find_common_precision
from tests.modeling.oracles import dense_answer

RNG = np.random.default_rng(23)
X = RNG.normal(size=(7, 2))
Y = RNG.normal(size=7)
GAPS = np.where(np.arange(7) % 3 == 1, np.nan, Y)
GROUP = np.array([0, 1, 1, 2, 0, 2, 1])
STRENGTH = np.array([[2.0, 0.3], [0.3, 1.0]])
C = np.array([[1.0, 0.3], [0.0, 1.0], [2.0, -1.0]])
R = np.array([[0.6, 0.1, 0.0], [0.1, 0.5, 0.2], [0.0, 0.2, 0.9]])
VECTORS = RNG.normal(size=(4, 3))
HOLES = VECTORS.copy()
HOLES[1, 0] = HOLES[3, 1] = HOLES[3, 2] = np.nan
HOLES[2] = np.nan


class Case(NamedTuple):
    build: Callable[[], Model]
    data: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]


def mean_and_precision() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.3, precision=0.5 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def regression() -> Model:
    m = Model()
    m.X = Input()
    m.tau = Gamma(2.0, 1.5)
    m.w = MvNormal([0.1, -0.2], precision=STRENGTH * m.tau)
    m.y = Normal(m.X @ m.w, precision=m.tau)
    return m


def regression_by_variance() -> Model:
    m = Model()
    m.X = Input()
    m.tau = InverseGamma(2.0, 1.5)
    m.w = MvNormal([0.1, -0.2], cov=STRENGTH * m.tau)
    m.b = Normal(0.0, variance=3.0 * m.tau)
    m.y = Normal(m.X @ m.w + m.b, variance=np.linspace(0.5, 1.5, 7) * m.tau)
    return m


def hierarchy() -> Model:
    m = Model()
    m.g = Input()
    m.tau = Gamma(3.0, 2.0)
    m.mu = Normal(0.0, precision=0.1 * m.tau)
    m.theta = Normal(m.mu, precision=2.0 * m.tau).iid(3)
    m.y = Normal(m.theta[m.g], precision=m.tau)
    return m


def local_level() -> Model:
    m = Model()
    m.tau = Gamma(3.0, 2.0)
    m.s = Chain(
        Normal(0.0, precision=0.2 * m.tau),
        lambda s: Normal(0.9 * s, precision=3.0 * m.tau),
        length="t",
    )
    m.y = Normal(m.s, precision=m.tau)
    return m


def local_vectors() -> Model:
    m = Model()
    m.tau = InverseGamma(3.0, 2.0)
    m.z = MvNormal(np.zeros(2), cov=STRENGTH * m.tau).iid("n")
    m.x = MvNormal(C @ m.z, cov=R * m.tau)
    return m


def with_known_mean() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.3, precision=0.5 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    m.noise = Normal(0.1, precision=4.0 * m.tau).iid(3)
    return m


def drift() -> Model:
    m = Model()
    m.tau = Gamma(3.0, 2.0)
    m.d = Normal(0.1, precision=m.tau)
    m.s = Chain(
        Normal(0.0, precision=0.2 * m.tau),
        lambda s: Normal(s + m.d, precision=3.0 * m.tau),
        length="t",
    )
    m.y = Normal(m.s, precision=m.tau)
    return m


def vectors_of_known_mean() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.0)
    m.y = Normal(0.0, precision=m.tau).iid("n")
    m.z = MvNormal(np.zeros(2), precision=STRENGTH * m.tau)
    return m


NOISE = np.array([0.2, -0.5, 0.1])
CASES = {
    "mean and precision": Case(mean_and_precision, {"y": Y}, {"mu": ()}),
    "regression": Case(regression, {"X": X, "y": Y}, {"w": (2,)}),
    "by variance": Case(regression_by_variance, {"X": X, "y": Y}, {"w": (2,), "b": ()}),
    "hierarchy": Case(hierarchy, {"g": GROUP, "y": Y}, {"mu": (), "theta": (3,)}),
    "local level": Case(local_level, {"y": Y[:4]}, {"s": (4,)}),
    "drift": Case(drift, {"y": Y[:4]}, {"d": (), "s": (4,)}),
    "local vectors": Case(local_vectors, {"x": VECTORS}, {"z": (4, 2)}),
    "known mean": Case(with_known_mean, {"y": Y, "noise": NOISE}, {"mu": ()}),
}


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


# -- predictions -----------------------------------------------------------------------------


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


# -- data ------------------------------------------------------------------------------------


def test_missing_rows_are_rows_left_out() -> None:
    kept = ~np.isnan(GAPS)
    one, two = regression().infer(X=X, y=GAPS), regression().infer(X=X[kept], y=Y[kept])
    assert float(one.log_evidence) == pytest.approx(float(two.log_evidence), rel=1e-12)
    assert one.tau.rate == pytest.approx(two.tau.rate, rel=1e-12)
    np.testing.assert_allclose(one.w.scale, two.w.scale, rtol=1e-11)


def test_missing_entries_of_vectors_are_marginalised() -> None:
    post = local_vectors().infer(x=HOLES)
    there = ~np.isnan(HOLES.ravel())
    whole = np.kron(np.eye(4), C @ STRENGTH @ C.T + R)[np.ix_(there, there)]
    # the data follow a Student t with 2a degrees of freedom
    exact = MvStudentT(6.0, np.zeros(there.sum()), scale=whole * (2.0 / 3.0))
    assert float(post.log_evidence) == pytest.approx(exact.log_prob(HOLES.ravel()[there]), abs=1e-9)
    assert post.tau.shape == 3.0 + 0.5 * there.sum()


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_evidence_keeps_its_digits_in_any_unit(unit: float) -> None:
    m = Model()
    m.tau = Gamma(2.0, 1.5 * unit**2)
    m.mu = Normal(0.3 * unit, precision=0.5 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    scaled = float(m.infer(y=Y * unit).log_evidence)
    plain = float(mean_and_precision().infer(y=Y).log_evidence)
    assert scaled + len(Y) * np.log(unit) == pytest.approx(plain, abs=1e-10)


@pytest.mark.parametrize("unit", [1e-5, 1e5])
def test_a_long_chain_is_smoothed_in_any_unit(unit: float) -> None:
    y = np.cumsum(RNG.normal(size=3000))
    y[5::7] = np.nan

    def chain(unit: float) -> Model:
        m = Model()
        m.tau = Gamma(2.0, 1.5 * unit**2)
        m.s = Chain(
            Normal(0.0, precision=0.1 * m.tau),
            lambda s: Normal(s, precision=2.0 * m.tau),
            length="t",
        )
        m.y = Normal(m.s, precision=m.tau)
        return m

    plain, scaled = chain(1.0).infer(y=y), chain(unit).infer(y=unit * y)
    assert "smoother" in repr(chain(1.0).plan(y=y))
    count = np.sum(~np.isnan(y))
    assert float(scaled.log_evidence) + count * np.log(unit) == pytest.approx(
        float(plain.log_evidence), abs=1e-6
    )
    assert scaled.tau.rate == pytest.approx(unit**2 * plain.tau.rate, rel=1e-9)
    np.testing.assert_allclose(scaled.s.scale, unit * plain.s.scale, rtol=1e-9)


def test_a_chain_of_ten_thousand_steps_obeys_bayes_rule() -> None:
    y = np.cumsum(np.random.default_rng(4).normal(size=10_000))
    post = local_level().infer(y=y)
    for tau in (0.4, 0.6):
        known = local_level().infer(y=y, tau=tau)
        both = float(known.log_evidence)  # p(y, τ): the density of τ is part of it
        assert post.tau.log_prob(tau) + float(post.log_evidence) == pytest.approx(both, rel=1e-10)
        variance = post.s.variance * (post.tau.shape - 1.0) / post.tau.rate / tau
        np.testing.assert_allclose(variance, known.s.variance, rtol=1e-8)
        np.testing.assert_allclose(post.s.mean, known.s.mean, rtol=1e-8)


# -- plates ----------------------------------------------------------------------------------


def groups() -> Model:
    m = Model()
    m.g = Input()
    m.tau = Gamma([2.0, 3.0, 1.0], 1.5)
    m.mu = Normal([0.0, 0.5, 1.0], precision=0.5 * m.tau)
    m.y = Normal(m.mu[m.g], precision=m.tau[m.g])
    return m


@pytest.mark.parametrize("y", [Y, GAPS])
def test_a_precision_for_each_group_is_one_fit_for_each(y: Any) -> None:
    post = groups().infer(g=GROUP, y=y)
    total = 0.0
    predicted = post.predict("y", g=[2, 0])
    for j, (shape, centre) in enumerate([(2.0, 0.0), (3.0, 0.5), (1.0, 1.0)]):
        rows = y[(j == GROUP) & ~np.isnan(y)]
        exact = bayes(NormalGamma(centre, 0.5, shape, 1.5), Normal, rows)
        total += float(exact.log_evidence.value)
        marginal = exact.posterior.marginal_mean()
        assert post.tau.shape[j] == exact.posterior.shape
        assert post.tau.rate[j] == pytest.approx(exact.posterior.rate, rel=1e-12)
        assert post.mu.dof[j] == marginal.dof
        assert post.mu.location[j] == pytest.approx(marginal.location, rel=1e-11)
        assert post.mu.scale[j] == pytest.approx(marginal.scale, rel=1e-11)
        for k in np.flatnonzero(np.array([2, 0]) == j):
            assert predicted.scale[k] == pytest.approx(exact.predictive.scale, rel=1e-11)
            assert predicted.dof[k] == exact.predictive.dof
    assert float(post.log_evidence) == pytest.approx(total, rel=1e-12)


def test_a_plate_of_regressions_is_a_loop() -> None:
    y = RNG.normal(size=(3, 7))
    m = Model()
    m.tau = Gamma(2.0, 1.5).iid("k")
    m.w = MvNormal([0.1, -0.2], precision=STRENGTH * m.tau)
    m.y = Normal(X @ m.w, precision=m.tau)
    post = m.infer(y=y)
    fits = [regression().infer(X=X, y=row) for row in y]
    total = sum(float(fit.log_evidence) for fit in fits)
    assert float(post.log_evidence) == pytest.approx(total, rel=1e-11)
    for k, fit in enumerate(fits):
        assert post.tau.rate[k] == pytest.approx(fit.tau.rate, rel=1e-11)
        np.testing.assert_allclose(post.w.scale[k], fit.w.scale, rtol=1e-10)
        np.testing.assert_allclose(post.w.location[k], fit.w.location, rtol=1e-10)


def test_many_series_with_mean_and_precision_of_their_own() -> None:
    m = Model()
    m.tau = Gamma(2.0, rate=1.0).iid("g")
    m.mu = Normal(0.0, precision=0.1 * m.tau)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    y = RNG.normal(size=(20, 1000))
    y[3, 5] = y[7, 900] = np.nan
    post = m.infer(y=y)
    fits = [
        bayes(NormalGamma(0.0, 0.1, 2.0, 1.0), Normal, column[~np.isnan(column)]) for column in y.T
    ]
    total = sum(float(fit.log_evidence.value) for fit in fits)
    assert float(post.log_evidence) == pytest.approx(total, rel=1e-11)
    joint = post.joint("mu", "tau")
    for name in ("location", "mean_strength", "shape", "rate"):
        each = [getattr(fit.posterior, name) for fit in fits]
        np.testing.assert_allclose(getattr(joint, name), each, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        post.mu.scale, [fit.posterior.marginal_mean().scale for fit in fits], rtol=1e-10
    )


# -- refusals --------------------------------------------------------------------------------


def prior_of_its_own() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.0, variance=1.0)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def noise_of_its_own() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.0, precision=m.tau)
    m.y = Normal(m.mu, variance=1.0).iid("n")
    return m


def seen_elsewhere() -> Model:
    m = mean_and_precision()
    m.k = Poisson(m.tau)
    return m


def variance_of_a_gamma() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.mu = Normal(0.0, variance=m.tau)
    m.y = Normal(m.mu, variance=m.tau).iid("n")
    return m


def two_precisions() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5)
    m.other = Gamma(2.0, 1.5)
    m.mu = Normal(0.0, precision=m.other)
    m.y = Normal(m.mu, precision=m.tau).iid("n")
    return m


def shared_mean() -> Model:
    m = Model()
    m.tau = Gamma(2.0, 1.5).iid(7)
    m.mu = Normal(0.0, precision=m.tau[0])
    m.y = Normal(m.mu, precision=m.tau)
    return m


@pytest.mark.parametrize(
    ("build", "more"),
    [
        (prior_of_its_own, {}),
        (noise_of_its_own, {}),
        (seen_elsewhere, {"k": 2}),
        (variance_of_a_gamma, {}),
        (two_precisions, {}),
        (shared_mean, {}),
    ],
)
def test_what_needs_several_blocks_has_no_common_precision(build: Any, more: Any) -> None:
    assert common_precision_of(build(), {**more, "y": Y}) is None


def common_precision_of(model: Model, data: dict[str, Any]) -> str | None:
    bound = bind(model._variables, model._inputs, data)
    return find_common_precision(bound, bound.latent, bound.factors)


def test_predictions_that_are_no_student_t_are_refused() -> None:
    m = mean_and_precision()
    m.other = Normal(m.mu, variance=1.0)
    post = m.infer(y=Y)
    with pytest.raises(TypeError, match="no closed-form predictive"):
        post.predict("other")
    m = groups()
    m.mixed = Normal(m.mu[0], precision=m.tau[1])
    post = m.infer(g=GROUP, y=Y)
    with pytest.raises(TypeError, match="mixes members of tau"):
        post.predict("mixed")


def test_the_plan_says_what_runs() -> None:
    plan = mean_and_precision().plan(y=Y)
    (block,) = plan.blocks
    assert block.names == ("tau", "mu")
    assert "common tau (Gamma) averaged over" in repr(plan)
