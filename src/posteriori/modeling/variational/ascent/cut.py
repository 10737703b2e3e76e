"""Some members of some axes: a model, its data and its factors without the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.exponential import ExponentialFamily
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Axis, Lookup, Polynomial, Table, Term
from posteriori.numerics.types import Array, IntArray

__all__ = ["Cut"]


class Cut(NamedTuple):
    """Some members of some axes.

    Attributes
    ----------
    kept : mapping of Axis to integers
        Members that data depend on.
    new : mapping of Axis to Axis
        Their labels.
    """

    kept: Mapping[Axis, IntArray]
    new: Mapping[Axis, Axis]

    def touches(self, layout: Layout) -> bool:
        """Tell whether members of a variable are left out."""
        return any(axis in self.new for axis in layout.axes)

    def bound(self, bound: Bound, factors: Sequence[BoundFactor]) -> Bound:
        """Return the model of these members."""
        layouts = {name: self._layout(layout) for name, layout in bound.layouts.items()}
        return bound._replace(
            layouts=layouts,
            factors=tuple(factors),
            observed=self.arrays(bound.observed, bound.layouts),
            evidence=self.arrays(bound.evidence, bound.layouts),
        )

    def empty(self, bound: Bound) -> set[str]:
        """Return the variables of which nothing is left: missing numbers that nobody asks for."""
        return {
            name
            for name, layout in bound.layouts.items()
            if any(axis in self.new and not self.new[axis].size for axis in layout.axes)
        }

    def factors(self, factors: Sequence[BoundFactor], bound: Bound) -> list[BoundFactor]:
        """Return the factors of these members."""
        empty = self.empty(bound)
        factors = [_without(factor, empty) for factor in factors] if empty else factors
        found = [self._factor(factor, bound.layouts) for factor in factors]
        return [factor for factor in found if all(axis.size for axis in factor.rows)]

    def arrays(self, values: Mapping[str, Any], layouts: Mapping[str, Layout]) -> dict[str, Any]:
        """Return arrays or beliefs over the axes of variables, of these members."""
        return {
            name: self._array(v, layouts[name].axes) if name in layouts else v
            for name, v in values.items()
        }

    def put(self, values: Array, informed: Array, axes: Sequence[Axis]) -> Array:
        """Return an array over the axes of a variable with that of these members put in."""
        where = [self.kept.get(axis, np.arange(axis.size)) for axis in axes]
        found = np.array(values)
        found[np.ix_(*where)] = informed
        return found

    def table(self, table: Table) -> Table:
        """Return a table of these members."""
        return Table(self._array(table.values, table.axes), self._labels(table.axes))

    def _array(self, values: Any, axes: Sequence[Axis]) -> Any:
        if isinstance(values, ExponentialFamily):
            cut = (self._array(parameter, axes) for parameter in values.natural)
            return type(values)._from_natural(*cut)
        for i, axis in enumerate(axes):
            if axis in self.kept:
                values = np.take(values, self.kept[axis], axis=i)
        return values

    def _labels(self, axes: Sequence[Axis]) -> tuple[Axis, ...]:
        return tuple(self.new.get(axis, axis) for axis in axes)

    def _layout(self, layout: Layout) -> Layout:
        return Layout(*(self._labels(axes) for axes in layout))

    def _factor(self, factor: BoundFactor, layouts: Mapping[str, Layout]) -> BoundFactor:
        parameters = {key: self._polynomial(p, layouts) for key, p in factor.parameters.items()}
        return factor._replace(
            parameters=parameters,
            rows=self._labels(factor.rows),
            places=self._places(factor.places, layouts[factor.name].axes),
        )

    def _polynomial(self, poly: Polynomial, layouts: Mapping[str, Layout]) -> Polynomial:
        terms = tuple(
            Term(self.table(t.table), tuple(self._access(a, layouts) for a in t.accesses))
            for t in poly.terms
        )
        rows = frozenset(self._labels(tuple(poly.rows)))
        return Polynomial(terms, self._labels(poly.plates), self._labels(poly.axes), rows)

    def _access(self, access: Any, layouts: Mapping[str, Layout]) -> Any:
        return access._replace(places=self._places(access.places, layouts[access.name].axes))

    def _places(self, places: Sequence[Any], axes: Sequence[Axis]) -> tuple[Any, ...]:
        return tuple(
            Lookup(self._renumbered(self.table(place.positions), axis))
            if isinstance(place, Lookup)
            else self.new.get(place, place)
            for place, axis in zip(places, axes, strict=True)
        )

    def _renumbered(self, positions: Table, axis: Axis) -> Table:
        """Return where the members that positions name are now; rows without data name any."""
        if axis not in self.kept:
            return positions
        number = np.zeros(axis.size, dtype=np.intp)
        number[self.kept[axis]] = np.arange(len(self.kept[axis]))
        return Table(number[positions.values.astype(np.intp)], positions.axes)


def _without(factor: BoundFactor, names: set[str]) -> BoundFactor:
    """Return a factor without the terms of variables that none of its rows sees."""
    parameters = {
        key: poly._replace(
            terms=tuple(t for t in poly.terms if names.isdisjoint(a.name for a in t.accesses))
        )
        for key, poly in factor.parameters.items()
    }
    return factor._replace(parameters=parameters)
