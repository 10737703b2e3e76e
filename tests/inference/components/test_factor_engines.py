"""Factors and sources as pure functions: finite differences, dense algebra, ascents that never fall."""

import numpy as np
import pytest
from mpmath import log, mpf, pi, workdps
from scipy.integrate import quad

from posteriori.distributions import MvNormal
from posteriori.inference.components.factor_learning import learn_factors
from posteriori.inference.components.factor_maximum import (
    _curvature,
    _evaluate,
    _gradient,
    maximize_factors,
)
from posteriori.inference.components.factor_posteriors import factor_posteriors
from posteriori.inference.components.source_ascent import (
    _evaluate as look_at_sources,
    ascend_by_natural_gradient,
    ascend_by_newton,
    iterate_fixed_point,
)
from posteriori.inference.components.source_densities import (
    GivenDensity,
    TailDensities,
    source_moments,
)
from posteriori.numerics import gradient, hessian


def factor_rows(n=60, d=6, k=2, gaps=0.0, seed=0):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=(d, k))
    x = rng.normal(size=(n, k)) @ w.T + rng.normal(size=(n, d)) * rng.uniform(0.4, 1.5, size=d)
    x[rng.random(x.shape) < gaps] = np.nan
    return (x - np.nanmean(x, axis=0)) / np.nanstd(x, axis=0)


def seen_log_density(x, mean, cov):
    """Return ln p of the seen entries of each row, by dense algebra."""
    total = []
    for row in x:
        o = ~np.isnan(row)
        total.append(MvNormal(mean[o], cov=cov[np.ix_(o, o)]).log_prob(row[o]) if o.any() else 0.0)
    return np.array(total)


# -- posteriors ----------------------------------------------------------------------------------


def test_posteriors_are_those_of_the_joint_normal():
    rng = np.random.default_rng(0)
    x = factor_rows(40, gaps=0.3)
    x[0] = np.nan
    w, noise = rng.normal(size=(6, 2)), rng.uniform(0.2, 2.0, size=6)
    found = factor_posteriors(x, w, noise)
    cov = w @ w.T + np.diag(noise)
    np.testing.assert_allclose(found.log_density, seen_log_density(x, np.zeros(6), cov), atol=1e-10)
    for row, mean, spread in zip(x, found.means, found.covs, strict=True):
        o = ~np.isnan(row)
        gain = np.linalg.solve(cov[np.ix_(o, o)], w[o]).T
        np.testing.assert_allclose(mean, gain @ row[o], atol=1e-10)
        np.testing.assert_allclose(spread, np.eye(2) - gain @ w[o], atol=1e-10)


def test_densities_keep_their_digits_beside_a_column_without_noise():
    """Of a column whose noise is a millionth, terms of a million would cancel: 1e-10 would be left of them."""
    x, w, noise = factor_rows(20, 2, 1), np.array([[1.0], [0.5]]), np.array([1e-6, 0.75])
    found = factor_posteriors(x, w, noise).log_density
    with workdps(40):  # determinant and inverse of a matrix of two columns, by hand
        for (a, b), value in zip(x, found, strict=True):
            a, b, u = mpf(a), mpf(b), 1 + mpf(1e-6)
            det = u - mpf("0.25")
            square = (a * a - a * b + u * b * b) / det
            assert value == pytest.approx(float(-log(2 * pi) - (log(det) + square) / 2), abs=1e-13)


def test_blocks_change_nothing(monkeypatch):
    import posteriori.inference.components.factor_posteriors as module

    x = factor_rows(50, gaps=0.1)
    w, noise = np.ones((6, 2)) * [1.0, 0.5], np.full(6, 0.7)
    whole = factor_posteriors(x, w, noise)
    monkeypatch.setattr(module, "rows_per_block", lambda width, size: 7)
    for a, b in zip(whole, factor_posteriors(x, w, noise), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)


