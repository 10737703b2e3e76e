"""Variables of one member each, handed over to the exact engine of trees of cliques.

What lies on plates is summed out for whole plates at a time, and chains are smoothed; tables over
single variables are left, and all questions about these are questions to one tree of cliques.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from posteriori.inference.cliques.clique_answers import (
    best_states,
    clique_beliefs,
    draw_states,
    joint_table,
    log_totals,
    marginals,
)
from posteriori.inference.cliques.clique_plan import CliquePlan, plan_cliques
from posteriori.inference.cliques.scope_beliefs import entropy_of_beliefs, scope_belief
from posteriori.inference.cliques.table_set import TableSet, gather_log_tables, gather_scopes
from posteriori.modeling.binding.labelled import Axis, Table, shape_of
from posteriori.numerics.compilation import as_kernel_indices
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "PlannedCliques",
    "SolvedCliques",
    "joint_of_cliques",
    "most_likely_states",
    "plan_states",
]


#: Plans that are remembered, the latest.
_PLANS = 128


class PlannedCliques(NamedTuple):
    """A tree of cliques for tables to come.

    Attributes
    ----------
    nodes : tuple of Axis
        The variables.
    scopes : tuple of tuples of int
        Variables of each table.
    plan : CliquePlan
    """

    nodes: tuple[Axis, ...]
    scopes: tuple[tuple[int, ...], ...]
    plan: CliquePlan

    @property
    def order(self) -> tuple[Axis, ...]:
        """Variables, the first eliminated first."""
        return tuple(self.nodes[v] for v in self.plan.order)

    def tables(self, tables: Iterable[Table]) -> TableSet:
        """Return log tables of the planned scopes as the engine takes them."""
        axes = [tuple(self.nodes[v] for v in scope) for scope in self.scopes]
        logs = [table.over(labels) for labels, table in zip(axes, tables, strict=True)]
        return gather_log_tables(shape_of(self.nodes), self.scopes, logs)


def plan_states(
    nodes: Sequence[Axis], scopes: Sequence[Sequence[Axis]], wanted: Sequence[Axis] = ()
) -> PlannedCliques:
    """Plan a tree of cliques.

    Parameters
    ----------
    nodes : sequence of Axis
        The variables.
    scopes : sequence of sequences of Axis
        Variables of each table.
    wanted : sequence of Axis
        Variables whose joint table is asked for.

    Raises
    ------
    MemoryError
        When the tables would be too large.
    """
    place = {node: v for v, node in enumerate(nodes)}
    numbers = tuple(tuple(place[node] for node in scope) for scope in scopes)
    last = tuple(place[node] for node in wanted)
    return PlannedCliques(tuple(nodes), numbers, _plan(shape_of(nodes), numbers, last))


@lru_cache(_PLANS)
def _plan(
    sizes: tuple[int, ...], scopes: tuple[tuple[int, ...], ...], last: tuple[int, ...]
) -> CliquePlan:
    """Plan for numbers of states and scopes: what a model asks again with other data is planned once."""
    others = [v for v in range(len(sizes)) if v not in set(last)]
    return plan_cliques(
        *(
            gather_scopes(sizes, scopes),
            np.arange(len(scopes)),
            np.ones(len(sizes), dtype=np.int64),
        ),
        together=[last] if last else (),
        groups=[others, last] if last else None,
    )


def joint_of_cliques(
    planned: PlannedCliques, tables: Iterable[Table], wanted: Sequence[Axis]
) -> Array:
    """Return the joint probabilities of the variables that a tree was planned for."""
    asked = [planned.nodes.index(node) for node in wanted]
    found = joint_table(planned.plan, planned.tables(tables), _nothing_known(planned), asked)
    return found.probabilities[0].reshape(shape_of(wanted))


class SolvedCliques:
    """What a tree of cliques says of its variables.

    Parameters
    ----------
    planned : PlannedCliques
    tables : sequence of Table
        Logarithms, of the planned scopes.

    Raises
    ------
    ValueError
        When no states of the variables are possible.
    """

    def __init__(self, planned: PlannedCliques, tables: Sequence[Table]) -> None:
        self.planned = planned
        self.log_tables = tuple(tables)
        self.tables = planned.tables(tables)
        if not planned.nodes:
            self.log_total, self._states = 0.0, np.zeros(0)
            return
        found = marginals(planned.plan, self.tables, _nothing_known(planned))
        self.log_total, self._states = float(found.log_total[0]), found.probabilities[0]
        if self.log_total == -np.inf:
            raise ValueError(
                f"the data have probability 0: no state of {self._stuck().name} is possible"
            )

    @property
    def nodes(self) -> tuple[Axis, ...]:
        """The variables."""
        return self.planned.nodes

    def marginals(self) -> Iterator[tuple[Axis, Table]]:
        """Return the probabilities of the states of each variable."""
        first = 0
        for node in self.nodes:
            yield node, Table(self._states[first : first + node.size], (node,))
            first += node.size

    def joint(self, nodes: Sequence[Axis]) -> Table:
        """Return the joint probabilities of variables that some table joins."""
        wanted = [self._places[node] for node in nodes]
        return Table(scope_belief(self.planned.plan, self._beliefs, wanted), tuple(nodes))

    def entropy(self) -> float:
        """Return the entropy of all variables together."""
        return entropy_of_beliefs(self.planned.plan, self._beliefs) if self.nodes else 0.0

    def draw(self, draw: Axis, rng: np.random.Generator) -> dict[Axis, Table]:
        """Return draws of the states of all variables."""
        if not self.nodes:
            return {}
        known = _nothing_known(self.planned)[0]
        states = draw_states(self.planned.plan, self.tables, known, draw.size, rng)
        return {node: Table(states[:, v], (draw,)) for v, node in enumerate(self.nodes)}

    @cached_property
    def _places(self) -> Mapping[Axis, int]:
        return {node: v for v, node in enumerate(self.nodes)}

    @cached_property
    def _beliefs(self) -> Array:
        """Joint probabilities of all cliques."""
        known = _nothing_known(self.planned)[0]
        return clique_beliefs(self.planned.plan, self.tables, known).cells

    def _stuck(self) -> Axis:
        """Return a variable of the first table that, with those before it, leaves no state possible."""
        fine, dead = 0, len(self.log_tables)
        while dead - fine > 1:
            half = (fine + dead) // 2
            first = plan_cliques(
                self.tables, np.arange(half), np.ones(len(self.nodes), dtype=np.int64)
            )
            total = log_totals(first, self.tables, _nothing_known(self.planned))[0]
            fine, dead = (half, dead) if total > -np.inf else (fine, half)
        return self.nodes[self.planned.scopes[dead - 1][-1]]


def most_likely_states(planned: PlannedCliques, tables: Iterable[Table]) -> dict[Axis, Table]:
    """Return the states of all variables that together have the largest value."""
    if not planned.nodes:
        return {}
    plan = planned.plan
    every = as_kernel_indices(np.ones(plan.tree.n_cliques))
    plan = plan._replace(arrays=plan.arrays._replace(maximize=every))
    _, best = best_states(plan, planned.tables(tables), _nothing_known(planned))
    return {node: Table(best[0, v], ()) for v, node in enumerate(planned.nodes)}


def _nothing_known(planned: PlannedCliques) -> IntArray:
    return np.full((1, len(planned.nodes)), -1, dtype=np.int64)
