r"""Weights of models by what they say of unseen rows: stacking.

.. math:: \max_w \sum_n \ln\sum_k w_k\,p(y_n\mid D_{-f(n)}, m_k)

A weight for each of many models is much to learn from few rows. Where the folds say so, only models
near the best take part: those whose score is at most one or two standard errors behind it.

Reference: Y. Yao, A. Vehtari, D. Simpson & A. Gelman, "Using stacking to average Bayesian
predictive distributions", 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import optimize

from posteriori.numerics.types import Array

__all__ = [
    "Splits",
    "log_mixed",
    "stacking_weights",
    "weights_by_folds",
    "weights_of_other_folds",
]

#: How many standard errors behind the best model others may be: what the folds choose among.
_LIMITS = (np.inf, 2.0, 1.0)

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
    k = p.shape[1]

    def loss(w: Array) -> tuple[float, Array]:
        mixed = np.maximum(p @ w, 1e-300)
        return -float(np.log(mixed).mean()), -(p / mixed[:, None]).mean(axis=0)

    found = optimize.minimize(  # type: ignore[call-overload]  # its stubs know no dict of options
        loss,
        np.full(k, 1.0 / k),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * k,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-14, "maxiter": 500},
    )
    w = np.maximum(found.x, 0.0)
    return w / w.sum()


def log_mixed(log_densities: Array, weights: Array) -> Array:
    """Return ln Σ_k w_k p_k of every row, (N,), from (N, K) and weights that sum to 1."""
    best = log_densities.max(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        return best[:, 0] + np.log((weights * np.exp(log_densities - best)).sum(axis=1))


def weights_by_folds(log_densities: Array, splits: Splits) -> Array:
    """Return stacking weights of models near the best; what is near, the folds choose.

    Parameters
    ----------
    log_densities : (N, K)
    splits : sequence of pairs of rows
        Those outside each fold, and those in it.

    Returns
    -------
    (K,)
    """
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
