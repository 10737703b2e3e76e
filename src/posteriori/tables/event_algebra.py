"""Events of a joint table: not, and, or, and their probabilities.

p(A + B) = p(A) + p(B) − p(AB), p(AB) = p(A | B) p(B), p(Ā) = 1 − p(A).
"""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from posteriori.factors import Factor
from posteriori.factors.axes import Label, refuse_axis
from posteriori.factors.factor import nats_per
from posteriori.tables.table_query import parse_assignment

__all__ = ["Event", "EventLike"]

#: How an event may be written: text, names with labels, or a function of the named variables.
EventLike: TypeAlias = "Event | str | Mapping[str, Label] | Callable[..., Any]"


class Event:
    """A set of cells of a joint table.

    Made by :meth:`JointTable.event`; combined by ``&`` (and), ``|`` (or) and ``~`` (not).

    Examples
    --------
    >>> from posteriori.tables.joint_table import JointTable
    >>> t = JointTable(["D", "T"], [[0.8415, 0.1485], [0.0005, 0.0095]])
    >>> ill, positive = t.event("D=1"), t.event("T=1")
    >>> round((ill | positive).probability, 6), round(ill.given(positive), 6)
    (0.1585, 0.060127)
    """

    __slots__ = ("_factor", "_inside")

    def __init__(self, factor: Factor, inside: np.ndarray[Any, Any]) -> None:
        self._factor = factor
        self._inside = inside

    @classmethod
    def read(cls, factor: Factor, event: EventLike) -> Event:
        """Read an event of the normalised ``factor``."""
        if isinstance(event, Event):
            if event._factor is not factor:
                raise ValueError("the event belongs to another table")
            return event
        if callable(event):
            return cls(factor, _where(factor, event))
        inside = np.ones(factor.shape, dtype=bool)
        for name, label in parse_assignment(event, factor.labels).items():
            axis, at = factor._axes.locate(name, label)
            only = np.zeros(factor.shape[axis], dtype=bool)
            only[at] = True
            inside &= _along(only, axis, len(factor.shape))
        return cls(factor, inside)

    @property
    def probability(self) -> float:
        """The probability of the event."""
        return min(1.0, float(np.sum(self._factor.values, where=self._inside)))

    def given(self, other: Event) -> float:
        """Return p(this | other) = p(both) / p(other).

        Raises
        ------
        ValueError
            When the other event has probability 0.
        """
        known = other.probability
        if known == 0.0:
            raise ValueError("an event of probability 0 cannot be conditioned on")
        return min(1.0, (self & other).probability / known)

    def independent_of(self, other: Event, tolerance: float = 1e-9) -> bool:
        """Tell whether p(both) = p(this) p(other)."""
        gap = (self & other).probability - self.probability * other.probability
        return abs(gap) <= tolerance

    def information(self, *, unit: str = "nats") -> float:
        """Return −ln p, the surprise when the event happens; infinite if it cannot."""
        p = self.probability
        return math.inf if p == 0.0 else -math.log(p) / nats_per(unit) + 0.0

    def __and__(self, other: Event) -> Event:
        return Event(self._factor, self._inside & self._same_table(other))

    def __or__(self, other: Event) -> Event:
        return Event(self._factor, self._inside | self._same_table(other))

    def __invert__(self) -> Event:
        return Event(self._factor, ~self._inside)

    def __repr__(self) -> str:
        return f"Event({int(self._inside.sum())} of {self._inside.size} cells)"

    def _same_table(self, other: Event) -> np.ndarray[Any, Any]:
        if other._factor is not self._factor:
            raise ValueError("events of different tables do not combine")
        return other._inside


def _where(factor: Factor, predicate: Callable[..., Any]) -> np.ndarray[Any, Any]:
    """Mark the cells for which the predicate holds; it is asked once per value of its arguments."""
    names = tuple(inspect.signature(predicate).parameters)
    for name in names:
        if name not in factor.names:
            refuse_axis(name, factor.names)
    axes = [factor.names.index(name) for name in names]
    labels = [factor.labels[name] for name in names]
    shape = [len(axis) for axis in labels]
    flat = [
        bool(predicate(**dict(zip(names, row, strict=True)))) for row in itertools.product(*labels)
    ]
    table = np.array(flat, dtype=bool).reshape(shape)
    order = sorted(range(len(axes)), key=axes.__getitem__)
    index = tuple(slice(None) if i in axes else None for i in range(len(factor.shape)))
    return np.broadcast_to(table.transpose(order)[index], factor.shape)


def _along(flags: np.ndarray[Any, Any], axis: int, ndim: int) -> np.ndarray[Any, Any]:
    return flags.reshape([-1 if i == axis else 1 for i in range(ndim)])
