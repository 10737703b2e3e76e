"""Rows left out, expected likelihoods, draws and scaled priors against refits and dense densities."""

import numpy as np
import pytest
from scipy import stats

from posteriori.regression import (
    BayesianLinearRegressor,
    NegativeBinomialRegressor,
    OrdinalRegression,
    PoissonRegressor,
    RobustRegressor,
)

LINEAR = {
    "known noise": {"prior_precision": 2.0, "noise_precision": 4.0, "fit_intercept": False},
    "integrated noise": {"prior_precision": 0.5, "fit_intercept": False, "noise_scale": 0.3},
    "flat intercept": {"prior_precision": 2.0, "noise_precision": 4.0, "intercept_precision": 0.0},
    "flat, integrated": {"prior_precision": 1.0, "intercept_precision": 0.0, "noise_scale": 0.3},
    "with means": {"prior_precision": [1.0, 2.0], "prior_mean": 0.5, "fit_intercept": False},
    "grid": {
        "hyperparameters": "grid",
        "fit_intercept": False,
        "standardize": False,
        "noise_scale": 0.3,
        "precision_rate": 0.4,
    },
}
for _parameters in LINEAR.values():
    _parameters.setdefault("noise_scale", 0.5)


def rows(n=12, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 2)) + 1.0
    return x, x @ [1.0, -0.5] + 0.3 + 0.5 * rng.normal(size=n)


@pytest.mark.parametrize("parameters", LINEAR.values(), ids=LINEAR.keys())
@pytest.mark.parametrize("noisy", [False, True])
def test_left_out_densities_are_those_of_refits(parameters, noisy):
    x, y = rows()
    v = np.random.default_rng(3).uniform(0.5, 2.0, size=len(y)) if noisy else np.ones(len(y))
    model = BayesianLinearRegressor(**parameters)
    found = model.fit(x, y, noise_variance=v).leave_one_out_log_density(x, y, noise_variance=v)
    for n in range(len(y)):
        others = np.arange(len(y)) != n
        part = BayesianLinearRegressor(**parameters).fit(x[others], y[others], None, v[others])
        expected = part.predict_dist(x[[n]], noise_variance=v[[n]]).log_prob(y[[n]])[0]
        # the grid over hyper-parameters has other nodes for other data
        assert found[n] == pytest.approx(
            expected, rel=1e-7 if "hyper" in str(parameters) else 1e-10
        )


def test_left_out_densities_under_the_default_prior_are_conditionals_of_the_prior_predictive():
    x, y = rows()
    model = BayesianLinearRegressor().fit(x, y)
    n, centred = len(y), x - x.mean(axis=0)
    scale = np.eye(n) + np.ones((n, n)) + (centred / x.std(axis=0) ** 2) @ centred.T
    b = 0.005 * y.var()  # σ² ~ InvGamma(1, b): a t distribution of 2 degrees of freedom

    def log_joint(keep):
        return stats.multivariate_t(
            np.full(keep.sum(), y.mean()), b * scale[np.ix_(keep, keep)], 2
        ).logpdf(y[keep])

    everything = log_joint(np.ones(n, dtype=bool))
    assert everything == pytest.approx(float(model.log_evidence_), rel=1e-12)
    expected = [everything - log_joint(np.arange(n) != i) for i in range(n)]
    np.testing.assert_allclose(model.leave_one_out_log_density(x, y), expected, rtol=1e-10)


def test_a_row_that_the_others_say_nothing_about_has_no_density():
    x, y = np.array([[0.0], [0.0], [1.0]]), np.array([1.0, 2.0, 3.0])
    model = BayesianLinearRegressor(0.0, noise_precision=1.0, fit_intercept=False).fit(x, y)
    assert np.isneginf(model.leave_one_out_log_density(x, y)).tolist() == [False, False, True]


@pytest.mark.parametrize("chosen", ["type-II", "ard"])
def test_no_left_out_densities_where_all_rows_chose_the_prior(chosen):
    x, y = rows(40)
    model = BayesianLinearRegressor(hyperparameters=chosen).fit(x, y)
    assert not hasattr(model, "leave_one_out_log_density")


@pytest.mark.parametrize("parameters", [*LINEAR.values(), {}], ids=[*LINEAR, "default"])
def test_expected_log_likelihood_is_the_mean_of_the_draws(parameters):
    x, y = rows()
    v = np.linspace(0.5, 2.0, len(y))
    model = BayesianLinearRegressor(**parameters).fit(x, y, noise_variance=v)
    draws = model.log_likelihood_draws(x, y, 40_000, 0, noise_variance=v)
    error = draws.std(axis=0) / np.sqrt(len(draws))
    gap = model.expected_log_likelihood(x, y, noise_variance=v) - draws.mean(axis=0)
    assert np.all(np.abs(gap) < 5 * error)


