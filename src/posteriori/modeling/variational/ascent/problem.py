r"""A model as monomials and nodes: expectations, messages and the bound.

With q a product of the beliefs of all nodes, the bound on the log evidence is

.. math:: L = \sum_i E_q[\text{monomial}_i] + \sum_{\text{nodes}} H[q],

and the message to a node is the expectation of every monomial that touches it, without the node.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table, count_of, labels_of, spread
from posteriori.modeling.binding.products import Contraction, Product, axes_of, contract_tables
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.modeling.variational.nodes.node import Message, Node
from posteriori.numerics.types import Array

__all__ = ["Entry", "Problem", "Snapshot", "merge_monomials", "restore"]


#: Numbers of a product of known tables that is worth keeping: x xᵀ of some thousand rows.
MOST = 2**18

#: Beliefs of nodes at one moment.
Snapshot = list[tuple[Node, dict[str, Any]]]


class Entry(NamedTuple):
    """A monomial, whose accesses are sorted by the node that answers for them."""

    monomial: Monomial
    parts: tuple[tuple[Node, tuple[Any, ...]], ...]
    axes: frozenset[Axis]

    def part(self, node: Node) -> tuple[Any, ...]:
        return next((accesses for owner, accesses in self.parts if owner is node), ())

    def without(self, nodes: Sequence[Node], restart: Axis) -> Entry:
        """Return the entry with some nodes summed out, its table to be filled in."""
        parts = tuple(part for part in self.parts if not _among(part[0], nodes))
        if len(parts) == len(self.parts):
            return self
        accesses = tuple(a for _, part in parts for a in part)
        axes = _labels(accesses)
        table = Table(np.zeros(()), (restart, *axes))
        return Entry(Monomial(self.monomial.source, (table,), accesses), parts, axes)


class Recipe(NamedTuple):
    """How an expectation is evaluated.

    Attributes
    ----------
    contract : Contraction
        To the labels of the answer, over those that the nodes do not sum themselves.
    ask : tuple of callables
        Each returns the answer of one node: a sum of products of tables.
    """

    contract: Contraction
    ask: tuple[Callable[[], Expectation], ...]


class Problem:
    """Monomials and the nodes that believe in their variables.

    Parameters
    ----------
    monomials : iterable of Monomial
    nodes : sequence of Node
        In the order of their updates.
    local : sequence of Node
        Those of the nodes that lie on the plate of the data: they are updated first, and summed out
        of all monomials once for the updates of the others.
    restart : Axis
    most : int
        Numbers that a product of known tables may have to be kept.

    Attributes
    ----------
    shared : tuple of Node
        Those that are not local.
    streamed : Node or None
        The local node, where its belief is found part by part.
    """

    def __init__(
        self,
        monomials: Iterable[Monomial],
        nodes: Sequence[Node],
        local: Sequence[Node],
        restart: Axis,
        most: int = MOST,
    ) -> None:
        self.nodes: tuple[Node, ...] = tuple(nodes)
        self.local: tuple[Node, ...] = tuple(local)
        self.shared = tuple(n for n in nodes if not _among(n, local))
        self.restart = restart
        self.streamed: Node | None = None
        self.owner = {name: node for node in nodes for name in node.names}
        merged, self.constants = merge_monomials(monomials)
        self.entries = [self._entry(_multiplied(m, most)) for m in merged]
        self.reduced: dict[int, Monomial] = {}
        self._touch = {id(n): self._plan_messages(n) for n in nodes}
        self._reductions = self._plan_reductions()
        self._energies: dict[int, Recipe] = {}

    def _entry(self, monomial: Monomial) -> Entry:
        parts: dict[int, tuple[Node, list[Any]]] = {}
        for access in monomial.accesses:
            node = self.owner[access.name]
            parts.setdefault(id(node), (node, []))[1].append(access)
        sorted_parts = tuple((node, tuple(found)) for node, found in parts.values())
        return Entry(monomial, sorted_parts, frozenset(axes_of(monomial)))

    # -- expectations ------------------------------------------------------------------------

    def _recipe(self, entry: Entry, skip: Sequence[Node], keep: frozenset[Axis]) -> Recipe:
        """Plan the expectation under all nodes but some, for each start and kept label."""
        known = keep.union(*(table.axes for table in entry.monomial.tables))
        over, ask = entry.axes - keep, []
        for node, accesses in entry.parts:
            if _among(node, skip):
                continue
            others = [a for other, part in entry.parts if other is not node for a in part]
            free = _labels(accesses) - known - _labels(others)
            summed = free and node.summable(accesses, free)
            if summed:
                over -= summed
                ask.append(partial(node.expect_sum, accesses, summed))
            else:
                ask.append(partial(node.expect, accesses))
        return Recipe(Contraction(keep, over), tuple(ask))

    def expectation(self, tables: Sequence[Table], recipe: Recipe) -> Table:
        """Return the expectation of tables times statistics."""
        total: Table | None = None
        for choice in itertools.product(*[ask() for ask in recipe.ask]):
            part = recipe.contract((*tables, *itertools.chain.from_iterable(choice)))
            total = part if total is None else _sum(total, part)
        assert total is not None
        return total

    def coefficient(
        self, product: Product, node: Node, keep: frozenset[Axis], rows: Iterable[Axis]
    ) -> Table:
        """Return the expectation of a product under all nodes but one, summed over other rows."""
        entry = self._entry(Monomial(0, *product))
        entry = entry._replace(axes=entry.axes.union(rows))
        return self.expectation(product.tables, self._recipe(entry, (node,), keep))

    def messages(self, node: Node, sources: set[int] | None = None) -> Iterator[Message]:
        """Yield the node's accesses and their coefficient in the expected log joint density."""
        local = _among(node, self.local)
        for i, accesses, recipe in self._touch[id(node)]:
            if sources is None or self.entries[i].monomial.source in sources:
                if local or i not in self._reductions:
                    tables = self._tables(i)
                else:  # of the last reduction; before the first one, of the present beliefs
                    tables = (self.reduced.get(i) or self._reduced(i)).tables
                if recipe.ask or local:
                    yield accesses, self.expectation(tables, recipe)
                else:
                    yield accesses, recipe.contract.again(tables)

    def update(self, node: Node, sources: set[int] | None = None) -> None:
        """Let a node take all its messages, or those of some factors."""
        node.update(self.messages(node, sources))

    def _tables(self, i: int) -> tuple[Table, ...]:
        return self.entries[i].monomial.tables

    def _plan_messages(self, node: Node) -> list[tuple[int, tuple[Any, ...], Recipe]]:
        """Return the entries that touch a node and its accesses, local nodes being summed out."""
        found = []
        summed = () if _among(node, self.local) else self.local
        for i, entry in enumerate(self.entries):
            accesses = entry.part(node)
            if accesses:
                keep = _labels(accesses) | {self.restart}
                rest = entry.without(summed, self.restart)
                found.append((i, accesses, self._recipe(rest, (node,), keep)))
        return found

    def reduce(self) -> None:
        """Sum the local nodes out of all monomials."""
        for i in self._reductions:
            self.reduced[i] = self._reduced(i)

    def _reduced(self, i: int) -> Monomial:
        rest, recipe = self._reductions[i]
        table = self.expectation(self.entries[i].monomial.tables, recipe)
        return Monomial(rest.monomial.source, (table,), rest.monomial.accesses)

    def _plan_reductions(self) -> dict[int, tuple[Entry, Recipe]]:
        """Return the entries that touch local nodes, and what remains of them."""
        found = {}
        for i, entry in enumerate(self.entries):
            if any(entry.part(node) for node in self.local):
                rest = entry.without(self.local, self.restart)
                keep = _labels(rest.monomial.accesses) | {self.restart}
                found[i] = rest, self._recipe(entry, [n for n, _ in rest.parts], keep)
        return found

    def energy(self, i: int) -> Array:
        """Return E[monomial] for each start."""
        return np.broadcast_to(self._energy(i), (self.restart.size,))

    def _energy(self, i: int) -> Array:
        if i not in self._energies:
            self._energies[i] = self._recipe(self.entries[i], (), frozenset((self.restart,)))
        return self.expectation(self._tables(i), self._energies[i]).values

    def energies(self) -> dict[int, Array]:
        """Return the expected log density of each factor, for each start."""
        found = {i: np.full(self.restart.size, value) for i, value in self.constants.items()}
        for i, entry in enumerate(self.entries):
            source = entry.monomial.source
            found[source] = found.get(source, 0.0) + self.energy(i)
        return found

    def bound(self, last: Node) -> Array:
        """Return the bound for each start, given the node that was updated last.

        Its log normaliser is its entropy and the energy of all monomials that touch it.
        """
        near = {i for i, _, _ in self._touch[id(last)]}
        total = np.asarray(sum(self.constants.values()))
        for i in range(len(self.entries)):
            if i not in near:
                total = total + self._energy(i)
        for node in self.nodes:
            total = total + (last.log_total() if node is last else node.entropy())
        return total

    def slow_bound(self) -> Array:
        """Return the bound for each start from energies and entropies alone."""
        energy = sum(self.energies().values(), np.zeros(self.restart.size))
        return energy + sum(node.entropy() for node in self.nodes)

    def select(self, start: int) -> None:
        """Keep one start."""
        for node in self.nodes:
            node.select(start)
        self.restart.size = 1

    def snapshot(self) -> Snapshot:
        """Return the beliefs of all nodes, to come back to."""
        return [(node, node.state()) for node in self.nodes]


