"""A local node whose belief is found part by part, and the problem that sees only its sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.beliefs.group_beliefs import GroupBelief
from posteriori.modeling.binding.labelled import Axis, Table, labels_of
from posteriori.modeling.binding.products import contract_tables
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.ascent.problem import Entry, Problem, Snapshot, restore
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.modeling.variational.nodes.discrete_node import map_states
from posteriori.modeling.variational.nodes.node import Node
from posteriori.modeling.variational.stream.plate_sums import Sums, add_sums, turn
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.variational.stream.streaming import Part, Stream

__all__ = ["StreamedNode", "StreamedProblem"]


class StreamedNode(Node):
    """A local node whose belief is found part by part.

    Parameters
    ----------
    stream : Stream
    parts : sequence of (Part, rows)
        Parts of one size are the same: the belief about their rows is not kept.
    shared : sequence of Node
        Those of the shared variables.
    restart : Axis
    """

    can_turn = True

    def __init__(
        self,
        stream: Stream,
        parts: Sequence[tuple[Part, Any]],
        shared: Sequence[Node],
        restart: Axis,
    ) -> None:
        self.stream, self.restart = stream, restart
        self.names = stream.group
        self._like = parts[0][0].node
        self.kind, self.form = self._like.kind, self._like.form
        self.sums: Sums = {}
        self._parts, self._shared = tuple(parts), tuple(shared)
        self._priors: set[int] | None = None
        self._starts: dict[str, Array] = {}
        self._log_total = np.zeros(restart.size)
        self._entropy: Array | None = None
        self._whole: Node | None = None
        self._seen: Snapshot = []
        self._turns: tuple[tuple[str, int, Array], ...] = ()

    # -- update ------------------------------------------------------------------------------

    def pass_over(self, sources: set[int] | None = None) -> None:
        """Update all parts, whose own problems make the messages of all factors, or of some."""
        if sources is not None:
            self._priors = sources
        self._starts = {}
        self._pass_over(sources)

    def read_start(self, name: str, numbers: Array, shape: tuple[int, ...]) -> Array:
        return self._like.read_start(name, numbers, shape)

    def set_centre(self, name: str, values: Array) -> None:
        self._starts = {**self._starts, name: values}
        self._pass_over(self._priors)

    def estimate(self, part: Part, rows: Any, weight: float) -> None:
        """Take a multiple of what some rows say for what all rows say."""
        sums = part.solve(rows, None)
        sums = {key: Table(weight * t.values, t.axes) for key, t in sums.items()}
        self._take(sums, weight * part.node.log_total())

    def forget(self) -> None:
        """Leave everything to the next pass."""
        self.sums, self._whole, self._turns = {}, None, ()

    def _pass_over(self, sources: set[int] | None) -> None:
        sums: Sums = {}
        log_total, entropy = np.zeros(self.restart.size), np.zeros(self.restart.size)
        turned, first = self.stream.turns is not None, 0
        for part, rows in self._parts:
            last = first + part.label.size
            starts = {name: values[:, first:last] for name, values in self._starts.items()}
            sums = add_sums(sums, part.solve(rows, sources, starts))
            log_total = log_total + part.node.log_total()
            entropy = entropy + (part.node.entropy() if turned else 0.0)
            first = last
        self._take(sums, log_total, entropy if turned else None)

    def _take(self, sums: Sums, log_total: Array, entropy: Array | None = None) -> None:
        self.sums, self._log_total, self._entropy = sums, log_total, entropy
        self._whole, self._turns = None, ()
        self._seen = self._shared_beliefs()

    def select(self, start: int) -> None:
        """Keep one start."""
        self.sums = {key: self._selected(table, start) for key, table in self.sums.items()}
        self._log_total = self._log_total[start : start + 1]
        if self._entropy is not None:
            self._entropy = self._entropy[start : start + 1]
        self._seen, self._starts = [], {}  # those of the shared nodes have several starts

    def _selected(self, table: Table, start: int) -> Table:
        if self.restart not in table.axes:
            return table
        where = (slice(None),) * table.axes.index(self.restart) + (slice(start, start + 1),)
        return Table(table.values[where], table.axes)

    # -- what the sums say -------------------------------------------------------------------

    def log_total(self) -> Array:
        """Log normaliser for each start."""
        return self._log_total

    def entropy(self) -> Array:
        """Entropy for each start."""
        if self._entropy is None:  # of vectors that are never turned it is seldom asked for
            self._entropy = self.whole().entropy()
        return self._entropy

    def second_moment(self, name: str, axis: int) -> Array:
        """Return the sum of E[v vᵀ] over all vectors along an axis, (starts, K, K)."""
        turns = self.stream.turns
        assert turns is not None
        first, second = turns.labels[name, 0], turns.labels[name, 1]
        table = self.sums[turns.second(name).key]
        same = {b: a for i, (a, b) in enumerate(zip(first, second, strict=True)) if i != axis - 1}
        equal = [Table(np.eye(a.size), (a, b)) for b, a in same.items()]
        labels = (self.restart, first[axis - 1], second[axis - 1])
        found = contract_tables((table, *equal), labels)
        return np.transpose(found.values, [found.axes.index(a) for a in labels])

    def transform(self, name: str, axis: int, matrix: Array) -> None:
        """Multiply all vectors along an axis by a matrix (starts, K, K)."""
        turns = self.stream.turns
        assert turns is not None
        labels = [turns.labels[name, order][axis - 1] for order in (0, 1)]
        self.sums = turn(self.sums, labels, matrix, self.restart)
        sizes = self.stream.layouts[name].shape
        count = math.prod(n for i, n in enumerate(sizes) if i != axis)
        self._entropy = self.entropy() + count * np.linalg.slogdet(matrix)[1]
        self._turns = (*self._turns, (name, axis, matrix))
        self._whole = None

    def overlaps(self, name: str) -> Array:
        """Return Σ q(a) q(b) over all rows of a discrete variable, (K, K)."""
        total: Array = np.zeros(())
        for part, rows in self._parts:
            part.solve(rows, None)
            total = total + part.node.overlaps(name)
        return total

    def map_states(self, name: str, matrix: Array) -> None:
        """Let the rows of the states of a discrete variable be those of others, in all sums."""
        sums = dict(self.sums)
        for term in self.stream.terms:
            states = [a.state for a in term.sum.accesses if a.name == name]
            sums[term.sum.key] = map_states(sums[term.sum.key], states, matrix)
        self.sums = sums

    # -- all rows ----------------------------------------------------------------------------

    def whole(self) -> Node:
        """Return a node with the belief about all rows, as it was in the last pass and turned since."""
        if self._whole is None:
            now = self._shared_beliefs()
            restore(self._seen)
            try:
                self._whole = self.stream.whole_node(self._shared, self.restart)
            finally:
                restore(now)
            for turned in self._turns:
                self._whole.transform(*turned)
        return self._whole

    def summable(self, accesses: Sequence[Any], free: frozenset[Axis]) -> frozenset[Axis]:
        """Return those of some labels that the belief about all rows can sum over."""
        return self._like.summable(accesses, free)

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        return self.whole().expect(accesses)

    def expect_sum(self, accesses: Sequence[Any], summed: frozenset[Axis]) -> Expectation:
        return self.whole().expect_sum(accesses, summed)

    def covariance(self, a: Any, b: Any) -> Expectation:
        return self.whole().covariance(a, b)

    def centre(self, name: str) -> Array | None:
        return self.whole().centre(name)

    def marginal(self, name: str) -> Any:
        return self.whole().marginal(name)

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Any]:
        return self.whole().draw(size, rng)

    def log_prob(self, draws: Mapping[str, Any]) -> Array:
        return self.whole().log_prob(draws)

    def highest(self) -> dict[str, Any]:
        return self.whole().highest()

    def joint_moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        return self.whole().joint_moments(names)

    def carried_over(self, names: tuple[str, ...]) -> list[GroupBelief]:
        return self.whole().carried_over(names)

    def describe(self) -> str:
        """Say how large the belief is, and that it comes in parts."""
        whole = self.stream.node(self.stream.plate, self.restart)
        return f"{whole.describe()}, in {len(self._parts)} parts"

    def _shared_beliefs(self) -> Snapshot:
        return [(node, node.state()) for node in self._shared]


class StreamedProblem(Problem):
    """A problem whose one local node is streamed: shared nodes see the sums of all parts.

    Parameters
    ----------
    apart : iterable of Monomial
        What touches shared variables only.
    local : StreamedNode
    """

    def __init__(self, apart: Iterable[Monomial], local: StreamedNode) -> None:
        self._terms = sorted(local.stream.terms, key=lambda term: not term.shared)
        rests = [
            Monomial(t.monomial.source, (_unknown(t.shared),), t.shared)
            for t in self._terms
            if t.shared
        ]
        super().__init__([*apart, *rests], local._shared, (), local.restart)
        self._first = len(self.entries) - len(rests)
        self.entries += [
            Entry(Monomial(t.monomial.source, (), ()), (), frozenset())
            for t in self._terms
            if not t.shared
        ]
        self.nodes, self.local = (*self.nodes, local), (local,)
        self.streamed: StreamedNode = local
        self.owner |= dict.fromkeys(local.names, local)
        self._touch[id(local)] = [
            (i, (), self._recipe(self.entries[i], self.shared, frozenset()))
            for i in range(self._first, len(self.entries))
        ]
        self._of: Sums | None = None
        self._rests: list[Table] = []
        self.estimates: dict[int, tuple[Table, ...]] = {}

    def update(self, node: Node, sources: set[int] | None = None) -> None:
        """Let a node take its messages; the parts of the streamed one make them themselves."""
        if node is self.streamed:
            self.streamed.pass_over(sources)
        else:
            super().update(node, sources)

    def reduce(self) -> None:
        """Pass over the rows unless their sums are known."""
        if not self.streamed.sums:
            self.streamed.pass_over()

    def _tables(self, i: int) -> tuple[Table, ...]:
        """Return known tables, or what the sums of the last pass leave of a monomial."""
        if i < self._first:
            return self.estimates.get(i) or super()._tables(i)
        self.reduce()
        sums = self.streamed.sums
        if self._of is not sums:
            self._of = sums
            self._rests = [t.rest(sums[t.sum.key], self.restart) for t in self._terms]
        return (self._rests[i - self._first],)


def _unknown(accesses: Iterable[Any]) -> Table:
    """Return a table to be filled in, with all labels that it may have."""
    return Table(np.zeros(()), tuple(labels_of(*accesses)))
