"""Where the search for spreads begins: exact where the log likelihood is a parabola."""

import numpy as np
import pytest
from scipy import optimize, stats

from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows
from posteriori.inference.predictors.generalized_linear import Curve
from posteriori.inference.predictors.grouped.grouped_fit import learn_spreads
from posteriori.inference.predictors.grouped.grouped_predictor import GroupedPredictor
from posteriori.inference.predictors.grouped.spread_start import likely_spreads
from posteriori.inference.predictors.mode_finding import find_mode

SIZES = (6, 30)


def normal_rows(n=300):
    """Numbers with noise of variance 1 around effects of two crossed categories."""
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.permutation(np.arange(n) % size) for size in SIZES])
    x = np.column_stack([np.ones(n), rng.normal(size=n)])
    effects = [
        s * rng.normal(size=m)[c] for s, m, c in zip((2.0, 0.7), SIZES, codes.T, strict=True)
    ]
    return x, codes, x @ [1.0, 0.5] + sum(effects) + rng.normal(size=n)


def density_of(x, codes, y):
    layout = EffectLayout(2, SIZES)

    def likelihood(eta, shape, rows):
        return Curve(-0.5 * (y[rows] - eta) ** 2, y[rows] - eta, np.ones_like(eta))

    precision = layout.spread_out(np.ones(2), np.full(2, 4.0))
    return GroupedPredictor(GroupedRows(x, codes), layout, likelihood, precision, np.zeros(38))


def dense_spreads(x, codes, y):
    levels = [(codes[:, [c]] == np.arange(n)).astype(float) for c, n in enumerate(SIZES)]

    def minus(t):
        cov = np.eye(len(y)) + x @ x.T
        cov += sum(np.exp(2.0 * s) * z @ z.T for s, z in zip(t, levels, strict=True))
        return -stats.multivariate_normal(np.zeros(len(y)), cov).logpdf(y)

    return optimize.minimize(minus, np.zeros(2), method="Nelder-Mead").x


def test_of_normal_rows_the_start_is_the_end():
    data = normal_rows()
    density, expected = density_of(*data), dense_spreads(*data)
    mode = find_mode(density, density.prior_mean)
    start = likely_spreads(density.precision, density.prior_mean, mode, density.blocks, 1.0)
    widths = 1.0 / np.sqrt(2.0 * start.determined)
    assert np.all(np.abs(start.log_spreads - expected) < 0.15 * widths)
    assert np.all(start.determined < SIZES)

    def ascend(density, near, tol):
        return find_mode(density, density.prior_mean if near is None else near.point, tol=tol)

    fit = learn_spreads(density, density.blocks, 1.0, 1e-8, ascend)
    np.testing.assert_allclose(fit.spreads.log_spreads, expected, atol=1e-3)
    assert fit.spreads.n_evaluations <= 4


def test_a_curvature_that_is_not_definite_is_no_start():
    density = density_of(*normal_rows())
    mode = find_mode(density, density.prior_mean)
    bent = mode._replace(precision=mode.precision.plus(np.full(38, -1e4)))
    with pytest.raises(np.linalg.LinAlgError):
        likely_spreads(density.precision, density.prior_mean, bent, density.blocks, 1.0)
