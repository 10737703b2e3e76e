"""The smallest ball: closed forms, a general solver, and its own certificate."""

import numpy as np
import pytest
from scipy.optimize import minimize

from posteriori.kernels import RBF, Linear, Polynomial, enclosing_ball
from posteriori.numerics.warnings import ConvergenceWarning
from tests.kernels.kernel_cases import points


def smallest_radius(gram):
    """Return the radius by a general solver of the dual."""
    own, n = np.diagonal(gram), len(gram)
    found = minimize(
        lambda a: a @ gram @ a - a @ own,
        np.full(n, 1.0 / n),
        jac=lambda a: 2.0 * gram @ a - own,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * n,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": lambda a: np.ones(n)},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    return np.sqrt(-found.fun)


@pytest.mark.parametrize(
    "kernel",
    [None, RBF(1.0), RBF(0.2), Polynomial(2, 1.0)],
    ids=["points", "wide", "narrow", "poly"],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_general_solver_agrees(kernel, seed):
    x = points(25, seed, columns=2)
    ball = enclosing_ball(x, kernel)
    gram = (kernel or Linear())(x)
    assert np.isclose(ball.radius, smallest_radius(gram), rtol=1e-5)
    assert ball.converged
    assert ball.gap <= 1e-10 * ball.radius**2


@pytest.mark.parametrize("kernel", [Linear(), RBF(0.4)], ids=["points", "rbf"])
def test_the_certificate(kernel):
    x = points(200, columns=3)
    ball, gram = enclosing_ball(x, kernel), kernel(x)
    a = ball.weights
    assert np.all(a >= 0)
    assert np.isclose(a.sum(), 1.0)
    squares = np.diagonal(gram) - 2.0 * gram @ a + a @ gram @ a
    assert np.all(squares <= ball.radius**2 * (1 + 1e-9))
    assert np.allclose(squares[a > 1e-9], ball.radius**2, rtol=1e-7)
    assert np.isclose(squares.max() - (a @ np.diagonal(gram) - a @ gram @ a), ball.gap, atol=1e-12)


def test_a_regular_simplex_far_from_the_origin():
    x = np.eye(5) + 1e6
    ball = enclosing_ball(x)
    assert np.allclose(ball.weights, 0.2, atol=1e-6)
    assert np.isclose(ball.radius, np.sqrt(0.8), rtol=1e-8)  # √((n − 1)/n)


def test_points_on_a_circle_share_a_center():
    angle = np.arange(12) * np.pi / 6
    ball = enclosing_ball(np.column_stack([3.0 + np.cos(angle), np.sin(angle) - 2.0]))
    assert np.isclose(ball.radius, 1.0, rtol=1e-9)


def test_one_point_and_equal_points():
    assert enclosing_ball([[3.0, 4.0]]).radius == 0.0
    assert enclosing_ball(np.full((4, 2), 0.1)).radius < 1e-15
    with pytest.raises(ValueError, match="X has no points"):
        enclosing_ball(np.zeros((0, 2)))


def test_too_few_moves_are_told():
    with pytest.warns(ConvergenceWarning, match=r"enclosing_ball has a gap of .* after 2 moves"):
        ball = enclosing_ball(points(300, columns=10), RBF(0.5), max_iter=2)
    assert not ball.converged
    best = enclosing_ball(points(300, columns=10), RBF(0.5))
    assert ball.radius**2 - ball.gap <= best.radius**2 <= ball.radius**2  # the gap is true
