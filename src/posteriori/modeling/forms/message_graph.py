"""Graphs of variables and rows of factors between which messages pass.

Members of a variable that some factor takes together, such as the weights of a regression that are
not written as a vector, are one node of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.messages.forest_messages import ForestMessages, pass_messages
from posteriori.inference.messages.forest_order import Batch, RowFactor, View
from posteriori.inference.messages.row_messages import TableRows, as_logs
from posteriori.modeling.binding.bound import Bound, BoundFactor, child_term
from posteriori.modeling.binding.labelled import Axis, spread
from posteriori.modeling.forms.links import flat_index
from posteriori.modeling.forms.state_tables import StateTable
from posteriori.numerics.types import Array

__all__ = [
    "BlockGraph",
    "Edge",
    "NoMessages",
    "PassedMessages",
    "Reader",
    "missing_numbers",
    "natural_reader",
    "normal_reader",
    "pass_inside",
    "state_reader",
    "table_rows",
]

#: From parts of messages and the shape of a batch to a distribution.
Reader = Callable[[tuple[Array, ...], tuple[int, ...]], Any]


class Edge(NamedTuple):
    """A factor and a variable that it sees.

    Attributes
    ----------
    factor : BoundFactor or None
        None for what is known of single members of a discrete variable.
    variable : str
    is_child : bool
        Whether the factor is the distribution of the variable.
    rows : tuple of Axis
        Plates and integer axes of the factor.
    number, slot : int
        The factor of the graph, and which of its views sees the variable.
    """

    factor: BoundFactor | None
    variable: str
    is_child: bool
    rows: tuple[Axis, ...]
    number: int
    slot: int


class BlockGraph(NamedTuple):
    """Variables, factors, edges, how messages to a variable are read, and shapes of its members."""

    variables: dict[str, Batch]
    factors: list[RowFactor]
    edges: list[Edge]
    readers: dict[str, Reader]
    shapes: dict[str, tuple[int, ...]]


class NoMessages:
    """Stands for messages that do not exist."""

    def __init__(self, variables: Mapping[str, Batch], reason: str) -> None:
        self.variables = variables
        self.reason = reason

    def _refuse(self, *key: Any) -> Any:
        raise ValueError(self.reason)

    to_variable = to_factor = product = _refuse


class PassedMessages(NamedTuple):
    """A graph and the messages that were passed on it."""

    graph: BlockGraph
    passed: ForestMessages | NoMessages


def pass_inside(graph: BlockGraph) -> PassedMessages:
    """Pass messages on a graph; refuse one with a loop."""
    return PassedMessages(graph, pass_messages(graph.variables, graph.factors))


def missing_numbers(factor: BoundFactor, bound: Bound) -> Array:
    """Return which numbers of the child of each row are missing, (R, E)."""
    labels = factor.rows + factor.events
    rows = int(np.prod([axis.size for axis in factor.rows]))
    if factor.name not in bound.observed:
        return np.zeros((rows, 1), dtype=bool)
    data = spread(child_term(factor, bound).table, labels)
    return np.isnan(np.broadcast_to(data, [axis.size for axis in labels]).reshape(rows, -1))


def normal_reader(*, is_number: bool) -> Reader:
    """Return how weighted means and precisions are read."""
    return _read_number if is_number else _read_vector


def _read_number(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Normal:
    xi, precision = parts
    return Normal._from_natural(xi.reshape(shape)[()], precision.reshape(shape)[()])


def _read_vector(parts: tuple[Array, ...], shape: tuple[int, ...]) -> MvNormal:
    xi, precision = parts
    size = xi.shape[-1]
    return MvNormal._from_natural(xi.reshape(*shape, size), precision.reshape(*shape, size, size))


def table_rows(table: StateTable, bound: Bound) -> RowFactor:
    """Return the rows of a log table over states."""
    count = int(np.prod([axis.size for axis in table.rows]))
    states = tuple(view.state for view in table.views)
    sizes = tuple(axis.size for axis in states)
    values = spread(table.table, table.rows + states)
    if any(axis in table.table.axes for axis in table.rows):
        full = tuple(axis.size for axis in table.rows) + sizes
        logs = np.broadcast_to(values, full).reshape(count, *sizes)
    else:
        logs = np.broadcast_to(values.reshape(values.shape[len(table.rows) :]), sizes)[None]
    views = tuple(
        View(view.name, _members(view.places, table.rows, bound.layouts[view.name].axes, count))
        for view in table.views
    )
    rule = TableRows(logs)
    return RowFactor(table.name, count, views, rule.send, rule.sweep)


def _members(
    places: tuple[Any, ...], rows: tuple[Axis, ...], axes: tuple[Axis, ...], count: int
) -> Any:
    """Return which member of a variable with the given axes each row sees."""
    return flat_index([(p, a.size) for p, a in zip(places, axes, strict=True)], rows, count)


def state_reader(family: Any, labels: Any) -> Reader:
    """Return how messages to a discrete variable are read."""

    def read(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Any:
        logs = as_logs(parts)
        p = np.exp(logs - logs.max(axis=-1, keepdims=True))
        p = (p / p.sum(axis=-1, keepdims=True)).reshape(*shape, -1)
        if family is Bernoulli:
            return Bernoulli._from(probability=p[..., 1])
        return Categorical._from(probabilities=p)._labelled(labels)

    return read


def natural_reader(family: Any) -> Reader:
    """Return how natural parameters are read."""

    def read(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Any:
        return family._from_natural(*(p.reshape(shape + p.shape[1:])[()] for p in parts))

    return read
