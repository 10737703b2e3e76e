"""Sums, products and images of random variables, against integrals, draws and closed forms."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import integrate, special, stats

from posteriori.distributions import (
    Bernoulli,
    Beta,
    Binomial,
    Cauchy,
    Empirical,
    Exponential,
    Gamma,
    InverseGamma,
    Laplace,
    LogNormal,
    Mixture,
    MvNormal,
    MvStudentT,
    NegativeBinomial,
    Normal,
    Numeric,
    NumericCounts,
    PointMass,
    Poisson,
    PolyaGamma,
    StudentT,
    Transformed,
    Uniform,
    affine,
    central_limit,
    characteristic_function,
    cross_covariance,
    expect,
    expect_by_draws,
    linear_moments,
    power_of,
    product_of,
    sum_moments,
    sum_of,
)
from posteriori.distributions.algebra.convolution import convolve, convolve_counts
from posteriori.distributions.algebra.maps import AffineMap, SquareMap
from tests.distributions.oracles import density, digits

pytestmark = pytest.mark.blas

STANDARD = Normal(0.0, variance=1.0)


def total_variation(d, pdf):
    """Return ½∫|p − p̂| by the trapezoidal rule on the nodes of the table."""
    with np.errstate(all="ignore"):
        gap = np.abs(density(d, d.nodes) - pdf(d.nodes))
    gap = np.where(np.isfinite(gap), gap, 0.0)
    return 0.25 * np.sum(np.diff(d.nodes) * (gap[1:] + gap[:-1]))


# -- moments through lines ---------------------------------------------------------------------


@pytest.mark.topic("004/1.10")
def test_moments_of_a_linear_image_hold_for_any_distribution():
    a, b = np.array([[1.0, -2.0], [0.5, 1.0]]), np.array([1.0, -1.0])
    t = MvStudentT(9.0, [1.0, -0.5], scale=[[1.2, 0.4], [0.4, 0.8]])
    mean, cov = linear_moments(t.mean, t.cov, a, b)
    image = affine(t, a, b)
    np.testing.assert_allclose(image.mean, mean, rtol=1e-13)
    np.testing.assert_allclose(image.cov, cov, rtol=1e-12)
    points = Empirical([[0.0, 1.0], [2.0, 1.0], [3.0, -1.0]], [0.2, 0.5, 0.3])
    mean, cov = linear_moments(points.mean, points.cov, a, b)
    np.testing.assert_allclose(affine(points, a, b).mean, mean, rtol=1e-13)
    np.testing.assert_allclose(affine(points, a, b).cov, cov, atol=1e-14)
    draws = t.sample(40_000, rng=0) @ a.T + b
    error = 5 * draws.std(axis=0) / 200
    assert np.all(np.abs(draws.mean(axis=0) - image.mean) < error)


@pytest.mark.topic("004/1.11")
def test_the_covariance_of_a_sum_takes_both_cross_terms():
    """Σ_z = Σ_x + Σ_y + Σ_xy + Σ_xyᵀ: twice Σ_xy would not even be symmetric."""
    root = np.random.default_rng(1).normal(size=(4, 4))
    joint = MvNormal(np.arange(4.0), cov=root @ root.T)
    x, y = joint.marginal([0, 1]), joint.marginal([2, 3])
    cross = joint.cov[:2, 2:]
    z = sum_moments((x.mean, x.cov), (y.mean, y.cov), cross)
    both = joint.affine(np.hstack([np.eye(2), np.eye(2)]))
    np.testing.assert_allclose(z.mean, both.mean, rtol=1e-13)
    np.testing.assert_allclose(z.cov, both.cov, rtol=1e-12)
    assert not np.allclose(x.cov + y.cov + 2 * cross, both.cov)
    apart = sum_moments((x.mean, x.cov), (y.mean, y.cov))
    np.testing.assert_allclose(apart.cov, x.cov + y.cov)
    with pytest.raises(ValueError, match="cross"):
        sum_moments((x.mean, x.cov), (y.mean, y.cov), np.eye(3))


@pytest.mark.topic("004/1.14")
def test_moments_by_formula_by_quadrature_and_by_draws():
    d = Gamma(2.7, 1.4)
    assert expect(d, lambda x: x) == pytest.approx(d.mean, rel=1e-11)
    assert expect(d, lambda x: (x - d.mean) ** 2) == pytest.approx(d.variance, rel=1e-11)
    value, error = expect_by_draws(d, lambda x: x, 40_000, rng=3)
    assert abs(value - d.mean) < 5 * error
    assert error == pytest.approx(d.std / 200, rel=0.05)
    counts = Poisson(4.2)
    assert expect(counts, lambda x: x * x) == pytest.approx(4.2 + 4.2**2, rel=1e-12)
    for q in (Beta(0.6, 3.0), StudentT(9.0, 0.5, scale=1.2), Normal([1.0, -3.0], variance=[1, 9])):
        np.testing.assert_allclose(expect(q, lambda x: x), q.mean, rtol=1e-9)


@pytest.mark.topic("004/1.14")
def test_cross_covariance_of_draws_and_of_tables():
    joint = MvNormal([0.0, 1.0, 2.0], cov=[[2.0, 0.5, 0.3], [0.5, 1.0, -0.2], [0.3, -0.2, 1.0]])
    draws = joint.sample(50_000, rng=4)
    found = cross_covariance(draws[:, :1], draws[:, 1:])
    np.testing.assert_allclose(found, joint.cov[:1, 1:], atol=0.05)
    x = np.array([[0.0], [0.0], [1.0], [1.0]])
    y = np.array([[0.0], [1.0], [0.0], [1.0]])
    independent = np.outer([0.3, 0.7], [0.6, 0.4]).ravel()
    assert cross_covariance(x, y, independent) == pytest.approx(0.0, abs=1e-16)
    assert cross_covariance(x, x, independent) == pytest.approx(0.21)
    with pytest.raises(ValueError, match="side by side"):
        cross_covariance(x, y[:2])


# -- sums --------------------------------------------------------------------------------------


@pytest.mark.topic("004/1.12", "004/4.4")
def test_the_sum_of_two_normals_of_the_notes():
    z = sum_of(Normal(2.0, scale=1.0), Normal(2.0, scale=0.5))
    assert z == Normal(4.0, variance=1.25)
    digits(z.std, 1.11803, 5)
    mixture = Mixture([0.5, 0.5], Normal([2.0, 2.0], scale=[1.0, 0.5]))  # the sum of densities
    assert abs(mixture.mean - z.mean) > 1


@pytest.mark.topic("004/4.5")
def test_a_scaled_difference_of_normals():
    x, y = Normal(1.0, variance=2.0), Normal(-0.5, variance=0.5)
    z = affine(sum_of(x, affine(y, -1.0)), 3.0, 0.25)
    assert z.mean == pytest.approx(3.0 * 1.5 + 0.25)
    assert z.variance == pytest.approx(9.0 * 2.5)
    a, b = np.array([[1.0, 2.0], [0.0, -1.0]]), np.array([1.0, 0.0])
    u = MvNormal([1.0, 2.0], cov=[[1.0, 0.3], [0.3, 2.0]])
    v = MvNormal([0.0, -1.0], cov=[[0.5, 0.0], [0.0, 0.7]])
    w = affine(sum_of(u, affine(v, -1.0)), a, b)
    np.testing.assert_allclose(w.mean, a @ (u.mean - v.mean) + b)
    np.testing.assert_allclose(w.cov, a @ (u.cov + v.cov) @ a.T, rtol=1e-13)


CLOSED = [
    (Normal(1.0, variance=2.0), Normal(-1.0, variance=0.5)),
    (Gamma(2.0, 3.0), Gamma(0.7, 3.0)),
    (Exponential(2.0), Gamma(1.5, 2.0)),
    (Exponential(2.0), Exponential(2.0)),
    (Poisson(2.0), Poisson(3.5)),
    (Binomial(5, 0.3), Binomial(7, 0.3)),
    (Bernoulli(0.3), Binomial(7, 0.3)),
    (Bernoulli(0.3), Bernoulli(0.3)),
    (NegativeBinomial(2.0, 0.4), NegativeBinomial(1.5, 0.4)),
    (Cauchy(0.5, 1.0), Cauchy(-1.0, 2.0)),
    (PolyaGamma(1.0, 0.7), PolyaGamma(2.5, -0.7)),
    (PointMass(2.0), Laplace(0.0, 1.0)),
    (PointMass(2.0), Poisson(3.0)),
    (Empirical([0.0, 1.0], [0.2, 0.8]), Empirical([0.0, 10.0])),
]


@pytest.mark.topic("004/1.11")
@pytest.mark.parametrize(("p", "q"), CLOSED, ids=lambda d: type(d).__name__)
def test_closed_sums_multiply_characteristic_functions(p, q):
    t = np.array([-2.0, -0.3, 0.0, 0.5, 1.7])
    for z in (sum_of(p, q), sum_of(q, p)):
        product = characteristic_function(p, t) * characteristic_function(q, t)
        rtol = 1e-6 if type(z).__name__ == "UnivariateTransformed" else 1e-12
        np.testing.assert_allclose(characteristic_function(z, t), product, atol=rtol)


NUMERIC = [
    (Normal(0.0, variance=1.0), Normal(1.0, variance=4.0), stats.norm(1.0, 5**0.5).pdf),
    (Gamma(0.5, 1.0), Gamma(1.5, 1.0), stats.gamma(2.0).pdf),
    (Gamma(0.2, 1.0), Gamma(0.3, 1.0), stats.gamma(0.5).pdf),
    (Exponential(1.0), Exponential(1.0), stats.gamma(2.0).pdf),
    (Uniform(0.0, 1.0), Uniform(0.0, 1.0), lambda x: np.maximum(1 - np.abs(x - 1), 0)),
    (Cauchy(0.0, 1.0), Cauchy(1.0, 2.0), stats.cauchy(1.0, 3.0).pdf),
    (
        Laplace(0.0, 1.0),
        Laplace(0.0, 1.0),
        lambda x: 0.25 * (1 + np.abs(x)) * np.exp(-np.abs(x)),
    ),
    (Exponential(1.0), Exponential(2.0), lambda x: 2 * (np.exp(-x) - np.exp(-2 * x)) * (x > 0)),
]


@pytest.mark.topic("004/1.11")
@pytest.mark.parametrize(("p", "q", "pdf"), NUMERIC)
def test_convolution_is_as_good_as_it_says(p, q, pdf):
    z = convolve(p, q)
    assert total_variation(z, pdf) <= z.error
    assert z.cdf(np.inf) == 1.0
    heavy = isinstance(p, (Cauchy, Gamma))
    assert z.error < (0.03 if heavy else 1e-6)


@pytest.mark.topic("004/1.11")
def test_the_sum_of_a_gamma_and_a_normal_against_the_integral():
    p, q = Gamma(2.0, 3.0), Normal(1.0, variance=0.25)
    z = sum_of(p, q)
    assert isinstance(z, Numeric)
    assert z.error < 1e-7
    for at in (-0.3, 0.8, 1.6, 3.0):
        slow, _ = integrate.quad(lambda x, at=at: density(p, x) * density(q, at - x), 0, 20)
        assert density(z, at) == pytest.approx(slow, abs=1e-8)
    assert z.mean == pytest.approx(p.mean + q.mean, abs=1e-7)
    assert z.variance == pytest.approx(p.variance + q.variance, abs=1e-7)
    assert z.cdf(z.quantile(0.3)) == pytest.approx(0.3, abs=1e-12)
    both = p.sample(50_000, rng=1) + q.sample(50_000, rng=2)
    assert stats.kstest(both, z.cdf).pvalue > 1e-4
    assert stats.kstest(z.sample(50_000, rng=3), z.cdf).pvalue > 1e-4
    t = np.array([-6.0, -1.0, 0.0, 2.0, 5.0])
    product = characteristic_function(p, t) * characteristic_function(q, t)
    np.testing.assert_allclose(characteristic_function(z, t), product, atol=1e-7)


@given(st.floats(0.3, 5), st.floats(0.3, 5), st.floats(-3, 3), st.floats(0.2, 3))
def test_sums_add_means_and_variances(shape, rate, mean, scale):
    p, q = Gamma(shape, rate), Laplace(mean, scale)
    z = sum_of(p, q, points=20_000)
    spread = np.sqrt(p.variance + q.variance)
    allowed = 1e-4 + z.error  # a gamma of small shape is unbounded at 0, and the table says so
    assert abs(z.mean - p.mean - q.mean) < allowed * spread
    ends = np.abs(z.nodes[[0, -1]] - mean)  # a table ends: what the Laplace has beyond is missing
    beyond = 0.5 * np.exp(-ends / scale) * (ends**2 + 2.0 * ends * scale + 2.0 * scale**2)
    assert abs(z.variance / spread**2 - 1) < allowed + beyond.sum() / spread**2
    again = sum_of(q, p, points=20_000)
    x = z.quantile([0.05, 0.5, 0.95])
    np.testing.assert_allclose(again.cdf(x), z.cdf(x), atol=1e-6)


def test_sums_of_whole_numbers():
    z = sum_of(Poisson(3.0), Binomial(5, 0.3))
    assert isinstance(z, NumericCounts)
    direct = sum(stats.poisson(3.0).pmf(7 - k) * stats.binom(5, 0.3).pmf(k) for k in range(6))
    assert density(z, 7.0) == pytest.approx(direct, rel=1e-12)
    assert z.mean == pytest.approx(4.5)
    assert z.variance == pytest.approx(3.0 + 1.05)
    exact, table = Poisson(5.5), convolve_counts(Poisson(2.0), Poisson(3.5))
    k = np.arange(30.0)
    np.testing.assert_allclose(table.log_prob(k), exact.log_prob(k), atol=1e-11)
    many = convolve_counts(Poisson(4e4), Poisson(6e4))  # by the Fourier transform
    assert many.cdf(1e5) == pytest.approx(Poisson(1e5).cdf(1e5), abs=1e-9)


def test_a_count_and_a_density_add_up_to_a_density():
    z = sum_of(Poisson(3.0), STANDARD)
    direct = sum(stats.poisson(3.0).pmf(k) * stats.norm.pdf(2.5 - k) for k in range(60))
    assert density(z, 2.5) == pytest.approx(direct, abs=1e-8)
    points = sum_of(Empirical([0.0, np.pi]), STANDARD)
    direct = 0.5 * (stats.norm.pdf(1.0) + stats.norm.pdf(1.0 - np.pi))
    assert density(points, 1.0) == pytest.approx(direct, abs=1e-7)


def test_unequal_rates_and_probabilities_are_numeric():
    z = sum_of(Gamma(2.0, 3.0), Gamma(1.0, 1.0))
    assert isinstance(z, Numeric)
    assert isinstance(sum_of(Binomial(5, 0.3), Binomial(5, 0.4)), NumericCounts)
    u = sum_of(Uniform(0.0, 1.0), Uniform(0.0, 1.0))
    assert isinstance(sum_of(u, Uniform(0.0, 1.0)), Numeric)  # tables add as well
    assert sum_of(u, Uniform(0.0, 1.0)).variance == pytest.approx(0.25, abs=1e-6)


# -- products ----------------------------------------------------------------------------------


@pytest.mark.topic("004/4.14", "004/1.13")
def test_the_product_of_two_standard_normals():
    z = product_of(STANDARD, STANDARD)
    digits(density(z, 0.5), 0.29425173, 8)
    digits(density(z, 1.0), 0.13401624, 8)
    x = np.array([1e-6, 0.01, 0.3, 2.0, 5.0])
    np.testing.assert_allclose(density(z, x), special.k0(x) / np.pi, rtol=1e-7)
    np.testing.assert_allclose(density(z, -x), special.k0(x) / np.pi, rtol=1e-7)
    assert z.variance == pytest.approx(1.0, abs=1e-6)
    assert z.mean == pytest.approx(0.0, abs=1e-12)
    assert z.cdf(0.0) == pytest.approx(0.5, abs=1e-9)
    assert total_variation(z, lambda u: special.k0(np.abs(u)) / np.pi) <= z.error < 1e-6
    draws = STANDARD.sample(50_000, rng=1) * STANDARD.sample(50_000, rng=2)
    assert stats.kstest(draws, z.cdf).pvalue > 1e-4


@pytest.mark.topic("004/1.13")
def test_products_against_integrals():
    z = product_of(Uniform(0.0, 1.0), Uniform(0.0, 1.0))
    np.testing.assert_allclose(density(z, [0.1, 0.5]), -np.log([0.1, 0.5]), rtol=1e-6)
    assert z.mean == pytest.approx(0.25, abs=1e-7)
    p, q = Exponential(1.0), Normal(2.0, variance=1.0)
    z = product_of(p, q)
    for at in (-0.5, 0.7, 3.0):
        slow, _ = integrate.quad(
            lambda x, at=at: density(p, x) * density(q, at / x) / x, 0, 60, limit=400
        )
        assert density(z, at) == pytest.approx(slow, abs=1e-7)
    assert z.mean == pytest.approx(2.0, abs=1e-6)
    assert z.variance == pytest.approx(2 * 5 - 4, abs=1e-5)
    apart = product_of(Uniform(1.0, 2.0), Uniform(-3.0, -1.0))
    assert apart.mean == pytest.approx(-3.0, abs=1e-7)
    assert apart.quantile(1.0) == pytest.approx(-1.0, abs=1e-3)
    far = product_of(Normal(100.0, variance=1.0), Normal(5.0, variance=0.01))
    assert far.mean == pytest.approx(500.0, rel=1e-6)
    assert far.variance == pytest.approx(25 + 100.0 + 0.01, rel=1e-4)


@pytest.mark.topic("004/1.13")
def test_products_and_powers_of_log_normals_are_log_normal():
    z = product_of(LogNormal(0.5, variance=1.0), LogNormal(-0.2, variance=0.5))
    assert z.logarithm.mean == pytest.approx(0.3)
    assert z.logarithm.variance == pytest.approx(1.5)
    assert power_of(LogNormal(0.5, scale=0.7), -2.0).logarithm.mean == -1.0
    assert power_of(LogNormal(0.5, scale=0.7), -2.0).logarithm.scale == pytest.approx(1.4)
    p = Gamma(3.0, 2.0)
    np.testing.assert_allclose(
        power_of(p, -1.0).log_prob([0.3, 1.0, 4.0]), InverseGamma(3.0, 2.0).log_prob([0.3, 1.0, 4])
    )
    assert product_of(PointMass(2.0), LogNormal(0.0, variance=1.0)).logarithm.mean == np.log(2.0)
    numeric = product_of(LogNormal(0.0, variance=0.25), Transformed(STANDARD, SquareMap()))
    assert numeric.mean == pytest.approx(np.exp(0.125), rel=1e-5)


def test_products_of_whole_numbers():
    z = product_of(Poisson(3.0), Binomial(5, 0.3))
    assert z.mean == pytest.approx(4.5)
    assert density(z, 0.0) == pytest.approx(1 - (1 - np.exp(-3)) * (1 - 0.7**5))
    assert product_of(Bernoulli(0.3), Bernoulli(0.5)) == Bernoulli(0.15)
    pair = product_of(Empirical([1.0, 2.0]), Empirical([3.0, 0.5]))
    assert pair.mean == pytest.approx(1.5 * 1.75)
    with pytest.raises(TypeError, match="mixture"):
        product_of(Poisson(3.0), STANDARD)


# -- affine ------------------------------------------------------------------------------------

AFFINE = [
    Normal(0.3, variance=2.0),
    StudentT(5.0, 0.3, scale=2.0),
    Cauchy(0.3, 2.0),
    Laplace(0.3, 2.0),
    Uniform(-1.0, 2.0),
    Gamma(2.0, 3.0),
    Exponential(3.0),
    InverseGamma(3.0, 2.0),
    LogNormal(0.3, variance=0.5),
    Beta(2.0, 3.0),
    Mixture([0.3, 0.7], Normal([0.0, 3.0], variance=[1.0, 2.0])),
    Numeric([0.0, 1.0, 2.0, 4.0], [0.25, 0.5, 0.25, 0.0]),
    Transformed(STANDARD, SquareMap()),
]


@pytest.mark.topic("004/1.15")
@pytest.mark.parametrize("p", AFFINE, ids=lambda d: type(d).__name__)
@pytest.mark.parametrize(("gain", "offset"), [(2.5, 0.0), (-0.5, 3.0), (1.0, -2.0)])
def test_affine_images_obey_the_change_of_variables(p, gain, offset):
    y = affine(p, gain, offset)
    x = p.quantile(np.array([0.1, 0.4, 0.8]))
    at = gain * x + offset
    np.testing.assert_allclose(density(y, at), density(p, x) / abs(gain), rtol=1e-10)
    expected = p.cdf(x) if gain > 0 else 1 - p.cdf(x)
    np.testing.assert_allclose(y.cdf(at), expected, atol=1e-12)
    np.testing.assert_allclose(y.quantile(y.cdf(at)), at, rtol=1e-7)


def test_affine_images_of_counts_points_and_constants():
    assert affine(Poisson(3.0), 0.0, 2.0) == PointMass(2.0)
    table = NumericCounts(2, [0.25, 0.5, 0.25])
    assert affine(table, -1.0, 1.0) == NumericCounts(-3, [0.25, 0.5, 0.25])
    assert affine(table, 2.0).log_prob(6.0) == np.log(0.5)
    assert affine(PointMass([1.0, 2.0], 1), [[1.0, 1.0]]) == PointMass([3.0], 1)
    moved = affine(Poisson(3.0), 2.0, 1.0)
    assert moved.map == AffineMap(2.0, 1.0)
    assert moved.mean == pytest.approx(7.0)


# -- refusals ----------------------------------------------------------------------------------


def test_what_cannot_be_added_is_said():
    with pytest.raises(TypeError, match="given by distributions"):
        sum_of(3.0, STANDARD)
    with pytest.raises(TypeError, match="MvNormal"):
        sum_of(MvNormal([0.0], cov=[[1.0]]), STANDARD)
    with pytest.raises(ValueError, match="single distributions"):
        sum_of(Normal([0.0, 1.0], variance=1.0), Gamma(1.0, 1.0))
    with pytest.raises(TypeError, match="whole numbers"):
        sum_of(Empirical([0.5, 1.5]), Poisson(2.0))
    with pytest.raises(ValueError, match="finite, positive variance"):
        central_limit(StudentT(2.0, scale=1.0), 3)
    with pytest.raises(ValueError, match="n must be"):
        central_limit(STANDARD, 0)
    with pytest.raises(ValueError, match="gain"):
        affine(STANDARD, np.nan)


def test_a_students_quantile_of_zero_is_the_lower_end():
    assert StudentT(5.0, 1.0, scale=2.0).quantile(0.0) == -np.inf


def test_a_product_is_dense_at_0_where_its_density_is_unbounded():
    z = product_of(Normal(0.0, variance=1.0), Normal(0.0, variance=1.0))
    near, at = z.log_prob([1e-9, 0.0])
    assert near == pytest.approx(np.log(special.k0(1e-9) / np.pi), abs=1e-3)
    assert at >= near
