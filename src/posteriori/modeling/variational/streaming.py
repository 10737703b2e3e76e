"""Local beliefs found part by part: a pass over the rows of the data keeps sums only.

Rows that meet only through shared variables can be looked at in any number of parts. For each part
the local belief is found and summed out of the log density; the sums of all parts are what the
shared variables need. The belief about all rows is found when somebody asks for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.tables import Axis, Table, labels_of
from posteriori.modeling.variational.contraction import add_tables, contract_tables
from posteriori.modeling.variational.merging import merge_states
from posteriori.modeling.variational.monomials import Monomial, axes_of, with_labels
from posteriori.modeling.variational.problem import Problem, merge_monomials
from posteriori.modeling.variational.rotation import find_pairs
from posteriori.numerics.types import Array, IntArray

__all__ = ["Stream", "StreamedNode", "StreamedProblem", "find_stream", "update_part"]

#: Numbers in the largest table of a part.
PART = 2**18

#: Rows in a part, at least.
FEWEST_ROWS = 2048

#: Rows are looked at in parts when there would be this many.
FEWEST_PARTS = 4

#: Rows that starts are tried on.
SAMPLE = 10_000


def find_stream(block: Any) -> Stream | None:
    """Return how to look at the rows of a block in parts, where that is possible and of use.

    It is possible where one group of variables lies on the largest plate and its rows meet only
    through shared variables; of use where the rows are many, or wanted in batches. Where no
    variable lies on a plate, the rows are summed up once before the ascent, in any case.
    """
    plate, batch = block.plate, block.options.batch_size
    if plate is not None:
        block.options.require_rows(plate.name, plate.size)
    local = [group for group in block.groups if block._is_local(group)]
    if not local:
        return None
    touching = [m for m in block.monomials if _touches(m, local[0])]
    if len(local) > 1 or not _can_stream(block, local[0], touching):
        if batch is None:
            return None
        names = ", ".join(name for group in local for name in group)
        raise ValueError(
            f"batch_size={batch} needs rows that meet only through variables shared by all of "
            f"them, which those of {names} do not; leave batch_size out"
        )
    size = max(PART // max(_width(m, plate) for m in touching), FEWEST_ROWS)
    if batch is None and plate.size < FEWEST_PARTS * size:
        return None
    return Stream(block, local[0], size)


def _can_stream(block: Any, group: Sequence[str], touching: Sequence[Monomial]) -> bool:
    bound, options = block.bound, block.options
    given = options.form.keys() | options.init.keys() | bound.evidence.keys()
    return (
        given.isdisjoint(group)
        and all(bound.layouts[name].axes[0] is block.plate for name in group)
        and all(_is_of_rows(m, block.plate, group) for m in touching)
        and not find_pairs(block.factors, bound)  # rotations need all rows at once
    )


def _touches(monomial: Monomial, names: Sequence[str]) -> bool:
    return any(access.name in names for access in monomial.accesses)


def _is_of_rows(monomial: Monomial, plate: Axis, names: Sequence[str]) -> bool:
    """Tell whether variables on a plate, and only they, see it, each at its own row."""
    for access in monomial.accesses:
        own = access.name in names
        if own != (plate in labels_of(access)) or own != (access.places[:1] == (plate,)):
            return False
    return True


def _width(monomial: Monomial, plate: Axis) -> int:
    """Return how many numbers for each row products have: one label at least is summed early."""
    sizes = [axis.size for axis in axes_of(monomial) if axis is not plate and axis.size > 1]
    return math.prod(sizes) // min(sizes) if len(sizes) > 1 else 1


class Stream:
    """Rows of the data in parts.

    Parameters
    ----------
    block : VariationalBlock
    group : tuple of str
        The variables on the plate of the rows.
    size : int
        Rows in a part.
    """

    def __init__(self, block: Any, group: tuple[str, ...], size: int) -> None:
        self.block = block
        self.group = group
        self.size = size
        self.plate: Axis = block.plate

    def trial(self, problem: Problem, rng: np.random.Generator) -> tuple[Problem, IntArray]:
        """Return the problem of some rows only, with its shared nodes, and these rows."""
        count = self.plate.size
        rows = np.arange(count)
        if count > SAMPLE:
            rows = np.sort(rng.choice(count, SAMPLE, replace=False))
        part = Axis(self.plate.name, len(rows))
        found = self.at(problem, rows, self.node(part, problem.restart), part)
        apart = [m for m in self.block.monomials if not _touches(m, self.group)]
        monomials = [*apart, *(entry.monomial for entry in found.entries)]
        return Problem(monomials, found.nodes, found.local, problem.restart), rows

    def whole(self, problem: Problem) -> StreamedProblem:
        """Return the problem of all rows, in parts of about equal size."""
        (node,) = problem.local
        count = math.ceil(self.plate.size / self.size)
        edges = np.linspace(0, self.plate.size, count + 1).astype(int).tolist()
        labels: dict[int, Axis] = {}
        nodes: dict[int, Any] = {}  # parts of one size share a node: its belief is not kept
        parts = []
        for start, stop in itertools.pairwise(edges):
            label = labels.setdefault(stop - start, Axis(self.plate.name, stop - start))
            if stop - start not in nodes:
                nodes[stop - start] = self.node(label, problem.restart)
            parts.append(self.at(problem, slice(start, stop), nodes[stop - start], label))
        streamed = StreamedNode(node, parts)
        return StreamedProblem(self.block.monomials, problem.shared, streamed, problem.restart)

    def node(self, part: Axis, restart: Axis) -> Any:
        """Return a local node for a part of the rows."""
        bound = self.block.bound
        layouts = dict(bound.layouts)
        for name in self.group:
            plates = tuple(part if a is self.plate else a for a in layouts[name].plates)
            layouts[name] = layouts[name]._replace(plates=plates)
        first = slice(0, part.size)
        monomials = self._cut(part, first)
        return self.block._node(self.group, restart, bound._replace(layouts=layouts), monomials)

    def at(self, problem: Problem, rows: Any, node: Any, part: Axis) -> Problem:
        """Return the problem of some rows: what touches them, with the shared nodes."""
        nodes = [node if n.names == self.group else n for n in problem.nodes]
        return Problem(self._cut(part, rows), nodes, [node], problem.restart, most=0)

    def refill(self, problem: Problem, part: Axis, rows: Any) -> None:
        """Let the problem of some rows be that of as many others."""
        merged, _ = merge_monomials(self._cut(part, rows))
        problem.entries = [
            entry._replace(monomial=m) for entry, m in zip(problem.entries, merged, strict=True)
        ]

    def estimates(self, part: Axis, rows: Any) -> dict[int, tuple[Table, ...]]:
        """Return what known numbers of all rows add up to, estimated from some of them.

        Of entries of the whole problem that touch no local node. Terms of one factor must come
        from the same rows: Σ y² of all less twice Σ y m of some might be negative.
        """
        weight = Table(np.asarray(self.plate.size / part.size), ())
        found: dict[int, tuple[Table, ...]] = {}
        for i, monomial in enumerate(m for m in self.block.monomials if m.accesses):
            if not _touches(monomial, self.group) and self.plate in axes_of(monomial):
                labels = frozenset[Axis]().union(*(labels_of(a) for a in monomial.accesses))
                tables = [weight, *(self._cut_table(t, part, rows) for t in monomial.tables)]
                found[i] = (contract_tables(tables, labels),)
        return found

    def _cut(self, part: Axis, rows: Any) -> list[Monomial]:
        """Return what touches the rows, at some of them only."""
        return [
            Monomial(
                m.source,
                tuple(self._cut_table(t, part, rows) for t in m.tables),
                with_labels(m, {self.plate: part}).accesses,
            )
            for m in self.block.monomials
            if _touches(m, self.group)
        ]

    def _cut_table(self, table: Table, part: Axis, rows: Any) -> Table:
        plate = self.plate
        if plate not in table.axes:
            return table
        where = (slice(None),) * table.axes.index(plate) + (rows,)
        return Table(table.values[where], tuple(part if a is plate else a for a in table.axes))


class StreamedNode:
    """A local node whose belief is found part by part.

    Parameters
    ----------
    node
        Takes the belief about all rows when it is asked for.
    parts : sequence of Problem
        Each with one local node of its own.
    """

    def __init__(self, node: Any, parts: Sequence[Problem]) -> None:
        self.node = node
        self.names, self.kind, self.restart = node.names, node.kind, node.restart
        self.messages: Callable[[], Iterable[Any]] = tuple
        self.sums: dict[int, Monomial] = {}
        self._parts = tuple(parts)
        self._log_total: Array = np.zeros(node.restart.size)
        self._is_whole = False

    def update(self, messages: Iterable[Any]) -> None:
        """Pass over all parts; their own problems make the messages."""
        del messages
        total: Array = np.zeros(self.restart.size)
        sums: dict[int, Monomial] = {}
        for part in self._parts:
            total = total + update_part(part)
            sums = {i: _plus(sums.get(i), more) for i, more in part.reduced.items()}
        self.sums, self._log_total, self._is_whole = sums, total, False

    def forget(self, log_total: Array) -> None:
        """Leave the beliefs about rows to the next pass; take an estimate of the normaliser."""
        self.sums, self._log_total, self._is_whole = {}, log_total, False

    def log_total(self) -> Array:
        """Log normaliser for each start."""
        return self._log_total

    def summable(self, accesses: Sequence[Any], free: frozenset[Axis]) -> frozenset[Axis]:
        """Return those of some labels that the belief about all rows can sum over."""
        return self.node.summable(accesses, free) if hasattr(self.node, "summable") else frozenset()

    def expect(self, accesses: Sequence[Any]) -> list[tuple[Table, ...]]:
        """Return expectations under the belief about all rows."""
        return self.whole().expect(accesses)

    def expect_sum(
        self, accesses: Sequence[Any], summed: frozenset[Axis]
    ) -> list[tuple[Table, ...]]:
        """Return summed expectations under the belief about all rows."""
        return self.whole().expect_sum(accesses, summed)

    def overlaps(self, name: str) -> Array:
        """Return Σ q(a) q(b) over all rows of a discrete variable, (K, K)."""
        total: Array = np.zeros(())
        for part in self._parts:
            update_part(part)
            total = total + part.local[0].overlaps(name)
        return total

    def merge(self, name: str, source: int, target: int) -> None:
        """Let a state of a discrete variable have the rows of another one, in all sums."""
        entries = self._parts[0].entries
        for i, monomial in self.sums.items():
            switches = (a for a in entries[i].monomial.accesses if a.name == name)
            states = [a.state for a in switches]
            (table,) = monomial.tables
            merged = merge_states(table, states, source, target)
            self.sums = {**self.sums, i: monomial._replace(tables=(merged,))}

    def describe(self) -> str:
        """Say how large the belief is, and that it comes in parts."""
        return f"{self.node.describe()}, in {len(self._parts)} parts"

    def whole(self) -> Any:
        """Return the node with the belief about all rows."""
        if not self._is_whole:
            self.node.update(self.messages())
            self._is_whole = True
        return self.node

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in ("node", "_is_whole"):
            raise AttributeError(name)
        return getattr(self.whole(), name)


class StreamedProblem(Problem):
    """A problem whose one local node is streamed: shared nodes see the sums of all parts."""

    def __init__(
        self,
        monomials: Iterable[Monomial],
        shared: Sequence[Any],
        local: StreamedNode,
        restart: Axis,
    ) -> None:
        super().__init__(monomials, (*shared, local), (local,), restart)
        self.estimates: dict[int, tuple[Table, ...]] = {}
        local.messages = lambda: self.messages(local)

    def reduce(self) -> None:
        """Take the sums of the last pass over the rows."""
        (node,) = self.local
        if not node.sums:
            node.update(())
        self.take(node.sums)

    def _tables(self, i: int) -> tuple[Table, ...]:
        return self.estimates.get(i) or super()._tables(i)

    def take(self, sums: Mapping[int, Monomial], weight: float = 1.0) -> None:
        """Let shared nodes see what was summed over parts, times a weight."""
        for i, monomial in zip(self._reductions, sums.values(), strict=True):
            (table,) = monomial.tables
            self.reduced[i] = monomial._replace(tables=(Table(weight * table.values, table.axes),))


def update_part(part: Problem) -> Array:
    """Find the local belief of a part and sum it out; return its log normaliser."""
    (local,) = part.local
    local.update(part.messages(local))
    part.reduce()
    total: Array = local.log_total()
    return total


def _plus(a: Monomial | None, b: Monomial) -> Monomial:
    if a is None:
        return b
    (first,), (second,) = a.tables, b.tables
    labels = tuple(dict.fromkeys(first.axes + second.axes))
    return a._replace(tables=(Table(add_tables([first, second], labels), labels),))
