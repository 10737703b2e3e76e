"""Nodes and edges as users write them, and the numbers that stand for them."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any, NoReturn, TypeGuard

import numpy as np

from posteriori.graphs.node_sets import Node, Nodes
from posteriori.numerics.types import Array, IntArray

__all__ = ["as_nodes", "number_edges"]


def number_edges(
    edges: Iterable[Iterable[Node]] | Array, nodes: Nodes
) -> tuple[dict[Node, int], IntArray]:
    """Return a number for each node, and edges (E, 2) of numbers.

    Nodes are numbered in the order in which they come, those of an array in rising order.
    """
    position: dict[Node, int] = {}
    try:
        _number(as_nodes(nodes), position)
        if isinstance(edges, np.ndarray) and edges.dtype.kind in "iuU":
            return position, _number_array(edges, position)
        return position, _number_pairs(edges, position)
    except TypeError as wrong:
        if "unhashable" not in str(wrong):
            raise
        raise TypeError(f"nodes must be hashable, as strings and numbers are: {wrong}") from None


def _number(nodes: Iterable[Node], position: dict[Node, int]) -> list[int]:
    return [position.setdefault(node, len(position)) for node in nodes]


def _number_array(edges: Array, position: dict[Node, int]) -> IntArray:
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"an array of edges has shape (E, 2), got {edges.shape}")
    names, where = np.unique(edges, return_inverse=True)
    numbers = np.array(_number(names.tolist(), position), dtype=np.int64)
    return numbers[where.reshape(-1, 2)]


def _number_pairs(edges: Any, position: dict[Node, int]) -> IntArray:
    if isinstance(edges, str) or not isinstance(edges, Iterable):
        raise TypeError(f"edges must be pairs of nodes, got {edges!r}")
    numbers: list[int] = []
    number, append = position.setdefault, numbers.append
    for edge in edges:
        if isinstance(edge, str):
            _refuse_edge(edge)
        try:
            a, b = edge
        except (TypeError, ValueError):
            _refuse_edge(edge)
        append(number(a, len(position)))
        append(number(b, len(position)))
    return np.array(numbers, dtype=np.int64).reshape(-1, 2)


def as_nodes(nodes: Nodes, known: Container[Node] = ()) -> list[Node]:
    """Return one node, or each of several once.

    A string is one node, and so is whatever is ``known`` as one: of nodes that are tuples, such as
    the cells of a grid, (0, 1) is a node and not two.
    """
    if isinstance(nodes, str) or not isinstance(nodes, Iterable) or _is_known(nodes, known):
        return [nodes]
    chosen: list[Any] = nodes.tolist() if isinstance(nodes, np.ndarray) else list(nodes)
    try:
        return list(dict.fromkeys(chosen))
    except TypeError:  # said by those who look the nodes up
        return chosen


def _is_known(node: object, known: Container[Node]) -> TypeGuard[Node]:
    try:
        return node in known
    except TypeError:
        return False


def _refuse_edge(edge: object) -> NoReturn:
    raise ValueError(f"an edge is a pair of nodes, got {edge!r}")
