"""Nonlinear systems: linear ones are exact, moments are those of quadrature, bad functions are named."""

import numpy as np
import pytest

from posteriori.inference.systems.assumed_density import StateBelief, sigma_points
from posteriori.sequence import LinearGaussianSystem, NonlinearSystem

METHODS = ("unscented", "cubature", "extended")

LINEAR = LinearGaussianSystem(
    [[0.9, 0.3], [-0.2, 0.8]],
    [[0.4, 0.1], [0.1, 0.3]],
    [[1.0, 0.0], [0.5, 1.0], [0.2, -1.0]],
    [[0.5, 0.1, 0.0], [0.1, 0.4, 0.2], [0.0, 0.2, 0.6]],
    [1.0, -1.0],
    [[2.0, 0.5], [0.5, 1.0]],
    [0.3, -0.1],
    [5.0, 0.0, 1.0],
)


def same_system(given_method, **changes):
    s = LINEAR
    given = {
        "transition": lambda state: s.transition @ state + s.transition_offset,
        "transition_cov": s.transition_cov,
        "emission": lambda state: s.emission @ state + s.emission_offset,
        "emission_cov": s.emission_cov,
        "initial_mean": s.initial_mean,
        "initial_cov": s.initial_cov,
        "method": given_method,
    }
    return NonlinearSystem(**(given | changes))


