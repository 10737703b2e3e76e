"""scikit-learn's checks of every decomposition."""

import pytest

from posteriori.decomposition import (
    ICA,
    PCA,
    BayesianFactorAnalysis,
    BayesianPCA,
    FactorAnalysis,
    ProbabilisticPCA,
)
from tests.scikit_learn_checks import every_check


@pytest.mark.filterwarnings("ignore:sources .* cannot be told from normal ones")
@pytest.mark.filterwarnings("ignore:ICA stopped after")  # normal rows have no fixed point
@every_check(
    [
        PCA(),
        ProbabilisticPCA(),
        FactorAnalysis(),
        ICA(),
        BayesianPCA(),
        BayesianFactorAnalysis(),
        PCA(1, solver="power", random_state=0),
        PCA(1, solver="randomized", random_state=0),
        PCA(0.9, solver="svd", whiten=True),
        FactorAnalysis(rotation="varimax"),
        ICA(solver="fixed-point"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
