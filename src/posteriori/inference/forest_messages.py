r"""Sum–product on forests whose nodes come in batches.

.. math:: \mu_{f\to x}(x) = \int f(x, u_1, \dots)\,\prod_j \mu_{u_j\to f}(u_j)\,du, \qquad
          \mu_{x\to f}(x) = \prod_{g\ne f} \mu_{g\to x}(x).

A variable is an array of ``count`` members, a factor an array of ``rows``, and each row sees one
member of each of its variables, chosen by an index. Messages are tuples of arrays that add up where
densities multiply: weighted means and precisions, natural parameters, logarithms of tables. All
rows at the same distance from the root are handled at once: a plate is one step, a chain is as many
as it is long.

Reference: F. R. Kschischang, B. J. Frey & H.-A. Loeliger, "Factor graphs and the sum–product
algorithm", IEEE Trans. Inf. Theory 47(2), 2001.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.types import Array, IntArray

__all__ = ["Batch", "ForestMessages", "RowFactor", "View", "pass_messages"]

#: Parts of a message that add up, each with the same leading axis.
Parts = tuple[Array, ...]
#: Numbers of messages that are held at a time while rows are added up.
_CHUNK = 1 << 20
#: Paths of this many steps repay the import of the compiler.
_LONG = 1000


@dataclass(frozen=True, slots=True)
class Batch:
    """``count`` members of a variable, and the shapes of the parts of a message to one of them."""

    count: int
    shapes: tuple[tuple[int, ...], ...]


class View(NamedTuple):
    """Which member of a variable each row sees; None for the r-th."""

    variable: str
    index: Any = None

    def at(self, rows: Any) -> Any:
        """Return the members that some rows see."""
        return rows if self.index is None else self.index[rows]


class RowFactor(NamedTuple):
    """Rows of one factor.

    Attributes
    ----------
    name : str
    rows : int
    views : tuple of View
    send : callable (rows, slot, incoming) -> Parts
        The messages of some rows to the variable at ``views[slot]``, given those that come from
        the variables at all other slots, in order.
    sweep : callable (rows (L, B), slot, base) -> Parts, optional
        Of a factor with two views, the messages along paths: a row gets the product of its base
        and of what the row before it sent.
    """

    name: str
    rows: int
    views: tuple[View, ...]
    send: Callable[[Any, int, list[Parts]], Parts]
    sweep: Callable[[Any, int, Parts], Parts] | None = None


class ForestMessages:
    """All messages of a forest.

    Those of factors that see one variable are made when they are asked for: of a million rows only
    the sums are held.
    """

    def __init__(self, variables: Mapping[str, Batch], factors: Sequence[RowFactor]) -> None:
        self.variables = variables
        self.factors = tuple(factors)
        self._slots: dict[str, list[tuple[int, int]]] = {name: [] for name in variables}
        self._received: dict[tuple[int, int], Parts] = {}
        self._sent: dict[tuple[int, int], Parts] = {}
        for f, factor in enumerate(self.factors):
            for slot, view in enumerate(factor.views):
                batch = variables[view.variable]
                self._slots[view.variable].append((f, slot))
                self._received[f, slot] = _zeros(batch.count, batch)
                if len(factor.views) > 1:
                    self._sent[f, slot] = _zeros(factor.rows, batch)

    def to_variable(self, f: int, slot: int) -> Parts:
        """Return the message of every row of factor ``f`` to the member that it sees."""
        if (f, slot) in self._sent:
            return self._sent[f, slot]
        factor = self.factors[f]
        return factor.send(np.arange(factor.rows), slot, [])

    def to_factor(self, f: int, slot: int) -> Parts:
        """Return the message that every row of factor ``f`` gets from the member that it sees."""
        rows = np.arange(self.factors[f].rows)
        return self._without(f, slot, rows, self.to_variable(f, slot))

    def product(self, variable: str) -> Parts:
        """Return the product of all messages to each member: its marginal."""
        total = _zeros(self.variables[variable].count, self.variables[variable])
        for key in self._slots[variable]:
            total = _add(total, self._received[key])
        return total

    def _without(self, f: int, slot: int, rows: Any, own: Parts) -> Parts:
        """Multiply what the members seen by some rows got, apart from these rows' own messages.

        What other rows of the same factor sent is the sum of all less the own: exactly nothing
        where there are no others.
        """
        view = self.factors[f].views[slot]
        members = view.at(rows)
        total = tuple(
            got[members] - mine for got, mine in zip(self._received[f, slot], own, strict=True)
        )
        for key in self._slots[view.variable]:
            if key != (f, slot):
                total = _add(total, tuple(got[members] for got in self._received[key]))
        return total

    def _gather_leaves(self) -> None:
        """Add up the messages of factors that see one variable."""
        for f, factor in enumerate(self.factors):
            if len(factor.views) == 1:
                for rows in _chunks(factor, self.variables[factor.views[0].variable]):
                    self._receive(f, 0, rows, factor.send(rows, 0, []))

    def _send(self, f: int, slot: int, rows: Any) -> None:
        factor = self.factors[f]
        others = [other for other in range(len(factor.views)) if other != slot]
        incoming = [
            self._without(f, j, rows, tuple(part[rows] for part in self._sent[f, j]))
            for j in others
        ]
        made = factor.send(rows, slot, incoming)
        for part, new in zip(self._sent[f, slot], made, strict=True):
            part[rows] = new
        self._receive(f, slot, rows, made)

    def _sweep(self, f: int, slot: int, paths: Any) -> None:
        """Send along paths (L, B), where each row sees what the row before it sent to."""
        factor = self.factors[f]
        assert factor.sweep is not None
        rows = paths.ravel()
        own = tuple(part[rows] for part in self._sent[f, 1 - slot])
        base = self._without(f, 1 - slot, rows, own)
        made = factor.sweep(
            paths, slot, tuple(part.reshape(*paths.shape, *part.shape[1:]) for part in base)
        )
        for part, new in zip(self._sent[f, slot], made, strict=True):
            part[paths] = new
        self._receive(f, slot, rows, tuple(p.reshape(len(rows), *p.shape[2:]) for p in made))

    def _receive(self, f: int, slot: int, rows: Any, made: Parts) -> None:
        view = self.factors[f].views[slot]
        for total, new in zip(self._received[f, slot], made, strict=True):
            if len(total) == 1:
                total += new.sum(axis=0)
            else:
                np.add.at(total, view.at(rows), new)


def pass_messages(variables: Mapping[str, Batch], factors: Sequence[RowFactor]) -> ForestMessages:
    """Pass messages from the leaves to the roots and back.

    Parameters
    ----------
    variables : mapping of str to Batch
    factors : sequence of RowFactor

    Raises
    ------
    ValueError
        When rows and members form a loop; the message names who takes part.

    Notes
    -----
    Linear in the number of rows; one step of array operations for each distance from the root.
    """
    messages = ForestMessages(variables, factors)
    messages._gather_leaves()
    pieces = _join_paths(_levels(variables, messages.factors), messages.factors)
    for piece in reversed(pieces):
        if isinstance(piece, _Paths):
            messages._sweep(piece.factor, piece.slot, piece.rows[::-1])
        else:
            for f, slot, rows in piece:
                messages._send(f, slot, rows)
    for piece in pieces:
        if isinstance(piece, _Paths):
            messages._sweep(piece.factor, 1 - piece.slot, piece.rows)
        else:
            for f, slot, rows in piece:
                for other in range(len(messages.factors[f].views)):
                    if other != slot:
                        messages._send(f, other, rows)
    return messages


# -- the order of messages -------------------------------------------------------------------


#: Rows of one factor at the same distance from the root, and the slot that leads there.
_Part = tuple[int, int, Any]


class _Paths(NamedTuple):
    """Rows (L, B) of B paths away from the root, through ``slot`` towards it."""

    factor: int
    slot: int
    rows: IntArray


class _Numbering(NamedTuple):
    """One number for every member and every row of the factors that join variables."""

    members: Mapping[str, int]  # number of the first member
    rows: Mapping[int, int]  # number of the first row
    total: int
    ends: tuple[IntArray, IntArray]  # of every edge: a member and a row


def _levels(variables: Mapping[str, Batch], factors: Sequence[RowFactor]) -> list[list[_Part]]:
    """Return the rows by their distance from the root, each with the slot that leads there."""
    numbers = _number(variables, factors)
    if not numbers.rows:
        return []
    order, parent = _walk(numbers, factors)
    most = max(len(factors[f].views) for f in numbers.rows)
    first = np.empty(numbers.total, dtype=np.int64)  # row 0 of the same factor
    code = np.empty(numbers.total, dtype=np.int64)  # factor and slot
    for f, start in numbers.rows.items():
        own = slice(start, start + factors[f].rows)
        first[own] = start
        code[own] = f * most + _slots_towards(parent, factors[f], numbers, f)
    levels = []
    for nodes in _by_distance(order, parent, numbers.total)[2::2]:  # root, members, rows, …
        codes = code[nodes]
        level = []
        for one in np.unique(codes) if len(codes) > 1 else codes:
            mine = nodes[codes == one] if len(codes) > 1 else nodes
            level.append((int(one) // most, int(one) % most, np.sort(mine - first[mine])))
        levels.append(level)
    return levels


def _join_paths(
    levels: list[list[_Part]], factors: Sequence[RowFactor]
) -> list[list[_Part] | _Paths]:
    """Join long stretches of levels in which every row goes on to one other of the same factor."""
    joined: list[list[_Part] | _Paths] = []
    start = 0
    while start < len(levels):
        stop = start + 1
        while stop < len(levels) and _goes_on(levels[stop - 1], levels[stop], factors):
            stop += 1
        if stop - start < _LONG:
            joined += levels[start:stop]
        else:
            ((f, slot, _),) = levels[start]
            joined.append(_Paths(f, slot, np.stack([level[0][2] for level in levels[start:stop]])))
        start = stop
    return joined


def _goes_on(level: list[_Part], following: list[_Part], factors: Sequence[RowFactor]) -> bool:
    if len(level) != 1 or len(following) != 1:
        return False
    ((f, slot, rows),), ((g, towards, after),) = level, following
    if (f, slot) != (g, towards) or len(rows) != len(after) or factors[f].sweep is None:
        return False
    views = factors[f].views
    if len(views) != 2 or views[0].variable != views[1].variable:
        return False
    return np.array_equal(views[1 - slot].at(rows), views[slot].at(after))


def _number(variables: Mapping[str, Batch], factors: Sequence[RowFactor]) -> _Numbering:
    members, total = {}, 0
    for name, batch in variables.items():
        members[name] = total
        total += batch.count
    rows, ends = {}, []
    for f, factor in enumerate(factors):
        if len(factor.views) > 1:
            rows[f] = total
            here = np.arange(factor.rows)
            ends += [(members[v.variable] + v.at(here), total + here) for v in factor.views]
            total += factor.rows
    joined = tuple(np.concatenate(part) for part in zip(*ends, strict=True)) if ends else ()
    return _Numbering(members, rows, total, joined)  # type: ignore[arg-type]


def _walk(numbers: _Numbering, factors: Sequence[RowFactor]) -> tuple[IntArray, IntArray]:
    """Return all numbers from the root outwards, and the parent of each; refuse loops."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    a, b = numbers.ends
    n = numbers.total
    graph = coo_array((np.ones(len(a)), (a, b)), shape=(n, n)).tocsr()
    count, component = connected_components(graph, directed=False)
    if len(a) != n - count:
        raise _loop(numbers, factors, component.astype(np.int64))
    _, first = np.unique(component, return_index=True)
    rooted = coo_array(  # one root above the first member of every tree
        (
            np.ones(len(a) + count),
            (np.concatenate([a, first]), np.concatenate([b, np.full(count, n)])),
        ),
        shape=(n + 1, n + 1),
    ).tocsr()
    order, parent = breadth_first_order(rooted, n, directed=False)
    return order.astype(np.int64), parent.astype(np.int64)


