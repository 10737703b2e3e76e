r"""Stacking weights of the models that earn their place.

Weights that are fitted to held-out densities are flattered by them: of p free weights the sum of log
densities is on average p nats larger than it will be on new rows (Akaike's count). So a model stays in
the mixture only if the sum would fall by more than one nat without it. Beside a good model it takes few
rows to lend a share to one that is sure of itself and often wrong; this asks for more than these.

Reference: H. Akaike, "A new look at the statistical model identification", 1974.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array
from posteriori.selection.averaging import stacking_weights

__all__ = ["earned_weights", "weights_of_other_folds"]

#: Nats by which one free weight flatters the sum of log densities that it was fitted to.
_PRICE = 1.0


def earned_weights(log_densities: Any) -> Array:
    """Return stacking weights, 0 for models without which the score falls by less than a nat.

    Parameters
    ----------
    log_densities : (N, K)
        Held-out log predictive density of every row under every model.

    Returns
    -------
    (K,)

    Notes
    -----
    Models are left out one by one, the least missed first, and the weights of the others found anew.

    Examples
    --------
    >>> import numpy as np
    >>> logs = np.log([[0.8, 0.2], [0.2, 0.9], [0.9, 0.3]])
    >>> stacking_weights(logs).round(2), earned_weights(logs)
    (array([0.72, 0.28]), array([1., 0.]))
    """
    logs = np.asarray(log_densities, dtype=np.float64)
    weights = stacking_weights(logs)
    while (kept := np.flatnonzero(weights > 0.0)).size > 1:
        others = [_without(logs, kept, k) for k in kept.tolist()]
        scores = [_score(logs, w) for w in others]
        least_missed = int(np.argmax(scores))
        if _score(logs, weights) - scores[least_missed] >= _PRICE:
            break
        weights = others[least_missed]
    return weights


def weights_of_other_folds(log_densities: Array, splits: Sequence[tuple[Any, Any]]) -> Array:
    """Return for each row the weights that models have earned in the rows of other folds, (N, K).

    An average that is scored with them has not chosen its weights by the rows that it is scored on.

    Parameters
    ----------
    log_densities : (N, K)
    splits : sequence of pairs of rows
        Those outside each fold, and those in it.
    """
    found = np.empty_like(log_densities)
    for others, rows in splits:
        found[rows] = earned_weights(log_densities[others])
    return found


def _without(logs: Array, kept: Array, left_out: int) -> Array:
    """Return the weights of all models that are kept but one."""
    some = kept[kept != left_out]
    weights = np.zeros(logs.shape[1])
    if np.isfinite(logs[:, some].max(axis=1)).all():
        weights[some] = stacking_weights(logs[:, some])
    return weights


def _score(logs: Array, weights: Array) -> float:
    """Return the sum of the log densities of a mixture; of none at all, minus infinity."""
    with np.errstate(divide="ignore"):
        return float(np.asarray(log_sum_exp(np.log(weights) + logs, axis=1)).sum())
