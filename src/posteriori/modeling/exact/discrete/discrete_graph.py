"""From log tables of factors to a graph of whole variables, or of their single members.

In the lifted graph a node is a whole variable and keeps its axes as plates: a mixture of a million
data has one node. Factors that join neighbours in time make a chain. Where neither fits, the ground
graph has a node for each member.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Axis, Lookup, Table, count_of, shape_of
from posteriori.modeling.binding.places import member_index, sum_by_member
from posteriori.modeling.exact.discrete.plate_elimination import Entangled, Plates, reduce_plates
from posteriori.modeling.forms.state_tables import StateTable

__all__ = ["Chained", "Graph", "ground_graph", "lifted_graph", "refill_graph"]

#: More rows than this are not written out one by one.
MOST_ROWS = 20_000


class Chained(NamedTuple):
    """Variables that are joined from one time to the next.

    Attributes
    ----------
    time, arrival : Axis
        T times, and the T − 1 steps between them.
    nodes : tuple of Axis
        States of the members now.
    before : tuple of Axis
        States of the same members one step earlier.
    steps : tuple of Table
        Log tables over steps and the states at their two ends.
    sources : tuple of str
        The factor of each of them.
    static : tuple of Axis
        States of variables that do not move in time but say how the members do: there is a chain
        for each combination of them.
    repeated : bool
        Whether the chain is solved many times, so that compiled loops pay for short ones too.
    """

    time: Axis
    arrival: Axis
    nodes: tuple[Axis, ...]
    before: tuple[Axis, ...]
    steps: tuple[Table, ...]
    sources: tuple[str, ...]
    static: tuple[Axis, ...] = ()
    repeated: bool = False


class Placement(NamedTuple):
    """Where the table of a factor goes in a lifted graph.

    Attributes
    ----------
    labels : mapping
        Nodes and plates for the states and rows of the factor.
    rows : tuple of Axis
        Plates of the factor.
    shared : frozenset of Axis
        Plates that remain; the copies along others are added up.
    is_step : bool
        Whether it joins neighbours in time.
    """

    labels: Mapping[Axis, Axis]
    rows: tuple[Axis, ...]
    shared: frozenset[Axis]
    is_step: bool


class Graph(NamedTuple):
    """Tables over the states of nodes.

    Attributes
    ----------
    nodes : mapping
        Node of each variable, or of each of its members in row order.
    plates : mapping
        Plates of each node.
    tables : tuple of Table
    sources : tuple of str
        The factor of each table.
    chain : Chained or None
    placements : tuple of Placement
        Of every factor of a lifted graph.
    """

    nodes: Mapping[str, tuple[Axis, ...]]
    plates: Plates
    tables: tuple[Table, ...]
    sources: tuple[str, ...]
    chain: Chained | None = None
    placements: tuple[Placement, ...] = ()

    @property
    def series(self) -> tuple[Axis, ...]:
        """Plates of the chain other than its time."""
        assert self.chain is not None
        time = self.chain.time
        return tuple(p for p in self.plates[self.chain.nodes[0]] if p is not time)


# -- lifted ----------------------------------------------------------------------------------


def lifted_graph(
    factors: Sequence[StateTable], layouts: Mapping[str, Layout], sizes: Mapping[str, int]
) -> Graph:
    """Return the graph whose nodes are whole variables.

    Raises
    ------
    Entangled
        When a factor joins members of a variable other than neighbours in time.
    """
    factors = [_on_own_axes(factor, layouts) for factor in factors]
    steps = {i: _shifts(factor, layouts) for i, factor in enumerate(factors)}
    classes = _DisjointSets()
    for i, factor in enumerate(factors):
        for j, view in enumerate(factor.views):
            for k, (axis, place) in enumerate(
                zip(layouts[view.name].axes, view.places, strict=True)
            ):
                if isinstance(place, Axis):
                    classes.union(axis, place)
                elif (j, k) not in steps[i]:
                    raise Entangled(factor.name)
    nodes = {name: Axis(name, size) for name, size in sizes.items()}
    plates: dict[Axis, tuple[Axis, ...]] = {}
    for name, node in nodes.items():
        own = [classes.find(axis) for axis in layouts[name].axes]
        if len(set(own)) != len(own):
            raise Entangled(name)
        plates[node] = tuple(own)
    joined = {i: (factors[i], shifts) for i, shifts in steps.items() if shifts}
    chain = _chained(joined.values(), nodes, plates, classes, layouts) if joined else None
    placements = tuple(
        _place_step(*joined[i], nodes, plates, classes, chain)
        if chain is not None and i in joined
        else _place(factor, nodes, plates, classes)
        for i, factor in enumerate(factors)
    )
    sources = tuple(factor.name for i, factor in enumerate(factors) if i not in joined)
    whole = {name: (node,) for name, node in nodes.items()}
    return _filled(Graph(whole, plates, (), sources, chain, placements), factors)


def refill_graph(
    graph: Graph, factors: Sequence[StateTable], layouts: Mapping[str, Layout]
) -> Graph:
    """Return a lifted graph of other values; all else of the factors must be the same."""
    return _filled(graph, [_on_own_axes(factor, layouts) for factor in factors])


def _filled(graph: Graph, factors: Sequence[StateTable]) -> Graph:
    local: list[Table] = []
    steps: list[Table] = []
    for factor, (labels, rows, shared, is_step) in zip(factors, graph.placements, strict=True):
        table = Table(factor.table.values, tuple(labels[axis] for axis in factor.table.axes))
        (steps if is_step else local).append(reduce_plates(table, rows, shared))
    chain = graph.chain and graph.chain._replace(steps=tuple(steps))
    return graph._replace(tables=tuple(local), chain=chain)


class _DisjointSets:
    """Labels that stand for the same axis.

    SciPy's ``DisjointSet`` comes with a hundred modules, which take longer to load than an inference.
    """

    def __init__(self) -> None:
        self.parent: dict[Axis, Axis] = {}

    def find(self, axis: Axis) -> Axis:
        while axis in self.parent:
            axis = self.parent[axis]
        return axis

    def union(self, a: Axis, b: Axis) -> None:
        a, b = self.find(a), self.find(b)
        if a is not b:
            self.parent[b] = a


def _on_own_axes(factor: StateTable, layouts: Mapping[str, Layout]) -> StateTable:
    """Add up the rows that look up one variable, so that it is seen by its own axes.

    Other variables that the factor sees must have no axes.
    """
    placed = [view for view in factor.views if view.places]
    if len(placed) != 1 or not any(isinstance(p, Lookup) for p in placed[0].places):
        return factor
    (view,) = placed
    axes = layouts[view.name].axes
    table = sum_by_member(factor.table, view.places, axes, factor.rows)
    views = tuple(v._replace(places=axes) if v is view else v for v in factor.views)
    return StateTable(factor.name, table, axes, views)


def _shifts(factor: StateTable, layouts: Mapping[str, Layout]) -> dict[tuple[int, int], int]:
    """Return which places of which views read the step before (0) or its arrival (1)."""
    found = {}
    for j, view in enumerate(factor.views):
        for k, (axis, place) in enumerate(zip(layouts[view.name].axes, view.places, strict=True)):
            run = place.run
            if run is not None and run.label is not None and run.label.size == axis.size - 1:
                found[j, k] = run.start  # 0 or 1: no other fits
    return found


def _place(
    factor: StateTable, nodes: Mapping[str, Axis], plates: Plates, classes: _DisjointSets
) -> Placement:
    """Relabel a table by nodes and plates; multiply the copies that no node of it has."""
    states = {view.state: nodes[view.name] for view in factor.views}
    rows = {axis: classes.find(axis) for axis in factor.rows}
    if len(set(states.values())) != len(states) or len(set(rows.values())) != len(rows):
        raise Entangled(factor.name)
    shared = frozenset(plate for node in states.values() for plate in plates[node])
    return Placement({**rows, **states}, tuple(rows.values()), shared, False)


def _chained(
    joined: Collection[tuple[StateTable, Mapping[tuple[int, int], int]]],
    nodes: Mapping[str, Axis],
    plates: Plates,
    classes: _DisjointSets,
    layouts: Mapping[str, Layout],
) -> Chained:
    """Join all variables that meet in a step into one chain, its tables to be filled in."""
    moving = {factor.views[j].name for factor, shifts in joined for j, _ in shifts}
    names = [name for name in nodes if name in moving]
    members = tuple(nodes[name] for name in names)
    before = tuple(Axis(name, nodes[name].size) for name in names)
    times = {
        classes.find(layouts[factor.views[j].name].axes[k])
        for factor, shifts in joined
        for j, k in shifts
    }
    everywhere = {frozenset(plates[node]) for node in members}
    if len(times) != 1 or len(everywhere) != 1:
        raise Entangled(", ".join(names))
    (time,) = times
    arrival = Axis(time.name, time.size - 1)
    sources = tuple(factor.name for factor, _ in joined)
    return Chained(time, arrival, members, before, (), sources)


def _place_step(
    factor: StateTable,
    shifts: Mapping[tuple[int, int], int],
    nodes: Mapping[str, Axis],
    plates: Plates,
    classes: _DisjointSets,
    chain: Chained,
) -> Placement:
    """Relabel a table by the steps of the chain and the states at their two ends."""
    earlier = dict(zip(chain.nodes, chain.before, strict=True))
    still = [view for view in factor.views if nodes[view.name] not in earlier]
    if {j for j, _ in shifts} | {factor.views.index(v) for v in still} != set(
        range(len(factor.views))
    ) or any(chain.time in plates[nodes[view.name]] for view in still):
        raise Entangled(factor.name)
    new: dict[Axis, Axis] = {axis: classes.find(axis) for axis in factor.rows}
    new |= {view.state: nodes[view.name] for view in still}
    for (j, k), shift in shifts.items():
        view = factor.views[j]
        place = view.places[k]
        assert isinstance(place, Lookup)
        new[place.positions.axes[0]] = chain.arrival
        node = nodes[view.name]
        new[view.state] = node if shift else earlier[node]
    if len(set(new.values())) != len(new):
        raise Entangled(factor.name)
    shared = frozenset((chain.arrival, *plates[chain.nodes[0]]))
    return Placement(new, tuple(new[axis] for axis in factor.rows), shared, True)


# -- ground ----------------------------------------------------------------------------------


def ground_graph(
    factors: Sequence[StateTable], layouts: Mapping[str, Layout], sizes: Mapping[str, int]
) -> Graph:
    """Return the graph whose nodes are single members of variables.

    Raises
    ------
    MemoryError
        When there are too many rows to write out.
    """
    count = sum(count_of(factor.rows) for factor in factors)
    if count > MOST_ROWS:
        raise MemoryError(
            f"the members of {', '.join(sizes)} depend on one another neither plate by plate nor "
            f"as a chain, and {count} rows are too many to take one by one (at most {MOST_ROWS})"
        )
    nodes = {name: _members(name, layouts[name], size) for name, size in sizes.items()}
    made = [(f.name, table) for f in factors for table in _row_tables(f, nodes, layouts)]
    plates: Plates = {node: () for own in nodes.values() for node in own}
    return Graph(nodes, plates, tuple(t for _, t in made), tuple(name for name, _ in made))


def _members(name: str, layout: Layout, size: int) -> tuple[Axis, ...]:
    if not layout.axes:
        return (Axis(name, size),)
    return tuple(
        Axis(f"{name}[{', '.join(map(str, index))}]", size) for index in np.ndindex(*layout.shape)
    )


def _row_tables(
    factor: StateTable, nodes: Mapping[str, tuple[Axis, ...]], layouts: Mapping[str, Layout]
) -> Iterable[Table]:
    rows, views = factor.rows, factor.views
    states = tuple(view.state for view in views)
    values = factor.table.over(rows + states).reshape(-1, *shape_of(states))
    seen = [member_index(view.places, layouts[view.name].axes, rows) for view in views]
    for row, table in enumerate(values):
        axes = [nodes[view.name][s[row]] for view, s in zip(views, seen, strict=True)]
        kept = list(dict.fromkeys(axes))
        codes = [kept.index(axis) for axis in axes]
        yield Table(np.einsum(table, codes, list(range(len(kept)))), tuple(kept))
