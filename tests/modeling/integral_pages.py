"""Oracles of gallery pages that integrate over a few unknowns: dense algebra on fine grids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import linalg, stats
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
    prior = spread[:, None, None] ** 2 * np.eye(8) + 1e6
    total = prior + np.diag(error**2)
    gain = np.linalg.solve(total, prior).swapaxes(1, 2)
    means, rest = gain @ y, np.linalg.solve(total, np.broadcast_to(y[:, None], (6001, 8, 1)))
    variances = np.diagonal(prior - gain @ prior, axis1=1, axis2=2)
    logs = -0.5 * (y @ rest)[:, 0] - 0.5 * np.linalg.slogdet(2 * np.pi * total).logabsdet
    weights = np.exp(logs - logsumexp(logs))
    evidence = logsumexp(logs) + np.log((spread[1] - spread[0]) / 1000.0)
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


def check_radon(page: Names) -> None:
    """Dense normal equations of 88 numbers at each pair of spreads."""
    houses, post = page["houses"], page["post"]
    county, soil, y = houses["county"], houses["soil"], houses["log_radon"]
    rows, counties = len(y), len(soil)
    # x = (effects of counties, mean, of_soil, of_floor); a level is an effect plus the line
    levels = np.concatenate([np.eye(counties), np.ones((counties, 1)), soil[:, None]], axis=1)
    design = np.concatenate([levels[county], houses["floor"][:, None]], axis=1)
    gram, moment, square = design.T @ design, design.T @ y, y @ y
    reads = np.zeros((counties + 3, counties + 3))
    reads[:counties, : counties + 2] = levels
    reads[counties:, counties:] = np.eye(3)
    grid = {"between": np.linspace(0.002, 0.4, 36), "within": np.linspace(0.64, 0.84, 20)}
    logs, means, variances = np.empty((36, 20)), [], []
    for i, between in enumerate(grid["between"]):
        prior = np.append(np.full(counties, between**-2.0), np.full(3, 0.01))
        for j, within in enumerate(grid["within"]):
            factor = linalg.cho_factor(gram / within**2 + np.diag(prior), lower=True)
            mean = linalg.cho_solve(factor, moment / within**2)
            half = linalg.solve_triangular(factor[0], reads.T, lower=True)
            means.append(reads @ mean)
            variances.append(np.sum(half**2, axis=0))
            logs[i, j] = (
                -0.5 * (square - moment @ mean) / within**2
                - 0.5 * rows * np.log(2 * np.pi * within**2)
                + 0.5 * np.log(prior).sum()
                - np.log(np.diagonal(factor[0])).sum()
                + stats.halfnorm.logpdf(between)
                + stats.halfnorm.logpdf(within)
            )
    cell = np.prod([points[1] - points[0] for points in grid.values()])
    close(float(post.log_evidence), logsumexp(logs) + np.log(cell), 2e-5)
    weights = np.exp(logs - logsumexp(logs))
    mean, std = moments(weights.ravel(), means, variances)
    close(post.level.mean, mean[:counties], 1e-3)
    close(post.level.std, std[:counties], 3e-3)
    for k, name in enumerate(("mean", "of_soil", "of_floor")):
        found = post[name]
        close([found.mean, found.std], [mean[counties + k], std[counties + k]], 3e-3)
    for axis, (name, points) in enumerate(grid.items()):
        exact = moments(weights.sum(1 - axis), points)
        close([post[name].mean, post[name].std], exact, 0.01)


def check_seeds(page: Names) -> None:
    r, n, post = np.array(page["r"]), np.array(page["n"]), page["post"]
    evidence, a, b, weights = of_plates(r, n)
    close(float(post.log_evidence), evidence, 1e-4)
    close(post.a.mean, (weights * a).sum(), 5e-3)
    for j in page["few"]:
        mean = (a + r[j]) / (a + b + n[j])
        variance = mean * (1 - mean) / (a + b + n[j] + 1)
        first = (weights * mean).sum()
        std = np.sqrt((weights * (variance + (mean - first) ** 2)).sum())
        close([post.p.mean[j], post.p.std[j]], [first, std], 3e-3)
    for name, (start, stop) in page["groups"].items():
        found = page["of_group"][name]
        evidence, a, b, weights = of_plates(r[start:stop], n[start:stop])
        close(float(found.log_evidence), evidence, 1e-4)
        mean = (weights * a / (a + b)).sum()
        close(float(found.predict("p", plate=1).mean[0]), mean, 3e-3)


def of_plates(r: np.ndarray, n: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray]:
    """Evidence, and a and b with their weights on a grid of logarithms."""
    grid = np.linspace(-3.0, 5.0, 81)
    a, b = np.meshgrid(np.exp(grid), np.exp(grid), indexing="ij")
    logs = sum(stats.gamma(2, scale=5.0).logpdf(x) + np.log(x) for x in (a, b))
    for k, size in zip(r, n, strict=True):
        choose = gammaln(size + 1) - gammaln(k + 1) - gammaln(size - k + 1)
        logs = logs + choose + betaln(a + k, b + size - k) - betaln(a, b)
    evidence = float(logsumexp(logs) + 2 * np.log(grid[1] - grid[0]))
    return evidence, a, b, np.exp(logs - logsumexp(logs))


PAGES: dict[str, Callable[[Names], None]] = {
    "eight_schools": check_eight_schools,
    "nile_spreads": check_nile,
    "radon": check_radon,
    "seeds": check_seeds,
}
