"""Predictions of children with the variable that they are conjugate to integrated out."""

from __future__ import annotations

from typing import Any

from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate.pair import find_pair
from posteriori.distributions.unknown import Conditional, Unknown
from posteriori.modeling.binding.bound import BoundFactor, Layout
from posteriori.modeling.binding.labelled import count_of
from posteriori.modeling.forms.conjugate_rows import (
    place_index,
    reshaped,
    see,
)

__all__ = ["conjugate_predictive"]


def conjugate_predictive(factor: BoundFactor, name: str, layout: Layout, belief: Any) -> Any:
    """Return the distribution of a child's rows with the unknown integrated out.

    Parameters
    ----------
    factor : BoundFactor
        The child, whose only unknown is ``name``.
    name : str
    layout : Layout
        Of the unknown.
    belief : distribution
        Over the unknown's plates and integer axes.
    """
    sight = see(factor, name, layout)
    if isinstance(sight, str):
        raise TypeError(f"{factor.name} has no closed-form predictive: {sight}")
    shape = tuple(axis.size for axis in factor.rows)
    index = place_index(sight, factor.rows, layout)
    flat = reshaped(belief, (count_of(layout.lead),))
    rows = reshaped(flat if index is None else take_members(flat, index), shape)
    known = {k: p.value() for k, p in factor.parameters.items() if k != sight.parameter}
    unknown = Unknown(
        factor=None if sight.factor is None else sight.factor.value(),
        offset=None if sight.offset is None else sight.offset.value(),
    )
    conditional = Conditional(factor.family, {**known, sight.parameter: unknown})
    return find_pair(rows, conditional).predictive(rows)
