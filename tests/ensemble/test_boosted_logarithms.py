"""Boosting of ln y against the distribution of exp t: densities, means, and what is refused."""

from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from posteriori.ensemble import GradientBoostingRegressor
from posteriori.ensemble.gradient_boosting import boosted_regressor
from posteriori.ensemble.gradient_boosting.left_out_noise import fit_log_mean

#: Members that judge themselves, on all rows and columns: nothing is random.
PLAIN = {"n_members": 1, "subsample": 1.0, "max_features": 1.0}


def amounts(noise, n=400, seed=0):
    """Return inputs and positive numbers whose noise is a percentage: normal, or large in some rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    size = {"normal": 0.4, "tailed": np.where(rng.random(n) < 0.8, 0.15, 0.8)}[noise]
    return X, np.exp(np.sin(2.0 * X[:, 0]) + X[:, 1] + size * rng.normal(size=n))


def fitted(noise, n=400, **options):
    X, y = amounts(noise, n)
    model = GradientBoostingRegressor("log student", 60, 0.1, random_state=0, **options)
    return model.fit(X, y), X, y


@pytest.mark.parametrize("noise", ["normal", "tailed"])
def test_the_density_is_that_of_the_logarithm_with_the_jacobian(noise):
    model, X, y = fitted(noise)
    assert np.isinf(model.dof_) == (noise == "normal")
    location, scale = model._location_scale(model._predictors(X))
    peer = stats.norm if np.isinf(model.dof_) else stats.t(model.dof_)
    expected = peer.logpdf((np.log(y) - location) / scale) - np.log(scale) - np.log(y)
    np.testing.assert_allclose(model.predict_dist(X).log_prob(y), expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("noise", ["normal", "tailed"])
def test_the_density_integrates_to_shares_and_to_one(noise):
    model, X, _ = fitted(noise)
    dist = model.predict_dist(X[:1])
    low, middle, high = (float(dist.quantile(q)[0]) for q in (0.05, 0.5, 0.95))

    def density(y):
        return float(np.exp(dist.log_prob(y)[0]))

    assert integrate.quad(density, low, middle)[0] == pytest.approx(0.45, abs=1e-7)
    assert integrate.quad(density, middle, high)[0] == pytest.approx(0.45, abs=1e-7)
    ends = [np.log(middle) + step for step in (-200.0, -5.0, 0.0, 5.0, 200.0)]  # of ln y
    parts = [
        integrate.quad(lambda t: density(np.exp(t)) * np.exp(t), a, b, limit=200)[0]
        for a, b in pairwise(ends)
    ]
    assert sum(parts) == pytest.approx(1.0, abs=1e-6)


def test_densities_of_rows_left_out_are_in_units_of_the_target():
    """With one member the rows that were seen stand for them."""
    model, X, y = fitted("tailed", **PLAIN)
    assert model.left_out_log_density_ == pytest.approx(model.predict_dist(X).log_prob(y).sum())


def test_other_units_multiply_predictions_and_cost_their_jacobian():
    model, X, y = fitted("normal")
    other = GradientBoostingRegressor("log student", 60, 0.1, random_state=0).fit(X, 100.0 * y)
    np.testing.assert_allclose(other.predict(X), 100.0 * model.predict(X), rtol=1e-9)
    moved = model.left_out_log_density_ - other.left_out_log_density_
    assert moved == pytest.approx(len(y) * np.log(100.0), rel=1e-9)


def test_means_of_normal_noise_are_those_of_the_log_normal():
    model, X, _ = fitted("normal")
    mean, most = model.predict_dist(X).mean, np.exp(model._log_top)
    inside = mean < most
    np.testing.assert_allclose(model.predict(X)[inside], mean[inside], rtol=1e-9)
    assert (model.predict(X) < 2.0 * most).all()


@pytest.mark.parametrize("h", [0.2, 1.1])
def test_the_mean_of_heavy_tails_is_the_one_that_adds_up(h):
    """The h that was put in is found; beyond what may be chosen the nearest is."""
    rng = np.random.default_rng(1)
    mean, variance = rng.normal(size=50), rng.gamma(2.0, size=50)
    weight = rng.integers(0, 3, 50).astype(float)
    logs = mean + h * variance
    assert fit_log_mean(logs, mean, variance, weight, 1.5) == pytest.approx(h, rel=1e-9)
    assert fit_log_mean(logs, mean, variance, weight, 0.5 * h) == 0.5 * h
    assert fit_log_mean(mean - 1.0, mean, variance, weight, 1.5) == 0.0


def test_predictions_of_rows_left_out_add_up_to_their_targets(monkeypatch):
    seen = []

    def watched(*arguments):
        seen.append(arguments)
        return fit_log_mean(*arguments)

    monkeypatch.setattr(boosted_regressor, "fit_log_mean", watched)
    model, _, y = fitted("tailed")
    ((logs, mean, variance, weight, most),) = seen
    assert 0.0 < model._log_mean < most == 0.5 * model.dof_ / (model.dof_ - 2.0)
    np.testing.assert_allclose(np.sort(logs), np.sort(np.log(y)), atol=1e-12)  # each of them once
    total = weight @ np.exp(mean + model._log_mean * variance)
    assert total == pytest.approx(weight @ np.exp(logs), rel=1e-9)


def test_no_prediction_reaches_twice_the_largest_target():
    X, y = amounts("tailed", 60)
    model = GradientBoostingRegressor("log student", 60, 0.1, random_state=0).fit(X, y)
    model._log_mean = 10.0  # as if rows had widths that none had
    assert y.max() < model.predict(X).max() < 2.0 * y.max()


@pytest.mark.parametrize("wrong", [0.0, -2.5])
def test_targets_that_are_not_positive_are_refused(wrong):
    with pytest.raises(ValueError, match=f"needs positive targets, got {wrong:g} in row 1"):
        GradientBoostingRegressor("log student").fit(np.eye(3), [1.0, wrong, 2.0])


def test_it_tells_amounts_better_than_boosting_of_the_amounts():
    """Noise of 40 %: a band around y that is symmetric loses."""
    (X, y), (fresh, came) = amounts("normal"), amounts("normal", seed=1)
    plain, logs = (
        GradientBoostingRegressor(family, random_state=0).fit(X, y)
        for family in ("student", "log student")
    )
    gap = logs.predict_dist(fresh).log_prob(came) - plain.predict_dist(fresh).log_prob(came)
    assert gap.mean() > 5 * gap.std() / np.sqrt(len(gap))
