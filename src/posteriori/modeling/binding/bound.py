"""A model with its data: the axes of every variable, and factors whose parameters are polynomials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Lookup,
    Polynomial,
    Table,
    Term,
    gather,
    shape_of,
)
from posteriori.modeling.language.expressions import Input, Variable
from posteriori.numerics.types import Array

__all__ = ["GAUSSIAN", "Bound", "BoundFactor", "Layout", "child_term", "gap_name"]

#: Families whose variables are jointly normal where they are solved together.
GAUSSIAN = (Normal, MvNormal)


class Layout(NamedTuple):
    """The axes of a variable: named plates, integer axes, event axes."""

    plates: tuple[Axis, ...]
    ints: tuple[Axis, ...]
    events: tuple[Axis, ...]

    @property
    def axes(self) -> tuple[Axis, ...]:
        return self.plates + self.ints + self.events

    @property
    def lead(self) -> tuple[Axis, ...]:
        """Plates and integer axes, which tell members apart."""
        return self.plates + self.ints

    @property
    def shape(self) -> tuple[int, ...]:
        return shape_of(self.axes)

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
    variables, inputs : mappings
        What the model declares.
    given : mapping
        Data and inputs, as they were given.
    names : mapping
        What the places along each axis of a variable are called, None for an axis that is counted; of variables with
        such names.
    levels : mapping
        Of inputs that were given as texts or categories.
    """

    layouts: Mapping[str, Layout]
    factors: tuple[BoundFactor, ...]
    observed: Mapping[str, Array]
    families: Mapping[str, Any]
    labels: Mapping[str, Any]
    evidence: Mapping[str, Array]
    variables: Mapping[str, Variable]
    inputs: Mapping[str, Input]
    given: Mapping[str, Any]
    names: Mapping[str, tuple[Any, ...]]
    levels: Mapping[str, tuple[Any, ...]]

    @property
    def latent(self) -> tuple[str, ...]:
        """The unknown variables."""
        return tuple(name for name in self.layouts if name not in self.observed)

    def unknowns_of(self, factor: BoundFactor) -> set[str]:
        """Return the unknown variables that a factor touches."""
        found = set() if factor.name in self.observed else {factor.name}
        return found | {access.name for access in factor.accesses}

    def barren(self, kept: Collection[str] = ()) -> list[str]:
        """Return variables that no observation, and no variable that is kept, depends on.

        Among them are variables all of whose data are missing.
        """
        parents: dict[str, set[str]] = {name: set() for name in self.layouts}
        for factor in self.factors:
            parents[factor.name] |= self.unknowns_of(factor) - {factor.name}
        seen = {name for name, values in self.observed.items() if not _is_missing(values)}
        useful = {*seen, *self.evidence, *kept}
        stack = list(useful)
        while stack:
            for parent in parents[stack.pop()] - useful:
                useful.add(parent)
                stack.append(parent)
        return [name for name in self.layouts if name not in useful]

    def plate_sizes(self) -> dict[str, int]:
        """Return the named plates of the model with the sizes they have in the data."""
        repeats = {p for v in self.variables.values() for p in (*v.plates, v.length)}
        named = {p for p in repeats if isinstance(p, str)}
        named |= {p for item in self.inputs.values() for p in item.plates}
        axes = [axis for layout in self.layouts.values() for axis in layout.plates]
        return {axis.name: axis.size for axis in axes if axis.name in named}

    def plates_of(self, name: str) -> tuple[str, ...]:
        """Return the names of a variable's plates."""
        return tuple(axis.name for axis in self.layouts[name].plates)


def child_term(factor: BoundFactor, bound: Bound) -> Term:
    """Return the child of a factor as its rows see it: its data, or an access."""
    if factor.name not in bound.observed:
        return Term(Table(np.asarray(1.0), ()), (Access(factor.name, factor.places),))
    axes = bound.layouts[factor.name].axes
    table = Table(bound.observed[factor.name], axes)
    for axis, place in zip(axes, factor.places, strict=True):
        if isinstance(place, Lookup):
            table = gather(table, axis, place.positions)
    return Term(table)


def gap_name(name: str) -> str:
    """Return what the missing numbers of a variable are called, where they are unknowns."""
    return f"{name}[missing]"


def _is_missing(values: Array) -> bool:
    """Tell whether there is no number; mostly the first one tells."""
    some = values[(slice(0, 1),) * values.ndim]
    return bool(np.isnan(some).all() and np.isnan(values).all())
