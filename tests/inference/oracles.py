"""Slow and obvious answers for chains: one dense joint Gaussian, or a sum over all paths.

The Gaussian oracle is written once for any kind of number: float64 for random chains, mpmath with
80 digits where float64 itself is in doubt.
"""

from itertools import product
from typing import Any, NamedTuple

import mpmath
import numpy as np

from posteriori.inference import LinearGaussianChain

__all__ = [
    "DensePosterior",
    "Paths",
    "at",
    "dense_posterior",
    "enumerate_paths",
    "exact_posterior",
    "random_chain",
]


class DensePosterior(NamedTuple):
    mean: Any
    cov: Any
    cross_cov: Any
    log_evidence: Any
    joint_mean: Any
    joint_cov: Any


class Paths(NamedTuple):
    probabilities: Any
    pairs: Any
    log_evidence: float
    best: Any
    log_best: float


def at(value, t, ndim, n_steps, arrival=False):
    """Entry of a parameter for step t (or for the arrival at t), as the record's docs say."""
    a = np.asarray(value, dtype=float)
    if a.ndim == 0:
        a = a.reshape((1,) * ndim)
    if a.ndim == ndim:
        return a
    if len(a) == 1:
        return a[0]
    return a[t - 1] if arrival and len(a) == n_steps - 1 else a[t]


def dense_posterior(chain: LinearGaussianChain, y) -> DensePosterior:
    """Condition the joint of all states and all observed entries by one solve."""
    y = np.asarray(y, dtype=float)
    mean, cov, rows, offset, noise = _joint(chain, y, np.zeros, lambda a: np.asarray(a, float))
    seen = ~np.isnan(y.ravel())
    rows, noise = rows[seen], noise[np.ix_(seen, seen)]
    surprise = y.ravel()[seen] - offset[seen] - rows @ mean
    spread = rows @ cov @ rows.T + noise
    gain = np.linalg.solve(spread, rows @ cov).T
    posterior = cov - gain @ rows @ cov
    quadratic = surprise @ np.linalg.solve(spread, surprise)
    log_det = np.linalg.slogdet(2 * np.pi * spread)[1]
    return _split(mean + gain @ surprise, posterior, -0.5 * (quadratic + log_det), len(y))


def exact_posterior(chain: LinearGaussianChain, y, digits=80) -> DensePosterior:
    """Do the same with ``digits`` digits, from the float64 parameters as they are."""
    y = np.asarray(y, dtype=float)
    with mpmath.workdps(digits):
        number = np.vectorize(lambda x: mpmath.mpf(float(x)), otypes=[object])
        mean, cov, rows, offset, noise = _joint(
            chain, y, lambda shape: number(np.zeros(shape)), lambda a: number(np.asarray(a, float))
        )
        seen = ~np.isnan(y.ravel())
        rows, noise = rows[seen], noise[np.ix_(seen, seen)]
        surprise = number(y.ravel()[seen]) - offset[seen] - rows.dot(mean)
        reach = rows.dot(cov)
        lower = _cholesky(reach.dot(rows.T) + noise)
        z, whitened = _forward(lower, surprise[:, None])[:, 0], _forward(lower, reach)
        log_det = sum(2 * mpmath.log(lower[i, i]) for i in range(len(lower)))
        log_evidence = -(z.dot(z) + log_det + len(z) * mpmath.log(2 * mpmath.pi)) / 2
        mean, cov = mean + whitened.T.dot(z), cov - whitened.T.dot(whitened)
        return _split(mean, cov, log_evidence, len(y))


def random_chain(rng, size, outputs, n_steps, *, varying=False):
    """A stable random chain with every parameter different from 0."""
    lead = (n_steps,) if varying else ()

    def spd(n, *shape):
        a = rng.normal(size=(*shape, n, n))
        return a @ np.swapaxes(a, -1, -2) + 0.1 * np.eye(n)

    return LinearGaussianChain(
        rng.normal(size=size),
        spd(size),
        0.6 * rng.normal(size=(*lead, size, size)),
        rng.normal(size=(*lead, size)),
        spd(size, *lead),
        rng.normal(size=(*lead, outputs, size)),
        rng.normal(size=(*lead, outputs)),
        spd(outputs, *lead),
    )


