"""Worked numbers of the course notes on the multivariate normal."""

import numpy as np
import pytest
from scipy import integrate, stats

from posteriori.distributions import MvNormal, Normal
from posteriori.numerics import check_gradient
from tests.distributions.oracles import digits

JOINT = MvNormal([1.0, 2.0], cov=[[0.3, 0.7], [0.7, 2.0]])


@pytest.mark.topic("000/A1", "002/A4", "003/P.7")
def test_multivariate_normal_density():
    m, cov = (
        np.array([0.5, -0.2, 1.0]),
        np.array([[1.0, 0.3, 0.1], [0.3, 0.8, -0.2], [0.1, -0.2, 1.5]]),
    )
    d = MvNormal(m, cov=cov)
    x = np.array([0.9, 0.4, 0.2])
    shift = np.linalg.solve(cov, x - m)
    log_density = -0.5 * ((x - m) @ shift + np.linalg.slogdet(2 * np.pi * cov)[1])
    assert d.log_prob(x) == pytest.approx(log_density, rel=1e-13)
    assert d.log_prob(x) == pytest.approx(stats.multivariate_normal(m, cov).logpdf(x), rel=1e-12)
    slope = np.exp(log_density) * shift  # ∂N/∂m = N Σ⁻¹(x − m)
    moved = check_gradient(lambda mean: np.exp(MvNormal(mean, cov=cov).log_prob(x)), slope, m)
    assert moved.error < 1e-9
    plane = d.marginal([0, 1])
    total, _ = integrate.dblquad(lambda b, a: np.exp(plane.log_prob([a, b])), -8, 8, -8, 8)
    assert total == pytest.approx(1.0, abs=1e-6)
    one = Normal(0.5, variance=1.0).log_prob(0.9)
    assert one == pytest.approx(-0.5 * np.log(2 * np.pi) - 0.5 * 0.4**2, rel=1e-13)
    assert d.marginal([0]).log_prob([0.9]) == pytest.approx(one, rel=1e-13)
    draws = d.sample(50_000, rng=4)
    error = 5 * np.sqrt(np.diag(cov) / 50_000)
    assert np.all(np.abs(draws.mean(axis=0) - m) < error)
    np.testing.assert_allclose(np.cov(draws.T), cov, atol=0.05)


@pytest.mark.topic("000/A4")
def test_log_likelihood_where_the_product_of_densities_underflows():
    x = Normal(0.0, variance=1.0).sample(10_000, rng=0)
    d = Normal(0.1, variance=1.2)
    assert np.prod(np.exp(d.log_prob(x))) == 0.0
    total = d.log_prob(x).sum()
    expected = -5000 * np.log(2 * np.pi * 1.2) - ((x - 0.1) ** 2).sum() / 2.4
    assert total == pytest.approx(expected, rel=1e-12)


@pytest.mark.topic("004/4.1", "000/M17")
def test_moment_and_canonical_form():
    d = JOINT
    np.testing.assert_allclose(d.precision, [[18.1818, -6.36364], [-6.36364, 2.72727]], rtol=5e-6)
    np.testing.assert_allclose(d.weighted_mean, [5.45455, -0.909091], rtol=5e-6)
    # a = −½(M ln 2π − ln|Λ| + ηᵀΛ⁻¹η): the quadratic form is in the inverse
    eta, w = d.natural
    a = -0.5 * (2 * np.log(2 * np.pi) - np.linalg.slogdet(w)[1] + eta @ np.linalg.solve(w, eta))
    x = np.array([0.7, 1.1])
    assert a + eta @ x - 0.5 * x @ w @ x == pytest.approx(d.log_prob(x), rel=1e-11)
    assert d.log_normalizer() == pytest.approx(-a, rel=1e-12)
    back = MvNormal.from_natural(eta, w)
    np.testing.assert_allclose(back.mean, d.mean, rtol=1e-12)
    np.testing.assert_allclose(back.cov, d.cov, rtol=1e-12)
    one = Normal(3.0, variance=4.0)
    assert one.natural == (0.75, 0.25)
    assert Normal.from_natural(0.75, 0.25).mean == 3.0


