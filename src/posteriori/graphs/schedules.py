"""Orders in which every message of a factor graph finds those that it is made of."""

from __future__ import annotations

from collections.abc import Mapping

from posteriori.graphs.structure import GraphStructure

__all__ = ["Sender", "find_schedule", "needed_messages"]

#: A message is known by its edge and the node that sends it.
Sender = tuple[str, str]


def find_schedule(graph: GraphStructure, target: str | None = None) -> list[Sender]:
    """Return an order in which every message finds those it needs.

    Parameters
    ----------
    graph : GraphStructure
    target : str, optional
        Only what the marginal on this edge needs; otherwise all messages, both ways.

    Raises
    ------
    ValueError
        When the graph has a cycle, which the message names.
    """
    if not graph.is_tree:
        raise ValueError(
            f"the graph has a cycle: {' - '.join(_find_cycle(graph))}; messages from the leaves "
            "never get around it. Close a box around the cycle, or use loopy_sum_product"
        )
    if target is None:
        wanted = [(name, node) for name, edge in graph.edges.items() for node in edge.nodes]
    elif target in graph.edges:
        wanted = [(target, node) for node in graph.edges[target].nodes]
    else:
        raise KeyError(f"the graph has no edge {target!r}; it has {', '.join(graph.edges)}")
    done: dict[Sender, None] = {}
    stack = list(reversed(wanted))
    while stack:
        sender = stack[-1]
        waiting = [need for need in needed_messages(graph, sender) if need not in done]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        done[sender] = None
    return list(done)


def needed_messages(graph: GraphStructure, sender: Sender) -> list[Sender]:
    """Return the messages that a message is made of."""
    edge, node = sender
    return [
        (name, other)
        for name in graph.nodes[node].edges
        if name != edge
        for other in graph.edges[name].nodes
        if other != node
    ]


def _find_cycle(graph: GraphStructure) -> list[str]:
    """Return the nodes of a cycle, the first one again at the end."""
    parent: dict[str, tuple[str, str] | None] = {}
    for root in graph.nodes:
        if root in parent:
            continue
        parent[root] = None
        stack = [root]
        while stack:
            node = stack.pop()
            came = parent[node][1] if parent[node] else None  # type: ignore[index]
            for edge in graph.nodes[node].edges:
                for other in graph.edges[edge].nodes:
                    if other == node or edge == came:
                        continue
                    if other in parent:
                        return _close_cycle(parent, node, other)
                    parent[other] = (node, edge)
                    stack.append(other)
    return []


def _close_cycle(parent: Mapping[str, tuple[str, str] | None], node: str, other: str) -> list[str]:
    """Join the paths of two nodes to where they meet."""
    paths = []
    for start in (node, other):
        path = [start]
        while (step := parent[path[-1]]) is not None:
            path.append(step[0])
        paths.append(path)
    up, down = paths
    meeting = next(name for name in up if name in down)
    return up[: up.index(meeting) + 1] + down[: down.index(meeting)][::-1] + [up[0]]
