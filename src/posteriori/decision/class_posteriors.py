r"""Class probabilities by Bayes' rule, under other priors, and from several models.

.. math:: p(C_k\mid x) = \frac{p(x\mid C_k)\,p(C_k)}{\sum_j p(x\mid C_j)\,p(C_j)}.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 1.5.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.decision.rules import check_priors
from posteriori.distributions.base import Distribution
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.poles import log_prob_beside_poles
from posteriori.numerics.logspace import log_softmax
from posteriori.numerics.types import Array
from posteriori.numerics.validation import probability_vector

__all__ = ["class_posterior", "combine_posteriors", "compensate_priors"]


def class_posterior(classes: Sequence[Any], x: Any, priors: Any = None) -> Array:
    """Return p(class | x) of points under given class densities, (..., K).

    Parameters
    ----------
    classes : sequence of K distributions
        p(x | class).
    x : array
        Points: numbers (...), or vectors (..., D).
    priors : array (K,), optional
        Probabilities of the classes; equal if None.

    Examples
    --------
    >>> from posteriori import Normal
    >>> class_posterior([Normal(-1, variance=1), Normal(1, variance=1)], 0.5).round(6)
    array([0.268941, 0.731059])
    """
    members = check_classes(classes)
    return np.exp(log_posterior(members, check_priors(priors, len(members)), x))


def compensate_priors(probabilities: Any, old: Any, new: Any) -> Array:
    """Return class probabilities (..., K) under other priors than those of the training data.

    Parameters
    ----------
    probabilities : array (..., K) or Categorical
        p(class | x) where the classes have the probabilities ``old``.
    old, new : array (K,)
        Probabilities of the classes in the training data, and where the model is used.

    Notes
    -----
    Bayes' rule: p_new(k | x) ∝ p_old(k | x) new_k / old_k.

    Examples
    --------
    >>> compensate_priors([0.8, 0.2], old=[0.5, 0.5], new=[0.01, 0.99]).round(9)
    array([0.03883495, 0.96116505])
    """
    p = _probabilities(probabilities)
    before, after = check_priors(old, p.shape[-1]), check_priors(new, p.shape[-1])
    if np.any((before == 0) & (after > 0)):
        k = int(np.argmax((before == 0) & (after > 0)))
        raise ValueError(
            f"old[{k}] is 0 but new[{k}] is {after[k]:.6g}: a class that was never trained on has no "
            "probability to be scaled"
        )
    with np.errstate(divide="ignore"):
        ratio = np.log(after) - np.log(np.where(before > 0, before, 1.0))
        return _normalised(np.log(p) + ratio, "the new priors")


def combine_posteriors(posteriors: Sequence[Any], priors: Any = None) -> Array:
    """Return class probabilities (..., K) given all of several independent sources.

    Parameters
    ----------
    posteriors : sequence of M arrays (..., K)
        p(class | x_m) of each model, all trained under the same priors.
    priors : array (K,), optional
        Those priors; equal if None.

    Notes
    -----
    Where the sources are independent given the class,
    p(k | x_1, …, x_M) ∝ p(k)^{1−M} ∏ p(k | x_m).

    Examples
    --------
    >>> combine_posteriors([[0.8, 0.2], [0.7, 0.3]]).round(9)
    array([0.90322581, 0.09677419])
    """
    tables = [_probabilities(p) for p in posteriors]
    if not tables:
        raise ValueError("posteriors must hold at least one array of class probabilities")
    weights = check_priors(priors, tables[0].shape[-1])
    if not weights.all():
        raise ValueError(f"priors must be positive to be divided by, got {weights.tolist()}")
    with np.errstate(divide="ignore"):
        total = sum(np.log(table) for table in tables) - (len(tables) - 1) * np.log(weights)
    return _normalised(np.asarray(total), "another model")


def check_classes(classes: Any) -> list[Distribution]:
    """Return at least two single distributions of the same kind of points."""
    members = list(classes)
    if len(members) < 2:
        raise ValueError(f"classes must hold at least two distributions, got {len(members)}")
    for k, member in enumerate(members):
        if not isinstance(member, Distribution) or member.batch_shape != ():
            raise TypeError(f"classes[{k}] must be a single distribution, got {member!r}")
        if member.event_shape != members[0].event_shape:
            raise ValueError(
                f"classes[{k}] is over points of shape {member.event_shape}, classes[0] over "
                f"{members[0].event_shape}"
            )
    return members


def log_posterior(members: Sequence[Any], priors: Array, x: Any) -> Array:
    """Return ln p(class | x) (..., K) of points that some class can produce."""
    with np.errstate(divide="ignore"):
        joint = np.stack([log_prob_beside_poles(m, x) for m in members], axis=-1) + np.log(priors)
    return _normalised_log(joint, "any class")


def _probabilities(given: Any) -> Array:
    if isinstance(given, Categorical):
        return given.probabilities
    return probability_vector("probabilities", given)


def _normalised(log_weights: Array, what: str) -> Array:
    return np.exp(_normalised_log(log_weights, what))


def _normalised_log(log_weights: Array, what: str) -> Array:
    impossible = np.isneginf(log_weights).all(axis=-1)
    if np.any(impossible):
        where = np.argwhere(impossible)[0] if np.ndim(impossible) else ""
        raise ValueError(
            f"no class is possible under {what} at point {where}: every probability is 0"
        )
    return log_softmax(log_weights)
