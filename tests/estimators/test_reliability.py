"""Every estimator whose posterior is an approximation tells how far to trust it."""

import numpy as np
import pytest
from scipy.integrate import trapezoid
from scipy.special import log_expit
from sklearn.base import clone

from posteriori.classification import BayesianLogisticRegression
from posteriori.decomposition import BayesianFactorAnalysis, BayesianPCA
from posteriori.density import AdaptiveHistogram, Histogram
from posteriori.estimators import offers
from posteriori.estimators.contract import ChecksItself, HasEvidence
from posteriori.regression import BayesianLinearRegressor, PoissonRegressor
from posteriori.sequence import (
    AutoregressiveSeries,
    CountSeries,
    LinearGaussianModel,
    MarkovModel,
    StructuralSeries,
)
from posteriori.tree import BayesianTreeRegressor
from tests.estimators.test_contract import IDS, ROWS, rows_of

SERIES = np.cumsum(np.random.default_rng(0).normal(size=30))
GAPPY = SERIES.copy()
GAPPY[[7, 20]] = np.nan
OTHERS = [
    (BayesianPCA(1), np.random.default_rng(0).normal(size=(20, 3))),
    (BayesianFactorAnalysis(1), np.random.default_rng(0).normal(size=(20, 3))),
    (Histogram(), SERIES[:, None]),
    (AdaptiveHistogram(), SERIES[:, None]),
    (AutoregressiveSeries(1), GAPPY),
    (CountSeries(), np.random.default_rng(0).poisson(3.0, 30).astype(float)),
    (StructuralSeries(), SERIES),
    (LinearGaussianModel(1, method="variational", max_iter=20), SERIES[:, None]),
    (MarkovModel(), ["a", "b", None, "a", "b", "b", "a"]),
]


def check(model):
    assert offers(model, HasEvidence)
    if model.log_evidence_.kind == "exact":
        return
    assert offers(model, ChecksItself), type(model).__name__
    assert isinstance(model.cautions, tuple)
    found = model.reliability(100, rng=0)
    assert found.verdict
    if found.draws:
        assert set(found.too_narrow) <= set(found.unknowns)
        assert model.parameter_intervals(draws=100, rng=0).median.keys() == found.unknowns.keys()
    else:
        assert found.unchecked


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_approximate_posteriors_tell_how_far_to_trust_them(row):
    if HasEvidence in row.offered:
        check(clone(row.model).fit(*rows_of(row.targets)))


@pytest.mark.filterwarnings("ignore::posteriori.numerics.warnings.ConvergenceWarning")
@pytest.mark.parametrize(("model", "data"), OTHERS, ids=lambda one: type(one).__name__)
def test_those_of_sequences_and_tables_do_too(model, data):
    check(model.fit(data))


def test_weighed_intervals_are_those_of_the_posterior():
    """One weight without intercept, by a fine grid."""
    x = np.array([0.5, 1.0, 1.5, 2.0, -1.0, 3.0])
    y = np.array([1, 1, 0, 1, 0, 1])
    model = BayesianLogisticRegression(1.0, fit_intercept=False, method="polya-gamma").fit(
        x[:, None], y
    )
    found = model.parameter_intervals(0.9, draws=20_000, rng=0)
    scale = model._standardization.scale[0]
    w = np.linspace(-10.0, 20.0, 6001)  # of the raw column
    log = log_expit(np.where(y == 1, 1, -1) * x * w[:, None]).sum(axis=1)
    density = np.exp(log - 0.5 * (w * scale) ** 2)
    mass = np.cumsum(density) / density.sum()
    low, high = np.interp([0.05, 0.95], mass, w)
    mean = trapezoid(w * density, w) / trapezoid(density, w)
    spread = np.sqrt(trapezoid((w - mean) ** 2 * density, w) / trapezoid(density, w))
    assert found.lower["coef"].item() == pytest.approx(low, abs=0.1 * spread)
    assert found.upper["coef"].item() == pytest.approx(high, abs=0.1 * spread)
    check = model.reliability(20_000, rng=1)
    assert check.unknowns["coef"].ratio == pytest.approx(
        float(np.sqrt(model.posterior_.variance.item())) / spread, abs=0.05
    )


def test_groups_and_wide_tables_are_not_weighed():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(8, 12)), rng.poisson(2.0, 8)
    model = PoissonRegressor().fit(x, y)
    assert model.reliability().unchecked == "groups, wide tables and very long ones are not weighed"
    assert "taken for normal around its mode" in model.cautions[0]
    with pytest.raises(TypeError, match="are not drawn: groups"):
        model.parameter_intervals()


def test_exact_posteriors_have_nothing_to_check():
    x, y = rows_of("numbers")
    model = BayesianLinearRegressor().fit(x, y)
    assert model.cautions == ()
    assert model.reliability().verdict == "exact: nothing to check"
    with pytest.raises(ValueError, match="draws must be at least 100"):
        model.reliability(10)


def test_greedy_sums_over_trees_say_what_is_left_out():
    x, y = rows_of("numbers")
    model = BayesianTreeRegressor(max_bins=4, search="greedy").fit(x, y)
    assert "did not meet" in model.cautions[0]
    assert model.reliability().verdict.startswith("not checked")
