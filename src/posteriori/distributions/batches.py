"""Picking members out of a batch, whatever the family."""

from __future__ import annotations

from typing import Any, TypeVar

from posteriori.distributions.base import Distribution

__all__ = ["has_atoms", "take_members"]

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


def has_atoms(d: Any) -> bool:
    """Tell whether single points have probability: whether ``log_prob`` is a mass.

    Examples
    --------
    >>> from posteriori import Normal, Poisson
    >>> has_atoms(Poisson(3.0)), has_atoms(Normal(0.0, variance=1.0))
    (True, False)
    """
    return bool(d._has_atoms)
