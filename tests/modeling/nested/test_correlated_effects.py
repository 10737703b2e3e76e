"""Correlated effects of groups, whose precision matrix is unknown."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from posteriori import Gamma, Model, MvNormal, Normal, StudentT, Wishart, dot

DAYS = np.arange(5.0)


def effects(groups: int, *, unknown_noise: bool = False) -> tuple[Model, np.ndarray]:
    """Return reaction times that rise by days of sleep lost, groups differing in start and slope."""
    rng = np.random.default_rng(0)
    group, day = np.repeat(np.arange(groups), len(DAYS)), np.tile(DAYS, groups)
    start, slope = rng.normal([250.0, 10.0], [30.0, 5.0], size=(groups, 2)).T
    m = Model()
    m.P = Wishart(3, np.diag([1 / 900, 1 / 25]) / 3)
    m.b = MvNormal([250.0, 10.0], precision=m.P).iid(groups)
    mean = dot(np.stack([np.ones_like(day), day], axis=1), m.b[group])
    if unknown_noise:
        m.tau = Gamma(shape=1, rate=600)
        m.y = Normal(mean, precision=m.tau)
    else:
        m.y = Normal(mean, scale=25.0)
    return m, start[group] + slope[group] * day + 25.0 * rng.normal(size=len(day))


@pytest.mark.parametrize("unknown_noise", [False, True])
def test_the_planner_goes_on_to_what_can_learn_the_matrix(unknown_noise: bool) -> None:
    m, y = effects(6, unknown_noise=unknown_noise)
    post, other = m.infer(y=y), m.infer(y=y, method="vmp")
    assert float(post.log_evidence) == pytest.approx(float(other.log_evidence), rel=1e-12)
    np.testing.assert_allclose(post.b.mean, other.b.mean)
    np.testing.assert_allclose(post.P.mean, other.P.mean)


def test_effects_of_one_group_are_integrated_over_in_their_own_units() -> None:
    """Given the effects the matrix is conjugate: effects are MvStudentT(2) under the prior."""
    m, y = effects(1)
    start, slope = np.meshgrid(np.linspace(50, 450, 801), np.linspace(-70, 90, 801), indexing="ij")
    prior = stats.multivariate_t([250, 10], np.diag([2700, 75]) / 2, df=2)
    logs = prior.logpdf(np.stack([start, slope], axis=-1))
    logs += stats.norm(start[..., None] + slope[..., None] * DAYS, 25).logpdf(y).sum(axis=-1)
    weights = np.exp(logs - logsumexp(logs))
    post = m.infer(y=y)
    assert "integral over b" in str(m.plan(y=y))
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs) + np.log(0.5 * 0.2), abs=2e-3)
    mean = [(weights * start).sum(), (weights * slope).sum()]
    np.testing.assert_allclose(post.b.mean[0], mean, rtol=2e-3)


def test_a_matrix_without_a_rule_for_its_dof_is_integrated_over() -> None:
    m, y = effects(2)
    known = float(m.infer(y=y).log_evidence)
    learned = Model()
    learned.dof = Gamma(shape=3e6, rate=1e6)
    learned.P = Wishart(learned.dof, np.diag([1 / 900, 1 / 25]) / 3)
    learned.b = MvNormal([250.0, 10.0], precision=learned.P).iid(2)
    day, group = np.tile(DAYS, 2), np.repeat([0, 1], len(DAYS))
    mean = dot(np.stack([np.ones_like(day), day], axis=1), learned.b[group])
    learned.y = Normal(mean, scale=25.0)
    assert float(learned.infer(y=y).log_evidence) == pytest.approx(known, abs=5e-3)


def test_centres_that_are_no_parameters_are_not_taken() -> None:
    """The variance of x is 0 where what it is the square of is at its mean."""
    m = Model()
    m.root = Normal(0, scale=1.0)
    m.x = Normal(0, variance=m.root * m.root)
    m.y = StudentT(4, m.x, scale=1.0)
    assert np.isfinite(float(m.infer(y=0.5).log_evidence))
