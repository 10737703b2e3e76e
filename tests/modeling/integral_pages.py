"""Oracles of gallery pages that integrate over a few unknowns: dense algebra on fine grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import betaln, gammaln, logsumexp

Names = dict[str, Any]


def close(found: Any, exact: Any, tolerance: float) -> None:
    np.testing.assert_allclose(found, exact, rtol=tolerance)


def moments(weights: np.ndarray, means: Any, variances: Any = 0.0) -> tuple[Any, Any]:
    """Mean and standard deviation of a mixture."""
    means = np.asarray(means)
    mean = np.tensordot(weights, means, axes=1)
    square = np.tensordot(weights, np.asarray(variances) + (means - mean) ** 2, axes=1)
    return mean, np.sqrt(square)


def check_eight_schools(page: Names) -> None:
    y, error, post = page["y"], page["error"], page["post"]
    spread = np.linspace(1e-3, 100.0, 6001)
    logs, means, variances = [], [], []
    for tau in spread:
        prior = tau**2 * np.eye(8) + 2500.0
        total = prior + np.diag(error**2)
        gain = np.linalg.solve(total, prior).T
        means.append(gain @ y)
        variances.append(np.diagonal(prior - gain @ prior))
        logs.append(stats.multivariate_normal(np.zeros(8), total).logpdf(y))
    weights = np.exp(logs - logsumexp(logs))
    evidence = logsumexp(logs) + np.log((spread[1] - spread[0]) / 100.0)
    close(float(post.log_evidence), evidence, 1e-4)
    mean, std = moments(weights, means, variances)
    close(post.theta.mean, mean, 2e-3)
    close(post.theta.std, std, 2e-3)
    mean, std = moments(weights, spread)
    close([post.tau.mean, post.tau.std], [mean, std], 3e-3)


def check_nile(page: Names) -> None:
    flow, post = page["flow"], page["post"]
    times = np.arange(len(flow))
    walked = np.minimum.outer(times, times)
    steps, noises = np.linspace(1.0, 220.0, 74), np.linspace(70.0, 200.0, 53)
    logs = np.empty((len(steps), len(noises)))
    for i, step in enumerate(steps):
        cov = 1e6 + step**2 * walked
        values, axes = np.linalg.eigh(cov)
        turned = axes.T @ (flow - 1000.0)
        for j, noise in enumerate(noises):
            total = values + noise**2
            logs[i, j] = -0.5 * np.sum(turned**2 / total + np.log(2 * np.pi * total))
    logs += stats.halfnorm(scale=100).logpdf(steps)[:, None]
    logs += stats.halfnorm(scale=200).logpdf(noises)
    cell = (steps[1] - steps[0]) * (noises[1] - noises[0])
    close(float(post.log_evidence), logsumexp(logs) + np.log(cell), 1e-4)
    weights = np.exp(logs - logsumexp(logs))
    for name, share, grid in (
        ("step", weights.sum(1), steps),
        ("noise", weights.sum(0), noises),
    ):
        close([post[name].mean, post[name].std], moments(share, grid), 0.01)


def check_seeds(page: Names) -> None:
    r, n, post = np.array(page["r"]), np.array(page["n"]), page["post"]
    grid = np.linspace(-1.5, 4.5, 121)
    a, b = np.meshgrid(np.exp(grid), np.exp(grid), indexing="ij")
    logs = sum(stats.gamma(2, scale=5.0).logpdf(x) + np.log(x) for x in (a, b))
    for k, size in zip(r, n, strict=True):
        choose = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
        logs = logs + choose + betaln(a + k, b + size - k) - betaln(a, b)
    close(float(post.log_evidence), logsumexp(logs) + 2 * np.log(grid[1] - grid[0]), 1e-4)
    weights = np.exp(logs - logsumexp(logs))
    close(post.a.mean, (weights * a).sum(), 5e-3)
    for j in page["few"]:
        mean = (a + r[j]) / (a + b + n[j])
        variance = mean * (1 - mean) / (a + b + n[j] + 1)
        first = (weights * mean).sum()
        std = np.sqrt((weights * (variance + (mean - first) ** 2)).sum())
        close([post.p.mean[j], post.p.std[j]], [first, std], 3e-3)


PAGES: dict[str, Callable[[Names], None]] = {
    "eight_schools": check_eight_schools,
    "nile_spreads": check_nile,
    "seeds": check_seeds,
}
