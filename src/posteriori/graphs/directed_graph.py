"""Directed graphs: who comes from whom, and what that says about independence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice, pairwise
from typing import Any, Self, final

import numpy as np

from posteriori.graphs.adjacency import Adjacency, link_nodes
from posteriori.graphs.graph_value import GraphValue
from posteriori.graphs.node_sets import Node, Nodes, NodeSet
from posteriori.graphs.oracles import Oracle, as_oracle, minimal_parents
from posteriori.graphs.paths import GraphPath, Separation, describe_path, shortest_paths
from posteriori.graphs.plates import Plates, expand_edges
from posteriori.graphs.searches import find_open_walk, find_openers, order_nodes, search, spread
from posteriori.graphs.undirected_graph import UndirectedGraph
from posteriori.numerics.compilation import as_kernel_indices
from posteriori.numerics.lazy import networkx
from posteriori.numerics.types import Array, IntArray

__all__ = ["DirectedGraph"]

#: Nodes of a cycle that an error names.
_NAMED = 12


@final
class DirectedGraph(GraphValue):
    r"""A graph of arrows from parents to children, such as that of a Bayesian network.

    It stands for :math:`p(x) = \prod_i p(x_i \mid \mathrm{parents}_i)`, and :meth:`is_separated`
    tells which variables are independent in every distribution of that form.

    Parameters
    ----------
    edges : iterable of pairs (parent, child), or array (E, 2)
        Nodes are strings or anything else that is hashable; an edge that is repeated counts once.
    nodes : node or iterable of nodes
        Nodes without edges, or all nodes in the order that they shall have.
    acyclic : bool
        False keeps a graph with cycles to look at, of which separation is not defined.

    Raises
    ------
    ValueError
        If the edges form a cycle, which is named.

    Examples
    --------
    >>> g = DirectedGraph([("A", "C"), ("B", "C"), ("B", "D"), ("C", "D"), ("C", "E"), ("D", "E")])
    >>> g.parents("D"), g.markov_blanket("D")
    ({'C', 'B'}, {'C', 'B', 'E'})
    >>> g.is_separated("A", "D", given=["B", "C"])
    True
    >>> g.separation("A", "D", given="C")
    A and D are not separated given C:
    A → C ← B → D is open
      C lets pass: collider, given
      B lets pass: fork, not given
    """

    directed = True

    def __init__(
        self, edges: Iterable[Iterable[Node]] | Array = (), nodes: Nodes = (), acyclic: bool = True
    ) -> None:
        super().__init__(edges, nodes)
        if acyclic:
            self._require_acyclic("leave an edge out, or keep it to look at by acyclic=False")

    @cached_property
    def _parents(self) -> Adjacency:
        return link_nodes(self._pairs[:, ::-1], len(self.nodes))

    @cached_property
    def _children(self) -> Adjacency:
        return link_nodes(self._pairs, len(self.nodes))

    # -- families --------------------------------------------------------------------------

    def parents(self, nodes: Nodes) -> NodeSet:
        """Return all nodes with an arrow to a node, or to one of several and not among them."""
        return self._linked(self._parents, self._numbers(nodes))

    def children(self, nodes: Nodes) -> NodeSet:
        """Return all nodes with an arrow from a node, or from one of several and not among them."""
        return self._linked(self._children, self._numbers(nodes))

    def ancestors(self, nodes: Nodes) -> NodeSet:
        """Return parents, their parents and so on, without the nodes themselves."""
        return self._reached(self._parents, self._numbers(nodes))

    def descendants(self, nodes: Nodes) -> NodeSet:
        """Return children, their children and so on, without the nodes themselves."""
        return self._reached(self._children, self._numbers(nodes))

    def markov_blanket(self, nodes: Nodes) -> NodeSet:
        """Return parents, children and the children's other parents.

        Given these, a node is independent of all others; of several nodes, those outside.

        Examples
        --------
        >>> DirectedGraph([("A", "C"), ("B", "C"), ("C", "D")]).markov_blanket("A")
        {'C', 'B'}
        """
        chosen = self._numbers(nodes)
        children = {end for node in chosen for end in self._children.of(node)}
        around = children | {end for node in (*chosen, *children) for end in self._parents.of(node)}
        return self._named(sorted(around.difference(chosen)))

    def _linked(self, links: Adjacency, chosen: list[int]) -> NodeSet:
        found = {end for node in chosen for end in links.of(node)}
        return self._named(sorted(found.difference(chosen)))

    def _reached(self, links: Adjacency, chosen: list[int]) -> NodeSet:
        reached, queue = np.zeros((2, len(self.nodes)), dtype=np.int64)
        reached[chosen] = 1
        queue[: len(chosen)] = chosen
        search(spread, links, reached, queue, len(chosen))
        reached[chosen] = 0
        return self._named(np.flatnonzero(reached).tolist())

    # -- order -----------------------------------------------------------------------------

    def topological_order(self) -> tuple[Node, ...]:
        """Return the nodes in an order in which parents come before children."""
        self._require_acyclic("no order has parents before children")
        return tuple(self.nodes[i] for i in self._order.tolist())

    @cached_property
    def _order(self) -> IntArray:
        """As many nodes as have all of their parents before them."""
        waits_for, order = np.diff(self._parents.start), np.zeros(len(self.nodes), dtype=np.int64)
        placed: int = search(order_nodes, self._children, waits_for, order)
        return order[:placed]

    @cached_property
    def cycle(self) -> tuple[Node, ...]:
        """Nodes of a cycle, each with an arrow to the next and the last to the first, or ().

        Examples
        --------
        >>> DirectedGraph([("A", "C"), ("C", "D"), ("D", "A")], acyclic=False).cycle
        ('A', 'C', 'D')
        """
        left = set(range(len(self.nodes))).difference(self._order.tolist())
        walk: dict[int, None] = {}
        node = min(left, default=-1)
        while left and node not in walk:  # each that is left has a parent that is left
            walk[node] = None
            node = next(parent for parent in self._parents.of(node) if parent in left)
        backwards = list(walk)
        numbers = backwards[backwards.index(node) :][::-1] if left else []
        first = numbers.index(min(numbers)) if numbers else 0
        return tuple(self.nodes[i] for i in numbers[first:] + numbers[:first])

    def _require_acyclic(self, remedy: str) -> None:
        if len(self._order) < len(self.nodes):
            cycle = self.cycle
            if len(cycle) > _NAMED:
                cycle = (*cycle[:_NAMED], f"… ({len(cycle)} nodes)")
            raise ValueError(
                f"edges form a cycle {' → '.join(map(str, (*cycle, cycle[0])))}; {remedy}"
            )

    # -- separation ------------------------------------------------------------------------

    def is_separated(self, a: Nodes, b: Nodes, given: Nodes = ()) -> bool:
        """Tell whether two sets of nodes are independent given a third, by the graph alone.

        They are if every path between them is blocked (d-separation): by a chain → x → or fork
        ← x → whose node is given, or by a collider → x ← of which neither x nor a descendant is.
        Where they are separated, they are independent in all distributions with this graph; where
        they are not, in almost none.

        Parameters
        ----------
        a, b, given : node or iterable of nodes
            Sets that do not overlap; ``a`` and ``b`` are not empty. Cost O(nodes + edges).
        """
        return self._find_walk(*self._disjoint(a, b, given))[0] < 0

    def separation(self, a: Nodes, b: Nodes, given: Nodes = ()) -> Separation:
        """Tell whether two sets of nodes are separated given a third, and if not, why.

        Returns
        -------
        Separation
            With ``separated`` and ``path``, a shortest open path or None.

        Examples
        --------
        >>> g = DirectedGraph([("rain", "wet"), ("sprinkler", "wet"), ("wet", "slippery")])
        >>> print(g.separation("rain", "sprinkler", given="slippery"))
        rain and sprinkler are not separated given slippery:
        rain → wet ← sprinkler is open
          wet lets pass: collider, its descendant slippery is given
        >>> print(g.separation("rain", "sprinkler"))
        rain and sprinkler are separated: every path is blocked
        """
        first, second, known = self._disjoint(a, b, given)
        state, came, opener = self._find_walk(first, second, known)
        path = None
        if state >= 0:
            states = [state]
            while came[states[-1]] != states[-1] + 1:
                states.append(int(came[states[-1]]) - 1)
            walk = states[::-1]
            forward = [entered % 2 == 1 for entered in walk[1:]]
            path = describe_path(self.nodes, [s // 2 for s in walk], forward, opener)
        return Separation(self._named(first), self._named(second), self._named(known), path)

    def paths(
        self, a: Nodes, b: Nodes, given: Nodes = (), limit: int | None = 50
    ) -> Iterator[GraphPath]:
        """Return the paths between two sets of nodes one by one, the shortest first.

        Parameters
        ----------
        a, b, given : node or iterable of nodes
            As in :meth:`is_separated`. Inner nodes of a path are neither in ``a`` nor in ``b``.
        limit : int or None
            How many paths at most; there may be exponentially many, and None is for all.

        Examples
        --------
        >>> g = DirectedGraph([("A", "C"), ("B", "C"), ("B", "D"), ("C", "D")])
        >>> for path in g.paths("A", "D", given=["B", "C"]):
        ...     print(path, path.roles, path.blocked_by)
        A → C → D ('chain',) ('C',)
        A → C ← B → D ('collider', 'fork') ('B',)
        """
        first, second, known = self._disjoint(a, b, given)
        self._require_acyclic("separation is not defined")
        opener = self._find_openers(known)
        found = shortest_paths(self.skeleton()._links, first, second)
        return (self._describe(path, opener) for path in islice(found, limit))

    def _describe(self, path: tuple[int, ...], opener: IntArray) -> GraphPath:
        forward = [b in self._children.of(a) for a, b in pairwise(path)]
        return describe_path(self.nodes, path, forward, opener)

    def _find_walk(
        self, a: list[int], b: list[int], given: list[int]
    ) -> tuple[int, IntArray, IntArray]:
        """Return the last state of an open walk or −1, what came before each, and the openers."""
        self._require_acyclic("separation is not defined")
        n = len(self.nodes)
        target, opener = np.zeros(n, dtype=np.int64), self._find_openers(given)
        target[b] = 1
        came, queue = np.zeros((2, 2 * n), dtype=np.int64)
        links, sources = (self._parents, self._children), as_kernel_indices(np.array(a))
        state: int = search(find_open_walk, *links, sources, target, opener, came, queue)
        return state, came, opener

    def _find_openers(self, given: list[int]) -> IntArray:
        opener, queue = np.zeros((2, len(self.nodes)), dtype=np.int64)
        if given:
            search(find_openers, self._parents, as_kernel_indices(np.array(given)), opener, queue)
        return opener

    # -- other graphs ----------------------------------------------------------------------

    def skeleton(self) -> UndirectedGraph:
        """Return the graph without directions; it may claim less, and more, than this one."""
        return UndirectedGraph._of(self._position, self._pairs)

    def moral(self) -> UndirectedGraph:
        """Return the graph without directions in which the parents of each node are linked.

        The least undirected graph that claims nothing that this one does not.

        Examples
        --------
        >>> DirectedGraph([("D", "A"), ("A", "C"), ("B", "C")]).moral()
        UndirectedGraph([('D', 'A'), ('A', 'C'), ('C', 'B'), ('A', 'B')])
        """
        return UndirectedGraph._of(
            self._position, np.concatenate([self._pairs, *_pairs_of_parents(self._parents)])
        )

    def without_incoming(self, nodes: Nodes) -> Self:
        """Return the graph without the arrows into some nodes: these are set from outside."""
        return self._keep(~np.isin(self._pairs[:, 1], self._numbers(nodes)))

    def without_outgoing(self, nodes: Nodes) -> Self:
        """Return the graph without the arrows out of some nodes."""
        return self._keep(~np.isin(self._pairs[:, 0], self._numbers(nodes)))

    def _keep(self, kept: Any) -> Self:
        return self._of(self._position, self._pairs[kept])

    def expand_plates(self, plates: Plates, sizes: Mapping[str, int]) -> DirectedGraph:
        """Return the graph with a copy of each node for each place on its plates.

        Parameters
        ----------
        plates : mapping
            The plate of a node, or its plates; other nodes stand on none.
        sizes : mapping of str to int
            How often each plate is repeated.

        Examples
        --------
        >>> g = DirectedGraph([("W", "T"), ("X", "T")])
        >>> g.expand_plates({"T": "n", "X": "n"}, {"n": 2}).edges
        (('W', 'T[0]'), ('W', 'T[1]'), ('X[0]', 'T[0]'), ('X[1]', 'T[1]'))
        """
        nodes, edges = expand_edges(self.nodes, self.edges, plates, sizes)
        return DirectedGraph(edges, nodes, acyclic=not self.cycle)

    @classmethod
    def from_order(cls, order: Iterable[Node], independent: Oracle | Any) -> Self:
        """Return the graph in which each node has as few parents among those before it as suffice.

        Parameters
        ----------
        order : iterable of nodes
            Causes before effects give few edges, other orders more.
        independent : function, graph or table
            Who tells whether x and y are independent given others: a function of (x, y, given), a
            graph by its separation, or whoever has ``is_independent(x, y, given)``, as a
            ``JointTable``. Asked n (n − 1) / 2 times.

        Examples
        --------
        >>> alarm = DirectedGraph(
        ...     [("burglary", "alarm"), ("quake", "alarm"), ("alarm", "John"), ("alarm", "Mary")]
        ... )
        >>> DirectedGraph.from_order(["Mary", "John", "alarm", "burglary", "quake"], alarm).edges
        (('Mary', 'John'), ('Mary', 'alarm'), ('John', 'alarm'), ('alarm', 'burglary'),
         ('alarm', 'quake'), ('burglary', 'quake'))
        """
        parents = minimal_parents(order, as_oracle(independent))
        return cls([(y, x) for x, chosen in parents.items() for y in chosen], tuple(parents))

    # -- other libraries -------------------------------------------------------------------

    @classmethod
    def from_networkx(cls, graph: Any, acyclic: bool = True) -> Self:
        """Return the nodes and edges of a ``networkx.DiGraph``."""
        return cls._read_networkx(graph, acyclic=acyclic)

    def to_networkx(self) -> Any:
        """Return the graph as a ``networkx.DiGraph``."""
        graph = networkx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph


def _pairs_of_parents(parents: Adjacency) -> Iterator[IntArray]:
    """Return pairs of nodes with a common child, for all children with equally many parents."""
    counts = np.diff(parents.start)
    for count in np.unique(counts[counts > 1]).tolist():
        first = parents.start[:-1][counts == count]
        together = parents.neighbours[first[:, None] + np.arange(count)]  # (children, parents)
        i, j = np.triu_indices(count, k=1)
        yield np.stack([together[:, i].ravel(), together[:, j].ravel()], axis=1)
