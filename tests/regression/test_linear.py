"""Least squares against normal equations, refits without a row, and repeated rows."""

import numpy as np
import pytest
from scipy import stats

from posteriori.regression import LinearRegressor
from tests.regression.oracles import problem

pytestmark = pytest.mark.blas


def dense_fit(X, y, ridge=0.0, weights=None, fit_intercept=True):
    """Solve the normal equations; the intercept is a column that is not shrunk."""
    n, d = X.shape
    design = np.column_stack([X, np.ones(n)]) if fit_intercept else X
    penalty = np.zeros(design.shape[1])
    penalty[:d] = ridge
    w = np.ones(n) if weights is None else weights
    gram = design.T @ (w[:, None] * design) + np.diag(penalty)
    solution = np.linalg.solve(gram, design.T @ (w[:, None] * y.reshape(n, -1)))
    return solution[:d].T, solution[d:].T


@pytest.mark.parametrize("ridge", [0.0, 0.7, 50.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_solve_the_normal_equations(ridge, fit_intercept):
    X, y, rng = problem(n=30)
    f, v = rng.integers(1, 4, size=30).astype(float), rng.uniform(0.5, 2.0, size=30)
    model = LinearRegressor(ridge=ridge, fit_intercept=fit_intercept)
    model.fit(X, y, sample_weight=f, noise_variance=v)
    coef, intercept = dense_fit(X, y, ridge, f / v, fit_intercept)
    np.testing.assert_allclose(model.coef_, coef[0], rtol=1e-11)
    np.testing.assert_allclose(model.intercept_, intercept[0] if fit_intercept else 0.0, rtol=1e-10)


def test_several_targets_are_several_fits():
    X, y, rng = problem(n=25)
    Y = np.column_stack([y, rng.normal(size=25), X @ [1.0, -2.0, 0.5]])
    model = LinearRegressor(ridge=0.3).fit(X, Y)
    for m in range(3):
        one = LinearRegressor(ridge=0.3).fit(X, Y[:, m])
        np.testing.assert_allclose(model.coef_[m], one.coef_, rtol=1e-11)
        np.testing.assert_allclose(model.intercept_[m], one.intercept_, rtol=1e-10)
        np.testing.assert_allclose(model.press(X, Y)[m], one.press(X, Y[:, m]), rtol=1e-10)
    assert model.predict(X).shape == (25, 3)


@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_leave_one_out_residuals_equal_refits(ridge, fit_intercept):
    X, y, rng = problem(n=15)
    v = rng.uniform(0.5, 2.0, size=15)
    settings = {"ridge": ridge, "fit_intercept": fit_intercept}
    model = LinearRegressor(**settings).fit(X, y, noise_variance=v)
    refits = []
    for n in range(15):
        rest = np.delete(np.arange(15), n)
        other = LinearRegressor(**settings).fit(X[rest], y[rest], noise_variance=v[rest])
        refits.append(y[n] - other.predict(X[[n]])[0])
    got = model.leave_one_out_residuals(X, y, noise_variance=v)
    np.testing.assert_allclose(got, refits, rtol=1e-9)
    expected = np.sum(np.square(refits) / v)
    np.testing.assert_allclose(model.press(X, y, noise_variance=v), expected, rtol=1e-9)


def test_a_row_of_weight_two_is_left_out_once():
    X, y, _ = problem(n=10)
    f = np.ones(10)
    f[3] = 2.0
    model = LinearRegressor().fit(X, y, sample_weight=f)
    other = LinearRegressor().fit(X, y)  # one copy of row 3 is left
    got = model.leave_one_out_residuals(X, y)[3]
    np.testing.assert_allclose(got, y[3] - other.predict(X[[3]])[0], rtol=1e-10)
    repeated = np.append(np.arange(10), 3)
    np.testing.assert_allclose(
        model.press(X, y, sample_weight=f), model.press(X[repeated], y[repeated]), rtol=1e-12
    )


def test_a_row_that_nobody_else_speaks_of_has_an_infinite_leave_one_out_residual():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [3.0, 1.0]])
    model = LinearRegressor().fit(X, [0.0, 1.0, 2.5, 7.0])
    got = model.leave_one_out_residuals(X, [0.0, 1.0, 2.5, 7.0])
    assert np.isinf(got[3])
    assert np.isfinite(got[:3]).all()


