"""Least squares against certified answers (NIST Statistical Reference Datasets)."""

import numpy as np
import pytest

from posteriori.regression import BayesianLinearRegressor, LinearRegressor
from tests.regression.certified import PROBLEMS

pytestmark = pytest.mark.blas


def fewest_digits(got, certified):
    relative = np.abs(np.asarray(got) / np.asarray(certified) - 1.0)
    return -np.log10(np.maximum(relative, 1e-16)).min()


@pytest.mark.parametrize("name", PROBLEMS)
def test_certified_parameters(name):
    problem = PROBLEMS[name]
    model = LinearRegressor().fit(problem.X, problem.y)
    got = np.append(model.intercept_, model.coef_)
    assert fewest_digits(got, problem.parameters) >= problem.digits
    assert model.rank_ == problem.X.shape[1]


@pytest.mark.parametrize("name", [name for name, p in PROBLEMS.items() if p.residual_std > 0])
def test_certified_residual_standard_deviation(name):
    problem = PROBLEMS[name]
    model = LinearRegressor().fit(problem.X, problem.y)
    digits = 8 if name == "Filip" else 9
    assert fewest_digits(np.sqrt(model.residual_variance_), problem.residual_std) >= digits


@pytest.mark.parametrize("name", ["Wampler1", "Wampler2"])
def test_a_perfect_fit_leaves_no_residual(name):
    problem = PROBLEMS[name]
    model = LinearRegressor().fit(problem.X, problem.y)
    assert np.sqrt(model.residual_variance_) < 1e-14 * np.abs(problem.y).max()


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_flat_prior_has_the_certified_mean(name):
    problem = PROBLEMS[name]
    model = BayesianLinearRegressor(0.0, noise_precision=1.0, intercept_precision=0.0)
    model.fit(problem.X, problem.y)
    got = np.append(model.intercept_, model.coef_)
    assert fewest_digits(got, problem.parameters) >= problem.digits


def test_chunks_keep_the_certified_digits():
    problem = PROBLEMS["Longley"]
    model = BayesianLinearRegressor(0.0, noise_precision=1.0, intercept_precision=0.0)
    for rows in np.array_split(np.arange(16), 5):
        model.partial_fit(problem.X[rows], problem.y[rows])
    got = np.append(model.intercept_, model.coef_)
    assert fewest_digits(got, problem.parameters) >= 9
