"""Quantiles of counts are the least whole numbers whose cdf reaches the level."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.distributions import Binomial, Mixture, NegativeBinomial, Poisson

LEVELS = np.array([1e-12, 1e-4, 0.05, 0.25, 0.5, 0.7, 0.95, 0.9999, 1.0 - 1e-9])


def least_by_counting(d, level, most=5_000):
    counts = np.arange(float(most))
    reached = np.asarray(d.cdf(counts)) >= level
    assert reached.any()
    return counts[np.argmax(reached)]


@pytest.mark.parametrize(
    "d",
    [
        Poisson(1e-6),
        Poisson(3.7),
        Poisson(900.0),
        NegativeBinomial(0.3, mean=4.0),
        NegativeBinomial(20.0, mean=200.0),
        Binomial(1, 0.5),
        Binomial(1, 0.3),
        Binomial(40, 0.99),
        Mixture([0.3, 0.7], Poisson([2.0, 300.0])),
        Mixture([0.5, 0.5], NegativeBinomial([0.5, 3.0], mean=[1.0, 50.0])),
        Mixture([1.0, 0.0], Poisson([4.0, 900.0])),
    ],
    ids=str,
)
def test_least_whole_number(d):
    expected = [least_by_counting(d, level) for level in LEVELS]
    np.testing.assert_array_equal(d.quantile(LEVELS), expected)


@given(p=st.floats(0.01, 0.99), share=st.floats(0.0, 1.0))
def test_two_point_distributions_where_the_bracket_is_tight(p, share):
    d = Binomial(1, p)
    for level in {float(d.cdf(0.0)), share}:
        if 0.0 < level < 1.0:
            assert d.quantile(level) == (0.0 if d.cdf(0.0) >= level else 1.0)


def test_a_batch_of_mixtures():
    d = Mixture([[0.3, 0.7], [0.9, 0.1]], Poisson([[2.0, 30.0], [5.0, 80.0]]))
    single = [
        Mixture([0.3, 0.7], Poisson([2.0, 30.0])),
        Mixture([0.9, 0.1], Poisson([5.0, 80.0])),
    ]
    for level in LEVELS:
        np.testing.assert_array_equal(d.quantile(level), [one.quantile(level) for one in single])
    assert np.isinf(d.quantile(1.0)).all()
    np.testing.assert_array_equal(d.quantile(0.0), [0.0, 0.0])
