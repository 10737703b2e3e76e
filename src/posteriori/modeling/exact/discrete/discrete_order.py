r"""The order of elimination: before a chain, the chain itself, and what does not move in time.

A variable without the chain's time on which many of its steps depend cannot go before the chain.
There is a chain for each of its states; their evidences are one more table on it,

.. math:: p(y) = \sum_g p(g) \, p(y \mid g), \qquad p(z_t \mid y) = \sum_g p(g \mid y) \,
   p(z_t \mid y, g).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from posteriori.modeling.binding.labelled import Table, count_of
from posteriori.modeling.exact.discrete.discrete_graph import Graph
from posteriori.modeling.forms.table_elimination import (
    Entangled,
    Step,
    plan_elimination,
    remaining_scopes,
)

__all__ = ["Order", "order_elimination", "split_tables"]


class Order(NamedTuple):
    """What is eliminated when.

    Attributes
    ----------
    graph : Graph
        Its chain knows the variables that it is solved for each state of.
    before, after : tuple of Step
        Eliminations before the chain is solved, and of what it was solved for each state of.
    """

    graph: Graph
    before: tuple[Step, ...]
    after: tuple[Step, ...]

    @property
    def n_chains(self) -> int:
        """How many chains are solved for each series."""
        chain = self.graph.chain
        return 0 if chain is None else count_of(chain.static)

    @property
    def table_cells(self) -> float:
        """Cells of all tables that are written down."""
        return sum(math.prod(float(a.size) for a in s.labels) for s in self.before + self.after)

    @property
    def chain_states(self) -> float:
        """States of all chains at all times."""
        chain = self.graph.chain
        if chain is None:
            return 0.0
        axes = (*chain.nodes, chain.time, *self.graph.series)
        return self.n_chains * math.prod(float(axis.size) for axis in axes)

    @property
    def work(self) -> float:
        """Cells of all tables, and of the transitions of all chains at all times."""
        chain = self.graph.chain
        moves = 0 if chain is None else count_of(chain.nodes)
        return self.table_cells + self.chain_states * moves


def order_elimination(graph: Graph) -> Order:
    """Order all eliminations of a graph.

    Raises
    ------
    Entangled
        When variables can go neither for whole plates at a time nor after the chain.
    """
    scopes = [table.axes for table in graph.tables]
    chain, plates = graph.chain, graph.plates
    if chain is None:
        return Order(graph, plan_elimination(scopes, plates), ())
    in_steps = {axis for table in chain.steps for axis in table.axes}
    kept = {node for node in plates if node in in_steps} - set(chain.nodes)
    try:
        before = plan_elimination(scopes, plates, {*chain.nodes, *kept})
    except Entangled as stuck:
        kept |= set(stuck.nodes)
        before = plan_elimination(scopes, plates, {*chain.nodes, *kept})
    left = remaining_scopes(scopes, before)
    beside = in_steps.union(*(scope for scope in left if set(chain.nodes) & set(scope)))
    static = tuple(node for node in plates if node in kept and node in beside)
    around = [p for p in graph.series if any(p in plates[node] for node in static)]
    if any(chain.time in plates[node] for node in kept) or any(
        set(plates[node]) - set(around) for node in static
    ):
        raise Entangled(", ".join(node.name for node in kept), tuple(kept))
    others = [scope for scope in left if not set(chain.nodes) & set(scope)]
    after = plan_elimination(
        [*others, (*static, *around)], {node: plates[node] for node in plates if node in kept}
    )
    return Order(graph._replace(chain=chain._replace(static=static)), before, after)


def split_tables(graph: Graph, tables: Sequence[Table]) -> tuple[list[Table], list[Table]]:
    """Return the tables on members of the chain, and the others."""
    assert graph.chain is not None
    members = set(graph.chain.nodes)
    return (
        [table for table in tables if members & set(table.axes)],
        [table for table in tables if not members & set(table.axes)],
    )
