"""scikit-learn's contract for classifiers that model how rows come about."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from posteriori.classification import GaussianDiscriminant, GenerativeClassifier, NaiveBayes
from posteriori.distributions import Normal, NormalInverseGamma

ESTIMATORS = [
    GaussianDiscriminant(),
    GaussianDiscriminant("per-class"),
    GaussianDiscriminant("diagonal"),
    GaussianDiscriminant(estimate="ml", shrinkage=0.1),
    GenerativeClassifier(Normal, NormalInverseGamma(0.0, 0.1, 1.5, 1.0)),
    NaiveBayes(),
]

#: The table of these checks has a column without spread inside the classes.
CONSTANT = dict.fromkeys(
    ("check_sample_weights_shape", "check_sample_weights_not_overwritten"),
    "a constant column has no highest likelihood; the error says so",
)


def expected_failures(estimator):
    return CONSTANT if getattr(estimator, "estimate", None) == "ml" else {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
