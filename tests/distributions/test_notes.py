"""Worked numbers of the course notes that need densities and their algebra alone."""

import numpy as np
import pytest
from scipy import integrate, stats

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Categorical,
    Dirichlet,
    Gamma,
    Multinomial,
    MvNormal,
    Normal,
    Poisson,
)
from posteriori.distributions.coordinates import flatten_natural, flatten_statistics
from posteriori.numerics import check_gradient, check_hessian, gradient

JOINT = MvNormal([1.0, 2.0], cov=[[0.3, 0.7], [0.7, 2.0]])


def digits(value, expected, decimals):
    """Agree with a number printed with so many decimals."""
    np.testing.assert_allclose(value, expected, rtol=0, atol=0.5001 * 10.0**-decimals)


# -- the multivariate normal -------------------------------------------------------------------


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


# -- maximum likelihood ------------------------------------------------------------------------


@pytest.mark.topic("004/4.17", "003/P.8", "000/B2")
def test_normal_maximum_likelihood_and_its_bias():
    x = np.array([1.2, 0.4, 2.3, 1.9, 0.7])
    d = Normal.fit(x)
    assert d.mean == pytest.approx(1.3, rel=1e-14)
    assert d.variance == pytest.approx(((x - 1.3) ** 2).sum() / 5, rel=1e-14)
    rng = np.random.default_rng(11)
    for n, ratio in ((2, 0.5), (5, 0.8)):  # E[σ²_ML] = (N−1)/N σ²
        estimates = Normal.fit(rng.normal(size=(n, 40_000))).variance
        error = estimates.std() / 200.0
        assert abs(estimates.mean() - ratio) < 5 * error


@pytest.mark.topic("002/B3")
def test_mean_of_a_normal_of_unit_variance():
    x = np.array([0.2, 1.9, -0.4, 2.0])
    best = Normal.fit(x).mean
    assert best == x.mean()

    def log_likelihood(m):
        return Normal(m[0], variance=1.0).log_prob(x).sum()

    assert check_gradient(log_likelihood, [0.0], [best]).ok
    for m in (-3.0, 0.0, 4.0):  # the log likelihood is concave everywhere, the likelihood is not
        assert check_hessian(log_likelihood, [[-4.0]], [m]).ok
    curvature = [np.exp(log_likelihood([m])) * ((x.sum() - 4 * m) ** 2 - 4) for m in (best, 3.0)]
    assert curvature[0] < 0 < curvature[1]


