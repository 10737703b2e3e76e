"""Nine Gaussian bumps on a sinusoid: bands for a growing number of points, and draws of functions."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from posteriori.regression import BayesianLinearRegressor, GaussianBasis

GRID = np.linspace(0.0, 1.0, 41)[:, None]


def fitted(n):
    rng = np.random.default_rng(3)
    x = rng.uniform(size=(25, 1))
    t = np.sin(2 * np.pi * x[:, 0]) + 0.2 * rng.normal(size=25)
    basis = GaussianBasis(centers=np.linspace(0.0, 1.0, 9)[:, None], width=0.12)
    model = BayesianLinearRegressor(2.0, noise_precision=25.0, fit_intercept=False)
    return make_pipeline(basis, model).fit(x[:n], t[:n]), x[:n]


@pytest.mark.topic("004/6.6")
@pytest.mark.parametrize("n", [1, 2, 4, 24])
def test_bands_narrow_by_what_a_new_point_tells(n):
    model, _ = fitted(n)
    wider, x = fitted(n + 1)
    at = np.concatenate([x[-1:], GRID])
    before = model[-1].predict_dist(model[:-1].transform(at), joint=True, noise=False).cov
    after = wider[-1].predict_dist(wider[:-1].transform(at), joint=True, noise=False).cov
    told = np.outer(before[0], before[0]) / (before[0, 0] + 1 / 25)
    np.testing.assert_allclose(after, before - told, atol=1e-12)
    assert np.all(np.diagonal(after) <= np.diagonal(before) + 1e-14)
    assert after[0, 0] < 1 / 25  # where there is a point, less is unknown than its noise


@pytest.mark.topic("004/6.6")
def test_drawn_functions_have_the_moments_of_the_prediction():
    model, _ = fitted(4)
    phi, size = model[:-1].transform(GRID), 4000
    draws = model[-1].sample_functions(phi, size, rng=0)
    exact = model[-1].predict_dist(phi, joint=True, noise=False)
    error = np.sqrt(np.diagonal(exact.cov) / size)
    assert np.all(np.abs(draws.mean(axis=0) - exact.mean) < 5 * error)
    spread = np.cov(draws.T)
    bound = np.sqrt((np.outer(*[np.diagonal(exact.cov)] * 2) + exact.cov**2) / size)
    assert np.all(np.abs(spread - exact.cov) < 5 * bound)
