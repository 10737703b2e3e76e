r"""Junction trees: the cliques of a triangulated graph, such that each node is in one connected part.

An order of elimination links the neighbours of each node when it goes. With these edges the graph has
no cycle of four or more nodes without a chord, and its maximal cliques form a tree in which cliques
that share nodes share them with all between. Exact inference costs one table for each clique,
:math:`\sum_c \prod_{i \in c} K_i` cells for :math:`K_i` states of node i.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from posteriori.graphs.adjacency import Adjacency
from posteriori.graphs.node_sets import Node, NodeSet
from posteriori.graphs.orders.clique_tree import make_clique_tree
from posteriori.graphs.orders.elimination_order import Elimination, eliminate_all, weigh_sizes
from posteriori.numerics.types import IntArray
from posteriori.numerics.validation import hint

__all__ = ["JunctionTree", "added_edges", "eliminate_nodes", "join_cliques", "read_sizes"]

#: Ways to choose the next node: fewest new edges, or the smallest table.
_METHODS = ("min-fill", "min-weight")


@dataclass(frozen=True, repr=False)
class JunctionTree:
    """Cliques of a graph as a tree, one tree for each connected part.

    Attributes
    ----------
    cliques : tuple of NodeSet
    edges : tuple of (int, int)
        Numbers of cliques that are neighbours in the tree.
    separators : tuple of NodeSet
        What the two cliques of each edge share.
    cells : int
        Cells of all tables together.
    """

    cliques: tuple[NodeSet, ...]
    edges: tuple[tuple[int, int], ...]
    separators: tuple[NodeSet, ...]
    cells: int

    @property
    def width(self) -> int:
        """Nodes of the largest clique but one: 1 for trees."""
        return max(map(len, self.cliques), default=0) - 1

    def __str__(self) -> str:
        lines = [repr(self)]
        for (i, j), shared in zip(self.edges, self.separators, strict=True):
            lines.append(f"  {self.cliques[i]!r} – {shared!r} – {self.cliques[j]!r}")
        linked = {i for edge in self.edges for i in edge}
        alone = [clique for i, clique in enumerate(self.cliques) if i not in linked]
        return "\n".join([*lines, *(f"  {clique!r}" for clique in alone)])

    def __repr__(self) -> str:
        return f"JunctionTree({len(self.cliques)} cliques, width {self.width}, {self.cells} cells)"


def eliminate_nodes(
    links: Adjacency,
    position: Mapping[Node, int],
    order: str | Iterable[Node],
    sizes: Sequence[int],
) -> Elimination:
    """Eliminate all nodes, by a method or in an order that names each of them."""
    n = len(position)
    groups: list[IntArray]
    if isinstance(order, str):
        if order not in _METHODS:
            raise ValueError(
                f"order must be {' or '.join(map(repr, _METHODS))} or name all nodes, got "
                f"{order!r}{hint(order, _METHODS)}"
            )
        groups = [np.arange(n)]
    else:
        groups = [np.array([number]) for number in _read_order(order, position)]
    weights = weigh_sizes(np.array(sizes, dtype=np.float64))
    return eliminate_all(links, weights, groups, by_weight=order == "min-weight")


def added_edges(elimination: Elimination) -> IntArray:
    """Return pairs (E, 2) of a node and each one that it was joined with when it went."""
    first = np.repeat(elimination.order, np.diff(elimination.start))
    return np.stack([first, elimination.later], axis=1)


def join_cliques(
    elimination: Elimination, nodes: Sequence[Node], sizes: Sequence[int]
) -> JunctionTree:
    """Return the tree of cliques that an elimination makes."""
    tree = make_clique_tree(elimination, len(nodes))
    start = tree.start.tolist()
    members = [tree.nodes[i:j].tolist() for i, j in pairwise(start)]
    below = np.flatnonzero(tree.above >= 0).tolist()
    shared = [members[c][: tree.shared[c]] for c in below]
    return JunctionTree(
        tuple(_named(clique, nodes) for clique in members),
        tuple((c, int(tree.above[c])) for c in below),
        tuple(_named(separator, nodes) for separator in shared),
        sum(math.prod(sizes[i] for i in clique) for clique in members),
    )


def read_sizes(sizes: Mapping[Node, int] | None, position: Mapping[Node, int]) -> list[int]:
    """Return the states of each node in their order, 2 where none are said."""
    if sizes is None:
        return [2] * len(position)
    for node, size in sizes.items():
        if node not in position:
            raise ValueError(f"sizes names {node!r}, which is no node{hint(node, position)}")
        if not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"sizes must hold whole numbers from 1 on, {node!r} has {size!r}")
    for node in position:
        if node not in sizes:
            raise ValueError(f"sizes has no entry for {node!r}; give the states of every node")
    return [int(sizes[node]) for node in position]


def _read_order(order: Iterable[Node], position: Mapping[Node, int]) -> list[int]:
    chosen = list(order)
    for i, node in enumerate(chosen):
        if node not in position:
            raise ValueError(f"order names {node!r}, which is no node{hint(node, position)}")
        if node in chosen[:i]:
            raise ValueError(f"order holds {node!r} twice")
    missing = position.keys() - set(chosen)
    if missing:
        first = min(missing, key=position.__getitem__)
        raise ValueError(f"order must name all nodes, {first!r} is missing")
    return [position[node] for node in chosen]


def _named(numbers: Iterable[int], nodes: Sequence[Node]) -> NodeSet:
    return NodeSet(nodes[i] for i in sorted(numbers))