@pytest.mark.topic("002/B4", "002/B5")
def test_mean_and_covariance_of_a_multivariate_normal():
    x = np.random.default_rng(1).normal(size=(30, 3)) @ np.diag([1.0, 2.0, 0.5]) + 1.0
    best = MvNormal.fit(x)
    np.testing.assert_allclose(best.mean, x.mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(best.cov, (x - x.mean(0)).T @ (x - x.mean(0)) / 30, rtol=1e-12)
    for cov in (np.eye(3), best.cov, np.diag([4.0, 1.0, 9.0])):  # the mean does not care for Σ
        slope = gradient(lambda m, c=cov: MvNormal(m, cov=c).log_prob(x).sum(), best.mean)
        np.testing.assert_allclose(slope, 0.0, atol=1e-6)


# -- exponential families ----------------------------------------------------------------------

ORDINARY = [
    Normal(0.7, variance=1.7),
    MvNormal([0.5, -0.3], cov=[[1.2, 0.4], [0.4, 0.8]]),
    Gamma(2.7, 1.4),
    Beta(2.3, 3.6),
    Dirichlet([2.3, 3.1, 1.8]),
    Bernoulli(0.3),
    Binomial(9, 0.3),
    Poisson(3.4),
]


@pytest.mark.topic("000/M1", "000/M3")
@pytest.mark.parametrize("d", ORDINARY, ids=lambda d: type(d).__name__)
def test_fit_equates_the_mean_parameters_with_the_mean_of_the_statistics(d):
    x = d.sample(50, rng=6)
    family = type(d)
    fitted = Binomial.fit(x, trials=9) if family is Binomial else family.fit(x)
    ndims = d._natural_ndims
    mean = flatten_statistics(family.sufficient(x), ndims).mean(axis=0)
    np.testing.assert_allclose(flatten_statistics(fitted.mean_params, ndims), mean, rtol=1e-7)
    halves = iter([x[:20], x[20:]])  # a stream is enough: only sums of statistics are kept
    again = Binomial.fit(halves, trials=9) if family is Binomial else family.fit(halves)
    np.testing.assert_allclose(
        flatten_natural(again.natural, ndims), flatten_natural(fitted.natural, ndims), rtol=1e-7
    )


@pytest.mark.topic("000/M2")
@pytest.mark.parametrize("d", ORDINARY, ids=lambda d: type(d).__name__)
def test_moments_are_derivatives_of_the_log_normalizer(d):
    from posteriori.distributions.coordinates import unflatten_natural

    ndims = d._natural_ndims

    def log_normalizer(eta):
        return d.from_natural(*unflatten_natural(eta, d.natural, ndims)).log_normalizer()

    eta = flatten_natural(d.natural, ndims)
    assert check_gradient(log_normalizer, flatten_statistics(d.mean_params, ndims), eta).ok
    assert check_hessian(log_normalizer, d.fisher_information(), eta).ok


@pytest.mark.topic("000/M9", "003/P.2", "004/5.1")
def test_bernoulli():
    d = Bernoulli(0.25)
    assert (d.mean, d.variance) == (0.25, 0.1875)
    np.testing.assert_allclose(np.exp(d.log_prob([0, 1])), [0.75, 0.25], rtol=1e-15)
    assert d.natural[0] == pytest.approx(np.log(0.25 / 0.75), rel=1e-14)
    # g(η) = σ(−η)
    assert d.log_normalizer() == pytest.approx(-np.log(1 / (1 + np.exp(d.natural[0]))), rel=1e-14)
    assert Bernoulli.fit([1, 0, 1, 1]).probability == 0.75
    assert Bernoulli.fit([1, 1]).probability == 1.0  # few data: certain too soon


@pytest.mark.topic("000/M10", "003/P.3")
def test_binomial():
    d = Binomial(10, 0.3)
    assert d.mean == pytest.approx(3.0, rel=1e-14)
    assert d.variance == pytest.approx(2.1, rel=1e-14)
    assert np.exp(d.log_prob(3)) == pytest.approx(120 * 0.3**3 * 0.7**7, rel=1e-12)
    assert Binomial.fit([7], trials=10).probability == pytest.approx(0.7)


@pytest.mark.topic("000/M11", "003/P.4")
def test_beta():
    d = Beta(2.0, 3.0)
    assert d.mean == pytest.approx(0.4, rel=1e-14)
    assert d.variance == pytest.approx(6 / (25 * 6), rel=1e-14)
    assert np.exp(d.log_prob(0.5)) == pytest.approx(12 * 0.5 * 0.25, rel=1e-13)
    assert d.natural == (1.0, 2.0)
    total, _ = integrate.quad(lambda x: np.exp(d.log_prob(x)), 0, 1)
    assert total == pytest.approx(1.0, rel=1e-10)


@pytest.mark.topic("000/M12", "004/5.2", "004/5.3", "003/P.5")
def test_categorical():
    d = Categorical([0.1, 0.2, 0.05, 0.25, 0.3, 0.1])
    # face 3 of a die is the code 2: counting starts at 0
    np.testing.assert_array_equal(Categorical.sufficient(2, n_categories=6)[0], [0, 0, 1, 0, 0, 0])
    assert np.exp(d.log_prob(2)) == pytest.approx(0.05, rel=1e-14)
    np.testing.assert_allclose(d.mean_params[0], d.probabilities, rtol=1e-14)
    mu = d.probabilities
    np.testing.assert_allclose(d.cov, np.diag(mu) - np.outer(mu, mu), atol=1e-16)
    fitted = Categorical.fit([0, 2, 2, 1, 2], n_categories=3)
    np.testing.assert_allclose(fitted.probabilities, [0.2, 0.2, 0.6], rtol=1e-14)
    minimal = np.log(mu[:-1] / (1 - mu[:-1].sum()))
    np.testing.assert_allclose(
        d.natural[0][:-1] - d.natural[0][-1], minimal, rtol=1e-12, atol=1e-14
    )
    with pytest.raises(ValueError, match="sum to 1"):
        Categorical([0.5, 0.6])


@pytest.mark.topic("000/M13", "004/5.8", "003/P.6")
def test_multinomial():
    mu = np.array([0.2, 0.3, 0.5])
    d = Multinomial(4, mu)
    assert np.exp(d.log_prob([1, 1, 2])) == pytest.approx(12 * 0.2 * 0.3 * 0.25, rel=1e-12)
    np.testing.assert_allclose(d.mean, 4 * mu, rtol=1e-14)
    np.testing.assert_allclose(d.cov, 4 * (np.diag(mu) - np.outer(mu, mu)), atol=1e-15)
    all_counts = [(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]
    assert np.exp(d.log_prob(all_counts)).sum() == pytest.approx(1.0, rel=1e-12)
    fitted = Multinomial.fit([[1, 3], [2, 2]])
    np.testing.assert_allclose(fitted.probabilities, [0.375, 0.625], rtol=1e-14)


@pytest.mark.topic("004/5.9", "000/M18")
def test_special_cases_coincide():
    mu = np.array([0.2, 0.3, 0.5])
    for k in range(3):  # one throw of a multinomial is a categorical
        assert Multinomial(1, mu).log_prob(np.eye(3)[k]) == pytest.approx(
            Categorical(mu).log_prob(k), rel=1e-13
        )
    for x in (0, 1):  # two categories are a Bernoulli
        assert Categorical([0.7, 0.3]).log_prob(x) == pytest.approx(
            Bernoulli(0.3).log_prob(x), rel=1e-13
        )
    for m in range(6):  # two counts are a binomial
        assert Multinomial(5, [0.7, 0.3]).log_prob([5 - m, m]) == pytest.approx(
            Binomial(5, 0.3).log_prob(m), rel=1e-12
        )
    for x in (0.1, 0.6):  # two shares are a beta
        assert Dirichlet([2.0, 3.5]).log_prob([x, 1 - x]) == pytest.approx(
            Beta(2.0, 3.5).log_prob(x), rel=1e-12
        )


@pytest.mark.topic("000/M14", "004/5.5")
def test_dirichlet():
    d = Dirichlet([2.0, 3.0, 5.0])
    np.testing.assert_allclose(d.mean, [0.2, 0.3, 0.5], rtol=1e-14)
    digits(d.variance, [0.014545, 0.019091, 0.022727], 6)
    digits(d.cov[0, 1], -0.005455, 6)
    np.testing.assert_allclose(d.mode, [1 / 7, 2 / 7, 4 / 7], rtol=1e-14)
    at = np.array([0.2, 0.3, 0.5])
    gammas = 362880 / (1 * 2 * 24)  # Γ(10)/(Γ(2)Γ(3)Γ(5))
    assert np.exp(d.log_prob(at)) == pytest.approx(gammas * 0.2 * 0.3**2 * 0.5**4, rel=1e-12)


@pytest.mark.topic("000/M15")
def test_poisson_natural_form():
    d = Poisson(3.5)
    assert d.natural[0] == pytest.approx(np.log(3.5), rel=1e-14)
    assert d.log_normalizer() == pytest.approx(3.5, rel=1e-14)
    assert np.exp(d.log_prob(4)) == pytest.approx(3.5**4 * np.exp(-3.5) / 24, rel=1e-12)


@pytest.mark.topic("000/M16")
def test_gamma_natural_form():
    d = Gamma(2.5, 3.0)
    assert d.natural == (1.5, -3.0)
    # g = (−η₂)^{η₁+1}/Γ(η₁+1), with Γ(2.5) = 3√π/4
    log_g = 2.5 * np.log(3.0) - np.log(0.75 * np.sqrt(np.pi))
    assert d.log_normalizer() == pytest.approx(-log_g, rel=1e-13)
    assert d.mean == pytest.approx(2.5 / 3, rel=1e-14)
    assert d.variance == pytest.approx(2.5 / 9, rel=1e-14)


# -- information -------------------------------------------------------------------------------


@pytest.mark.topic("003/I.2", "000/O3")
def test_differential_entropy():
    digits(Normal(0.0, variance=1.0).entropy(), 1.4189385332, 10)
    v = 0.0585498315  # 1/(2πe): below it the entropy is negative
    digits(Normal(3.0, variance=v).entropy(), 0.0, 8)
    assert Normal(3.0, variance=0.99 * v).entropy() < 0 < Normal(3.0, variance=1.01 * v).entropy()
    cov = np.array([[1.2, 0.4], [0.4, 0.8]])
    expected = 0.5 * np.linalg.slogdet(2 * np.pi * np.e * cov)[1]
    assert MvNormal([0.0, 0.0], cov=cov).entropy() == pytest.approx(expected, rel=1e-13)
    for d in (Gamma(2.0, 3.0), Beta(2.0, 3.0)):
        high = 1.0 if isinstance(d, Beta) else np.inf
        numeric, _ = integrate.quad(lambda x, d=d: -np.exp(d.log_prob(x)) * d.log_prob(x), 0, high)
        assert d.entropy() == pytest.approx(numeric, rel=1e-7)


@pytest.mark.topic("003/I.6", "000/O5")
def test_kl_divergence():
    p, q = Bernoulli(0.5), Bernoulli(0.1)
    digits([p.kl(q), q.kl(p)], [0.5108256238, 0.3680642072], 10)  # not symmetric
    a, b, c = Bernoulli(0.5), Bernoulli(0.25), Bernoulli(0.1)
    digits([a.kl(b), b.kl(c), a.kl(c)], [0.14384, 0.09233, 0.51083], 5)
    assert a.kl(c) > a.kl(b) + b.kl(c)  # no triangle inequality
    m, v = 0.5, 2.0  # KL(N(m, v) ‖ N(0, 1)) = ½(v + m² − 1 − ln v)
    closed = 0.5 * (v + m * m - 1 - np.log(v))
    assert Normal(m, variance=v).kl(Normal(0.0, variance=1.0)) == pytest.approx(closed, rel=1e-13)


@pytest.mark.topic("003/I.4")
def test_the_normal_has_the_greatest_entropy_of_its_variance():
    for rival in (Gamma(2.0, 1.0), Beta(2.0, 3.0), Beta(1.0, 1.0)):
        assert Normal(0.0, variance=rival.variance).entropy() > rival.entropy()
    laplace = stats.laplace(scale=1.0)
    assert Normal(0.0, variance=laplace.var()).entropy() > laplace.entropy()


@pytest.mark.topic("004/5.11")
def test_maximum_likelihood_is_the_sample_mean_covariance_and_proportion():
    rng = np.random.default_rng(8)
    x = rng.normal(size=(50, 2)) @ [[1.0, 0.4], [0.0, 0.8]] + [2.0, -1.0]
    fitted = MvNormal.fit(x)
    np.testing.assert_allclose(fitted.mean, x.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(fitted.cov, np.cov(x.T, bias=True), rtol=1e-12)
    codes = rng.integers(0, 3, 40)
    np.testing.assert_allclose(Categorical.fit(codes).probabilities, np.bincount(codes) / 40)
    heads = Bernoulli.fit(codes == 0)
    assert heads.probability == pytest.approx(np.mean(codes == 0))
