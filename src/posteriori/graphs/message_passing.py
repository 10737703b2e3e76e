r"""Sum–product on Forney-style factor graphs: local messages, global marginals.

:math:`\mu_Y(y) = \sum_{x} f(y, x_1, \dots, x_n)\prod_i \mu_{X_i}(x_i)`; the marginal of a variable
is the product of the two messages on its edge, and on a tree it is exact.

Reference: F. R. Kschischang, B. J. Frey & H.-A. Loeliger, "Factor graphs and the sum–product
algorithm", IEEE Trans. Inf. Theory 47(2), 2001.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.factors import Factor
from posteriori.graphs.forney import ForneyGraph
from posteriori.graphs.forney_nodes import Node
from posteriori.inference.messages.node_messages import Message, node_kinds, scaled_message

__all__ = [
    "LoopySumProduct",
    "OperationCounts",
    "Operations",
    "SumProduct",
    "count_operations",
    "find_schedule",
    "loopy_sum_product",
    "sum_product",
]

#: A message is known by its edge and the node that sends it.
Sender = tuple[str, str]


class Operations(NamedTuple):
    """Numbers of elementary operations."""

    multiplications: int
    additions: int


class OperationCounts(NamedTuple):
    """The cost of a sum of products, term by term and by messages."""

    direct: Operations
    messages: Operations


class SumProduct(NamedTuple):
    """Messages in both directions on every edge.

    Attributes
    ----------
    graph : ForneyGraph
    schedule : tuple of (edge, node)
        The messages in the order of their computation, by edge and sender.
    messages : dict of (edge, node) to Message
        With their scales.
    log_total : float
        Logarithm of the sum (or integral) over all configurations: the log evidence where the
        factors are probabilities and the data are clamped.
    """

    graph: ForneyGraph
    schedule: tuple[Sender, ...]
    messages: Mapping[Sender, Message]
    log_total: float

    def forward(self, edge: str) -> Any:
        """Return the message from the first node of an edge; None is the message 1."""
        return self._from_end(edge, 0)

    def backward(self, edge: str) -> Any:
        """Return the message from the second node of an edge: None, that is 1, on a half-edge."""
        return self._from_end(edge, 1)

    def _from_end(self, edge: str, end: int) -> Any:
        nodes = self.graph.edges[edge].nodes
        return self.messages[edge, nodes[end]].distribution if end < len(nodes) else None

    def marginal(self, variable: str) -> Any:
        """Return the normalised product of both messages: a Factor or a distribution."""
        return self._meet(variable)[0]

    def log_normalizer(self, edge: str) -> float:
        """Return the logarithm of what the product of both messages sums to.

        It is the same on every edge of a connected graph.
        """
        return self._meet(edge)[1]

    def _meet(self, edge: str) -> tuple[Any, float]:
        if edge not in self.graph.edges:
            raise KeyError(f"the graph has no edge {edge!r}; it has {', '.join(self.graph.edges)}")
        return _meet(self.graph, self.messages, edge)


class LoopySumProduct(NamedTuple):
    """What messages on a graph with cycles settled on; not exact in general.

    Attributes
    ----------
    marginals : dict of str to Factor
        By edge.
    n_iter : int
    converged : bool
    change : float
        The largest change of a message in the last round.
    graph : ForneyGraph
    messages : dict of (edge, node) to Message
        Those of the last round, normalised.
    """

    marginals: Mapping[str, Factor]
    n_iter: int
    converged: bool
    change: float
    graph: ForneyGraph
    messages: Mapping[Sender, Message]

    def marginal(self, edge: str) -> Factor:
        """Return the approximate marginal on an edge."""
        return self.marginals[edge]


def sum_product(graph: ForneyGraph) -> SumProduct:
    """Pass messages from the leaves through the whole tree.

    Parameters
    ----------
    graph : ForneyGraph
        A tree, or several, of tables or of linear-Gaussian nodes.

    Raises
    ------
    ValueError
        When the graph has a cycle, or folds plates or chains of a model.
    """
    if graph._obstacle is not None:
        raise ValueError(
            f"messages cannot be passed on this graph: {graph._obstacle}; those of a posterior, "
            "model.infer(...).messages(), pass through plates and chains"
        )
    schedule = find_schedule(graph)
    messages: dict[Sender, Message] = {}
    for edge, node in schedule:
        messages[edge, node] = _send(graph, graph.nodes[node], edge, messages)
    total = 0.0
    for component in graph.components:
        total += _total(graph, messages, component)
    return SumProduct(graph, tuple(schedule), messages, total)


def find_schedule(graph: ForneyGraph, target: str | None = None) -> list[Sender]:
    """Return an order in which every message finds those it needs.

    Parameters
    ----------
    graph : ForneyGraph
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
        waiting = [need for need in _needs(graph, sender) if need not in done]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        done[sender] = None
    return list(done)


