"""Slow and obvious answers about linear classifiers, and data to ask them of."""

import numpy as np
from scipy.optimize import linprog
from scipy.special import log_expit, log_ndtr, logsumexp

LOG_LINKS = {"logistic": log_expit, "probit": log_ndtr}


def overlapping(n: int, classes: int, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs on unequal scales and classes from softmax probabilities."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    eta = z @ rng.normal(size=(d, classes))
    y = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    return z * 10.0 ** np.arange(d) + 3.0, y


def separable(X: np.ndarray, codes: np.ndarray) -> bool:
    """Say by linear programming whether weights exist with (w_y − w_k)·x >= 0, somewhere > 0."""
    rows = np.column_stack([np.ones(len(X)), X])
    classes, width = int(codes.max()) + 1, rows.shape[1]
    gains = []
    for x, y in zip(rows, codes, strict=True):
        for k in set(range(classes)) - {int(y)}:
            gain = np.zeros((classes, width))
            gain[y], gain[k] = x, -x
            gains.append(gain.ravel())
    gains = np.array(gains)
    gains /= np.abs(gains).max(axis=0)
    best = linprog(-gains.sum(axis=0), A_ub=-gains, b_ub=np.zeros(len(gains)), bounds=(-1, 1))
    return bool(-best.fun > 1e-6)


def log_joint_on_grid(design, sign, prior_precision, prior_mean, link, nodes=400, reach=9.0):
    """Return grid points (G, P), log joint densities there, and the log volume of a cell; P <= 2."""
    log_link = LOG_LINKS[link]
    axes = [
        np.linspace(m - reach / np.sqrt(a), m + reach / np.sqrt(a), nodes)
        for m, a in zip(prior_mean, prior_precision, strict=True)
    ]
    points = np.stack([g.ravel() for g in np.meshgrid(*axes, indexing="ij")], axis=1)
    offset = points - prior_mean
    log_prior = -0.5 * (prior_precision * offset**2).sum(axis=1)
    log_prior += 0.5 * np.log(prior_precision / (2.0 * np.pi)).sum()
    log_likelihood = sum(log_link(s * (points @ row)) for row, s in zip(design, sign, strict=True))
    cell = float(sum(np.log(a[1] - a[0]) for a in axes))
    return points, log_prior + log_likelihood, cell


def evidence_on_grid(design, sign, prior_precision, prior_mean, link="logistic", **grid) -> float:
    """Return the log evidence of one or two weights by the trapezoid rule."""
    _, log_joint, cell = log_joint_on_grid(design, sign, prior_precision, prior_mean, link, **grid)
    return float(logsumexp(log_joint)) + cell
