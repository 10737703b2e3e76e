"""Matrix normals, Pólya-gamma, weighted draws, mixtures, changes of variables and tables."""

import mpmath
import numpy as np
import pytest
from scipy import integrate, special, stats

from posteriori.distributions import (
    Beta,
    Categorical,
    Empirical,
    Exponential,
    Gamma,
    LogNormal,
    MatrixNormal,
    MatrixNormalWishart,
    Mixture,
    MvNormal,
    Normal,
    NormalWishart,
    Numeric,
    NumericCounts,
    Poisson,
    PolyaGamma,
    Transformed,
    UnivariateEmpirical,
    UnivariateMixture,
    transform,
)
from posteriori.distributions.batches import has_atoms, take_members
from posteriori.distributions.maps import (
    AbsoluteMap,
    AffineMap,
    Bijection,
    ExpMap,
    LinearMap,
    LogitMap,
    LogMap,
    MonotoneMap,
    PiecewiseMap,
    PowerMap,
    SquareMap,
)
from posteriori.numerics.roots import invert_increasing
from tests.distributions.oracles import high_precision

STANDARD = Normal(0.0, variance=1.0)


# -- matrices ----------------------------------------------------------------------------------

U = np.array([[1.0, 0.3], [0.3, 0.8]])
V = np.array([[1.0, 0.2, 0.1], [0.2, 0.7, 0.0], [0.1, 0.0, 0.5]])
M = np.arange(6.0).reshape(2, 3)


def test_a_matrix_normal_is_a_normal_vector_row_after_row():
    d, e = MatrixNormal(M, U, V), MatrixNormal(M + 0.1, 2 * U, V + 0.1 * np.eye(3))
    x = d.sample(5, rng=0)
    flat = x.reshape(5, 6)
    np.testing.assert_allclose(d.log_prob(x), d.vec().log_prob(flat), rtol=1e-12)
    np.testing.assert_allclose(d.vec().cov, np.kron(U, V), rtol=1e-15)
    assert d.entropy() == pytest.approx(d.vec().entropy(), rel=1e-13)
    assert d.kl(e) == pytest.approx(d.vec().kl(e.vec()), rel=1e-12)
    same = MatrixNormal(M, 3.0 * U, V / 3.0)
    assert same.kl(d) == pytest.approx(0.0, abs=1e-14)
    np.testing.assert_allclose(d.variance, np.outer(np.diag(U), np.diag(V)))
    np.testing.assert_allclose(d.std**2, d.variance)
    with pytest.raises(TypeError, match="within one family"):
        d.kl(d.vec())
    with pytest.raises(ValueError, match="2 x 3"):
        MatrixNormal(M.T, U, V)
    with pytest.raises(ValueError, match="matrix"):
        MatrixNormal([1.0, 2.0], U, V)


def test_rows_and_columns_of_a_matrix_normal():
    d = MatrixNormal(M, U, V)
    rows = d.marginal_rows([1])
    np.testing.assert_allclose(rows.vec().cov, d.vec().marginal([3, 4, 5]).cov)
    columns = d.marginal_columns([2, 0])
    np.testing.assert_allclose(columns.mean, M[:, [2, 0]])
    np.testing.assert_allclose(columns.vec().cov, d.vec().marginal([2, 0, 5, 3]).cov)
    assert d.transpose().transpose() == d
    x = d.sample(rng=1)
    assert d.transpose().log_prob(x.T) == pytest.approx(d.log_prob(x), rel=1e-13)


def test_matrix_normal_wishart_is_the_composition_of_its_two_laws():
    d = MatrixNormalWishart(M, U, 7.0, V)
    s = d.sample(4, rng=1)
    for i in range(4):
        given = d.given_precision(s.precision[i]).log_prob(s.weights[i])
        together = d.marginal_precision().log_prob(s.precision[i]) + given
        assert d.log_prob((s.weights[i], s.precision[i])) == pytest.approx(together, rel=1e-12)
    np.testing.assert_allclose(d.mean.weights, M)
    np.testing.assert_allclose(d.mean.precision, 7.0 * V)
    e = MatrixNormalWishart(M + 0.2, 1.5 * U, 9.0, V + 0.1 * np.eye(3))
    draws = d.sample(40_000, rng=2)
    ratio = d.log_prob(draws) - e.log_prob(draws)
    assert abs(ratio.mean() - d.kl(e)) < 5 * ratio.std() / 200
    surprise = -d.log_prob(draws)
    assert abs(surprise.mean() - d.entropy()) < 5 * surprise.std() / 200
    assert np.all(np.abs(draws.weights.mean(axis=0) - M) < 5 * np.sqrt(d.variance.weights / 40_000))


