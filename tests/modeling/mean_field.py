"""Mean-field answers to single models, written out by hand: the oracles of the gallery's bounds.

Each function repeats the updates of one model with NumPy alone until nothing changes, and returns
the beliefs and the bound E[ln p(data | unknowns)] − Σ KL(belief ‖ prior).
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln, logsumexp, multigammaln

__all__ = [
    "Mixture",
    "ascend_mixture",
    "gamma_divergence",
    "mean_and_precision",
    "relevance_regression",
    "with_normals",
    "with_rates",
    "with_regressions",
    "with_tables",
]

LOG_2PI = np.log(2 * np.pi)
SWEEPS = 300


# -- divergences KL(q ‖ p) ---------------------------------------------------------------------


def gamma_divergence(a: Any, b: Any, a0: Any, b0: Any) -> Any:
    """Return KL(Gamma(a, b) ‖ Gamma(a0, b0)), all rates."""
    return (
        (a - a0) * digamma(a)
        - gammaln(a)
        + gammaln(a0)
        + a0 * (np.log(b) - np.log(b0))
        + a * (b0 - b) / b
    )


def dirichlet_divergence(c: Any, c0: Any) -> float:
    """Return the sum of KL(Dirichlet(c) ‖ Dirichlet(c0)) over all rows."""
    c, c0 = np.broadcast_arrays(np.asarray(c, float), np.asarray(c0, float))
    total = c.sum(axis=-1, keepdims=True)
    each = gammaln(total[..., 0]) - gammaln(c).sum(-1) - gammaln(c0.sum(-1)) + gammaln(c0).sum(-1)
    each = each + ((c - c0) * (digamma(c) - digamma(total))).sum(-1)
    return float(each.sum())


def normal_divergence(m: Any, S: Any, m0: Any, S0: Any) -> float:
    """Return KL(N(m, S) ‖ N(m0, S0)) of vectors."""
    d, inverse = np.asarray(m) - m0, np.linalg.inv(S0)
    logs = np.linalg.slogdet(S0)[1] - np.linalg.slogdet(S)[1]
    return float(0.5 * (np.trace(inverse @ S) - len(d) + d @ inverse @ d + logs))


def wishart_divergence(n: float, V: Any, n0: float, V0: Any) -> float:
    """Return KL(W(n, V) ‖ W(n0, V0)), n the degrees of freedom and n V the mean."""
    size = len(V)
    logs = np.linalg.slogdet(V0)[1] - np.linalg.slogdet(V)[1]
    trace = np.trace(np.linalg.solve(V0, V)) - size
    digammas = digamma((n - np.arange(size)) / 2).sum()
    return float(
        0.5 * (n0 * logs + n * trace)
        + multigammaln(n0 / 2, size)
        - multigammaln(n / 2, size)
        + 0.5 * (n - n0) * digammas
    )


# -- models with a precision -------------------------------------------------------------------


class WithPrecision(NamedTuple):
    """Normal unknowns, the precisions they take turns with, and the bound."""

    mean: np.ndarray
    cov: np.ndarray
    shape: Any
    rate: Any
    bound: float


def mean_and_precision(y: Any, normal: Any, gamma: Any) -> WithPrecision:
    """μ ~ N(m0, v0), τ ~ Gamma(a0, b0), y ~ N(μ, 1/τ)."""
    (m0, v0), (a0, b0) = normal, gamma
    n, a, b = len(y), a0 + len(y) / 2, b0
    for _ in range(SWEEPS):
        v = 1 / (1 / v0 + n * a / b)
        m = v * (m0 / v0 + a / b * y.sum())
        squares = ((y - m) ** 2).sum() + n * v
        b = b0 + squares / 2
    bound = 0.5 * n * (digamma(a) - np.log(b) - LOG_2PI) - 0.5 * a / b * squares
    bound -= normal_divergence([m], [[v]], [m0], [[v0]]) + gamma_divergence(a, b, a0, b0)
    return WithPrecision(np.array([m]), np.array([[v]]), a, b, float(bound))


def relevance_regression(X: Any, y: Any, weights: Any, noise: Any) -> WithPrecision:
    """α_d ~ Gamma(weights), w_d ~ N(0, 1/α_d), τ ~ Gamma(noise), y ~ N(X w, 1/τ)."""
    (a0, b0), (c0, d0) = weights, noise
    n = len(y)
    a, b = a0 + 0.5, np.full(X.shape[1], b0)
    c, d = c0 + n / 2, d0
    for _ in range(SWEEPS):
        cov = np.linalg.inv(np.diag(a / b) + c / d * X.T @ X)
        mean = cov @ (c / d * X.T @ y)
        second = mean**2 + np.diag(cov)
        b = b0 + second / 2
        squares = ((y - X @ mean) ** 2).sum() + np.trace(X @ cov @ X.T)
        d = d0 + squares / 2
    bound = 0.5 * n * (digamma(c) - np.log(d) - LOG_2PI) - 0.5 * c / d * squares
    # E[ln p(w | α)] and the entropy of w
    bound += np.sum(0.5 * (digamma(a) - np.log(b) - LOG_2PI) - 0.5 * a / b * second)
    bound += 0.5 * np.linalg.slogdet(2 * np.pi * np.e * cov)[1]
    bound -= np.sum(gamma_divergence(a, b, a0, b0)) + gamma_divergence(c, d, c0, d0)
    return WithPrecision(mean, cov, a, b, float(bound))


class Mixture(NamedTuple):
    """Counts of the Dirichlet belief, responsibilities, what the components hold, the bound."""

    counts: np.ndarray
    responsibilities: np.ndarray
    components: Any
    bound: float


#: From responsibilities (N, K) and the last components: E[ln p(x | k)] (N, K), Σ KL, components.
Update = Callable[[np.ndarray, Any], tuple[np.ndarray, float, Any]]


def ascend_mixture(prior: Any, start: np.ndarray, update: Update) -> Mixture:
    """π ~ Dirichlet(prior), z ~ π, x ~ component z, from given responsibilities."""
    r, components = start, None
    for _ in range(SWEEPS):
        counts = prior + r.sum(axis=0)
        expected, divergence, components = update(r, components)
        logits = expected + digamma(counts) - digamma(counts.sum())
        totals = logsumexp(logits, axis=1, keepdims=True)
        r = np.exp(logits - totals)
    bound = totals.sum() - dirichlet_divergence(counts, prior) - divergence
    return Mixture(counts, r, components, float(bound))


def with_rates(x: Any, a0: float, b0: float) -> Update:
    """Poisson counts, rates ~ Gamma(a0, b0)."""

    def update(r: np.ndarray, _: Any) -> tuple[np.ndarray, float, Any]:
        a, b = a0 + r.T @ x, b0 + r.sum(axis=0)
        expected = np.outer(x, digamma(a) - np.log(b)) - a / b - gammaln(x + 1)[:, None]
        return expected, float(np.sum(gamma_divergence(a, b, a0, b0))), (a, b)

    return update


def with_tables(questions: Any) -> Update:
    """Each question: answers as codes (NaN left out) with a Dirichlet(1, ..., 1) for each class."""
    hot = []
    for codes, size in questions:
        there = ~np.isnan(codes)
        rows = np.zeros((len(codes), size))
        rows[there, codes[there].astype(int)] = 1.0
        hot.append(rows)

    def update(r: np.ndarray, _: Any) -> tuple[np.ndarray, float, Any]:
        tables = [1.0 + r.T @ rows for rows in hot]
        logs = [digamma(c) - digamma(c.sum(axis=1, keepdims=True)) for c in tables]
        expected = sum(rows @ log.T for rows, log in zip(hot, logs, strict=True))
        return expected, sum(dirichlet_divergence(c, np.ones_like(c)) for c in tables), tables

    return update


def with_normals(x: Any, cov0: Any, dof0: float, scale0: Any) -> Update:
    """μ_k ~ N(0, cov0), Λ_k ~ W(dof0, scale0), x ~ N(μ_k, Λ_k⁻¹)."""
    size = x.shape[1]

    def update(r: np.ndarray, last: Any) -> tuple[np.ndarray, float, Any]:
        components, expected, divergence = [], np.zeros(r.shape), 0.0
        for k in range(r.shape[1]):
            n = r[:, k].sum()
            precision = dof0 * scale0 if last is None else last[k][2] * last[k][3]
            cov = np.linalg.inv(np.linalg.inv(cov0) + n * precision)
            mean = cov @ precision @ (r[:, k] @ x)
            apart = x - mean
            scatter = (r[:, k, None] * apart).T @ apart + n * cov
            dof = dof0 + n
            scale = np.linalg.inv(np.linalg.inv(scale0) + scatter)
            log_det = digamma((dof - np.arange(size)) / 2).sum() + size * np.log(2)
            log_det += np.linalg.slogdet(scale)[1]
            squares = dof * (np.einsum("ni,ij,nj->n", apart, scale, apart) + np.trace(scale @ cov))
            expected[:, k] = 0.5 * (log_det - size * LOG_2PI - squares)
            divergence += normal_divergence(mean, cov, np.zeros(size), cov0)
            divergence += wishart_divergence(dof, scale, dof0, scale0)
            components.append((mean, cov, dof, scale))
        return expected, divergence, components

    return update


def with_regressions(X: Any, y: Any, cov0: Any, a0: float, b0: float) -> Update:
    """w_k ~ N(0, cov0), τ_k ~ Gamma(a0, b0), y ~ N(X w_k, 1/τ_k)."""

    def update(r: np.ndarray, last: Any) -> tuple[np.ndarray, float, Any]:
        components, expected, divergence = [], np.zeros(r.shape), 0.0
        for k in range(r.shape[1]):
            weighted = r[:, k, None] * X
            tau = a0 / b0 if last is None else last[k][2] / last[k][3]
            cov = np.linalg.inv(np.linalg.inv(cov0) + tau * weighted.T @ X)
            mean = cov @ (tau * weighted.T @ y)
            squares = (y - X @ mean) ** 2 + np.einsum("ni,ij,nj->n", X, cov, X)
            a, b = a0 + r[:, k].sum() / 2, b0 + r[:, k] @ squares / 2
            expected[:, k] = 0.5 * (digamma(a) - np.log(b) - LOG_2PI - a / b * squares)
            divergence += normal_divergence(mean, cov, np.zeros(len(mean)), cov0)
            divergence += float(gamma_divergence(a, b, a0, b0))
            components.append((mean, cov, a, b))
        return expected, divergence, components

    return update
