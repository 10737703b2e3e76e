"""The ascent to a mode: quadratics in one step, saddles, few Hessians, honest failure."""

import numpy as np
import pytest

from posteriori.inference.predictors.generalized_linear import (
    Curve,
    LinearPredictor,
    posterior_mode,
)
from posteriori.inference.predictors.mode_finding import find_mode, laplace_evidence


class Function:
    """A density of a point given by its value, gradient and curvature."""

    def __init__(self, value, gradient, curvature):
        self.parts = value, gradient, curvature
        self.gradients = self.curvatures = 0

    def value_and_gradient(self, w):
        self.gradients += 1
        return float(self.parts[0](w)), self.parts[1](w)

    def curvature(self, w):
        self.curvatures += 1
        return self.parts[2](w)


def quadratic(a, m):
    return Function(
        lambda w: -0.5 * (w - m) @ a @ (w - m), lambda w: -a @ (w - m), lambda w: a.copy()
    )


def poisson(rows=4000, columns=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, columns))
    y = rng.poisson(np.exp(0.5 + x @ rng.normal(size=columns) * 0.3)).astype(float)

    def likelihood(eta, _, rows):
        rate = np.exp(eta)
        return Curve(y[rows] * eta - rate, y[rows] - rate, rate)

    return LinearPredictor(x, likelihood, np.eye(columns), np.zeros(columns))


def test_a_quadratic_takes_one_step_and_its_integral_is_exact():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    a, m = root @ root.T + np.eye(4), rng.normal(size=4)
    mode = find_mode(quadratic(a, m), np.full(4, 10.0))
    assert mode.converged
    assert mode.n_iter == 2
    assert mode.n_curvatures == 2  # at the start and at the mode
    np.testing.assert_allclose(mode.point, m, atol=1e-12)
    expected = 0.5 * (4 * np.log(2 * np.pi) - np.linalg.slogdet(a)[1])
    assert laplace_evidence(mode) == pytest.approx(expected, abs=1e-10)


def test_scales_of_parameters_do_not_matter():
    a = np.diag([1e-200, 1.0, 1e200])
    mode = find_mode(quadratic(a, np.array([1e100, 1.0, 1e-100])), np.zeros(3))
    np.testing.assert_allclose(mode.point, [1e100, 1.0, 1e-100], rtol=1e-12)


def test_a_bend_that_is_negative_by_rounding_alone_is_no_saddle():
    """Along y the density is flat, and its curvature is found to be −10⁻³⁰: it ends at the mode of x."""

    class Flat:
        def value_and_gradient(self, w):
            return -0.5 * float(w[0] ** 2), np.array([-w[0], 0.0])

        def curvature(self, w):
            return np.diag([1.0, -1e-30])

    mode = find_mode(Flat(), np.array([3.0, 1.0]))
    assert mode.converged
    assert mode.point[0] == 0.0


def test_a_saddle_is_left_even_from_where_the_gradient_is_zero():
    # −(x² − 1)²/4 − y²/2 has a saddle at 0 and modes at x = ±1
    density = Function(
        lambda w: -0.25 * (w[0] ** 2 - 1) ** 2 - 0.5 * w[1] ** 2,
        lambda w: np.array([-(w[0] ** 2 - 1) * w[0], -w[1]]),
        lambda w: np.array([[3 * w[0] ** 2 - 1, 0.0], [0.0, 1.0]]),
    )
    for start in ([0.0, 0.0], [1e-9, 2.0], [0.3, -3.0]):
        mode = find_mode(density, np.array(start))
        assert mode.converged
        np.testing.assert_allclose(np.abs(mode.point), [1.0, 0.0], atol=1e-8)
        np.testing.assert_allclose(mode.precision, np.diag([2.0, 1.0]), atol=1e-5)


def test_a_density_without_a_mode_is_reported():
    density = Function(lambda w: w[0], lambda w: np.ones(1), lambda w: np.zeros((1, 1)))
    assert not find_mode(density, np.zeros(1), max_iter=30).converged


def test_a_start_of_probability_zero_is_refused():
    density = Function(lambda w: -np.inf, lambda w: np.zeros(1), lambda w: np.eye(1))
    with pytest.raises(ValueError, match="not finite at the start"):
        find_mode(density, np.zeros(1))


def test_rounding_ends_the_ascent_where_the_tolerance_cannot_be_reached():
    rng = np.random.default_rng(0)
    density = Function(  # a gradient that is only known to 1e-6
        lambda w: -0.5 * w @ w, lambda w: -w + 1e-6 * rng.normal(size=3), lambda w: np.eye(3)
    )
    mode = find_mode(density, np.full(3, 5.0), tol=1e-12)
    assert mode.converged
    assert mode.n_iter < 20
    np.testing.assert_allclose(mode.point, 0.0, atol=1e-5)


@pytest.mark.parametrize("rows", [4000, 40_000])
def test_a_thinned_start_finds_the_same_mode_with_fewer_hessians(rows):
    density = poisson(rows)
    plain = find_mode(density, np.zeros(5))
    fast = posterior_mode(density, np.zeros(5))
    assert fast.converged
    assert plain.converged
    np.testing.assert_allclose(fast.point, plain.point, atol=1e-9)
    np.testing.assert_allclose(fast.precision, plain.precision, rtol=1e-7)
    assert fast.n_curvatures < plain.n_curvatures
    assert laplace_evidence(fast) == pytest.approx(laplace_evidence(plain), abs=1e-6)


def test_thinning_takes_the_rows_it_says_each_so_often():
    density = poisson(1003)
    thin = density.thinned(4).thinned(2)
    assert len(thin.x) == 126
    w = np.linspace(-0.2, 0.2, 5)
    eta = density.x[::8] @ w
    share = 1003 / 126
    pull = -w
    expected = (
        share * (density.likelihood(eta, 0.0, slice(0, 1003, 8)).slope @ density.x[::8]) + pull
    )
    np.testing.assert_allclose(thin.value_and_gradient(w)[1], expected, rtol=1e-10)
