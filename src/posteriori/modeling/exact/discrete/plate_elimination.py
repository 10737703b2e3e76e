r"""Elimination of variables that lie on plates, for whole plates at a time.

A discrete variable is the label of its states; a plate is a label that every copy of it shares.
Eliminating x from the product of all tables that hold it leaves a message,

.. math:: \mu(s) = \sum_x \prod_i \phi_i(x, s), \qquad p(x \mid s) = \prod_i \phi_i(x, s) / \mu(s),

and the copies of a plate that nothing else has are multiplied. A variable can go once all its
neighbours lie on no plate that it lacks. All tables hold logarithms.

References: Dechter (1999), Bucket elimination; Obermeyer et al. (2019), Tensor variable
elimination for plated factor graphs.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table, gather, shape_of, spread
from posteriori.modeling.binding.places import add_tables, locate
from posteriori.modeling.forms.state_tables import MOST_CELLS
from posteriori.numerics.logspace import log_sum_exp

__all__ = [
    "Bucket",
    "Elimination",
    "Entangled",
    "Step",
    "best_states",
    "conditional_draws",
    "eliminate",
    "joint_beliefs",
    "log_conditional",
    "multiply_beliefs",
    "plan_elimination",
    "reduce_plates",
    "remaining_scopes",
    "sum_to",
]

#: The plates of each variable, in order.
Plates = Mapping[Axis, tuple[Axis, ...]]


class Entangled(Exception):  # noqa: N818  # not an error of the user: another method is tried
    """No variable can be eliminated for a whole plate at a time; ``nodes`` are what remains."""

    def __init__(self, text: str, nodes: Sequence[Axis] = ()) -> None:
        super().__init__(text)
        self.nodes = tuple(nodes)


class Step(NamedTuple):
    """One elimination to come.

    Attributes
    ----------
    node : Axis
        States of the variable that goes.
    given : tuple of Axis
        States of its neighbours at that time.
    parts : tuple of int
        Tables that hold it; the message gets the next free number.
    labels : tuple of Axis
        Of their product: the node, its neighbours, then plates, which run fastest.
    shared : frozenset of Axis
        Plates of the neighbours; copies on the other plates are multiplied.
    """

    node: Axis
    given: tuple[Axis, ...]
    parts: tuple[int, ...]
    labels: tuple[Axis, ...]
    shared: frozenset[Axis]


class Bucket(NamedTuple):
    """One elimination.

    Attributes
    ----------
    node : Axis
        States of the variable that went.
    given : tuple of Axis
        States of its neighbours at that time.
    table : Table
        Log product of all that held the variable.
    message : Table
        The same with the variable summed (or maximised) out.
    """

    node: Axis
    given: tuple[Axis, ...]
    table: Table
    message: Table


class Elimination(NamedTuple):
    """Buckets in the order of elimination, tables of what was kept, and the log of the rest."""

    buckets: tuple[Bucket, ...]
    rest: tuple[Table, ...]
    log_total: float


def plan_elimination(
    scopes: Iterable[Sequence[Axis]], plates: Plates, keep: Iterable[Axis] = ()
) -> tuple[Step, ...]:
    """Order the elimination of all variables but those to keep: the smallest table comes first.

    Parameters
    ----------
    scopes : iterable of sequences of Axis
        The labels of each table: states of variables, and plates of these variables.
    plates : mapping
        The plates of every variable.
    keep : iterable of Axis

    Raises
    ------
    MemoryError
        When a table would be too large.
    Entangled
        When neighbours lie on plates that each other lacks.
    """
    live = _Scopes(plates)
    start = 0
    for scope in scopes:
        live.add(start, scope)
        start += 1
    kept = set(keep)
    rank = {node: i for i, node in enumerate(plates)}
    waiting = [node for node in plates if node not in kept]
    heap = [(live.cost[node], rank[node], node) for node in waiting]
    heapq.heapify(heap)
    steps: dict[Axis, Step] = {}
    while heap:
        cost, _, node = heapq.heappop(heap)
        if node in steps:
            continue
        if live.cost[node] > cost:
            heapq.heappush(heap, (live.cost[node], rank[node], node))
            continue
        labels = live.labels(node)
        given = tuple(axis for axis in labels if axis in plates and axis is not node)
        shared: frozenset[Axis] = frozenset().union(*(plates[other] for other in given))
        if not shared <= set(plates[node]):
            continue  # comes back when its neighbours have changed
        _require_memory(node, given, labels)
        parts = tuple(sorted(live.holders[node]))
        around = tuple(axis for axis in labels if axis not in plates)
        for i in parts:
            live.remove(i)
        live.add(start + len(steps), [a for a in labels if a in given or a in shared])
        steps[node] = Step(node, given, parts, (node, *given, *around), shared)
        for other in given:
            if other not in kept:
                heapq.heappush(heap, (live.cost[other], rank[other], other))
    if len(steps) < len(waiting):
        stuck = [node for node in waiting if node not in steps]
        raise Entangled(", ".join(node.name for node in stuck), stuck)
    return tuple(steps.values())


def remaining_scopes(
    scopes: Iterable[Sequence[Axis]], steps: Sequence[Step]
) -> list[tuple[Axis, ...]]:
    """Return the labels of what an elimination leaves."""
    live = {i: tuple(scope) for i, scope in enumerate(scopes)}
    start = len(live)
    for i, step in enumerate(steps):
        for part in step.parts:
            live.pop(part)
        live[start + i] = tuple(a for a in step.labels[1:] if a in step.given or a in step.shared)
    return [scope for scope in live.values() if scope]


def eliminate(
    tables: Iterable[Table], steps: Sequence[Step], plates: Plates, *, maximize: bool = False
) -> Elimination:
    """Carry out an elimination.

    Parameters
    ----------
    tables : iterable of Table
        Logarithms.
    steps : sequence of Step
    plates : mapping
        The plates of every variable.
    maximize : bool
        Whether to maximise instead of summing.

    Raises
    ------
    ValueError
        When no state of a variable is possible.
    """
    live = dict(enumerate(tables))
    start = len(live)
    buckets = []
    variables = {node.name for node in plates}
    for i, step in enumerate(steps):
        bucket = _bucket(step, [live.pop(part) for part in step.parts], maximize)
        _require_possible(bucket, variables)
        buckets.append(bucket)
        live[start + i] = reduce_plates(bucket.message, plates[step.node], step.shared)
    numbers = [float(table.values) for table in live.values() if not table.axes]
    rest = tuple(table for table in live.values() if table.axes)
    return Elimination(tuple(buckets), rest, sum(numbers))


def joint_beliefs(
    buckets: Sequence[Bucket], kept: Callable[[tuple[Axis, ...]], Table]
) -> dict[Axis, Table]:
    """Return the joint probabilities of each variable and its neighbours at its elimination.

    Parameters
    ----------
    buckets : sequence of Bucket
    kept : callable
        Gives the joint probabilities of variables that were kept and are neighbours.
    """
    by_node = {bucket.node: bucket for bucket in buckets}
    order = {node: i for i, node in enumerate(by_node)}
    beliefs: dict[Axis, Table] = {}
    for bucket in reversed(buckets):
        belief = _conditional(bucket)
        later = [node for node in bucket.given if node in order]
        if later:
            first = min(later, key=order.__getitem__)
            above = sum_to(beliefs[first], {first, *by_node[first].given}, bucket.given)
            belief = multiply_beliefs(belief, above)
        elif bucket.given:
            belief = multiply_beliefs(belief, kept(bucket.given))
        beliefs[bucket.node] = belief
    return beliefs


def best_states(buckets: Sequence[Bucket], known: Mapping[Axis, Table]) -> dict[Axis, Table]:
    """Return the states at the maximum, read off in reverse order."""
    states = dict(known)
    for bucket in reversed(buckets):
        table = _at_states(bucket, states)
        where = table.axes.index(bucket.node)
        rest = tuple(axis for axis in table.axes if axis is not bucket.node)
        states[bucket.node] = Table(np.argmax(table.values, axis=where), rest)
    return states


def conditional_draws(
    buckets: Sequence[Bucket],
    known: Mapping[Axis, Table],
    plates: Plates,
    draw: Axis,
    rng: np.random.Generator,
) -> dict[Axis, Table]:
    """Return states drawn from p(x | neighbours eliminated later), in reverse order."""
    states = dict(known)
    for bucket in reversed(buckets):
        table = _at_states(bucket, states)
        labels = (draw, *plates[bucket.node], bucket.node)
        noise = rng.gumbel(size=shape_of(labels))  # argmax is a fair draw
        drawn = np.argmax(spread(table, labels) + noise, axis=-1)
        states[bucket.node] = Table(drawn, labels[:-1])
    return states


def reduce_plates(table: Table, plates: Iterable[Axis], keep: Iterable[Axis]) -> Table:
    """Multiply the copies on plates that are not kept, present in the table or not."""
    kept = set(keep)
    gone = [plate for plate in plates if plate not in kept]
    axes = tuple(i for i, axis in enumerate(table.axes) if axis in gone)
    copies = int(np.prod([plate.size for plate in gone if plate not in table.axes]))
    values = table.values.sum(axis=axes) if axes else table.values
    if copies != 1:
        values = values * copies
    return Table(np.asarray(values), tuple(axis for axis in table.axes if axis not in gone))


def sum_to(table: Table, nodes: set[Axis], keep: Iterable[Axis]) -> Table:
    """Sum probabilities over variables that are not kept."""
    kept = set(keep)
    gone = tuple(i for i, a in enumerate(table.axes) if a in nodes and a not in kept)
    if not gone:
        return table
    axes = tuple(a for i, a in enumerate(table.axes) if i not in gone)
    return Table(np.asarray(table.values.sum(axis=gone)), axes)


def log_conditional(bucket: Bucket) -> Table:
    """Return ln p(x | given), −∞ where the given is impossible."""
    message = spread(bucket.message, bucket.table.axes)
    possible = np.where(np.isneginf(message), 0.0, message)
    return Table(bucket.table.values - possible, bucket.table.axes)


# -- steps -----------------------------------------------------------------------------------


def _bucket(step: Step, parts: Sequence[Table], maximize: bool) -> Bucket:
    shape = shape_of(step.labels)
    values = np.broadcast_to(add_tables(parts, step.labels), shape)
    rest = step.labels[1:]
    message = values.max(axis=0) if maximize else np.asarray(log_sum_exp(values, axis=0))
    return Bucket(step.node, step.given, Table(values, step.labels), Table(message, rest))


def _require_possible(bucket: Bucket, variables: Container[str]) -> None:
    """Refuse data under which no state is possible, whatever the neighbours' states are."""
    message = bucket.message
    states = tuple(i for i, axis in enumerate(message.axes) if axis in bucket.given)
    dead = np.all(np.isneginf(message.values), axis=states)
    if np.any(dead):
        plates = [axis for axis in message.axes if axis not in bucket.given]
        raise ValueError(
            f"the data have probability 0: no state of {bucket.node.name} is possible"
            f"{locate(plates, np.argwhere(dead)[0], variables)}"
        )


