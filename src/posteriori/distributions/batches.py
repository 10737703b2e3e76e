"""Picking members out of a batch, and joining batches, whatever the family."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.numerics.types import Array, IntArray

__all__ = ["join_members", "joined", "take_members"]

_D = TypeVar("_D", bound=Distribution)

#: What a value may keep beside its parameters.
_KEPT = ("_labels", "_event_ndim")


def take_members(d: _D, index: Any) -> _D:
    """Return the members of a batch at ``index``, which applies to the batch axes.

    Examples
    --------
    >>> from posteriori import Normal
    >>> take_members(Normal([0.0, 3.0], variance=[1.0, 2.0]), 1)
    Normal(3, variance=2)
    """
    own = getattr(type(d), "_take_members", None)
    if own is not None:
        return own(d, index)
    made = d._from(**{k: d.__dict__[k][index] for k in d._parameters if k in d.__dict__})
    made.__dict__.update({k: d.__dict__[k] for k in _KEPT if k in d.__dict__})
    return made


def joined(batches: Sequence[_D], join: Callable[[list[Array]], Array]) -> _D:
    """Return one batch, each of whose parameters is made of those of all batches.

    Parameters
    ----------
    batches : sequence of Distribution
        Of one family, given by the same parameters.
    join : callable
        Takes the arrays of a parameter, one of each batch, and changes axes of the batch only.

    Examples
    --------
    >>> from posteriori import Normal
    >>> joined([Normal([0.0], variance=1.0), Normal([3.0], variance=2.0)], np.concatenate)
    Normal([0., 3.], variance=[1., 2.])
    """
    kinds = {type(d) for d in batches}
    if len(kinds) > 1:
        names = " and ".join(sorted(k.__name__ for k in kinds))
        raise TypeError(f"{names} together have no form")
    first = batches[0]
    own = getattr(type(first), "_joined", None)
    if own is not None:
        return own(batches, join)
    parts = [d._given_parameters() for d in batches]
    made = first._from(**{k: join([np.asarray(p[k]) for p in parts]) for k in parts[0]})
    made.__dict__.update({k: first.__dict__[k] for k in _KEPT if k in first.__dict__})
    return made


def join_members(shape: tuple[int, ...], positions: Sequence[IntArray], found: Sequence[_D]) -> _D:
    """Return a batch of some shape, whose members were found in parts, at positions when flattened."""

    def put(values: list[Array]) -> Array:
        whole = np.empty((math.prod(shape), *values[0].shape[1:]))
        for where, part in zip(positions, values, strict=True):
            whole[where] = part
        return whole.reshape(*shape, *whole.shape[1:])

    return joined(found, put)
