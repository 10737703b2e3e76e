"""Joint laws of a mean and its spread: the two parts, messages and marginals."""

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from posteriori.distributions.joint.normal_gamma import NormalGamma
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.joint.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from tests.distributions.matrices import M3, V2, V3

pytestmark = pytest.mark.blas


def members(centre=0.0):
    """Pairs of members of each joint family whose means lie near ``centre``."""
    m = centre + np.array([0.5, -0.25, 1.0])
    other = centre + np.array([0.0, 0.75, 0.5])
    k, k_other = V3 + np.eye(3), np.diag([2.0, 1.0, 0.5])
    return [
        (NormalGamma(m[0], 2.0, 3.0, 4.0), NormalGamma(other[0], 0.5, 2.5, 1.0)),
        (NormalInverseGamma(m[0], 2.0, 3.0, 4.0), NormalInverseGamma(other[0], 0.5, 2.5, 1.0)),
        (
            VectorNormalInverseGamma(m, mean_precision=k, shape=3.0, scale=4.0),
            VectorNormalInverseGamma(other, mean_precision=k_other, shape=2.5, scale=1.0),
        ),
        (NormalWishart(m, 2.0, 5.0, V3), NormalWishart(other, 0.5, 4.5, np.eye(3))),
        (NormalInverseWishart(m, 2.0, 5.0, V3), NormalInverseWishart(other, 0.5, 4.5, np.eye(3))),
    ]


JOINT = [pytest.param(i, id=type(p).__name__) for i, (p, _) in enumerate(members())]


@pytest.mark.parametrize("i", JOINT)
def test_a_joint_density_is_spread_times_mean_given_spread(i):
    d, _ = members()[i]
    mean, spread = x = d.sample(5, rng=1)
    kind = x._fields[1]
    marginal = getattr(d, f"marginal_{kind}")()
    if isinstance(d, VectorNormalInverseGamma):
        cov = spread[:, None, None] * np.linalg.inv(d.mean_precision)
        given = [MvNormal(d.location, cov=c).log_prob(m) for c, m in zip(cov, mean, strict=True)]
    elif kind == "cov":
        given = MvNormal(d.location, cov=spread / d.mean_strength).log_prob(mean)
    elif kind == "variance":
        given = Normal(d.location, variance=spread / d.mean_strength).log_prob(mean)
    elif spread.ndim == 1:
        given = Normal(d.location, precision=spread * d.mean_strength).log_prob(mean)
    else:
        given = MvNormal(d.location, precision=spread * d.mean_strength).log_prob(mean)
    assert_allclose(d.log_prob(x), marginal.log_prob(spread) + given, rtol=1e-12)


@pytest.mark.parametrize("i", JOINT)
def test_a_mean_far_from_zero_costs_no_digits(i):
    far = float(2**27)  # numbers near it keep their quarters exactly
    (p, q), (p_far, q_far) = members()[i], members(far)[i]
    x = p.mode._replace(mean=p.mode.mean + 0.375)
    x_far = x._replace(mean=x.mean + far)
    assert_allclose(p_far.log_prob(x_far), p.log_prob(x), rtol=1e-12)
    assert_allclose(p_far.entropy(), p.entropy(), rtol=1e-12)
    assert_allclose(p_far.kl(q_far), p.kl(q), rtol=1e-12)
    assert_allclose((p_far * q_far).log_prob(x_far), (p * q).log_prob(x), rtol=1e-7)
    for near, moved in (
        (p * q, p_far * q_far),
        (p * q / q, p_far * q_far / q_far),
        (p**2.5, p_far**2.5),
    ):
        assert_allclose(moved.location - far, near.location, atol=1e-6)
        assert_allclose(moved._spread.natural[0], near._spread.natural[0], rtol=1e-12)
        assert_allclose(moved._spread.natural[1], near._spread.natural[1], rtol=1e-6)
    assert_allclose(p_far.product(q_far).log_scale, p.product(q).log_scale, rtol=1e-6)


