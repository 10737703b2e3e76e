"""Orders in which every message of a factor graph finds those that it is made of."""

from __future__ import annotations

from posteriori.forney.structure import GraphStructure
from posteriori.numerics.lazy import networkx

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
    joined = networkx.MultiGraph([e.nodes for e in graph.edges.values() if not e.is_half])
    steps = networkx.find_cycle(joined)
    return [*(start for start, *_ in steps), steps[0][0]]
