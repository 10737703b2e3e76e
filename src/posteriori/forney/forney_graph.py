r"""Forney-style factor graphs: a node for every factor, an edge for every variable.

:math:`f(x_1, \dots, x_n) = \prod_a f_a(x_a)`. An edge joins at most two nodes, so a variable of
more than two factors is copied by equality nodes δ(x−x′)δ(x−x″); a variable of one factor is a
half-edge; an observation is a terminal node δ(y−ŷ), a clamp.

Reference: G. D. Forney, "Codes on graphs: normal realizations", IEEE Trans. Inf. Theory 47(2),
2001; H.-A. Loeliger, "An introduction to factor graphs", IEEE Signal Proc. Mag. 21(1), 2004.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

from posteriori.drawing import Drawing
from posteriori.factors import Factor, contract
from posteriori.forney.forney_drawing import draw_forney
from posteriori.forney.forney_nodes import Edge, Expandable, Node, connect
from posteriori.forney.message_passing import SumProduct, sum_product
from posteriori.forney.operation_counts import OperationCounts, count_operations
from posteriori.forney.structure import GraphStructure

__all__ = ["ForneyGraph"]


class ForneyGraph(GraphStructure):
    """A factor graph that can be asked, walked and drawn.

    Make one of tables by :meth:`from_factors`, of a model by :meth:`from_model`.

    Attributes
    ----------
    nodes : dict of str to Node
    edges : dict of str to Edge
    plates : dict of str to str
        The plates of a model, each with what is written at its border.

    Examples
    --------
    >>> import numpy as np
    >>> graph = ForneyGraph.from_factors(
    ...     a=Factor(["x1", "x2", "x3"], np.ones((2, 2, 2))),
    ...     b=Factor(["x3", "x4", "x5"], np.ones((2, 2, 2))),
    ...     c=Factor("x4", [0.3, 0.7]),
    ... )
    >>> graph.half_edges
    ('x1', 'x2', 'x5')
    >>> graph.edges["x3"].nodes
    ('a', 'b')
    >>> graph.sum_product().marginal("x4").values
    array([0.3, 0.7])
    """

    def __init__(
        self,
        nodes: Mapping[str, Node],
        edges: Mapping[str, Edge],
        *,
        log_value: Callable[[Mapping[str, Any]], float] | None = None,
        obstacle: str | None = None,
        plates: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(nodes, edges, obstacle=obstacle, plates=plates)
        self._log_value = log_value

    @classmethod
    def from_factors(
        cls,
        factors: Iterable[Factor] | Mapping[str, Factor] = (),
        /,
        *,
        clamp: Mapping[str, Any] | None = None,
        **named: Factor,
    ) -> ForneyGraph:
        """Return the graph of a product of tables.

        Parameters
        ----------
        factors : iterable or mapping of Factor
            Axes of the same name are the same variable. Without names they are f1, f2, …
        clamp : mapping, optional
            Observed labels by variable.
        **named : Factor
        """
        listed = isinstance(factors, Mapping)
        tables: dict[str, Factor] = {}
        items = factors.items() if listed else ((f"f{i}", f) for i, f in enumerate(factors, 1))  # type: ignore[union-attr]
        for name, factor in (*items, *named.items()):
            if not isinstance(factor, Factor):
                raise TypeError(f"{name} must be a Factor, got {type(factor).__name__}")
            if name in tables:
                raise ValueError(f"two factors have the name {name!r}")
            tables[name] = factor
        labels = _labels(tables)
        for variable, label in (clamp or {}).items():
            if variable not in labels:
                raise ValueError(f"no factor has the variable {variable!r} that clamp names")
            if label not in labels[variable]:
                raise ValueError(f"{variable!r} has no label {label!r}, it has {labels[variable]}")
            indicator = [float(one == label) for one in labels[variable]]
            tables[f"clamp {variable}"] = Factor(variable, indicator, [labels[variable]])
        raw = [
            Node(
                name,
                "clamp" if name.startswith("clamp ") else "tabular",
                factor.names,
                factor.names,
                {"factor": factor},
            )
            for name, factor in tables.items()
        ]
        return cls(*connect(raw))

    @classmethod
    def from_model(cls, model: Expandable, data: Mapping[str, Any] | None = None, /) -> ForneyGraph:
        """Return the graph of a model: sums, gains and dot products become nodes of their own.

        Plates and chains stay folded, however large: a node on a plate stands for all its copies,
        and a chain is a loop through its step. Messages pass through neither; the posterior has
        them, see :meth:`~posteriori.modeling.Posterior.messages`.

        Parameters
        ----------
        model : Model
        data : mapping, optional
            Observations, which become clamps, and inputs.
        """
        made = model.expand(data)
        nodes, edges = connect(made.nodes, made.around)
        return cls(
            nodes, edges, log_value=made.log_value, obstacle=made.obstacle, plates=made.plates
        )

    # -- the global function ---------------------------------------------------------------

    def evaluate(self, configuration: Mapping[str, Any] | None = None, /, **more: Any) -> float:
        """Return the product of all factors at values of the variables.

        Copies take the value of their variable unless they are given under their own names.
        """
        return math.exp(self.log_evaluate(configuration, **more))

    def log_evaluate(self, configuration: Mapping[str, Any] | None = None, /, **more: Any) -> float:
        """Return the logarithm of :meth:`evaluate`, −inf where a factor is 0."""
        values = {**(configuration or {}), **more}
        if self._log_value is not None:
            return self._log_value(values)
        at = {}
        for name, edge in self.edges.items():
            if name not in values and edge.variable not in values:
                raise ValueError(f"the configuration gives no value for {edge.variable!r}")
            at[name] = values.get(name, values.get(edge.variable))
        return sum(self._log_factor(node, at) for node in self.nodes.values())

    def is_valid(self, configuration: Mapping[str, Any] | None = None, /, **more: Any) -> bool:
        """Tell whether a configuration is possible: no factor is 0 there."""
        return self.log_evaluate(configuration, **more) > -math.inf

    def configurations(self) -> Iterator[dict[str, Any]]:
        """Return every configuration of the variables of a tabular graph, one after another."""
        labels = _labels(self.tables_on_variables())
        for chosen in product(*labels.values()):
            yield dict(zip(labels, chosen, strict=True))

    def _log_factor(self, node: Node, at: Mapping[str, Any]) -> float:
        if not node.is_factor:
            first, *others = (at[edge] for edge in node.edges)
            return 0.0 if all(other == first for other in others) else -math.inf
        where = {role: at[edge] for role, edge in zip(node.roles, node.edges, strict=True)}
        return node.table().log_value(where)

    # -- inference -------------------------------------------------------------------------

    def close_box(self, nodes: Iterable[str], keep: str | Iterable[str] = ()) -> Factor:
        r"""Sum out what is inside a box: :math:`\sum_{\text{inside}}\prod_{a\in\text{box}} f_a`.

        Parameters
        ----------
        nodes : iterable of str
            The nodes inside.
        keep : str or iterable of str
            Half-edges, or edges inside, that are not summed.

        Returns
        -------
        Factor
            Over the edges that cross the border of the box, and those to keep.
        """
        box = [self._node(name) for name in dict.fromkeys(nodes)]
        inside = {node.name for node in box}
        kept = {keep} if isinstance(keep, str) else set(keep)
        touched = dict.fromkeys(edge for node in box for edge in node.edges)
        for name in kept - set(touched):
            raise ValueError(f"no node in the box has the edge {name!r} that keep names")
        crossing = [
            name for name in touched if name in kept or not inside >= set(self.edges[name].nodes)
        ]
        tables = [table for node in box for table in self.tables_on_edges(node)]
        return contract(tables, tuple(crossing))

    def sum_product(self) -> SumProduct:
        """Pass messages from the leaves through the whole tree, both ways on every edge.

        Raises
        ------
        ValueError
            When the graph has a cycle (see
            :func:`posteriori.forney.loopy_sum_product`) or is a model with plates
            or chains.
        """
        return sum_product(self)

    def count_operations(self, target: str | None = None) -> OperationCounts:
        """Count multiplications and additions, with and without the distributive law.

        Parameters
        ----------
        target : str, optional
            The edge whose marginal is wanted; without it, the sum over all configurations.

        Examples
        --------
        (a + b)(c + d) takes 1 multiplication and 2 additions, ac + ad + bc + bd takes 4 and 3:

        >>> graph = ForneyGraph.from_factors([Factor("x", [2, 3]), Factor("y", [5, 7])])
        >>> graph.count_operations()
        OperationCounts(direct=Operations(multiplications=4, additions=3),
                        messages=Operations(multiplications=1, additions=2))
        """
        return count_operations(self, target)

    def draw(self) -> Drawing:
        """Return a drawing of the graph: boxes for factors, lines for variables."""
        return draw_forney(self)

    def __repr__(self) -> str:
        kinds = Counter(node.kind for node in self.nodes.values())
        what = ", ".join(f"{n} {kind}" for kind, n in kinds.items())
        shape = "a tree" if self.is_tree else "with cycles"
        return f"ForneyGraph({what}; {len(self.edges)} edges; {shape})"


def _labels(tables: Mapping[str, Factor]) -> dict[str, tuple[Any, ...]]:
    """Return the labels of every variable; refuse tables that do not agree."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, factor in tables.items():
        for variable, labels in factor.labels.items():
            if found.setdefault(variable, labels) != labels:
                raise ValueError(
                    f"variable {variable!r} has the labels {found[variable]} in one factor "
                    f"and {labels} in {name}"
                )
    return found
