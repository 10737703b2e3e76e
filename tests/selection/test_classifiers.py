"""Classifiers: comparisons of both kinds of evidence, held-out probabilities, averages."""

import numpy as np
import pytest
from scipy import special
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as PeerLogistic, Perceptron
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from posteriori.classification import (
    BayesianLogisticRegression,
    GaussianDiscriminant,
    NaiveBayes,
    ProbitRegression,
)
from posteriori.regression import BayesianLinearRegressor, OrdinalRegression
from posteriori.selection import (
    ClassifierAverage,
    ModelAverage,
    ModelSet,
    average,
    check_predictions,
    held_out_density,
    rank_models,
    select,
    stacking_weights,
)
from tests.scikit_learn_checks import every_check


def rows(n=120, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2))
    latent = x @ [1.5, -1.0] + rng.logistic(size=n)
    return x, np.digitize(latent, [0.0] if classes == 2 else [-1.0, 1.0])


def test_evidences_of_labels_and_of_rows_are_different_groups():
    x, y = rows()
    models = {
        "logistic": BayesianLogisticRegression(),
        "probit": ProbitRegression(),
        "gaussian": GaussianDiscriminant(),
        "naive": NaiveBayes(),
        "peer": PeerLogistic(),
    }
    table = rank_models(models, x, y)
    p = table.probabilities
    assert p["logistic"] + p["probit"] == pytest.approx(1.0)
    assert p["gaussian"] + p["naive"] == pytest.approx(1.0)
    assert np.isnan(p["peer"])
    assert [r.elpd for r in table] == sorted((r.elpd for r in table), reverse=True)
    assert "only the held-out density compares" in repr(table)
    assert {r.measure for r in table} == {"probability"}


def test_held_out_probabilities_are_minus_the_log_loss_of_folds():
    x, y = rows(classes=3)
    names = np.array(["low", "middle", "top"])[y]
    model = NaiveBayes(method="ml").fit(x, names)
    held = held_out_density(model, x, names, seed=1)
    loss = 0.0
    for train, test in StratifiedKFold(5, shuffle=True, random_state=1).split(x, names):
        p = clone(model).fit(x[train], names[train]).predict_proba(x[test])
        loss += log_loss(names[test], p, normalize=False)
    assert held.method == "5-fold"
    assert held.total == pytest.approx(-loss)


@pytest.mark.parametrize("model", [BayesianLogisticRegression(), OrdinalRegression()])
def test_smoothed_importance_sampling_follows_refits_of_classifiers(model):
    x, y = rows(50, classes=3)
    held = held_out_density(clone(model).fit(x, y), x, y, draws=4000)
    exact = 0.0
    for n in range(len(y)):
        others = np.arange(len(y)) != n
        p = clone(model).fit(x[others], y[others]).predict_proba(x[[n]])
        exact += np.log(p[0, y[n]])
    assert held.method == "psis"
    assert held.total == pytest.approx(exact, abs=0.5)


def test_draws_of_ordered_categories_by_the_equation():
    x, y = rows(classes=3)
    model = OrdinalRegression().fit(x, y)
    found = model.log_likelihood_draws(x, y, 4000, 0)
    one = model.log_likelihood_draws(x[:1], y[:1], 4000, 0)
    np.testing.assert_allclose(found[:, :1], one)
    p = np.exp(found).mean(axis=0)
    error = np.exp(found).std(axis=0) / np.sqrt(4000)
    exact = model.predict_proba(x)[np.arange(len(y)), y]
    np.testing.assert_array_less(np.abs(p - exact), 5 * error + 1e-3)
    with pytest.raises(ValueError, match="category 7 in row 0"):
        model.log_likelihood_draws(x, np.full(len(y), 7), 10)


def test_likelihood_of_thresholds_at_a_sharp_posterior():
    x, y = rows(4000, classes=3)
    model = OrdinalRegression().fit(x, y)
    ends = np.concatenate([[-np.inf], model.thresholds_, [np.inf]])
    eta = x @ model.coef_
    p = special.expit(ends[y + 1] - eta) - special.expit(ends[y] - eta)
    found = model.log_likelihood_draws(x, y, 500, 0).mean(axis=0)
    np.testing.assert_allclose(found, np.log(p), atol=0.02)


def test_replicated_categories_have_the_mean_of_the_data():
    x, y = rows(300, classes=3)
    model = OrdinalRegression().fit(x, y)
    draws = model.sample_targets(x, 200, rng=0)
    assert draws.shape == (200, 300)
    assert 0.05 < check_predictions(model, x, y, np.mean, rng=0).p_value < 0.95


def test_averaged_probabilities_are_the_mixture_of_the_models():
    x, y = rows()
    models = {"logistic": BayesianLogisticRegression(), "probit": ProbitRegression()}
    found = average(models, x, y)
    fits = {name: m.fit(x, y) for name, m in models.items()}
    weights = ModelSet(fits).probabilities
    assert found.weights_ == pytest.approx(weights)
    p = sum(w * fits[name].predict_proba(x) for name, w in weights.items())
    np.testing.assert_allclose(found.predict_proba(x), p)
    np.testing.assert_allclose(found.predict_dist(x).probabilities, p)
    np.testing.assert_array_equal(found.predict(x), p.argmax(axis=1))
    assert found.score(x, y) == (p.argmax(axis=1) == y).mean()


def test_classifiers_of_both_kinds_are_stacked_but_not_averaged_by_evidence():
    x, y = rows()
    models = {"logistic": BayesianLogisticRegression(), "naive": NaiveBayes()}
    with pytest.raises(ValueError, match="answer different questions"):
        average(models, x, y)
    found = average(models, x, y, weights="stacking")
    held = [held_out_density(m.fit(x, y), x, y).pointwise for m in models.values()]
    weights = stacking_weights(np.stack(held, axis=1))
    np.testing.assert_allclose(list(found.weights_.values()), weights)


def test_regressions_and_classifiers_are_not_averaged_together():
    x, y = rows()
    models = [("line", BayesianLinearRegressor()), ("logistic", BayesianLogisticRegression())]
    with pytest.raises(TypeError, match="logistic is a classifier: average classifiers by"):
        ModelAverage(models).fit(x, y)
    with pytest.raises(TypeError, match="line is a regression"):
        average(dict(models), x, y)


def test_the_best_classifier_is_selected():
    x, y = rows()
    models = {"good": BayesianLogisticRegression(), "tight": BayesianLogisticRegression(1e6)}
    assert select(models, x, y).prior_precision == 1.0


def test_a_classifier_without_probabilities_is_reported():
    x, y = rows()
    table = rank_models({"hard": Perceptron(), "soft": BayesianLogisticRegression()}, x, y)
    assert table.best == "soft"
    assert "Perceptron cannot say how probable a class is" in table["hard"].failure


@every_check(
    [
        ClassifierAverage(
            [("logistic", BayesianLogisticRegression()), ("tight", BayesianLogisticRegression(9.0))]
        ),
        ClassifierAverage(
            [("logistic", BayesianLogisticRegression()), ("naive", NaiveBayes())],
            weights="stacking",
        ),
    ]
)
def test_averages_of_classifiers_are_estimators(estimator, check):
    check(estimator)