def loopy_sum_product(
    graph: ForneyGraph, *, max_iter: int = 100, damping: float = 0.0, tolerance: float = 1e-10
) -> LoopySumProduct:
    """Pass messages round and round on a tabular graph with cycles, all at once in each round.

    Parameters
    ----------
    graph : ForneyGraph
    max_iter : int
        Most rounds.
    damping : float
        Share of the old message that is kept, in [0, 1).
    tolerance : float
        Stop when no normalised message changes by more.

    Notes
    -----
    The answer is exact on trees. With cycles it need not be, nor need the rounds converge.
    """
    if not 0.0 <= damping < 1.0:
        raise ValueError(f"damping must lie in [0, 1), got {damping!r}")
    senders = [(name, node) for name, edge in graph.edges.items() for node in edge.nodes]
    flat = {
        (edge, node): Message(Factor(edge, np.ones(len(labels)), [labels]).normalize().factor, 0.0)
        for edge, node in senders
        for labels in (graph.labels(edge),)
    }
    messages, change, n_iter = flat, math.inf, 0
    while change > tolerance and n_iter < max_iter:
        new = {}
        for edge, node in senders:
            made = _send(graph, graph.nodes[node], edge, messages).distribution
            old = messages[edge, node].distribution
            mixed = (1.0 - damping) * made.probabilities + damping * old.values
            new[edge, node] = Message(Factor(edge, mixed, [graph.labels(edge)]), 0.0)
        change = max(
            float(np.abs(new[s].distribution.values - messages[s].distribution.values).max())
            for s in senders
        )
        messages, n_iter = new, n_iter + 1
    marginals = {edge: _meet(graph, messages, edge)[0] for edge in graph.edges}
    return LoopySumProduct(marginals, n_iter, change <= tolerance, change, graph, messages)


def count_operations(graph: ForneyGraph, target: str | None = None) -> OperationCounts:
    """Count operations for a marginal, or for the sum over all configurations.

    Terms one by one: a product of all factors in every cell of the joint table. By messages:
    every node multiplies in one message and sums over its edge before the next.
    """
    sizes = {edge: len(graph.labels(edge)) for edge in graph.edges}
    variables = {graph.edges[e].variable: size for e, size in sizes.items()}
    cells = math.prod(variables.values())
    factors = sum(node.kind != "equality" for node in graph.nodes.values())
    left = 1 if target is None else sizes[target]
    direct = Operations(cells * (factors - 1), cells - left)
    if target is not None:
        return OperationCounts(direct, _count_marginal(graph, target, sizes))
    multiplications, additions = len(graph.components) - 1, 0
    for component in graph.components:
        edge = _an_edge(graph, component)
        if edge is not None:
            cost = _count_marginal(graph, edge, sizes)
            multiplications += cost.multiplications
            additions += cost.additions + sizes[edge] - 1
    return OperationCounts(direct, Operations(multiplications, additions))


# -- steps -----------------------------------------------------------------------------------


def _needs(graph: ForneyGraph, sender: Sender) -> list[Sender]:
    """Return the messages that a message is made of."""
    edge, node = sender
    return [
        (name, other)
        for name in graph.nodes[node].edges
        if name != edge
        for other in graph.edges[name].nodes
        if other != node
    ]


def _send(graph: ForneyGraph, node: Node, edge: str, messages: Mapping[Sender, Message]) -> Message:
    """Look up the rule of a node and apply it to the messages that came in."""
    roles = dict(zip(node.edges, node.roles, strict=True))
    incoming: dict[str, Any] = {}
    scale = 0.0
    for name, other in _needs(graph, (edge, node.name)):
        came = messages[name, other]
        incoming[roles[name]] = came.distribution
        scale += came.log_scale
    if "distribution" in node.parameters:  # a terminal node sends itself
        return Message(node.parameters["distribution"], 0.0)
    if node.kind == "equality":
        made = scaled_message("equality", edge, **incoming)
    elif "factor" in node.parameters:
        made = scaled_message("tabular", roles[edge], **incoming, **node.parameters)
    elif node.kind in node_kinds():
        made = scaled_message(node.kind, roles[edge], **incoming, **node.parameters)
    else:
        raise ValueError(f"no message rule for node {node.name!r} of kind {node.kind}")
    d = made.distribution
    if isinstance(d, Factor):
        return Message(d.rename({d.names[0]: edge}), 0.0)
    return Message(d, made.log_scale + scale)


def _meet(graph: ForneyGraph, messages: Mapping[Sender, Message], edge: str) -> tuple[Any, float]:
    """Return the normalised product of the messages on an edge and its log normaliser."""
    came = [messages[edge, node] for node in graph.edges[edge].nodes]
    known = {str(i): m.distribution for i, m in enumerate(came) if m.distribution is not None}
    if not known:
        return None, math.inf
    product = scaled_message("equality", edge, **known)
    d = product.distribution
    if isinstance(d, Factor):
        normalized = d.normalize()
        return normalized.factor, normalized.log_total
    scale = float(product.log_scale + sum(m.log_scale for m in came))
    return d, scale if getattr(d, "is_proper", True) else math.inf


def _total(
    graph: ForneyGraph, messages: Mapping[Sender, Message], component: Iterable[str]
) -> float:
    edge = _an_edge(graph, component)
    if edge is not None:
        return _meet(graph, messages, edge)[1]
    return sum(graph._table(graph.nodes[name]).log_total for name in component)


def _an_edge(graph: ForneyGraph, component: Iterable[str]) -> str | None:
    """Return an edge of a component; None where it is a constant."""
    edges = {edge for name in component for edge in graph.nodes[name].edges}
    return next((edge for edge in graph.edges if edge in edges), None)


def _count_marginal(graph: ForneyGraph, target: str, sizes: Mapping[str, int]) -> Operations:
    multiplications = additions = 0
    for edge, name in find_schedule(graph, target):
        node = graph.nodes[name]
        others = [e for e in node.edges if e != edge]
        if node.kind == "equality":
            full = sum(not graph.edges[e].is_half for e in others)
            multiplications += max(0, full - 1) * sizes[edge]
            continue
        cells = math.prod(sizes[e] for e in node.edges)
        for other in others:
            multiplications += 0 if graph.edges[other].is_half else cells
            additions += cells - cells // sizes[other]
            cells //= sizes[other]
    if not graph.edges[target].is_half:
        multiplications += sizes[target]
    return Operations(multiplications, additions)


def _find_cycle(graph: ForneyGraph) -> list[str]:
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
