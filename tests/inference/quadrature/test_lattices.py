"""Integrals of densities over lattices, against closed forms."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln, logsumexp

from posteriori.inference.quadrature.lattices import NoFallError, TooWideError, integrate
from posteriori.inference.quadrature.margins import margin
from posteriori.inference.quadrature.modes import climb


def rows(f):
    return lambda points: np.array([f(*u) for u in points])


def log_gamma(shape):
    """The logarithm of a Gamma variable: skewed, with an exponential tail."""
    return lambda u: shape * u - np.exp(u)


def normal_with(cov):
    precision = np.linalg.inv(cov)
    return lambda *u: -0.5 * np.array(u) @ precision @ np.array(u)


COV = np.array([[2.0, 1.2, 0.3], [1.2, 1.5, -0.2], [0.3, -0.2, 0.7]])

CASES = {
    "normal": (
        lambda x: -0.5 * (x - 3.0) ** 2,
        [[0.0], [10.0]],
        [5.0],
        0.5 * np.log(2 * np.pi),
        1e-8,
    ),
    "narrow": (
        lambda x: -0.5 * ((x - 3.0) / 1e-6) ** 2,
        [[0.0], [10.0]],
        [1e3],
        np.log(1e-6) + 0.5 * np.log(2 * np.pi),
        1e-8,
    ),
    "log gamma": (log_gamma(0.5), [[-3.0], [5.0]], [2.0], gammaln(0.5), 1e-6),
    "log gamma, sharp": (log_gamma(1000.0), [[-3.0], [0.0]], [2.0], gammaln(1000.0), 1e-7),
    "log half-Cauchy": (
        lambda u: u - np.log1p(np.exp(2 * u)),
        [[-3.0], [5.0]],
        [2.0],
        np.log(np.pi / 2),
        1e-6,
    ),
    "two modes": (
        lambda x: np.logaddexp(-0.5 * (x - 3) ** 2 / 0.01, -0.5 * (x + 3) ** 2),
        [[-3.0], [0.0], [3.0]],
        [3.0],
        np.log(np.sqrt(2 * np.pi) * 1.1),
        1e-6,
    ),
    "correlated pair": (
        normal_with(COV[:2, :2]),
        [[0.0, 0.0], [5.0, 5.0]],
        [3.0, 3.0],
        0.5 * np.linalg.slogdet(2 * np.pi * COV[:2, :2])[1],
        1e-5,
    ),
    "banana": (
        lambda x, y: -0.5 * x * x - 0.5 * (y - x * x) ** 2,
        [[0.0, 0.0]],
        [3.0, 3.0],
        np.log(2 * np.pi),
        1e-4,
    ),
    "three": (
        normal_with(COV),
        [[1.0, 1.0, 1.0]],
        [2.0] * 3,
        0.5 * np.linalg.slogdet(2 * np.pi * COV)[1],
        1e-4,
    ),
    "three skewed": (
        lambda *u: sum(4 * x - np.exp(x) for x in u),
        [[0.0] * 3],
        [2.0] * 3,
        3 * gammaln(4.0),
        1e-3,
    ),
    "five skewed": (
        lambda *u: sum(9 * x - np.exp(x) for x in u),
        [[0.0] * 5],
        [2.0] * 5,
        5 * gammaln(9.0),
        2e-2,
    ),
    "six skewed": (
        lambda *u: sum(9 * x - np.exp(x) for x in u),
        [[0.0] * 6],
        [2.0] * 6,
        6 * gammaln(9.0),
        2e-2,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_integral(case):
    f, starts, scales, exact, tolerance = CASES[case]
    lattice = integrate(rows(f), np.array(starts), np.array(scales))
    assert lattice.log_integral == pytest.approx(exact, abs=tolerance)
    assert abs(lattice.log_integral - exact) <= lattice.error + 1e-6


def test_moments():
    lattice = integrate(rows(normal_with(COV)), np.ones((1, 3)), np.full(3, 2.0))
    mean, cov = lattice.moments()
    np.testing.assert_allclose(mean, 0.0, atol=2e-4)
    np.testing.assert_allclose(cov, COV, atol=2e-3)


def test_a_step_too_wide_is_told():
    """The sums over even and odd cells are apart when a peak falls between the points."""
    lattice = integrate(rows(normal_with(np.eye(1))), np.zeros((1, 1)), np.ones(1))
    coarse = replace(
        lattice, step=8 * lattice.step, cells=lattice.cells[::8] // 8, logs=lattice.logs[::8]
    )
    assert coarse.error > 0.1


def test_what_does_not_fall_off_is_refused():
    with pytest.raises(NoFallError, match="coordinate 1"):
        integrate(
            rows(lambda x, y: -0.5 * x * x - 0.5 * np.log1p(np.exp(-y))),
            np.zeros((1, 2)),
            np.ones(2),
        )


def test_density_zero_everywhere_is_refused():
    with pytest.raises(ValueError, match="is 0 at all points"):
        integrate(rows(lambda x: -np.inf), np.zeros((3, 1)), np.ones(1))


def test_climbing_from_far_away():
    f = rows(lambda x, y: -0.5 * ((x - 1e4) ** 2 + ((y + 3.0) / 1e-3) ** 2))
    start = np.array([0.0, 0.0])
    top = climb(f, start, float(f(start[None])[0]), np.array([1e4, 10.0]))
    np.testing.assert_allclose(top.at, [1e4, -3.0], rtol=1e-4, atol=1e-2)
    np.testing.assert_allclose(np.diagonal(top.root), [1.0, 1e-3], rtol=0.05)


def test_margin_of_one_coordinate():
    lattice = integrate(rows(log_gamma(3.0)), np.array([[0.0], [3.0]]), np.ones(1))
    at = np.linspace(-4.0, 3.0, 200)
    exact = np.exp(log_gamma(3.0)(at) - gammaln(3.0))
    np.testing.assert_allclose(margin(lattice, 0, at), exact, atol=1e-3 * exact.max())


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_margins_of_correlated_normals(axis):
    lattice = integrate(rows(normal_with(COV)), np.ones((1, 3)), np.full(3, 2.0))
    scale = np.sqrt(COV[axis, axis])
    at = np.linspace(-4 * scale, 4 * scale, 201)
    np.testing.assert_allclose(
        margin(lattice, axis, at) * scale, stats.norm(0, scale).pdf(at) * scale, atol=2e-3
    )


@pytest.mark.parametrize("axis", [0, 1])
def test_margins_of_skewed_and_sheared_numbers(axis):
    """u₁ is a log gamma, u₂ = u₁ + another one: its density is a convolution."""
    shapes = (3.0, 5.0)
    lattice = integrate(
        rows(lambda a, b: log_gamma(shapes[0])(a) + log_gamma(shapes[1])(b - a)),
        np.array([[0.0, 0.0], [2.0, 2.0]]),
        np.ones(2),
    )
    at = np.linspace(-3.0, 5.0, 161)
    fine = np.linspace(-12.0, 6.0, 4001)
    first = np.exp(log_gamma(shapes[0])(fine) - gammaln(shapes[0]))
    if axis == 0:
        exact = np.interp(at, fine, first)
    else:
        second = np.exp(log_gamma(shapes[1])(at[:, None] - fine) - gammaln(shapes[1]))
        exact = np.trapezoid(first * second, fine, axis=1)
    np.testing.assert_allclose(margin(lattice, axis, at), exact, atol=0.02 * exact.max())


@pytest.mark.parametrize(("far", "width"), [(4.0, 0.3), (6.0, 1.0), (3.0, 0.1)])
def test_two_peaks_with_a_valley_between_them(far, width):
    """Both are found; the density has nothing between them, and the margin weighs them rightly."""

    def log_density(points):
        x = points[:, 0]
        left = np.log(0.3) - 0.5 * ((x + far) / width) ** 2
        right = np.log(0.7) - 0.5 * ((x - far) / (1.5 * width)) ** 2 - np.log(1.5)
        return np.logaddexp(left, right) - 0.5 * np.log(2.0 * np.pi) - np.log(width)

    starts = np.array([[0.0], [-3.0], [3.0], [-7.0], [7.0], [-1.0], [1.0]])
    lattice = integrate(log_density, starts, np.array([2.0]))
    assert lattice.log_integral == pytest.approx(0.0, abs=2e-3)
    at = np.linspace(-far - 8 * width, far + 8 * width, 4001)
    density = margin(lattice, 0, at)
    left = at < 0.0
    assert np.sum(density[left]) * (at[1] - at[0]) == pytest.approx(0.3, abs=2e-3)
    expected = np.exp(log_density(at[:, None]))
    np.testing.assert_allclose(density, expected, atol=5e-3 * expected.max())


def test_a_top_that_is_far_away_and_narrow_is_climbed():
    """A precision eᵛ of 10⁸ squares around a = 1.2: ln p is −10⁸ at all starts."""

    def log_density(u):
        a, v = u.T
        squares = 40.0 + 1e9 * (a - 1.2) ** 2
        return 20.0 * v - 0.5 * np.exp(v) * squares - 0.5 * a**2

    starts = np.array([[0.0, 0.0], [-1.0, 1.0], [1.0, -1.0]])
    lattice = integrate(log_density, starts, np.array([1.0, 1.0]))
    # a given v is normal, and v is the logarithm of a Gamma number
    v = np.linspace(-6, 4, 4001)
    rows = 19.5 * v - 20.0 * np.exp(v) + 0.5 * np.log(2 * np.pi / 1e9) - 0.5 * 1.2**2
    assert lattice.log_integral == pytest.approx(logsumexp(rows) + np.log(v[1] - v[0]), abs=1e-3)


def test_a_density_that_no_lattice_holds_says_so():
    with pytest.raises(TooWideError, match="spread over more than 50 points"):
        integrate(lambda u: -0.5 * np.sum(u**2, axis=1), np.zeros((1, 3)), np.ones(3), most=50)


@pytest.mark.parametrize("size", [2, 3, 4])
@pytest.mark.parametrize("tail", [0.5, 1.0, 2.0, 3.0])
@pytest.mark.parametrize("edge", [1.0, 2.0, 3.0, 4.0])
def test_the_stated_error_is_honest_beside_an_edge(size, tail, edge):
    """A logit of what lies near the end of its range: exp(−tail u − e^{−edge u}), steep to one side.

    Its integral is Γ(tail/edge)/edge. Even and odd cells agree there to 0.001 where both are 0.01 to 0.2 off.
    """

    def log_density(u):
        one = -tail * u[:, 0] - np.exp(-edge * u[:, 0])
        return one - 0.5 * np.sum(u[:, 1:] ** 2, axis=1)

    found = integrate(log_density, np.full((1, size), 0.3), np.ones(size))
    exact = gammaln(tail / edge) - np.log(edge) + 0.5 * (size - 1) * np.log(2 * np.pi)
    assert abs(found.log_integral - exact) <= found.error
