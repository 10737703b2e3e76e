r"""Weights of models by what they say of unseen rows: stacking, and bootstrapped odds.

.. math:: \max_w \sum_n \ln\sum_k w_k\,p(y_n\mid D_{-f(n)}, m_k), \qquad
          w_k = E_g\frac{\exp\sum_b g_b\,\ell_{bk}}{\sum_j\exp\sum_b g_b\,\ell_{bj}}

A weight for each of many models is much to learn from few rows. Where the folds say so, only models
near the best take part: those whose score is at most one or two standard errors behind it. Where there
are only a few blocks of rows, as of a series, odds are averaged over what other blocks might have said.

Reference: Y. Yao, A. Vehtari, D. Simpson & A. Gelman, "Using stacking to average Bayesian
predictive distributions", 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array

__all__ = [
    "Splits",
    "bootstrapped_weights",
    "log_mixed",
    "stacking_weights",
    "weights_by_folds",
    "weights_of_other_folds",
]

#: How many standard errors behind the best model others may be: what the folds choose among.
_LIMITS = (np.inf, 2.0, 1.0)

#: Nats per row that are not worth a further step of the search for weights, and most steps of it.
_SURPLUS, _MOST_STEPS = 1e-11, 1000

#: A weight that is as good as none; what is added to curvatures, as models may say nearly the same, or nothing.
_NEARLY_0, _RIDGE, _LEAST = 1e-8, 1e-3, 1e-12

#: How often a step is halved, and the share of what its slope promises that it must gain.
_HALVINGS, _ENOUGH = 30, 1e-4

#: Rows that tell weights well enough: of more, this many are drawn.
_MOST_ROWS = 50_000

#: Rows outside and inside each fold.
Splits = Sequence[tuple[Any, Any]]


def stacking_weights(log_densities: Any) -> Array:
    """Return the weights on the simplex with the highest held-out log score.

    Parameters
    ----------
    log_densities : (N, K)
        Held-out log predictive density of every row under every model.

    Returns
    -------
    (K,)

    Notes
    -----
    The score is concave; at its maximum the mean of p_k/Σ w p is 1 where w_k > 0, at most 1
    elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> stacking_weights(np.log([[0.9, 0.1], [0.1, 0.9]])).round(6)
    array([0.5, 0.5])
    """
    logs = np.asarray(log_densities, dtype=np.float64)
    if logs.ndim != 2 or not logs.size or np.isnan(logs).any():
        raise ValueError(f"log_densities must be numbers of shape (N, K), got shape {logs.shape}")
    best = logs.max(axis=1, keepdims=True)
    if not np.isfinite(best).all():
        raise ValueError("some row has density 0 (or infinite) under every model")
    p = np.exp(logs - best)
    w = np.full(p.shape[1], 1.0 / p.shape[1])
    for _ in range(_MOST_STEPS):
        slope, step = _newton_step(p, w)
        if slope @ step <= _SURPLUS:  # what is to be gained
            break
        w = _climb(p, w, slope, step)
        w /= w.sum()  # of all multiples the highest
    return w


def _newton_step(p: Array, w: Array) -> tuple[Array, Array]:
    """Return slope and step of mean ln Σ w p − Σ w, whose maximum over w ≥ 0 sums to 1.

    Weights that are nearly 0 and want to fall do so without the others (D. Bertsekas, "Projected Newton
    methods for optimization problems with simple constraints", 1982).
    """
    ratios = p / (p @ w)[:, None]
    slope = ratios.mean(axis=0) - 1.0
    free = (w > _NEARLY_0) | (slope > 0.0)
    part = ratios[:, free]
    curvature = part.T @ part / len(p)
    diagonal = np.einsum("ii->i", curvature)
    diagonal += _RIDGE * diagonal + _LEAST
    step = np.where(free, 0.0, -w)
    step[free] = np.linalg.solve(curvature, slope[free])
    return slope, step


def _climb(p: Array, w: Array, slope: Array, step: Array) -> Array:
    """Take a step, halved until it gains, with what it makes negative at 0; else one of EM."""
    before = _height(p, w)
    for size in 0.5 ** np.arange(_HALVINGS):
        moved = np.maximum(w + size * step, 0.0)
        if _height(p, moved) >= before + _ENOUGH * float(slope @ (moved - w)):
            return moved
    return w * (1.0 + slope)


def _height(p: Array, w: Array) -> float:
    with np.errstate(
        divide="ignore"
    ):  # weights that leave a row without a model are out of the question
        return float(np.log(p @ w).mean() - w.sum())


def bootstrapped_weights(
    log_scores: Any, rng: np.random.Generator, log_odds: Any = 0.0, draws: int = 1000
) -> Array:
    """Return posterior odds averaged over a Bayesian bootstrap of the blocks that they come from.

    Blocks count g ~ B · Dirichlet(1, …, 1) times: a lead that one block alone gives is shared with those
    that are behind in it only. Known as pseudo-BMA+.

    Parameters
    ----------
    log_scores : (B, K)
        Log density of every block under every model, finite.
    rng : Generator
    log_odds : (K,), optional
        Of the models before any block, which no bootstrap changes.
    draws : int
        Of the bootstrap.

    Returns
    -------
    (K,)

    Examples
    --------
    >>> import numpy as np
    >>> odds = np.array([[0.0, -9.0], [0.0, 3.0], [0.0, 3.0]])  # 1 : e⁻³ for all together
    >>> bootstrapped_weights(odds, np.random.default_rng(0)).round(1)
    array([0.6, 0.4])
    """
    scores = np.asarray(log_scores, dtype=np.float64)
    if scores.ndim != 2 or not scores.size or not np.isfinite(scores).all():
        raise ValueError(
            f"log_scores must be finite numbers of shape (B, K), got shape {scores.shape}"
        )
    counts = len(scores) * rng.dirichlet(np.ones(len(scores)), size=draws)
    return softmax(counts @ scores + log_odds, axis=1).mean(axis=0)


def log_mixed(log_densities: Array, weights: Array) -> Array:
    """Return ln Σ_k w_k p_k of every row, (N,), from (N, K) and weights that sum to 1."""
    best = log_densities.max(axis=1, keepdims=True)
    best = np.where(best == -np.inf, 0.0, best)  # nobody thought it possible
    with np.errstate(divide="ignore"):
        return best[:, 0] + np.log((weights * np.exp(log_densities - best)).sum(axis=1))


def weights_by_folds(log_densities: Array, splits: Splits) -> Array:
    """Return stacking weights of models near the best; what is near, the folds choose.

    Of more than 50,000 rows that many are drawn.

    Parameters
    ----------
    log_densities : (N, K)
    splits : sequence of pairs of rows
        Those outside each fold, and those in it.

    Returns
    -------
    (K,)
    """
    if len(log_densities) > _MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).permutation(len(log_densities))[:_MOST_ROWS])
        return weights_by_folds(log_densities[rows], _among(rows, splits))
    if len(splits) < 2:  # nothing to choose by
        return stacking_weights(log_densities)
    held = np.concatenate([rows for _, rows in splits])

    def score(limit: float) -> float:
        shares = np.empty_like(log_densities)
        for others, rows in splits:
            shares[rows] = _weights_near_best(log_densities[others], limit)
        return float(log_mixed(log_densities[held], shares[held]).sum())

    limit = max(_LIMITS, key=score)
    return _weights_near_best(log_densities, limit)


def weights_of_other_folds(log_densities: Array, splits: Splits) -> Array:
    """Return for each row the weights that the rows of other folds ask for, (N, K).

    An average that is scored with them has chosen neither weights nor members by the rows that it is
    scored on.

    Parameters
    ----------
    log_densities : (N, K)
    splits : sequence of pairs of rows
        Those outside each fold, and those in it.
    """
    found = np.empty_like(log_densities)
    for others, rows in splits:
        found[rows] = weights_by_folds(log_densities[others], _among(others, splits))
    return found


def _weights_near_best(log_densities: Array, limit: float) -> Array:
    """Return stacking weights of the models at most ``limit`` standard errors behind the best."""
    score = log_densities.sum(axis=0)
    best = int(np.argmax(score))
    near = np.full(len(score), np.isinf(limit) or np.isinf(score[best]))
    with np.errstate(invalid="ignore"):  # a density of 0 is infinitely far behind
        gaps = log_densities[:, [best]] - log_densities
        errors = np.sqrt(np.sum((gaps - gaps.mean(axis=0)) ** 2, axis=0))  # of the sum over rows
        near |= gaps.sum(axis=0) <= limit * errors
    near[best] = True
    found = np.zeros(len(score))
    found[near] = stacking_weights(log_densities[:, near])
    return found


def _among(rows: Array, splits: Splits) -> list[tuple[Array, Array]]:
    """Return the splits as places among some of the rows; empty folds are left out."""
    place = np.full(1 + max(int(np.max(part)) for pair in splits for part in pair), -1)
    place[rows] = np.arange(len(rows))
    inner = [tuple(place[part][place[part] >= 0] for part in pair) for pair in splits]
    return [(others, held) for others, held in inner if len(others) and len(held)]