# -- EM with gaps --------------------------------------------------------------------------------


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.topic("003/U.8")
def test_em_ends_at_a_stationary_point_of_the_seen_likelihood(shared):
    x = factor_rows(80, 4, 1, gaps=0.25)
    found = learn_factors(x, 1, shared=shared, tol=1e-12, max_iter=2000)
    assert found.converged
    assert np.all(np.diff(found.trace) >= -1e-9)
    w, mean, log_noise = found.parameters

    def value(flat):
        loadings, m = flat[:4, None], flat[4:8]
        noise = np.broadcast_to(np.exp(flat[8:]), 4)
        return seen_log_density(x, m, loadings @ loadings.T + np.diag(noise)).sum()

    here = np.concatenate([w.ravel(), mean, log_noise])
    assert value(here) == pytest.approx(found.trace[-1], abs=1e-8)
    np.testing.assert_allclose(gradient(value, here), 0.0, atol=2e-4)


def test_em_of_complete_rows_ends_at_newtons_maximum():
    x = factor_rows(200, 8)
    by_em = learn_factors(x, 2, shared=False, tol=1e-10, max_iter=3000)
    by_newton = maximize_factors(np.corrcoef(x.T), 2, 200, floor=1e-6, tol=1e-10, max_iter=100)
    cov = by_newton.loadings @ by_newton.loadings.T + np.diag(by_newton.noise)
    total = MvNormal(np.zeros(8), cov=cov).log_prob(x).sum()
    assert by_em.trace[-1] == pytest.approx(total, abs=1e-6)
    np.testing.assert_allclose(by_em.parameters.noise, by_newton.noise, rtol=1e-3)


# -- Newton from a covariance --------------------------------------------------------------------


@pytest.mark.parametrize("k", [1, 2, 3])
def test_slope_and_curvature_are_those_of_differences(k):
    cov = np.corrcoef(factor_rows(100).T)
    y = np.log(np.random.default_rng(1).uniform(0.3, 0.8, size=6))
    place = _evaluate(cov, y, k)
    np.testing.assert_allclose(
        _gradient(place), gradient(lambda v: _evaluate(cov, v, k).value, y), atol=1e-7
    )
    np.testing.assert_allclose(
        _curvature(place), hessian(lambda v: _evaluate(cov, v, k).value, y), atol=1e-4
    )


def test_the_profile_is_the_likelihood_of_the_best_loadings():
    x = factor_rows(100, 8)
    cov = np.corrcoef(x.T)
    found = maximize_factors(cov, 2, 100, floor=1e-6, tol=1e-10, max_iter=100)
    model = found.loadings @ found.loadings.T + np.diag(found.noise)
    sign, log_det = np.linalg.slogdet(model)
    direct = log_det + np.trace(np.linalg.solve(model, cov))
    assert sign == 1.0
    assert found.value == pytest.approx(direct, abs=1e-10)
    np.testing.assert_allclose(np.diag(model), 1.0, atol=1e-6)  # as the noise is free
    inner = found.loadings.T / found.noise @ found.loadings
    np.testing.assert_allclose(inner - np.diag(np.diag(inner)), 0.0, atol=1e-8)


def test_noise_stops_at_the_floor():
    x = factor_rows(12, 6, 2, seed=3)
    cov = np.corrcoef(x.T)
    found = maximize_factors(cov, 3, 12, floor=1e-3, tol=1e-9, max_iter=200)
    assert found.converged
    assert found.noise.min() == pytest.approx(1e-3)
    low = found.noise <= 1e-3 * (1 + 1e-9)
    slope = _gradient(_evaluate(cov, np.log(found.noise), 3))
    assert np.all(slope[low] > 0)  # Karush, Kuhn & Tucker
    np.testing.assert_allclose(slope[~low], 0.0, atol=1e-4)


# -- sources -------------------------------------------------------------------------------------


