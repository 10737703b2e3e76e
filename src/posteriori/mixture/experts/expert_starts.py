"""Where the ascent of experts begins: rows divided by what one regression leaves of them.

What is drawn does not depend on the rows, so that neither their order nor whether they are repeated or
counted matters.
"""

from __future__ import annotations

import numpy as np

from posteriori.mixture.experts.expert_learning import ExpertRows, fit_experts
from posteriori.numerics.types import Array, IntArray

__all__ = ["expert_starts"]

#: Nats and steps within which the one regression is found.
_TOL, _STEPS = 1e-6, 100


def expert_starts(
    rows: ExpertRows, n_experts: int, n_starts: int, rng: np.random.Generator
) -> list[Array]:
    """Return responsibilities of 0 and 1, (N, K) for each start.

    The first divides the rows by their residuals into equal parts. Then random regressions around the
    one take the rows that are nearest to them, and random directions of inputs and residuals are cut at
    random levels, in turn.
    """
    everyone = np.ones((len(rows.targets), 1))
    if n_experts == 1:
        return [everyone]
    one = fit_experts(rows, everyone, tol=_TOL, max_iter=_STEPS).experts
    spread = float(np.exp(0.5 * one.log_variances[0]))
    residuals = (rows.targets - rows.design @ one.weights[0]) / spread
    labels = [_cut(residuals, rows.frequency, np.arange(1, n_experts) / n_experts)]
    for i in range(1, n_starts):
        if i % 2:
            labels.append(_nearest_regression(rows.design, residuals, n_experts, rng))
        else:
            labels.append(_random_cut(rows, residuals, n_experts, rng))
    return [np.eye(n_experts)[label] for label in labels]


def _nearest_regression(
    design: Array, residuals: Array, n_experts: int, rng: np.random.Generator
) -> IntArray:
    """Assign rows to random regressions of the residuals that explain as much as there is."""
    weights = rng.standard_normal((n_experts, design.shape[1])) / np.sqrt(design.shape[1])
    return np.argmin(np.abs(residuals[:, None] - design @ weights.T), axis=1)


def _random_cut(
    rows: ExpertRows, residuals: Array, n_experts: int, rng: np.random.Generator
) -> IntArray:
    """Divide rows along a random direction of inputs and residuals."""
    direction = rng.standard_normal((rows.design.shape[1],))
    levels = np.sort(rng.random(n_experts - 1))
    scores = rows.design[:, 1:] @ direction[1:] + direction[0] * residuals
    return _cut(scores, rows.frequency, levels)


def _cut(scores: Array, frequency: Array, levels: Array) -> IntArray:
    """Divide rows at quantiles of their scores; equal scores stay together."""
    order = np.argsort(scores, kind="stable")
    total = np.cumsum(frequency[order])
    places = np.searchsorted(total, levels * total[-1])
    return np.searchsorted(scores[order[places]], scores)
