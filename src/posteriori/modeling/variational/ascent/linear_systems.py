"""Linear systems whose transition and loadings are unknown: found in the factors of a model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Access, Axis

__all__ = ["Loadings", "LinearSystem", "find_systems"]


class Loadings(NamedTuple):
    """A normal variable that multiplies states along one of its axes, and its own factor."""

    name: str
    axis: int
    factor: BoundFactor


class LinearSystem(NamedTuple):
    r"""A chain :math:`x_t \sim N(A x_{t-1}, \cdot)`, seen through products only.

    Attributes
    ----------
    states : str
    axis : int
        The axis of the states that is multiplied.
    first, step : BoundFactor
        Of the first member and of the others.
    transition : Loadings
        A, with the axis that is summed over.
    out : int
        The other axis of A.
    loadings : tuple of Loadings
    layouts : mapping
        Of all variables.
    """

    states: str
    axis: int
    first: BoundFactor
    step: BoundFactor
    transition: Loadings
    out: int
    loadings: tuple[Loadings, ...]
    layouts: Mapping[str, Layout]

    @property
    def size(self) -> int:
        """How many numbers a state has."""
        return self.layouts[self.states].axes[self.axis].size

    def vectors(self, name: str, axis: int) -> int:
        """Return how many vectors along an axis a variable has."""
        shape = self.layouts[name].shape
        return math.prod(n for i, n in enumerate(shape) if i != axis)


def find_systems(factors: Sequence[BoundFactor], bound: Bound) -> list[LinearSystem]:
    """Return the systems of a model whose states can be turned."""
    own = {factor.name: factor for factor in reversed(factors)}
    found = []
    for factor in factors:
        moved = _moved(factor, bound)
        if moved is None or moved[1].name not in own or own[factor.name] is factor:
            continue
        state, matrix = moved
        axis, into, out = _axes(state, matrix, factor)
        if min(axis, into, out) < 0:
            continue
        loadings = _loadings(factor.name, axis, own, factors, bound)
        if loadings:
            transition = Loadings(matrix.name, into, own[matrix.name])
            steps = (own[factor.name], factor)
            found.append(
                LinearSystem(
                    factor.name, axis, *steps, transition, out, tuple(loadings), bound.layouts
                )
            )
    return found


def _moved(factor: BoundFactor, bound: Bound) -> tuple[Access, Access] | None:
    """Return how a step sees the state before it and the matrix that moves it."""
    if factor.family not in GAUSSIAN:
        return None
    for _, accesses in factor.parameters["mean"].terms:
        before = [a for a in accesses if a.name == factor.name and isinstance(a, Access)]
        others = [a for a in accesses if a.name != factor.name]
        if before and len(others) == 1 and _is_normal(others[0], bound):
            return before[0], others[0]
    return None


def _axes(state: Access, matrix: Access, factor: BoundFactor) -> tuple[int, int, int]:
    """Return the axes of the state and of the matrix that are summed over, and its other axis."""
    outer = {*factor.rows, *factor.events}
    for axis, place in enumerate(state.places):
        if isinstance(place, Axis) and place not in outer and place in matrix.places:
            own = factor.places[axis]
            if len(matrix.places) == 2 and own in matrix.places:
                return axis, matrix.places.index(place), matrix.places.index(own)
    return -1, -1, -1


def _loadings(
    name: str, axis: int, own: dict[str, BoundFactor], factors: Sequence[BoundFactor], bound: Bound
) -> list[Loadings]:
    """Return what multiplies the states; nothing where they are seen in another way."""
    found: dict[str, Loadings] = {}
    for factor in factors:
        if factor.name == name:
            continue
        for term in factor.terms:
            seen = [a for a in term.accesses if a.name == name]
            if not seen:
                continue
            others = [a for a in term.accesses if a.name != name]
            place = seen[0].places[axis]
            outer = {*factor.rows, *factor.events}
            if len(others) != 1 or not _is_normal(others[0], bound) or place in outer:
                return []
            if place not in others[0].places or others[0].name not in own:
                return []
            other = others[0].name
            found[other] = Loadings(other, others[0].places.index(place), own[other])
    return list(found.values())


def _is_normal(access: Any, bound: Bound) -> bool:
    return isinstance(access, Access) and bound.families[access.name] in GAUSSIAN
