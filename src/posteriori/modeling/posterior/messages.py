r"""The messages of a solved model, between each factor and the unknowns it sees.

.. math:: q(x) \propto \prod_f \mu_{f\to x}(x), \qquad
          \mu_{x\to f}(x) = \prod_{g \ne f} \mu_{g\to x}(x).

Where the posterior is exact, :math:`\mu_{f\to x}` sums the factor and what it is told over all other
unknowns. Where beliefs are independent between groups, it is :math:`\exp E[\ln f]` under the beliefs
of all other groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.inference.messages.forest_messages import ForestMessages
from posteriori.modeling.binding.labelled import Lookup, shape_of
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.forms.message_graph import Edge, NoMessages, Reader

__all__ = ["EdgeMessages", "Messages", "make_messages"]

#: Messages with more numbers than this are refused before the memory is asked for.
_MOST_NUMBERS = 1 << 27

#: Letters of a message in a table.
_LONGEST = 72


class EdgeMessages:
    """The messages between a factor and a variable, a batch over the rows of the factor.

    Attributes
    ----------
    factor : str
        The variable whose distribution it is; of a chain, "s first" and "s step".
    variable : str
        Of the step of a chain, "s" is the member it leads to and "previous s" the one before. Normal
        variables that are believed in jointly under variational inference are one vector, "a & b".
    shape : tuple of int
        Of the batch: the rows of the factor and, where a row may speak of any class, the classes.
    """

    def __init__(
        self,
        factor: str,
        variable: str,
        edge: Edge,
        passed: ForestMessages | NoMessages,
        read: Reader,
        members: tuple[int, ...],
    ) -> None:
        self.factor = factor
        self.variable = variable
        self.shape = shape_of(edge.rows)
        self._edge = edge
        self._passed = passed
        self._read = read
        self._members = members

    @cached_property
    def to_variable(self) -> Any:
        """What each row says of the variable: a distribution, perhaps improper."""
        return self._distribution(self._passed.to_variable)

    @cached_property
    def to_factor(self) -> Any:
        """What all other factors say of the variable that each row sees."""
        return self._distribution(self._passed.to_factor)

    def _distribution(self, ask: Any) -> Any:
        rows = int(np.prod(self.shape))
        shapes = self._passed.variables[self._edge.variable].shapes
        numbers = rows * sum(int(np.prod(shape)) for shape in shapes)
        if numbers > _MOST_NUMBERS:
            raise MemoryError(
                f"the messages of {rows} rows of {self.factor} to {self.variable} hold {numbers:.3g} "
                f"numbers (at most {_MOST_NUMBERS:.3g}); infer from fewer rows, or ask "
                f"messages.product({self._edge.variable!r})"
            )
        return self._read(ask(self._edge.number, self._edge.slot), self.shape)

    def __repr__(self) -> str:
        return f"EdgeMessages({self.factor!r}, {self.variable!r}, shape={self.shape})"

    def _cells(self) -> tuple[str, str, str, str]:
        if isinstance(self._passed, NoMessages):
            shown = ("none: a loop", "none: a loop")
        elif not self.shape:
            shown = (_line(self.to_variable), _line(self.to_factor))
        else:
            family = self._family
            shown = (f"{family}, batch {self.shape}", f"{family}, batch {self.shape}")
        return (self.factor, self.variable, *shown)

    @property
    def _family(self) -> str:
        shapes = self._passed.variables[self._edge.variable].shapes
        nothing = tuple(np.zeros((1, *shape)) for shape in shapes)
        return type(self._read(nothing, (1,))).__name__


class Messages:
    """All messages of a model, found by factor and variable.

    Printed, they are a table; messages of plates and chains are batches over the rows of the
    factor. Variables that no observation depends on have none.

    Examples
    --------
    >>> from posteriori import Model, Normal
    >>> m = Model()
    >>> m.x = Normal(0.0, variance=4.0)
    >>> m.y1 = Normal(m.x, variance=1.0)
    >>> m.y2 = Normal(m.x, variance=2.0)
    >>> messages = m.infer(y1=1.0, y2=2.0).messages()
    >>> messages
    factor  variable  to the variable        to the factor
    x       x         Normal(0, variance=4)  Normal(1.333333, variance=0.666667)
    y1      x         Normal(1, variance=1)  Normal(1.333333, variance=1.333333)
    y2      x         Normal(2, variance=2)  Normal(0.8, variance=0.8)
    >>> messages["y1", "x"].to_variable * messages["y1", "x"].to_factor
    Normal(1.142857, variance=0.571429)
    """

    def __init__(self, edges: list[EdgeMessages]) -> None:
        self._edges = {(edge.factor, edge.variable): edge for edge in edges}

    def __getitem__(self, key: tuple[str, str]) -> EdgeMessages:
        if key in self._edges:
            return self._edges[key]
        listed = "; ".join(f"{factor!r}, {variable!r}" for factor, variable in self._edges)
        raise KeyError(f"no messages between factor and variable {key!r}; there are {listed}")

    def __iter__(self) -> Iterator[EdgeMessages]:
        return iter(self._edges.values())

    def __len__(self) -> int:
        return len(self._edges)

    def product(self, variable: str) -> Any:
        """Return the product of all messages to each member of a variable: its marginal.

        Members that some factor takes together make one vector.
        """
        for edge in self:
            if edge._edge.variable == variable:
                return edge._read(edge._passed.product(variable), edge._members)
        together = [e._edge.variable for e in self if variable in e._edge.variable.split(" & ")]
        hint = f": it is part of {together[0]!r}" if together else ""
        raise KeyError(f"no factor sends messages to {variable!r}{hint}")

    def __repr__(self) -> str:
        rows = [("factor", "variable", "to the variable", "to the factor")]
        rows += [edge._cells() for edge in self]
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        lines = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in rows)
        return "\n".join(line.rstrip() for line in lines)


def make_messages(solved: Solved) -> Messages:
    """Return the messages of a solved model.

    Raises
    ------
    ValueError
        When factors of an exact block close a loop: then no messages multiply to the marginals. In a
        group of variational inference, when messages of the loop are asked for.
    TypeError
        When messages are in no exponential family.
    """
    found = []
    for result in solved.results:
        for graph, passed in result.messages():
            taken: dict[tuple[str, str], int] = {}
            for edge in sorted(graph.edges, key=lambda edge: not edge.is_child):
                factor = _factor_name(edge, solved.bound.variables)
                variable = _variable_name(edge)
                again = taken[factor, variable] = taken.get((factor, variable), 0) + 1
                shown = variable if again == 1 else f"{variable} ({again})"
                name = edge.variable
                read, members = graph.readers[name], graph.shapes[name]
                found.append(EdgeMessages(factor, shown, edge, passed, read, members))
    return Messages(found)


def _factor_name(edge: Edge, variables: Any) -> str:
    if edge.factor is None:
        return f"{edge.variable} known"
    name: str = edge.factor.name
    if name not in variables or variables[name].step is None:
        return name
    place = next(p for p in edge.factor.places if isinstance(p, Lookup))
    return f"{name} step" if place.positions.axes else f"{name} first"


def _variable_name(edge: Edge) -> str:
    own = edge.factor is None or edge.is_child or edge.factor.name != edge.variable
    return edge.variable if own else f"previous {edge.variable}"


def _line(message: Any) -> str:
    """Write a message on one line; of a long one only what it is."""
    text = " ".join(repr(message).split())
    if len(text) <= _LONGEST:
        return text
    return f"{type(message).__name__}, shape {message.event_shape}"
