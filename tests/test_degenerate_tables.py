"""A law of all estimators: degenerate tables end in sound answers, or in an error that says what to do."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from posteriori.decomposition import (
    ICA,
    PCA,
    BayesianFactorAnalysis,
    BayesianPCA,
    FactorAnalysis,
    KernelPCA,
    ProbabilisticPCA,
)
from posteriori.density import (
    AdaptiveHistogram,
    Histogram,
    KernelDensity,
    NearestNeighborDensity,
    StudentDensity,
)
from posteriori.estimators import LinearPredictorEstimator
from posteriori.mixture import GaussianMixture
from posteriori.regression import (
    FourierBasis,
    GaussianBasis,
    KernelBasis,
    PolynomialBasis,
    SigmoidBasis,
    SmoothBasis,
    SplineBasis,
)
from posteriori.sequence import (
    AutoregressiveSeries,
    CountSeries,
    HiddenMarkovClassifier,
    LinearGaussianModel,
    MarkovModel,
    StructuralSeries,
)
from tests.degenerate_tables import TABLES, case_of, fault_of, options_of
from tests.estimators.test_contract import ROWS, public_classes

#: Estimators that predict no targets, with what they learn from.
OTHERS: tuple[tuple[BaseEstimator, str], ...] = (
    *((made, "numbers") for made in (BayesianFactorAnalysis(), BayesianPCA(), FactorAnalysis())),
    *((made, "numbers") for made in (ICA(), KernelPCA(), PCA(), ProbabilisticPCA())),
    *((made, "numbers") for made in (AdaptiveHistogram(), Histogram(), KernelDensity())),
    *((made, "numbers") for made in (NearestNeighborDensity(2), StudentDensity())),
    *((made, "numbers") for made in (FourierBasis(), GaussianBasis(), KernelBasis())),
    *((made, "numbers") for made in (PolynomialBasis(), SigmoidBasis(), SmoothBasis())),
    (SplineBasis(), "numbers"),
    *((made, "series") for made in (AutoregressiveSeries(), CountSeries(), StructuralSeries())),
    (HiddenMarkovClassifier(), "sequences"),
    (LinearGaussianModel(1), "numbers"),
    (MarkovModel(), "symbols"),
)
LAWS = {type(row.model): (row.model, row.targets) for row in ROWS} | {
    type(made): (made, kind) for made, kind in OTHERS
}
KINDS = tuple(("columns", kind) for kind in ("bernoulli", "poisson", "categorical", "table"))
EMISSIONS = ("mvnormal", "categorical", "poisson", "student-t", "mixture")
#: Options that docstrings describe in words.
MORE = {
    "NaiveBayes": KINDS,
    "LatentClasses": KINDS,
    "HiddenMarkovModel": tuple(("emission", name) for name in EMISSIONS),
    "HiddenMarkovClassifier": tuple(("emission", name) for name in EMISSIONS),
}
#: Is no estimator, but what some have in common.
COMMON = {LinearPredictorEstimator}
ALL = pytest.mark.parametrize("one", LAWS, ids=lambda one: one.__name__)


def faults(one, seeds):
    model, kind = LAWS[one]
    cases = (case_of(model, kind, seed, MORE.get(one.__name__, ())) for seed in seeds)
    return [fault for case in cases if (fault := fault_of(case, kind))]


def test_every_public_estimator_is_under_the_law():
    assert set(LAWS) == public_classes() - COMMON


def test_options_are_those_of_docstrings():
    assert ("solver", "lbfgs") in options_of(GaussianMixture())
    assert ("split_merge", False) in options_of(GaussianMixture())
    assert not [name for name in MORE if name not in {one.__name__ for one in LAWS}]


def test_the_law_notices_what_is_unsound():
    class Unsound(BaseEstimator):
        def fit(self, X, y):
            return self

        def predict(self, X):
            return np.full(len(X), np.nan)

    class Failing(Unsound):
        def predict(self, X):
            return np.linalg.cholesky(-np.eye(2))

    for model, said in ((Unsound(), "predict is array"), (Failing(), "LinAlgError")):
        assert said in fault_of(case_of(model, "numbers", 0), "numbers")


@ALL
def test_degenerate_tables(one):
    """Some of the cases that slow runs go through, others for each estimator."""
    first = list(LAWS).index(one) % len(TABLES)
    assert not faults(one, range(first, 240, len(TABLES) + 1)[:8])


@pytest.mark.slow
@ALL
def test_many_degenerate_tables(one):
    assert not faults(one, range(300))