def _loop(numbers: _Numbering, factors: Sequence[RowFactor], component: IntArray) -> ValueError:
    """Name the factors and variables of the trees that are none."""
    sizes = np.bincount(component)
    edges = np.bincount(component[numbers.ends[0]], minlength=len(sizes))
    loops = edges > sizes - 1
    names: dict[str, None] = {}
    joined: dict[str, None] = {}
    for f, start in numbers.rows.items():
        if loops[component[start : start + factors[f].rows]].any():
            names[factors[f].name] = None
            joined |= dict.fromkeys(view.variable for view in factors[f].views)
    return ValueError(
        f"no exact messages: the factors of {', '.join(names)} close a loop through "
        f"{', '.join(joined)}. Marginals and joint() are exact all the same; for messages, write "
        "what meets in several factors as one variable: a vector, or a joint state"
    )


def _by_distance(order: IntArray, parent: IntArray, root: int) -> list[IntArray]:
    """Cut the walk where the distance from the root grows."""
    position = np.empty(root + 1, dtype=np.intp)
    position[order] = np.arange(root + 1)
    above = position[parent[order[1:]]]  # never falls along the walk
    cuts = [0, 1]
    while cuts[-1] <= root:
        cuts.append(1 + int(np.searchsorted(above, cuts[-1])))
    return [order[start:stop] for start, stop in pairwise(cuts)]


def _slots_towards(parent: IntArray, factor: RowFactor, numbers: _Numbering, f: int) -> IntArray:
    """Return the slot of every row through which it sees its parent."""
    rows = np.arange(factor.rows)
    above = parent[numbers.rows[f] + rows]
    sees = [numbers.members[view.variable] + view.at(rows) == above for view in factor.views]
    return np.argmax(sees, axis=0)


# -- helpers ---------------------------------------------------------------------------------


def _zeros(count: int, batch: Batch) -> Parts:
    return tuple(np.zeros((count, *shape)) for shape in batch.shapes)


def _add(a: Parts, b: Parts) -> Parts:
    return tuple(p + q for p, q in zip(a, b, strict=True))


def _chunks(factor: RowFactor, batch: Batch) -> Iterator[Any]:
    numbers = sum(int(np.prod(shape)) for shape in batch.shapes)
    step = max(1, _CHUNK // max(numbers, 1))
    for start in range(0, factor.rows, step):
        yield np.arange(start, min(start + step, factor.rows))
