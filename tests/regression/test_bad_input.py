"""What regressions do with input that is wrong, degenerate or extreme."""

import numpy as np
import pytest

from posteriori.regression import BayesianLinearRegressor, LinearRegressor
from tests.regression.oracles import problem

BOTH = [LinearRegressor, BayesianLinearRegressor]
MODES = ["fixed", "type-II", "ard", "grid"]


@pytest.mark.parametrize("family", BOTH)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_column_of_a_bad_input_is_named(family, value):
    pd = pytest.importorskip("pandas")
    X, y, _ = problem()
    X[4, 1] = value
    with pytest.raises(ValueError, match=r"(NaN|inf).*column 1, row 4"):
        family().fit(X, y)
    with pytest.raises(ValueError, match=r"column 'b', row 4"):
        family().fit(pd.DataFrame(X, columns=list("abc")), y)


@pytest.mark.parametrize("family", BOTH)
def test_infinite_targets_are_refused(family):
    X, y, _ = problem()
    y[3] = -np.inf
    with pytest.raises(ValueError, match="infinity in row 3"):
        family().fit(X, y)


@pytest.mark.parametrize("family", BOTH)
@pytest.mark.parametrize(
    ("variance", "message"),
    [
        (np.ones(5), r"one number per row \(12\), got shape \(5,\)"),
        (np.r_[np.ones(11), 0.0], "positive and finite, got 0 in row 11"),
        (np.r_[np.nan, np.ones(11)], "got nan in row 0"),
    ],
)
def test_noise_variances_must_be_positive(family, variance, message):
    X, y, _ = problem()
    with pytest.raises(ValueError, match=message):
        family().fit(X, y, noise_variance=variance)


@pytest.mark.parametrize("family", BOTH)
def test_weights_of_zero_everywhere_leave_no_row(family):
    X, y, _ = problem()
    with pytest.raises(ValueError, match=r"no row is left|at least one non-zero"):
        family().fit(X, y, sample_weight=np.zeros(12))
    with pytest.raises(ValueError, match=r"[Nn]egative"):
        family().fit(X, y, sample_weight=np.r_[-1.0, np.ones(11)])


@pytest.mark.parametrize("family", BOTH)
def test_a_bad_target_of_weight_zero_is_absent(family):
    X, y, _ = problem()
    weights = np.ones(12)
    weights[5] = 0.0
    spoilt = y.copy()
    spoilt[5] = np.nan
    got = family().fit(X, spoilt, sample_weight=weights)
    rest = np.delete(np.arange(12), 5)
    np.testing.assert_allclose(got.coef_, family().fit(X[rest], y[rest]).coef_, rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_constant_and_duplicate_columns(mode):
    """A constant says nothing; a duplicate shares the weight of its twin."""
    X, y, _ = problem(n=30)
    wide = np.column_stack([X, np.full(30, 0.1), X[:, 0]])
    model = BayesianLinearRegressor(hyperparameters=mode).fit(wide, y)
    assert abs(model.coef_[3]) < 1e-20
    assert np.isfinite(model.predict(wide, return_std=True)).all()
    if mode != "ard":  # a symmetric prior
        assert model.coef_[0] == pytest.approx(model.coef_[4], rel=1e-8)


@pytest.mark.parametrize("constant", [1e12, 0.1, -3e-9])
def test_rounding_of_a_constant_is_not_a_column(constant):
    X, y, _ = problem(n=30)
    wide = np.column_stack([X, np.full(30, constant)])
    with pytest.warns(np.exceptions.RankWarning, match="column 3 = constant"):
        model = LinearRegressor().fit(wide, y)
    assert model.coef_[3] == 0.0
    assert model.rank_ == 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("size", [1e140, 1e-140, 1e8])
def test_huge_and_tiny_columns_change_nothing_but_their_weights(mode, size):
    X, y, _ = problem(n=30)
    scale = np.array([size, 1.0, 1.0 / size])
    model = BayesianLinearRegressor(hyperparameters=mode).fit(X * scale, y)
    plain = BayesianLinearRegressor(hyperparameters=mode).fit(X, y)
    np.testing.assert_allclose(model.coef_ * scale, plain.coef_, rtol=1e-7)
    assert float(model.log_evidence_) == pytest.approx(float(plain.log_evidence_), rel=1e-10)
    mean, std = model.predict(X[:3] * scale, return_std=True)
    expected, expected_std = plain.predict(X[:3], return_std=True)
    np.testing.assert_allclose(mean, expected, rtol=1e-9)
    np.testing.assert_allclose(std, expected_std, rtol=1e-9)


@pytest.mark.parametrize("size", [1e100, 1e-100])
def test_huge_and_tiny_targets(size):
    X, y, _ = problem(n=30)
    model, plain = BayesianLinearRegressor().fit(X, size * y), BayesianLinearRegressor().fit(X, y)
    np.testing.assert_allclose(model.coef_, size * plain.coef_, rtol=1e-10)
    # p(y) is a density: its logarithm loses 30 ln(size)
    shifted = float(plain.log_evidence_) - 30 * np.log(size)
    assert float(model.log_evidence_) == pytest.approx(shifted, rel=1e-12)


def test_columns_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(3)
    x = rng.normal(size=200)
    y = 2.0 * x + rng.normal(size=200)
    near = BayesianLinearRegressor().fit(x[:, None], y)
    far = BayesianLinearRegressor().fit(x[:, None] + 2.0**30, y)
    np.testing.assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    assert float(far.log_evidence_) == pytest.approx(float(near.log_evidence_), rel=1e-6)


@pytest.mark.parametrize("mode", ["fixed", "grid"])
def test_one_row(mode):
    model = BayesianLinearRegressor(hyperparameters=mode).fit([[1.0, 2.0]], [3.0])
    np.testing.assert_allclose(model.predict([[1.0, 2.0]]), 3.0)
    np.testing.assert_array_equal(model.coef_, [0.0, 0.0])
    assert np.isfinite(float(model.log_evidence_))


def test_one_row_of_least_squares_warns():
    with pytest.warns(np.exceptions.RankWarning, match="determine 0 of 2"):
        model = LinearRegressor().fit([[1.0, 2.0]], [3.0])
    np.testing.assert_array_equal(model.predict([[5.0, 6.0]]), [3.0])


def test_more_columns_than_rows_of_least_squares_give_the_shortest_weights():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4, 7)), rng.normal(size=4)
    with pytest.warns(np.exceptions.RankWarning, match="determine 4 of 7"):
        model = LinearRegressor(fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.linalg.pinv(X) @ y, rtol=1e-9)


