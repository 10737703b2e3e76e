"""What estimators have learned of their parameters, as a table in the units and under the names of the columns."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from posteriori.classification import BayesianLogisticRegression, ProbitRegression
from posteriori.mixture import BayesianGaussianMixture
from posteriori.regression import (
    BayesianLinearRegressor,
    HurdleRegressor,
    LogLinearRegressor,
    NegativeBinomialRegressor,
    OrdinalRegression,
    PoissonRegressor,
    RobustRegressor,
    ZeroInflatedRegressor,
)
from tests.estimators.test_contract import IDS, ROWS, rows_of
from tests.estimators.test_reliability import OTHERS

RNG = np.random.default_rng(0)
X = pd.DataFrame({"age": RNG.normal(40.0, 10.0, 80), "dose": RNG.normal(size=80)})
GROUPED = X.assign(ward=RNG.integers(0, 4, 80))
ETA = 0.03 * X["age"] - 0.8 * X["dose"]
NUMBERS = ETA + 0.3 * RNG.normal(size=80)
COUNTS = RNG.poisson(np.exp(ETA - 0.5)).astype(float)
TWO = np.where(ETA + RNG.logistic(size=80) > 1.0, "yes", "no")
THREE = np.array(["low", "mid", "top"])[np.digitize(ETA + 0.5 * RNG.normal(size=80), [0.8, 1.6])]
COLUMNS = ["coef[age]", "coef[dose]"]


def test_a_linear_model_says_what_its_posterior_says():
    model = BayesianLinearRegressor().fit(X, NUMBERS)
    table = model.summary(0.8)
    assert list(table.index) == [*COLUMNS, "intercept"]
    assert list(table.columns) == ["mean", "sd", "lower", "upper", "positive"]
    weights = model.posterior_.marginal_mean()
    np.testing.assert_allclose(table["mean"], [*model.coef_, model.intercept_])
    np.testing.assert_allclose(table["sd"], np.sqrt(np.diagonal(weights.cov)))
    scale = np.sqrt(np.diagonal(weights.scale))
    t = stats.t(weights.dof, weights.location, scale)
    np.testing.assert_allclose(table["lower"], t.ppf(0.1))
    np.testing.assert_allclose(table["upper"], t.ppf(0.9))
    np.testing.assert_allclose(table["positive"], t.sf(0.0), atol=1e-12)


@pytest.mark.parametrize("how", ["grid", "type-II", "ard"])
def test_hyper_parameters_are_averaged_or_chosen(how):
    model = BayesianLinearRegressor(hyperparameters=how).fit(X, NUMBERS)
    table, drawn = model.summary(), model.sample_weights(40_000, rng=1)
    np.testing.assert_allclose(table["mean"], [*model.coef_, model.intercept_], rtol=1e-9)
    np.testing.assert_allclose(table["sd"], drawn.std(axis=0), rtol=0.03)
    inside = (drawn > table["lower"].to_numpy()) & (drawn < table["upper"].to_numpy())
    np.testing.assert_allclose(inside.mean(axis=0), 0.9, atol=5 * np.sqrt(0.09 / 40_000))


def test_weights_that_are_fixed_have_no_spread():
    table = BayesianLinearRegressor(prior_precision=np.inf).fit(X, NUMBERS).summary()
    np.testing.assert_array_equal(table.loc[COLUMNS, ["mean", "sd"]], 0.0)
    assert table.loc["intercept", "sd"] > 0.0


def test_without_an_intercept_and_without_names():
    table = BayesianLinearRegressor(fit_intercept=False).fit(X.to_numpy(), NUMBERS).summary()
    assert list(table.index) == ["coef[0]", "coef[1]"]


@pytest.mark.parametrize(
    ("model", "y", "rows"),
    [
        (LogLinearRegressor(), np.exp(NUMBERS), [*COLUMNS, "intercept"]),
        (PoissonRegressor(), COUNTS, [*COLUMNS, "intercept"]),
        (RobustRegressor(), NUMBERS, [*COLUMNS, "intercept", "log_shape"]),
        (NegativeBinomialRegressor(), COUNTS, [*COLUMNS, "intercept", "log_shape"]),
        (BayesianLogisticRegression(), TWO, [*COLUMNS, "intercept"]),
        (ProbitRegression(), TWO, [*COLUMNS, "intercept"]),
        (OrdinalRegression(), THREE, [*COLUMNS, "thresholds[0]", "thresholds[1]"]),
    ],
    ids=lambda one: type(one).__name__ if hasattr(one, "fit") else "",
)
def test_rows_are_those_of_the_columns(model, y, rows):
    table = model.fit(X, y).summary()
    assert list(table.index) == rows
    middle = 0.5 * (table["lower"] + table["upper"])[:2]  # of beliefs that are about symmetric
    assert np.all(abs(middle - np.ravel(model.coef_)) < table["sd"][:2])
    assert np.all((table["positive"] > 0.5)[:2] == (np.ravel(model.coef_) > 0.0))


def test_rows_of_several_classes_and_of_two_parts():
    table = BayesianLogisticRegression().fit(X, THREE).summary()
    assert list(table.index[:3]) == ["coef[low, age]", "coef[low, dose]", "coef[mid, age]"]
    assert list(table.index[-3:]) == ["intercept[low]", "intercept[mid]", "intercept[top]"]
    table = ZeroInflatedRegressor().fit(X, COUNTS).summary()
    assert {"occurrence_coef[age]", "occurrence_intercept"} <= {*table.index}
    table = HurdleRegressor().fit(X, COUNTS).summary()
    assert {"occurrence coef[age]", "excess coef[dose]"} <= {*table.index}


@pytest.mark.parametrize(
    ("model", "y"),
    [
        (BayesianLinearRegressor(groups=["ward"]), NUMBERS),
        (PoissonRegressor(groups=["ward"]), COUNTS),
        (BayesianLogisticRegression(groups=["ward"]), TWO),
    ],
    ids=["numbers", "counts", "classes"],
)
def test_columns_of_groups_have_no_weights(model, y):
    table = model.fit(GROUPED, y).summary()
    assert list(table.index) == [*COLUMNS, "intercept"]
    np.testing.assert_allclose(
        table["mean"][:2], np.ravel(model.coef_), atol=0.2 * table["sd"].max()
    )


def test_components_have_their_columns():
    table = BayesianGaussianMixture(2, random_state=0).fit(X).summary()
    assert {"weights[0]", "means[0, age]", "means[1, dose]", "covariances[1, 0, 1]"} <= {
        *table.index
    }


def test_the_same_table_each_time():
    model = PoissonRegressor().fit(X, COUNTS)
    pd.testing.assert_frame_equal(model.summary(), model.summary())
    assert not model.summary(rng=1).equals(model.summary())


def test_refusals():
    with pytest.raises(NotFittedError):
        PoissonRegressor().summary()
    with pytest.raises(ValueError, match="mass must be a number between 0 and 1, got 90"):
        BayesianLinearRegressor().fit(X, NUMBERS).summary(90)


def test_notebooks_show_what_was_learned():
    model = BayesianLinearRegressor()
    assert "coef[age]" not in model._repr_html_()
    page = model.fit(X, NUMBERS)._repr_html_()
    table = model.summary()
    for name in table.index:
        assert f"<td>{name}</td><td>{table['mean'][name]:.4g}</td>" in page
    assert page.count("<svg") >= len(table)
    assert model._repr_mimebundle_()["text/html"] == page or "coef[age]" in page


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_notebooks_show_every_estimator(row):
    model = clone(row.model).fit(*rows_of(row.targets))
    assert type(model).__name__ in model._repr_html_()


@pytest.mark.filterwarnings("ignore::posteriori.numerics.warnings.ConvergenceWarning")
@pytest.mark.parametrize(("model", "data"), OTHERS, ids=lambda one: type(one).__name__)
def test_notebooks_show_those_of_sequences_and_tables(model, data):
    assert type(model).__name__ in clone(model).fit(data)._repr_html_()
