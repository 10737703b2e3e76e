"""Counts with zeros of their own: against enumeration and draws."""

import pickle

import numpy as np
import pytest

from posteriori.distributions import NegativeBinomial, Poisson
from posteriori.distributions.batches import take_members
from posteriori.distributions.composites.zero_or_counts import ZeroOrCounts

COUNTS = NegativeBinomial([0.5, 3.0, 40.0], mean=[0.2, 2.0, 6.0])
CHANCE = np.array([0.1, 0.6, 0.95])
both_kinds = pytest.mark.parametrize("shift", [0, 1])


def enumerated(shift):
    """Return masses of the counts 0, …, 399 by the definition."""
    counts = np.arange(400.0)[:, None]
    other = np.exp(COUNTS.log_prob(counts))
    mass = CHANCE * (other if shift == 0 else np.vstack([np.zeros((1, 3)), other[:-1]]))
    mass[0] += 1.0 - CHANCE
    return counts, mass


@both_kinds
def test_the_distribution_against_enumeration(shift):
    d = ZeroOrCounts(CHANCE, COUNTS, shift)
    counts, mass = enumerated(shift)
    np.testing.assert_allclose(mass.sum(axis=0), 1.0, rtol=1e-12)
    np.testing.assert_allclose(np.exp(d.log_prob(counts)), mass, rtol=1e-9, atol=1e-300)
    mean = (mass * counts).sum(axis=0)
    np.testing.assert_allclose(d.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(d.variance, (mass * (counts - mean) ** 2).sum(axis=0), rtol=1e-10)
    np.testing.assert_allclose(d.cdf(counts), mass.cumsum(axis=0), rtol=1e-12)
    assert np.all(d.cdf(-0.5) == 0.0)
    assert np.all(d.log_prob(np.array([0.5, -1.0, 1.5])) == -np.inf)


@both_kinds
@pytest.mark.parametrize("q", [0.0, 0.04, 0.05, 0.4, 0.41, 0.7, 0.9, 0.999])
def test_quantiles_are_the_least_counts_with_so_much_below(shift, q):
    d = ZeroOrCounts(CHANCE, COUNTS, shift)
    below = d.cdf(np.arange(400.0)[:, None])
    assert np.array_equal(d.quantile(q), np.argmax(below >= q, axis=0))


@both_kinds
def test_draws_have_the_moments(shift):
    d = ZeroOrCounts(CHANCE, COUNTS, shift)
    draws, none = d.sample(20_000, rng=0), d.cdf(0.0)
    error = np.sqrt(d.variance / 20_000)
    assert np.all(np.abs(draws.mean(axis=0) - d.mean) < 5.0 * error)
    share = (draws == 0).mean(axis=0)
    assert np.all(np.abs(share - none) < 5.0 * np.sqrt(none * (1 - none) / 20_000))


def test_it_is_a_value():
    d = ZeroOrCounts(CHANCE, COUNTS, 1)
    assert pickle.loads(pickle.dumps(d)) == d != ZeroOrCounts(CHANCE, COUNTS, 0)
    assert hash(ZeroOrCounts(CHANCE, COUNTS, 1)) == hash(d)
    assert take_members(d, 1).mean == d.mean[1]


def test_bad_distributions_are_refused():
    with pytest.raises(ValueError, match="between 0 and 1"):
        ZeroOrCounts(1.5, Poisson(1.0), 1)
    with pytest.raises(ValueError, match="for each of the probabilities"):
        ZeroOrCounts(CHANCE, Poisson(1.0), 1)
