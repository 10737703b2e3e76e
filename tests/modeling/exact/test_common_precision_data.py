"""A common precision: missing data, units, long chains, plates and refusals."""

from typing import Any

import numpy as np
import pytest

from posteriori import Gamma, MvNormal, MvStudentT, Normal, NormalGamma, Poisson, bayes
from posteriori.modeling import Chain, Model
from tests.modeling.scaled_models import (
    GAPS,
    GROUP,
    STRENGTH,
    VECTORS,
    C,
    R,
    X,
    Y,
    common_precision_of,
    groups,
    local_level,
    local_vectors,
    mean_and_precision,
    regression,
)

RNG = np.random.default_rng(24)
HOLES = VECTORS.copy()
HOLES[1, 0] = HOLES[3, 1] = HOLES[3, 2] = np.nan
HOLES[2] = np.nan


# -- data --------------------------------------------------------------------------------------


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


# -- plates ------------------------------------------------------------------------------------


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


# -- refusals ----------------------------------------------------------------------------------


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
