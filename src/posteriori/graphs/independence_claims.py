"""What one graph says about independence and another does not."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any, NamedTuple

from posteriori.graphs.node_sets import Node
from posteriori.graphs.oracles import as_oracle
from posteriori.numerics.validation import hint

__all__ = ["IndependenceClaim", "compare_independences"]


class IndependenceClaim(NamedTuple):
    """That two variables are independent given others, which only one of two graphs says.

    Attributes
    ----------
    a, b : node
    given : tuple of nodes
    claimed_by : {"first", "second"}
    """

    a: Node
    b: Node
    given: tuple[Node, ...]
    claimed_by: str

    def __str__(self) -> str:
        known = f" | {', '.join(map(str, self.given))}" if self.given else ""
        return f"{self.a} ⟂ {self.b}{known} in the {self.claimed_by} only"


def compare_independences(
    first: Any, second: Any, *, most_given: int | None = 3, limit: int | None = 100
) -> Iterator[IndependenceClaim]:
    """Return the independences that one of two graphs claims and the other does not, one by one.

    Parameters
    ----------
    first, second : graph or table
        Directed or undirected graphs, or joint tables, over the same nodes.
    most_given : int or None
        How many nodes are given at most; fewer come first. None tries all 2^(n−2) sets for each
        of the n (n − 1) / 2 pairs.
    limit : int or None
        How many claims at most; None is for all.

    Examples
    --------
    Without directions a collider claims what it should not, and not what it should; linking the
    parents leaves no false claim.

    >>> from posteriori.graphs import DirectedGraph
    >>> g = DirectedGraph([("A", "C"), ("B", "C")])
    >>> for claim in compare_independences(g, g.skeleton()):
    ...     print(claim)
    A ⟂ B in the first only
    A ⟂ B | C in the second only
    >>> [str(claim) for claim in compare_independences(g, g.moral())]
    ['A ⟂ B in the first only']
    """
    nodes, others = _nodes_of(first, "first"), _nodes_of(second, "second")
    for node in nodes:
        if node not in others:
            raise ValueError(f"the first has {node!r}, the second does not{hint(node, others)}")
    for node in others:
        if node not in nodes:
            raise ValueError(f"the second has {node!r}, the first does not{hint(node, nodes)}")
    return islice(_differences(first, second, nodes, most_given), limit)


def _differences(
    first: Any, second: Any, nodes: tuple[Node, ...], most_given: int | None
) -> Iterator[IndependenceClaim]:
    one, other = as_oracle(first, "first"), as_oracle(second, "second")
    largest = max(len(nodes) - 2, -1)
    for size in range(min(largest, largest if most_given is None else most_given) + 1):
        for a, b in combinations(nodes, 2):
            for given in combinations([node for node in nodes if node not in (a, b)], size):
                claims = one(a, b, given), other(a, b, given)
                if claims[0] != claims[1]:
                    yield IndependenceClaim(a, b, given, "first" if claims[0] else "second")


def _nodes_of(source: Any, argument: str) -> tuple[Node, ...]:
    for name in ("nodes", "names"):
        if hasattr(source, name):
            return tuple(getattr(source, name))
    raise TypeError(f"{argument} must be a graph or a table, got {type(source).__name__}")