@pytest.mark.parametrize("i", JOINT)
def test_products_quotients_and_powers_agree_with_natural_parameters(i):
    p, q = members()[i]
    for made, expected in (
        (p * q, [a + b for a, b in zip(p.natural, q.natural, strict=True)]),
        (p / q, [a - b for a, b in zip(p.natural, q.natural, strict=True)]),
        (q / p, [b - a for a, b in zip(p.natural, q.natural, strict=True)]),
        (p / p, [0.0 * a for a in p.natural]),
        (p**0.25, [0.25 * a for a in p.natural]),
        (p**-1.0, [-a for a in p.natural]),
    ):
        for part, wanted in zip(made.natural, expected, strict=True):
            assert_allclose(part, wanted, atol=1e-12)


def test_product_of_normal_gammas_in_moment_form():
    p, q = NormalGamma(1.0, 2.0, 3.0, 4.0), NormalGamma(-1.0, 6.0, 2.0, 1.0)
    d = p * q
    assert_allclose([d.mean_strength, d.location, d.shape], [8.0, -0.5, 4.5])
    assert_allclose(d.rate, 4.0 + 1.0 + 0.5 * (2 * 6 / 8) * 4.0)
    inverse = NormalInverseGamma(1.0, 2.0, 3.0, 4.0) * NormalInverseGamma(-1.0, 6.0, 2.0, 1.0)
    assert_allclose([inverse.shape, inverse.scale], [6.5, d.rate])


@pytest.mark.topic("000/M7")
def test_data_are_a_message_to_the_normal_gamma():
    x = np.array([1.2, 0.4, 2.3, 1.9, 0.7])
    prior = NormalGamma(0.0, 1.0, 1.0, 1.0)
    data = NormalGamma.from_natural(2.5, -0.5 * (x * x).sum(), x.sum(), -2.5)
    posterior = prior * data
    assert_allclose(posterior.location, 1.08333, atol=5e-6)
    assert_allclose([posterior.mean_strength, posterior.shape], [6.0, 3.5], rtol=1e-14)
    assert_allclose(posterior.rate, 2.97416667, atol=5e-9)
    theta = (0.3, 1.7)
    likelihood = Normal(theta[0], precision=theta[1]).log_prob(x).sum()
    evidence = likelihood + prior.log_prob(theta) - posterior.log_prob(theta)
    assert_allclose(evidence, -8.10447241, atol=5e-9)


@pytest.mark.topic("000/M8")
def test_the_marginal_of_the_mean_is_a_student_t():
    d = NormalGamma(0.5, 2.0, 1.5, 4.0)
    for mu in (-3.0, 0.5, 2.0):
        total, _ = integrate.quad(
            lambda tau, mu=mu: np.exp(d.log_prob((mu, tau))), 0, np.inf, epsabs=1e-13
        )
        assert_allclose(np.exp(d.marginal_mean().log_prob(mu)), total, rtol=1e-9)
    # λ = aκ/b is not the inverse variance, which is λ(ν − 2)/ν
    t = d.marginal_mean()
    assert_allclose(1 / t.variance, (1.5 * 2.0 / 4.0) * (3.0 - 2.0) / 3.0)
    same = NormalInverseGamma(0.5, 2.0, 1.5, 4.0)
    assert same.marginal_mean() == t


@pytest.mark.parametrize("i", JOINT[2:])
def test_marginals_of_vectors_have_the_moments_of_draws(i):
    d = [
        VectorNormalInverseGamma(M3, mean_precision=V3, shape=6.0, scale=4.0),
        NormalWishart(M3, 2.0, 12.0, V3),
        NormalInverseWishart(M3, 2.0, 14.0, V3),
    ][i - 2]
    x = d.sample(20_000, rng=8)
    for part, mean, variance in zip(x, d.mean, d.variance, strict=True):
        assert np.all(np.abs(part.mean(axis=0) - mean) <= 5 * np.sqrt(variance / len(part)))
        squares = (part - mean) ** 2
        error = squares.std(axis=0) / np.sqrt(len(part))
        assert np.all(np.abs(squares.mean(axis=0) - variance) <= 5 * error)
    t = d.marginal_mean()
    inside = ((x.mean - t.location) @ np.linalg.inv(t.scale) * (x.mean - t.location)).sum(axis=1)
    # δ²/D follows an F distribution
    assert stats.kstest(inside / 3, stats.f(3, t.dof).cdf).pvalue > 1e-4


