"""The prior precision of linear classifiers, chosen by evidence."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from posteriori.classification import BayesianLogisticRegression, ProbitRegression

TABLES = {"two classes": load_breast_cancer, "three classes": load_iris}


@pytest.mark.parametrize("table", TABLES)
def test_evidence_is_highest_on_a_grid(table):
    X, y = TABLES[table](return_X_y=True)
    X, y = X[::3, :6], y[::3]
    learned = BayesianLogisticRegression(hyperparameters="type-II").fit(X, y)
    grid = [
        float(BayesianLogisticRegression(alpha).fit(X, y).log_evidence_)
        for alpha in np.geomspace(1e-3, 1e2, 21)
    ]
    top = float(learned.log_evidence_)
    assert max(grid) - 1e-6 < top < max(grid) + 0.2  # the best may lie between two of the grid
    assert learned.log_evidence_.kind == "type-II"


@pytest.mark.parametrize("estimator", [BayesianLogisticRegression, ProbitRegression])
def test_posterior_is_that_of_the_learned_precision_given(estimator):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[::4, :5], y[::4]
    learned = estimator(hyperparameters="type-II").fit(X, y)
    given = estimator(learned.prior_precision_).fit(X, y)
    np.testing.assert_allclose(learned.posterior_.mean, given.posterior_.mean, rtol=1e-9)
    np.testing.assert_allclose(learned.predict_proba(X), given.predict_proba(X), rtol=1e-9)
    assert learned.effective_parameters_ == pytest.approx(given.effective_parameters_)
    assert float(learned.with_prior_scaled(1.0).fit(X, y).log_evidence_) == pytest.approx(
        float(learned.log_evidence_)
    )


def test_inputs_that_say_nothing_are_shrunk_away():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 10)), np.arange(400) % 2
    model = BayesianLogisticRegression(hyperparameters="type-II").fit(X, y)
    assert model.prior_precision_ > 20.0
    assert np.abs(model.predict_proba(X)[:, 1] - 0.5).max() < 0.15


def test_unknown_choices_are_refused():
    with pytest.raises(ValueError, match="hyperparameters must be 'fixed' or 'type-II', got 'ard'"):
        BayesianLogisticRegression(hyperparameters="ard").fit([[0.0], [1.0]], [0, 1])
