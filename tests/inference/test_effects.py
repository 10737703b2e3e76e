"""Effects of levels against dense algebra: matrices with a diagonal corner, statistics, spreads."""

import numpy as np
import pytest

from posteriori.inference.effects.block_bordered import BlockBordered
from posteriori.inference.effects.bordered import Bordered
from posteriori.inference.effects.effect_layout import EffectLayout, effect_gram, open_rows
from posteriori.inference.effects.normal_effects import likely_ratios, solve_effects, sum_cells
from posteriori.inference.effects.spread_search import maximise_spreads, spread_interval

CROSSED = [(4,), (3, 7), (7, 3), (2, 5, 3)]


def bordered(k=3, corner=5, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k + 4, k))
    border = 0.3 * rng.normal(size=(corner, k))
    return Bordered(root.T @ root + np.eye(k), border, rng.uniform(1.0, 2.0, size=corner))


def indicators(codes, sizes):
    return np.column_stack([codes[:, [c]] == np.arange(n) for c, n in enumerate(sizes)]).astype(
        float
    )


def table(sizes, n=40, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.permutation(np.arange(n) % size) for size in sizes])
    x = rng.normal(size=(n, 2)) + 5.0
    return x, x @ [1.0, -2.0] + rng.normal(size=n), codes, rng


@pytest.mark.parametrize(("k", "corner"), [(3, 5), (1, 4), (0, 3)])
def test_bordered_matrices_are_the_dense_ones(k, corner):
    a = bordered(k, corner)
    dense, factor = a.dense(), a.factorize()
    inverse, weights = np.linalg.inv(dense), np.linspace(0.5, 2.0, k + corner)
    np.testing.assert_allclose(a.diagonal, np.diagonal(dense))
    np.testing.assert_allclose(factor.solve(weights), inverse @ weights)
    np.testing.assert_allclose(
        factor.solve(np.outer(weights, [1.0, 2.0]))[:, 1], 2 * inverse @ weights
    )
    np.testing.assert_allclose(factor.log_det, np.linalg.slogdet(dense)[1])
    np.testing.assert_allclose(factor.variances, np.diagonal(inverse))
    np.testing.assert_allclose(factor.core_cov, inverse[:k, :k])
    share = weights[:, None] * inverse
    np.testing.assert_allclose(factor.traces(weights), [np.trace(share), np.trace(share @ share)])
    np.testing.assert_allclose(a.plus(weights).dense(), dense + np.diag(weights))


@pytest.mark.parametrize("q", [0, 1, 4])
@pytest.mark.parametrize("m", [1, 3])
def test_corners_of_blocks_are_the_dense_matrices(q, m):
    rng, n_blocks = np.random.default_rng(1), 5
    size = q + n_blocks * m
    root, blocks = rng.normal(size=(q + 4, q)), rng.normal(size=(n_blocks, m, m))
    border = 0.2 * rng.normal(size=(n_blocks, m, q))
    corner = blocks @ blocks.swapaxes(1, 2) + np.eye(m)
    a = BlockBordered(root.T @ root + 2.0 * np.eye(q), border, corner)
    dense, factor = a.dense(), a.factorize()
    inverse, weights = np.linalg.inv(dense), np.linspace(0.5, 2.0, size)
    np.testing.assert_array_equal(dense, dense.T)
    np.testing.assert_allclose(a.diagonal, np.diagonal(dense))
    np.testing.assert_allclose(a.plus(weights).dense(), dense + np.diag(weights))
    np.testing.assert_allclose(factor.solve(weights), inverse @ weights, atol=1e-12)
    both = np.outer(weights, [1.0, 2.0])
    np.testing.assert_allclose(factor.solve(both), inverse @ both, atol=1e-12)
    np.testing.assert_allclose(factor.log_det, np.linalg.slogdet(dense)[1])
    np.testing.assert_allclose(factor.variances, np.diagonal(inverse))
    np.testing.assert_allclose(factor.core_covs.reshape(size - q, q), inverse[q:, :q], atol=1e-12)
    for place, cov in enumerate(factor.block_covs):
        own = slice(q + place * m, q + (place + 1) * m)
        np.testing.assert_allclose(cov, inverse[own, own], atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError):
        a.plus(np.full(size, -100.0)).factorize()


def test_a_coordinate_of_the_core_is_taken_out():
    a = bordered()
    kept = [0, 2, 3, 4, 5, 6, 7]
    np.testing.assert_array_equal(a.without(1).dense(), a.dense()[np.ix_(kept, kept)])


def test_what_is_not_definite_is_refused():
    a = bordered()
    for broken in (a.plus(np.full(8, -10.0)), a.plus(np.append(np.full(3, -100.0), np.zeros(5)))):
        with pytest.raises(np.linalg.LinAlgError):
            broken.factorize()


@pytest.mark.parametrize("sizes", CROSSED)
def test_grams_of_rows_and_levels(sizes):
    x, _, codes, rng = table(sizes)
    weight = rng.uniform(0.5, 2.0, size=len(x))
    layout = EffectLayout(2, sizes)
    order = np.concatenate([np.arange(2), *(np.arange(p.start, p.stop) for p in layout.places)])
    rows = np.empty((len(x), layout.size))
    rows[:, order] = np.column_stack([x, indicators(codes, sizes)])
    gram = effect_gram(x, codes, weight, layout)
    np.testing.assert_allclose(gram.dense(), (rows.T * weight) @ rows, atol=1e-12)
    factor = gram.plus(np.ones(layout.size)).factorize()
    cov, variance = np.linalg.inv(gram.dense() + np.eye(layout.size)), np.empty(len(x))
    for some, core, extra in open_rows(x, codes, factor, layout, np.ones(len(sizes))):
        variance[some] = extra + np.einsum("nk,nk->n", core @ factor.core_cov, core)
    np.testing.assert_allclose(variance, np.einsum("nk,nk->n", rows @ cov, rows))


