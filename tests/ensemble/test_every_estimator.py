"""scikit-learn's checks of bagging and committees."""

from sklearn.linear_model import RidgeClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from posteriori.classification import (
    BayesianLogisticRegression,
    GaussianDiscriminant,
    KNeighborsClassifier,
)
from posteriori.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    CommitteeClassifier,
    CommitteeRegressor,
)
from posteriori.regression import BayesianLinearRegressor, LinearRegressor
from tests.scikit_learn_checks import every_check

CLASSIFIERS = [("logistic", BayesianLogisticRegression()), ("normal", GaussianDiscriminant())]
REGRESSIONS = [("belief", BayesianLinearRegressor()), ("ridge", LinearRegressor(ridge=0.1))]

ESTIMATORS = [
    BaggingClassifier(GaussianDiscriminant(), 5),
    BaggingClassifier(DecisionTreeClassifier(), 5, max_features=0.5, bootstrap=False),
    BaggingClassifier(KNeighborsClassifier(), 5, max_samples=0.5),
    BaggingClassifier(RidgeClassifier(), 5, vote="majority"),
    BaggingRegressor(BayesianLinearRegressor(), 5),
    BaggingRegressor(DecisionTreeRegressor(), 5, max_features=0.5),
    BaggingRegressor(DecisionTreeRegressor(), 5, max_samples=0.5, bootstrap=False),
    CommitteeClassifier(CLASSIFIERS),
    CommitteeClassifier([*CLASSIFIERS, ("ridge", RidgeClassifier())], vote="majority"),
    CommitteeRegressor(REGRESSIONS),
    CommitteeRegressor(REGRESSIONS, weights=[1, 3]),
]


@every_check(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
