r"""Which action to take: the one whose expected loss is least.

.. math:: a(x) = \arg\min_a \sum_k L_{ka}\,p(C_k\mid x).

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.categorical import Categorical
from posteriori.numerics.types import Array
from posteriori.numerics.validation import nonnegative, probability_vector, real

__all__ = ["Decision", "decide"]

#: The code of an abstention.
REJECTED = -1


class Decision(NamedTuple):
    """What to do, and what it costs on average.

    Attributes
    ----------
    code : int or array of int (...)
        Number of the chosen action; −1 where the decision is left to somebody else.
    action : object or array of object (...)
        Name of the chosen action, its number where actions have no names; None for −1.
    loss : float or array (...)
        Expected loss of the choice.
    losses : array (..., A)
        Expected loss of every action.
    """

    code: Any
    action: Any
    loss: Array
    losses: Array


def decide(
    probabilities: Any,
    loss: Any = None,
    *,
    actions: Sequence[Any] | None = None,
    reject_loss: float | None = None,
) -> Decision:
    """Choose the action of least expected loss.

    Parameters
    ----------
    probabilities : array (..., K) or Categorical
        Probability of each class.
    loss : array (K, A), optional
        ``loss[k, a]`` is the loss of action a where class k is true; gains are negative. Actions
        need not be classes. None is 1 for every error: the most probable class is chosen.
    actions : sequence of A objects, optional
        Names of the actions. Without a loss they are the labels of a ``Categorical``.
    reject_loss : float, optional
        Loss of not deciding. Where every action is expected to cost more, the code is −1. With
        the loss of None, ``reject_loss = 1 − t`` abstains where no class reaches probability t.

    Returns
    -------
    Decision

    Notes
    -----
    Of equal actions the first is chosen, and an action before an abstention. Cost O(N K A).

    Examples
    --------
    A car has a defect with probability 0.1. Buying it loses 100 if it does, and gains 20 if not:

    >>> choice = decide([0.1, 0.9], [[100, 0], [-20, 0]], actions=("buy", "leave"))
    >>> choice.action, choice.losses.round(6)
    ('buy', array([-8.,  0.]))
    >>> decide([[0.9, 0.1], [0.55, 0.45]], reject_loss=0.2).code
    array([ 0, -1])
    """
    if isinstance(probabilities, Categorical):
        p, labels = probabilities.probabilities, probabilities.labels
    else:
        p, labels = probability_vector("probabilities", probabilities), None
    table = check_loss(loss, p.shape[-1])
    losses = 1.0 - p if loss is None else p @ table
    names = _check_actions(actions if loss is not None or actions else labels, table.shape[1])
    code = np.argmin(losses, axis=-1)
    least = np.min(losses, axis=-1)
    if reject_loss is not None:
        cost = float(real("reject_loss", reject_loss))
        code = np.where(least > cost, REJECTED, code)[()]
        least = np.minimum(least, cost)
    return Decision(code, _named(code, names), least, losses)


def check_loss(loss: Any, classes: int) -> Array:
    """Return a loss matrix (K, A), 1 for each error for None."""
    if loss is None:
        return 1.0 - np.eye(classes)
    table = real("loss", loss)
    if table.ndim != 2 or len(table) != classes:
        raise ValueError(
            f"loss must have one row for each of the {classes} classes and one column for each "
            f"action, got shape {table.shape}"
        )
    return table


def _check_actions(actions: Any, count: int) -> np.ndarray[Any, Any] | None:
    if actions is None:
        return None
    if len(actions) != count:
        raise ValueError(f"actions must name each of the {count} actions, got {len(actions)} names")
    names = np.empty(count + 1, dtype=object)
    names[:count] = list(actions)  # the last, None, is the name of code −1
    return names


def _named(code: Any, names: np.ndarray[Any, Any] | None) -> Any:
    return code if names is None else names[code]


def check_priors(priors: Any, count: int) -> Array:
    """Return probabilities of classes (K,), equal ones for None."""
    if priors is None:
        return np.full(count, 1.0 / count)
    weights = probability_vector("priors", nonnegative("priors", priors))
    if weights.shape != (count,):
        raise ValueError(
            f"priors must hold one probability for each of the {count} classes, "
            f"got shape {weights.shape}"
        )
    return weights