def white_sources(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    s = np.stack([rng.laplace(size=n), rng.uniform(-1, 1, size=n), rng.laplace(size=n)])
    x = rng.normal(size=(3, 3)) @ s
    x -= x.mean(axis=1, keepdims=True)
    values, vectors = np.linalg.eigh(x @ x.T / n)
    return (vectors / np.sqrt(values)).T @ x


@pytest.mark.parametrize("heavy", [True, False])
def test_densities_of_sources_are_normalised_and_have_their_scores(heavy):
    tails = TailDensities(np.array([heavy]))

    def log_density(s):
        return -tails.sums(np.array([[s]])).value

    assert quad(lambda s: np.exp(log_density(s)), -40, 40)[0] == pytest.approx(1.0, abs=1e-8)
    spread = quad(lambda s: s * s * np.exp(log_density(s)), -40, 40)[0]
    assert np.sqrt(spread) == pytest.approx(float(tails.scale[0]), abs=1e-8)
    for s in (-2.0, 0.3, 1.5):
        here, e = tails.sums(np.array([[s]])), 1e-5
        score = -(log_density(s + e) - log_density(s - e)) / (2 * e)
        assert here.cross[0, 0] == pytest.approx(score * s, abs=1e-8)
        up, down = (tails.sums(np.array([[s + h]])).cross[0, 0] / (s + h) for h in (e, -e))
        assert here.slope[0] == pytest.approx((up - down) / (2 * e), abs=1e-6)
        assert here.own[0] == pytest.approx(here.slope[0] * s * s)


def test_given_densities_are_those_that_are_built_in():
    z, w = white_sources(500), np.eye(3) + 0.1
    given = GivenDensity(lambda s: -np.log(np.pi * np.cosh(s)), lambda s: -np.tanh(s))
    built = source_moments(w, z, TailDensities(np.ones(3, dtype=bool)))
    for a, b in zip(source_moments(w, z, given), built, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)


@pytest.mark.topic("000/N1")
def test_the_relative_gradient_is_that_of_differences():
    z, densities = white_sources(300), TailDensities(np.array([True, False, True]))
    w = np.eye(3) + 0.2 * np.random.default_rng(0).normal(size=(3, 3))

    def loss(e):
        return look_at_sources(z, (np.eye(3) + e) @ w, densities).loss

    claimed = look_at_sources(z, w, densities).gradient
    np.testing.assert_allclose(gradient(loss, np.zeros((3, 3))), claimed, atol=1e-7)

    def plain(v):
        return -look_at_sources(z, v, densities).loss

    ordinary = -claimed @ np.linalg.inv(w).T  # ∇ℓ = (I − E[ψ yᵀ]) W⁻ᵀ
    np.testing.assert_allclose(gradient(plain, w), ordinary, atol=1e-7)


@pytest.mark.parametrize("ascend", [ascend_by_newton, ascend_by_natural_gradient])
def test_ascents_end_where_the_gradient_is_zero(ascend):
    z, densities = white_sources(), TailDensities(np.array([True, True, False]))
    start = iterate_fixed_point(z, np.eye(3), densities, tol=1e-2, max_iter=50)
    densities = TailDensities(start.moments.slope > np.diag(start.moments.cross))
    found = ascend(z, start.unmixing, densities, tol=1e-9, max_iter=500)
    assert found.converged
    assert np.abs(source_moments(found.unmixing, z, densities).cross - np.eye(3)).max() < 1e-9


def test_a_fixed_point_is_stationary_among_rotations():
    z, densities = white_sources(), TailDensities(np.ones(3, dtype=bool))
    found = iterate_fixed_point(z, np.eye(3), densities, tol=1e-8, max_iter=200)
    assert found.converged
    np.testing.assert_allclose(found.unmixing @ found.unmixing.T, np.eye(3), atol=1e-12)
    tails = TailDensities(found.moments.slope > np.diag(found.moments.cross))
    cross = source_moments(found.unmixing, z, tails).cross
    np.testing.assert_allclose(cross, cross.T, atol=1e-7)
