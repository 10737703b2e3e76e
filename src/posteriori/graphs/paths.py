"""Paths between nodes of a directed graph, and why each lets pass or does not.

A path is blocked given C if some inner node blocks it: one in C where it is a chain → x → or a fork
← x →, or one that is a collider → x ← while neither it nor any of its descendants is in C.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

from posteriori.graphs.adjacency import Adjacency
from posteriori.graphs.node_sets import Node, NodeSet
from posteriori.numerics.types import IntArray

__all__ = ["GraphPath", "Separation", "describe_path", "shortest_paths"]

_ARROWS = {True: "→", False: "←"}
_ROLES = {
    (True, True): "chain",
    (False, False): "chain",
    (False, True): "fork",
    (True, False): "collider",
}


@dataclass(frozen=True, repr=False)
class GraphPath:
    """A path between two nodes of a directed graph, along and against its arrows.

    Attributes
    ----------
    nodes : tuple
        From one end to the other.
    arrows : tuple of {"→", "←"}
        Between each node and the next.
    roles : tuple of {"chain", "fork", "collider"}
        What each inner node is on this path.
    reasons : tuple of str
        What makes each inner node let pass or block.
    blocked_by : tuple
        Inner nodes that block; a path without any is open.
    """

    nodes: tuple[Node, ...]
    arrows: tuple[str, ...]
    roles: tuple[str, ...]
    reasons: tuple[str, ...]
    blocked_by: tuple[Node, ...]

    @property
    def is_open(self) -> bool:
        """Whether all inner nodes let pass."""
        return not self.blocked_by

    def __str__(self) -> str:
        steps = (f" {a} {node}" for a, node in zip(self.arrows, self.nodes[1:], strict=True))
        return f"{self.nodes[0]}{''.join(steps)}"

    def __repr__(self) -> str:
        lines = [f"{self} is {'open' if self.is_open else 'blocked'}"]
        for node, role, why in zip(self.nodes[1:-1], self.roles, self.reasons, strict=True):
            does = "blocks" if node in self.blocked_by else "lets pass"
            lines.append(f"  {node} {does}: {role}, {why}")
        return "\n".join(lines)


@dataclass(frozen=True, repr=False)
class Separation:
    """Whether two sets of nodes are separated given a third, and by which path they are not.

    True where they are.

    Attributes
    ----------
    a, b, given : NodeSet
    path : GraphPath or None
        A shortest open path; None where there is none.
    """

    a: NodeSet
    b: NodeSet
    given: NodeSet
    path: GraphPath | None

    @property
    def separated(self) -> bool:
        """Whether every path between the sets is blocked."""
        return self.path is None

    def __bool__(self) -> bool:
        return self.separated

    def __repr__(self) -> str:
        known = f" given {self.given}" if self.given else ""
        if self.path is None:
            return f"{self.a} and {self.b} are separated{known}: every path is blocked"
        return f"{self.a} and {self.b} are not separated{known}:\n{self.path!r}"


def describe_path(
    names: Sequence[Node], path: Sequence[int], forward: Sequence[bool], opener: IntArray
) -> GraphPath:
    """Return a path of numbered nodes with the role of each inner one.

    Parameters
    ----------
    forward : sequence of bool
        Whether the arrow between a node and the next points to the next.
    opener : array (n,)
        What opens each node as a collider, plus 1: itself, a descendant, or nothing (0).
    """
    roles, reasons, blocked_by = [], [], []
    for node, directions in zip(path[1:-1], pairwise(forward), strict=True):
        role, by = _ROLES[directions], int(opener[node]) - 1
        given = by == node
        if role != "collider":
            why = "given" if given else "not given"
        elif by < 0:
            why = "neither it nor a descendant is given"
        else:
            why = "given" if given else f"its descendant {names[by]} is given"
        if by < 0 if role == "collider" else given:
            blocked_by.append(names[node])
        roles.append(role)
        reasons.append(why)
    return GraphPath(
        tuple(names[i] for i in path),
        tuple(_ARROWS[bool(f)] for f in forward),
        tuple(roles),
        tuple(reasons),
        tuple(blocked_by),
    )


def shortest_paths(
    links: Adjacency, sources: Iterable[int], targets: Iterable[int]
) -> Iterator[tuple[int, ...]]:
    """Return all paths between two sets, the shortest first, in polynomial time for each.

    Inner nodes are in neither set. The paths that begin with one prefix and do not go on in some
    ways are a space; the best of a space is found by a search, and the others are divided among
    the spaces that leave it at one of its nodes.

    References
    ----------
    J. Yen, "Finding the k shortest loopless paths in a network", Management Science 17 (1971);
    E. Lawler, Management Science 18 (1972).
    """
    starts, ends = sorted(sources), frozenset(targets)
    heap: list[tuple[int, tuple[int, ...], int, frozenset[int]]] = []

    def consider(prefix: tuple[int, ...], excluded: frozenset[int]) -> None:
        best = _shortest(links, starts, ends, prefix, excluded)
        if best is not None:
            heappush(heap, (len(best), best, len(prefix), excluded))

    consider((), frozenset())
    while heap:
        _, path, kept, excluded = heappop(heap)
        yield path
        for i in range(kept, len(path)):
            others = excluded if i == kept else frozenset()
            consider(path[:i], others | {path[i]})


def _shortest(
    links: Adjacency,
    starts: Sequence[int],
    ends: frozenset[int],
    prefix: tuple[int, ...],
    excluded: frozenset[int],
) -> tuple[int, ...] | None:
    """Return the shortest path that begins with a prefix and does not go on with what is excluded."""
    came = dict.fromkeys((*prefix, *starts), -1)  # entered, or never to be
    first = links.of(prefix[-1]) if prefix else starts
    level = [x for x in first if x not in excluded and (not prefix or x not in came)]
    came.update(dict.fromkeys(level, -1))
    while level:
        below = []
        for node in level:
            if node in ends:
                return (*prefix, *_follow_back(came, node))
            for end in links.of(node):
                if end not in came:
                    came[end] = node
                    below.append(end)
        level = below
    return None


def _follow_back(came: dict[int, int], node: int) -> tuple[int, ...]:
    path = [node]
    while came[path[-1]] >= 0:
        path.append(came[path[-1]])
    return tuple(reversed(path))
