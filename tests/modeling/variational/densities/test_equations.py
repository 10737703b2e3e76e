"""Coordinate ascent written out for single models, as the textbooks have it, against the engine.

Reference: C. M. Bishop, "Pattern Recognition and Machine Learning", 2006, chapter 10.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, gammaln, logsumexp, multigammaln

from posteriori.modeling.variational.ascent.coordinate_ascent import sweep
from tests.modeling.variational.models import by_name, variational

SWEEPS = 100


def settled(name: str, **options: Any) -> Any:
    """Return the posterior after plain sweeps until nothing moves, and its bound."""
    m, data = by_name(name)
    post = m.infer(data, callback=lambda i, _: True, method="vmp", **options)
    result = variational(post)
    for _ in range(SWEEPS):
        bound = sweep(result.problem)
    return post, float(bound[0]), data


def gamma_entropy(a: Any, b: Any) -> Any:
    return a - np.log(b) + gammaln(a) + (1.0 - a) * digamma(a)


def gamma_energy(a0: float, b0: float, a: Any, b: Any) -> Any:
    """Return E[ln Gamma(x | a₀, b₀)] under Gamma(a, b)."""
    return a0 * np.log(b0) - gammaln(a0) + (a0 - 1.0) * (digamma(a) - np.log(b)) - b0 * a / b


def test_mean_and_precision() -> None:
    """q(μ) = N(m, 1/l), q(τ) = Gamma(a, b) of Bishop (10.24) to (10.30), for independent priors."""
    post, bound, data = settled("mean_and_precision")
    x = data["x"]
    n, a, b = len(x), 2.0 + 0.5 * 7, 1.5
    for _ in range(SWEEPS):
        precision = 1.0 / 4.0 + n * a / b
        mean = (1.0 / 4.0 + a / b * x.sum()) / precision
        b = 1.5 + 0.5 * (((x - mean) ** 2).sum() + n / precision)
    assert_allclose(post.mu.mean, mean, rtol=1e-10)
    assert_allclose(post.mu.variance, 1.0 / precision, rtol=1e-10)
    assert_allclose(post.tau.shape, a, rtol=1e-12)
    assert_allclose(post.tau.rate, b, rtol=1e-10)
    log_tau, square = digamma(a) - np.log(b), ((x - mean) ** 2).sum() + n / precision
    expected = 0.5 * n * (log_tau - np.log(2.0 * np.pi)) - 0.5 * a / b * square
    expected += -0.5 * np.log(2.0 * np.pi * 4.0) - ((mean - 1.0) ** 2 + 1.0 / precision) / 8.0
    expected += gamma_energy(2.0, 1.5, a, b) + gamma_entropy(a, b)
    expected += 0.5 * np.log(2.0 * np.pi * np.e / precision)
    assert_allclose(bound, expected, rtol=1e-12)


def test_relevance_of_regressors() -> None:
    """Bishop (10.94) to (10.100) with a precision for each weight and an unknown noise."""
    post, bound, data = settled("ard_regression")
    x, y = data["X"], data["y"]
    n, k = x.shape
    a, b = np.full(k, 2.5), np.ones(k)
    c, d = 2.0 + 0.5 * n, 0.5
    for _ in range(SWEEPS):
        cov = np.linalg.inv(np.diag(a / b) + c / d * x.T @ x)
        mean = c / d * cov @ x.T @ y
        b = 1.0 + 0.5 * (mean**2 + np.diag(cov))
        misfit = ((y - x @ mean) ** 2).sum() + np.trace(x.T @ x @ cov)
        d = 0.5 + 0.5 * misfit
    assert_allclose(post.w.mean, mean, rtol=1e-9)
    assert_allclose(post.w.variance, np.diag(cov), rtol=1e-9)
    assert_allclose(post.alpha.rate, b, rtol=1e-9)
    assert_allclose(post.beta.rate, d, rtol=1e-9)
    log_2pi = np.log(2.0 * np.pi)
    expected = 0.5 * n * (digamma(c) - np.log(d) - log_2pi) - 0.5 * c / d * misfit
    squares = mean**2 + np.diag(cov)
    expected += (0.5 * (digamma(a) - np.log(b) - log_2pi) - 0.5 * a / b * squares).sum()
    expected += (gamma_energy(2.0, 1.0, a, b) + gamma_entropy(a, b)).sum()
    expected += gamma_energy(2.0, 0.5, c, d) + gamma_entropy(c, d)
    expected += 0.5 * (k * (log_2pi + 1.0) + np.linalg.slogdet(cov)[1])
    assert_allclose(bound, expected, rtol=1e-11)


# -- classes of normal vectors -----------------------------------------------------------------


class Components(NamedTuple):
    """q(μ_k) = N(mean, cov) and q(Λ_k) = W(dof, scale), from responsibilities (N, K)."""

    mean: np.ndarray
    cov: np.ndarray
    dof: np.ndarray
    scale: np.ndarray


class Prior(NamedTuple):
    variance: float
    dof: float
    scale: float


def expected_log_det(dof: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """E[ln|Λ|] of Bishop (10.65)."""
    d = scale.shape[-1]
    digammas = digamma(0.5 * (dof[:, None] - np.arange(d))).sum(axis=1)
    return digammas + d * np.log(2.0) + np.linalg.slogdet(scale)[1]


def misfits(x: np.ndarray, q: Components) -> np.ndarray:
    """E[(x − μ_k)(x − μ_k)ᵀ] for each row, (N, K, D, D)."""
    gone = x[:, None] - q.mean
    return gone[..., :, None] * gone[..., None, :] + q.cov


def log_densities(x: np.ndarray, q: Components) -> np.ndarray:
    """E[ln N(x | μ_k, Λ_k⁻¹)], (N, K)."""
    expected = q.dof[:, None, None] * q.scale
    fit = np.einsum("nkij,kij->nk", misfits(x, q), expected)
    d = x.shape[1]
    return 0.5 * (expected_log_det(q.dof, q.scale) - d * np.log(2.0 * np.pi) - fit)


def updated(x: np.ndarray, r: np.ndarray, q: Components, prior: Prior) -> Components:
    eye = np.eye(x.shape[1])
    weights = q.dof[:, None, None] * q.scale
    cov = np.linalg.inv(eye / prior.variance + r.sum(axis=0)[:, None, None] * weights)
    mean = np.einsum("kij,kjl,kl->ki", cov, weights, r.T @ x)
    q = q._replace(mean=mean, cov=cov)
    inverse = eye / prior.scale + np.einsum("nk,nkij->kij", r, misfits(x, q))
    return q._replace(dof=prior.dof + r.sum(axis=0), scale=np.linalg.inv(inverse))


def first_components(k: int, d: int, prior: Prior) -> Components:
    eye = np.tile(np.eye(d), (k, 1, 1))
    return Components(
        np.zeros((k, d)), prior.variance * eye, np.full(k, prior.dof), prior.scale * eye
    )


def log_wishart_normaliser(dof: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """ln B of Bishop (B.79)."""
    d = scale.shape[-1]
    logs = 0.5 * dof * (np.linalg.slogdet(scale)[1] + d * np.log(2.0))
    return -logs - np.array([multigammaln(0.5 * v, d) for v in np.atleast_1d(dof)])


def component_terms(q: Components, prior: Prior) -> float:
    """E[ln p(μ, Λ)] − E[ln q(μ, Λ)] of all classes: minus two Kullback-Leibler divergences."""
    k, d = q.mean.shape
    trace = np.trace(q.cov, axis1=1, axis2=2) + (q.mean**2).sum(axis=1)
    normal = 0.5 * (np.linalg.slogdet(q.cov)[1] - d * np.log(prior.variance) + d)
    total = (normal - 0.5 * trace / prior.variance).sum()
    logs, expected = expected_log_det(q.dof, q.scale), q.dof[:, None, None] * q.scale
    first = log_wishart_normaliser(
        np.full(k, prior.dof), prior.scale * np.tile(np.eye(d), (k, 1, 1))
    )
    total += (first + 0.5 * (prior.dof - d - 1.0) * logs).sum()
    total -= 0.5 * np.trace(expected, axis1=1, axis2=2).sum() / prior.scale
    own = log_wishart_normaliser(q.dof, q.scale)
    return float(total - (own + 0.5 * (q.dof - d - 1.0) * logs - 0.5 * q.dof * d).sum())


def log_weights(concentration: np.ndarray) -> np.ndarray:
    return digamma(concentration) - digamma(concentration.sum(axis=-1, keepdims=True))


def dirichlet_terms(prior: np.ndarray, posterior: np.ndarray) -> float:
    """Minus the divergence of Dirichlet(posterior) from Dirichlet(prior), summed over rows."""

    def log_normaliser(c: np.ndarray) -> np.ndarray:
        return gammaln(c.sum(axis=-1)) - gammaln(c).sum(axis=-1)

    difference = ((prior - posterior) * log_weights(posterior)).sum(axis=-1)
    return float(np.sum(log_normaliser(prior) - log_normaliser(posterior) + difference))


def test_mixture_of_normals() -> None:
    """Bishop (10.46) to (10.77), with q(μ) q(Λ) instead of the joint of both."""
    codes = np.array([0, 1, 0, 1, 0, 1, 2, 1])
    start = 0.9 * np.eye(3)[codes] + 0.1 / 3.0
    post, bound, data = settled("wishart_mixture", init={"z": start})
    x, prior = data["x"], Prior(4.0, 4.0, 0.5)
    r, q = start, first_components(3, 2, prior)
    for _ in range(SWEEPS):
        weights = 0.7 + r.sum(axis=0)
        q = updated(x, r, q, prior)
        logits = log_weights(weights) + log_densities(x, q)
        r = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    assert_allclose(post.z.probabilities, r, atol=1e-9)
    assert_allclose(post.pi.concentration, weights, rtol=1e-9)
    assert_allclose(post.mu.mean, q.mean, rtol=1e-7, atol=1e-9)
    assert_allclose(post.mu.cov, q.cov, rtol=1e-7, atol=1e-9)
    assert_allclose(post.L.dof, q.dof, rtol=1e-9)
    assert_allclose(post.L.scale, q.scale, rtol=1e-7, atol=1e-9)
    expected = logsumexp(logits, axis=1).sum()  # Σ r (logits − ln r)
    expected += dirichlet_terms(0.7 * np.ones(3), weights) + component_terms(q, prior)
    assert_allclose(bound, expected, rtol=1e-10)


def forward_backward(log_start: Any, log_steps: Any, logits: Any) -> tuple[Any, Any, float]:
    """Return the probabilities of states and of steps, and ln Σ over all paths of the weights."""
    length, k = logits.shape
    ahead, behind = np.zeros((length, k)), np.zeros((length, k))
    ahead[0] = log_start + logits[0]
    for t in range(1, length):
        ahead[t] = logits[t] + logsumexp(ahead[t - 1][:, None] + log_steps, axis=0)
    for t in range(length - 2, -1, -1):
        behind[t] = logsumexp(log_steps + logits[t + 1] + behind[t + 1], axis=1)
    total = float(logsumexp(ahead[-1]))
    steps = ahead[:-1, :, None] + log_steps + (logits + behind)[1:, None, :]
    return np.exp(ahead + behind - total), np.exp(steps - total), total


def test_hidden_markov_model_with_normal_emissions() -> None:
    """A chain in the place of independent classes: counts of steps, and forward–backward."""
    codes = np.array([0, 0, 0, 1, 1, 1, 0])
    start = 0.9 * np.eye(2)[codes] + 0.05
    post, bound, data = settled("normal_hmm", init={"z": start})
    x, prior = data["x"], Prior(9.0, 4.0, 0.5)
    r, q = start, first_components(2, 2, prior)
    steps = start[:-1, :, None] * start[1:, None, :]
    for _ in range(SWEEPS):
        first, rows = 1.0 + r[0], 1.0 + steps.sum(axis=0)
        q = updated(x, r, q, prior)
        r, steps, total = forward_backward(
            log_weights(first), log_weights(rows), log_densities(x, q)
        )
    assert_allclose(post.z.probabilities, r, atol=1e-9)
    assert_allclose(post.A.concentration, rows, rtol=1e-8)
    assert_allclose(post.start.concentration, first, rtol=1e-8)
    assert_allclose(post.mu.mean, q.mean, rtol=1e-7, atol=1e-9)
    assert_allclose(post.L.scale, q.scale, rtol=1e-7, atol=1e-9)
    expected = total + dirichlet_terms(np.ones(2), first) + component_terms(q, prior)
    expected += dirichlet_terms(np.ones((2, 2)), rows)
    assert_allclose(bound, expected, rtol=1e-10)


@pytest.mark.parametrize("start", [[0, 1, 0, 1, 2, 1, 0], [2, 1, 0, 1, 0, 2, 2]])
def test_mixture_of_counts(start: list[int]) -> None:
    """Poisson classes: Gamma(a + Σ r x, b + Σ r)."""
    first = 0.9 * np.eye(3)[start] + 0.1 / 3.0
    post, bound, data = settled("poisson_mixture", init={"z": first})
    x, r = data["x"], first
    for _ in range(SWEEPS):
        weights = 1.0 + r.sum(axis=0)
        a, b = 1.5 + r.T @ x, 0.5 + r.sum(axis=0)
        each = x[:, None] * (digamma(a) - np.log(b)) - a / b - gammaln(x + 1.0)[:, None]
        logits = log_weights(weights) + each
        r = np.exp(logits - logsumexp(logits, axis=1, keepdims=True))
    assert_allclose(post.z.probabilities, r, atol=1e-8)
    assert_allclose(post.rate.shape, a, rtol=1e-7)
    assert_allclose(post.rate.rate, b, rtol=1e-7)
    expected = logsumexp(logits, axis=1).sum() + dirichlet_terms(np.ones(3), weights)
    expected += (gamma_energy(1.5, 0.5, a, b) + gamma_entropy(a, b)).sum()
    assert_allclose(bound, expected, rtol=1e-10)
