"""Columns with a scale of their own: a mixture over shares, each an ordinary model of scaled columns."""

import numpy as np
import pytest
from scipy import special

from posteriori.regression import BayesianLinearRegressor, PolynomialBasis, SmoothBasis

SHARES = (0.0, 1 / 64, 1 / 16, 1 / 4, 1 / 2, 3 / 4)
CASES = {  # rows, columns, how many of them come last and are apart
    "few rows": (20, 5, 3),
    "fewer rows than columns": (8, 12, 7),
    "many rows": (130, 6, 4),
}


@pytest.fixture(params=CASES)
def table(request):
    n, d, k = CASES[request.param]
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, d)) * rng.uniform(0.5, 3.0, size=d)
    y = 2.0 + X[:, 0] + 0.3 * X[:, -1] + rng.normal(size=n)
    return X, y, list(range(d - k, d))


def parts_of(X, y, apart):
    """Return for each share a model of columns that are scaled by hand, and the columns."""
    d, k = X.shape[1], len(apart)
    found = []
    for share in SHARES:
        size = np.full(d, (1.0 - share) * d / (d - k))
        size[apart] = share * d / k
        units = np.sqrt(size) / X.std(axis=0)
        model = BayesianLinearRegressor(hyperparameters="learned", standardize=False)
        found.append((model.fit(X * units, y), units))
    return found


def test_evidence_and_predictions_are_averages_over_shares(table):
    X, y, apart = table
    model = BayesianLinearRegressor(hyperparameters="learned", own_scale=apart).fit(X, y)
    parts = parts_of(X, y, apart)
    logs = np.array([float(part.log_evidence_) for part, _ in parts])
    expected = special.logsumexp(logs) - np.log(len(SHARES))
    assert float(model.log_evidence_) == pytest.approx(expected, abs=1e-8)
    new = np.random.default_rng(0).normal(size=(6, X.shape[1])) * 3.0
    at = np.linspace(-3.0, 6.0, 6)
    below = [part.predict_dist(new * units).cdf(at) for part, units in parts]
    found = model.predict_dist(new).cdf(at)
    # shares of less than 1e-4 are left out
    np.testing.assert_allclose(found, special.softmax(logs) @ np.array(below), atol=2e-4)


def test_forms_of_the_answer_agree(table):
    """Moments of the joint distribution, of draws, and of weights are those of single predictions."""
    X, y, apart = table
    model = BayesianLinearRegressor(hyperparameters="learned", own_scale=apart).fit(X, y)
    new = np.random.default_rng(1).normal(size=(3, X.shape[1]))
    mean, std = model.predict(new, return_std=True)
    joint = model.predict_dist(new, joint=True)
    np.testing.assert_allclose(joint.mean, mean, rtol=1e-9)
    np.testing.assert_allclose(np.diag(joint.cov), std**2, rtol=1e-9)
    draws = model.sample_functions(new, 40_000, rng=0)
    spread = np.diag(model.function_covariance(new))
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=5.0 * np.sqrt(spread.max() / 4e4))
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(spread), rtol=0.1)
    np.testing.assert_allclose(new @ model.coef_ + model.intercept_, mean, rtol=1e-8)
    assert 0.0 < model.effective_parameters_ < len(y)


