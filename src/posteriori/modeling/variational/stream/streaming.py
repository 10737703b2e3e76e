"""Local beliefs found part by part: a pass over the rows of the data keeps sums only.

Rows that meet only through shared variables can be looked at in any number of parts. For each part
the local belief is found and summed out of the log density; the sums of all parts are what the
shared variables need. The belief about all rows is found when somebody asks for it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import GAUSSIAN
from posteriori.modeling.binding.labelled import Access, Axis, Lookup, Table, count_of, labels_of
from posteriori.modeling.binding.products import Product, axes_of, contract_tables, with_labels
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.modeling.variational.ascent.problem import Problem, Recipe, merge_monomials
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.modeling.variational.nodes.node import Node
from posteriori.modeling.variational.nodes.normal_node import time_of
from posteriori.modeling.variational.stream.plate_sums import (
    Codes,
    PlateSum,
    RowTerm,
    Sums,
    Turns,
    find_terms,
)
from posteriori.modeling.variational.stream.streamed_node import StreamedNode, StreamedProblem
from posteriori.numerics.types import Array, IntArray

__all__ = ["Part", "Stream", "find_stream"]

#: Numbers in the largest table of a part: at least, at most, and as a part of the data.
SMALLEST, LARGEST, SHARE = 2**17, 2**18, 0.5

#: Rows in a part, at least.
FEWEST_ROWS = 64

#: Rows are looked at in parts when their largest table would have this many numbers, or their
#: covariances, of which several tables are made.
MANY, MANY_COVARIANCES = 2**20, 2**17

#: Rows that starts are tried on.
SAMPLE = 10_000

#: Members that rows may name for their names to be written as tables of 0 and 1.
MOST_MEMBERS = 64


def find_stream(approximation: Approximation, starts: int) -> Stream | None:
    """Return how to look at the rows of a model in parts, where that is possible and of use.

    It is possible where one group of variables lies on the largest plate and its rows meet only
    through shared variables; of use where the rows are many, or wanted in batches. Where no
    variable lies on a plate, the rows are summed up once before the ascent, in any case.
    """
    plate, batch = approximation.structure.plate, approximation.options.batch_size
    if plate is None:
        return None
    approximation.options.require_rows(plate.name, plate.size)
    local = approximation.structure.local
    if not local:
        return None
    if len(local) > 1 or not _can_stream(approximation, local[0]):
        if batch is None:
            return None
        names = ", ".join(name for group in local for name in group)
        raise ValueError(
            f"batch_size={batch} needs rows that meet only through variables shared by all of "
            f"them, which those of {names} do not; leave batch_size out"
        )
    stream = Stream(approximation, local[0])
    many = MANY_COVARIANCES if stream.has_covariances else MANY
    if batch is None and plate.size * stream.width * starts < many:
        return None
    return stream


def _can_stream(approximation: Approximation, group: Sequence[str]) -> bool:
    bound, options = approximation.bound, approximation.options
    given = options.form.keys() | bound.evidence.keys()
    touching = [m for m in approximation.monomials if _touches(m, group)]
    started = GAUSSIAN + DISCRETE  # others begin with a belief, which is not cut into parts
    if options.init.keys() & set(group) and bound.families[group[0]] not in started:
        return False
    return (
        given.isdisjoint(group)
        and all(bound.layouts[name].axes[0] is approximation.structure.plate for name in group)
        and all(_is_of_rows(m, approximation, group) for m in touching)
        and (not _turned_names(approximation, group) or _can_turn(approximation, group, touching))
    )


def _touches(monomial: Monomial, names: Sequence[str]) -> bool:
    return any(access.name in names for access in monomial.accesses)


def _is_of_rows(monomial: Monomial, approximation: Approximation, names: Sequence[str]) -> bool:
    """Tell whether variables on a plate, and only they, see it, each at its own row.

    Shared variables may be read at few members, which each row names.
    """
    plate = approximation.structure.plate
    for access in monomial.accesses:
        axes = approximation.bound.layouts[access.name].axes
        if access.name in names:
            if access.places[:1] != (plate,) or any(plate in p.labels for p in access.places[1:]):
                return False
            continue
        for place, axis in zip(access.places, axes, strict=False):
            codes = isinstance(place, Lookup) and axis.size <= MOST_MEMBERS
            if plate in place.labels and not codes:
                return False
    return True


def _turned_names(approximation: Approximation, group: Sequence[str]) -> set[str]:
    """Return the variables of a group that an ascent turns."""
    pairs = approximation.structure.bilinears
    return {name for pair in pairs for name in (pair.scores, pair.loadings)} & set(group)


def _can_turn(
    approximation: Approximation, group: Sequence[str], touching: Sequence[Monomial]
) -> bool:
    """Tell whether sums over rows can be turned: vectors are seen whole, and follow no others."""
    layouts = approximation.bound.layouts
    chained = len(group) == 1 and time_of(group[0], layouts[group[0]], touching) is not None
    seen = [a for m in touching for a in m.accesses if a.name in group]
    return not chained and not any(isinstance(p, Lookup) for a in seen for p in a.places)


class Stream:
    """Rows of the data in parts.

    Parameters
    ----------
    approximation : Approximation
    group : tuple of str
        The variables on the plate of the rows.
    """

    def __init__(self, approximation: Approximation, group: tuple[str, ...]) -> None:
        self.approximation = approximation
        self.group = group
        assert approximation.structure.plate is not None
        self.plate = approximation.structure.plate
        self.layouts = approximation.bound.layouts
        names = _turned_names(approximation, group)
        self.turns = Turns({n: self.layouts[n].axes for n in group}) if names else None
        self.terms = find_terms(approximation.monomials, group, self.layouts, self.turns)
        seconds = [self.turns.second(name) for name in names] if self.turns else []
        self.sums = {s.key: s for s in (*(term.sum for term in self.terms), *seconds)}
        self.width = max(_width(term, self.plate) for term in self.terms)
        self.has_covariances = any(_is_matrix(term, self.plate) for term in self.terms)

    def rows_in_part(self, starts: int) -> int:
        """Return how many rows to look at together."""
        wide = [table for term in self.terms for table in _wide(term, self.plate)]
        data = {id(t[0]): count_of(t.axes) for t in wide}
        numbers = max(SHARE * sum(data.values()), SMALLEST)
        numbers = min(numbers / 2 if self.has_covariances else numbers, LARGEST)
        return max(int(numbers / (self.width * starts)), FEWEST_ROWS)

    def sample(self, rng: np.random.Generator) -> IntArray | None:
        """Return the rows that starts are tried on; None when these are all."""
        if self.plate.size <= SAMPLE:
            return None
        return np.sort(rng.choice(self.plate.size, SAMPLE, replace=False))

    def problem(
        self, shared: Sequence[Node], restart: Axis, rows: IntArray | None = None
    ) -> StreamedProblem:
        """Return the problem of all rows, or of some, in parts of about equal size."""
        size = self.plate.size if rows is None else len(rows)
        count = math.ceil(size / self.rows_in_part(restart.size))
        edges = np.linspace(0, size, count + 1).astype(int).tolist()
        parts: dict[int, Part] = {}
        found = []
        for start, stop in itertools.pairwise(edges):
            if stop - start not in parts:
                parts[stop - start] = Part(self, shared, restart, stop - start)
            where = slice(start, stop) if rows is None else rows[start:stop]
            found.append((parts[stop - start], where))
        local = StreamedNode(self, found, shared, restart)
        return StreamedProblem(self.apart(rows), local)

    def apart(self, rows: IntArray | None = None) -> list[Monomial]:
        """Return what touches shared variables only, at all rows or at some."""
        found = [m for m in self.approximation.monomials if not _touches(m, self.group)]
        if rows is None:
            return found
        part = Axis(self.plate.name, len(rows))
        return [self.cut(m, part, rows) if self.plate in axes_of(m) else m for m in found]

    def node(self, label: Axis, restart: Axis) -> Node:
        """Return a local node for as many rows as a label says."""
        bound = self.approximation.bound
        layouts = dict(bound.layouts)
        for name in self.group:
            plates = tuple(label if a is self.plate else a for a in layouts[name].plates)
            layouts[name] = layouts[name]._replace(plates=plates)
        monomials = [self._relabelled(term.monomial, label) for term in self.terms]
        return self.approximation.node(
            self.group, restart, bound._replace(layouts=layouts), monomials
        )

    def whole_node(self, shared: Sequence[Node], restart: Axis) -> Node:
        """Return a node with the belief about all rows."""
        node = self.approximation.node(self.group, restart)
        touching = [m for m in self.approximation.monomials if _touches(m, self.group)]
        problem = Problem(touching, (*shared, node), (node,), restart)
        problem.update(node)
        return node

    def estimates(self, size: int, rows: Any) -> dict[int, tuple[Table, ...]]:
        """Return what known numbers of all rows add up to, estimated from some of them.

        Of entries of the whole problem that touch no local node. Terms of one factor must come
        from the same rows: Σ y² of all less twice Σ y m of some might be negative.
        """
        label = Axis(self.plate.name, size)
        weight = Table(np.asarray(self.plate.size / size), ())
        found: dict[int, tuple[Table, ...]] = {}
        for i, monomial in enumerate(m for m in self.apart() if m.accesses):
            if self.plate in axes_of(monomial):
                labels = frozenset(labels_of(*monomial.accesses))
                tables = (weight, *self.cut(monomial, label, rows).tables)
                found[i] = (contract_tables(tables, labels),)
        return found

    def cut(self, monomial: Monomial, label: Axis, rows: Any) -> Monomial:
        """Return a monomial at some rows only."""
        tables = tuple(self.cut_table(t, label, rows) for t in monomial.tables)
        return monomial._replace(tables=tables, accesses=self._relabelled(monomial, label).accesses)

    def cut_table(self, table: Table | Codes, label: Axis, rows: Any) -> Table:
        """Return a table at some rows only."""
        if isinstance(table, Codes):
            return Codes(self.cut_table(table.positions, label, rows), table.member).table()
        plate = self.plate
        if plate not in table.axes:
            return table
        where = (slice(None),) * table.axes.index(plate) + (rows,)
        return Table(table.values[where], tuple(label if a is plate else a for a in table.axes))

    def _relabelled(self, monomial: Monomial, label: Axis) -> Monomial:
        moved = with_labels(Product((), monomial.accesses), {self.plate: label})
        return monomial._replace(tables=(), accesses=moved.accesses)


class Part:
    """As many rows as are looked at together: their local node and its problem.

    Parameters
    ----------
    stream : Stream
    shared : sequence
        Nodes of the shared variables.
    restart : Axis
    size : int
    """

    def __init__(self, stream: Stream, shared: Sequence[Node], restart: Axis, size: int) -> None:
        self.stream = stream
        self.label = Axis(stream.plate.name, size)
        self.node = stream.node(self.label, restart)
        first = slice(0, size)
        monomials = [stream.cut(term.monomial, self.label, first) for term in stream.terms]
        self._accesses = [monomial.accesses for monomial in monomials]
        self.problem = Problem(monomials, (*shared, self.node), (self.node,), restart, most=0)
        self._recipes = {key: self._recipe(total, restart) for key, total in stream.sums.items()}

    def _recipe(self, total: PlateSum, restart: Axis) -> Recipe:
        cut = self.stream.cut(Monomial(0, total.tables, total.accesses), self.label, slice(0, 0))
        entry = self.problem._entry(cut)
        return self.problem._recipe(entry, (), total.keep | {restart})

    def solve(
        self, rows: Any, sources: set[int] | None, starts: Mapping[str, Array] | None = None
    ) -> Sums:
        """Find the belief about some rows; return their sums.

        Parameters
        ----------
        rows : slice or integers
        sources : set of int, optional
            The factors that speak; by default all.
        starts : mapping of arrays, optional
            What variables are set to after that.
        """
        stream = self.stream
        known: dict[tuple[int, tuple[Axis, ...]], Table] = {}

        def cut(table: Table | Codes) -> Table:
            key = (id(table[0]), table.axes)
            if key not in known:
                known[key] = stream.cut_table(table, self.label, rows)
            return known[key]

        monomials = [
            Monomial(t.monomial.source, tuple(cut(table) for table in t.monomial.tables), accesses)
            for t, accesses in zip(stream.terms, self._accesses, strict=True)
        ]
        merged, _ = merge_monomials(monomials)
        self.problem.entries = [
            entry._replace(monomial=m)
            for entry, m in zip(self.problem.entries, merged, strict=True)
        ]
        self.problem.update(self.node, sources)
        for name, values in (starts or {}).items():
            self.node.set_centre(name, values)
        return {
            key: self.problem.expectation([cut(t) for t in total.tables], self._recipes[key])
            for key, total in stream.sums.items()
        }


def _wide(term: RowTerm, plate: Axis) -> list[Any]:
    """Return the tables of a term that differ from row to row."""
    return [table for table in term.monomial.tables if plate in table.axes]


def _width(term: RowTerm, plate: Axis) -> int:
    """Return how many numbers for each row products have."""
    wide = [{a for a in table.axes if a is not plate} for table in _wide(term, plate)]
    local = [a for a in term.monomial.accesses if a not in term.shared]
    own = [labels_of(a) - {plate} for a in local]
    if isinstance(local[0], Access):  # sums over rows are matrix products; J and Σ are held
        matrices = 2 * count_of(own[0]) * count_of(own[1]) if _is_matrix(term, plate) else 1
        return max(matrices, *map(count_of, (*own, *wide)))
    everything = set[Axis]().union(*own, *wide)
    return count_of(everything) // min([a.size for a in everything if a.size > 1], default=1)


def _is_matrix(term: RowTerm, plate: Axis) -> bool:
    """Tell whether a term makes the precisions of normal vectors differ from row to row."""
    local = [a for a in term.monomial.accesses if a not in term.shared]
    return isinstance(local[0], Access) and len(local) == 2 and bool(_wide(term, plate))
