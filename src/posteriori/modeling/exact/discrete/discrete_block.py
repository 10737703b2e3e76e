"""Blocks of discrete variables: exact posteriors of mixtures, networks and hidden Markov models.

Every factor is a log table over the states it touches. Variables are eliminated for whole plates at
a time; what is joined in time is a chain and solved by forward–backward.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Self

from posteriori import factors, tables
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Table, count_of
from posteriori.modeling.contract.costs import Cost, counted, members_and_states
from posteriori.modeling.contract.engine import Block
from posteriori.modeling.exact.discrete.discrete_graph import (
    Graph,
    ground_graph,
    lifted_graph,
    refill_graph,
)
from posteriori.modeling.exact.discrete.discrete_order import Order, order_elimination
from posteriori.modeling.exact.discrete.discrete_result import DiscreteResult
from posteriori.modeling.exact.discrete.plate_elimination import Entangled
from posteriori.modeling.exact.discrete.solved_states import tables_of_cliques
from posteriori.modeling.exact.discrete.state_cliques import joint_of_cliques, plan_states
from posteriori.modeling.forms.state_tables import (
    StateTable,
    evidence_table,
    number_of_states,
    same_labels,
    state_table,
)

if TYPE_CHECKING:
    from posteriori.tables import JointTable

__all__ = ["DiscreteBlock"]

#: Joint tables larger than this are not a thing to look at.
MOST_JOINT_CELLS = 1 << 22

#: For more chains than this, taking the members one by one may be less work.
FEW_CHAINS = 64


class DiscreteBlock(Block):
    """Categorical and Bernoulli variables, with children of any family.

    Parameters
    ----------
    bound : Bound
    names : iterable of str
        The unknown variables.
    factors : iterable of BoundFactor
        All factors that touch them, children observed or not.
    more : StateTable, optional
        The table of one further variable.

    Examples
    --------
    >>> from posteriori import Categorical, Normal
    >>> from posteriori.modeling import Chain, Model, take
    >>> stay = [[0.9, 0.1], [0.2, 0.8]]
    >>> m = Model()
    >>> m.z = Chain(Categorical([0.5, 0.5]), lambda z: Categorical(take(stay, z)), length="t")
    >>> m.y = Normal(take([0.0, 3.0], m.z), variance=1.0)
    >>> post = m.infer(y=[0.1, 1.6, 2.9])
    >>> post.z.probabilities.round(3)
    array([[0.94 , 0.06 ],
           [0.458, 0.542],
           [0.056, 0.944]])
    >>> post.most_likely()
    {'z': array([0, 1, 1])}
    """

    def __init__(
        self,
        bound: Bound,
        names: Iterable[str],
        factors: Iterable[BoundFactor],
        more: StateTable | None = None,
    ) -> None:
        self.bound = bound
        self.factors = tuple(factors)
        self.more = () if more is None else (more,)
        first: dict[str, BoundFactor] = {}
        for factor in self.factors:
            first.setdefault(factor.name, factor)
        self.sizes = {name: number_of_states(first[name]) for name in names}
        self.sizes |= {table.name: table.views[-1].state.size for table in self.more}
        self.names = tuple(self.sizes)
        self._made: dict[int, StateTable] = {}  # by the identity of their factors

    @cached_property
    def tables(self) -> list[StateTable]:
        """Log tables of the factors."""
        made = [
            self._made.get(id(factor)) or state_table(factor, self.bound, self.sizes)
            for factor in self.factors
        ]
        known = [name for name in self.names if name in self.bound.evidence]
        seen = [evidence_table(name, self.bound, self.sizes[name]) for name in known]
        return [*made, *seen, *self.more]

    def with_tables_of(self, others: Iterable[DiscreteBlock]) -> Self:
        """Take over the log tables of factors that are those of other blocks too."""
        for other in others:
            made = other.tables[: len(other.factors)]
            self._made |= {id(f): table for f, table in zip(other.factors, made, strict=True)}
        return self

    @cached_property
    def planned(self) -> Order:
        """The order on the lifted graph, or on the ground graph where that has none or less work."""
        try:
            lifted = order_elimination(lifted_graph(self.tables, self.bound.layouts, self.sizes))
        except Entangled:
            return order_elimination(self.ground)
        if lifted.n_chains <= FEW_CHAINS:
            return lifted
        try:
            single = order_elimination(self.ground)
        except MemoryError:
            return lifted
        return min(lifted, single, key=lambda order: order.work)

    def refilled(self, tables: Sequence[StateTable]) -> Self:
        """Return the block with other log tables, planned as this one if their labels are the same."""
        other = copy.copy(self)
        for name in ("ground", "planned"):
            other.__dict__.pop(name, None)
        other.__dict__["tables"] = list(tables)
        if same_labels(self.tables, tables) and self.graph.placements:
            graph = refill_graph(self.graph, tables, self.bound.layouts)
            other.__dict__["planned"] = self.planned._replace(graph=graph)
        return other

    @property
    def graph(self) -> Graph:
        """What is eliminated."""
        return self.planned.graph

    @cached_property
    def ground(self) -> Graph:
        """The graph of single members."""
        return ground_graph(self.tables, self.bound.layouts, self.sizes)

    @property
    def method(self) -> str:
        """What :meth:`solve` does."""
        if self.graph.chain is not None:
            return "forward-backward"
        members = any(len(nodes) > 1 for nodes in self.graph.nodes.values())
        return "variable elimination" + (", member by member" if members else "")

    @property
    def why(self) -> str:
        """Why this method holds."""
        chain = self.graph.chain
        if chain is None:
            return "all variables have few states"
        why = "all variables have few states, and some are joined from one time to the next"
        still = ", ".join(node.name for node in chain.static)
        return why + (f", for each state of {still}" if still else "")

    @property
    def order(self) -> tuple[str, ...]:
        """The order of elimination."""
        chain, planned = self.graph.chain, self.planned
        along = () if chain is None else chain.nodes
        before, after = ([step.node for step in steps] for steps in (planned.before, planned.after))
        return tuple(node.name for node in (*before, *along, *after, *planned.cliques.order))

    @property
    def cost(self) -> Cost:
        """What elimination costs: a few operations for each cell, twice for the way back."""
        order = self.planned
        return Cost(6.0 * order.work, 8.0 * (2.0 * order.table_cells + 3.0 * order.chain_states))

    def describe(self) -> str:
        """Say what will be eliminated, and at what cost."""
        parts = [
            f"{name} ({members_and_states(math.prod(self.bound.layouts[name].shape), size)})"
            for name, size in self.sizes.items()
        ]
        text = ", ".join(parts)
        chain = self.graph.chain
        if chain is not None:
            together = count_of(chain.nodes)
            along = {node.name for node in chain.nodes}
            text += f"; a chain of {counted(chain.time.size, 'step')} and {together} states"
            if chain.static:
                text += f", for each of {self.planned.n_chains}"
                text += f" states of {', '.join(node.name for node in chain.static)}"
        order = [name for name in self.order if chain is None or name not in along]
        if order:
            cells = int(self.planned.table_cells)
            shown = order if len(order) <= 12 else [*order[:6], "...", *order[-5:]]
            text += f"; order {', '.join(shown)}; tables of {counted(cells, 'cell')}"
        return text

    def solve(self) -> DiscreteResult:
        """Return the exact posterior of the block."""
        return DiscreteResult(self)

    def joint(self, names: Iterable[str]) -> JointTable:
        """Return the joint posterior table of variables; members of an array are named ``z[0]``, ...

        Raises
        ------
        MemoryError
            When the table would be too large.
        """
        chosen = tuple(dict.fromkeys(names))
        shapes = {name: self.bound.layouts[name].shape for name in chosen}
        cells = math.prod(
            float(self.sizes[name]) for name in chosen for _ in range(math.prod(shapes[name]))
        )
        if cells > MOST_JOINT_CELLS:
            raise MemoryError(
                f"the joint table of {', '.join(chosen)} has {cells:.3g} cells; "
                "ask for fewer or smaller variables"
            )
        graph, left = self._single_members(chosen)
        owners = {node: name for name in chosen for node in graph.nodes[name]}
        single = [node for node, own in graph.plates.items() if not own]
        planned = plan_states(single, [table.axes for table in left], tuple(owners))
        found = joint_of_cliques(planned, left, tuple(owners))
        labels = {node.name: self.bound.labels.get(owner) for node, owner in owners.items()}
        named = {name: given for name, given in labels.items() if given is not None}
        table = factors.Factor([node.name for node in owners], found, named or None)
        return tables.JointTable.from_factor(table)

    def _single_members(self, names: tuple[str, ...]) -> tuple[Graph, Sequence[Table]]:
        """Return a graph in which variables have one member each, and tables over such variables."""
        graph = self.graph
        if all(not graph.plates[node] for name in names for node in graph.nodes[name]):
            return graph, tables_of_cliques(self.planned)
        return self.ground, [table for table in self.ground.tables if table.axes]
