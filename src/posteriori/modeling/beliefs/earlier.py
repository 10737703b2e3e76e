"""What earlier data say of variables that were believed in jointly: one factor in place of theirs.

A normal belief N(m, Λ⁻¹) with Λ = LLᵀ is a row for each of its numbers: with D the squared diagonal of
L and U = D^(-1/2) Lᵀ, which has a diagonal of ones, the rows of U v are seen as U m with precision D.
Their density is that of the belief, normaliser included, because |U| = 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.modeling.binding.bound import BoundFactor, Layout
from posteriori.modeling.binding.labelled import Access, Axis, Polynomial, Table, Term, shape_of
from posteriori.numerics.types import Array

__all__ = [
    "Earlier",
    "Placement",
    "Scale",
    "earlier_name",
    "is_earlier",
    "known_prior",
    "normal_rows",
]

_NAME = "what was known of "


def earlier_name(names: Sequence[str]) -> str:
    """Return what the rows are called that speak of some variables."""
    return _NAME + ", ".join(names)


def is_earlier(name: str) -> bool:
    """Tell whether a variable stands for earlier data."""
    return name.startswith(_NAME)


class Earlier(NamedTuple):
    """A factor that takes the place of others.

    Attributes
    ----------
    factor : BoundFactor
    layout : Layout or None
        Of its child, where that is new.
    values : array or None
        What the new child is seen to be.
    """

    factor: BoundFactor
    layout: Layout | None = None
    values: Array | None = None


class Scale(NamedTuple):
    """A common precision, or variance, of rows.

    Attributes
    ----------
    access : Access
    key : "precision" or "variance"
    """

    access: Access
    key: str

    @property
    def power(self) -> float:
        """Of the root of the precision, to get what the common one is multiplied by."""
        return 2.0 if self.key == "precision" else -2.0


def known_prior(name: str, family: Any, parameters: Mapping[str, Any], layout: Layout) -> Earlier:
    """Return a prior with given parameters, arrays over the variable's plates and integer axes."""
    lead = layout.lead
    found = {}
    for key, value in parameters.items():
        width = family._parameters[key]
        shape = np.shape(value)[np.ndim(value) - width :]
        inner = tuple(Axis(key, n) for n in shape)
        events = layout.events if width == len(layout.events) else inner
        axes = (*lead, *events)
        table = Table(np.broadcast_to(value, shape_of(axes)), axes)
        found[key] = Polynomial((Term(table),), layout.plates, (*layout.ints, *events))
    return Earlier(BoundFactor(name, family, found, lead, layout.events, layout.axes))


class Placement(NamedTuple):
    """Where a variable lies in the vectors of a joint belief.

    Attributes
    ----------
    places : tuple of Axis
        The label of each of its axes: one of the batch, or its own.
    numbers : Table
        The position in the vector of each member along its own labels.
    """

    places: tuple[Axis, ...]
    numbers: Table


def normal_rows(
    parts: Mapping[str, Placement],
    mean: Array,
    precision: Array,
    batch: Sequence[Axis] = (),
    scale: Scale | None = None,
) -> Earlier:
    """Return the rows that say what is known of jointly normal variables.

    Parameters
    ----------
    parts : mapping to Placement
        The variables.
    mean, precision : (*batch, n), (*batch, n, n)
    batch : sequence of Axis
        Labels along which vectors are independent.
    scale : Scale, optional
        What the precision is a multiple of.
    """
    lower = np.linalg.cholesky(precision)
    diagonal = np.diagonal(lower, axis1=-2, axis2=-1)
    upper = np.swapaxes(lower, -1, -2) / diagonal[..., None]
    name = earlier_name(tuple(parts))
    row = Axis(name, mean.shape[-1])
    rows = (*batch, row)
    terms = tuple(
        Term(
            Table(upper[..., part.numbers.values], (*rows, *part.numbers.axes)),
            (Access(variable, part.places),),
        )
        for variable, part in parts.items()
    )
    key, power = ("precision", 2.0) if scale is None else (scale.key, scale.power)
    noise = Term(Table(diagonal**power, rows), () if scale is None else (scale.access,))
    parameters = {
        "mean": Polynomial(terms, (), rows),
        key: Polynomial((noise,), (), rows),
    }
    seen = np.einsum("...ij,...j->...i", upper, mean)
    factor = BoundFactor(name, Normal, parameters, rows, (), rows)
    return Earlier(factor, Layout((), rows, ()), seen)
