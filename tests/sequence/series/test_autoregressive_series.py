"""Autoregressions against conjugate regression written out."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import logsumexp
from scipy.stats import multivariate_t

from posteriori.datasets import load_sunspots
from posteriori.sequence import AutoregressiveSeries


def make(steps=40, seed=0):
    rng = np.random.default_rng(seed)
    y = np.zeros(steps + 20)
    for t in range(2, steps + 20):
        y[t] = 1.0 + 0.9 * y[t - 1] - 0.4 * y[t - 2] + rng.normal()
    return 10.0 + y[20:]


def design_of(z, order):
    """Regressors of values 1, 2, …: before the first lie copies of it."""
    return np.array(
        [[1.0, *(z[max(t - k, 0)] for k in range(1, order + 1))] for t in range(1, len(z))]
    )


def units_of(y):
    unit = np.sqrt((np.diff(y) ** 2).mean() / 2)
    return y.mean(), unit, 3 * y.std() / unit


def log_evidence(y, order):
    """The joint Student distribution of all values after the first and the first itself.

    The values are not jointly Student, their regressors being values; but the product of conditional
    densities is that of a regression with fixed regressors.
    """
    center, unit, wide = units_of(y)
    return log_evidence_in_units((y - center) / unit, order, wide) - len(y) * np.log(unit)


def log_evidence_in_units(z, order, wide):
    x = design_of(z, order)
    prior = np.diag([1.0, *(1.0 / np.arange(1.0, order + 1) ** 2)])
    cov = np.eye(len(z))
    cov[0, 0] = 1.0 + wide**2
    cov[1:, 1:] += x @ prior @ x.T
    return multivariate_t(np.zeros(len(z)), 0.1 / 0.5 * cov, df=1.0).logpdf(z)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_evidence_is_that_of_conjugate_regression(order):
    y = make()
    model = AutoregressiveSeries(order).fit(y)
    assert float(model.log_evidence_) == pytest.approx(log_evidence(y, order), abs=1e-8)
    assert model.log_evidence_.kind == "exact"
    assert model.log_predictive_.sum() == pytest.approx(float(model.log_evidence_))


def test_orders_are_averaged_by_evidence():
    y = make()
    model = AutoregressiveSeries().fit(y)
    each = np.array([log_evidence(y, p) for p in range(6)])  # up to 40/8
    assert float(model.log_evidence_) == pytest.approx(logsumexp(each) - np.log(6), abs=1e-8)
    np.testing.assert_allclose(model.order_.probabilities, np.exp(each - logsumexp(each)))
    assert model.order_.mode == 2


def test_updated_weights_are_those_of_all_values():
    y = make(60, 1)
    model = AutoregressiveSeries(2).fit(y[:30]).update(y[30:45]).update(y[45:])
    center, unit, _ = units_of(y[:30])
    z = (y - center) / unit
    x = design_of(z, 2)
    precision = x.T @ x + np.diag([1.0, 1.0, 4.0])
    np.testing.assert_allclose(
        model.weights_, np.linalg.solve(precision, x.T @ z[1:])[1:], atol=1e-10
    )


def test_one_step_is_students_and_paths_agree_with_forecasts():
    y = make()
    model = AutoregressiveSeries(2).fit(y)
    center, unit, wide = units_of(y)
    z = (y - center) / unit
    x, shrink = design_of(z, 2), np.diag([1.0, 1.0, 4.0])
    precision = x.T @ x + shrink
    weights = np.linalg.solve(precision, x.T @ z[1:])
    rest = z[1:] @ z[1:] - weights @ precision @ weights + z[0] ** 2 / (1 + wide**2)
    rate, shape = 0.1 + 0.5 * rest, 0.5 + 0.5 * len(z)
    row = np.array([1.0, z[-1], z[-2]])
    spread = rate / (shape - 1) * (1 + row @ np.linalg.solve(precision, row))
    ahead = model.forecast(4)
    error = unit * np.sqrt(spread / 2000)  # of as many paths, at most
    assert abs(ahead.mean[0] - center - unit * (row @ weights)) < 5 * error
    assert ahead.variance[0] == pytest.approx(unit**2 * spread, rel=5 * np.sqrt(2 / 2000))
    paths = model.sample_paths(4, 4000, rng=0)
    errors = 5 * np.sqrt(ahead.variance * (1 / 4000 + 1 / 2000))
    assert (np.abs(paths.mean(axis=0) - ahead.mean) < errors).all()


def test_sunspots_have_the_order_that_everyone_finds():
    """Nine, as by Akaike's criterion: Tong, "Non-linear time series", 1990, section 7.3."""
    assert AutoregressiveSeries().fit(load_sunspots()["sunspots"]).order_.mode == 9


