"""Whoever can tell whether two variables are independent: a graph, a table, a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from posteriori.graphs.node_sets import Node

__all__ = ["Oracle", "as_oracle", "minimal_parents"]

#: Whether x and y are independent given others.
Oracle: TypeAlias = Callable[[Node, Node, tuple[Node, ...]], bool]


def as_oracle(source: Any, argument: str = "independent") -> Oracle:
    """Return the question that a graph, a table or a function answers."""
    for name in ("is_separated", "is_independent"):
        if hasattr(source, name):
            question: Oracle = getattr(source, name)
            return question
    if not callable(source):
        raise TypeError(
            f"{argument} must be a graph, have a method is_independent(a, b, given), or be a "
            f"function of (x, y, given), got {type(source).__name__}"
        )
    answer: Oracle = source
    return answer


def minimal_parents(order: Iterable[Node], independent: Oracle) -> dict[Node, list[Node]]:
    """Return for each node predecessors P, none of which can be left out, with x ⟂ the others | P.

    All predecessors are parents at first. One that x is independent of given the rest is dropped:
    by contraction x is then independent of all that were dropped, given those that are left, and
    by weak union one that could not be dropped before cannot be dropped later. So each is asked
    about once, O(n²) questions in all.

    References
    ----------
    J. Pearl, *Probabilistic Reasoning in Intelligent Systems* (1988), section 3.3.
    """
    parents: dict[Node, list[Node]] = {}
    for x in order:
        if x in parents:
            raise ValueError(f"order holds {x!r} twice")
        kept = list(parents)
        for y in tuple(kept):
            rest = [z for z in kept if z != y]
            if independent(x, y, tuple(rest)):
                kept = rest
        parents[x] = kept
    return parents