def test_one_dimensional_matrices_and_vectors_are_numbers():
    mu, s = np.array([0.2, 1.4]), np.array([0.7, 2.2])
    m, k, nu, v = 0.5, 2.0, 6.0, 1.7
    vector = (mu[:, None], s[:, None, None])
    pairs = [
        (NormalWishart([m], k, nu, [[v]]), NormalGamma(m, k, nu / 2, 1 / (2 * v)), vector),
        (
            NormalInverseWishart([m], k, nu, [[v]]),
            NormalInverseGamma(m, k, nu / 2, v / 2),
            vector,
        ),
        (
            NormalInverseGamma([m], mean_precision=[[k]], shape=3.0, scale=v),
            NormalInverseGamma(m, k, 3.0, v),
            (mu[:, None], s),
        ),
    ]
    for matrix, number, x in pairs:
        assert_allclose(matrix.log_prob(x), number.log_prob((mu, s)), rtol=1e-12)
        assert_allclose(matrix.entropy(), number.entropy(), rtol=1e-12)
        assert_allclose(
            matrix.marginal_mean().log_prob(mu[:, None]), number.marginal_mean().log_prob(mu)
        )
        assert_allclose(np.ravel(matrix.mode[1]), number.mode[1], rtol=1e-14)
        assert_allclose(
            (matrix**2).kl(matrix), (number**2).kl(number), rtol=1e-10, err_msg=repr(matrix)
        )


def test_precision_and_covariance_views_differ_by_the_jacobian():
    direct, inverse = (
        NormalWishart(M3, 2.0, 5.0, V3),
        NormalInverseWishart(M3, 2.0, 5.0, np.linalg.inv(V3)),
    )
    mean, precision = x = direct.sample(4, rng=2)
    cov = np.linalg.inv(precision)
    jacobian = 4.0 * np.linalg.slogdet(precision)[1]
    assert_allclose(inverse.log_prob((mean, cov)), direct.log_prob(x) + jacobian, rtol=1e-10)


def test_events_are_pairs():
    d = NormalWishart(M3, 2.0, 5.0, V3)
    assert d.sample(4, rng=0)._fields == ("mean", "precision")
    assert NormalInverseWishart(M3, 2.0, 5.0, V3).mode._fields == ("mean", "cov")
    with pytest.raises(ValueError, match=r"x must be a pair \(mean, precision\)"):
        d.log_prob(np.zeros(3))
    with pytest.raises(ValueError, match=r"mean must have shape \(\.\.\., 3\)"):
        d.log_prob((np.zeros(2), np.eye(3)))
    with pytest.raises(ValueError, match=r"precision must have shape \(\.\.\., 3, 3\)"):
        d.log_prob((np.zeros(3), np.eye(2)))
    with pytest.raises(ValueError, match="NaN"):
        d.log_prob((np.full(3, np.nan), np.eye(3)))
    assert d.log_prob((np.array([np.inf, 0.0, 0.0]), np.eye(3))) == -np.inf
    assert NormalGamma(0.0, 1.0, 2.0, 1.0).log_prob((np.inf, 1.0)) == -np.inf


def test_means_that_do_not_exist():
    assert NormalInverseGamma(0.0, 1.0, 0.8, 1.0).mean.variance == np.inf
    with pytest.raises(ValueError, match="dof > 1"):
        _ = NormalGamma(0.0, 1.0, 0.4, 1.0).mean
    with pytest.raises(ValueError, match="dof > D"):
        _ = NormalInverseWishart([0.0, 0.0], 1.0, 2.5, V2).mean
    # the density itself is fine
    assert np.isfinite(NormalInverseGamma(0.0, 1.0, 0.3, 1.0).log_prob((0.0, 1.0)))
    assert NormalInverseGamma(0.0, 1.0, 0.3, 1.0).log_prob((0.0, -1.0)) == -np.inf


def test_large_shapes_keep_their_digits_in_joint_densities():
    d = NormalInverseGamma(3.0, 5.0, 1e10, 2e10)
    x = (np.float64(3.1), np.float64(2.00001))
    with mpmath.workdps(60):
        mu, v, a, b = (mpmath.mpf(float(z)) for z in (*x, 1e10, 2e10))
        spread = a * mpmath.log(b) - mpmath.loggamma(a) - (a + 1) * mpmath.log(v) - b / v
        given = mpmath.log(5 / (2 * mpmath.pi * v)) / 2 - 5 * (mu - 3) ** 2 / (2 * v)
        expected = float(spread + given)
    assert_allclose(d.log_prob(x), expected, rtol=1e-10)
