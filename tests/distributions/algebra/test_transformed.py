"""Changes of variables against integrals, draws and known families."""

import numpy as np
import pytest
from mpmath import mp
from scipy import integrate, special, stats

from posteriori.distributions import (
    Beta,
    Empirical,
    Exponential,
    Gamma,
    LogNormal,
    Mixture,
    MvNormal,
    Normal,
    Numeric,
    NumericCounts,
    Poisson,
    Transformed,
    transform,
)
from posteriori.distributions.algebra.maps import (
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
from posteriori.numerics.calculus.roots import invert_increasing

STANDARD = Normal(0.0, variance=1.0)


# -- mixtures ----------------------------------------------------------------------------------

TWO = Mixture([0.3, 0.7], Normal([0.0, 3.0], variance=[1.0, 2.0]))


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
@pytest.mark.parametrize(("m", "v"), [(0.3, 0.5), (-97.9, 200.6), (-400.0, 700.0), (50.0, 1e-9)])
def test_moments_of_an_exponential_hold_however_wide_the_logarithm(m, v):
    """E[y] and E[y²] of y = eˣ by mp arithmetic; a few standard deviations hold none of them."""
    y = Transformed(Normal([m, m], variance=[v, v]), ExpMap())
    with mp.workdps(60):
        mean = mp.e ** (mp.mpf(m) + mp.mpf(v) / 2)
        square = mp.e ** (2 * mp.mpf(m) + 2 * mp.mpf(v))
        variance = square - mean**2
        assert y.mean[1] == pytest.approx(float(mean), rel=1e-12)
        assert y.variance[1] == pytest.approx(float(variance), rel=1e-12)
    beyond = Transformed(Normal(800.0, variance=1.0), ExpMap())
    assert np.isposinf(beyond.mean)
    assert np.isposinf(beyond.variance)


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