@pytest.mark.parametrize("parameters", [*LINEAR.values(), {}], ids=[*LINEAR, "default"])
def test_the_mean_likelihood_of_draws_is_the_predictive_density(parameters):
    x, y = rows()
    model = BayesianLinearRegressor(**parameters).fit(x, y)
    densities = np.exp(model.log_likelihood_draws(x, y, 5_000, 1))
    error = densities.std(axis=0) / np.sqrt(len(densities))
    expected = np.exp(model.predict_dist(x).log_prob(y))
    assert np.all(np.abs(densities.mean(axis=0) - expected) < 5 * error)


COUNTS = np.random.default_rng(5).poisson(3.0, size=12).astype(float)
GENERALIZED = [
    (PoissonRegressor(), COUNTS),
    (NegativeBinomialRegressor(), COUNTS),
    (RobustRegressor(), rows()[1]),
]


@pytest.mark.parametrize(("model", "y"), GENERALIZED, ids=lambda m: type(m).__name__)
def test_draws_of_generalised_regressions_average_to_their_predictions(model, y):
    x, _ = rows()
    model.fit(x, y)
    densities = np.exp(model.log_likelihood_draws(x, y, 5_000, 1))
    error = densities.std(axis=0) / np.sqrt(len(densities))
    expected = np.exp(model.predict_dist(x).log_prob(y))
    assert np.all(np.abs(densities.mean(axis=0) - expected) < 5 * error + 2e-3 * expected)


@pytest.mark.parametrize(
    ("model", "y"),
    [(BayesianLinearRegressor(), rows()[1]), *GENERALIZED],
    ids=lambda m: type(m).__name__,
)
def test_new_targets_follow_the_predictive_distribution(model, y):
    x, _ = rows()
    model.fit(x, y)
    draws = model.sample_targets(x, 20_000, 0)
    below = (draws <= y).mean(axis=0)
    expected = model.predict_dist(x).cdf(y)
    assert np.all(np.abs(below - expected) < 5 * 0.5 / np.sqrt(len(draws)) + 1e-3)


def test_new_targets_share_what_is_unknown():
    x, y = rows()
    model = BayesianLinearRegressor(**LINEAR["known noise"]).fit(x, y)
    found = np.cov(model.sample_targets(x, 100_000, 0).T)
    expected = model.predict_dist(x, joint=True).cov
    error = np.sqrt((np.outer(np.diag(expected), np.diag(expected)) + expected**2) / 100_000)
    assert np.all(np.abs(found - expected) < 5 * error)


@pytest.mark.parametrize("parameters", [*LINEAR.values(), {}, {"hyperparameters": "grid"}])
def test_a_prior_scaled_by_one_is_the_same(parameters):
    x, y = rows()
    model = BayesianLinearRegressor(**parameters).fit(x, y)
    again = model.with_prior_scaled(1.0).fit(x, y)
    assert float(again.log_evidence_) == pytest.approx(float(model.log_evidence_), rel=1e-12)


def test_scaling_the_prior_multiplies_its_standard_deviations():
    x, y = rows()
    model = BayesianLinearRegressor([2.0, np.inf], noise_precision=4.0, intercept_precision=3.0)
    scaled = model.fit(x, y).with_prior_scaled(2.0)
    np.testing.assert_allclose(scaled.prior_precision, [0.5, np.inf])
    assert scaled.intercept_precision == 0.75
    default = BayesianLinearRegressor(noise_precision=4.0).fit(x, y).with_prior_scaled(0.5)
    np.testing.assert_allclose(default.prior_precision, 4.0 * 4.0 * x.var(axis=0))
    assert default.intercept_precision == 16.0
    matrix = np.array([[2.0, 0.5], [0.5, 1.0]])
    full = BayesianLinearRegressor(matrix, noise_precision=4.0).fit(x, y).with_prior_scaled(2.0)
    np.testing.assert_allclose(full.prior_precision, matrix / 4.0)


@pytest.mark.parametrize("family", [PoissonRegressor, OrdinalRegression])
def test_priors_of_generalised_regressions_are_scaled(family):
    x, _ = rows()
    assert family(3.0).fit(x, COUNTS).with_prior_scaled(0.5).prior_precision == 12.0


def test_weighted_rows_are_the_same_data_as_repeated_ones():
    x, y = rows()
    weights = np.arange(len(y)) % 3
    once = BayesianLinearRegressor().fit(x, y, sample_weight=weights)
    again = BayesianLinearRegressor().fit(np.repeat(x, weights, axis=0), np.repeat(y, weights))
    assert float(once.log_evidence_ - again.log_evidence_) == pytest.approx(0.0, abs=1e-10)
