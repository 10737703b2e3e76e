"""Nodes, edges and plates of a factor graph, and walks on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from posteriori.factors import Factor
from posteriori.forney.forney_nodes import Edge, Node

__all__ = ["GraphStructure"]


class GraphStructure:
    """What a factor graph is made of; what passes messages or draws needs no more.

    Attributes
    ----------
    nodes : dict of str to Node
    edges : dict of str to Edge
    plates : dict of str to str
        The plates of a model, each with what is written at its border.
    obstacle : str or None
        Why messages cannot be passed on the whole graph, if so.
    """

    nodes: dict[str, Node]
    edges: dict[str, Edge]
    plates: dict[str, str]
    obstacle: str | None

    def __init__(
        self,
        nodes: Mapping[str, Node],
        edges: Mapping[str, Edge],
        *,
        obstacle: str | None = None,
        plates: Mapping[str, str] | None = None,
    ) -> None:
        self.nodes = dict(nodes)
        self.edges = dict(edges)
        self.plates = dict(plates or {})
        self.obstacle = obstacle

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables, without their copies."""
        return tuple(dict.fromkeys(edge.variable for edge in self.edges.values()))

    @property
    def half_edges(self) -> tuple[str, ...]:
        """Edges that end in one node only."""
        return tuple(name for name, edge in self.edges.items() if edge.is_half)

    def labels(self, edge: str) -> tuple[Any, ...]:
        """Return the labels of an edge of a tabular graph."""
        variable = self.edges[edge].variable
        for node in self.nodes.values():
            for role, name in zip(node.roles, node.edges, strict=True):
                if node.is_factor and self.edges[name].variable == variable:
                    return node.table().labels[role]
        raise AssertionError("an edge ends in a factor")

    def tables_on_edges(self, node: Node) -> list[Factor]:
        """Return the factor of a node over its edges; equality as identities of pairs."""
        if node.is_factor:
            return [node.table().rename(dict(zip(node.roles, node.edges, strict=True)))]
        first, *others = node.edges
        labels = self.labels(first)
        return [Factor([first, o], np.eye(len(labels)), [labels, labels]) for o in others]

    def tables_on_variables(self) -> dict[str, Factor]:
        """Return the factors over variables by node; equality nodes, which only copy, have none."""
        found = {}
        for name, node in self.nodes.items():
            if node.is_factor:
                edges = zip(node.roles, node.edges, strict=True)
                found[name] = node.table().rename({r: self.edges[e].variable for r, e in edges})
        return found

    def neighbours(self, node: str) -> tuple[str, ...]:
        """Return the nodes that share an edge with a node."""
        found: dict[str, None] = {}
        for name in self._node(node).edges:
            found |= dict.fromkeys(other for other in self.edges[name].nodes if other != node)
        return tuple(found)

    @property
    def components(self) -> tuple[frozenset[str], ...]:
        """Sets of nodes that are connected with one another."""
        left = dict.fromkeys(self.nodes)
        found = []
        while left:
            reached = self._reach(next(iter(left)))
            found.append(frozenset(reached))
            left = {name: None for name in left if name not in reached}
        return tuple(found)

    def edge_in(self, component: Iterable[str]) -> str | None:
        """Return an edge of a component; None where it is a constant."""
        edges = {edge for name in component for edge in self.nodes[name].edges}
        return next((edge for edge in self.edges if edge in edges), None)

    @property
    def is_tree(self) -> bool:
        """Whether there is no cycle, so that messages from the leaves give exact marginals."""
        full = sum(not edge.is_half for edge in self.edges.values())
        return full == len(self.nodes) - len(self.components)

    def is_separated(
        self, a: str | Iterable[str], b: str | Iterable[str], given: str | Iterable[str] = ()
    ) -> bool:
        """Tell whether every path between two sets of variables meets a given one.

        If so, they are independent given these variables; the graph may not show every
        independence.
        """
        sources, targets, known = (_as_set(names) for names in (a, b, given))
        for name in sources | targets | known:
            if name not in self.variables:
                raise KeyError(f"the graph has no variable {name!r}")
        reached = sources - known
        stack = list(reached)
        while stack:
            variable = stack.pop()
            for node in self.nodes.values():
                touched = {self.edges[edge].variable for edge in node.edges}
                if variable in touched:
                    new = touched - known - reached
                    reached |= new
                    stack.extend(new)
        return not reached & (targets - known)

    # -- helpers ---------------------------------------------------------------------------

    def _node(self, name: str) -> Node:
        try:
            return self.nodes[name]
        except KeyError:
            raise KeyError(
                f"the graph has no node {name!r}; it has {', '.join(self.nodes)}"
            ) from None

    def _reach(self, start: str) -> set[str]:
        reached, stack = {start}, [start]
        while stack:
            for other in self.neighbours(stack.pop()):
                if other not in reached:
                    reached.add(other)
                    stack.append(other)
        return reached


def _as_set(names: str | Iterable[str]) -> set[str]:
    return {names} if isinstance(names, str) else set(names)
