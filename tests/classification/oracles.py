"""Slow and obvious answers about linear classifiers, and data to ask them of."""

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit, log_expit, log_ndtr, logsumexp, ndtr

LINKS = {"logistic": expit, "probit": ndtr}
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


def log_joint_on_grid(design, sign, prior_precision, prior_mean, link, nodes=200, reach=9.0):
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


def sequential_propagation(design, sign, prior_precision, prior_mean, link, sweeps=60):
    """Return mean, covariance, log evidence of expectation propagation, and what that misses.

    A site at a time; moments are sums over Gauss-Hermite nodes, each belief a dense inverse. The last
    is the leading term ½ Σ_{i≠j} Σ_l c_li c_lj r_ij^l / l! of ln p(y) − ln Z, with the cumulants c_l of
    cavity × likelihood, l = 3, 4, and r_ij = Cov[η_i, η_j]/(Var η_i Var η_j) (M. Opper, U. Paquet &
    O. Winther, "Perturbative corrections for approximate inference in Gaussian latent variable
    models", 2013, sec. 5).
    """
    n, (z, share) = len(design), np.polynomial.hermite_e.hermegauss(200)
    share = share / share.sum()
    tau, nu = np.zeros(n), np.zeros(n)

    def belief():
        cov = np.linalg.inv(np.diag(prior_precision) + design.T @ (tau[:, None] * design))
        return cov @ (prior_precision * prior_mean + design.T @ nu), cov

    def cavity(i):
        mean, cov = belief()
        variance = design[i] @ cov @ design[i]
        v = 1.0 / (1.0 / variance - tau[i])
        m = v * (design[i] @ mean / variance - nu[i])
        eta = m + np.sqrt(v) * z
        return m, v, eta, LINKS[link](sign[i] * eta)

    for _ in range(sweeps):
        for i in range(n):
            m, v, eta, likelihood = cavity(i)
            q = share * likelihood / (share @ likelihood)
            mean = q @ eta
            variance = q @ (eta - mean) ** 2
            tau[i], nu[i] = 1.0 / variance - 1.0 / v, mean / variance - m / v
    log_scale = 0.0  # ln of the factors that give each site its mass under the cavity
    third, fourth = np.zeros(n), np.zeros(n)
    for i in range(n):
        _, _, eta, likelihood = cavity(i)
        q = share * likelihood / (share @ likelihood)
        offset = eta - q @ eta
        third[i], fourth[i] = q @ offset**3, q @ offset**4 - 3.0 * (q @ offset**2) ** 2
        site = np.exp(nu[i] * eta - 0.5 * tau[i] * eta**2)
        log_scale += np.log((share @ likelihood) / (share @ site))
    mean, cov = belief()
    at_mean = design @ mean  # prior × sites at the mean, divided by the belief there
    log_joint = -0.5 * prior_precision @ (mean - prior_mean) ** 2 + nu @ at_mean
    log_joint += -0.5 * tau @ at_mean**2 + 0.5 * np.log(prior_precision).sum()
    joint = design @ cov @ design.T
    r = joint / np.outer(np.diagonal(joint), np.diagonal(joint))
    pairs = np.outer(third, third) * r**3 / 6.0 + np.outer(fourth, fourth) * r**4 / 24.0
    missed = 0.5 * (pairs.sum() - np.trace(pairs))
    return mean, cov, log_scale + log_joint + 0.5 * np.linalg.slogdet(cov)[1], missed
