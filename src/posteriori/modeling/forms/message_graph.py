"""Graphs of variables and rows of factors between which messages pass.

Members of a variable that some factor takes together, such as the weights of a regression that are
not written as a vector, are one node of the graph.
"""

from __future__ import annotations

import math
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
from posteriori.modeling.binding.labelled import Axis, count_of, shape_of
from posteriori.modeling.binding.places import flat_index
from posteriori.modeling.forms.state_tables import StateTable
from posteriori.numerics.types import Array

__all__ = [
    "BlockGraph",
    "Edge",
    "NoMessages",
    "PassedMessages",
    "Reader",
    "missing_numbers",
    "pass_inside",
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


class BlockGraph:
    """Variables, factors, edges, how messages to a variable are read, and shapes of its members."""

    def __init__(self) -> None:
        self.variables: dict[str, Batch] = {}
        self.factors: list[RowFactor] = []
        self.edges: list[Edge] = []
        self.readers: dict[str, Reader] = {}
        self.shapes: dict[str, tuple[int, ...]] = {}

    def add_variable(
        self, name: str, members: tuple[int, ...], parts: tuple[tuple[int, ...], ...], read: Reader
    ) -> None:
        """Add a variable, the shape of its members and those of the parts of a message to one."""
        self.variables[name] = Batch(math.prod(members), parts)
        self.readers[name] = read
        self.shapes[name] = members

    def add_normal(
        self, name: str, members: tuple[int, ...], size: int, *, is_number: bool
    ) -> None:
        """Add normal vectors: messages are weighted means and precisions."""
        read = _read_number if is_number else _read_vector
        self.add_variable(name, members, ((size,), (size, size)), read)

    def add_natural(self, name: str, members: tuple[int, ...], prior: Any, parts: Any) -> None:
        """Add members of an exponential family: messages are natural parameters."""
        self.add_variable(name, members, tuple(parts), _natural_reader(prior))

    def add_states(self, name: str, size: int, bound: Bound) -> None:
        """Add a discrete variable: messages are logarithms, and what is impossible."""
        read = _state_reader(bound.families[name], bound.labels.get(name))
        self.add_variable(name, bound.layouts[name].shape, ((size,), (size,)), read)

    def add_factor(
        self,
        factor: BoundFactor | None,
        rows: tuple[Axis, ...],
        made: RowFactor,
        child: int | None = None,
    ) -> None:
        """Add the rows of a factor; its own variable is in the slot ``child``."""
        number = len(self.factors)
        for slot, view in enumerate(made.views):
            edge = Edge(factor, view.variable, slot == child, rows, number, slot)
            self.edges.append(edge)
        self.factors.append(made)


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
    rows = count_of(factor.rows)
    if factor.name not in bound.observed:
        return np.zeros((rows, 1), dtype=bool)
    return np.isnan(
        child_term(factor, bound).table.over(labels).reshape(rows, count_of(factor.events))
    )


def _read_number(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Normal:
    xi, precision = parts
    return Normal._from_natural(xi.reshape(shape)[()], precision.reshape(shape)[()])


def _read_vector(parts: tuple[Array, ...], shape: tuple[int, ...]) -> MvNormal:
    xi, precision = parts
    size = xi.shape[-1]
    return MvNormal._from_natural(xi.reshape(*shape, size), precision.reshape(*shape, size, size))


def table_rows(table: StateTable, bound: Bound) -> RowFactor:
    """Return the rows of a log table over states."""
    states = tuple(view.state for view in table.views)
    varies = any(axis in table.table.axes for axis in table.rows)
    logs = table.table.over((table.rows if varies else ()) + states)
    views = tuple(
        View(view.name, flat_index(view.places, bound.layouts[view.name].axes, table.rows))
        for view in table.views
    )
    rule = TableRows(logs.reshape(-1, *shape_of(states)))
    return RowFactor(table.name, count_of(table.rows), views, rule.send, rule.sweep)


def _state_reader(family: Any, labels: Any) -> Reader:
    """Return how messages to a discrete variable are read."""

    def read(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Any:
        logs = as_logs(parts)
        p = np.exp(logs - logs.max(axis=-1, keepdims=True))
        p = (p / p.sum(axis=-1, keepdims=True)).reshape(*shape, -1)
        if family is Bernoulli:
            return Bernoulli._from(probability=p[..., 1])
        return Categorical._from(probabilities=p)._labelled(labels)

    return read


def _natural_reader(family: Any) -> Reader:
    """Return how natural parameters are read."""

    def read(parts: tuple[Array, ...], shape: tuple[int, ...]) -> Any:
        return family._from_natural(*(p.reshape(shape + p.shape[1:])[()] for p in parts))

    return read
