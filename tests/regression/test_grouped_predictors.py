"""Counts, outliers and classes with groups: dense Laplace posteriors with a column for every level."""

import numpy as np
import pytest
from sklearn.base import clone

from posteriori.classification import BayesianLogisticRegression, ProbitRegression
from posteriori.estimators.standardized import standardize
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows
from posteriori.inference.predictors.class_curves import logistic_curve, probit_curve
from posteriori.inference.predictors.generalized_linear import LinearPredictor
from posteriori.inference.predictors.grouped.grouped_predictor import GroupedPredictor
from posteriori.inference.predictors.mode_finding import find_mode
from posteriori.inference.predictors.weight_belief import evidence_at, laplace_belief, row_moments
from posteriori.regression import (
    NegativeBinomialRegressor,
    PoissonRegressor,
    RobustRegressor,
)

SIZES = (4, 12)
COUNTS = [PoissonRegressor(), NegativeBinomialRegressor()]
CLASSES = [BayesianLogisticRegression(), ProbitRegression()]
MODELS = [*COUNTS, RobustRegressor(), *CLASSES]


def crossed(model, n=240, seed=0):
    """Numbers with codes of two crossed columns, and targets of a model's kind."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.permutation(np.arange(n) % size) for size in SIZES])
    x = rng.normal(size=(n, 2))
    effects = [0.6 * rng.normal(size=4), 0.8 * rng.normal(size=12)]
    eta = 0.5 + x @ [0.4, -0.3] + sum(u[c] for u, c in zip(effects, codes.T, strict=True))
    if model in CLASSES:
        y = (rng.random(n) < 1.0 / (1.0 + np.exp(-eta))).astype(float)
    elif isinstance(model, RobustRegressor):
        y = eta + 0.5 * rng.standard_t(4, size=n)
    elif isinstance(model, PoissonRegressor):
        y = rng.poisson(np.exp(eta)).astype(float)
    else:
        y = rng.negative_binomial(3, 3.0 / (3.0 + np.exp(eta))).astype(float)
    return np.column_stack([x, codes]), y


def curve_of(model, y):
    if isinstance(model, BayesianLogisticRegression | ProbitRegression):
        kind = logistic_curve if isinstance(model, BayesianLogisticRegression) else probit_curve
        return kind(np.where(y > 0, 1.0, -1.0))
    return model._likelihood(y)


def grouped(model, X, y, spreads, mean=0.1):
    """The log posterior of all coordinates, and the same with a column for every level."""
    if isinstance(model, RobustRegressor):
        model._finest = 1e-8
    shaped = getattr(model, "_shaped", False)
    design, codes = standardize(X[:, :2], None, intercept=True)[1], X[:, 2:].astype(np.int64)
    layout = EffectLayout(3 + shaped, SIZES)
    precision = layout.spread_out(np.ones(3 + shaped), np.asarray(spreads) ** -2.0)
    prior_mean = layout.spread_out(np.full(3 + shaped, mean), np.zeros(2))
    rows = GroupedRows(design, codes)
    sparse = GroupedPredictor(rows, layout, curve_of(model, y), precision, prior_mean)
    levels = [codes[:, [c]] == np.arange(n) for c, n in enumerate(SIZES)]
    order = np.r_[0:3, 3 + shaped : layout.size, 3 : 3 + shaped]  # the log shape comes last
    dense = LinearPredictor(
        np.column_stack([design, *levels]),
        curve_of(model, y),
        np.diag(precision[order]),
        prior_mean[order],
    )
    return sparse, dense, order


@pytest.mark.parametrize("model", MODELS)
def test_the_log_posterior_is_the_dense_one(model):
    sparse, dense, order = grouped(model, *crossed(model), (0.7, 0.9))
    v = 0.1 * np.random.default_rng(1).normal(size=sparse.layout.size)
    value, gradient = sparse.value_and_gradient(v)
    expected, slopes = dense.value_and_gradient(v[order])
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(gradient[order], slopes, atol=1e-9)
    np.testing.assert_allclose(
        sparse.curvature(v).dense()[np.ix_(order, order)], dense.curvature(v[order]), atol=1e-9
    )


@pytest.mark.parametrize("model", MODELS)
def test_modes_and_evidences_are_the_dense_ones(model):
    sparse, dense, order = grouped(model, *crossed(model), (0.7, 0.9))
    mode = find_mode(sparse, sparse.prior_mean, tol=1e-10)
    expected = find_mode(dense, dense.prior_mean, tol=1e-10)
    np.testing.assert_allclose(mode.point[order], expected.point, atol=1e-7)
    belief = laplace_belief(expected, dense.precision)
    np.testing.assert_allclose(mode.factor.variances[order], np.diagonal(belief.cov), rtol=1e-6)
    assert evidence_at(mode, sparse.precision) == pytest.approx(
        belief.log_evidence, abs=1e-6
    )  # the determinant moves with the point, which has eight digits


@pytest.mark.parametrize("model", MODELS)
def test_slopes_of_the_evidence_are_its_differences(model):
    X, y = crossed(model)
    spreads, step = np.array([0.7, 0.9]), 1e-4

    def evidence(log_spreads):
        density = grouped(model, X, y, np.exp(log_spreads))[0]
        mode = find_mode(density, density.prior_mean, tol=1e-11)
        return evidence_at(mode, density.precision), density, mode

    at = np.log(spreads)
    _, density, mode = evidence(at)
    found = density.slopes(mode, density.layout.places)
    for c, way in enumerate(np.eye(2)):
        difference = evidence(at + step * way)[0] - evidence(at - step * way)[0]
        assert found[c] == pytest.approx(difference / (2 * step), rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_what_is_learned_is_the_dense_posterior_at_the_learned_spreads(model):
    X, y = crossed(model)
    fitted = clone(model).set_params(groups=[2, 3]).fit(X, y)
    effects = fitted.group_effects_
    assert fitted.log_evidence_.kind == "type-II"
    log_spreads = fitted._effects.spreads.log_spreads
    of_prior = -np.tanh(log_spreads) if model in CLASSES else 0.0  # half-Cauchy of classes
    np.testing.assert_allclose(fitted._effects.spreads.slopes, -of_prior, atol=0.05)
    d = len(fitted._weights.mean) - getattr(model, "_shaped", False)
    spreads = [e.spread for e in effects.values()]
    levels = [X[:, [2 + c]] == np.arange(n) for c, n in enumerate(SIZES)]
    design = fitted._standardization.of(X[:, :2])
    plain = clone(model)
    if model in CLASSES:
        level = fitted._level(np.array([1.0 - y.mean(), y.mean()]))[0]
        mean, precision = np.array([level, 0.0, 0.0]), np.ones(3)
    else:
        rows = plain._read_rows(X, y, None)
        mean, precision = plain._prior(d, rows)
    order = np.r_[0:d, len(mean) : len(mean) + 16, d : len(mean)]
    mean = np.append(mean, np.zeros(16))[order]
    widths = [np.full(n, s**-2.0) for n, s in zip(SIZES, spreads, strict=True)]
    precision = np.concatenate([precision, *widths])[order]
    dense = LinearPredictor(
        np.column_stack([design, *levels]), curve_of(plain, y), np.diag(precision), mean
    )
    ascend = find_mode if model in CLASSES else lambda density, *_, **__: plain._ascend(density)
    belief = laplace_belief(ascend(dense, mean, tol=1e-9), precision)
    assert float(fitted.log_evidence_) == pytest.approx(belief.log_evidence, abs=1e-5)
    told = np.concatenate([e.mean for e in effects.values()])
    np.testing.assert_allclose(told, belief.mean[d : d + 16], atol=1e-5)
    told = np.concatenate([e.std for e in effects.values()])
    np.testing.assert_allclose(told, np.sqrt(np.diagonal(belief.cov))[d : d + 16], rtol=1e-4)
    if model not in CLASSES:  # whose rows have a belief that is moved to the mean
        size = d + 16
        expected = row_moments(dense.x, belief.mean[:size], belief.cov[:size, :size])
        eta = fitted.predictor(X)
        np.testing.assert_allclose(eta.mean, expected[0], atol=1e-5)
        np.testing.assert_allclose(eta.variance, expected[1], rtol=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_frequencies_equal_repeated_rows(model):
    X, y = crossed(model, 120)
    times = np.random.default_rng(1).integers(0, 4, size=120)
    times[:12] = 1  # both classes, all levels
    grouped_model = clone(model).set_params(groups=[2, 3])
    weighted = clone(grouped_model).fit(X, y, sample_weight=times)
    repeated = clone(grouped_model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), abs=1e-4)
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)


@pytest.mark.parametrize("model", MODELS)
def test_unseen_levels_have_the_width_of_the_spread(model):
    X, y = crossed(model)
    fitted = clone(model).set_params(groups=[2, 3]).fit(X, y)
    spreads = [e.spread for e in fitted.group_effects_.values()]
    new = np.repeat(X[:1], 3, axis=0)
    new[1, 2], new[2, 2:] = 99, (99, 98)
    eta = fitted.predictor(new)
    assert eta.variance[1] > spreads[0] ** 2
    assert eta.variance[2] > spreads[0] ** 2 + spreads[1] ** 2
    means = np.asarray([fitted.sample_targets(new, 4000, rng=0)]).astype(float).mean(axis=(0, 1))
    told = fitted.predict_proba(new)[:, 1] if model in CLASSES else fitted.predict(new)
    np.testing.assert_allclose(means, told, rtol=0.15, atol=0.05)
    draws = fitted.log_likelihood_draws(X[:7], y[:7], 5, rng=0)
    assert draws.shape == (5, 7)
    assert np.all(np.isfinite(draws))


@pytest.mark.parametrize("model", MODELS)
def test_one_row_for_each_level_and_levels_without_effect(model):
    X, y = crossed(model, 60)
    each = np.column_stack([X[:, :2], np.arange(60)])
    lonely = clone(model).set_params(groups=[2]).fit(each, y)
    assert np.all(np.isfinite(lonely.predictor(each + 1000.0).variance))
    noise = np.column_stack([X[:, :2], np.random.default_rng(7).permutation(np.arange(60) % 3)])
    idle = clone(model).set_params(groups=[2]).fit(noise, y)
    (effects,) = idle.group_effects_.values()
    assert effects.spread_interval[0] <= effects.spread <= effects.spread_interval[1]


def test_spreads_of_simulated_counts_are_recovered():
    rng = np.random.default_rng(3)
    codes = np.repeat(np.arange(400), 8)
    x = rng.normal(size=(3200, 1))
    eta = 1.0 + 0.5 * x[:, 0] + 0.7 * rng.normal(size=400)[codes]
    X = np.column_stack([x, codes])
    for model, y in (
        (PoissonRegressor(groups=[1]), rng.poisson(np.exp(eta))),
        (BayesianLogisticRegression(groups=[1]), rng.random(3200) < 1 / (1 + np.exp(-eta))),
        (RobustRegressor(groups=[1]), eta + 0.5 * rng.standard_t(4, size=3200)),
    ):
        (effects,) = model.fit(X, y).group_effects_.values()
        assert effects.spread_interval[0] < 0.7 < effects.spread_interval[1]
        assert np.ravel(model.coef_)[0] == pytest.approx(0.5, abs=0.15)


def test_a_learned_precision_of_the_weights_has_the_highest_evidence():
    """… times the prior of the spreads, which are chosen with it."""
    X, y = crossed(CLASSES[0])

    def score(model):
        spreads = np.array([effects.spread for effects in model.group_effects_.values()])
        return float(model.log_evidence_) + np.log(spreads / (1.0 + spreads**2)).sum()

    best = BayesianLogisticRegression(groups=[2, 3], hyperparameters="type-II").fit(X, y)
    for factor in (0.5, 2.0):
        other = BayesianLogisticRegression(best.prior_precision_ * factor, groups=[2, 3]).fit(X, y)
        assert score(other) < score(best)


def test_what_groups_cannot_do_is_said():
    X, y = crossed(CLASSES[0])
    with pytest.raises(ValueError, match="3 classes"):
        ProbitRegression(groups=[2]).fit(X, np.arange(len(y)) % 3)
    with pytest.raises(ValueError, match="method='laplace'"):
        BayesianLogisticRegression(method="ep", groups=[2]).fit(X, y)


def test_curves_beside_the_mode_that_do_not_move_have_no_slope():
    X, y = crossed(COUNTS[0])
    density = grouped(COUNTS[0], X, y, (0.7, 0.9))[0]
    mode = find_mode(density, density.prior_mean)
    still = mode._replace(point=density.prior_mean)
    assert np.all(np.isfinite(density.slopes(still, density.layout.places)))
