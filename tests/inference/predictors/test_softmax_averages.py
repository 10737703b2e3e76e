"""Means of softmax probabilities over normal predictors, beside sums over dense grids."""

import numpy as np
import pytest
from scipy.special import expit, log_expit, log_softmax, softmax

from posteriori.inference.predictors.softmax_averages import (
    SpreadNodes,
    average_softmax,
    contrasts,
    tilt_softmax,
)
from posteriori.numerics.calculus.normal_rule import normal_rule


def dense_rule(d, steps=121, reach=8.0):
    z = np.linspace(-reach, reach, steps)
    w = np.exp(-0.5 * z * z)
    points = np.stack([g.ravel() for g in np.meshgrid(*[z] * d, indexing="ij")], axis=1)
    weights = np.prod(np.meshgrid(*[w] * d, indexing="ij"), axis=0).ravel()
    return points, weights / weights.sum()


def beliefs(k, scale, n=4, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, k - 1, k - 1)) * scale / np.sqrt(k - 1)
    return rng.normal(size=(n, k - 1)) * 1.5, root, root @ root.swapaxes(1, 2)


@pytest.mark.parametrize("digits", [4.0, 9.0])
@pytest.mark.parametrize("std", [0.01, 0.2, 0.6, 1.0, 3.0, 9.0])
def test_rules_give_the_digits_they_are_asked_for(std, digits):
    z, weights = normal_rule(np.pi / std, digits)
    fine = np.linspace(-12, 12, 40_001)
    dense = np.exp(-0.5 * fine**2) / np.exp(-0.5 * fine**2).sum()
    for mean in (0.0, 1.0, 4.0):
        for f in (log_expit, expit, lambda t: expit(t) * expit(-t)):
            exact = f(mean + std * fine) @ dense
            assert abs(f(mean + std * z) @ weights - exact) < 10 ** (1.0 - digits)


@pytest.mark.parametrize(("k", "scale"), [(2, 0.1), (2, 2.0), (3, 0.1), (3, 1.0)])
def test_means_and_curvatures_are_the_integrals(k, scale):
    centre, root, spread = beliefs(k, scale)
    means = SpreadNodes(spread).moments(centre)
    p, log_sum, bend = average_softmax(centre, spread), means.log_sum, means.curvature()
    np.testing.assert_array_equal(means.first, p)
    z, weights = dense_rule(k - 1, 201)
    basis = contrasts(k)
    for n in range(len(centre)):
        eta = (centre[n] + z @ root[n].T) @ basis.T
        at = softmax(eta, axis=1)
        np.testing.assert_allclose(p[n], weights @ at, atol=1e-8)
        assert log_sum[n] == pytest.approx(
            weights @ (eta - log_softmax(eta, axis=1))[:, 0], abs=1e-8
        )
        full = np.diag(weights @ at) - (at * weights[:, None]).T @ at
        np.testing.assert_allclose(bend[n], basis.T @ full @ basis, atol=1e-8)


@pytest.mark.parametrize(("k", "scale"), [(3, 0.5), (4, 0.3)])
def test_tilted_moments_are_those_of_predictors_times_probabilities(k, scale):
    """∇ ln Z = S⁻¹(E v − c) and −∇² ln Z = S⁻¹ − S⁻¹ Cov[v] S⁻¹ under N(c, S) p_y / Z."""
    centre, root, spread = beliefs(k, scale, seed=1)
    codes = np.arange(4) % k
    tilt = tilt_softmax(centre, spread, codes)
    z, weights = dense_rule(k - 1, 201 if k == 3 else 61)
    for n in range(4):
        v = centre[n] + z @ root[n].T
        q = weights * softmax(v @ contrasts(k).T, axis=1)[:, codes[n]]
        assert np.exp(tilt.log_mass[n]) == pytest.approx(q.sum(), abs=1e-7)
        q /= q.sum()
        inverse = np.linalg.inv(spread[n])
        np.testing.assert_allclose(spread[n] @ tilt.slope[n], q @ v - centre[n], atol=1e-7)
        offset = v - q @ v
        cov = (offset * q[:, None]).T @ offset
        bend = inverse - inverse @ cov @ inverse
        np.testing.assert_allclose(
            spread[n] @ tilt.curvature[n] @ spread[n], spread[n] @ bend @ spread[n], atol=1e-7
        )


@pytest.mark.parametrize(("scale", "near"), [(0.1, 1e-6), (0.5, 1e-3), (2.0, 1e-2)])
def test_many_classes_are_near_long_simulations(scale, near):
    centre, root, spread = beliefs(8, scale, seed=2)
    p = average_softmax(centre, spread)
    z = np.random.default_rng(0).normal(size=(50_000, 7))
    z = np.concatenate([z, -z])
    for n in range(2):
        at = softmax((centre[n] + z @ root[n].T) @ contrasts(8).T, axis=1)
        pairs = 0.5 * (at[:50_000] + at[50_000:])
        error = pairs.std(axis=0) / np.sqrt(50_000)
        np.testing.assert_array_less(np.abs(p[n] - pairs.mean(axis=0)), near + 5 * error)


@pytest.mark.parametrize("scale", [1e-9, 30.0, 1e3, 1e6])
@pytest.mark.parametrize("k", [3, 6])
def test_beliefs_of_any_width_have_the_means_of_their_nodes(k, scale):
    """Beside exponentials of each node less the highest, which cannot overflow."""
    centre, _, spread = beliefs(k, scale, seed=3)
    nodes = SpreadNodes(spread)
    means = nodes.moments(centre * scale)
    for rows, z, halves in nodes._groups:
        for n in rows:
            arms = nodes._arms[n] @ np.concatenate([z, -z], axis=1)
            eta = (contrasts(k) @ centre[n] * scale)[:, None] + arms
            weights, p = np.concatenate([halves, halves]), softmax(eta, axis=0)
            np.testing.assert_allclose(means.first[n], p @ weights, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(means.second[n], (p * weights) @ p.T, rtol=1e-9, atol=1e-12)
            log_sum = (eta - log_softmax(eta, axis=0))[0] @ weights
            assert means.log_sum[n] == pytest.approx(log_sum, rel=1e-9)
