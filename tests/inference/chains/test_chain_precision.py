"""Chains against an oracle of 80 digits, where float64 forms of the textbook lose most of theirs."""

import numpy as np
import pytest

from posteriori.inference import LinearGaussianChain, smooth_chain
from tests.inference.oracles import exact_posterior

pytestmark = pytest.mark.blas

RATIOS = [
    (1e-12, 1.0),
    (1e-6, 1e6),
    (1e-8, 1e-8),
    (1e-12, 1e-12),
    (1e6, 1e-6),
    (1.0, 1e-12),
    (1e12, 1.0),
    (1.0, 1e12),
    (0.0, 1.0),
]


def level(q, r, p0):
    return LinearGaussianChain(0.0, p0, 1.0, 0.0, q, 1.0, 0.0, r)


def trend(q, r, p0):
    noise = q * np.array([[1 / 3, 0.5], [0.5, 1.0]])
    start = np.zeros(2), p0 * np.eye(2)
    return LinearGaussianChain(*start, [[1, 1], [0, 1]], 0.0, noise, [[1, 0]], 0.0, r)


def tracking(q, r, p0):
    step = np.eye(4) + np.diag([0.1, 0.1], 2)
    noise = q * np.diag([0.0, 0.0, 1.0, 1.0])  # singular
    start = np.zeros(4), p0 * np.eye(4)
    return LinearGaussianChain(*start, step, 0.0, noise, np.eye(2, 4), 0.0, r * np.eye(2))


def mixing(q, r, p0):
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    step = 0.95 * np.linalg.qr(rng.normal(size=(3, 3)))[0]
    r = r * np.array([[1.0, 0.5], [0.5, 2.0]])
    start = rng.normal(size=3), p0 * np.eye(3)
    return LinearGaussianChain(
        *start, step, rng.normal(size=3), q * root @ root.T, rng.normal(size=(2, 3)), 0.0, r
    )


def series(chain, n_steps, seed=0):
    """Data of the size that the noise gives, not of that of a vague start."""
    rng = np.random.default_rng(seed)
    state = np.atleast_1d(np.asarray(chain.initial_mean, float))
    c, r = np.atleast_2d(chain.emission), np.atleast_2d(chain.emission_cov)
    q = np.atleast_2d(chain.transition_cov)
    values, vectors = np.linalg.eigh(q)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    y = []
    for _ in range(n_steps):
        y.append(c @ state + np.linalg.cholesky(r) @ rng.normal(size=len(c)))
        state = np.atleast_2d(chain.transition) @ state + chain.transition_offset
        state = state + root @ rng.normal(size=len(q))
    return np.array(y)


def errors(post, exact):
    """Errors in units of the posterior standard deviation, or of the value where it is larger."""
    sd = np.sqrt(np.array([np.diag(c) for c in exact.cov]).astype(float))
    size = np.maximum(sd, np.abs(exact.mean.astype(float)))
    mean = np.abs((post.mean - exact.mean).astype(float)) / size
    cov = np.abs((post.cov - exact.cov).astype(float)) / (sd[:, :, None] * sd[:, None, :])
    cross = np.abs((post.cross_cov - exact.cross_cov).astype(float))
    cross = cross / (sd[1:, :, None] * sd[:-1, None, :])
    evidence = abs(float(post.log_evidence - exact.log_evidence))
    evidence /= max(1.0, abs(float(exact.log_evidence)))
    return np.array([mean.max(), cov.max(), cross.max(), evidence])


@pytest.mark.parametrize("p0", [1.0, 1e8, 1e12])
@pytest.mark.parametrize(("q", "r"), RATIOS)
@pytest.mark.parametrize("model", [level, trend, tracking, mixing])
def test_moments_and_evidence_keep_twelve_digits(engine, model, q, r, p0):
    chain = model(q, r, p0)
    y = series(chain, 5)
    assert np.all(errors(smooth_chain(chain, y), exact_posterior(chain, y)) < 1e-12)


@pytest.mark.parametrize(("q", "r"), RATIOS)
def test_gaps_keep_eleven_digits(engine, q, r):
    chain = tracking(q, r, 1e10)
    y = series(chain, 6)
    y[1, 0] = y[3] = np.nan
    assert np.all(errors(smooth_chain(chain, y), exact_posterior(chain, y)) < 1e-11)


