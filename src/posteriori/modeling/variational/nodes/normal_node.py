"""What nodes of normal variables have in common: axes whose members do not meet, marginals, moments."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.distributions.composites.point_mass import PointMass
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Access, Axis, Lookup, Run, Table, seen, spread
from posteriori.modeling.binding.places import same_place
from posteriori.modeling.binding.products import contract_tables
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.modeling.variational.nodes.node import Node
from posteriori.numerics.types import Array

__all__ = [
    "NormalNode",
    "along_axis",
    "batch_axes",
    "longest_vector",
    "time_of",
    "times_of",
]

#: The first start.
_FIRST = Lookup(Table(np.zeros((), dtype=np.intp), ()))

#: The axis of a variable: its name and position.
Place = tuple[str, int]


def batch_axes(
    names: Sequence[str], layouts: Mapping[str, Layout], monomials: Iterable[Monomial]
) -> list[tuple[int, ...]]:
    """Return groups of axes, one of each variable, along which members do not meet."""
    parent: dict[Place, Place] = {
        (n, i): (n, i) for n in names for i in range(len(layouts[n].axes))
    }

    def root(x: Place) -> Place:
        while parent[x] != x:
            x = parent[x]
        return x

    mixed: set[Place] = set()
    for monomial in monomials:
        mine = [a for a in monomial.accesses if a.name in names]
        if len(mine) < 2:
            continue
        for a, b in ((mine[0], mine[1]), (mine[1], mine[0])):
            for i, place in enumerate(a.places):
                partners = [j for j, other in enumerate(b.places) if same_place(place, other)]
                if a.name == b.name:
                    partners = [j for j in partners if j == i]
                if len(partners) != 1:
                    mixed.add((a.name, i))
                else:
                    parent[root((a.name, i))] = root((b.name, partners[0]))
    bad = {root(x) for x in mixed}
    groups: dict[Place, list[Place]] = {}
    for x in parent:
        groups.setdefault(root(x), []).append(x)
    return [
        tuple(i for n in names for m, i in members if m == n)
        for key, members in groups.items()
        if key not in bad and sorted(n for n, _ in members) == sorted(names)
    ]


def longest_vector(
    names: Sequence[str], layouts: Mapping[str, Layout], apart: Sequence[tuple[int, ...]]
) -> int:
    """Return how many numbers a vector has along all axes but those that tell members apart."""
    total = 0
    for k, name in enumerate(names):
        shared = {group[k] for group in apart}
        axes = layouts[name].axes
        total += math.prod(a.size for i, a in enumerate(axes) if i not in shared)
    return total


class NormalNode(Node):
    """Normal variables whose belief is a mean and covariances.

    Attributes
    ----------
    layouts : mapping
        Of its variables, at least.
    fit : array
        hᵀ m for each start.
    """

    form = "vectors"
    layouts: Mapping[str, Layout]
    fit: Array

    @abstractmethod
    def splits(self) -> list[Mapping[str, tuple[int, ...]]]:
        """Return which axes of each variable may tell vectors apart, the shortest vectors first."""

    @abstractmethod
    def _mean_of(self, name: str) -> Table:
        """Return the means of a variable over its own axes."""

    @abstractmethod
    def _seen_cov(self, a: Any, b: Any) -> Table:
        """Return covariances as two accesses to the same vectors see them."""

    def settle(self) -> Array:
        return 0.5 * self.fit  # h·m − ½ mᵀJm at Jm = h

    def centre(self, name: str) -> Array:
        return self._mean_of(name).over((self.restart, *self.layouts[name].axes))

    def highest(self) -> dict[str, Array]:
        return {name: np.array(self.centre(name)[0]) for name in self.names}

    def point(self, name: str) -> PointMass:
        return PointMass(self.highest()[name], event_ndim=len(self.layouts[name].events))

    def read_start(self, name: str, numbers: Array, shape: tuple[int, ...]) -> Array:
        if numbers.shape != shape:
            raise ValueError(f"init of {name} must have shape {shape}, got {numbers.shape}")
        return numbers

    def marginal(self, name: str) -> Any:
        mean, cov = (seen(table, (self.restart,), (_FIRST,)) for table in self._moments_of(name))
        return self._distribution(name, mean, cov, ())

    def conditional(self, name: str) -> Any:
        return self._distribution(name, *self._moments_of(name), (self.restart,))

    def _moments_of(self, name: str) -> tuple[Table, Table]:
        """Return means of a variable, and covariances of the numbers of each of its vectors."""
        labels = self.layouts[name].axes
        other = Access(name, (*self.layouts[name].lead, *self._event_twins[name]))
        return self._mean_of(name), self._seen_cov(Access(name, labels), other)

    def _distribution(self, name: str, mean: Table, cov: Table, lead: tuple[Axis, ...]) -> Any:
        """Return normals over some labels and the axes of a variable."""
        labels = (*lead, *self.layouts[name].axes)
        center, spreads = mean.over(labels).copy(), cov.over((*labels, *self._event_twins[name]))
        if self.layouts[name].events:
            return MvNormal._from(mean=center, cov=spreads)
        return Normal._from(mean=center[()], variance=spreads[()])

    @cached_property
    def _event_twins(self) -> dict[str, tuple[Axis, ...]]:
        """A second label for each event axis."""
        events = {name: self.layouts[name].events for name in self.names}
        return {n: tuple(Axis("twin", axis.size) for axis in axes) for n, axes in events.items()}

    def second_moment(self, name: str, axis: int) -> Array:
        axes = self.layouts[name].axes
        size = axes[axis].size
        one, two = Axis("one", size), Axis("two", size)
        places = [(*axes[:axis], label, *axes[axis + 1 :]) for label in (one, two)]
        keep = (self.restart, one, two)
        total = np.zeros((self.restart.size, size, size))
        for tables in self.expect([Access(name, p) for p in places]):
            present = {a for table in tables for a in table.axes}
            copies = math.prod(a.size for i, a in enumerate(axes) if i != axis and a not in present)
            total += copies * spread(contract_tables(tables, keep), keep)
        return total


def time_of(name: str, layout: Layout, monomials: Iterable[Monomial]) -> int | None:
    """Return the axis along which a variable meets its own next member, and none further away."""
    pairs = [
        mine
        for monomial in monomials
        if len(mine := [a for a in monomial.accesses if a.name == name and isinstance(a, Access)])
        == 2
    ]
    for i in range(len(layout.axes) - len(layout.events)):
        steps = {_step(a.places[i], b.places[i]) for a, b in pairs}
        if 1 in steps and steps <= {0, 1}:
            return i
    return None


def _step(p: Any, q: Any) -> int | None:
    """Return how many members lie between two places; None where that is not one number."""
    if same_place(p, q):
        return 0
    runs = [place.run for place in (p, q) if isinstance(place, Lookup)]
    starts = [run.start for run in runs if run is not None]
    return abs(starts[0] - starts[1]) if len(starts) == 2 else None


def times_of(place: Any) -> Run:
    """Return the members that a place of a chain reads."""
    run: Run | None = place.run
    if run is None:
        raise TypeError("a chain under variational inference can be read in order only")
    return run


def along_axis(matrix: Array, sizes: Sequence[int], axis: int) -> Array:
    """Return the matrix that multiplies one axis of a flattened array, for each start."""
    left = np.eye(math.prod(sizes[:axis]))
    right = np.eye(math.prod(sizes[axis + 1 :]))
    return np.stack([np.kron(np.kron(left, m), right) for m in matrix])
