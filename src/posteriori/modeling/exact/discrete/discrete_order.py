r"""The order of elimination: plates before a chain, the chain itself, what does not move in time.

Variables on plates go first, for whole plates at a time. Those of one member each come last, in a
tree of cliques.

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
from posteriori.modeling.exact.discrete.plate_elimination import (
    Entangled,
    Step,
    plan_elimination,
    remaining_scopes,
)
from posteriori.modeling.exact.discrete.state_cliques import PlannedCliques, plan_states

__all__ = ["Order", "order_elimination", "split_tables"]


class Order(NamedTuple):
    """What is eliminated when.

    Attributes
    ----------
    graph : Graph
        Its chain knows the variables that it is solved for each state of.
    before, after : tuple of Step
        Eliminations of what lies on plates, before the chain is solved and after it.
    cliques : PlannedCliques
        Of variables of one member each.
    """

    graph: Graph
    before: tuple[Step, ...]
    after: tuple[Step, ...]
    cliques: PlannedCliques

    @property
    def n_chains(self) -> int:
        """How many chains are solved for each series."""
        chain = self.graph.chain
        return 0 if chain is None else count_of(chain.static)

    @property
    def table_cells(self) -> float:
        """Cells of all tables that are written down."""
        steps = self.before + self.after
        plated = sum(math.prod(float(a.size) for a in step.labels) for step in steps)
        return plated + self.cliques.plan.cells

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
    single = tuple(node for node, own in plates.items() if not own)
    if chain is None:
        before = plan_elimination(scopes, plates, single)
        return Order(graph, before, (), plan_states(single, remaining_scopes(scopes, before)))
    in_steps = {axis for table in chain.steps for axis in table.axes}
    kept = {node for node in plates if node in in_steps} - set(chain.nodes) | set(single)
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
    others.append((*static, *around))
    after = plan_elimination(others, {n: plates[n] for n in plates if n in kept}, single)
    cliques = plan_states(single, remaining_scopes(others, after))
    return Order(graph._replace(chain=chain._replace(static=static)), before, after, cliques)


def split_tables(graph: Graph, tables: Sequence[Table]) -> tuple[list[Table], list[Table]]:
    """Return the tables on members of the chain, and the others."""
    assert graph.chain is not None
    members = set(graph.chain.nodes)
    return (
        [table for table in tables if members & set(table.axes)],
        [table for table in tables if not members & set(table.axes)],
    )
