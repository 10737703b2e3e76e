"""Sums over nodes against integrals to 20 digits."""

from functools import cache

import mpmath as mp
import numpy as np
import pytest

from posteriori.numerics.calculus.normal_rule import normal_rule, rules_by_width


@cache
def logistic_mean(mean, std):
    """Return E σ(m + s z) by adaptive integration."""

    def integrand(z):
        return mp.npdf(z) / (1 + mp.exp(-(mp.mpf(mean) + std * z)))

    with mp.workdps(20):
        return float(mp.quad(integrand, [-14, -6, -2, 0, 2, 6, 14]))


@pytest.mark.parametrize("digits", [6.0, 9.0, 11.0])
@pytest.mark.parametrize("std", [0.01, 0.2, 0.9, 3.0])
def test_rules_have_the_digits_that_are_asked_for(std, digits):
    z, weights = normal_rule(np.pi / std, digits)
    found = float(weights @ (1.0 / (1.0 + np.exp(-(0.7 + std * z)))))
    assert found == pytest.approx(logistic_mean(0.7, std), abs=10.0**-digits)


def test_each_row_has_the_nodes_of_its_own_width():
    rng = np.random.default_rng(0)
    std = np.concatenate([rng.uniform(0.0, 0.3, 40), [0.0, 2.5, 40.0]])
    mean, found, nodes = rng.normal(size=43), np.full(43, np.nan), np.zeros(43, dtype=int)
    for rows, z, weights in rules_by_width(std, np.pi, 9.0):
        assert np.isnan(found[rows]).all()
        at = mean[rows, None] + std[rows, None] * z
        found[rows], nodes[rows] = (1.0 / (1.0 + np.exp(-at))) @ weights, len(z)
    expected = [logistic_mean(m, s) for m, s in zip(mean, std, strict=True)]
    np.testing.assert_allclose(found[:42], expected[:42], atol=1e-9)
    assert nodes[:41].max() <= 12 < nodes[41] < nodes[42]


def test_many_rows_come_in_parts():
    std = np.full(20_000, 0.1)
    parts = [rows for rows, _, _ in rules_by_width(std, np.pi, 9.0)]
    assert len(parts) > 1
    np.testing.assert_array_equal(np.concatenate(parts), np.arange(20_000))
