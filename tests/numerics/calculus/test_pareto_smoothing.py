"""Smoothed weights: equal ones stay equal, heavy tails have their shape, few large ones are seen."""

import numpy as np
import pytest
from scipy import stats

from posteriori.numerics.calculus.pareto_smoothing import fit_generalized_pareto, smooth_weights


def test_equal_ratios_are_equal_weights_whatever_their_rounding() -> None:
    rng = np.random.default_rng(0)
    ratios = -1234.5 + 1e-12 * rng.normal(size=(500, 1))
    weights, shape = smooth_weights(ratios)
    assert np.isneginf(shape[0])
    np.testing.assert_allclose(np.exp(weights), 1 / 500, rtol=1e-9)


def test_weights_do_not_depend_on_the_scale_of_ratios() -> None:
    ratios = np.random.default_rng(1).normal(size=(400, 2))
    weights, shapes = smooth_weights(ratios)
    moved, same = smooth_weights(ratios - 5000.0)
    np.testing.assert_allclose(moved, weights, atol=1e-10)
    np.testing.assert_allclose(same, shapes, atol=1e-10)
    np.testing.assert_allclose(np.exp(weights).sum(axis=0), 1.0)


@pytest.mark.parametrize("ratio", [0.6, 0.8, 0.95])
def test_a_narrow_normal_has_the_shape_that_theory_says(ratio: float) -> None:
    """Ratios of N(0, 1) to N(0, r²) are powers of a chi-square tail: k = 1 − r²."""
    x = ratio * np.random.default_rng(2).normal(size=(200_000, 1))
    logs = stats.norm.logpdf(x) - stats.norm.logpdf(x, scale=ratio)
    _, shape = smooth_weights(logs)
    assert shape[0] == pytest.approx(1.0 - ratio**2, abs=0.12)


def test_the_largest_are_quantiles_at_the_middles_of_equal_shares() -> None:
    draws, tail = 400, 60  # 3 √400
    ratios = np.random.default_rng(5).exponential(0.4, size=(draws, 1))
    ordered = np.sort(np.exp(ratios[:, 0] - ratios.max()))
    cutoff = ordered[-tail - 1]
    shape, scale = fit_generalized_pareto(ordered[-tail:, None] - cutoff)
    middles = (np.arange(tail) + 0.5) / tail
    expected = np.minimum(cutoff + stats.genpareto.ppf(middles, shape, scale=scale), 1.0)
    found = np.exp(np.sort(smooth_weights(ratios)[0][:, 0])[-tail:])
    np.testing.assert_allclose(found / found[0], expected / expected[0], rtol=1e-10)


def test_one_draw_with_all_the_weight_has_no_moments() -> None:
    ratios = np.full((300, 1), -1e4) * np.random.default_rng(3).random((300, 1))
    ratios[7] = 0.0
    weights, shape = smooth_weights(ratios)
    assert shape[0] > 1.0
    assert np.exp(weights[7, 0]) > 0.9


def test_impossible_draws_have_no_weight() -> None:
    ratios = np.random.default_rng(4).normal(size=(300, 1))
    ratios[:50] = -np.inf
    weights, shape = smooth_weights(ratios)
    assert np.all(np.exp(weights[:50]) == 0.0)
    assert np.isfinite(shape[0])
