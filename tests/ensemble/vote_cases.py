"""Data of votes, and boosting written slowly and plainly."""

import numpy as np

#: Ten points of two classes on a line: a stump is wrong about three of them.
LINE = np.arange(10.0)[:, None], np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])


def noisy_rows(n=200, d=4, seed=0, noise=0.5):
    """Return rows of two classes that a sum of columns tells apart, but for noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64)
    return x, np.where(x[:, :2].sum(axis=1) + noise * rng.normal(size=n) > 0, 1, -1)


def diagonal_rows(n=100, seed=0):
    """Return rows of two classes on either side of a diagonal strip, which stumps must compose."""
    x = np.random.default_rng(seed).uniform(-1, 1, size=(n, 2))
    x = x[np.abs(x.sum(axis=1)) > 0.15]
    return x, np.where(x.sum(axis=1) > 0, 1, -1)


def all_stumps(x):
    """Return what every stump, and every constant, says of the rows, (J, N) of ±1."""
    said = [np.ones(len(x))]
    for column in x.T:
        said += [np.where(column <= cut, 1.0, -1.0) for cut in np.unique(column)[:-1]]
    return np.concatenate([(h, -h) for h in said])


def plain_adaboost(x, y, rounds):
    """Return steps, errors, what was said, and the weights before each round: the algorithm as printed."""
    d, stumps = np.full(len(y), 1.0 / len(y)), all_stumps(x)
    steps, errors, said, weights = [], [], [], []
    for _ in range(rounds):
        error_of = ((stumps != y) * d).sum(axis=1)
        h, error = stumps[error_of.round(12).argmin()], error_of.min()  # of equal ones the first
        step = 0.5 * np.log((1 - error) / error)
        steps, errors = [*steps, step], [*errors, error]
        said, weights = [*said, h], [*weights, d]
        d = d * np.exp(-step * y * h)
        d = d / d.sum()
    return np.array(steps), np.array(errors), np.array(said), np.array([*weights, d])
