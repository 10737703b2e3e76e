"""Quantiles of mixtures of counts, beside a search through all counts."""

import numpy as np
import pytest

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.counts import count_sweep
from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.counts.poisson import Poisson

LEVELS = [1e-12, 0.001, 0.05, 0.5, 0.8, 0.95, 0.999, 1.0 - 1e-11]


@pytest.fixture(autouse=True, params=["sweep", "bisect"])
def _way(request, monkeypatch):
    monkeypatch.setattr(count_sweep, "_FEW", 0 if request.param == "sweep" else np.inf)


def mixtures(family, scale, n=6, k=7, seed=0):
    rng = np.random.default_rng(seed)
    mean = scale * rng.lognormal(0.0, 0.5, size=(n, k))
    weights = rng.dirichlet(np.ones(k), size=n)
    weights[:, 0] = 0.0
    weights /= weights.sum(axis=1, keepdims=True)
    if family == "poisson":
        return Mixture(weights, Poisson(mean))
    return Mixture(weights, NegativeBinomial(rng.lognormal(0.5, 1.0, size=(n, k)), mean=mean))


@pytest.mark.parametrize("family", ["poisson", "negative binomial"])
@pytest.mark.parametrize(("scale", "levels"), [(0.01, LEVELS), (3.0, LEVELS), (60.0, LEVELS[1:-2])])
def test_quantiles_are_the_first_counts_that_reach_the_level(family, scale, levels):
    d = mixtures(family, scale, n=3)
    most = d.quantile(levels[-1]).max() + 5.0
    cumulative = d.cdf(np.arange(most)[:, None])
    for q in levels:
        np.testing.assert_array_equal(d.quantile(q), (cumulative >= q).argmax(axis=0))


@pytest.mark.parametrize("family", ["poisson", "negative binomial"])
@pytest.mark.parametrize("scale", [0.5, 30.0])
def test_a_level_that_is_just_reached_has_its_own_count(family, scale):
    d = mixtures(family, scale, seed=1)
    for x in range(0, 40, 3):
        level = np.minimum(d.cdf(float(x)), np.nextafter(np.nextafter(1.0, 0.0), 0.0))
        assert np.all(d.quantile(level) <= x)
        below = d.cdf(d.quantile(level) - 1.0)
        assert np.all(below < level)
        inner = np.nextafter(level, 1.0)
        assert np.all(d.cdf(d.quantile(inner)) >= inner)


@pytest.mark.parametrize(
    "components",
    [
        Poisson([2000.0, 2500.0, 9000.0]),
        NegativeBinomial([500.0, 400.0, 2.0], mean=[5e3, 6e3, 4e3]),
        NegativeBinomial([800.0, 2.0, 0.5], mean=[2e6, 1e6, 5e5]),
        NegativeBinomial([1e9, 3.0, 1e-3], mean=[40.0, 1e-8, 3.0]),
    ],
)
def test_large_and_unlike_components(components):
    d = Mixture([0.2, 0.5, 0.3], components)
    for q in LEVELS:
        x = d.quantile(q)
        assert d.cdf(x) >= q > d.cdf(x - 1.0)


def test_levels_broadcast_against_the_batch():
    d = mixtures("negative binomial", 5.0)
    q = np.array([[0.1], [0.5], [0.9]])
    np.testing.assert_array_equal(d.quantile(q), [d.quantile(level) for level in q[:, 0]])
    np.testing.assert_array_equal(
        d.quantile(np.linspace(0.1, 0.9, 6)),
        [d.quantile(level)[i] for i, level in enumerate(np.linspace(0.1, 0.9, 6))],
    )
    parts = d.components
    one = Mixture(d.probabilities[0], NegativeBinomial(parts.count[0], mean=parts.mean[0]))
    assert one.quantile(0.5) == d.quantile(0.5)[0]
    np.testing.assert_array_equal(one.quantile(q[:, 0]), d.quantile(q)[:, 0])
    assert np.ndim(one.quantile(0.5)) == 0


def test_the_ends():
    d = mixtures("poisson", 3.0)
    np.testing.assert_array_equal(d.quantile(0.0), np.zeros(6))
    np.testing.assert_array_equal(d.quantile(1.0), np.full(6, np.inf))
