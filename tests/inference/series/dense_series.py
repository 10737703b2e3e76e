"""The joint normal distribution of a scalar chain, written out: the oracle of the passes."""

from typing import NamedTuple

import numpy as np
from scipy.stats import multivariate_normal

from posteriori.inference.series.scalar_chain import Entries, ScalarChain


class DenseSeries(NamedTuple):
    """Mean (T·D,) and covariance of all states, and the map (T, T·D) to the values."""

    mean: np.ndarray
    cov: np.ndarray
    emission: np.ndarray
    noise: float

    def values(self, seen):
        """Return mean and covariance of the observed values."""
        z = self.emission[seen]
        return z @ self.mean, z @ self.cov @ z.T + self.noise * np.eye(len(z))

    def log_prob(self, y):
        seen = ~np.isnan(y)
        mean, cov = self.values(seen)
        return multivariate_normal(mean, cov).logpdf(y[seen])

    def states(self, y):
        """Return mean and covariance of all states given the values."""
        seen = ~np.isnan(y)
        mean, cov = self.values(seen)
        gain = np.linalg.solve(cov, self.emission[seen] @ self.cov).T
        return (
            self.mean + gain @ (y[seen] - mean),
            self.cov - gain @ (self.emission[seen] @ self.cov),
        )


def at(a, t):
    return a[t] if len(a) > 1 else a[0]


def dense(entries, weights, size):
    made = np.zeros((size, size))
    np.add.at(made, (entries.rows, entries.columns), weights)
    return made


def write_out(chain, variances, steps, kappa=0.0):
    """Return the joint distribution, with variance ``kappa`` added to start values without a prior."""
    size = len(chain.initial_mean)
    mean, root = np.zeros(steps * size), np.zeros((steps * size, steps * size))
    cov = np.zeros_like(root)
    mean[:size] = chain.initial_mean
    cov[:size, :size] = chain.initial_cov + kappa * np.diag(chain.diffuse.astype(float))
    started = chain.start.weights[0] * variances[chain.start_parts]
    cov[:size, :size] += dense(chain.start, started, size)
    emission = np.zeros((steps, steps * size))
    for t in range(steps):
        here = slice(t * size, (t + 1) * size)
        emission[t, here] = at(chain.emission, t)
        if t == steps - 1:
            break
        ahead = slice((t + 1) * size, (t + 2) * size)
        step = dense(chain.transition, at(chain.transition.weights, t), size)
        noise = dense(chain.noise, at(chain.noise.weights, t) * variances[chain.parts], size)
        mean[ahead] = step @ mean[here]
        cov[ahead, : ahead.start] = step @ cov[here, : ahead.start]
        cov[: ahead.start, ahead] = cov[ahead, : ahead.start].T
        cov[ahead, ahead] = step @ cov[here, here] @ step.T + noise
    return DenseSeries(mean, cov, emission, variances[0])


def random_chain(rng, size, steps, varying, diffuse):
    """Return a chain of three parts with sparse transitions, its variances and values with gaps."""
    rows = np.repeat(np.arange(size), 2)
    columns = rng.integers(0, size, 2 * size)
    length = steps if varying else 1
    transition = Entries(rows, columns, rng.normal(0.0, 0.6, (length, 2 * size)))
    pairs = [(i, i) for i in range(size)] + [(0, 1), (1, 0)]  # W has one entry beside the diagonal
    parts = np.array([1 + (i > 1) for i in range(size)] + [1, 1])
    weights = np.concatenate(
        [rng.uniform(0.5, 1.5, (length, size)), np.full((length, 2), 0.3)], axis=1
    )
    noise = Entries(*np.array(pairs).T, weights)
    root = rng.normal(size=(size, size))
    unknown = np.arange(size) < diffuse
    emission = rng.normal(size=(length, size))
    start = rng.normal(size=size), root @ root.T + 0.1 * np.eye(size)
    equilibrium = Entries(
        np.array([2, 2, 3, 3]), np.array([2, 3, 2, 3]), np.array([[2, 0.5, 0.5, 3]])
    )
    begun = equilibrium, np.array([2, 2, 2, 2])
    chain = ScalarChain(emission, transition, noise, parts, *start, *begun, unknown)
    y = rng.normal(size=steps)
    y[[3, 4, 7]] = np.nan
    return chain, rng.uniform(0.3, 2.0, 3), y
