"""Additive curves: they add up, find what is there, and are as sure as they should be."""

import numpy as np
import pytest

from posteriori.gaussian_process import AdditiveGaussianProcessRegressor
from posteriori.numerics import ConvergenceWarning
from tests.scikit_learn_checks import every_check


def draw(seed, n=150):
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.uniform(-2.0, 2.0, n), rng.normal(size=n), rng.integers(0, 2, n), rng.normal(size=n)]
    )
    parts = np.column_stack([np.sin(2.0 * X[:, 0]), 0.5 * X[:, 1], 1.0 * X[:, 2], 0.0 * X[:, 3]])
    return X, parts, 10.0 + parts.sum(axis=1) + 0.3 * rng.normal(size=n)


@pytest.fixture(scope="module")
def fitted():
    X, parts, y = draw(0)
    return AdditiveGaussianProcessRegressor().fit(X, y), X, parts, y


@every_check([AdditiveGaussianProcessRegressor()])
def test_scikit_learn(estimator, check):
    check(estimator)


class TestEffects:
    def test_they_add_up_to_the_prediction(self, fitted):
        model, X, _, _ = fitted
        effects = model.effects(X)
        assert effects[0].kernel is None
        assert np.allclose(sum(e.belief.mean for e in effects), model.predict(X))
        for effect in effects[1:]:
            assert abs(effect.belief.mean.mean()) < 1e-9

    def test_bands_hold_what_is_there(self, fitted):
        model, X, parts, _ = fitted
        for effect, part in zip(model.effects(X)[1:], parts.T, strict=True):
            off = (effect.belief.mean - (part - part.mean())) / effect.belief.std
            assert np.sqrt(np.mean(off**2)) < 2.5

    def test_a_column_that_adds_nothing_is_flat(self, fitted):
        model, X, _, _ = fitted
        ranges = [np.ptp(effect.belief.mean) for effect in model.effects(X)[1:]]
        assert ranges[3] < 0.15 < 0.8 < min(ranges[:3])

    def test_an_effect_is_a_function_of_its_column(self, fitted):
        model, X, _, _ = fitted
        changed = X.copy()
        changed[:, 0] = 0.0
        before, after = model.effects(X), model.effects(changed)
        for place in (2, 3, 4):
            assert np.array_equal(before[place].belief.mean, after[place].belief.mean)


class TestPredictions:
    def test_intervals_hold_what_they_promise(self, fitted):
        model, *_ = fitted
        X, _, y = draw(1, 2000)
        level = model.predict_dist(X).cdf(y)
        assert np.mean((level > 0.05) & (level < 0.95)) == pytest.approx(0.9, abs=0.04)

    def test_noise_is_left_out_on_request(self, fitted):
        model, X, _, _ = fitted
        noisy, bare = model.predict_dist(X), model.predict_dist(X, noise=False)
        noise = float(np.exp(model.kernel_.log_parameters[-1]))
        assert np.allclose(noisy.variance - bare.variance, noise)
        assert noise == pytest.approx(0.09, rel=0.5)
        mean, std = model.predict(X, return_std=True)
        assert np.array_equal(mean, noisy.mean)
        assert np.array_equal(std, noisy.std)

    def test_the_order_of_rows_is_no_matter(self, fitted):
        model, X, _, y = fitted
        again = AdditiveGaussianProcessRegressor().fit(X[::-1], y[::-1])
        assert again.log_evidence_ == model.log_evidence_
        assert model.log_evidence_.kind == "type-II"
        assert 3.0 < model.effective_parameters_ < 20.0


class TestInputs:
    def test_units_do_not_matter(self, fitted):
        model, X, _, y = fitted
        scale, shift = np.array([1e-6, 1e3, 1.0, 1e8]), np.array([1.0, -5.0, 0.0, 1e8])
        other = AdditiveGaussianProcessRegressor().fit(X * scale + shift, 100.0 * y)
        assert np.allclose(other.predict(X * scale + shift), 100.0 * model.predict(X), rtol=1e-3)

    def test_missing_targets_say_nothing(self, fitted):
        model, X, _, y = fitted
        more = np.vstack([X, X[:3] + 1.0])
        again = AdditiveGaussianProcessRegressor().fit(more, np.append(y, [np.nan] * 3))
        assert again.log_evidence_ == model.log_evidence_

    @pytest.mark.parametrize("column", [np.zeros(150), np.arange(150) == 7])
    def test_columns_that_hardly_vary(self, fitted, column):
        model, X, _, y = fitted
        wider = AdditiveGaussianProcessRegressor().fit(np.column_stack([X, column]), y)
        assert np.isfinite(float(wider.log_evidence_))
        off = np.abs(wider.predict(np.column_stack([X, column])) - model.predict(X))
        assert np.quantile(off, 0.9) < 0.1

    def test_a_search_that_is_ended_keeps_its_best(self, fitted):
        _, X, _, y = fitted
        with pytest.warns(ConvergenceWarning, match="has not found the curves"):
            model = AdditiveGaussianProcessRegressor(callback=lambda n, _: n == 3).fit(X, y)
        assert model.n_iter_ == 3
