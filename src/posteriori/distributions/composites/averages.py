"""Averages of distributions: mixtures, or members of their own family where that is closed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.distributions.batches import joined, take_members
from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.numerics.types import Array

__all__ = ["average", "average_first", "average_last", "with_last"]


def average(weights: Array, found: Sequence[Any]) -> Any:
    """Return Σ w_k p_k of distributions; the same one everywhere as it is."""
    first = found[0]
    if len(found) == 1 or all(d is first or d == first for d in found[1:]):
        return first
    lead = len(first.batch_shape)
    return average_last(weights, joined(found, lambda values: np.stack(values, axis=lead)))


def average_first(weights: Array, found: Sequence[Any]) -> Any:
    """Return the average over the first axes of batches, taken one after another."""
    whole = joined(found, np.concatenate)
    if len(weights) == 1:
        return take_members(whole, 0)
    return average_last(weights, with_last(whole, 0))


def average_last(weights: Array, batch: Any) -> Any:
    """Return Σ_k w_k p_k over the last axis of a batch.

    Parameters
    ----------
    weights : array (..., K)
        Over the batch; they sum to 1.
    batch : Distribution
        What averages to its own family, as events and categories do, stays there.

    Examples
    --------
    >>> from posteriori import Bernoulli, Normal
    >>> average_last(np.array([0.5, 0.5]), Bernoulli([0.2, 0.4]))
    Bernoulli(0.3)
    >>> average_last(np.array([0.5, 0.5]), Normal([0.0, 2.0], variance=1.0)).mean
    np.float64(1.0)
    """
    full = np.broadcast_to(weights, batch.batch_shape)
    own = batch._averaged(full)
    return MixtureFamily._make(full, batch) if own is None else own


def with_last(batch: Any, axis: int) -> Any:
    """Return a batch with one of its axes moved to the end."""
    last = len(batch.batch_shape) - 1
    return joined([batch], lambda values: np.moveaxis(values[0], axis, last))
