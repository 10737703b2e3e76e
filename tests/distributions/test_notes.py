"""Worked numbers of the course notes: maximum likelihood, exponential families, information."""

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
from tests.distributions.oracles import digits

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
