"""Estimators and models on hostile arrays: a finite answer, or an error that says what is wrong."""

import warnings

import numpy as np
import pytest

from posteriori import Bernoulli, Beta, Gamma, Model, Normal, Poisson
from posteriori.classification import BayesianLogisticRegression, ClassFrequencies, NaiveBayes
from posteriori.mixture import KMeans, KMedians, KMedoids, MixtureOfExperts
from posteriori.regression import BayesianLinearRegressor, LinearRegressor, PoissonRegressor
from posteriori.tree import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor

#: Entries that data are spoilt with.
SPOILS = (0.0, -1.0, 1e300, -1e300, 1e-300, 1e12, np.nan, np.inf, None, "a", 10**309)

ESTIMATORS = (
    LinearRegressor,
    BayesianLinearRegressor,
    PoissonRegressor,
    ClassFrequencies,
    NaiveBayes,
    BayesianLogisticRegression,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    DecisionStump,
    MixtureOfExperts,
    KMeans,
    KMedians,
    KMedoids,
)


def _spoilt(rng, values):
    """Return the array with a few entries replaced, or another shape, or masked."""
    made = np.array(values, dtype=object)
    for _ in range(int(rng.integers(0, 3))):
        made.flat[int(rng.integers(made.size))] = SPOILS[int(rng.integers(len(SPOILS)))]
    kind = rng.integers(6)
    if kind == 0:
        return made[:0]
    if kind == 1:
        return made[:1]
    if kind == 2:
        return np.ma.array(values, mask=rng.random(np.shape(values)) < 0.3)
    return made.tolist()


def _outcome(ask):
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", message="the data determine")  # says what it does
        warnings.filterwarnings("ignore", category=UserWarning)
        try:
            return ask()
        except (ValueError, TypeError) as refused:
            if not str(refused):
                raise
    return None


def _fit_faults(estimator, seed, n):
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n):
        x = rng.normal(size=(12, 2))
        y = (x[:, 0] > 0) * 1.0
        data = _spoilt(rng, x) if rng.random() < 0.6 else x, _spoilt(rng, y)
        try:
            answer = _outcome(lambda data=data, x=x: estimator().fit(*data).predict(x))
        except Exception as error:
            found.append(f"{estimator.__name__} case {k}: {error!r}")
            continue
        if answer is not None and answer.dtype.kind == "f" and not np.isfinite(answer).all():
            found.append(f"{estimator.__name__} case {k}: {answer}")
    return found


def _model(kind):
    m = Model()
    if kind == 0:
        m.mu = Normal(0.0, variance=4.0)
        m.y = Normal(m.mu, variance=1.0).iid("n")
    elif kind == 1:
        m.p = Beta(0.5, 0.5)
        m.y = Bernoulli(m.p).iid("n")
    else:
        m.rate = Gamma(2.0, 1.0)
        m.y = Poisson(m.rate).iid("n")
    return m


def _model_faults(seed, n):
    rng = np.random.default_rng(seed)
    found = []
    for k in range(n):
        kind = int(rng.integers(3))
        y = _spoilt(rng, rng.integers(0, 2, size=5) * 1.0)
        try:
            evidence = _outcome(lambda kind=kind, y=y: _model(kind).infer(y=y).log_evidence)
        except Exception as error:
            found.append(f"model {kind} case {k} {y}: {error!r}")
            continue
        if evidence is not None and not np.isfinite(float(evidence)):
            found.append(f"model {kind} case {k} {y}: {evidence}")
    return found


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_on_hostile_arrays(estimator):
    assert not _fit_faults(estimator, 0, 8)


def test_models_on_hostile_data():
    assert not _model_faults(0, 30)


@pytest.mark.slow
def test_models_on_much_hostile_data():
    assert not _model_faults(1, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_on_many_hostile_arrays(estimator):
    assert not _fit_faults(estimator, 1, 500)
