"""Conditioning a group on values of some unknowns: the factors that are left, and their exact parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.contract.engine import Group, Planned
from posteriori.modeling.forms.fixing import fix_factors
from posteriori.modeling.forms.rows_apart import rows_apart
from posteriori.numerics.types import Array

__all__ = ["Conditioned", "ExactParts", "condition_group"]

#: Exact parts of what is left of a group, and its known factors, or None where there are none.
ExactParts = Callable[[Group], "tuple[tuple[Planned, ...], tuple[BoundFactor, ...]] | None"]


class Conditioned(NamedTuple):
    """What is left of a group when some unknowns have values.

    Attributes
    ----------
    group : Group
        Rows that see different unknowns there are factors of their own.
    whole : tuple of BoundFactor
        Which factor of the group each of these was a part of.
    """

    group: Group
    whole: tuple[BoundFactor, ...]


def condition_group(group: Group, values: Mapping[str, Array]) -> Conditioned:
    """Return what is left of a group when some unknowns have values."""
    bound = group.bound
    names = tuple(name for name in group.names if name not in values)
    known = bound._replace(observed={**bound.observed, **values})
    fixed = fix_factors(group.factors, bound, values)
    pairs = [
        (part, factor)
        for factor, at in zip(group.factors, fixed, strict=True)
        for part in rows_apart(at, known)
    ]
    factors, whole = zip(*pairs, strict=True)
    return Conditioned(Group(known, names, factors, group.options), whole)
