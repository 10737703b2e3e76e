"""Constrained stationary points against solutions on paper, grids and the conditions themselves."""

import numpy as np
import pytest
from hypothesis import example, given, strategies as st

from posteriori.distributions import Dirichlet
from posteriori.mathematics import kkt_residuals, stationary_point
from posteriori.numerics import ConvergenceWarning


def bowl(x):
    return 1.0 - x @ x


def line(x):
    return x[0] + x[1] - 1.0


@pytest.mark.topic("000/L3", "002/D5")
def test_an_equality_has_a_multiplier_of_either_sign():
    best = stationary_point(bowl, [3.0, -1.0], equalities=line, maximize=True)
    np.testing.assert_allclose(best.x, [0.5, 0.5], atol=1e-10)
    np.testing.assert_allclose(best.equality_multipliers, [1.0], atol=1e-9)  # ∇f = −λ∇h
    assert best.value == pytest.approx(0.5, abs=1e-12)
    assert best.worst < 1e-9
    flipped = stationary_point(bowl, [3.0, -1.0], equalities=lambda x: -line(x), maximize=True)
    np.testing.assert_allclose(flipped.x, best.x, atol=1e-10)
    np.testing.assert_allclose(flipped.equality_multipliers, [-1.0], atol=1e-9)


@pytest.mark.topic("000/L3")
def test_an_inequality_is_active_or_has_no_force():
    active = stationary_point(bowl, [2.0, 2.0], inequalities=line, maximize=True)
    np.testing.assert_allclose(active.x, [0.5, 0.5], atol=1e-10)
    np.testing.assert_allclose(active.inequality_multipliers, [1.0], atol=1e-9)
    assert active.active.tolist() == [True]
    loose = stationary_point(bowl, [2.0, 2.0], inequalities=lambda x: x.sum() + 1.0, maximize=True)
    np.testing.assert_allclose(loose.x, [0.0, 0.0], atol=1e-9)
    assert loose.inequality_multipliers.tolist() == [0.0]
    assert loose.active.tolist() == [False]


@pytest.mark.topic("000/L3")
def test_minimising_flips_the_sign_before_the_multipliers():
    least = stationary_point(lambda x: x @ x, [2.0, 2.0], inequalities=line)
    np.testing.assert_allclose(least.x, [0.5, 0.5], atol=1e-10)
    np.testing.assert_allclose(least.inequality_multipliers, [1.0], atol=1e-9)
    wrong = kkt_residuals(
        lambda x: x @ x, [0.5, 0.5], inequalities=line, inequality_multipliers=[-1.0]
    )
    assert wrong.dual_violation == 1.0
    assert wrong.stationarity == pytest.approx(2.0, rel=1e-9)
    assert not wrong.ok()


@pytest.mark.topic("000/L3")
def test_the_dual_is_minimised_over_multipliers_that_are_not_negative():
    # L̃(μ) = max_x 1 − x'x + μ(x₀ + x₁ − 1) = 1 − μ + μ²/2, at x = (μ/2, μ/2)
    dual = stationary_point(lambda m: 1.0 - m[0] + 0.5 * m[0] ** 2, [4.0], inequalities=lambda m: m)
    primal = stationary_point(bowl, [2.0, 2.0], inequalities=line, maximize=True)
    np.testing.assert_allclose(dual.x, primal.inequality_multipliers, atol=1e-9)
    assert dual.value == pytest.approx(primal.value, abs=1e-10)
    for m in (0.0, 0.5, 2.0):  # every value of the dual bounds the maximum from above
        assert 1.0 - m + 0.5 * m * m >= primal.value


def test_combined_constraints_against_a_fine_grid():
    def f(x):
        return (x[0] - 2.0) ** 2 + (x[1] - 1.5) ** 2 + x[0] * x[1]

    report = stationary_point(
        f,
        [0.1, 0.1],
        equalities=lambda x: x[0] + 2.0 * x[1] - 2.0,
        inequalities=[lambda x: x, lambda x: 1.0 - x[0]],
    )
    a = np.linspace(0.0, 1.0, 200_001)
    values = f(np.stack([a, (2.0 - a) / 2.0]))
    assert report.value == pytest.approx(values.min(), abs=1e-9)
    assert report.x[0] == pytest.approx(a[values.argmin()], abs=1e-5)
    assert report.worst < 1e-8
    assert len(report.inequality_multipliers) == 3


@pytest.mark.topic("004/5.10")
@given(st.lists(st.integers(1, 60), min_size=2, max_size=6))
@example([1, 1, 58])  # a long first step would end where the slope is 10⁹
def test_multinomial_maximum_likelihood_by_multipliers_and_by_the_mode_of_a_dirichlet(counts):
    m = np.array(counts, dtype=float)
    start = np.full(len(m), 1.0 / len(m))
    best = stationary_point(
        lambda mu: m @ np.log(np.maximum(mu, 1e-12)),
        start,
        equalities=lambda mu: 1.0 - mu.sum(),
        inequalities=lambda mu: mu - 1e-9,
        maximize=True,
        gradient=lambda mu: m / np.maximum(mu, 1e-12),
    )
    np.testing.assert_allclose(best.x, m / m.sum(), rtol=1e-9)
    np.testing.assert_allclose(best.equality_multipliers, [m.sum()], rtol=1e-9)  # λ = N
    np.testing.assert_allclose(best.x, Dirichlet(m + 1.0).mode, rtol=1e-9)


def test_what_has_no_solution_warns():
    with pytest.warns(ConvergenceWarning, match="no stationary point"):
        stationary_point(
            lambda x: x @ x,
            [0.0, 0.0],
            equalities=[lambda x: x[0] - 1.0, lambda x: x[0] + 1.0],
        )


def test_multipliers_of_the_wrong_number_are_named():
    with pytest.raises(ValueError, match="equality_multipliers must have 1 entries, got 2"):
        kkt_residuals(bowl, [0.5, 0.5], equalities=line, equality_multipliers=[1.0, 2.0])
    with pytest.raises(ValueError, match="start must be finite"):
        stationary_point(bowl, [np.nan, 0.0])