def test_likelihood_and_bic_against_the_density():
    X, y, rng = problem(n=20)
    v = rng.uniform(0.5, 2.0, size=20)
    model = LinearRegressor().fit(X, y, noise_variance=v)
    residual = y - model.predict(X)
    assert model.noise_variance_ == pytest.approx(np.mean(residual**2 / v), rel=1e-11)
    std = np.sqrt(v * model.noise_variance_)
    expected = stats.norm.logpdf(residual, scale=std).sum()
    assert model.log_likelihood_ == pytest.approx(expected, rel=1e-12)
    assert model.bic_ == pytest.approx(-2 * expected + 5 * np.log(20), rel=1e-12)


def test_effective_parameters_of_ridge_count_in_bic():
    X, y, _ = problem(n=20)
    centred = X - X.mean(axis=0)
    hat = centred @ np.linalg.solve(centred.T @ centred + 5.0 * np.eye(3), centred.T)
    model = LinearRegressor(ridge=5.0).fit(X, y)
    used = np.trace(hat) + 2.0
    assert model.bic_ == pytest.approx(-2 * model.log_likelihood_ + used * np.log(20), rel=1e-12)


def test_frequencies_are_repeated_rows():
    X, y, rng = problem(n=12)
    f = rng.integers(0, 4, size=12)
    weighted = LinearRegressor().fit(X, y, sample_weight=f)
    repeated = LinearRegressor().fit(np.repeat(X, f, axis=0), np.repeat(y, f))
    for name in ("coef_", "intercept_", "log_likelihood_", "bic_", "residual_variance_"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-10, err_msg=name
        )


def test_dependent_columns_are_named_and_get_the_shortest_weights():
    X, y, _ = problem(n=20)
    wide = np.column_stack([X, X[:, 0] - 2.0 * X[:, 1] + 5.0, np.full(20, 0.1)])
    with pytest.warns(np.exceptions.RankWarning) as caught:
        model = LinearRegressor().fit(wide, y)
    message = str(caught[0].message)
    assert "determine 3 of 5 weights" in message
    assert "column 4 = constant" in message
    assert model.rank_ == 3
    centred = wide - wide.mean(axis=0)
    centred[:, 4] = 0.0
    shortest = np.linalg.pinv(centred) @ (y - y.mean())
    np.testing.assert_allclose(model.coef_, shortest, rtol=1e-9, atol=1e-12)


def test_the_warning_uses_the_names_of_a_frame():
    pd = pytest.importorskip("pandas")
    X, y, _ = problem(n=20, d=2)
    frame = pd.DataFrame(X, columns=["height", "width"])
    frame["double"] = 2.0 * frame["height"]
    with pytest.warns(np.exceptions.RankWarning, match="height|double"):
        LinearRegressor().fit(frame, y)


def test_gram_and_reflections_agree_on_ordinary_data():
    """Large data take the Gram matrix, small data reflections: both are exact to rounding."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 6)) + 3.0
    y = X @ np.arange(6.0) + rng.normal(size=4000)
    model = LinearRegressor().fit(X, y)  # more numbers than are triangularised at once
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(4000)]), y, rcond=None)[0]
    np.testing.assert_allclose(np.append(model.coef_, model.intercept_), expected, rtol=1e-11)


def test_large_nearly_dependent_data_keep_their_digits():
    rng = np.random.default_rng(2)
    x = rng.normal(size=20_000)
    X = np.column_stack([x, x + 1e-6 * rng.normal(size=20_000)])
    y = X @ [1.0, 2.0]
    model = LinearRegressor().fit(X, y)
    np.testing.assert_allclose(model.coef_, [1.0, 2.0], rtol=1e-8)


@pytest.mark.parametrize("ridge", [-1.0, np.nan, np.inf])
def test_ridge_must_be_a_penalty(ridge):
    X, y, _ = problem()
    with pytest.raises(ValueError, match="ridge must be a finite number >= 0"):
        LinearRegressor(ridge=ridge).fit(X, y)