def enumerate_paths(log_initial, log_transition, log_likelihood) -> Paths:
    """Add up all K^T paths, with the largest log-likelihood of each step counted apart."""
    log_transition = np.asarray(log_transition)
    tops = log_likelihood.max(axis=1, keepdims=True)
    tops = np.where(tops > -np.inf, tops, 0.0)
    log_likelihood = log_likelihood - tops
    n_steps, n_states = log_likelihood.shape
    paths = np.array(list(product(range(n_states), repeat=n_steps)))
    logs = np.asarray(log_initial)[paths[:, 0]].astype(float)
    for t in range(n_steps):
        logs = logs + log_likelihood[t, paths[:, t]]
        if t:
            step = log_transition if log_transition.ndim == 2 else log_transition[t - 1]
            logs = logs + step[paths[:, t - 1], paths[:, t]]
    top = logs.max()
    weights = np.exp(logs - (top if top > -np.inf else 0.0))
    total = weights.sum() or 1.0
    probabilities = np.zeros((n_steps, n_states))
    pairs = np.zeros((n_steps - 1, n_states, n_states))
    for t in range(n_steps):
        np.add.at(probabilities[t], paths[:, t], weights / total)
        if t:
            np.add.at(pairs[t - 1], (paths[:, t - 1], paths[:, t]), weights / total)
    apart = float(tops.sum())
    log_evidence = float(top + np.log(total)) + apart
    return Paths(probabilities, pairs, log_evidence, paths[logs.argmax()], float(top) + apart)


def _joint(chain, y, zeros, convert):
    """Mean and covariance of all states; emission rows, offsets and noise of all outputs."""
    n_steps, outputs = y.shape
    start = convert(np.atleast_1d(chain.initial_mean))
    size = len(start)
    mean, cov = zeros((n_steps * size,)), zeros((n_steps * size, n_steps * size))
    rows, offset = zeros((n_steps * outputs, n_steps * size)), zeros((n_steps * outputs,))
    noise = zeros((n_steps * outputs, n_steps * outputs))
    m, p = start, convert(np.atleast_2d(chain.initial_cov))
    steps = []
    for t in range(n_steps):
        here, there = slice(t * size, (t + 1) * size), slice(t * outputs, (t + 1) * outputs)
        if t:
            a, b, q = (
                convert(at(value, t, ndim, n_steps, arrival=True))
                for value, ndim in (
                    (chain.transition, 2),
                    (np.zeros(size) + chain.transition_offset, 1),
                    (chain.transition_cov, 2),
                )
            )
            m, p = a.dot(m) + b, a.dot(p).dot(a.T) + q
            steps.append(a)
        mean[here], cov[here, here] = m, p
        for u in range(t - 1, -1, -1):
            back = slice(u * size, (u + 1) * size)
            before = slice((t - 1) * size, t * size)
            cov[here, back] = steps[-1].dot(cov[before, back])
            cov[back, here] = cov[here, back].T
        rows[there, here] = convert(at(chain.emission, t, 2, n_steps))
        offset[there] = convert(at(np.zeros(outputs) + chain.emission_offset, t, 1, n_steps))
        noise[there, there] = convert(at(chain.emission_cov, t, 2, n_steps))
    return mean, cov, rows, offset, noise


def _split(mean, cov, log_evidence, n_steps) -> DensePosterior:
    size = len(mean) // n_steps
    blocks = cov.reshape(n_steps, size, n_steps, size)
    return DensePosterior(
        mean.reshape(n_steps, size),
        np.array([blocks[t, :, t] for t in range(n_steps)]),
        np.array([blocks[t + 1, :, t] for t in range(n_steps - 1)]),
        log_evidence,
        mean,
        cov,
    )


def _cholesky(a):
    n = len(a)
    lower = a * 0
    for j in range(n):
        lower[j, j] = mpmath.sqrt(a[j, j] - lower[j, :j].dot(lower[j, :j]))
        for i in range(j + 1, n):
            lower[i, j] = (a[i, j] - lower[i, :j].dot(lower[j, :j])) / lower[j, j]
    return lower


def _forward(lower, right):
    solved = right * 0
    for i in range(len(lower)):
        solved[i] = (right[i] - lower[i, :i].dot(solved[:i])) / lower[i, i]
    return solved
