"""Widened forecasts: what becomes of normal, positive and counting ones, in the distribution and in paths."""

import numpy as np
import pytest
from scipy import integrate, stats

from posteriori import Normal, Poisson
from posteriori.distributions.numbers.log_normal import LogNormal
from posteriori.sequence import CountSeries, StructuralSeries
from posteriori.sequence.series.series_average import SeriesAverage, Widened


def test_a_widened_normal_is_normal() -> None:
    wide, normal = Widened(Normal([1.0, 2.0], variance=4.0), 1.3), stats.norm([1.0, 2.0], 2.6)
    x = np.array([-3.0, 4.0])
    np.testing.assert_allclose(wide.cdf(x), normal.cdf(x), rtol=1e-12)
    np.testing.assert_allclose(wide.log_prob(x), normal.logpdf(x), rtol=1e-12)
    for q in (0.01, 0.5, 0.9):
        np.testing.assert_allclose(wide.quantile(q), normal.ppf(q), rtol=1e-12)
    draws = wide.sample(4000, rng=0)
    assert draws.shape == (4000, 2)
    assert (np.abs(draws.mean(axis=0) - [1.0, 2.0]) < 5 * 2.6 / np.sqrt(4000)).all()


def test_densities_and_masses_add_up() -> None:
    positive = Widened(LogNormal(0.5, variance=0.6), 1.4)
    total, _ = integrate.quad(lambda x: np.exp(positive.log_prob(x)), 0.0, np.inf, limit=200)
    assert total == pytest.approx(1.0, abs=1e-6)
    assert positive.quantile(0.001) > 0.0
    counts = Widened(Poisson(3.0), 1.4)
    masses = np.exp(counts.log_prob(np.arange(60.0)))
    assert masses.sum() == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(np.cumsum(masses), counts.cdf(np.arange(60.0)), atol=1e-9)


@pytest.mark.parametrize(("model", "y"), [
    (StructuralSeries("walk"), np.cumsum(np.random.default_rng(0).standard_normal(60))),
    (CountSeries(), np.random.default_rng(0).poisson(4.0, 60)),
])  # fmt: skip
def test_paths_have_the_widened_quantiles(model: StructuralSeries, y: np.ndarray) -> None:
    """The share of paths below a quantile is its level, within five standard errors."""
    wide = SeriesAverage({"a": model.fit(y)}, {"a": 1.0}, 1.3)
    paths, dist = wide.sample_paths(3, 4000, rng=0), wide.forecast(3)
    for level in (0.1, 0.5, 0.9):
        at = dist.quantile(level)
        share, expected = (paths <= at).mean(axis=0), dist.cdf(at)
        error = np.sqrt(expected * (1.0 - expected) / 4000)
        assert (np.abs(share - expected) < 5 * error + 1e-3).all()
    narrow = SeriesAverage(wide.models, wide.weights)
    assert (dist.quantile(0.9) >= narrow.forecast(3).quantile(0.9)).all()
    assert not hasattr(narrow.forecast(3), "factor")