def _conditional(bucket: Bucket) -> Table:
    """Return p(x | given), 0 where the given is impossible."""
    return Table(np.exp(log_conditional(bucket).values), bucket.table.axes)


def multiply_beliefs(a: Table, b: Table) -> Table:
    """Return the product of probabilities."""
    labels = tuple(dict.fromkeys(a.axes + b.axes))
    return Table(spread(a, labels) * spread(b, labels), labels)


def _at_states(bucket: Bucket, states: Mapping[Axis, Table]) -> Table:
    table = bucket.table
    for other in bucket.given:
        table = gather(table, other, states[other])
    return table


class _Scopes:
    """Labels of the tables at hand, and the log size of what each elimination would write down."""

    def __init__(self, plates: Plates) -> None:
        self.scopes: dict[int, Sequence[Axis]] = {}
        self.holders: dict[Axis, set[int]] = {node: set() for node in plates}
        self.counts: dict[Axis, dict[Axis, int]] = {node: {} for node in plates}
        self.cost = {node: math.log(node.size) for node in plates}

    def add(self, i: int, scope: Sequence[Axis]) -> None:
        self.scopes[i] = scope
        for node in scope:
            if node in self.holders:
                self.holders[node].add(i)
                self._count(node, scope, 1)

    def remove(self, i: int) -> None:
        scope = self.scopes.pop(i)
        for node in scope:
            if node in self.holders:
                self.holders[node].discard(i)
                self._count(node, scope, -1)

    def _count(self, node: Axis, scope: Sequence[Axis], change: int) -> None:
        counts = self.counts[node]
        for axis in scope:
            before = counts.get(axis, 0)
            counts[axis] = before + change
            if axis is not node and 0 in (before, before + change):
                self.cost[node] += change * math.log(axis.size or 1)

    def labels(self, node: Axis) -> tuple[Axis, ...]:
        """Return the labels of the product of all that holds a variable, its own first."""
        held = (a for i in sorted(self.holders[node]) for a in self.scopes[i])
        return tuple(dict.fromkeys((node, *held)))


def _cells(labels: Iterable[Axis]) -> float:
    return math.prod(float(axis.size) for axis in labels)


def _require_memory(node: Axis, given: tuple[Axis, ...], labels: tuple[Axis, ...]) -> None:
    cells = _cells(labels)
    if cells > MOST_CELLS:
        names = ", ".join(axis.name for axis in (*given, node))
        raise MemoryError(
            f"exact inference needs a joint table of {cells:.3g} cells over {names}; "
            "observe some of them, or use fewer states"
        )
