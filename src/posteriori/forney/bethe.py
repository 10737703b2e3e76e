r"""The Bethe free energy: beliefs about factors and edges that agree with one another.

.. math::

   F_B = \sum_a \sum_{x_a} q_a\ln\frac{q_a}{f_a} - \sum_i (d_i - 1)\sum_{x_i} q_i\ln q_i,
   \qquad \sum_{x_a\setminus x_i} q_a = q_i,

with :math:`d_i` the number of factors that see :math:`x_i`: 2 on an edge, 1 on a half-edge. On a
tree its minimum is minus the logarithm of the sum over all configurations; with cycles it is an
approximation, whose stationary points are the fixed points of sum–product.

Reference: J. S. Yedidia, W. T. Freeman & Y. Weiss, "Constructing free-energy approximations and
generalized belief propagation algorithms", IEEE Trans. Inf. Theory 51(7), 2005.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posteriori.factors import Factor
from posteriori.forney.forney_graph import ForneyGraph
from posteriori.forney.forney_nodes import Node
from posteriori.forney.message_passing import LoopySumProduct, SumProduct
from posteriori.numerics.types import Array

__all__ = ["BetheFreeEnergy", "LocalBeliefs", "bethe_free_energy", "local_beliefs"]

#: How far beliefs of a factor and an edge may differ.
_AGREEMENT = 1e-6


class LocalBeliefs(NamedTuple):
    """Beliefs about the arguments of each node together, and about each edge."""

    nodes: Mapping[str, Factor]
    edges: Mapping[str, Factor]


class BetheFreeEnergy(NamedTuple):
    """F_B by nodes and edges; ``float()`` of it is the whole.

    Attributes
    ----------
    nodes : dict of str to float
        Σ q_a ln(q_a / f_a).
    edges : dict of str to float
        (d_i − 1) H[q_i], which takes back what nodes count twice.
    """

    nodes: Mapping[str, float]
    edges: Mapping[str, float]

    @property
    def value(self) -> float:
        """The sum of all terms."""
        return sum(self.nodes.values()) + sum(self.edges.values())

    def __float__(self) -> float:
        return self.value


def local_beliefs(messages: SumProduct | LoopySumProduct) -> LocalBeliefs:
    """Return the beliefs that messages lead to: factor times all messages that come in.

    Parameters
    ----------
    messages : SumProduct or LoopySumProduct
        Of a graph of tables.
    """
    graph = messages.graph
    nodes = {}
    for name, node in graph.nodes.items():
        parts = graph.tables_on_edges(node)
        for edge in node.edges:
            others = [other for other in graph.edges[edge].nodes if other != name]
            parts += [messages.messages[edge, other].distribution for other in others]
        product = math.prod(parts, start=Factor.scalar(1.0))
        nodes[name] = product.transpose(node.edges).normalize().factor
    edges = {edge: messages.marginal(edge) for edge in graph.edges}
    return LocalBeliefs(nodes, edges)


def bethe_free_energy(graph: ForneyGraph, beliefs: LocalBeliefs) -> BetheFreeEnergy:
    """Return the Bethe free energy of beliefs on a graph of tables.

    Parameters
    ----------
    graph : ForneyGraph
    beliefs : LocalBeliefs
        Normalised; those of a node must have those of its edges as marginals.

    Raises
    ------
    ValueError
        When beliefs of a node and of an edge do not agree; the message names both.

    Examples
    --------
    On a tree it is minus the log of the sum over all configurations:

    >>> graph = ForneyGraph.from_factors(
    ...     a=Factor("x", [0.3, 0.7]), b=Factor(["x", "y"], [[1.0, 2.0], [3.0, 4.0]])
    ... )
    >>> messages = graph.sum_product()
    >>> f = bethe_free_energy(graph, local_beliefs(messages))
    >>> round(float(f), 6), -round(messages.log_total, 6)
    (-1.757858, -1.757858)
    """
    nodes, edges = {}, {}
    for name, node in graph.nodes.items():
        belief = beliefs.nodes[name]
        _require_agreement(node, belief, beliefs.edges)
        nodes[name] = _energy(graph, node, belief) - belief.entropy()
    for name, edge in graph.edges.items():
        edges[name] = (len(edge.nodes) - 1) * beliefs.edges[name].entropy()
    return BetheFreeEnergy(nodes, edges)


# -- steps -----------------------------------------------------------------------------------


def _energy(graph: ForneyGraph, node: Node, belief: Factor) -> float:
    """Return E[−ln f]; where the belief has no probability, f does not matter."""
    table = math.prod(graph.tables_on_edges(node), start=Factor.scalar(1.0))
    q, logs = belief.values, table.transpose(belief.names).log_values
    return -float(np.sum(q[q > 0] * logs[q > 0]))


def _require_agreement(node: Node, belief: Factor, edges: Mapping[str, Factor]) -> None:
    for edge in node.edges:
        own: Array = belief.marginal(edge).values
        if not np.allclose(own, edges[edge].values, rtol=0.0, atol=_AGREEMENT):
            raise ValueError(
                f"the belief about node {node.name!r} has the marginal {own} on edge {edge!r}, "
                f"which is believed to be {edges[edge].values}"
            )