def restore(kept: Snapshot) -> None:
    """Go back to earlier beliefs."""
    for node, state in kept:
        node.set_state(state)


def _labels(accesses: Iterable[Any]) -> frozenset[Axis]:
    return frozenset(labels_of(*accesses))


def _among(node: Node, nodes: Sequence[Node]) -> bool:
    return any(node is other for other in nodes)


def merge_monomials(monomials: Iterable[Monomial]) -> tuple[list[Monomial], dict[int, float]]:
    """Sum tables over what no unknown sees, once and for all; return constants apart.

    Numbers are multiplied into the smallest table.
    """
    constants: dict[int, float] = {}
    found = []
    for source, tables, accesses in monomials:
        if not accesses:
            value = float(contract_tables(tables, ()).values)
            constants[source] = constants.get(source, 0.0) + value
            continue
        seen = _labels(accesses)
        if any(axis not in seen for table in tables for axis in table.axes):
            tables = (contract_tables(tables, seen),)
        found.append(Monomial(source, _with_numbers(tables), accesses))
    return found, constants


def _multiplied(monomial: Monomial, most: int) -> Monomial:
    """Multiply known tables once, where the product is not large."""
    tables = monomial.tables
    labels = frozenset[Axis]().union(*(table.axes for table in tables))
    if len(tables) < 2 or count_of(labels) > most:
        return monomial
    return monomial._replace(tables=(contract_tables(tables, labels),))


def _with_numbers(tables: Sequence[Table]) -> tuple[Table, ...]:
    """Multiply numbers into the smallest table."""
    number = math.prod(float(t.values) for t in tables if not t.axes)
    rest = sorted((t for t in tables if t.axes), key=lambda t: t.values.size)
    if number == 1.0:
        return tuple(rest)
    if not rest:
        return (Table(np.asarray(number), ()),)
    return (Table(number * rest[0].values, rest[0].axes), *rest[1:])


def _sum(a: Table, b: Table) -> Table:
    labels = tuple(dict.fromkeys(a.axes + b.axes))
    return Table(spread(a, labels) + spread(b, labels), labels)
