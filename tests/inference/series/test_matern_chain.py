"""Matérn chains against the dense Gaussian process."""

import numpy as np
import pytest
from scipy.special import gamma, kv

from posteriori.inference.series.matern_chain import matern_chain, matern_motion, matern_rate

TIMES = np.array([0.0, 0.02, 0.7, 0.7001, 2.0, 3.1, 9.0, 9.4])


def kernel(nu, length, gaps):
    """The Matérn kernel by its Bessel function."""
    r = np.sqrt(2.0 * nu) / length * np.where(gaps == 0.0, 1.0, gaps)
    return np.where(gaps == 0.0, 1.0, 2.0 ** (1 - nu) / gamma(nu) * r**nu * kv(nu, r))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("length", [0.3, 2.0, 40.0])
def test_the_chain_has_the_kernel_as_covariance(nu, length):
    chain = matern_chain(nu, length, np.diff(TIMES))
    size, cov = len(chain.initial_cov), chain.initial_cov
    made = np.zeros((len(TIMES), len(TIMES)))
    for i in range(len(TIMES)):
        across = cov
        for j in range(i, len(TIMES)):
            made[i, j] = made[j, i] = across[0, 0]
            if j < len(TIMES) - 1:
                across = chain.transition[j] @ across
        if i < len(TIMES) - 1:
            step = chain.transition[i]
            cov = step @ cov @ step.T + chain.noise_cov[i]
    gaps = np.abs(TIMES[:, None] - TIMES)
    np.testing.assert_allclose(made, kernel(nu, length, gaps), atol=1e-12)
    assert size == nu + 0.5


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_noise_is_positive_and_keeps_its_digits_over_short_steps(nu):
    """Both formulas agree where one takes over from the other, and variances scale with Δ^(2ν) below."""
    scale = np.sqrt(2.0 * nu)
    near = matern_chain(nu, scale, np.array([0.5 - 1e-12, 0.5])).noise_cov
    np.testing.assert_allclose(near[0], near[1], rtol=1e-9, atol=1e-12)
    short = matern_chain(nu, scale, np.array([1e-6, 1e-5])).noise_cov
    assert (np.linalg.eigvalsh(short) > 0).all() or nu == 2.5
    ratio = short[1, 0, 0] / short[0, 0, 0]
    assert ratio == pytest.approx(10.0 ** (2 * nu), rel=1e-3)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_noise_is_what_equilibrium_loses_whatever_steps_stand_beside(nu):
    """Q = P − APAᵀ over steps of all sizes, in blocks that are long enough to be several."""
    steps = np.tile([0.0, 1e-3, 0.3, 1.9, 2.1, 30.0, 1e4], 700)
    chain = matern_chain(nu, 1.0, steps)
    lost = chain.transition @ chain.initial_cov @ chain.transition.transpose(0, 2, 1)
    np.testing.assert_allclose(chain.noise_cov, chain.initial_cov - lost, atol=1e-13)
    alone = matern_chain(nu, 1.0, steps[2:3]).noise_cov[0]
    np.testing.assert_allclose(
        chain.noise_cov[2::7], np.broadcast_to(alone, (700, *alone.shape)), rtol=1e-13
    )


@pytest.mark.parametrize(
    ("arguments", "message"), [((1.0, 1.0), "nu must be 0.5"), ((0.5, 0.0), "length must be")]
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        matern_chain(*arguments, np.ones(1))


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_moments_move_as_the_equation_of_motion_says(nu):
    """A' = FA and Q' = FQ + QFᵀ + W in λΔ, and the equilibrium stays."""
    motion = matern_motion(nu)
    F, W, P = motion
    np.testing.assert_allclose(F @ P + P @ F.T + W, 0.0, atol=1e-14)
    length, step = np.sqrt(2.0 * nu), 1e-5  # so that λ = 1
    assert matern_rate(nu, length) == pytest.approx(1.0)
    for x in (0.01, 0.7, 3.0):
        near = matern_chain(nu, length, np.array([x - step, x, x + step]))
        slope = (near.transition[2] - near.transition[0]) / (2.0 * step)
        np.testing.assert_allclose(slope, F @ near.transition[1], atol=1e-8)
        slope, Q = (near.noise_cov[2] - near.noise_cov[0]) / (2.0 * step), near.noise_cov[1]
        np.testing.assert_allclose(slope, F @ Q + Q @ F.T + W, atol=1e-8)


def test_a_chain_may_be_kept_in_memory_that_is_there():
    steps, room = np.array([0.3, 1.2]), np.full((2, 5, 4), np.nan)
    kept, fresh = matern_chain(1.5, 2.0, steps, room), matern_chain(1.5, 2.0, steps)
    assert np.shares_memory(kept.transition, room)
    for one, other in zip(kept, fresh, strict=True):
        np.testing.assert_array_equal(one, other)
