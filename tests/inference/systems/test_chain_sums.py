"""Sums that learning of chains needs, against rows one by one."""

import numpy as np

from posteriori.inference import (
    LinearGaussianChain,
    simulate_chain,
    smooth_chain,
    sum_chain_moments,
)

NOISE = np.array([[0.4, 0.1], [0.1, 0.3]])
CHAIN = LinearGaussianChain(
    [2.0, 0.0],
    np.eye(2),
    [[0.9, -0.3], [0.3, 0.9]],
    0.0,
    [[0.3, 0.1], [0.1, 0.2]],
    [[1.0, 0.0], [0.5, 1.0]],
    0.0,
    NOISE,
)


def data(length, gaps, seed):
    y = simulate_chain(CHAIN, length, rng=seed).observations
    return np.where(np.random.default_rng(seed).random(y.shape) < gaps, np.nan, y)


def test_sums_with_gaps_are_those_of_rows_one_by_one():
    """The missing entries of each row are expected given its others and the state, by hand."""
    y, noise = data(9, 0.4, 3), NOISE
    y[2] = np.nan
    post = smooth_chain(CHAIN, y)
    weights = np.column_stack([CHAIN.emission, [0.5, -1.0]])
    sums = sum_chain_moments(post, y, weights, noise)
    targets, across, squares, count = np.zeros((2, 2)), np.zeros((2, 3)), np.zeros((3, 3)), 0
    for row, mean, cov in zip(y, post.mean, post.cov, strict=True):
        seen = ~np.isnan(row)
        if not seen.any():
            continue
        z = np.append(mean, 1.0)
        zz = np.outer(z, z)
        zz[:2, :2] += cov
        slope, constant, rest = np.zeros((2, 3)), np.where(seen, row, 0.0), np.zeros((2, 2))
        if not seen.all():
            o, g = int(np.argmax(seen)), int(np.argmin(seen))
            gain = noise[g, o] / noise[o, o]
            slope[g] = weights[g] - gain * weights[o]
            constant[g] = gain * row[o]
            rest[g, g] = noise[g, g] - gain * noise[o, g]
        mean_y = slope @ z + constant
        cross = slope @ zz + np.outer(constant, z)
        squares, across, count = squares + zz, across + cross, count + 1
        targets = targets + cross @ slope.T + np.outer(mean_y, constant) + rest
    assert sums.emission.steps == count
    np.testing.assert_allclose(sums.emission.regressors, squares, rtol=1e-11)
    np.testing.assert_allclose(sums.emission.across, across, rtol=1e-11)
    np.testing.assert_allclose(sums.emission.targets, targets, rtol=1e-11)


def test_several_series_of_equal_length_add_up():
    series = [data(7, 0.2, seed) for seed in range(3)]
    batch = np.stack(series)
    weights = np.column_stack([CHAIN.emission, np.zeros(2)])
    whole = sum_chain_moments(smooth_chain(CHAIN, batch), batch, weights, NOISE)
    parts = [sum_chain_moments(smooth_chain(CHAIN, y), y, weights, NOISE) for y in series]
    total = parts[0].add(parts[1]).add(parts[2])
    for mine, theirs in zip(whole, total, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12)