@pytest.mark.topic("004/4.3", "004/1.10", "000/A5")
def test_linear_maps():
    a, b = np.array([[1.0, 2.0], [0.0, -1.0], [0.5, 0.5]]), np.array([1.0, 0.0, -1.0])
    image = JOINT.affine(a, b)
    np.testing.assert_allclose(image.mean, a @ JOINT.mean + b, rtol=1e-14)
    np.testing.assert_allclose(image.cov, a @ JOINT.cov @ a.T, rtol=1e-14)
    # μ + A x with x ~ N(0, I), A a Cholesky factor, is how correlated normals are drawn
    lower = np.linalg.cholesky(JOINT.cov)
    made = MvNormal([0.0, 0.0], cov=np.eye(2)).affine(lower, JOINT.mean)
    np.testing.assert_allclose(made.cov, JOINT.cov, rtol=1e-14)


@pytest.mark.topic("004/4.4", "004/1.12", "004/4.5")
def test_sums_and_differences_of_independent_normals():
    x, y = MvNormal([2.0], cov=[[1.0]]), MvNormal([2.0], cov=[[0.25]])
    z = x + y
    assert (z.mean[0], z.cov[0, 0]) == (4.0, 1.25)
    digits(z.std[0], 1.11803, 5)
    for at in (2.5, 4.0, 5.5):  # the density of a sum is the convolution of the densities
        folded, _ = integrate.quad(
            lambda u, at=at: np.exp(x.log_prob([u]) + y.log_prob([at - u])), -8, 12
        )
        assert np.exp(z.log_prob([at])) == pytest.approx(folded, rel=1e-8)
    # z = A(x − y) + b
    p, q = JOINT, MvNormal([0.5, 1.0], cov=[[0.5, 0.1], [0.1, 0.4]])
    a, b = np.array([[2.0, 0.0], [1.0, -1.0]]), np.array([0.1, 0.2])
    d = (p + q.affine(-np.eye(2))).affine(a, b)
    np.testing.assert_allclose(d.mean, a @ (p.mean - q.mean) + b, rtol=1e-13)
    np.testing.assert_allclose(d.cov, a @ (p.cov + q.cov) @ a.T, rtol=1e-13)


@pytest.mark.topic("004/4.6")
def test_completing_the_square():
    a, b, c = -1.5, 4.0, 0.7  # ax² + bx + c = a(x + b/2a)² + c − b²/4a
    d = Normal.from_natural(b, -2 * a)
    assert d.mean == pytest.approx(-b / (2 * a), rel=1e-14)
    top = c + d.log_normalizer() - 0.5 * np.log(2 * np.pi * d.variance)
    assert top == pytest.approx(c - b * b / (4 * a), rel=1e-13)
    eta, w = np.array([1.0, -0.5]), np.array([[2.0, 0.3], [0.3, 1.0]])
    many = MvNormal.from_natural(eta, w)
    np.testing.assert_allclose(many.mean, np.linalg.solve(w, eta), rtol=1e-13)
    for x in np.array([[0.0, 0.0], [1.0, 2.0], [-0.3, 0.4]]):
        direct = eta @ x - 0.5 * x @ w @ x
        assert many.log_prob(x) + many.log_normalizer() == pytest.approx(direct, abs=1e-12)


@pytest.mark.topic("004/4.8", "000/A5")
def test_product_of_two_normal_densities():
    p, q = Normal(0.0, variance=1.0), Normal(3.0, variance=4.0)
    d, log_scale = p.product(q)
    digits([d.mean, d.variance], [0.6, 0.8], 12)
    digits(np.exp(log_scale), 0.07253707, 8)
    x = np.linspace(-3, 5, 9)
    np.testing.assert_allclose(
        np.exp(p.log_prob(x) + q.log_prob(x)), np.exp(log_scale) * np.exp(d.log_prob(x)), rtol=1e-12
    )
    undone = d / q
    digits([undone.mean, undone.variance], [0.0, 1.0], 12)
    # in several dimensions the scale is N(a | b, A + B)
    a, b = JOINT, MvNormal([0.0, 1.0], cov=[[1.0, -0.2], [-0.2, 0.5]])
    both, scale = a.product(b)
    expected = stats.multivariate_normal(b.mean, a.cov + b.cov).logpdf(a.mean)
    assert scale == pytest.approx(expected, rel=1e-11)
    np.testing.assert_allclose(both.precision, a.precision + b.precision, rtol=1e-12)
    np.testing.assert_allclose(both.weighted_mean, a.weighted_mean + b.weighted_mean, rtol=1e-11)


