"""More than two classes with groups: dense Laplace posteriors with a column for every level."""

import numpy as np
import pandas as pd
import pytest
from scipy import optimize
from sklearn.base import clone

from posteriori.classification import BayesianLogisticRegression
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows
from posteriori.inference.predictors.class_curves import logistic_curve
from posteriori.inference.predictors.grouped.grouped_predictor import GroupedPredictor
from posteriori.inference.predictors.grouped.grouped_softmax import GroupedSoftmax
from posteriori.inference.predictors.mode_finding import find_mode
from posteriori.inference.predictors.softmax_averages import contrasts
from posteriori.inference.predictors.softmax_likelihood import SoftmaxLikelihood
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.predictors.weight_belief import (
    contrast_moments,
    evidence_at,
    laplace_belief,
)

SIZES = (4, 12)
P = 3 + sum(SIZES)


def crossed(classes=3, n=240, seed=0, sizes=SIZES):
    """A column of ones and numbers, codes of crossed columns, and classes."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.permutation(np.arange(n) % size) for size in sizes])
    x = np.column_stack([np.ones(n), rng.normal(size=(n, 2))])
    eta = x @ rng.normal(scale=0.5, size=(3, classes))
    for code, size in zip(codes.T, sizes, strict=True):
        eta += rng.normal(scale=0.8, size=(size, classes))[code]
    return x, codes, (eta + rng.gumbel(size=eta.shape)).argmax(axis=1), rng


def grouped(classes, spreads=(0.7, 0.9), frequency=None, data=None):
    """The log posterior, the same with a column for every level, and where its coordinates stand."""
    x, codes, y, _ = crossed(classes) if data is None else data
    layout, m = EffectLayout(3, SIZES), classes - 1
    precision = layout.spread_out(np.ones(3), np.asarray(spreads) ** -2.0)
    mean = np.zeros((layout.size, m))
    mean[0] = 0.1
    sparse = GroupedSoftmax(
        GroupedRows(x, codes),
        layout,
        SoftmaxLikelihood(y, classes),
        np.repeat(precision, m),
        mean.ravel(),
        frequency,
    )
    order = np.arange(layout.size * m).reshape(-1, m).T.ravel()  # contrast by contrast
    dense = SoftmaxPredictor(
        indicated(x, codes), y, classes, sparse.precision[order], mean.ravel()[order], frequency
    )
    return sparse, dense, order


def indicated(x, codes):
    """All columns side by side; the layout has the smaller category first, as SIZES has."""
    return np.column_stack([x, *(codes[:, [c]] == np.arange(n) for c, n in enumerate(SIZES))])


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_log_posterior_is_the_dense_one(classes):
    frequency = np.random.default_rng(2).integers(1, 4, size=240).astype(float)
    sparse, dense, order = grouped(classes, frequency=frequency)
    v = 0.2 * np.random.default_rng(1).normal(size=P * (classes - 1))
    value, gradient = sparse.value_and_gradient(v)
    expected, slopes = dense.value_and_gradient(v[order])
    assert value == pytest.approx(expected)
    np.testing.assert_allclose(gradient[order], slopes, atol=1e-9)
    np.testing.assert_allclose(
        sparse.curvature(v).dense()[np.ix_(order, order)], dense.curvature(v[order]), atol=1e-9
    )


@pytest.mark.parametrize("classes", [3, 4])
def test_modes_beliefs_and_evidences_are_the_dense_ones(classes):
    sparse, dense, order = grouped(classes)
    mode = find_mode(sparse, sparse.prior_mean, tol=1e-10)
    mode = mode._replace(factor=sparse.curvature(mode.point).factorize())  # not one step before
    climbed = optimize.minimize(
        lambda v: tuple(-part for part in dense.value_and_gradient(v)),
        dense.prior_mean,
        jac=True,
        method="BFGS",
        options={"gtol": 1e-7},
    )
    np.testing.assert_allclose(mode.point[order], climbed.x, atol=1e-6)
    hessian = dense.curvature(mode.point[order])
    cov = np.linalg.inv(hessian)
    np.testing.assert_allclose(mode.factor.variances[order], np.diagonal(cov), rtol=1e-8)
    expected = dense.value_and_gradient(mode.point[order])[0] - 0.5 * np.linalg.slogdet(hessian)[1]
    expected += 0.5 * np.log(sparse.precision).sum()
    assert evidence_at(mode, sparse.precision) == pytest.approx(expected, abs=1e-8)
    belief, rows = sparse.belief(mode), sparse.rows
    centre, spread = belief.row_moments(rows)
    told = contrast_moments(dense.x, mode.point[order], cov, classes - 1)
    np.testing.assert_allclose(centre, told[0], atol=1e-10)
    np.testing.assert_allclose(spread, told[1], atol=1e-10)
    mean, covariance = belief.weights
    plain = (np.arange(classes - 1)[:, None] * P + np.arange(3)).ravel()
    np.testing.assert_allclose(mean, mode.point[order][plain])
    np.testing.assert_allclose(covariance, cov[np.ix_(plain, plain)], atol=1e-12)


def test_slopes_of_the_evidence_are_its_differences():
    data, step, frequency = crossed(4), 1e-4, np.random.default_rng(3).uniform(0.5, 2.0, size=240)

    def evidence(log_spreads):
        density = grouped(4, np.exp(log_spreads), frequency, data)[0]
        mode = find_mode(density, density.prior_mean, tol=1e-11)
        return evidence_at(mode, density.precision), density, mode

    at = np.log([0.7, 0.9])
    _, density, mode = evidence(at)
    found = density.slopes(mode, density.blocks)
    for c, way in enumerate(np.eye(2)):
        difference = evidence(at + step * way)[0] - evidence(at - step * way)[0]
        assert found[c] == pytest.approx(difference / (2 * step), rel=1e-6, abs=1e-6)


def test_two_classes_are_those_of_one_predictor():
    """η₂ − η₁ = √2 v: a spread σ of the log odds is one of σ/√2 on the contrast."""
    x, codes, y, _ = crossed(2)
    several = grouped(2, np.array([0.7, 0.9]) / np.sqrt(2.0))[0]
    several = GroupedSoftmax(
        several.rows,
        several.layout,
        several.likelihood,
        np.append(np.full(3, 2.0), several.precision[3:]),
        several.prior_mean,
    )
    layout = EffectLayout(3, SIZES)
    one = GroupedPredictor(
        GroupedRows(x, codes),
        layout,
        logistic_curve(np.where(y == 1, 1.0, -1.0)),
        layout.spread_out(np.ones(3), np.array([0.7, 0.9]) ** -2.0),
        several.prior_mean * np.sqrt(2.0),
    )
    modes = [find_mode(d, d.prior_mean, tol=1e-10) for d in (several, one)]
    np.testing.assert_allclose(np.sqrt(2.0) * modes[0].point, modes[1].point, atol=1e-8)
    evidences = [evidence_at(m, d.precision) for m, d in zip(modes, (several, one), strict=True)]
    assert evidences[0] == pytest.approx(evidences[1], abs=1e-8)
    slopes = [d.slopes(m, d.blocks) for m, d in zip(modes, (several, one), strict=True)]
    np.testing.assert_allclose(*slopes, atol=1e-6)


@pytest.fixture(scope="module")
def learned():
    x, codes, y, _ = crossed(3)
    X = np.column_stack([x[:, 1:], codes])
    return BayesianLogisticRegression(groups=[2, 3]).fit(X, y), X, y


def test_what_is_learned_is_the_dense_posterior_at_the_learned_spreads(learned):
    model, X, y = learned
    first, second = model.group_effects_.values()
    unit = np.sqrt(2.0 / 3.0)  # of a class's effect, what is left about the mean of three
    spreads = np.array([first.spread, second.spread]) / unit
    steepest = 5e-3 * np.sqrt(4.0 * np.array(SIZES))  # the spreads' own widths are 1/√2ML at best
    of_prior = (1.0 - spreads**2) / (1.0 + spreads**2)  # d ln{σ/(1 + σ²)}/d ln σ
    assert np.all(np.abs(model._effects.spreads.slopes + of_prior) <= steepest)
    design = indicated(model._standardization.of(X[:, :2]), X[:, 2:])
    widths = [np.full(n, s**-2.0) for n, s in zip(SIZES, spreads, strict=True)]
    precision = np.tile(np.concatenate([np.ones(3), *widths]), 2)
    mean = np.zeros((2, P))
    mean[:, 0] = contrasts(3).T @ np.log(np.bincount(y) / len(y))
    dense = SoftmaxPredictor(design, y, 3, precision, mean.ravel())
    belief = laplace_belief(find_mode(dense, dense.prior_mean, tol=1e-9), precision)
    assert model.log_evidence_.kind == "type-II"
    assert float(model.log_evidence_) == pytest.approx(belief.log_evidence, abs=1e-6)
    effects = contrasts(3) @ belief.mean.reshape(2, P)
    np.testing.assert_allclose(np.vstack([first.mean, second.mean]), effects[:, 3:].T, atol=1e-6)
    turn = np.kron(contrasts(3), np.eye(P))
    std = np.sqrt(np.diagonal(turn @ belief.cov @ turn.T)).reshape(3, P)
    np.testing.assert_allclose(np.vstack([first.std, second.std]), std[:, 3:].T, rtol=1e-5)
    kept = 1.0 - precision * np.diagonal(belief.cov)
    assert model.effective_parameters_ == pytest.approx(kept.sum(), rel=1e-5)
    assert model.coef_.shape == (3, 2)
    raw = effects[:, 1:3] / X[:, :2].std(axis=0)
    np.testing.assert_allclose(model.coef_, raw, atol=1e-6)


def test_effects_of_levels_sum_to_nothing_and_stay_within_the_spread(learned):
    for effects in learned[0].group_effects_.values():
        np.testing.assert_allclose(effects.mean.sum(axis=1), 0.0, atol=1e-12)
        assert np.all(effects.std < effects.spread)
        assert effects.spread_interval[0] < effects.spread < effects.spread_interval[1]


def test_probabilities_are_means_over_draws(learned):
    model, X, _ = learned
    some = np.repeat(X[:3], 2, axis=0)
    some[1::2, 2:] = [[99, 3], [2, 98], [97, 96]]  # levels that were not seen
    drawn = np.asarray(model.sample_targets(some, 20_000, rng=0))
    shares = np.stack([(drawn == k).mean(axis=0) for k in range(3)], axis=1)
    p = model.predict_proba(some)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_allclose(shares, p, atol=5 * np.sqrt(0.25 / 20_000))
    assert model.log_likelihood_draws(X[:7], np.zeros(7, dtype=int), 5, rng=0).shape == (5, 7)


def test_unseen_levels_have_the_width_of_the_spread(learned):
    model, X, _ = learned
    belief = model._effects.belief
    new = model._design(np.column_stack([X[:2, :2], [[98, 97], [98, 97]]]))
    spread = belief.row_moments(new)[1]
    cov = belief.weights[1]
    alone = contrast_moments(new.x, np.zeros(6), cov, 2)[1]
    np.testing.assert_allclose(spread, alone + belief.variances.sum() * np.eye(2), rtol=1e-9)
    draws = belief.draw(40_000, np.random.default_rng(0), 2)
    seen = belief.drawn_predictors(draws, new[:1])[:, 0]
    np.testing.assert_allclose(np.cov(seen.T), spread[0], atol=0.05 * spread[0].max())


def test_frequencies_equal_repeated_rows():
    x, codes, y, rng = crossed(3, 120)
    X, times = np.column_stack([x[:, 1:], codes]), rng.integers(0, 4, size=120)
    times[:12] = 1  # all levels
    model = BayesianLogisticRegression(groups=[2, 3])
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), abs=1e-5)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-4)


def test_one_row_for_each_level_and_levels_without_effect():
    x, _, y, rng = crossed(3, 60)
    lonely = BayesianLogisticRegression(groups=[-1])
    lonely.fit(np.column_stack([x[:, 1:], np.arange(60)]), y)
    p = lonely.predict_proba(np.column_stack([x[:, 1:], 1000 + np.arange(60)]))
    assert np.all(p > 0)
    idle = BayesianLogisticRegression(groups=[-1])
    idle.fit(np.column_stack([x[:, 1:], rng.integers(0, 3, size=60)]), y)
    (effects,) = idle.group_effects_.values()
    assert effects.spread_interval[0] <= effects.spread <= effects.spread_interval[1]


def test_groups_alone_and_texts_as_levels():
    _, codes, y, _ = crossed(3)
    frame = pd.DataFrame({"town": np.array([f"t{c}" for c in codes[:, 1]], dtype=object)})
    labels = np.array(["bus", "car", "foot"])[y]
    model = BayesianLogisticRegression(groups=["town"], fit_intercept=False).fit(frame, labels)
    assert model.coef_.shape == (3, 0)
    effects = model.group_effects_["town"]
    assert list(effects.levels[:2]) == ["t0", "t1"]
    new = pd.DataFrame({"town": [*effects.levels, "nowhere"]})
    p = model.predict_proba(new)
    clear = np.flatnonzero(p[:-1].max(axis=1) > 0.5)
    assert len(clear) > 3
    np.testing.assert_array_equal(p[clear].argmax(axis=1), effects.mean[clear].argmax(axis=1))
    np.testing.assert_allclose(p[-1], 1.0 / 3.0, atol=1e-6)


def test_a_learned_precision_of_the_weights_has_the_highest_evidence(learned):
    _, X, y = learned
    best = BayesianLogisticRegression(groups=[2, 3], hyperparameters="type-II").fit(X, y)
    for factor in (0.5, 2.0):
        other = BayesianLogisticRegression(best.prior_precision_ * factor, groups=[2, 3]).fit(X, y)
        assert float(other.log_evidence_) < float(best.log_evidence_)


def test_simulated_spreads_are_recovered_and_rare_levels_shrink():
    rng = np.random.default_rng(3)
    times = np.where(np.arange(400) < 200, 2, 30)
    codes = np.repeat(np.arange(400), times)
    eta = 0.7 * rng.normal(size=(400, 4))[codes]
    y = (eta + rng.gumbel(size=eta.shape)).argmax(axis=1)
    model = BayesianLogisticRegression(groups=[0]).fit(codes[:, None], y)
    (effects,) = model.group_effects_.values()
    low, high = np.array(effects.spread_interval) / np.sqrt(0.75)
    assert low < 0.7 < high
    assert np.abs(effects.mean[:200]).mean() < np.abs(effects.mean[200:]).mean()
    assert effects.std[:200].min() > effects.std[200:].max()


def test_levels_that_are_too_many_for_so_many_classes_are_refused():
    codes = np.arange(20_000)[:, None]
    with pytest.raises(ValueError, match=r"20,000.* for 100 classes.*merge rare levels"):
        BayesianLogisticRegression(groups=[0]).fit(codes, np.arange(20_000) % 100)


@pytest.mark.parametrize("classes", [2, 5])
def test_few_rows_do_not_rule_out_that_levels_matter(classes):
    """The evidence is often highest at a spread of 0; none is taken for it."""
    spreads = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = np.column_stack([rng.normal(size=(60, 1)), np.arange(60) % 4])
        y = rng.permutation(np.arange(60) % classes)
        model = BayesianLogisticRegression(groups=[1]).fit(X, y)
        spreads.append(next(iter(model.group_effects_.values())).spread)
    assert min(spreads) > 0.1
