"""A block of discrete variables, solved: plates first, then a chain, then the cliques of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.exact.discrete.discrete_chain import (
    SolvedChain,
    chain_pairs,
    decode_chain,
    draw_chain,
    paths_at,
    smooth_chain,
)
from posteriori.modeling.exact.discrete.discrete_order import Order, split_tables
from posteriori.modeling.exact.discrete.plate_elimination import (
    Bucket,
    Elimination,
    best_states,
    conditional_draws,
    eliminate,
    joint_beliefs,
    multiply_beliefs,
    sum_to,
)
from posteriori.modeling.exact.discrete.state_cliques import SolvedCliques, most_likely_states

__all__ = ["SolvedStates", "decode_states", "tables_of_cliques"]

_NOTHING = Elimination((), (), 0.0)


class SolvedStates:
    """What is known of all variables of a block.

    Parameters
    ----------
    order : Order

    Attributes
    ----------
    before, after : Elimination
        Of what lies on plates: before the chain, and after it.
    chain : SolvedChain or None
        For each state of the variables that do not move in time.
    cliques : SolvedCliques
        Of variables of one member each.
    log_total : float
    """

    def __init__(self, order: Order) -> None:
        graph = order.graph
        self.graph = graph
        self.before, self.after = eliminate(graph.tables, order.before, graph.plates), _NOTHING
        self.chain: SolvedChain | None = None
        rest = self.before.rest
        if graph.chain is not None:
            self._members, others = split_tables(graph, rest)
            self.chain = smooth_chain(graph, self._members)
            tables = [*others, self.chain.log_evidence]
            self.after = eliminate(tables, order.after, graph.plates)
            rest = self.after.rest
        self.cliques = SolvedCliques(order.cliques, rest)
        self.log_total = self.before.log_total + self.after.log_total + self.cliques.log_total

    @property
    def buckets(self) -> tuple[Bucket, ...]:
        """All eliminations of what lies on plates."""
        return self.before.buckets + self.after.buckets

    @cached_property
    def beliefs(self) -> dict[Axis, Table]:
        """Joint probabilities of each variable on plates and its neighbours when it went."""
        return self._after | joint_beliefs(self.before.buckets, self.joint)

    @cached_property
    def pairs(self) -> tuple[Table, Table]:
        """Probabilities of the members of the chain before and after each step, given and with static ones."""
        assert self.graph.chain is not None
        assert self.chain is not None
        given = self.chain.pairs
        if given is None:
            given = chain_pairs(self.graph, self._members)
        static = self.graph.chain.static
        return given, multiply_beliefs(given, self.joint(static)) if static else given

    @cached_property
    def now(self) -> Table:
        """Joint probabilities of the members of the chain at each time, and of its static variables."""
        assert self.graph.chain is not None
        assert self.chain is not None
        static, now = self.graph.chain.static, self.chain.probabilities
        return multiply_beliefs(now, self.joint(static)) if static else now

    def joint(self, nodes: Sequence[Axis]) -> Table:
        """Return the joint probabilities of neighbours that outlast the plates before the chain."""
        chain = self.graph.chain
        if chain is not None and any(node in nodes for node in chain.nodes):
            return sum_to(self.now, {*chain.nodes, *chain.static}, nodes)
        for bucket in self.after.buckets:
            if bucket.node in nodes:
                return sum_to(self._after[bucket.node], {bucket.node, *bucket.given}, nodes)
        return self.cliques.joint(nodes)

    def marginals(self) -> dict[Axis, Table]:
        """Return the probabilities of each variable."""
        found = {b.node: sum_to(self.beliefs[b.node], set(b.given), ()) for b in self.buckets}
        chain = self.graph.chain
        if chain is not None:
            nodes = {*chain.nodes, *chain.static}
            found |= {node: sum_to(self.now, nodes, (node,)) for node in chain.nodes}
        return found | dict(self.cliques.marginals())

    def draw(self, draw: Axis, rng: np.random.Generator) -> dict[Axis, Table]:
        """Return draws of the states of all variables."""
        graph = self.graph
        states = self.cliques.draw(draw, rng)
        states = conditional_draws(self.after.buckets, states, graph.plates, draw, rng)
        if graph.chain is not None:
            paths = draw_chain(graph, self._members, draw, rng)
            states |= paths_at(graph, paths, states)
        return conditional_draws(self.before.buckets, states, graph.plates, draw, rng)

    @cached_property
    def _after(self) -> dict[Axis, Table]:
        return joint_beliefs(self.after.buckets, self.cliques.joint)


def decode_states(order: Order) -> dict[Axis, Table]:
    """Return the states that together have the highest probability."""
    graph = order.graph
    before = eliminate(graph.tables, order.before, graph.plates, maximize=True)
    if graph.chain is None:
        return best_states(before.buckets, most_likely_states(order.cliques, before.rest))
    members, others = split_tables(graph, before.rest)
    paths, log_joint = decode_chain(graph, members)
    after = eliminate([*others, log_joint], order.after, graph.plates, maximize=True)
    still = best_states(after.buckets, most_likely_states(order.cliques, after.rest))
    return best_states(before.buckets, still | paths_at(graph, paths, still))


def tables_of_cliques(order: Order) -> tuple[Table, ...]:
    """Return the tables over variables of one member each, all others summed out."""
    graph = order.graph
    rest = eliminate(graph.tables, order.before, graph.plates).rest
    if graph.chain is None:
        return rest
    members, others = split_tables(graph, rest)
    tables = [*others, smooth_chain(graph, members).log_evidence]
    return eliminate(tables, order.after, graph.plates).rest