@pytest.mark.topic("004/4.11", "000/A5")
@pytest.mark.parametrize(
    "joint", [JOINT, MvNormal([1.0, 2.0], precision=np.linalg.inv([[0.3, 0.7], [0.7, 2.0]]))]
)
def test_conditioning_and_marginals(joint):
    given_x = joint.condition([0], [0.1])
    digits(given_x.mean, [-0.1], 12)
    digits(given_x.cov, [[0.3666667]], 7)
    marginal = joint.marginal([0])
    digits(marginal.mean, [1.0], 12)
    digits(marginal.cov, [[0.3]], 12)
    # the same from the precision: Λ_{y|x} = Λ_y, η_{y|x} = η_y − Λ_yx x
    w, eta = joint.precision, joint.weighted_mean
    np.testing.assert_allclose(given_x.precision, w[1:, 1:], rtol=1e-11)
    np.testing.assert_allclose(given_x.weighted_mean, eta[1] - w[1, :1] * 0.1, rtol=1e-10)
    # prediction and correction: gain times surprise
    gain = joint.cov[1, 0] / joint.cov[0, 0]
    np.testing.assert_allclose(given_x.mean, joint.mean[1] + gain * (0.1 - joint.mean[0]))


@pytest.mark.topic("000/A5")
def test_marginals_and_conditionals_of_any_blocks():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    cov, mean, x = root @ root.T + np.eye(5), rng.normal(size=5), rng.normal(size=5)
    joint = MvNormal(mean, cov=cov)
    known, rest = [3, 0], [1, 2, 4]
    given = joint.condition(known, x[known])
    assert given.event_shape == (3,)
    split = joint.marginal(known).log_prob(x[known]) + given.log_prob(x[rest])
    assert joint.log_prob(x) == pytest.approx(split, rel=1e-12)
    np.testing.assert_array_equal(joint.marginal([4, 2]).cov, cov[np.ix_([4, 2], [4, 2])])


@pytest.mark.topic("000/A5")
def test_a_linear_measurement_is_conditioning_of_the_stacked_joint():
    prior = MvNormal([0.5, -1.0], cov=[[1.0, 0.3], [0.3, 2.0]])
    a, b, noise = np.array([[1.0, 2.0]]), np.array([0.3]), np.array([[0.5]])
    y = np.array([1.2])
    joint = prior.joint(a, b, noise=noise)
    evidence = joint.marginal([2])
    np.testing.assert_allclose(evidence.mean, a @ prior.mean + b, rtol=1e-14)
    np.testing.assert_allclose(evidence.cov, noise + a @ prior.cov @ a.T, rtol=1e-14)
    posterior = joint.condition([2], y)
    s = np.linalg.inv(prior.precision + a.T @ np.linalg.inv(noise) @ a)
    pull = a.T @ np.linalg.solve(noise, y - b) + prior.weighted_mean
    np.testing.assert_allclose(posterior.cov, s, rtol=1e-12)
    np.testing.assert_allclose(posterior.mean, s @ pull, rtol=1e-12)


@pytest.mark.topic("004/4.15")
def test_probability_of_a_rectangle():
    d = MvNormal([0.0, 1.0], cov=[[0.8, 0.5], [0.5, 1.0]])
    inside = d.box_probability([0.0, 1.0], [2.0, 2.0])
    digits(inside, 0.20823322, 8)
    cubature, _ = integrate.dblquad(lambda y, x: np.exp(d.log_prob([x, y])), 0, 2, 1, 2)
    assert inside == pytest.approx(cubature, abs=1e-8)
    fits = [
        MvNormal.fit(d.sample(100, rng=rng)).box_probability([0.0, 1.0], [2.0, 2.0])
        for rng in np.random.default_rng(3).spawn(400)
    ]
    assert np.mean(fits) == pytest.approx(0.2078, abs=5 * 0.0203 / 20)
    assert np.std(fits) == pytest.approx(0.0203, abs=5 * 0.0203 / np.sqrt(800))
    assert 0.17 < 0.21079866427634553 < 0.253  # what the notes print, of their random data
