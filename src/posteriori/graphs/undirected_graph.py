"""Undirected graphs: neighbours, separation, cliques."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Any, Self, final

import numpy as np

from posteriori.graphs.adjacency import Adjacency, link_both_ways
from posteriori.graphs.cliques import list_cliques
from posteriori.graphs.graph_value import GraphValue
from posteriori.graphs.junction_tree import (
    JunctionTree,
    added_edges,
    eliminate_nodes,
    join_cliques,
    read_sizes,
)
from posteriori.graphs.node_sets import Node, Nodes, NodeSet
from posteriori.graphs.searches import search, spread
from posteriori.numerics.lazy import networkx
from posteriori.numerics.types import IntArray

__all__ = ["UndirectedGraph"]


@final
class UndirectedGraph(GraphValue):
    """A graph whose edges have no direction, such as that of a Markov random field.

    Parameters
    ----------
    edges : iterable of pairs of nodes, or array (E, 2)
        Nodes are strings or anything else that is hashable; an edge that is repeated counts once.
    nodes : node or iterable of nodes
        Nodes without edges, or all nodes in the order that they shall have.

    Examples
    --------
    >>> g = UndirectedGraph(
    ...     [("A", "B"), ("A", "C"), ("C", "D"), ("B", "D"), ("B", "E"), ("D", "E")], nodes="F"
    ... )
    >>> g.neighbours("B")
    {'A', 'D', 'E'}
    >>> g.is_separated("A", "E", given=["B", "C"])
    True
    >>> sorted(sorted(clique) for clique in g.maximal_cliques())
    [['A', 'B'], ['A', 'C'], ['B', 'D', 'E'], ['C', 'D'], ['F']]
    """

    directed = False

    def _set(self, position: dict[Node, int], pairs: IntArray) -> None:
        loops = pairs[pairs[:, 0] == pairs[:, 1], 0]
        if len(loops):
            node = list(position)[loops[0]]
            raise ValueError(f"an edge links two nodes, got one from {node!r} to itself")
        super()._set(position, pairs)

    @cached_property
    def _links(self) -> Adjacency:
        return link_both_ways(self._pairs, len(self.nodes))

    # -- neighbours and separation ---------------------------------------------------------

    def neighbours(self, nodes: Nodes) -> NodeSet:
        """Return all nodes that are linked to a node, or to one of several and not among them."""
        chosen = self._numbers(nodes)
        found = {end for node in chosen for end in self._links.of(node)}
        return self._named(sorted(found.difference(chosen)))

    def markov_blanket(self, nodes: Nodes) -> NodeSet:
        """Return the neighbours: given them, a node is independent of all others."""
        return self.neighbours(nodes)

    def is_separated(self, a: Nodes, b: Nodes, given: Nodes = ()) -> bool:
        """Tell whether every path between two sets of nodes passes a third.

        Parameters
        ----------
        a, b, given : node or iterable of nodes
            Sets that do not overlap; ``a`` and ``b`` are not empty. Cost O(nodes + edges).
        """
        first, second, known = self._disjoint(a, b, given)
        reached, queue = np.zeros((2, len(self.nodes)), dtype=np.int64)
        reached[known] = reached[first] = 1
        queue[: len(first)] = first
        search(spread, self._links, reached, queue, len(first))
        return not reached[second].any()

    # -- cliques ---------------------------------------------------------------------------

    def maximal_cliques(self, limit: int | None = None) -> Iterator[NodeSet]:
        """Return sets of nodes that are all linked and cannot be extended, one by one.

        There may be exponentially many: 3^(n/3) of n nodes. ``limit`` ends the iteration; a node
        without edges is a clique of its own.

        Examples
        --------
        >>> square = UndirectedGraph([("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])
        >>> next(square.maximal_cliques())
        {'A', 'B'}
        """
        return (self._named(clique) for clique in islice(list_cliques(self._links), limit))

    # -- triangulation ---------------------------------------------------------------------

    def triangulate(
        self, order: str | Iterable[Node] = "min-fill", sizes: Mapping[Node, int] | None = None
    ) -> UndirectedGraph:
        """Return the graph with the edges that eliminating its nodes adds.

        Parameters
        ----------
        order : {"min-fill", "min-weight"} or iterable of nodes
            Which node goes next: that whose neighbours lack the fewest edges, that with the smallest
            table, or the next of an order that names every node.
        sizes : mapping of nodes to int, optional
            States of each node, by which tables are measured and ties are settled; 2 by default.

        Examples
        --------
        >>> square = UndirectedGraph([("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")])
        >>> (
        ...     len(square.triangulate().edges),
        ...     ("B", "D") in square.triangulate(["A", "B", "C", "D"]).edges,
        ... )
        (5, True)
        """
        states = read_sizes(sizes, self._position)
        added = added_edges(eliminate_nodes(self._links, self._position, order, states))
        return self._of(self._position, np.concatenate([self._pairs, added]))

    def junction_tree(
        self, sizes: Mapping[Node, int] | None = None, order: str | Iterable[Node] = "min-fill"
    ) -> JunctionTree:
        """Return the cliques of :meth:`triangulate` as a tree, which exact inference works on.

        Parameters
        ----------
        sizes : mapping of nodes to int, optional
            States of each node, of which ``cells`` counts the combinations; 2 by default.
        order : {"min-fill", "min-weight"} or iterable of nodes
            As in :meth:`triangulate`.

        Examples
        --------
        >>> from posteriori.graphs import DirectedGraph
        >>> g = DirectedGraph(
        ...     [("A", "C"), ("B", "C"), ("B", "D"), ("C", "D"), ("C", "E"), ("D", "E")]
        ... )
        >>> print(g.moral().junction_tree())
        JunctionTree(3 cliques, width 2, 24 cells)
          {'A', 'C', 'B'} – {'C', 'B'} – {'C', 'B', 'D'}
          {'C', 'D', 'E'} – {'C', 'D'} – {'C', 'B', 'D'}
        """
        states = read_sizes(sizes, self._position)
        elimination = eliminate_nodes(self._links, self._position, order, states)
        return join_cliques(elimination, self.nodes, states)

    # -- other libraries -------------------------------------------------------------------

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """Return the nodes and edges of a ``networkx.Graph``."""
        return cls._read_networkx(graph)

    def to_networkx(self) -> Any:
        """Return the graph as a ``networkx.Graph``."""
        graph = networkx.Graph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.edges)
        return graph
