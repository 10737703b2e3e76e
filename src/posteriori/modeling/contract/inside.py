"""What is left of a group when some unknowns have values, and its exact parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.contract.engine import Group, Planned
from posteriori.modeling.forms.fixing import fix_factors
from posteriori.numerics.types import Array

__all__ = ["Inside", "leave"]

#: Exact parts of what is left of a group, and its known factors, or None where there are none.
Inside = Callable[[Group], "tuple[tuple[Planned, ...], tuple[BoundFactor, ...]] | None"]


def leave(group: Group, values: Mapping[str, Array]) -> Group:
    """Return what is left of a group when some unknowns have values."""
    bound = group.bound
    names = tuple(name for name in group.names if name not in values)
    known = bound._replace(observed={**bound.observed, **values})
    return Group(known, names, fix_factors(group.factors, bound, values), group.options)