def test_with_one_input_it_is_the_normal_wishart():
    scale = [[0.12, 0.03], [0.03, 0.1]]
    d = MatrixNormalWishart([[0.3, -0.2]], [[1.7]], 12.0, scale)
    e = NormalWishart([0.3, -0.2], 1.7, 12.0, scale)
    precision = np.array([[1.0, 0.2], [0.2, 1.5]])
    assert d.log_prob(([[0.1, 0.4]], precision)) == pytest.approx(
        e.log_prob(([0.1, 0.4], precision)), rel=1e-13
    )
    assert d.entropy() == pytest.approx(e.entropy(), rel=1e-13)
    for one, other in zip(d.natural, e.natural, strict=True):
        np.testing.assert_allclose(np.ravel(one), np.ravel(other), rtol=1e-13)
    with pytest.raises(ValueError, match="inputs"):
        MatrixNormalWishart(M.T, U, 7.0, V)
    with pytest.raises(ValueError, match="dof"):
        _ = MatrixNormalWishart(M, U, 3.5, V).variance


def test_the_natural_form_updates_multi_output_regression():
    """Y = XW + E: natural parameters of the posterior are those of the prior plus statistics."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 2))
    y = x @ M + rng.normal(size=(40, 3))
    prior = MatrixNormalWishart(np.zeros((2, 3)), np.eye(2), 5.0, np.eye(3))
    n1, n2, n3, n4 = prior.natural
    posterior = MatrixNormalWishart.from_natural(
        n1 + 20.0, n2 - 0.5 * y.T @ y, n3 + (x.T @ y).ravel(), n4 - 0.5 * x.T @ x
    )
    strength = np.eye(2) + x.T @ x
    mean = np.linalg.solve(strength, x.T @ y)
    np.testing.assert_allclose(posterior.location, mean, rtol=1e-11)
    np.testing.assert_allclose(posterior.mean_precision, strength, rtol=1e-13)
    assert posterior.dof == pytest.approx(45.0)
    residual = np.eye(3) + y.T @ y - mean.T @ strength @ mean
    np.testing.assert_allclose(np.linalg.inv(posterior.scale), residual, rtol=1e-9)


# -- Pólya-gamma -------------------------------------------------------------------------------


def alternating_series(x, b, c):
    """Polson, Scott & Windle, eq. 6, with as many digits as cancel."""
    total = mpmath.mpf(0)
    for n in range(150):
        weight = mpmath.gamma(n + b) / mpmath.gamma(n + 1) * (2 * n + b)
        total += (-1) ** n * weight * mpmath.exp(-((2 * n + b) ** 2) / (8 * x))
    total *= 2 ** (b - 1) / mpmath.gamma(b) / mpmath.sqrt(2 * mpmath.pi * x**3)
    return mpmath.log(mpmath.cosh(c / 2) ** b * mpmath.exp(-c * c * x / 2) * total)


@pytest.mark.parametrize("b", [0.05, 0.3, 1.0, 2.5, 7.0, 40.0])
@pytest.mark.parametrize("share", [0.001, 0.02, 0.1, 0.25, 0.6, 1.5])
def test_polya_gamma_density_in_both_tails(b, share):
    x = share * b
    if share > 1 and b > 10:
        x = 0.5 * b
    exact = high_precision(alternating_series, x, b, 1.3, digits=120)
    assert PolyaGamma(b, 1.3).log_prob(x) == pytest.approx(exact, rel=1e-13, abs=1e-13)


def test_polya_gamma_far_out():
    d = PolyaGamma(1.7, 0.8)
    x = np.array([1e-40, 1e-9, 1e6, 1.6e10, 1.8e10, 1e40])
    values = d.log_prob(x)
    assert np.all(np.isfinite(values))
    assert values[0] == pytest.approx(-(1.7**2) / 8e-40, rel=1e-12)
    assert (values[4] - values[3]) / 2e9 == pytest.approx(-0.5 * np.pi**2 - 0.32, rel=1e-6)


@pytest.mark.parametrize("c", [0.0, 1e-9, 1e-3, 0.0499, 0.0501, 1.0, -3.0, 40.0, 1e5])
def test_polya_gamma_moments(c):
    d = PolyaGamma(2.5, c)

    def mean(t):
        return 2.5 / (2 * t) * mpmath.tanh(t / 2) if t else mpmath.mpf(2.5) / 4

    def variance(t):
        if not t:
            return mpmath.mpf(2.5) / 24
        return 2.5 * (2 * mpmath.tanh(t / 2) - t * mpmath.sech(t / 2) ** 2) / (4 * t**3)

    assert d.mean == pytest.approx(high_precision(mean, c), rel=1e-14)
    assert d.variance == pytest.approx(high_precision(variance, c), rel=1e-10)


@pytest.mark.parametrize(("b", "c"), [(1.0, 0.0), (1.0, 4.0), (3.0, 1.0), (0.4, 2.0), (5.5, 0.0)])
def test_polya_gamma_draws_and_laplace_transform(b, c):
    d = PolyaGamma(b, c)
    draws = d.sample(40_000, rng=5)
    assert abs(draws.mean() - d.mean) < 5 * d.std / 200
    for t in (0.5, 4.0, 30.0):
        expected = d.laplace_transform(t)
        values = np.exp(-t * draws)
        assert abs(values.mean() - expected) < 5 * values.std() / 200
        slow, _ = integrate.quad(
            lambda x, t=t: np.exp(d.log_prob(x) - t * x), 1e-12, np.inf, limit=200
        )
        assert slow == pytest.approx(expected, abs=1e-7)
    with pytest.raises(ValueError, match="negative"):
        d.laplace_transform(-1.0)


def test_polya_gamma_turns_a_logistic_likelihood_into_normals():
    for psi in (-2.0, 0.3, 5.0):
        half = 0.5 * np.exp(0.5 * psi) * PolyaGamma(1.0).laplace_transform(0.5 * psi**2)
        assert half == pytest.approx(special.expit(psi), rel=1e-13)


# -- weighted draws ----------------------------------------------------------------------------


def test_weighted_draws():
    d = Empirical([3.0, 1.0, 2.0, 1.0], [1.0, 2.0, 4.0, 1.0])
    assert isinstance(d, UnivariateEmpirical)
    np.testing.assert_allclose(d.log_prob([1.0, 2.0, 2.5]), [np.log(0.375), np.log(0.5), -np.inf])
    np.testing.assert_allclose(d.cdf([0.9, 1.0, 2.0, 3.0]), [0.0, 0.375, 0.875, 1.0])
    np.testing.assert_array_equal(d.quantile([0.0, 0.375, 0.4, 1.0]), [1.0, 1.0, 2.0, 3.0])
    assert d.mean == pytest.approx(1.75)
    assert d.expect(np.square) == pytest.approx((9 + 2 + 16 + 1) / 8)
    assert d.effective_sample_size == pytest.approx(64 / 22)
    assert Empirical(np.arange(7.0)).effective_sample_size == pytest.approx(7.0)


def test_weighted_draws_of_matrices():
    x = np.arange(12.0).reshape(3, 2, 2)
    d = Empirical(x, [0.5, 0.25, 0.25])
    assert d.event_shape == (2, 2)
    np.testing.assert_allclose(d.mean, np.tensordot([0.5, 0.25, 0.25], x, 1))
    np.testing.assert_allclose(d.expect(np.linalg.det), -2.0)
    assert d.log_prob(x[0]) == np.log(0.5)
    assert d.sample(5, rng=0).shape == (5, 2, 2)
    with pytest.raises(ValueError, match="vectors"):
        _ = d.cov
    vectors = Empirical(np.random.default_rng(0).normal(size=(50, 3)))
    np.testing.assert_allclose(vectors.cov, np.cov(vectors.points.T, ddof=0), rtol=1e-12)


def test_resampling_repeats_points_by_their_weights():
    weights = np.array([0.1, 0.45, 0.25, 0.2])
    d = Empirical([0.0, 1.0, 2.0, 3.0], weights)
    for seed in range(20):
        again = d.resample(40, rng=seed)
        counts = np.bincount(again.points.astype(int), minlength=4)
        assert np.all(np.abs(counts - 40 * weights) < 1 + 1e-9)
        assert again.effective_sample_size == pytest.approx(40.0)
    batch = Empirical([[0.0, 1.0], [5.0, 6.0]], [[0.5, 0.5], [0.0, 1.0]], event_ndim=0)
    assert set(batch.resample(6, rng=0).points[1]) == {6.0}
    with pytest.raises(ValueError, match="n must be"):
        d.resample(0)


def test_weighted_draws_refuse_bad_input():
    for make, words in (
        (lambda: Empirical([]), "empty"),
        (lambda: Empirical([1.0, np.nan]), "finite"),
        (lambda: Empirical([1.0, 2.0], [1.0]), "shape"),
        (lambda: Empirical([1.0, 2.0], [0.0, 0.0]), "all be 0"),
        (lambda: Empirical([1.0, 2.0], [-1.0, 2.0]), "negative"),
        (lambda: Empirical([1.0, 2.0], event_ndim=3), "event_ndim"),
    ):
        with pytest.raises(ValueError, match=words):
            make()


# -- mixtures ----------------------------------------------------------------------------------

TWO = Mixture([0.3, 0.7], Normal([0.0, 3.0], variance=[1.0, 2.0]))


def test_a_mixture_adds_densities():
    x = np.linspace(-4.0, 8.0, 50)
    slow = 0.3 * stats.norm(0, 1).pdf(x) + 0.7 * stats.norm(3, 2**0.5).pdf(x)
    np.testing.assert_allclose(np.exp(TWO.log_prob(x)), slow, rtol=1e-13)
    assert TWO.log_prob(-60.0) == pytest.approx(np.log(0.7) + Normal(3, variance=2).log_prob(-60))
    assert Mixture(Categorical([0.3, 0.7]), TWO.components) == TWO
    assert TWO.mean == pytest.approx(2.1)
    assert TWO.variance == pytest.approx(0.3 * 1 + 0.7 * 2 + 0.3 * 2.1**2 + 0.7 * 0.9**2)
    r = TWO.responsibilities(x)
    np.testing.assert_allclose(r.sum(axis=-1), 1.0)
    np.testing.assert_allclose(r[:, 0], 0.3 * stats.norm(0, 1).pdf(x) / slow, rtol=1e-12)
    with pytest.raises(ValueError, match="no component"):
        Mixture([0.5, 0.5], Exponential([1.0, 2.0])).responsibilities(-1.0)


@pytest.mark.parametrize(
    "components",
    [Gamma([1.0, 5.0], [1.0, 2.0]), Poisson([2.0, 9.0]), Beta([1.0, 8.0], [3.0, 2.0])],
    ids=lambda d: type(d).__name__,
)
def test_mixtures_of_any_family(components):
    d = Mixture([0.4, 0.6], components)
    assert isinstance(d, UnivariateMixture)
    assert has_atoms(d) == isinstance(components, Poisson)
    draws = d.sample(40_000, rng=1)
    assert abs(draws.mean() - d.mean) < 5 * d.std / 200
    q = np.array([0.05, 0.4, 0.9])
    x = d.quantile(q)
    assert np.all(d.cdf(x) >= q - 1e-12)
    assert np.all(d.cdf(np.nextafter(x, -np.inf)) <= q + 1e-12)


def test_marginals_and_conditionals_of_a_mixture_of_normals():
    means = [[0.0, 1.0, -1.0], [2.0, 0.0, 1.0]]
    covs = [np.eye(3) + 0.3, np.diag([1.0, 2.0, 0.5]) + 0.2]
    d = Mixture([0.25, 0.75], MvNormal(means, cov=covs))
    x = np.array([0.7, -0.2, 0.4])
    known = d.marginal([0, 2]).log_prob(x[[0, 2]])
    rest = d.condition([0, 2], x[[0, 2]])
    assert isinstance(rest, Mixture)
    assert known + rest.log_prob(x[[1]]) == pytest.approx(d.log_prob(x), rel=1e-12)
    assert d.condition([1], 0.3).event_shape == (2,)
    draws = d.sample(50_000, rng=3)
    np.testing.assert_allclose(np.cov(draws.T), d.cov, atol=0.06)
    with pytest.raises(TypeError, match="MvNormal"):
        Mixture([0.5, 0.5], MatrixNormal([M, M], U, V)).marginal([0])


def test_a_batch_of_mixtures_conditions_member_by_member():
    means = np.random.default_rng(2).normal(size=(3, 2, 2))
    d = Mixture([0.5, 0.5], MvNormal(means, cov=np.eye(2) + 0.4))
    together = d.condition([0], [0.5])
    for i in range(3):
        one = take_members(d, i).condition([0], [0.5])
        np.testing.assert_allclose(together.probabilities[i], one.probabilities)
        np.testing.assert_allclose(together.mean[i], one.mean)


def test_mixtures_refuse_bad_input():
    with pytest.raises(TypeError, match="one distribution"):
        Mixture([0.5, 0.5], [Normal(0, variance=1), Normal(1, variance=1)])
    with pytest.raises(ValueError, match="last axis"):
        Mixture([0.5, 0.5], Normal(0.0, variance=1.0))
    with pytest.raises(ValueError, match="last axis"):
        Mixture([0.2, 0.3, 0.5], TWO.components)
    with pytest.raises(ValueError, match="sum to 1"):
        Mixture([0.5, 0.6], TWO.components)
    with pytest.raises(TypeError, match="pairs"):
        Mixture([0.5, 0.5], NormalWishart([[0.0], [1.0]], 1.0, 3.0, [[1.0]]))


# -- change of variables -----------------------------------------------------------------------


@pytest.mark.topic("004/1.15")
def test_standardising_a_normal():
    y = Transformed(Normal(3.0, variance=4.0), AffineMap(0.5, -1.5))
    x = np.linspace(-3, 3, 13)
    np.testing.assert_allclose(y.log_prob(x), STANDARD.log_prob(x), rtol=1e-13)


@pytest.mark.topic("004/1.15")
def test_the_square_of_a_standard_normal_is_chi_squared():
    y, peer = Transformed(STANDARD, SquareMap()), stats.chi2(1)
    x = np.array([1e-6, 0.3, 1.0, 9.0])
    np.testing.assert_allclose(y.log_prob(x), peer.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(y.cdf(x), peer.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(y.quantile([0.1, 0.5, 0.99]), peer.ppf([0.1, 0.5, 0.99]), rtol=1e-10)
    assert y.log_prob(-1.0) == -np.inf
    assert y.cdf(-1.0) == 0.0
    assert y.mean == pytest.approx(1.0, rel=1e-10)
    assert y.variance == pytest.approx(2.0, rel=1e-10)


@pytest.mark.topic("004/1.13", "004/1.15")
def test_the_exponential_of_a_normal_is_log_normal():
    y, z = Transformed(Normal(0.3, variance=0.5), ExpMap()), LogNormal(0.3, variance=0.5)
    x = np.array([0.01, 0.8, 3.0])
    np.testing.assert_allclose(y.log_prob(x), z.log_prob(x), rtol=1e-12)
    np.testing.assert_allclose(y.cdf([-1.0, *x]), z.cdf([-1.0, *x]), rtol=1e-13)
    assert y.mean == pytest.approx(z.mean, rel=1e-11)
    back = Transformed(z, LogMap())
    np.testing.assert_allclose(back.log_prob([-1.0, 2.0]), y.base.log_prob([-1.0, 2.0]))


@pytest.mark.topic("004/1.15")
def test_slopes_enter_by_their_absolute_value():
    down = Transformed(Exponential(2.0), AffineMap(-1.0))
    assert down.log_prob(-0.7) == pytest.approx(Exponential(2.0).log_prob(0.7))
    assert down.cdf(-0.7) == pytest.approx(1 - Exponential(2.0).cdf(0.7))
    inverse = Transformed(Gamma(3.0, 2.0), PowerMap(-1.0))
    total, _ = integrate.quad(lambda y: np.exp(inverse.log_prob(y)), 0, np.inf)
    assert total == pytest.approx(1.0, abs=1e-8)
    assert inverse.cdf(0.4) == pytest.approx(1 - Gamma(3.0, 2.0).cdf(2.5))


MAPS = [
    (STANDARD, AbsoluteMap(), np.abs),
    (STANDARD, PowerMap(3.0), lambda x: x**3),
    (STANDARD, PowerMap(4.0), lambda x: x**4),
    (Beta(2.0, 3.0), LogitMap(), special.logit),
    (Gamma(2.0, 3.0), PowerMap(0.5), np.sqrt),
    (Gamma(2.0, 3.0), LogMap(), np.log),
]


@pytest.mark.topic("004/1.15")
@pytest.mark.parametrize(("base", "h", "f"), MAPS, ids=lambda v: type(v).__name__)
def test_presets_move_draws_and_probabilities_alike(base, h, f):
    y = Transformed(base, h)
    draws = f(base.sample(20_000, rng=1))
    assert stats.kstest(draws, y.cdf).pvalue > 1e-4
    x = y.quantile(np.array([0.2, 0.6, 0.9]))
    step = 1e-6
    slope = (y.cdf(x + step) - y.cdf(x - step)) / (2 * step)
    np.testing.assert_allclose(np.exp(y.log_prob(x)), slope, rtol=1e-6)


@pytest.mark.topic("004/1.15")
def test_discrete_variables_move_without_slopes():
    y = Transformed(Poisson(3.0), AffineMap(-2.0, 1.0))
    np.testing.assert_allclose(y.log_prob([1.0, -1.0, -5.0]), Poisson(3.0).log_prob([0.0, 1.0, 3]))
    assert y.log_prob(0.0) == -np.inf
    assert y.cdf(-5.0) == pytest.approx(1 - Poisson(3.0).cdf(2.0))
    assert y.mean == pytest.approx(-5.0)
    assert y.variance == pytest.approx(12.0)
    q = np.array([0.1, 0.5, 0.95])
    x = y.quantile(q)
    assert np.all(y.cdf(x) >= q)
    assert np.all(y.cdf(x - 0.5) < q)
    folded = Transformed(NumericCounts(-1, [0.25, 0.5, 0.25]), SquareMap())
    np.testing.assert_allclose(np.exp(folded.log_prob([0.0, 1.0])), [0.5, 0.5])
    np.testing.assert_allclose(folded.cdf([0.0, 1.0]), [0.5, 1.0])


@pytest.mark.topic("004/1.15")
def test_maps_given_by_functions():
    tanh = transform(
        STANDARD,
        np.tanh,
        np.arctanh,
        lambda y: -np.log1p(-y * y),
        image=(-1.0, 1.0),
    )
    total, _ = integrate.quad(lambda y: np.exp(tanh.log_prob(y)), -1, 1)
    assert total == pytest.approx(1.0, abs=1e-8)
    np.testing.assert_allclose(tanh.cdf([-2.0, 0.0, 2.0]), [0.0, 0.5, 1.0])
    falling = transform(
        STANDARD, lambda x: -np.tanh(x), lambda y: -np.arctanh(y), tanh.map.log_abs_slope,
        increasing=False, image=(-1.0, 1.0),
    )  # fmt: skip
    np.testing.assert_allclose(falling.cdf([-2.0, 0.3, 2.0]), [0.0, tanh.cdf(0.3), 1.0])
    branches = [
        (np.sqrt, lambda y: 0.5 / np.sqrt(y), (0.0, np.inf)),
        (lambda y: -np.sqrt(y), lambda y: -0.5 / np.sqrt(y), (0.0, np.inf)),
    ]
    square = transform(STANDARD, np.square, branches=branches)
    assert isinstance(square.map, PiecewiseMap)
    x = np.array([-1.0, 0.2, 3.0])
    np.testing.assert_allclose(square.log_prob(x), stats.chi2(1).logpdf(x), rtol=1e-12)
    with pytest.raises(TypeError, match="not monotone"):
        square.cdf(1.0)
    with pytest.raises(TypeError, match="branches"):
        transform(STANDARD, np.square)


@pytest.mark.topic("004/1.15")
def test_vectors_move_by_the_determinant():
    base = MvNormal([0.5, -0.3], cov=[[1.2, 0.4], [0.4, 0.8]])
    a, b = np.array([[1.0, 2.0], [-0.5, 0.5]]), np.array([1.0, -1.0])
    image = Transformed(base, LinearMap(a, b))
    x = np.random.default_rng(0).normal(size=(6, 2))
    np.testing.assert_allclose(image.log_prob(x), base.affine(a, b).log_prob(x), rtol=1e-12)

    def bend(x):
        return np.stack([np.exp(x[..., 0]), x[..., 1] + x[..., 0] ** 2], axis=-1)

    def unbend(y):
        first = np.log(y[..., 0])
        return np.stack([first, y[..., 1] - first**2], axis=-1)

    banana = transform(base, bend, unbend, lambda y: -np.log(y[..., 0]))
    assert isinstance(banana.map, Bijection)
    first, second = np.meshgrid(np.linspace(-7, 8, 401), np.linspace(-8, 8, 401))
    points = bend(np.stack([first, second], axis=-1))  # even in ln y₁, and in y₂ given y₁
    total = (np.exp(banana.log_prob(points)) * points[..., 0]).sum() * (15 / 400) * (16 / 400)
    assert total == pytest.approx(1.0, abs=1e-9)


def test_changes_of_variables_refuse_bad_input():
    for make, error, words in (
        (lambda: Transformed(STANDARD, LogMap()), ValueError, "probability elsewhere"),
        (lambda: Transformed(Gamma(1.0, 1.0), LogitMap()), ValueError, "probability elsewhere"),
        (lambda: Transformed(STANDARD, PowerMap(0.5)), ValueError, "probability elsewhere"),
        (lambda: Transformed(STANDARD, LinearMap(np.eye(2))), ValueError, "axes"),
        (lambda: Transformed(STANDARD, np.exp), TypeError, "map"),
        (lambda: Transformed(3.0, ExpMap()), TypeError, "base"),
        (lambda: AffineMap(0.0), ValueError, "gain"),
        (lambda: PowerMap(0.0), ValueError, "exponent"),
        (lambda: LinearMap([[1.0, 1.0], [1.0, 1.0]]), ValueError, "singular"),
        (lambda: LinearMap([1.0]), ValueError, "square"),
    ):
        with pytest.raises(error, match=words):
            make()
    assert MonotoneMap(np.exp, np.log, np.log) == MonotoneMap(np.exp, np.log, np.log)


@pytest.mark.parametrize(
    "d", [TWO, Transformed(STANDARD, ExpMap()), Empirical([[1.0, 2.0], [3.0, 4.0]])]
)
def test_a_plate_keeps_what_the_value_is_made_of(d):
    declared = d.iid("n")
    assert declared.at() == d


# -- tables and roots --------------------------------------------------------------------------


def test_tables_refuse_bad_input_and_say_what_they_are():
    for make, words in (
        (lambda: Numeric([0.0], [1.0]), "at least 2"),
        (lambda: Numeric([0.0, 0.0], [1.0, 1.0]), "increase"),
        (lambda: Numeric([0.0, 1.0], [0.0, 0.0]), "0 everywhere"),
        (lambda: Numeric([0.0, 1.0], [1.0, -1.0]), "negative"),
        (lambda: NumericCounts(0.5, [1.0]), "whole"),
        (lambda: NumericCounts(0, [0.0, 0.0]), "all be 0"),
    ):
        with pytest.raises(ValueError, match=words):
            make()
    grid = np.linspace(-8, 8, 2001)
    d = Numeric(grid, np.exp(-0.5 * grid**2), error=1e-6)
    assert repr(d).startswith("<Numeric: 2001 nodes, mean ")
    assert repr(d).endswith(", std 1.000005, error 1e-06>")
    assert "numbers from 0" in repr(NumericCounts(0, np.ones(20)))
    x = np.array([-2.0, 0.1, 1.7])
    np.testing.assert_allclose(d.cdf(x), STANDARD.cdf(x), atol=1e-5)
    np.testing.assert_allclose(d.quantile(d.cdf(x)), x, rtol=1e-10)


def test_inverting_functions_with_jumps():
    low, high = np.float64(-5.0), np.float64(9.0)
    level = np.array([0.2, 0.5, 0.9])
    np.testing.assert_array_equal(
        invert_increasing(lambda x: (x >= 2) * 0.5 + (x >= 3) * 0.5, level, low, high), [2, 2, 3]
    )
    np.testing.assert_allclose(
        invert_increasing(special.ndtr, level, low, high), special.ndtri(level), atol=1e-14
    )