def test_data_near_1e8_keep_their_evidence(engine):
    chain = level(0.1, 1.0, 4.0)._replace(initial_mean=1e8)
    y = 1e8 + np.random.default_rng(2).normal(size=(12, 1))
    exact, post = exact_posterior(chain, y), smooth_chain(chain, y)
    assert abs(float(post.log_evidence - exact.log_evidence)) < 1e-11
    np.testing.assert_allclose(post.mean, exact.mean.astype(float), rtol=1e-15)


def test_data_near_1e8_keep_their_evidence_from_a_start_at_zero(engine):
    chain = level(0.1, 1.0, 1e16)  # a gain of 1 − 1e-16: the first mean is known to 1.5e-8
    y = 1e8 + np.random.default_rng(2).normal(size=(12, 1))
    exact, post = exact_posterior(chain, y), smooth_chain(chain, y)
    assert abs(float(post.log_evidence - exact.log_evidence)) < 1e-7
    np.testing.assert_allclose(post.mean, exact.mean.astype(float), rtol=1e-15)


@pytest.mark.parametrize("p0", [1.0, 1e8, 1e16])
def test_velocities_beside_positions_near_1e8_keep_eleven_digits(engine, p0):
    chain = trend(0.1, 1.0, p0)._replace(initial_mean=np.array([1e8, 0.0]))
    y = 1e8 + np.cumsum(np.random.default_rng(4).normal(size=(8, 1)), axis=0)
    exact, post = exact_posterior(chain, y), smooth_chain(chain, y)
    np.testing.assert_allclose(post.mean, exact.mean.astype(float), rtol=1e-11)


def test_data_near_1e8_in_a_chain_that_mixes(engine):
    chain = mixing(1.0, 1.0, 1.0)._replace(initial_mean=np.array([1e8, -2e8, 3e8]))
    y = np.array([np.asarray(chain.emission) @ chain.initial_mean])
    state = chain.initial_mean
    rng = np.random.default_rng(3)
    for _ in range(6):
        state = chain.transition @ state + chain.transition_offset + rng.normal(size=3)
        y = np.concatenate([y, [chain.emission @ state + rng.normal(size=2)]])
    exact = exact_posterior(chain, y)
    assert abs(float(smooth_chain(chain, y).log_evidence - exact.log_evidence)) < 1e-11


def test_singular_emission_noise_is_allowed_while_innovations_are_regular(engine):
    noise = np.array([[1.0, 1.0], [1.0, 1.0]])  # one disturbance on both outputs
    chain = trend(1.0, 1.0, 4.0)._replace(emission=np.eye(2), emission_cov=noise)
    y = np.random.default_rng(4).normal(size=(5, 2))
    assert np.all(errors(smooth_chain(chain, y), exact_posterior(chain, y)) < 1e-12)


def test_noise_free_observations_pin_the_state(engine):
    chain = trend(1.0, 0.0, 4.0)
    y = np.array([[1.0], [2.5], [2.0], [4.0]])
    exact, post = exact_posterior(chain, y), smooth_chain(chain, y)
    np.testing.assert_allclose(post.mean[:, 0], y[:, 0], rtol=1e-14)
    np.testing.assert_allclose(post.mean[:, 1], exact.mean[:, 1].astype(float), rtol=1e-13)
    np.testing.assert_allclose(post.cov[:, 1, 1], exact.cov[:, 1, 1].astype(float), rtol=1e-13)
    np.testing.assert_allclose(post.cov[:, 0, 0], 0.0, atol=1e-30)
    assert abs(float(post.log_evidence - exact.log_evidence)) < 1e-13


def test_a_state_that_repeats_another_is_no_obstacle(engine):
    step = np.array([[0.9, 0.0, 0.0], [0.9, 0.0, 0.0], [0.2, 0.0, 0.8]])  # s₂ copies s₁
    noise = np.zeros((3, 3))
    noise[:2, :2], noise[2, 2] = 1.0, 0.5
    chain = LinearGaussianChain(
        np.zeros(3), np.eye(3), step, 0.0, noise, [[1.0, 0.0, 1.0]], 0.0, 0.3
    )
    y = np.random.default_rng(5).normal(size=(7, 1))
    post = smooth_chain(chain, y)
    assert np.all(errors(post, exact_posterior(chain, y)) < 1e-12)
    np.testing.assert_allclose(post.mean[1:, 0], post.mean[1:, 1], rtol=1e-13)
