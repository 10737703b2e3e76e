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
from posteriori.forney.forney_nodes import Node
from posteriori.forney.schedules import Sender, find_schedule, needed_messages
from posteriori.forney.structure import GraphStructure
from posteriori.inference.messages.node_messages import Message, node_kinds, scaled_message

__all__ = ["LoopySumProduct", "SumProduct", "loopy_sum_product", "sum_product"]


class SumProduct(NamedTuple):
    """Messages in both directions on every edge.

    Attributes
    ----------
    graph : GraphStructure
    schedule : tuple of (edge, node)
        The messages in the order of their computation, by edge and sender.
    messages : dict of (edge, node) to Message
        With their scales.
    log_total : float
        Logarithm of the sum (or integral) over all configurations: the log evidence where the
        factors are probabilities and the data are clamped.
    """

    graph: GraphStructure
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
    graph : GraphStructure
    messages : dict of (edge, node) to Message
        Those of the last round, normalised.
    """

    marginals: Mapping[str, Factor]
    n_iter: int
    converged: bool
    change: float
    graph: GraphStructure
    messages: Mapping[Sender, Message]

    def marginal(self, edge: str) -> Factor:
        """Return the approximate marginal on an edge."""
        return self.marginals[edge]


def sum_product(graph: GraphStructure) -> SumProduct:
    """Pass messages from the leaves through the whole tree.

    Parameters
    ----------
    graph : GraphStructure
        A tree, or several, of tables or of linear-Gaussian nodes.

    Raises
    ------
    ValueError
        When the graph has a cycle, or folds plates or chains of a model.
    """
    if graph.obstacle is not None:
        raise ValueError(
            f"messages cannot be passed on this graph: {graph.obstacle}; those of a posterior, "
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


def loopy_sum_product(
    graph: GraphStructure, *, max_iter: int = 100, damping: float = 0.0, tolerance: float = 1e-10
) -> LoopySumProduct:
    """Pass messages round and round on a tabular graph with cycles, all at once in each round.

    Parameters
    ----------
    graph : GraphStructure
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


# -- steps -----------------------------------------------------------------------------------


def _send(
    graph: GraphStructure, node: Node, edge: str, messages: Mapping[Sender, Message]
) -> Message:
    """Look up the rule of a node and apply it to the messages that came in."""
    roles = dict(zip(node.edges, node.roles, strict=True))
    incoming: dict[str, Any] = {}
    scale = 0.0
    for name, other in needed_messages(graph, (edge, node.name)):
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


def _meet(
    graph: GraphStructure, messages: Mapping[Sender, Message], edge: str
) -> tuple[Any, float]:
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
    graph: GraphStructure, messages: Mapping[Sender, Message], component: Iterable[str]
) -> float:
    edge = graph.edge_in(component)
    if edge is not None:
        return _meet(graph, messages, edge)[1]
    return sum(graph.nodes[name].table().log_total for name in component)
