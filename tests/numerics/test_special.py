"""Special functions against 60-digit arithmetic, from 1e-12 to 1e12."""

import mpmath
import numpy as np
import pytest
from mpmath import digamma, log, loggamma, mpf, pi
from scipy import special as scipy_special

from posteriori.numerics import (
    gamma_kernel,
    log1pmx,
    log_gamma_bregman,
    log_gamma_correction,
    multivariate_digamma,
    multivariate_log_gamma,
)
from posteriori.numerics.special import (
    gamma_density_kernel,
    log_gamma_bregman_remainder,
    log_gamma_correction_slope,
    relative_entropy_terms,
)
from tests.distributions.oracles import high_precision

SIZES = [1e-12, 1e-6, 0.01, 0.3, 1.0, 1.7, 5.0, 9.99, 10.0, 29.0, 1e3, 1e6, 1e9, 1e12]
FACTORS = [1e-12, 0.02, 0.49, 0.51, 1 - 1e-3, 1 - 1e-6, 1.0, 1 + 1e-6, 1.2, 1.49, 1.51, 40.0, 1e12]


def same(value, expected, rel=1e-13, abs=0.0):
    assert float(value) == pytest.approx(expected, rel=rel, abs=abs)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("x", [1e-300, 1e-12, 1e-6, 1e-3, 0.1, 0.4999, 0.5, 0.7, 0.999, 2.0, 1e12])
def test_log1pmx(x, sign):
    if sign * x <= -1:
        assert sign * x == -1 or np.isnan(sign * x) or x > 1
        return
    expected = high_precision(lambda v: log(1 + v) - v, sign * x, digits=700 if x < 1e-200 else 60)
    same(log1pmx(sign * x), expected, 1e-14 if x < 0.5 else 1e-13, abs=1e-300)


def test_log1pmx_ends():
    assert log1pmx(0.0) == 0.0
    assert log1pmx(-1.0) == -np.inf
    np.testing.assert_array_equal(log1pmx([[0.0], [3.0]]).shape, (2, 1))


@pytest.mark.parametrize("u", [1e-12, 1e-3, 0.4, 0.9, 1.0, 1 + 1e-9, 1.4, 3.0, 1e12])
@pytest.mark.parametrize("a", [1e-12, 1.0, 7.0, 1e12])
def test_log1pmx_of_a_ratio_known_to_full_precision(u, a):
    """ln(u/a) − (u−a)/a keeps its digits where u/a is lost in u/a − 1."""
    u = u * a
    expected = high_precision(lambda u, a: log(u / a) - (u - a) / a, u, a)
    same(log1pmx((u - a) / a, u / a), expected, 1e-13)


@pytest.mark.parametrize("a", SIZES)
def test_stirling_correction_and_its_slope(a):
    correction = high_precision(
        lambda a: loggamma(a) - (a - mpf("0.5")) * log(a) + a - log(2 * pi) / 2, a
    )
    same(log_gamma_correction(a), correction, 1e-13, abs=1e-14 if a < 10 else 0.0)
    slope = high_precision(lambda a: digamma(a) - log(a) + 1 / (2 * a), a)
    same(log_gamma_correction_slope(a), slope, 1e-13, abs=1e-15 if a < 10 else 0.0)


@pytest.mark.parametrize("a", SIZES)
@pytest.mark.parametrize("factor", FACTORS)
def test_gamma_kernel(a, factor):
    u = a * factor
    expected = high_precision(lambda a, u: a * log(u) - u - loggamma(a), a, u)
    same(gamma_kernel(a, u), expected, 1e-13, abs=1e-14)
    density = high_precision(lambda a, u: (a - 1) * log(u) - u - loggamma(a), a, u)
    same(gamma_density_kernel(a, u), density, 1e-13, abs=1e-14)


def test_gamma_kernel_at_the_boundary():
    assert gamma_kernel(3.0, 0.0) == -np.inf
    np.testing.assert_array_equal(
        gamma_density_kernel([0.5, 1.0, 2.0], 0.0), [np.inf, 0.0, -np.inf]
    )


@pytest.mark.parametrize("b", SIZES)
@pytest.mark.parametrize("factor", FACTORS)
def test_log_gamma_bregman(b, factor):
    a = b * factor
    expected = high_precision(lambda a, b: loggamma(a) - loggamma(b) - (a - b) * digamma(b), a, b)
    # what the rounding of lnΓ, or of the Stirling correction, leaves
    noise = 1e-14 if b < 20 else 1e-15 * float(log_gamma_correction(b))
    same(log_gamma_bregman(a, b), expected, 1e-12, abs=noise)
    rest = high_precision(
        lambda a, b: loggamma(a) - loggamma(b) - (a - b) * digamma(b) - a * log(a / b) + a - b, a, b
    )
    same(log_gamma_bregman_remainder(np.float64(a), np.float64(b)), rest, 1e-12, abs=noise)


@pytest.mark.parametrize("b", [1e-12, 0.3, 1.0, 1e12])
@pytest.mark.parametrize("factor", [*FACTORS, 1 - 1e-10, 1 + 1e-10])
def test_relative_entropy_terms(b, factor):
    a = b * factor
    expected = high_precision(lambda a, b: a * log(a / b) - a + b, a, b)
    same(relative_entropy_terms(a, b), expected, 1e-12)
    gap = high_precision(lambda a, b: a - b, a, b)
    same(relative_entropy_terms(a, b, gap), expected, 1e-12)


def test_relative_entropy_terms_at_zero():
    assert relative_entropy_terms(0.0, 2.0) == 2.0
    assert relative_entropy_terms(2.0, 0.0) == np.inf
    assert relative_entropy_terms(0.0, 0.0) == 0.0


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("a", [2.3, 10.0, 1e3, 1e12])
def test_multivariate_gamma_and_its_derivatives(a, dim):
    def exact(a):
        parts = sum(loggamma(a - mpf(i) / 2) for i in range(dim))
        return parts + dim * (dim - 1) * log(pi) / 4

    same(multivariate_log_gamma(a, dim), high_precision(exact, a))
    same(multivariate_log_gamma(a, dim), scipy_special.multigammaln(a, dim))
    for order in (0, 1, 2):
        expected = high_precision(
            lambda a, order=order: sum(mpmath.psi(order, a - mpf(i) / 2) for i in range(dim)), a
        )
        same(multivariate_digamma(a, dim, order), expected, 1e-12)


def test_special_functions_work_on_arrays():
    a = np.array([[0.5, 2.0], [20.0, 1e9]])
    for f in (log_gamma_correction, log_gamma_correction_slope, log1pmx):
        together = f(a)
        assert together.shape == (2, 2)
        np.testing.assert_allclose(together, np.vectorize(f)(a), rtol=1e-15)
    for g in (gamma_kernel, gamma_density_kernel, log_gamma_bregman, relative_entropy_terms):
        np.testing.assert_allclose(
            g(a, a[::-1]), np.vectorize(g)(a, a[::-1]), rtol=1e-14, atol=1e-300
        )
    assert multivariate_log_gamma(np.array([3.0, 4.0]), 2).shape == (2,)
    assert multivariate_digamma(np.array([3.0, 4.0]), 2).shape == (2,)
