r"""Classes that are all alike, named by the order of their parameters.

If ln p is the same for all K! orders of the classes, each order has the same posterior up to names,

.. math:: p(y) = K! \int_{\theta_1 < \dots < \theta_K} p(y, \theta)\,d\theta .
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice, permutations

import numpy as np

from posteriori.inference.quadrature.lattices import Lattice
from posteriori.modeling.binding.bound import GAUSSIAN
from posteriori.modeling.contract.conditioning import ExactParts
from posteriori.modeling.contract.engine import GivesUpError, Group
from posteriori.modeling.nested.conditional_model import ConditionalModel
from posteriori.modeling.nested.exchangeable import (
    are_exchangeable,
    chosen_from,
    classes_alike,
)
from posteriori.modeling.nested.states import States
from posteriori.modeling.nested.unbounded import Coordinates, Free
from posteriori.numerics.types import Array

__all__ = ["are_identified", "check_apart", "in_order", "other_names"]

#: Densities of two orders are equal up to rounding.
_ROUNDING = 1e-9
#: Mass at most within a step of where two classes are one: there the integral ends at an edge.
_AT_THE_EDGE = 0.01
#: Orders of classes whose tops are looked for.
_MOST_ORDERS = 24

Items = Mapping[str, Free | States]


def in_order(
    items: Items, group: Group, exact_parts: ExactParts
) -> dict[str, Free | States] | None:
    """Return unknowns of which those of one parameter are in order; None if no order tells.

    Parameters
    ----------
    items : mapping
        Unknowns given which all others are exact.
    group : Group
        The classes of one of its discrete variables are all alike.
    exact_parts : callable
        Finds the exact parts of what is left.
    """
    classes = _one_variable(items, group)
    name = None if classes is None else classes.to_order()
    if classes is None or name is None or not classes.are_equal(group, exact_parts):
        return None
    found = {**items, name: classes.free[name]._replace(is_ordered=True)}
    return None if are_exchangeable(found, group) else found


def are_identified(items: Items, group: Group, exact_parts: ExactParts) -> bool:
    """Tell whether priors tell classes apart that overlap: then each naming has its own mass."""
    classes = _one_variable(items, group)
    return classes is not None and not classes.are_equal(group, exact_parts)


def other_names(items: Items, group: Group, at: Array) -> Array:
    """Return a point with its classes in all other orders, (S, D); none of classes that are apart.

    Priors that overlap leave a top for each naming of the classes, of which the data may make any
    the highest.
    """
    classes = _one_variable(items, group)
    if classes is None:
        return np.empty((0, len(at)))
    coordinates = Coordinates(tuple(classes.free.values()))
    values, _ = coordinates.read(at)
    orders = islice(permutations(range(classes.size)), 1, _MOST_ORDERS)
    return np.array([coordinates.write(classes.moved(values, order)) for order in orders])


def _one_variable(items: Items, group: Group) -> _Classes | None:
    """Return the classes of the one discrete variable that has some alike."""
    alike = classes_alike(items, group)
    if len(alike) != 1 or any(isinstance(item, States) for item in items.values()):
        return None
    return _Classes(alike[0], items, group)


def check_apart(lattice: Lattice, coordinates: Coordinates) -> None:
    """Refuse classes that the data do not tell apart.

    Raises
    ------
    ValueError
        When numbers in order are likely to be nearly equal.
    """
    for item in coordinates.free:
        if not item.is_ordered:
            continue
        start = coordinates.names.index(item.name)
        mine = slice(start, start + item.size)
        steps = lattice.step * np.linalg.norm(np.diff(lattice.root[mine], axis=0), axis=1)
        u = np.diff(lattice.points[:, mine], axis=1)
        near = float(lattice.weights[np.any(u < steps, axis=1)].sum())
        if near > _AT_THE_EDGE:
            raise GivesUpError(
                f"the data do not tell the classes of {item.name} apart: with probability "
                f"{near:.2g} or more two of them are nearly equal, and no order names them",
                'leave method="quadrature" out, or give them priors that lie apart',
            )


class _Classes:
    """The classes of a discrete variable, and the unknowns that change places with them.

    Attributes
    ----------
    size : int
        K.
    axes : dict
        Along which axes of each unknown its members belong to classes.
    chances : set
        Unknown probabilities of the classes.
    """

    def __init__(self, name: str, items: Items, group: Group) -> None:
        self.free = {n: item for n, item in items.items() if isinstance(item, Free)}
        self.is_gaussian = {n: group.bound.families[n] in GAUSSIAN for n in self.free}
        self.axes: dict[str, set[int]] = {}
        self.size = 0
        for accesses, switch in chosen_from(items, group):
            if switch.name == name:
                self.size = switch.state.size
                for access in accesses:
                    of_classes = {i for i, p in enumerate(access.places) if p is switch.state}
                    self.axes.setdefault(access.name, set()).update(of_classes)
        self.chances = {
            access.name
            for factor in group.factors
            if factor.name == name
            for term in factor.terms
            for access in term.accesses
            if access.name in self.free
        }

    def to_order(self) -> str | None:
        """Return an unknown with one number for each class, a normal one if there is one."""
        found = [
            name
            for name, axes in self.axes.items()
            if axes == {0} and self.free[name].shape == (self.size,) and name not in self.chances
        ]
        return min(found, key=lambda name: not self.is_gaussian[name], default=None)

    def are_equal(self, group: Group, exact_parts: ExactParts) -> bool:
        """Tell whether other orders of the classes have the same density, at a point by chance.

        An exchange of two classes and a shift of all make up all orders.
        """
        coordinates = Coordinates(tuple(self.free.values()))
        starts, scales = coordinates.starts()
        at = starts[0] + scales * np.random.default_rng(0).standard_normal(len(scales))
        values, _ = coordinates.read(at)
        first, *others = range(self.size)
        orders = [[first, *others], [others[0], first, *others[1:]], [*others, first]]
        moved = [self.moved(values, order) for order in orders]
        rest = ConditionalModel(group, values, exact_parts, keeps=False)
        logs = rest.log_joints({name: np.array([m[name] for m in moved]) for name in values})
        return bool(np.ptp(logs) <= _ROUNDING * (1.0 + np.abs(logs[0])))

    def moved(self, values: Mapping[str, Array], order: Sequence[int]) -> dict[str, Array]:
        """Return the values with the classes in another order."""
        found = {}
        for name, array in values.items():
            for axis in self.axes.get(name, ()):
                array = array.take(order, axis=axis)
            if name in self.chances and self.free[name].is_simplex:
                array = array.take(order, axis=-1)
            elif name in self.chances and order[0] != 0:
                array = 1.0 - array
            found[name] = array
        return found
