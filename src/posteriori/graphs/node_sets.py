"""Sets of nodes that remember their order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Self, TypeAlias

__all__ = ["Node", "NodeSet", "Nodes"]

Node: TypeAlias = Hashable
#: One node, or several.
Nodes: TypeAlias = Hashable | Iterable[Hashable]


class NodeSet(frozenset[Node]):
    """A frozen set of nodes that is listed in the order of its graph, run after run.

    Examples
    --------
    >>> NodeSet(["B", "A"])
    {'B', 'A'}
    >>> NodeSet(["B", "A"]) == {"A", "B"}
    True
    """

    _order: tuple[Node, ...]

    def __new__(cls, nodes: Iterable[Node] = ()) -> Self:
        """Keep the order in which nodes first come."""
        order = tuple(dict.fromkeys(nodes))
        self = super().__new__(cls, order)
        self._order = order
        return self

    def __iter__(self) -> Iterator[Node]:
        return iter(self._order)

    def __repr__(self) -> str:
        return "{" + ", ".join(map(repr, self._order)) + "}"

    def __str__(self) -> str:
        return ", ".join(map(str, self._order))
