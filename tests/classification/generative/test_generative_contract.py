"""scikit-learn's contract for classifiers that model how rows come about."""

import pytest
from sklearn.base import clone

from posteriori.classification import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from posteriori.distributions import Normal, NormalInverseGamma
from tests.scikit_learn_checks import every_check

ESTIMATORS = [
    GaussianDiscriminant(),
    GaussianDiscriminant("full"),
    GaussianDiscriminant("diagonal"),
    GaussianDiscriminant(method="ml", shrinkage=0.1),
    GaussianDiscriminant("full", method="ml", shrinkage="auto"),
    GenerativeClassifier(Normal, NormalInverseGamma(0.0, 0.1, 1.5, 1.0)),
    NaiveBayes(),
    NaiveBayes("poisson"),
    NaiveBayes("categorical"),
    NaiveBayes("table"),
]


#: These checks give fractions to all classifiers, also to those that ask for whole numbers.
FRACTIONS = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_class_weight_classifiers",
        "check_decision_proba_consistency",
    ),
    "columns of counts and categories hold whole numbers; the error says so",
)


def expected_failures(estimator):
    return {} if getattr(estimator, "columns", "normal") == "normal" else FRACTIONS


@pytest.mark.parametrize("estimator", [GaussianDiscriminant(), NaiveBayes()])
def test_another_fit_leaves_nothing_of_the_first(estimator):
    X, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    model = clone(estimator).fit(X, y)
    model.set_params(method="ml").fit(X, y)
    assert not hasattr(model, "log_evidence_")
    assert not hasattr(model, "posterior_")
    model.set_params(method="bayes").fit(X, y)
    assert not hasattr(model, "log_likelihood_")


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@every_check(ESTIMATORS, expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
