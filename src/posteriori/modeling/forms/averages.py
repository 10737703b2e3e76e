"""Mixtures of distributions that were found at different points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from posteriori.distributions.composites.mixture import MixtureFamily
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.numerics.types import Array, IntArray

__all__ = ["average", "average_first", "join_members"]


def average(weights: Array, found: Sequence[Any]) -> Any:
    """Return Σ w_k p_k; discrete ones as one table, the same one everywhere as it is."""
    first = found[0]
    if len(found) == 1 or all(d is first or d == first for d in found[1:]):
        return first
    if isinstance(first, Bernoulli):
        mean = _mean(weights, [d.probability for d in found])
        return Bernoulli(np.minimum(mean, 1.0))  # weights add up to 1 but for rounding
    if isinstance(first, Categorical):
        mean = _mean(weights, [d.probabilities for d in found])
        return Categorical(mean, labels=getattr(first, "labels", None))
    if isinstance(first, MixtureFamily):
        return _of_mixtures(weights, found)
    return MixtureFamily._make(weights, _stacked(found))


def average_first(weights: Array, found: Sequence[Any]) -> Any:
    """Return the mixture over the first axes of batches, taken one after another; discrete ones as a table."""
    first = found[0]
    if isinstance(first, Bernoulli):
        return Bernoulli(np.minimum(_mean_first(weights, [d.probability for d in found]), 1.0))
    if isinstance(first, Categorical):
        mean = _mean_first(weights, [d.probabilities for d in found])
        return Categorical(mean, labels=getattr(first, "labels", None))
    if isinstance(first, MixtureFamily):
        return _first_of_mixtures(weights, found)
    kind, lead = type(found[0]), len(found[0].batch_shape) - 1
    whole = {key: np.concatenate([_own(d, key) for d in found]) for key in _keys(found[0])}
    if len(weights) == 1:
        return kind._from(**{key: values[0] for key, values in whole.items()})
    columns = {key: np.moveaxis(values, 0, lead) for key, values in whole.items()}
    return MixtureFamily._make(weights, kind._from(**columns))


def join_members(
    shape: tuple[int, ...], positions: Sequence[IntArray], found: Sequence[Any]
) -> Any:
    """Return a batch of some shape, whose members were found in parts, at positions when flattened."""
    kind = _only_kind(found)
    columns = {}
    for key in _keys(found[0]):
        parts = [_own(d, key) for d in found]
        whole = np.empty((math.prod(shape), *parts[0].shape[1:]))
        for where, part in zip(positions, parts, strict=True):
            whole[where] = part
        columns[key] = whole.reshape(*shape, *whole.shape[1:])
    return kind._from(**columns)


def _first_of_mixtures(weights: Array, found: Sequence[Any]) -> Any:
    """Put the components along the first axes side by side."""
    lead = len(found[0].batch_shape) - 1

    def side_by_side(values: Sequence[Array]) -> Array:
        moved = np.moveaxis(np.concatenate(values), 0, lead)
        return moved.reshape(*moved.shape[:lead], -1, *moved.shape[lead + 2 :])

    parts = [d.components for d in found]
    kind = type(parts[0])
    columns = {key: side_by_side([_own(p, key) for p in parts]) for key in _keys(parts[0])}
    over = weights.reshape(-1, *(1,) * (lead + 1))
    shares = side_by_side([over * np.concatenate([d.probabilities for d in found])])
    return MixtureFamily._make(shares, kind._from(**columns))


def _mean_first(weights: Array, values: Sequence[Array]) -> Array:
    return np.tensordot(weights, np.concatenate(values), axes=1)[()]


def _mean(weights: Array, values: Sequence[Any]) -> Array:
    return np.tensordot(weights, np.array(values), axes=1)[()]


def _of_mixtures(weights: Array, found: Sequence[Any]) -> Any:
    """Put the components of all mixtures side by side."""
    shares = np.concatenate(
        [w * d.probabilities for w, d in zip(weights, found, strict=True)], axis=-1
    )
    parts = [d.components for d in found]
    kind = type(parts[0])
    lead = len(found[0].batch_shape)
    columns = {k: np.concatenate([_own(p, k) for p in parts], axis=lead) for k in _keys(parts[0])}
    return MixtureFamily._make(shares, kind._from(**columns))


def _stacked(found: Sequence[Any]) -> Any:
    """Return one distribution whose last batch axis counts those that were given."""
    kind = _only_kind(found)
    lead = len(found[0].batch_shape)
    return kind._from(
        **{key: np.stack([_own(d, key) for d in found], axis=lead) for key in _keys(found[0])}
    )


def _only_kind(found: Sequence[Any]) -> Any:
    kinds = {type(d) for d in found}
    if len(kinds) > 1:
        names = " and ".join(sorted(k.__name__ for k in kinds))
        raise TypeError(f"{names} together have no form")
    (kind,) = kinds
    return kind


def _keys(d: Any) -> list[str]:
    return [key for key in d._parameters if key in d.__dict__]


def _own(d: Any, key: str) -> Array:
    """Return a parameter with all axes of the batch."""
    value, ndim = np.asarray(d.__dict__[key]), d._parameters[key]
    return np.broadcast_to(value, d.batch_shape + value.shape[value.ndim - ndim :])
