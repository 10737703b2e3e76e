"""Quantiles of mixtures over thousands of leaves, against their exact cumulative probabilities."""

import numpy as np
import pytest

from posteriori.tree import BayesianTreeRegressor


def fitted(family: str = "normal", unit: float = 1.0) -> tuple[BayesianTreeRegressor, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(150, 5))
    y = np.where(x[:, 0] > 0, 3.0, 0.0) + x[:, 1] + rng.normal(size=150)
    y = np.floor(np.exp(0.5 * y)) if family == "poisson" else unit * y
    model = BayesianTreeRegressor(family, max_depth=3, max_bins=6, search="exact")
    return model.fit(x, y), x[:25]


@pytest.mark.parametrize("level", [1e-12, 1e-5, 2e-4, 0.05, 0.5, 0.95, 1.0 - 1e-5])
def test_the_level_is_met(level):
    model, x = fitted()
    found = model.predict_dist(x)
    assert np.diff(model.trees_.members(found.places)[0]).min() > 500  # not only the heaviest
    near = min(level, 1.0 - level)
    np.testing.assert_allclose(
        found.cdf(found.quantile(level)), level, rtol=0.0, atol=2e-9 * min(1.0, near / 1e-4)
    )


def test_the_ends_of_intervals_are_quantiles():
    model, x = fitted()
    found = model.predict_dist(x)
    low, high = found.interval(0.8)
    np.testing.assert_allclose(low, found.quantile(0.1), rtol=1e-12)
    np.testing.assert_allclose(high, found.quantile(0.9), rtol=1e-12)
    with pytest.raises(ValueError, match="mass must lie"):
        found.interval(1.0)


@pytest.mark.parametrize("unit", [2.0**-400, 2.0**400])
def test_the_unit_of_targets_is_that_of_quantiles(unit):
    plain, x = fitted()
    other, _ = fitted(unit=unit)
    expected = plain.predict_dist(x).interval(0.9)
    np.testing.assert_allclose(
        np.array(other.predict_dist(x).interval(0.9)) / unit, expected, rtol=1e-9
    )


def test_rows_of_several_levels_are_searched_at_once():
    model, x = fitted()
    levels = np.linspace(0.0, 1.0, len(x))
    together = model.predict_dist(x).quantile(levels)
    apart = [model.predict_dist(x[n : n + 1]).quantile(level)[0] for n, level in enumerate(levels)]
    np.testing.assert_allclose(together, apart, rtol=1e-7)


@pytest.mark.parametrize("level", [0.0, 0.03, 0.5, 0.9, 1.0 - 1e-9])
def test_counts_are_the_least_that_reach_the_level(level):
    model, x = fitted("poisson")
    found = model.predict_dist(x)
    at = found.quantile(level)
    assert (found.cdf(at) >= level).all()
    assert (found.cdf(at - 1.0) < level).all() or level == 0.0
    assert (at == np.floor(at)).all()