def gappy(missing, steps=40, seed=0):
    y = make(steps, seed)
    y[list(missing)] = np.nan
    return y


def units_around_gaps(y):
    steps, seen = np.diff(y), y[~np.isnan(y)]
    unit = np.sqrt(np.nanmean(steps**2) / 2)
    return seen.mean(), unit, 3 * seen.std() / unit


@pytest.mark.parametrize(("order", "missing"), [(0, [20]), (1, [20]), (2, [20]), (2, [20, 21])])
def test_with_gaps_the_evidence_is_a_bound_that_lies_close(order, missing):
    """The evidence by quadrature over the missing values, each of the completed series exact."""
    y = gappy(missing)
    center, unit, wide = units_around_gaps(y)

    def density(*values):
        z = (y - center) / unit
        z[missing] = values
        return np.exp(log_evidence_in_units(z, order, wide) + 60.0)

    if len(missing) == 1:
        integral = quad(density, -30, 30, points=(-3, 3), epsabs=0, epsrel=1e-8)[0]
    else:
        grid = np.linspace(-7.0, 7.0, 41)  # sums of smooth functions over equal steps are integrals
        integral = sum(density(a, b) for a in grid for b in grid) * (grid[1] - grid[0]) ** 2
    exact = np.log(integral) - 60.0 - (~np.isnan(y)).sum() * np.log(unit)
    model = AutoregressiveSeries(order).fit(y)
    bound = model.log_evidence_
    assert bound.kind == "bound"
    assert exact - 0.1 * len(missing) < float(bound) < exact + 1e-6
    assert model.log_predictive_.sum() == pytest.approx(float(bound))
    assert (model.log_predictive_[missing] == 0.0).all()


def test_gaps_before_and_after_all_values_say_nothing():
    y = make()
    around = np.concatenate([[np.nan, np.nan], y, [np.nan] * 3])
    plain, model = AutoregressiveSeries(2).fit(y), AutoregressiveSeries(2).fit(around)
    assert model.log_evidence_.kind == "exact"
    assert float(model.log_evidence_) == pytest.approx(float(plain.log_evidence_), abs=1e-10)
    later, ahead = plain.forecast(7), model.forecast(4)
    errors = 5 * np.sqrt(2 * later.variance[3:] / 2000)
    assert (np.abs(ahead.mean - later.mean[3:]) < errors).all()
    np.testing.assert_allclose(ahead.std, later.std[3:], rtol=0.1)


def test_orders_are_averaged_with_gaps():
    y = gappy([10, 11, 25, 60, 61, 62, 63], 160, 2)
    model = AutoregressiveSeries().fit(y)
    each = [float(AutoregressiveSeries(p).fit(y).log_evidence_) for p in range(21)]
    assert float(model.log_evidence_) == pytest.approx(logsumexp(each) - np.log(21), abs=1e-8)
    assert model.order_.mode == np.argmax(each)


def test_updated_around_gaps_is_learned_from_all():
    """In the units of the first values; whether gaps come before, after or between."""
    y = gappy([12, 13, 29, 30, 31, 50], 60, 1)
    first = AutoregressiveSeries(2).fit(y[:30])
    model = AutoregressiveSeries(2).fit(y[:30]).update(y[30:45]).update(y[45:])
    assert model.log_evidence_.kind == "bound"
    assert model.log_predictive_.sum() == pytest.approx(float(model.log_evidence_))
    np.testing.assert_array_equal(model.log_predictive_[:30], first.log_predictive_)
    center, unit, _ = units_around_gaps(y[:30])
    again = AutoregressiveSeries(2).fit(y[:30])
    whole = again._learn_all((y - center) / unit)
    assert model.log_predictive_.sum() == pytest.approx(whole.sum(), abs=1e-5)
    np.testing.assert_allclose(model.weights_, again.weights_, atol=1e-4)


def test_missing_lags_widen_forecasts():
    """One step after a gap of the last value but one: its variance is that of a value not seen."""
    y = make(200, 3)
    hidden = y.copy()
    hidden[-2] = np.nan
    seen, blind = (AutoregressiveSeries(2).fit(each).forecast(1) for each in (y, hidden))
    weight = AutoregressiveSeries(2).fit(y).weights_[1]
    assert (
        blind.variance[0] > seen.variance[0] + 0.5 * weight**2 * 0.5
    )  # of about 1 given neighbours
