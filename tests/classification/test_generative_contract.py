"""scikit-learn's contract for classifiers that model how rows come about."""

import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from posteriori.classification import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from posteriori.distributions import Normal, NormalInverseGamma

ESTIMATORS = [
    GaussianDiscriminant(),
    GaussianDiscriminant("per-class"),
    GaussianDiscriminant("diagonal"),
    GaussianDiscriminant(estimate="ml", shrinkage=0.1),
    GaussianDiscriminant("per-class", estimate="ml", shrinkage="auto"),
    GenerativeClassifier(Normal, NormalInverseGamma(0.0, 0.1, 1.5, 1.0)),
    NaiveBayes(),
]


@pytest.mark.parametrize("estimator", [GaussianDiscriminant(), NaiveBayes()])
def test_another_fit_leaves_nothing_of_the_first(estimator):
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    model = clone(estimator).fit(X, y)
    model.set_params(estimate="ml").fit(X, y)
    assert not hasattr(model, "log_evidence_")
    assert not hasattr(model, "posterior_")
    model.set_params(estimate="bayes").fit(X, y)
    assert not hasattr(model, "log_likelihood_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