@pytest.mark.parametrize("settings", [{"hyperparameters": "sparse"}, {"own_scale": [1, 2]}])
def test_weights_that_may_be_left_out_have_no_density(settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    model = BayesianLinearRegressor(**{"hyperparameters": "learned"} | settings).fit(X, y)
    with pytest.raises(AttributeError, match="has no density"):
        _ = model.posterior_


def test_many_rows_tell_the_scales_apart():
    """Of four columns two matter: chosen precisions of the others are larger."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    y = X[:, :2] @ [3.0, -2.0] + rng.normal(size=400)
    model = BayesianLinearRegressor(hyperparameters="type-II", own_scale=[2, 3]).fit(X, y)
    assert model.log_evidence_.kind == "type-II"
    lines, bends = model.prior_precision_[:2], model.prior_precision_[2:]
    assert np.all(bends > 10.0 * lines)
    assert np.all(lines == lines[0])


def test_all_columns_apart_are_none_apart():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    plain = BayesianLinearRegressor(hyperparameters="learned").fit(X, y)
    for apart in ([], [0, 1, 2]):
        same = BayesianLinearRegressor(hyperparameters="learned", own_scale=apart).fit(X, y)
        assert float(same.log_evidence_) == float(plain.log_evidence_)


def test_with_groups_columns_stay_apart():
    """With no spread between levels the answers are those without groups, whose level is uniform."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + rng.normal(size=60)
    codes = np.arange(60) % 2
    grouped = BayesianLinearRegressor(hyperparameters="learned", own_scale=[1, 2], groups=[3])
    grouped.fit(np.column_stack([X, codes]), y)
    plain = BayesianLinearRegressor(hyperparameters="learned", own_scale=[1, 2]).fit(X, y)
    np.testing.assert_allclose(grouped.coef_, plain.coef_, atol=0.05)
    assert np.all(np.abs(grouped.coef_[1:]) < 0.2 * abs(grouped.coef_[0]))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"own_scale": [0]}, "hyperparameters='learned'"),
        ({"own_scale": [3], "hyperparameters": "learned"}, "from 0 to 2"),
        ({"own_scale": [0.5], "hyperparameters": "learned"}, "numbers of columns"),
        ({"own_scale": [-1], "hyperparameters": "learned"}, "from 0 to 2"),
    ],
)
def test_what_cannot_be_apart_is_told(settings, told):
    with pytest.raises(ValueError, match=told):
        BayesianLinearRegressor(**settings).fit(np.eye(3), np.arange(3.0))


# -- bases that tell their bends ---------------------------------------------------------------


def test_smooth_functions_span_the_splines_and_end_straight():
    """They are the B-splines in other coordinates; beyond the range the function has no curvature."""
    from sklearn.preprocessing import SplineTransformer

    x = np.random.default_rng(0).normal(size=(40, 2))
    features = SmoothBasis(5).fit(x).transform(x)
    assert features.shape == (40, SmoothBasis(5).size(2)) == (40, 12)
    np.testing.assert_array_equal(features[:, :2], x)
    splines = SplineTransformer(5, 3, extrapolation="linear").fit(x)
    new = 3.0 * x
    mine = np.column_stack([np.ones(40), SmoothBasis(5).fit(x).transform(new)])
    theirs = splines.transform(new)
    for one, other in ((mine, theirs), (theirs, mine)):
        left = other - one @ np.linalg.lstsq(one, other, rcond=None)[0]
        assert np.abs(left).max() < 1e-8 * np.abs(other).max()


def test_bends_are_integrated_jumps_of_the_third_derivative():
    """Each bend changes only coefficients' second differences: one of them, by 1."""
    x = np.linspace(0.0, 1.0, 30)[:, None]
    basis = SmoothBasis(4).fit(x)
    splines = basis._splines.transform(x)
    coefficients = np.linalg.lstsq(splines, basis.transform(x)[:, 1:], rcond=None)[0]
    np.testing.assert_allclose(np.diff(coefficients, 2, axis=0), np.eye(4), atol=1e-8)


def test_a_column_that_never_changes_has_functions_that_are_zero():
    x = np.column_stack([np.full(9, 4.0), np.arange(9.0)])
    basis = SmoothBasis(3).fit(x)
    new = basis.transform(x + 7.0)
    fixed = [0, *range(2, 5)]
    assert np.all(new[:, fixed] == 0.0)
    assert np.all(np.ptp(np.delete(new, fixed, axis=1), axis=0) > 0.0)


def test_too_few_knots_are_told():
    with pytest.raises(ValueError, match="n_knots must be a whole number >= 2"):
        SmoothBasis(1).fit(np.eye(3))


@pytest.mark.parametrize("basis", [SmoothBasis(4), PolynomialBasis(2)])
def test_the_columns_themselves_come_before_the_bends(basis):
    x = np.random.default_rng(0).normal(size=(12, 3))
    features = basis.fit_transform(x)
    bent = basis.bent(3)
    assert list(bent) == list(range(3, features.shape[1]))
    np.testing.assert_array_equal(features[:, : bent.start], x)
