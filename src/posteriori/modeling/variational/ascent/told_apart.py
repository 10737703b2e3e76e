"""Whether priors tell classes apart, so that their names matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis, Switch, Table, Term

__all__ = ["told_apart"]


def told_apart(name: str, factors: Sequence[BoundFactor]) -> bool:
    """Tell whether the classes of a discrete variable have other priors, or other known numbers.

    Parameters
    ----------
    name : str
        The discrete variable.
    factors : sequence of BoundFactor
    """
    chosen = [(f.name, term, switch) for f, term, switch in _choices(name, factors)]
    if any(child != name and _varies(term.table, switch.state) for child, term, switch in chosen):
        seen = {a.name for _, term, _ in chosen for a in term.accesses if a.name != name}
        alike = {_written(other, factors) for other in seen}
        if not seen or len(alike) > 1:  # a list of variables, or of numbers
            return True
    return any(
        _prior_varies(access.name, i, factors)
        for _, term, switch in chosen
        for access in term.accesses
        if not isinstance(access, Switch)
        for i, place in enumerate(access.places)
        if place is switch.state
    )


def _choices(
    name: str, factors: Sequence[BoundFactor]
) -> Iterator[tuple[BoundFactor, Term, Switch]]:
    """Yield where the variable chooses, and what."""
    for factor in factors:
        for term in factor.terms:
            for access in term.accesses:
                if isinstance(access, Switch) and access.name == name:
                    yield factor, term, access


def _varies(table: Table, axis: Axis) -> bool:
    """Tell whether a constant varies along a label."""
    if axis not in table.axes:
        return False
    along = np.moveaxis(table.values, table.axes.index(axis), 0)
    return bool(np.any(along != along[:1]))


def _prior_varies(name: str, axis: int, factors: Sequence[BoundFactor]) -> bool:
    """Tell whether a known number in the prior of a variable varies along one of its axes."""
    for factor in factors:
        if factor.name != name:
            continue
        place = factor.places[axis]
        if not isinstance(place, Axis) or any(_varies(t.table, place) for t in factor.terms):
            return True
    return False


def _written(name: str, factors: Sequence[BoundFactor]) -> Any:
    """Return the prior of a variable as far as it is known."""
    return tuple(
        (factor.family, key, term.table.values.tobytes(), tuple(a.name for a in term.accesses))
        for factor in factors
        if factor.name == name
        for key, poly in factor.parameters.items()
        for term in poly.terms
    )
