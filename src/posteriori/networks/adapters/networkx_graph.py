"""Networks as graphs of networkx, whose nodes carry their tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.graphs import DirectedGraph
from posteriori.networks.network_reading import dense_table
from posteriori.numerics.lazy import networkx
from posteriori.tables import ConditionalTable

if TYPE_CHECKING:
    from posteriori.networks.network_value import NetworkValue

__all__ = ["network_to_networkx", "tables_from_networkx"]

#: What a node carries.
_CARRIED = ("states", "given", "probabilities")


def network_to_networkx(bn: NetworkValue) -> Any:
    """Return a ``networkx.DiGraph`` whose nodes have ``states``, ``given`` and ``probabilities``."""
    graph = networkx.DiGraph()
    for name, conditional in bn.conditionals.items():
        cells = np.array(dense_table(conditional, bn.labels))
        given = list(conditional.given)
        graph.add_node(name, states=list(bn.labels[name]), given=given, probabilities=cells)
    graph.add_edges_from(bn.graph.edges)
    return graph


def tables_from_networkx(graph: Any) -> list[ConditionalTable]:
    """Return the tables that the nodes of a ``networkx.DiGraph`` carry."""
    parents = DirectedGraph.from_networkx(graph, acyclic=False).parents
    for name in graph.nodes:
        for what in _CARRIED:
            if what not in graph.nodes[name]:
                raise ValueError(
                    f"node {name!r} carries no {what!r}; each node needs {', '.join(_CARRIED)}"
                )
    states = {name: graph.nodes[name]["states"] for name in graph.nodes}
    found = []
    for name in graph.nodes:
        given = tuple(graph.nodes[name]["given"])
        if set(given) != set(parents(name)):
            told = ", ".join(map(str, parents(name))) or "none"
            raise ValueError(
                f"the table of {name!r} is given {', '.join(map(str, given)) or 'nothing'}, but arrows "
                f"lead to it from {told}"
            )
        cells = graph.nodes[name]["probabilities"]
        labels = [states[each] for each in (*given, name)]
        found.append(ConditionalTable([name], given, cells, labels))
    return found
