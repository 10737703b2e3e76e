"""What directed and undirected graphs share: named nodes, numbered links, being a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice
from typing import Any, ClassVar, NoReturn, Self

import numpy as np

from posteriori.graphs.adjacency import distinct_pairs
from posteriori.graphs.edge_lists import as_nodes, number_edges
from posteriori.graphs.node_sets import Node, Nodes, NodeSet
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import hint, listed

__all__ = ["GraphValue"]

#: Nodes and edges up to which a graph prints all of them.
_PRINTED = 24
#: Names among which the one nearest to an unknown name is looked for.
_COMPARED = 20_000


class GraphValue:
    """Nodes and pairs of them; the base of directed and undirected graphs.

    Nodes are numbered in the order in which they come; all algorithms work on the numbers.
    """

    #: Whether (a, b) and (b, a) are two edges.
    directed: ClassVar[bool]

    nodes: tuple[Node, ...]
    _position: dict[Node, int]
    _pairs: IntArray

    def __init__(self, edges: Iterable[Iterable[Node]] | Array = (), nodes: Nodes = ()) -> None:
        self._set(*number_edges(edges, nodes))

    @classmethod
    def _of(cls, position: dict[Node, int], pairs: IntArray) -> Self:
        """Return the graph of nodes that have their numbers, and of pairs of these."""
        self = object.__new__(cls)
        self._set(position, pairs)
        return self

    def _set(self, position: dict[Node, int], pairs: IntArray) -> None:
        once = distinct_pairs(pairs if self.directed else np.sort(pairs, axis=1), len(position))
        once.setflags(write=False)
        self.__dict__.update(nodes=tuple(position), _position=position, _pairs=once)

    @classmethod
    def _read_networkx(cls, graph: Any, **options: bool) -> Self:
        """Return the nodes and edges of a graph of networkx, if its edges are of our kind."""
        if not hasattr(graph, "is_directed"):
            raise TypeError(f"graph must be a graph of networkx, got {type(graph).__name__}")
        if graph.is_directed() != cls.directed:
            kinds = (
                ("an undirected", "a directed") if cls.directed else ("a directed", "an undirected")
            )
            other = "UndirectedGraph" if cls.directed else "DirectedGraph"
            raise ValueError(
                f"graph is {kinds[0]} one, {cls.__name__} needs {kinds[1]} one; "
                f"{other}.from_networkx reads it"
            )
        return cls(graph.edges(), list(graph.nodes), **options)

    # -- names -----------------------------------------------------------------------------

    @cached_property
    def edges(self) -> tuple[tuple[Node, Node], ...]:
        """Pairs of nodes, each once."""
        names = self.nodes
        return tuple((names[i], names[j]) for i, j in self._pairs.tolist())

    def _numbers(self, nodes: Nodes, argument: str = "nodes", *, some: bool = False) -> list[int]:
        """Return the numbers of one node or of several, each once."""
        chosen = as_nodes(nodes, self._position)
        if some and not chosen:
            raise ValueError(f"{argument} needs at least one node")
        try:
            return [self._position[node] for node in chosen]
        except (KeyError, TypeError):
            self._refuse(next(node for node in chosen if not self._has(node)), argument)

    def _named(self, numbers: Iterable[int]) -> NodeSet:
        return NodeSet(self.nodes[i] for i in numbers)

    def _has(self, node: object) -> bool:
        try:
            return node in self._position
        except TypeError:  # what cannot be hashed is no node
            return False

    def _refuse(self, node: object, argument: str) -> NoReturn:
        near = hint(node, islice(self.nodes, _COMPARED))
        raise ValueError(
            f"{argument} names {node!r}, which is no node; the nodes are {listed(self.nodes)}{near}"
        )

    def _disjoint(self, a: Nodes, b: Nodes, given: Nodes) -> tuple[list[int], list[int], list[int]]:
        """Return the numbers of three sets of nodes that must not overlap."""
        first = self._numbers(a, "a", some=True)
        second, known = self._numbers(b, "b", some=True), self._numbers(given, "given")
        for one, other, names in (
            (first, second, "a and b"),
            (first, known, "a and given"),
            (second, known, "b and given"),
        ):
            both = set(one).intersection(other)
            if both:
                node = self.nodes[min(both)]
                raise ValueError(f"{names} must not overlap, {node!r} is in both")
        return first, second, known

    # -- being a value ---------------------------------------------------------------------

    def __contains__(self, node: object) -> bool:
        return self._has(node)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __len__(self) -> int:
        return len(self.nodes)

    def _edge_set(self) -> frozenset[Any]:
        return frozenset(self.edges if self.directed else map(frozenset, self.edges))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        same_size = len(self) == len(other) and len(self._pairs) == len(other._pairs)
        same_nodes = same_size and self._position.keys() == other._position.keys()
        return same_nodes and self._edge_set() == other._edge_set()

    def __hash__(self) -> int:
        return hash((type(self).__name__, frozenset(self.nodes), self._edge_set()))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self)._of, (self._position, self._pairs)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(
            f"a {type(self).__name__} is a value: make a new one instead of setting {name}"
        )

    def __repr__(self) -> str:
        name = type(self).__name__
        if len(self.nodes) + len(self._pairs) > _PRINTED:
            return f"{name}({len(self.nodes)} nodes, {len(self._pairs)} edges)"
        linked = {end for edge in self.edges for end in edge}
        alone = [node for node in self.nodes if node not in linked]
        return f"{name}({list(self.edges)!r}{f', nodes={alone!r}' if alone else ''})"
