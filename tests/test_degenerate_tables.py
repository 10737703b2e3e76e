"""A law of all estimators: degenerate tables end in sound answers, or in an error that says what to do."""

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
    LinearDynamicalSystem,
    MarkovModel,
    StructuralSeries,
)
from tests.degenerate_tables import case_of, fault_of
from tests.estimators.test_contract import ROWS, public_estimators

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
    (LinearDynamicalSystem(1), "numbers"),
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
ALL = pytest.mark.parametrize("one", LAWS, ids=lambda one: one.__name__)


def faults(one, seeds):
    model, kind = LAWS[one]
    more = MORE.get(one.__name__, ())
    return [fault for s in seeds if (fault := fault_of(case_of(model, kind, s, more), kind))]


def test_every_public_estimator_is_under_the_law():
    assert set(LAWS) == public_estimators() | {type(made) for made, _ in OTHERS}
