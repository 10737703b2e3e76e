"""Integrals of densities on windows, against closed forms and SciPy's quadrature."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, special

from posteriori.inference.quadrature import tilted
from posteriori.inference.quadrature.tilted import ImproperError, Line, best_point, tilt


def positive(count):
    return Line(np.zeros(count), np.full(count, np.inf))


def gamma_functions(x, columns):
    return [np.log(x), x]


@given(st.lists(st.tuples(st.floats(0.2, 1e6), st.floats(1e-6, 1e6)), min_size=1, max_size=4))
def test_gamma_densities(pairs):
    a, b = np.array(pairs).T
    found = tilt(positive(len(a)), gamma_functions, [a - 1.0, -b])
    totals = special.gammaln(a) - a * np.log(b)
    assert_allclose(found.log_total, totals, rtol=1e-12, atol=1e-10)
    assert_allclose(found.means[0], special.digamma(a) - np.log(b), rtol=1e-10, atol=1e-10)
    assert_allclose(found.means[1], a / b, rtol=1e-10)


def test_windows_of_before_are_tried_first_and_left_where_they_do_not_hold():
    line = positive(3)
    first = tilt(line, gamma_functions, [np.full(3, 4.0), -np.full(3, 2.0)])
    c = [np.array([4.5, 4.0, 900.0]), -np.array([2.0, 2e-9, 2.0])]
    warm, cold = tilt(line, gamma_functions, c, first), tilt(line, gamma_functions, c)
    assert_allclose(warm.log_total, cold.log_total, rtol=1e-13)
    assert_allclose(warm.means, cold.means, rtol=1e-12)


@pytest.mark.parametrize("slope", [-40.0, 0.0, 25.0])
def test_numbers_between_two_ends(slope):
    line = Line(np.array([1.0]), np.array([3.0]))

    def functions(x, columns):
        return [x, np.sqrt(x)]

    found = tilt(line, functions, [np.array([slope]), np.array([2.0])])

    def density(x):
        return np.exp(slope * (x - 2.0) + 2.0 * np.sqrt(x))

    total = integrate.quad(density, 1.0, 3.0, epsabs=0, epsrel=1e-12)[0]
    first = integrate.quad(lambda x: x * density(x), 1.0, 3.0, epsabs=0, epsrel=1e-12)[0]
    assert_allclose(found.log_total[0] - 2.0 * slope, np.log(total), rtol=1e-10)
    assert_allclose(found.means[0][0], first / total, rtol=1e-10)


def test_one_and_two_ends_side_by_side():
    line = Line(np.zeros(2), np.array([np.inf, 2.0]))
    found = tilt(line, gamma_functions, [np.full(2, 2.0), np.full(2, -1.5)])
    below = special.gammainc(3.0, 3.0)
    whole = special.gammaln(3.0) - 3.0 * np.log(1.5)
    assert_allclose(found.log_total, [whole, whole + np.log(below)], rtol=1e-12)


def test_members_are_looked_at_in_parts(monkeypatch):
    a = np.linspace(0.5, 9.0, 11)
    whole = tilt(positive(11), gamma_functions, [a - 1.0, -a])
    monkeypatch.setattr(tilted, "_CHUNK", 3 * 129)
    parts = tilt(positive(11), gamma_functions, [a - 1.0, -a])
    assert_allclose(parts.log_total, whole.log_total, rtol=1e-14)
    assert_allclose(parts.means, whole.means, rtol=1e-13)


def test_highest_points():
    a, b = np.array([3.0, 1e4, 0.7]), np.array([2.0, 5.0, 1.0])
    c = [a - 1.0, -b]
    found = best_point(positive(3), gamma_functions, c, tilt(positive(3), gamma_functions, c))
    assert_allclose(found[:2], (a[:2] - 1.0) / b[:2], rtol=1e-6)
    assert np.isnan(found[2])  # highest at 0


@pytest.mark.parametrize("c", [(2.0, 0.0), (2.0, 1.0), (-3.0, -1.0)])
def test_densities_without_an_integral_are_refused(c):
    with pytest.raises(ImproperError):
        tilt(positive(1), gamma_functions, [np.array([c[0]]), np.array([c[1]])])
