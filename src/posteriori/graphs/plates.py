"""Plates written out: what stands on a plate is repeated, with a number behind its name.

Copies of two nodes on a common plate are linked where they have the same number there; from a node
that is not on a plate, an edge leads to every copy of one that is, and from every copy back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from posteriori.graphs.node_sets import Node
from posteriori.numerics.validation import hint

__all__ = ["Plates", "expand_edges"]

#: The plate of each node, or its plates.
Plates = Mapping[Node, str | Sequence[str]]


def expand_edges(
    nodes: Sequence[Node],
    edges: Sequence[tuple[Node, Node]],
    plates: Plates,
    sizes: Mapping[str, int],
) -> tuple[list[Node], list[tuple[Node, Node]]]:
    """Return nodes and edges with a copy of each node for each place on its plates."""
    plates_of = {node: _plates_of(node, plates, sizes) for node in nodes}
    for node in plates:
        if node not in plates_of:
            raise ValueError(f"plates names {node!r}, which is no node{hint(node, nodes)}")
    copies = [
        _name(node, plates_of[node], place)
        for node in nodes
        for place in _places(plates_of[node], sizes)
    ]
    if len(set(copies)) < len(copies):
        twice = next(name for i, name in enumerate(copies) if name in copies[:i])
        raise ValueError(f"the copies of a node would be called {twice!r}, as another node is")
    return copies, [copy for edge in edges for copy in _copy_edge(edge, plates_of, sizes)]


def _plates_of(node: Node, plates: Plates, sizes: Mapping[str, int]) -> tuple[str, ...]:
    chosen = plates.get(node, ())
    on = (chosen,) if isinstance(chosen, str) else tuple(chosen)
    for plate in on:
        if plate not in sizes:
            raise ValueError(
                f"{node!r} is on plate {plate!r}, which has no size in sizes{hint(plate, sizes)}"
            )
        if not isinstance(sizes[plate], int) or sizes[plate] < 0:
            raise ValueError(
                f"sizes must hold whole numbers from 0 on, {plate!r} has {sizes[plate]!r}"
            )
    if len(set(on)) < len(on):
        raise ValueError(f"plates of {node!r} must be distinct, got {on!r}")
    return on


def _copy_edge(
    edge: tuple[Node, Node], plates_of: Mapping[Node, tuple[str, ...]], sizes: Mapping[str, int]
) -> Iterator[tuple[Node, Node]]:
    a, b = edge
    both = tuple(dict.fromkeys((*plates_of[a], *plates_of[b])))
    for place in _places(both, sizes):
        yield _name(a, plates_of[a], place), _name(b, plates_of[b], place)


def _places(plates: Sequence[str], sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    for numbers in product(*(range(sizes[plate]) for plate in plates)):
        yield dict(zip(plates, numbers, strict=True))


def _name(node: Node, plates: Sequence[str], place: Mapping[str, int]) -> Node:
    return f"{node}[{','.join(str(place[plate]) for plate in plates)}]" if plates else node
