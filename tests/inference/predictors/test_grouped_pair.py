"""Two predictors with effects on both: against dense algebra and finite differences."""

from dataclasses import replace

import numpy as np
import pytest

from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows
from posteriori.inference.predictors.mode_finding import find_mode, laplace_evidence
from posteriori.inference.predictors.pairs.grouped_pair import GroupedPair
from posteriori.inference.predictors.pairs.paired_weights import PairLayout
from posteriori.inference.predictors.weight_belief import evidence_at
from posteriori.regression import ZeroInflatedRegressor

N, D, SIZES = 120, 2, (3, 6)
PAIRS = PairLayout(EffectLayout(D, SIZES))


def problem(seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.permutation(np.arange(N) % size) for size in SIZES])
    x = np.column_stack([np.ones(N), rng.normal(size=N)])
    y = (rng.random(N) < 0.6) * rng.poisson(2.0 + codes[:, 1]) * 1.0
    return GroupedRows(x, codes), y


def density(spreads=(0.5, 0.7, 0.4, 0.9), seed=0):
    rows, y = problem(seed)
    precision = np.ones(PAIRS.size)
    for block, spread in zip(PAIRS.blocks, spreads, strict=True):
        precision[block] = spread**-2.0
    likelihood = ZeroInflatedRegressor()._row_curves(y)
    times = np.random.default_rng(5).integers(1, 3, N) * 1.0
    return GroupedPair(rows, PAIRS, likelihood, precision, np.zeros(PAIRS.size), times)


def dense_rows(rows):
    """Return how both predictors of rows depend on all coordinates, (2, N, P)."""
    unit = np.eye(PAIRS.size)
    return np.stack([PAIRS.predictors(e, rows).T for e in unit], axis=2)


def differences(function, w, step=1e-5):
    return np.array(
        [(function(w + e) - function(w - e)) / (2 * step) for e in step * np.eye(len(w))]
    )


def test_every_effect_has_its_place():
    rows, _ = problem()
    table = dense_rows(rows)
    first, second, shape = np.split(PAIRS.weight_places, [D, 2 * D])
    np.testing.assert_array_equal(table[0][:, first], rows.x)
    np.testing.assert_array_equal(table[1][:, second], rows.x)
    assert not table[0][:, second].any()
    assert not table[:, :, shape].any()
    assert np.all(np.delete(table, PAIRS.weight_places, axis=2).sum(axis=2) == len(SIZES))
    for c, i in ((0, 0), (0, 1), (1, 0), (1, 1)):
        own = table[i, :, PAIRS.block(c, i)]
        np.testing.assert_array_equal(own.argmax(axis=1), rows.codes[:, c])


def test_derivatives():
    made, rng = density(), np.random.default_rng(2)
    for v in 0.5 * rng.normal(size=(3, PAIRS.size)):
        gradient = made.value_and_gradient(v)[1]
        numeric = differences(lambda w: made.value_and_gradient(w)[0], v)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-5)
        numeric = -differences(lambda w: made.value_and_gradient(w)[1], v)
        np.testing.assert_allclose(made.curvature(v).dense(), numeric, rtol=1e-5, atol=1e-5)


def test_evidence_and_moments_are_those_of_dense_algebra():
    made = density()
    mode = find_mode(made, made.prior_mean)
    assert mode.converged
    bend = mode.precision.dense()
    np.testing.assert_allclose(bend, made.curvature(mode.point).dense(), rtol=1e-4, atol=1e-4)
    half = 0.5 * len(bend) * np.log(2.0 * np.pi)
    expected = mode.value + half - 0.5 * np.linalg.slogdet(bend)[1]
    assert laplace_evidence(mode) == pytest.approx(expected, rel=1e-10)
    cov, table, belief = np.linalg.inv(bend), dense_rows(made.rows), made.belief(mode)
    mean, spread = belief.both_moments(made.rows)
    np.testing.assert_allclose(mean.T, table @ mode.point, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(spread, np.einsum("inp,pq,jnq->nij", table, cov, table), rtol=1e-8)
    tied = belief.shape_covariances(made.rows)
    np.testing.assert_allclose(tied.T, table @ cov[:, PAIRS.shape_place], rtol=1e-6, atol=1e-12)
    order = PAIRS.weight_places
    np.testing.assert_allclose(belief.weights[1], cov[np.ix_(order, order)], rtol=1e-8, atol=1e-14)


def test_slopes_of_the_evidence_against_finite_differences():
    logs = np.log([0.5, 0.7, 0.4, 0.9])

    def evidence(t):
        made = density(np.exp(t))
        mode = find_mode(made, made.prior_mean, tol=1e-10)
        return evidence_at(mode, made.precision)

    made = density(np.exp(logs))
    mode = find_mode(made, made.prior_mean, tol=1e-10)
    slopes = made.slopes(mode, PAIRS.blocks)
    np.testing.assert_allclose(slopes, differences(evidence, logs, 1e-4), rtol=1e-3, atol=1e-3)


def test_new_levels_have_the_width_of_the_spreads_and_draws_agree():
    made = density()
    mode = find_mode(made, made.prior_mean)
    belief = made.belief(mode)
    rows = GroupedRows(made.rows.x[:3], np.array([[0, 2], [-1, 2], [-1, -1]]))
    mean, cov = belief.both_moments(rows)
    known = replace(rows, codes=np.array([[0, 2], [0, 2], [0, 2]]))
    assert np.all(cov[1] - belief.both_moments(known)[1][1] != 0)
    draws = belief.draw(40_000, np.random.default_rng(0), 1)
    found = np.stack([belief.drawn_predictors(draws, rows, i) for i in (0, 1)])
    error = np.sqrt(np.einsum("nii->ni", cov) / draws.shape[0])
    assert np.all(np.abs(found.mean(axis=1).T - mean) < 5.0 * error)
    for n in range(3):
        size = np.sqrt(np.outer(np.diag(cov[n]), np.diag(cov[n])))
        limit = 5.0 * np.sqrt(2.0 / draws.shape[0]) * size
        assert np.all(np.abs(np.cov(found[:, :, n]) - cov[n]) < limit)