@pytest.mark.parametrize("sizes", CROSSED)
@pytest.mark.parametrize("n", [40, 6000])  # added up with care, and as differences of squares
def test_integrated_effects_are_a_covariance_of_rows(sizes, n):
    few = slice(None, None, n // 40)
    x, y, codes, rng = table(sizes, n)
    f, v = rng.integers(1, 3, size=n).astype(float), rng.uniform(0.5, 2.0, size=n)
    if n > 40:  # a dense covariance of all would be too large: cells of a balanced design
        x, y, codes, f, v = (
            np.repeat(x[few], 150, 0),
            np.repeat(y[few], 150),
            codes[few],
            f[few],
            v[few],
        )
        codes, f, v = np.repeat(codes, 150, 0), np.repeat(f, 150), np.repeat(v, 150)
    cells = sum_cells(x, y, codes, sizes, frequency=f, variance=v)
    ratios, kappa = np.geomspace(0.1, 3.0, len(sizes)), 1.5
    solved = solve_effects(cells, ratios, kappa)
    found = solved.statistics.factor.T @ solved.statistics.factor
    z = np.column_stack([np.ones(len(x)), indicators(codes, sizes)])
    prior = np.concatenate(
        [[1 / kappa], *(np.full(s, r) for s, r in zip(sizes, ratios, strict=True))]
    )
    h, t = (
        f / v,
        np.column_stack([x, y]) - np.average(np.column_stack([x, y]), axis=0, weights=f / v),
    )
    m = (z.T * h) @ z + np.diag(1 / prior)  # Woodbury: V⁻¹ = H − HZM⁻¹ZᵀH
    expected = (t.T * h) @ t - (t.T * h) @ z @ np.linalg.solve(m, (z.T * h) @ t)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())
    log_det = f @ np.log(v) + np.linalg.slogdet(m)[1] + np.log(prior).sum()
    assert solved.statistics.log_variance == pytest.approx(log_det, abs=1e-8)


def test_targets_that_levels_tell_leave_exactly_nothing():
    codes = np.repeat(np.arange(50), 10)[:, None]
    y = np.sin(codes[:, 0] + 1.0)
    cells = sum_cells(np.zeros((500, 1)), y, codes, (50,))
    assert np.abs(cells.within).max() < 1e-14
    noise = [solve_effects(cells, np.array([r]), 1.0).statistics.factor[-1, -1] for r in (1e4, 1e8)]
    assert noise[1] == pytest.approx(noise[0] / 100, rel=1e-4)  # σ² falls as ρ grows: |û|²/ρ


def test_moments_tell_where_to_begin():
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(300), 10)[:, None]
    x = rng.normal(size=(3000, 2))
    y = x @ [3.0, 1.0] + 2.0 * rng.normal(size=300)[codes[:, 0]] + rng.normal(size=3000)
    assert likely_ratios(sum_cells(x, y, codes, (300,)))[0] == pytest.approx(4.0, rel=0.2)


def test_spreads_are_found_from_far_away():
    top = np.array([2.0, -1.0])

    def evidence(t):
        return float(-5.0 * ((t - top) ** 2).sum()), -10.0 * (t - top)

    found = maximise_spreads(evidence, np.array([-5.0, 6.0]), (5, 5))
    np.testing.assert_allclose(found.log_spreads, top, atol=1e-3)
    assert found.converged


def test_a_half_cauchy_prior_keeps_a_spread_from_vanishing():
    """An evidence that falls as exp(−σ²) has no other top than 0; times the prior it has one at its root."""

    def evidence(t):
        return float(-np.exp(2.0 * t).sum()), -2.0 * np.exp(2.0 * t)

    start, sizes = np.zeros(2), (3, 3)
    found = maximise_spreads(evidence, start, sizes, half_cauchy=[True, False])
    t = np.linspace(-5.0, 1.0, 60_001)
    product = -np.exp(2.0 * t) + np.log(2.0 * np.exp(t) / (np.pi * (1.0 + np.exp(2.0 * t))))
    assert found.log_spreads[0] == pytest.approx(t[product.argmax()], abs=1e-3)
    assert found.slopes[0] == pytest.approx(-2.0 * np.exp(2.0 * found.log_spreads[0]))
    assert found.log_spreads[1] < -4.0
    wide = maximise_spreads(lambda t: (0.0, np.zeros(2)), start, sizes, unit=7.0, half_cauchy=True)
    np.testing.assert_allclose(
        wide.log_spreads, np.log(7.0), atol=1e-2
    )  # the median, in logarithms


def test_intervals_of_spreads():
    low, high = spread_interval(0.0, 0.0, np.ones(200))
    assert (low, high) == pytest.approx((np.exp(-1.6449 / 20), np.exp(1.6449 / 20)))
    low, high = spread_interval(np.log(1e-4), -2e-8, np.full(10, 1e-8))  # dF/dσ² = −1
    assert low == 0.0
    assert high == pytest.approx(np.sqrt(np.log(20.0)), rel=1e-3)