def test_a_flat_prior_needs_data_in_every_direction():
    X, y, _ = problem(n=30)
    wide = np.column_stack([X, X[:, 0]])
    with pytest.raises(ValueError, match="determine 3 of 4 weights"):
        BayesianLinearRegressor(0.0, noise_precision=1.0).fit(wide, y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prior_precision": -1.0}, "prior_precision must be >= 0"),
        ({"prior_precision": np.ones(2)}, r"vector of 3 or a 3 x 3 matrix, got shape \(2,\)"),
        ({"prior_precision": np.diag([1.0, 1.0, -1.0])}, "no negative eigenvalue"),
        ({"prior_precision": np.triu(np.ones((3, 3)))}, "must be symmetric"),
        ({"prior_mean": [1.0, 2.0]}, "prior_mean must be a number or have 3 entries"),
        ({"noise_precision": 0.0}, "noise_precision must be positive"),
        ({"noise_scale": -1.0}, "noise_scale must be positive"),
        ({"noise_shape": 0.0}, "noise_shape must be positive"),
        ({"intercept_precision": -1.0}, "intercept_precision must be >= 0"),
        ({"hyperparameters": "best"}, "hyperparameters must be one of fixed, type-II, ard, grid"),
        ({"solver": "sgd"}, "solver must be one of"),
        ({"missing": "fill"}, "missing must be 'error' or 'drop'"),
        ({"hyperparameters": "ard", "noise_precision": 1.0}, "noise_precision is learned"),
        ({"hyperparameters": "grid", "prior_precision": 1.0}, "prior_precision is learned"),
    ],
)
def test_parameters_are_checked(settings, message):
    X, y, _ = problem()
    with pytest.raises(ValueError, match=message):
        BayesianLinearRegressor(**settings).fit(X, y)


def test_a_failed_fit_leaves_the_model_as_it_was():
    X, y, _ = problem()
    model = BayesianLinearRegressor().fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="infinity"):
        model.partial_fit(X, np.full(12, np.inf))
    np.testing.assert_array_equal(model.coef_, before)


def test_asking_before_fitting():
    from sklearn.exceptions import NotFittedError

    model = BayesianLinearRegressor()
    for name in ("coef_", "posterior_", "log_evidence_", "n_iter_"):
        assert not hasattr(model, name)
        with pytest.raises(NotFittedError, match="call fit"):
            getattr(model, name)
    fitted = model.fit(*problem()[:2])
    with pytest.raises(AttributeError, match="hyperparameters='grid'"):
        _ = fitted.hyper_posterior_
