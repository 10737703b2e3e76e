"""What is left of a group when some unknowns have values, and its exact parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.contract.engine import Group, Planned
from posteriori.modeling.forms.fixing import fix_factors
from posteriori.modeling.forms.rows_apart import rows_apart
from posteriori.numerics.types import Array

__all__ = ["Inside", "Left", "leave"]

#: Exact parts of what is left of a group, and its known factors, or None where there are none.
Inside = Callable[[Group], "tuple[tuple[Planned, ...], tuple[BoundFactor, ...]] | None"]


class Left(NamedTuple):
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


def leave(group: Group, values: Mapping[str, Array]) -> Left:
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
    return Left(Group(known, names, factors, group.options), whole)
