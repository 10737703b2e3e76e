"""A network as flat tables, and which of them a question needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.factors.axes import Label
from posteriori.inference.cliques.table_set import TableSet, gather_tables
from posteriori.networks.conditionals import Conditional, pieces_of
from posteriori.numerics.types import Array, IntArray
from posteriori.tables import ConditionalTable

__all__ = ["FlatNetwork", "tabulate_network", "with_likelihoods"]


class FlatNetwork(NamedTuple):
    """Tables of all conditionals.

    Attributes
    ----------
    places : dict of str to int
        Variables by name; inner variables of conditionals come after those of the network.
    tables : TableSet
    owner : (F,) of int
        The variable whose conditional a table is, or is a piece of.
    parents : tuple of tuples of int
        Of each variable of the network.
    """

    places: dict[str, int]
    tables: TableSet
    owner: IntArray
    parents: tuple[tuple[int, ...], ...]

    def needed(
        self, asked: Iterable[int], weighed: Iterable[int], observed: Iterable[int], *, apart: bool
    ) -> tuple[IntArray, IntArray]:
        """Return the tables that a question needs, (U,), and which variables are free there, (n,).

        What is neither asked, nor weighed by likelihoods, nor observed, nor an ancestor of such a variable is
        summed to 1. With ``apart``, so is what observed variables cut off from those that are asked for: the
        answer does not depend on it, but the probability of the evidence does.
        """
        seen = set(observed)
        targets = list(asked)
        above = _ancestors(self.parents, [*targets, *weighed, *seen])
        use = np.flatnonzero(above[self.owner])
        if apart and seen:
            use = use[self._reached(use, targets, seen)]
        free = np.zeros(self.tables.sizes.size, dtype=np.int64)
        for table in use.tolist():
            free[self.tables.scope_of(table)] = 1
        free[targets] = 1
        free[list(seen)] = 0
        return use, free

    @property
    def has_zeros(self) -> bool:
        """Whether a cell is 0: without one, no evidence is impossible."""
        return not self.tables.cells.all()

    def _reached(self, use: IntArray, targets: Sequence[int], seen: set[int]) -> list[bool]:
        """Tell which tables hang together with the targets by variables that are not observed."""
        tables = self.tables
        scopes = [tables.scope_of(f).tolist() for f in use.tolist()]
        holders: dict[int, list[int]] = {}
        for i, scope in enumerate(scopes):
            for v in scope:
                holders.setdefault(v, []).append(i)
        reached, stack, met = [False] * len(scopes), list(targets), set(targets)
        while stack:
            for i in holders.get(stack.pop(), ()):
                if not reached[i]:
                    reached[i] = True
                    new = [v for v in scopes[i] if v not in met and v not in seen]
                    met.update(new)
                    stack += new
        return reached


def tabulate_network(
    conditionals: Iterable[Conditional | ConditionalTable], labels: Mapping[str, tuple[Label, ...]]
) -> FlatNetwork:
    """Return the tables of a network."""
    index = {name: i for i, name in enumerate(labels)}
    sizes = [len(states) for states in labels.values()]
    scopes, cells, owner = [], [], []
    parents: list[tuple[int, ...]] = [()] * len(index)
    n_named = len(index)
    for conditional in conditionals:
        target = index[conditional.target[0]]
        parents[target] = tuple(index[name] for name in conditional.given)
        for piece in pieces_of(conditional, labels):
            for name, size in zip(piece.names, piece.cells.shape, strict=True):
                if name not in index:
                    index[name] = len(index)
                    sizes.append(size)
            scopes.append([index[name] for name in piece.names])
            cells.append(piece.cells)
            owner.append(target)
    tables = gather_tables(sizes, scopes, cells)
    return FlatNetwork(index, tables, np.array(owner, dtype=np.int64), tuple(parents[:n_named]))


def with_likelihoods(network: FlatNetwork, likelihoods: Mapping[int, Array]) -> FlatNetwork:
    """Return the tables with a likelihood of each state of some variables more."""
    if not likelihoods:
        return network
    old = network.tables
    new = gather_tables(old.sizes.tolist(), [[v] for v in likelihoods], list(likelihoods.values()))
    joined = TableSet(
        old.sizes,
        np.append(old.start, old.start[-1] + new.start[1:]),
        np.append(old.scope, new.scope),
        np.append(old.stride, new.stride),
        np.append(old.base, old.cells.size + new.base),
        np.append(old.row, new.row),
        np.append(old.cells, new.cells),
        np.append(old.log_scale, new.log_scale),
        np.append(old.floor, new.floor),
        logs=False,
    )
    for array in joined[1:-1]:
        array.setflags(write=False)
    owner = np.append(network.owner, list(likelihoods))
    return network._replace(tables=joined, owner=owner)


def _ancestors(parents: Sequence[Sequence[int]], start: Iterable[int]) -> Array:
    """Return which variables are one of some, or an ancestor of one."""
    found = np.zeros(len(parents), dtype=bool)
    stack = [v for v in set(start) if v < len(parents)]
    found[stack] = True
    while stack:
        for p in parents[stack.pop()]:
            if not found[p]:
                found[p] = True
                stack.append(p)
    return found
