"""Sets of nodes that remember their order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Set
from typing import TypeAlias

__all__ = ["Node", "NodeSet", "Nodes"]

Node: TypeAlias = Hashable
#: One node, or several.
Nodes: TypeAlias = Hashable | Iterable[Hashable]


class NodeSet(Set[Node]):
    """An immutable set of nodes that is listed in the order of its graph.

    Equal to any set of the same nodes; ``&``, ``|``, ``-`` and ``<=`` work as for sets.

    Examples
    --------
    >>> NodeSet(["B", "A"]) == {"A", "B"}
    True
    >>> NodeSet(["B", "A"]) | {"C"}
    {'B', 'A', 'C'}
    """

    __slots__ = ("_nodes",)

    def __init__(self, nodes: Iterable[Node] = ()) -> None:
        self._nodes = dict.fromkeys(nodes)

    def __contains__(self, node: object) -> bool:
        return node in self._nodes

    def __iter__(self) -> Iterator[Node]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)

    def __hash__(self) -> int:
        return self._hash()

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self._nodes)) + "}"

    def __str__(self) -> str:
        return ", ".join(map(str, self._nodes))
