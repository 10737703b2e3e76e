"""The contract of generalised regressions and bases: scikit-learn's checks, weights, bad input."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from posteriori.numerics import ConvergenceWarning
from posteriori.regression import (
    FourierBasis,
    GaussianBasis,
    HurdleRegressor,
    LinearRegressor,
    NegativeBinomialRegressor,
    OrdinalRegression,
    PoissonRegressor,
    PolynomialBasis,
    RobustRegressor,
    SigmoidBasis,
    SplineBasis,
    ZeroInflatedRegressor,
    design_matrix,
)
from tests.scikit_learn_checks import every_check

MODELS = [
    PoissonRegressor(),
    NegativeBinomialRegressor(),
    RobustRegressor(),
    OrdinalRegression(),
    ZeroInflatedRegressor(),
]
BASES = [GaussianBasis(), SigmoidBasis(), FourierBasis(), SplineBasis(), PolynomialBasis()]


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*is a model of counts:UserWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@every_check([*MODELS, HurdleRegressor(), *BASES, GaussianBasis(2, tensor_product=True)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def problem(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(np.exp(0.3 + X @ [0.5, -0.5, 0.0])).clip(0, 4)


@pytest.mark.parametrize("model", MODELS)
def test_frequencies_equal_repeated_rows(model):
    X, y = problem()
    times = np.random.default_rng(1).integers(0, 4, size=60)
    weighted = clone(model).fit(X, y, sample_weight=times)
    repeated = clone(model).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)
    assert float(weighted.log_evidence_) == pytest.approx(float(repeated.log_evidence_), abs=1e-6)
    assert weighted.log_evidence_.comparable(repeated.log_evidence_)


@pytest.mark.parametrize("model", MODELS)
def test_units_of_columns_do_not_matter(model):
    X, y = problem()
    plain = clone(model).fit(X, y)
    for factor in (1e100, 1e-100):
        scaled = clone(model).fit(X * factor, y)
        np.testing.assert_allclose(scaled.coef_ * factor, plain.coef_, rtol=1e-6, atol=1e-9)
        assert float(scaled.log_evidence_) == pytest.approx(float(plain.log_evidence_), abs=1e-6)


@pytest.mark.parametrize("model", MODELS)
def test_degenerate_tables(model):
    X, y = problem(8)
    wide = np.random.default_rng(0).normal(size=(8, 20))
    constant = np.column_stack([X, np.full(8, 7.0), X[:, 0]])
    for table in (wide, constant):
        fitted = clone(model).fit(table, y)
        assert np.all(np.isfinite(fitted.coef_))
        assert np.all(np.isfinite(fitted.predict(table)))
    assert fitted.coef_[3] == pytest.approx(0.0, abs=1e-12)
    assert fitted.coef_[0] == pytest.approx(fitted.coef_[4], abs=1e-8)


@pytest.mark.parametrize("model", MODELS[:3])
def test_one_row(model):
    fitted = clone(model).fit([[1.0, 2.0]], [3.0])
    assert fitted.predict([[1.0, 2.0]])[0] == pytest.approx(3.0, rel=1.0)
    assert np.isfinite(float(fitted.log_evidence_))


@pytest.mark.parametrize("model", MODELS[:2])
def test_no_counts_at_all(model):
    X, _ = problem()
    fitted = clone(model).fit(X, np.zeros(60))
    assert 0 < fitted.predict(X).max() < 0.5
    assert 0 > float(fitted.log_evidence_) > -60


@pytest.mark.parametrize("model", MODELS)
def test_bad_input_is_named(model):
    X, y = problem()
    hole = X.copy()
    hole[4, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 1, row 4"):
        clone(model).fit(hole, y)
    with pytest.raises(ValueError, match="prior_precision must be a positive number, got -1"):
        clone(model).set_params(prior_precision=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"y contains infinity"):
        clone(model).fit(X, np.where(np.arange(60) == 3, np.inf, y))


def test_targets_off_the_support_are_named():
    X, y = problem()
    with pytest.raises(ValueError, match=r"counts >= 0 as y, got -1 in row 2"):
        PoissonRegressor().fit(X, np.where(np.arange(60) == 2, -1, y))
    with pytest.warns(UserWarning, match=r"model of counts, but y is 0.5 in row 2"):
        PoissonRegressor().fit(X, np.where(np.arange(60) == 2, 0.5, y))
    with pytest.raises(ValueError, match="dof must be positive, got 0"):
        RobustRegressor(dof=0).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        OrdinalRegression().fit(X, np.ones(60))


@pytest.mark.topic("000/D4")
def test_what_grids_cost():
    assert GaussianBasis(9, tensor_product=True).size(3) == 9**3
    assert PolynomialBasis(3).size(2) == 9  # x, y, x², xy, y², x³, x²y, xy², y³
    X = np.random.default_rng(0).random((30, 2))
    for basis in (
        *BASES,
        GaussianBasis(3, tensor_product=True),
        SplineBasis(4, tensor_product=True),
    ):
        out = clone(basis).fit(X)
        assert out.transform(X).shape == (30, basis.size(2))
        assert len(set(out.get_feature_names_out())) == basis.size(2)
    with pytest.raises(ValueError, match="9 functions along each of 10 columns has 3486784401"):
        GaussianBasis(9, tensor_product=True).fit(np.zeros((2, 10)))


def test_grid_functions_are_products_of_those_of_columns():
    X = np.random.default_rng(0).random((30, 2))
    side = GaussianBasis(3).fit_transform(X)
    grid = GaussianBasis(3, tensor_product=True).fit_transform(X)
    np.testing.assert_allclose(grid[:, 5], side[:, 1] * side[:, 3 + 2], rtol=1e-14)


def test_splines_sum_to_one():
    X = np.random.default_rng(0).random((30, 2))
    values = SplineBasis(6).fit_transform(X)
    np.testing.assert_allclose(values[:, :8].sum(axis=1), 1.0, rtol=1e-12)


@pytest.mark.topic("004/6.2b")
def test_design_matrix_has_a_row_for_each_input():
    x = np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_array_equal(design_matrix(x), [[1, 0], [1, 1], [1, 3]])
    cubic = design_matrix(x, PolynomialBasis(3))
    np.testing.assert_array_equal(cubic, [[1, 0, 0, 0], [1, 1, 1, 1], [1, 3, 9, 27]])
    fitted = GaussianBasis(2).fit([[0.0], [1.0]])  # keeps its own centres
    expected = np.exp(-0.5 * (x - [0.0, 1.0]) ** 2)
    np.testing.assert_allclose(design_matrix(x, fitted, bias=False), expected)
    with pytest.raises(ValueError, match="must be a table"):
        design_matrix([1.0, 2.0])


@pytest.mark.topic("000/D4")
def test_a_basis_bends_a_line():
    x = np.linspace(0, 1, 50)[:, None]
    y = np.sin(2 * np.pi * x[:, 0])
    assert LinearRegressor().fit(x, y).score(x, y) < 0.7
    assert make_pipeline(GaussianBasis(9), LinearRegressor()).fit(x, y).score(x, y) > 0.999
