"""Nodes and edges of Forney-style factor graphs, and how factors on variables become them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import count
from typing import Any, NamedTuple, Protocol

from posteriori.factors import Factor

__all__ = ["Edge", "Expandable", "Expansion", "Node", "connect"]


class Node(NamedTuple):
    """A factor.

    Attributes
    ----------
    name : str
    kind : str
        "tabular", "equality", "clamp", "gaussian", "addition", "gain", "dot", or a family.
    edges : tuple of str
        What it depends on.
    roles : tuple of str
        What each edge is to the node, in the words of
        :func:`posteriori.inference.messages.node_messages.message`.
    parameters : mapping
        What is known at the node, such as its table.
    plates : tuple of str
        Plates around it, from the outside in: it stands for that many nodes.
    """

    name: str
    kind: str
    edges: tuple[str, ...]
    roles: tuple[str, ...]
    parameters: Mapping[str, Any] = {}
    plates: tuple[str, ...] = ()

    @property
    def is_factor(self) -> bool:
        """Whether it is a factor of its own: an equality node only copies a variable."""
        return self.kind != "equality"

    def table(self) -> Factor:
        """Return the table of a discrete factor, over its roles."""
        try:
            table: Factor = self.parameters["factor"]
        except KeyError:
            raise TypeError(
                f"node {self.name!r} of kind {self.kind} is no table: this works on discrete "
                "graphs only; make one with ForneyGraph.from_factors"
            ) from None
        return table


class Edge(NamedTuple):
    """A variable, or one of the copies that equality nodes make of it.

    Attributes
    ----------
    name : str
        The variable's own, with primes on copies.
    variable : str
    nodes : tuple of str
        The nodes at its ends: one for a half-edge. From the first to the second is forward.
    """

    name: str
    variable: str
    nodes: tuple[str, ...]

    @property
    def is_half(self) -> bool:
        """Whether it ends in one node only."""
        return len(self.nodes) == 1


class Expansion(NamedTuple):
    """Factors over variables, what they multiply to, and why messages cannot be passed.

    ``plates`` has what is written at each plate, ``around`` those of each variable.
    """

    nodes: list[Node]
    log_value: Callable[[Mapping[str, Any]], float]
    obstacle: str | None
    plates: dict[str, str]
    around: dict[str, tuple[str, ...]]


class Expandable(Protocol):
    """A model that can write itself as nodes on variables."""

    def expand(self, data: Mapping[str, Any] | None = None, /) -> Expansion:
        """Return the factors of the model, with observations as clamps."""
        ...


def connect(
    raw: Iterable[Node], around: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[dict[str, Node], dict[str, Edge]]:
    """Join factors on variables: insert equality nodes, name the copies, and find the ends.

    The edges of ``raw`` are variables; those of the result join at most two nodes. ``around`` has
    the plates of variables.
    """
    plates = around or {}
    factors = list(raw)
    ends: dict[str, list[tuple[int, int]]] = {}
    for i, node in enumerate(factors):
        for j, variable in enumerate(node.edges):
            ends.setdefault(variable, []).append((i, j))
    names = [list(node.edges) for node in factors]
    equalities: list[Node] = []
    of = {variable: variable for variable in ends}
    for variable, places in ends.items():
        if len(places) < 3:
            continue
        copies = (c for k in count() if (c := _copy(variable, k)) == variable or c not in ends)
        # a chain of equality nodes: (first, second, link), (link, third, link), …
        link = next(copies)
        names[places[0][0]][places[0][1]] = link
        for k, (i, j) in enumerate(places[1:-1], 1):
            names[i][j] = next(copies)
            onward = next(copies)
            of |= {names[i][j]: variable, onward: variable}
            made = _equality(variable, k, (link, names[i][j], onward))
            equalities.append(made._replace(plates=plates.get(variable, ())))
            link = onward
        names[places[-1][0]][places[-1][1]] = link
    nodes = {
        node.name: node._replace(edges=tuple(edges))
        for node, edges in zip(factors, names, strict=True)
    }
    nodes |= {node.name: node for node in equalities}
    touching: dict[str, list[str]] = {}
    for node in nodes.values():
        for edge in node.edges:
            touching.setdefault(edge, []).append(node.name)
    return nodes, {n: Edge(n, of[n], tuple(at)) for n, at in touching.items()}


def _equality(variable: str, k: int, edges: tuple[str, ...]) -> Node:
    name = f"= {variable}" if k == 1 else f"= {variable} ({k})"
    return Node(name, "equality", edges, edges)


def _copy(variable: str, k: int) -> str:
    return variable + ("'" * k if k < 4 else f"'{k}")
