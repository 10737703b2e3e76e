"""A model with its data: the axes of every variable, and factors whose parameters are polynomials."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from posteriori.modeling.binding.labelled import Axis, Polynomial, Term
from posteriori.numerics.types import Array

__all__ = ["Bound", "BoundFactor", "Layout"]


class Layout(NamedTuple):
    """The axes of a variable: named plates, integer axes, event axes."""

    plates: tuple[Axis, ...]
    ints: tuple[Axis, ...]
    events: tuple[Axis, ...]

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.plates + self.ints + self.events

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    def describe(self) -> str:
        names = [f"{a.name}={a.size}" for a in self.plates]
        return f"({', '.join(names + [str(a.size) for a in self.ints + self.events])})"


class BoundFactor(NamedTuple):
    """p(child | parents): parameters aligned to the rows, and how the child is seen.

    Attributes
    ----------
    name : str
        The child variable.
    family : type
    parameters : mapping to Polynomial
        Their labels are those of ``rows`` and, at the end, event axes.
    rows : tuple of Axis
        Plates and integer axes of the factor.
    events : tuple of Axis
        Event axes of the child.
    places : tuple
        How the rows see the child's axes: labels or lookups.
    """

    name: str
    family: Any
    parameters: Mapping[str, Polynomial]
    rows: tuple[Axis, ...]
    events: tuple[Axis, ...]
    places: tuple[Any, ...]

    @property
    def terms(self) -> list[Term]:
        """The terms of all parameters."""
        return [term for poly in self.parameters.values() for term in poly.terms]

    @property
    def accesses(self) -> list[Any]:
        """How the parameters see variables."""
        return [access for term in self.terms for access in term.accesses]


class Bound(NamedTuple):
    """A model with its data.

    Attributes
    ----------
    layouts, families, labels : mappings
        Of every variable.
    factors : tuple of BoundFactor
    observed : mapping to arrays
        Of variables with data; NaN where childless ones are missing.
    evidence : mapping to arrays
        Of unknown discrete variables of which some members are known, NaN for the others.
    """

    layouts: Mapping[str, Layout]
    factors: tuple[BoundFactor, ...]
    observed: Mapping[str, Array]
    families: Mapping[str, Any]
    labels: Mapping[str, Any]
    evidence: Mapping[str, Array]

    @property
    def latent(self) -> tuple[str, ...]:
        return tuple(name for name in self.layouts if name not in self.observed)
