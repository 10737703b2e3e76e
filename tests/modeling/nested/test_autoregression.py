"""Autoregressions against dense algebra, regressions on their own past, and grids of coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from posteriori import Autoregression, Chain, Gamma, Input, Model, MvNormal, Normal
from posteriori.distributions import HalfNormal, Uniform
from posteriori.inference.quadrature import lattices

PHI, SIGMA, FIRST = np.array([0.9, -0.4]), 0.5, 2.0


def series(n: int, seed: int = 0):
    rng = np.random.default_rng(seed)
    x = np.zeros(n)
    for t in range(2, n):
        x[t] = PHI @ x[[t - 1, t - 2]] + SIGMA * rng.normal()
    return x, rng


def dense(phi, sigma, n: int, first: float = FIRST):
    """The covariance of a series whose first p members are N(0, first²): (I − Φ)⁻¹ D (I − Φ)⁻ᵀ."""
    p = len(phi)
    moves = np.eye(n)
    for t in range(p, n):
        moves[t, t - p : t] = -np.asarray(phi)[::-1]
    noise = np.where(np.arange(n) < p, first, sigma)
    root = np.linalg.solve(moves, np.diag(noise))
    return root @ root.T


def given(cov, noise, y):
    """Moments of a vector of covariance ``cov`` given its first numbers, seen through noise."""
    there = np.flatnonzero(~np.isnan(y))
    seen = cov[np.ix_(there, there)] + noise * np.eye(len(there))
    gain = np.linalg.solve(seen, cov[there]).T
    lower = np.linalg.cholesky(seen)
    white = np.linalg.solve(lower, y[there])
    log_density = -np.log(np.diagonal(lower)).sum() - 0.5 * (white @ white)
    log_density -= 0.5 * len(there) * np.log(2 * np.pi)
    return gain @ y[there], cov - gain @ cov[there], log_density


# -- known numbers -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seen_through_noise():
    x, rng = series(20)
    y = x + 0.3 * rng.normal(size=20)
    y[[0, 5, 6, 19]] = np.nan
    m = Model()
    m.x = Autoregression(Normal(0, scale=FIRST), PHI, scale=SIGMA, length="t")
    m.y = Normal(m.x, scale=0.3)
    return m, y


def test_a_hidden_series_is_smoothed_in_companion_form(seen_through_noise):
    m, y = seen_through_noise
    assert "Kalman smoother" in str(m.plan(y=y))
    post = m.infer(y=y)
    mean, cov, log_density = given(dense(PHI, SIGMA, 20), 0.09, y)
    assert float(post.log_evidence) == pytest.approx(log_density, abs=1e-10)
    np.testing.assert_allclose(post.x.mean, mean, atol=1e-12)
    np.testing.assert_allclose(post.x.variance, np.diagonal(cov), rtol=1e-10)


def test_forecasts_of_a_hidden_series(seen_through_noise):
    m, y = seen_through_noise
    post = m.infer(y=y)
    mean, cov, _ = given(dense(PHI, SIGMA, 24), 0.09, np.append(y, np.full(4, np.nan)))
    np.testing.assert_allclose(post.predict("x", t=4).mean, mean[20:], atol=1e-12)
    np.testing.assert_allclose(post.predict("x", t=4).variance, np.diagonal(cov)[20:], rtol=1e-10)
    ahead = post.predict("y", t=4)
    np.testing.assert_allclose(ahead.mean, mean[20:], atol=1e-12)
    np.testing.assert_allclose(ahead.variance, np.diagonal(cov)[20:] + 0.09, rtol=1e-10)


def test_terms_and_draws_of_a_hidden_series(seen_through_noise):
    m, y = seen_through_noise
    post = m.infer(y=y)
    assert post.explain().log_evidence == pytest.approx(float(post.log_evidence), abs=1e-9)
    draws = post.sample(4000, rng=0)["x"]
    _, cov, _ = given(dense(PHI, SIGMA, 20), 0.09, y)
    np.testing.assert_allclose(np.cov(draws.T), cov, atol=0.05)


def test_companion_form_by_hand_is_the_same(seen_through_noise):
    m, y = seen_through_noise
    hand = Model()
    noise = np.diag([SIGMA**2, 0.0])
    hand.z = Chain(
        MvNormal(np.zeros(2), cov=FIRST**2 * np.eye(2)),
        lambda z: MvNormal(np.array([PHI, [1.0, 0.0]]) @ z, cov=noise),
        length="t",
    )
    hand.y = Normal(np.array([1.0, 0.0]) @ hand.z, scale=0.3)
    y = y.copy()
    y[0] = 0.7
    # its first state holds both of the first members, of which only the second is seen
    same = m.infer(y=np.append(np.nan, y))
    found = hand.infer(y=y)
    assert float(found.log_evidence) == pytest.approx(float(same.log_evidence), abs=1e-10)
    np.testing.assert_allclose(found.z.mean[:, 0], same.x.mean[1:], atol=1e-12)


def test_draws_of_the_model():
    m = Model()
    m.x = Autoregression(Normal(0, scale=FIRST), PHI, offset=0.5, scale=SIGMA, length="t")
    # 200 series at once, without their first steps: as many numbers as one of 20,000
    x = m.simulate(200, plates={"t": 160}, rng=0)["x"][:, 60:]
    assert np.mean(x) == pytest.approx(0.5 / (1 - PHI.sum()), abs=0.05)
    assert np.std(x) == pytest.approx(np.sqrt(dense(PHI, SIGMA, 60)[-1, -1]), rel=0.03)
    left = x[:, 2:] - PHI[0] * x[:, 1:-1] - PHI[1] * x[:, :-2] - 0.5
    assert np.std(left) == pytest.approx(SIGMA, rel=0.03)


@pytest.mark.parametrize("order", [1, 2, 5])
@pytest.mark.parametrize("length", [1, 2, 3, 7])
def test_any_length_and_order(order, length):
    """Series shorter than their order have first members only."""
    phi = np.linspace(0.4, -0.2, order)
    y = np.random.default_rng(length).normal(size=length)
    m = Model()
    m.x = Autoregression(Normal(0, scale=FIRST), phi, variance=SIGMA**2, length="t")
    m.y = Normal(m.x, scale=0.3)
    mean, _, log_density = given(dense(phi, SIGMA, length), 0.09, y)
    post = m.infer(y=y)
    assert float(post.log_evidence) == pytest.approx(log_density, abs=1e-10)
    np.testing.assert_allclose(post.x.mean, mean, atol=1e-12)


def test_beside_other_chains_and_constants():
    """Chains of different orders, one of which drives the other, and an offset of the data."""
    x, rng = series(9)
    y = x + rng.normal(size=9)
    m = Model()
    m.b = Normal(0, scale=1.0)
    m.u = Chain(Normal(0, scale=1.0), lambda u: Normal(u, scale=0.2), length="t")
    m.x = Autoregression(Normal(0, scale=FIRST), PHI, offset=m.u, scale=SIGMA, length="t")
    m.y = Normal(m.x + m.b, scale=0.3)
    assert "Kalman smoother" in str(m.plan(y=y))
    walk = 1.0 + 0.04 * np.minimum.outer(np.arange(9), np.arange(9))
    moves = np.eye(9)
    for t in range(2, 9):
        moves[t, t - 2 : t] = -PHI[::-1]
    enters = np.linalg.solve(moves, np.diag(np.arange(9) >= 2).astype(float))
    cov = dense(PHI, SIGMA, 9) + enters @ walk @ enters.T + 1.0
    log_density = stats.multivariate_normal(np.zeros(9), cov + 0.09 * np.eye(9)).logpdf(y)
    assert float(m.infer(y=y).log_evidence) == pytest.approx(log_density, abs=1e-10)


def test_an_observed_series_is_continued():
    x, _ = series(12)
    for at in (None, 4, -1):  # whole, with a gap inside, and with the last member missing
        y = x.copy()
        if at is not None:
            y[at] = np.nan
        m = Model()
        m.y = Autoregression(Normal(0, scale=FIRST), PHI, scale=SIGMA, length="t")
        ahead = m.infer(y=y).predict("y", t=3)
        mean, cov, _ = given(dense(PHI, SIGMA, 15), 0.0, np.append(y, np.full(3, np.nan)))
        error = 0.0 if at != -1 else 5 * SIGMA / np.sqrt(1000)
        np.testing.assert_allclose(ahead.mean, mean[12:], atol=error + 1e-10)
        np.testing.assert_allclose(ahead.std, np.sqrt(np.diagonal(cov)[12:]), rtol=error + 1e-9)


def test_an_observed_chain_is_continued_and_not_begun_anew():
    m = Model()
    m.y = Chain(Normal(0, scale=1.0), lambda y: Normal(0.9 * y, scale=0.1), length="t")
    ahead = m.infer(y=[1.0, 0.9, 0.6]).predict("y", t=2)
    assert isinstance(ahead, Normal)
    np.testing.assert_allclose(ahead.mean, [0.54, 0.486])
    np.testing.assert_allclose(ahead.variance, [0.01, 0.01 + 0.81 * 0.01])


def test_an_observed_series_with_inputs_is_continued():
    m = Model()
    m.u = Input("t")
    m.b = Normal(0, scale=1.0)
    m.y = Autoregression(Normal(0, scale=1.0), 0.5, offset=m.b * m.u, scale=0.1, length="t")
    rng = np.random.default_rng(0)
    u, y = rng.normal(size=40), np.zeros(40)
    for t in range(1, 40):
        y[t] = 0.5 * y[t - 1] + 2.0 * u[t] + 0.1 * rng.normal()
    ahead = m.infer(u=u, y=y).predict("y", t=2, u=np.array([1.0, -1.0]))
    first = 0.5 * y[-1] + 2.0
    np.testing.assert_allclose(ahead.mean, [first, 0.5 * first - 2.0], atol=0.1)


def test_a_series_driven_by_another_is_not_continued():
    m = Model()
    m.u = Chain(Normal(0, scale=1.0), lambda u: Normal(u, scale=0.2), length="t")
    m.y = Autoregression(Normal(0, scale=1.0), 0.5, offset=m.u, scale=0.1, length="t")
    post = m.infer(y=np.array([0.1, 0.4, 0.3, 0.2]))
    with pytest.raises(TypeError, match=r"more than its own past, u; give .* as NaN"):
        post.predict("y", t=2)


# -- unknown coefficients ------------------------------------------------------------------------


def regression(y, order, noise):
    """Closed form of φ ~ N(0, 1) in a regression on the past: mean, covariance, log evidence."""
    rows = np.column_stack([y[order - k : len(y) - k] for k in range(1, order + 1)])
    precision = np.eye(order) + rows.T @ rows / noise
    mean = np.linalg.solve(precision, rows.T @ y[order:] / noise)
    total = rows @ rows.T + noise * np.eye(len(rows))
    log_density = stats.multivariate_normal(np.zeros(len(rows)), total).logpdf(y[order:])
    log_density += stats.norm(0, FIRST).logpdf(y[:order]).sum()
    return mean, np.linalg.inv(precision), log_density


@pytest.mark.parametrize("order", [1, 2, 8])
def test_an_observed_series_is_a_regression_on_its_past(order):
    y, _ = series(40)
    y = y + 0.01
    m = Model()
    m.phi = MvNormal(np.zeros(order), cov=np.eye(order))
    m.y = Autoregression(Normal(0, scale=FIRST), m.phi, order=order, scale=SIGMA, length="t")
    post = m.infer(y=y)
    mean, cov, log_density = regression(y, order, SIGMA**2)
    assert post.log_evidence.kind == "exact"
    assert float(post.log_evidence) == pytest.approx(log_density, abs=1e-9)
    np.testing.assert_allclose(post.phi.mean, mean, atol=1e-9)
    np.testing.assert_allclose(post.phi.cov, cov, atol=1e-9)
    ahead = post.predict("y", t=3)
    first = mean @ y[: -order - 1 : -1]
    assert float(ahead.mean[0]) == pytest.approx(first, abs=5 * SIGMA / np.sqrt(1000))


def test_unknown_noise_of_an_observed_series():
    """One number is integrated over: that of the noise; the coefficients are exact given it."""
    y, _ = series(40)
    m = Model()
    m.phi = MvNormal(np.zeros(2), cov=np.eye(2))
    m.sigma = HalfNormal(scale=1.0)
    m.y = Autoregression(Normal(0, scale=FIRST), m.phi, order=2, scale=m.sigma, length="t")
    post = m.infer(y=y)
    grid = np.linspace(-3.0, 1.0, 801)
    found = [regression(y, 2, np.exp(2 * u)) for u in grid]
    logs = np.array([f[2] for f in found]) + stats.halfnorm.logpdf(np.exp(grid)) + grid
    weights = np.exp(logs - logsumexp(logs))
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs) + np.log(0.005), abs=1e-4)
    assert float(post.sigma.mean) == pytest.approx(weights @ np.exp(grid), rel=1e-3)
    np.testing.assert_allclose(post.phi.mean, weights @ np.array([f[0] for f in found]), atol=1e-4)


def test_coefficients_under_noise_against_a_dense_grid():
    """An AR(2) under noise with both coefficients outside, and their sum over a dense grid."""
    x, rng = series(30)
    y = x + 0.3 * rng.normal(size=30)
    y[7] = np.nan
    m = Model()
    m.a = Uniform(-0.2, 1.3)
    m.b = Uniform(-1.0, 0.2)
    m.x = Autoregression(Normal(0, scale=FIRST), [m.a, m.b], scale=SIGMA, length="t")
    m.y = Normal(m.x, scale=0.3)
    post = m.infer(y=y)
    assert post.log_evidence.kind == "quadrature"
    a = np.linspace(-0.2, 1.3, 61)[:-1] + 0.0125
    b = np.linspace(-1.0, 0.2, 49)[:-1] + 0.0125
    found = [[given(dense([p, q], SIGMA, 30), 0.09, y) for q in b] for p in a]
    logs = np.array([[f[2] for f in row] for row in found])
    weights = np.exp(logs - logsumexp(logs))
    mean = np.tensordot(weights, np.array([[f[0] for f in row] for row in found]), 2)
    assert float(post.log_evidence) == pytest.approx(logsumexp(logs - np.log(60 * 48)), abs=2e-3)
    assert float(post.a.mean) == pytest.approx(weights.sum(1) @ a, abs=2e-3)
    assert float(post.b.mean) == pytest.approx(weights.sum(0) @ b, abs=2e-3)
    spread = np.sqrt(weights.sum(1) @ a**2 - (weights.sum(1) @ a) ** 2)
    assert float(post.a.std) == pytest.approx(spread, rel=0.01)
    np.testing.assert_allclose(post.x.mean, mean, atol=2e-3)


def test_companion_form_with_an_unknown_vector_of_coefficients():
    """The first row of the transition is an unknown vector, and so is nested as the series is."""
    x, rng = series(25)
    y = x + 0.3 * rng.normal(size=25)
    hand, m = Model(), Model()
    hand.phi = MvNormal(np.array([0.5, 0.0]), cov=0.25 * np.eye(2))
    shift = np.array([[0.0, 0.0], [1.0, 0.0]])
    hand.z = Chain(
        MvNormal(np.zeros(2), cov=FIRST**2 * np.eye(2)),
        lambda z: MvNormal(
            shift @ z + np.array([1.0, 0.0]) * (hand.phi @ z), cov=np.diag([SIGMA**2, 0.0])
        ),
        length="t",
    )
    hand.y = Normal(np.array([1.0, 0.0]) @ hand.z, scale=0.3)
    m.phi = MvNormal(np.array([0.5, 0.0]), cov=0.25 * np.eye(2))
    m.x = Autoregression(Normal(0, scale=FIRST), m.phi, order=2, scale=SIGMA, length="t")
    m.y = Normal(m.x, scale=0.3)
    one, two = hand.infer(y=y), m.infer(y=np.append(np.nan, y))
    assert one.log_evidence.kind == two.log_evidence.kind == "quadrature"
    assert float(one.log_evidence) == pytest.approx(float(two.log_evidence), abs=1e-6)
    np.testing.assert_allclose(one.phi.mean, two.phi.mean, atol=1e-6)


def test_many_coefficients_under_noise_are_approximated():
    x, rng = series(60)
    m = Model()
    m.phi = MvNormal(np.zeros(6), cov=np.eye(6))
    m.tau = Gamma(2.0, 1.0)
    m.x = Autoregression(Normal(0, scale=FIRST), m.phi, order=6, precision=m.tau, length="t")
    m.y = Normal(m.x, scale=0.1)
    post = m.infer(y=x + 0.1 * rng.normal(size=60))
    assert post.log_evidence.kind == "bound"
    assert post.predict("y", t=4).batch_shape == (4,)


def test_many_values_written_one_by_one_are_one_sparse_system():
    """Five hundred unknowns of an AR(5) fill in a band, and no matrix of all of them is made."""
    m = Model()
    phi = [0.4, 0.1, -0.2, 0.1, 0.05]
    for t in range(500):
        before = [m[f"x{t - k}"] for k in range(1, 6) if t >= k]
        mean = sum(c * x for c, x in zip(phi, before, strict=False)) if before else 0.0
        m[f"x{t}"] = Normal(mean, scale=1.0)
        m[f"y{t}"] = Normal(m[f"x{t}"], scale=0.5)
    y = np.random.default_rng(0).normal(size=500)
    plan = m.plan(**{f"y{t}": y[t] for t in range(500)})
    (block,) = plan.blocks
    assert block.cost.operations < 500 * 1000  # dense: 500³
    assert block.cost.bytes < 500 * 2000  # dense: 24 · 500²
    cov = dense(phi, 1.0, 500, first=1.0)  # which differs in the first five members only
    post = plan.run()
    mean, _, _ = given(cov, 0.25, y)
    np.testing.assert_allclose(
        [float(post[f"x{t}"].mean) for t in range(60, 500)], mean[60:], atol=1e-6
    )


# -- bad input -----------------------------------------------------------------------------------


def test_refusals():
    m = Model()
    m.phi = MvNormal(np.zeros(2), cov=np.eye(2))
    first = Normal(0, scale=1.0)
    with pytest.raises(ValueError, match=r"order says how many coefficients phi has"):
        Autoregression(first, m.phi, scale=1.0, length="t")
    with pytest.raises(ValueError, match=r"order is 3, but there are 2 coefficients"):
        Autoregression(first, [0.1, 0.2], order=3, scale=1.0, length="t")
    with pytest.raises(ValueError, match=r"order must be a whole number above 0, got 0"):
        Autoregression(first, m.phi, order=0, scale=1.0, length="t")
    with pytest.raises(TypeError, match=r"one of variance=, scale= and precision=, got none"):
        Autoregression(first, 0.5, length="t")
    with pytest.raises(TypeError, match=r"got variance and scale"):
        Autoregression(first, 0.5, variance=1.0, scale=1.0, length="t")
    with pytest.raises(TypeError, match=r"initial must be one Normal"):
        Autoregression(Gamma(1.0, 1.0), 0.5, scale=1.0, length="t")
    m.x = Autoregression(first, m.phi, order=3, scale=1.0, length="t")
    with pytest.raises(IndexError, match="phi"):
        m.infer(x=np.zeros(9))


def test_a_series_too_short_to_continue():
    m = Model()
    m.y = Autoregression(Normal(0, scale=1.0), [0.5, 0.1, 0.1], scale=1.0, length="t")
    with pytest.raises(TypeError, match="has 2 members, but its next depends on 3"):
        m.infer(y=[0.1, 0.2]).predict("y", t=2)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_stated_error_is_honest_beside_the_end_of_the_coefficient(seed, monkeypatch):
    """A hidden series whose coefficient may be anything below 1 and is nearly that, by steps half as long."""
    rng = np.random.default_rng([seed, 97, 5])
    x = np.zeros(60)
    for t in range(1, 60):
        x[t] = 0.97 * x[t - 1] + rng.normal()
    y = x + rng.normal(size=60)
    m = Model()
    m.a = Uniform(-1.0, 1.0)
    m.moves, m.noise = Gamma(2.0, rate=2.0), Gamma(2.0, rate=2.0)
    m.x = Chain(Normal(0, variance=1), lambda x: Normal(m.a * x, precision=m.moves), length="t")
    m.y = Normal(m.x, precision=m.noise)
    found = m.infer(y=y).log_evidence
    monkeypatch.setattr(lattices, "_STEP", {3: 0.4})
    monkeypatch.setattr(lattices, "_DEPTH", {3: 16.0})
    finer = m.infer(y=y).log_evidence
    assert abs(float(found) - float(finer)) <= found.error
    assert found.error < 2e-3