def normal_moments(function, mean, variance):
    """Mean, variance and covariance with the argument by a rule of 40 points."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    x, weights = mean + np.sqrt(variance) * nodes, weights / weights.sum()
    values = function(x)
    middle = weights @ values
    return middle, weights @ (values - middle) ** 2, weights @ ((values - middle) * (x - mean))


def spread_moments(function, mean, variance, centre):
    rule = sigma_points(lambda s: function(s), centre)
    found = rule(StateBelief(np.array([mean]), np.array([[np.sqrt(variance)]])))
    return (
        found.mean[0],
        (found.values @ found.values.T)[0, 0],
        (found.values @ found.arguments.T)[0, 0],
    )


@pytest.mark.parametrize("method", METHODS)
def test_where_functions_are_linear_answers_are_exact(method):
    y = LINEAR.sample(12, rng=0).observations
    y = np.where(np.random.default_rng(1).random(y.shape) < 0.3, np.nan, y)
    y[4] = np.nan
    system = same_system(method)
    digits = 1e-8 if method == "extended" else 1e-11  # derivatives are finite differences
    for found, exact in (
        (system.filter(y), LINEAR.filter(y)),
        (system.smooth(y), LINEAR.smooth(y)),
    ):
        for mine, theirs in zip(found, exact, strict=True):
            np.testing.assert_allclose(mine, theirs, rtol=digits, atol=digits)
    np.testing.assert_allclose(system.log_prob(y), LINEAR.log_prob(y), rtol=digits)
    mine, theirs = system.forecast(y, 4), LINEAR.forecast(y, 4)
    np.testing.assert_allclose(mine.mean, theirs.mean, rtol=digits)
    np.testing.assert_allclose(mine.cov, theirs.cov, rtol=digits, atol=digits)
    now = system.step(system.filter(y[:-1]), y[-1])
    np.testing.assert_allclose(now.mean[-1], LINEAR.filter(y).mean[-1], rtol=digits)
    np.testing.assert_allclose(now.log_evidence, LINEAR.log_prob(y), rtol=digits)


def test_given_derivatives_are_used():
    y = LINEAR.sample(5, rng=0).observations
    given = same_system(
        "extended",
        transition_jacobian=lambda s: LINEAR.transition,
        emission_jacobian=lambda s: LINEAR.emission,
    )
    np.testing.assert_allclose(given.log_prob(y), LINEAR.log_prob(y), rtol=1e-12)
    wrong = same_system("extended", emission_jacobian=lambda s: 2.0 * LINEAR.emission)
    assert abs(wrong.log_prob(y) - LINEAR.log_prob(y)) > 0.1


def test_a_noiseless_transition_is_taken():
    """Singular predictions have no inverse, and need none."""
    still = LinearGaussianSystem(
        np.eye(2), np.zeros((2, 2)), [[1.0, 0.0]], 1.0, [0, 0], np.diag([1.0, 0.0])
    )
    y = np.array([1.0, 2.0, 3.0])
    for method in METHODS:
        system = NonlinearSystem(
            lambda s: s, np.zeros((2, 2)), lambda s: s[0], 1.0, [0, 0], np.diag([1.0, 0.0]), method
        )
        found, exact = system.smooth(y), still.smooth(y)
        np.testing.assert_allclose(found.mean, exact.mean, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(found.cov, exact.cov, rtol=1e-8, atol=1e-8)


def test_unscented_moments_of_a_parabola_are_exact():
    """Its variance needs the fourth moment, which three points have in one dimension."""

    def parabola(x):
        return 0.7 * x**2 - x + 2.0

    exact = normal_moments(parabola, 0.4, 1.3)
    np.testing.assert_allclose(spread_moments(parabola, 0.4, 1.3, 2.0), exact, rtol=1e-12)


def test_cubature_means_of_a_cubic_are_exact_and_its_variances_are_not():
    def cubic(x):
        return x**3 + x**2

    exact = normal_moments(cubic, 0.4, 1.3)
    found = spread_moments(cubic, 0.4, 1.3, 0.0)
    np.testing.assert_allclose(found[0], exact[0], rtol=1e-12)
    assert found[1] < 0.9 * exact[1]


@pytest.mark.parametrize(("centre", "bound"), [(2.0, 0.4**6 / 10), (0.0, 0.4**4 / 2)])
def test_moments_of_a_sine_are_near_those_of_quadrature(centre, bound):
    """Left out are terms of order σ⁶ with three points; with two the variance of ½ f'' x², ≤ σ⁴/2."""
    exact = normal_moments(np.sin, 0.9, 0.16)
    found = spread_moments(np.sin, 0.9, 0.16, centre)
    assert np.abs(np.subtract(found, exact)).max() < bound


def posterior_on_a_grid(y, grid):
    """s_{t+1} = s_t + sin s_t/2 + N(0, .1), y = s + s²/10 + N(0, .2) by sums over a fine grid."""
    step = np.exp(-0.5 * (grid[:, None] - grid - 0.5 * np.sin(grid)) ** 2 / 0.1)
    step /= np.sqrt(2 * np.pi * 0.1)
    width = grid[1] - grid[0]
    belief = np.exp(-0.5 * grid**2 / 0.3) / np.sqrt(2 * np.pi * 0.3)
    log_evidence, means = 0.0, []
    for t, value in enumerate(y):
        if t:
            belief = step @ belief * width
        belief = belief * np.exp(-0.5 * (value - grid - 0.1 * grid**2) ** 2 / 0.2)
        belief /= np.sqrt(2 * np.pi * 0.2)
        total = belief.sum() * width
        log_evidence += np.log(total)
        belief /= total
        means.append(belief @ grid * width)
    return np.array(means), log_evidence


@pytest.mark.parametrize(
    ("method", "nats"), [("unscented", 0.1), ("cubature", 0.1), ("extended", 0.3)]
)
def test_answers_are_near_those_of_a_fine_grid(method, nats):
    """Beliefs are nearly normal, σ ≈ 0.3, and functions bend a little: tangents leave that out."""
    system = NonlinearSystem(
        lambda s: s + 0.5 * np.sin(s), 0.1, lambda s: s + 0.1 * s**2, 0.2, 0.0, 0.3, method
    )
    y = system.sample(15, rng=3).observations[:, 0]
    means, log_evidence = posterior_on_a_grid(y, np.linspace(-6.0, 9.0, 3001))
    found = system.filter(y)
    assert np.abs(found.mean[:, 0] - means).max() < 0.03
    assert abs(found.log_evidence - log_evidence) < nats


def test_lists_of_series_are_answered_one_by_one():
    system = same_system("unscented")
    series = [LINEAR.sample(n, rng=n).observations for n in (2, 5)]
    np.testing.assert_allclose(system.log_prob(series), LINEAR.log_prob(series), rtol=1e-11)
    assert [post.mean.shape for post in system.smooth(series)] == [(2, 2), (5, 2)]


@pytest.mark.topic("000/W15")
def test_draws_follow_the_functions():
    system = NonlinearSystem(lambda s: 0.5 * s, 0.0, lambda s: [s[0] ** 2], 0.0, 8.0, 0.0)
    draws = system.sample(3, rng=0)
    np.testing.assert_allclose(draws.states[:, 0], [8.0, 4.0, 2.0])
    np.testing.assert_allclose(draws.observations[:, 0], [64.0, 16.0, 4.0])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"method": "particle"}, ValueError, "method must be one of 'unscented'"),
        ({"transition": np.eye(2)}, TypeError, "transition must be a function"),
        ({"transition_cov": np.eye(3)}, ValueError, r"transition_cov must have shape \(2, 2\)"),
        ({"emission_cov": -np.eye(3)}, ValueError, "emission_cov has a negative variance"),
    ],
)
def test_what_is_no_system_is_refused(change, error, message):
    with pytest.raises(error, match=message):
        same_system("unscented", **change)


def test_functions_that_answer_wrongly_are_named():
    y = np.zeros((3, 3))
    with pytest.raises(ValueError, match="transition must return 2 numbers"):
        same_system("unscented", transition=lambda s: s[0]).filter(y)
    with pytest.raises(ValueError, match="emission returned"):
        same_system("unscented", emission=lambda s: np.full(3, np.nan)).filter(y)
    with pytest.raises(ValueError, match="has no variance"):
        same_system(
            "unscented", emission=lambda s: np.zeros(3), emission_cov=np.zeros((3, 3))
        ).filter(y)
    with pytest.raises(ValueError, match="horizon must be at least 1"):
        same_system("unscented").forecast(y, 0)
    with pytest.raises(ValueError, match="a list of them"):
        same_system("unscented").filter(np.zeros((2, 3, 3)))
