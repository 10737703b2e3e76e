"""Unknown constants in a chain, against dense algebra of the chain and the constants together."""

import numpy as np
import pytest

from posteriori.inference import (
    LinearGaussianChain,
    add_static_effects,
    smooth_chain,
    split_static_effects,
)
from tests.inference.oracles import at, dense_posterior, random_chain

pytestmark = pytest.mark.blas


@pytest.mark.parametrize("varying", [False, True])
def test_static_part_equals_a_gaussian_over_its_given_chains(engine, varying):
    """p(y) = E_c p(y|c): the chain given c is linear in c, so four chains give the Gaussian."""
    rng = np.random.default_rng(0)
    chain = random_chain(rng, 2, 2, 6, varying=varying)
    lead = (6,) if varying else ()
    e0, e = rng.normal(size=(2, 3)), rng.normal(size=(*lead, 2, 3))
    f, prior, mean = rng.normal(size=(*lead, 2, 3)), np.diag([1.0, 2.0, 0.5]), rng.normal(size=3)
    y = rng.normal(size=(6, 2))
    y[2, 0] = np.nan
    wider = add_static_effects(chain, prior, mean=mean, initial=e0, transition=e, emission=f)
    post = split_static_effects(smooth_chain(wider, y), 3)

    def given(c):
        return chain._replace(
            initial_mean=chain.initial_mean + e0 @ c,
            transition_offset=chain.transition_offset + e @ c,
            emission_offset=chain.emission_offset + f @ c,
        )

    # ln p(y|c) is quadratic in c: read its gradient and Hessian off by differences
    def value(step):
        return dense_posterior(given(mean + step), y).log_evidence

    base, eye = value(np.zeros(3)), np.eye(3)
    gradient = np.array([(value(u) - value(-u)) / 2 for u in eye])
    hessian = np.array(
        [[(value(u + v) - value(u - v) - value(v - u) + value(-u - v)) / 4 for v in eye]
         for u in eye]
    )  # fmt: skip
    precision = np.linalg.inv(prior) - hessian
    shift = np.linalg.solve(precision, gradient)
    cov = np.linalg.inv(precision)
    np.testing.assert_allclose(post.mean, mean + shift, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(post.cov, cov, rtol=1e-8, atol=1e-8)
    log_evidence = base + gradient @ shift / 2 - np.linalg.slogdet(prior @ precision)[1] / 2
    np.testing.assert_allclose(post.states.log_evidence, log_evidence, rtol=1e-9)
    # E[s|y, c] is affine in c with slope B: Cov(s, c) = B Cov(c), E[s] = E[s|y, c = E c]
    centre = dense_posterior(given(mean + shift), y)
    slope = [dense_posterior(given(mean + shift + u), y).mean - centre.mean for u in eye]
    slope = np.moveaxis(np.array(slope), 0, -1)
    np.testing.assert_allclose(post.states.mean, centre.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(post.state_cov, slope @ cov, rtol=1e-7, atol=1e-8)
    spread = centre.cov + slope @ cov @ np.swapaxes(slope, -1, -2)
    np.testing.assert_allclose(post.states.cov, spread, rtol=1e-7, atol=1e-8)


def test_an_offset_of_a_still_chain_is_one_more_regressor(engine):
    still = LinearGaussianChain(0.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.5)
    wider = add_static_effects(still, 2.0, emission=[[1.0]])
    y = np.array([1.0, 1.5, 0.5])
    post = split_static_effects(smooth_chain(wider, y), 1)
    # y = s + c + noise with prior variances 1 and 2: the sum has 3, shared 1 : 2
    total = 3.0 / (3.0 + 0.5 / 3)
    np.testing.assert_allclose(post.states.mean[:, 0], total / 3, rtol=1e-12)
    np.testing.assert_allclose(post.mean, [2 * total / 3], rtol=1e-12)


def test_wider_chain_reads_time_axes_of_either_kind():
    rng = np.random.default_rng(1)
    chain = random_chain(rng, 2, 1, 5)
    f = rng.normal(size=(5, 1, 2))
    wider = add_static_effects(chain, np.eye(2), emission=f)
    assert np.shape(wider.emission) == (5, 1, 4)
    np.testing.assert_array_equal(at(wider.emission, 3, 2, 5)[:, 2:], f[3])


@pytest.mark.parametrize("count", [0, 2])
def test_the_number_of_static_entries_is_checked(count):
    level = LinearGaussianChain(0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0)
    post = smooth_chain(add_static_effects(level, 1.0, emission=[[1.0]]), [0.0])
    with pytest.raises(ValueError, match="n_static must lie between 1 and 1"):
        split_static_effects(post, count)


def test_a_gain_of_the_wrong_shape_is_named():
    level = LinearGaussianChain(0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0)
    with pytest.raises(ValueError, match=r"emission must have event shape \(1, 2\)"):
        add_static_effects(level, np.eye(2), emission=[[1.0, 2.0, 3.0]])
