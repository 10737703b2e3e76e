"""Searches along links, node by node, to run plain or compiled.

A walk is open given C if every collider → x ← on it is in C or has a descendant there, and no other
inner node is in C. Each node is entered at most twice, from below and from above, so that all open
walks from a set are followed in O(nodes + edges), where paths are exponentially many.

References
----------
R. Shachter, "Bayes-ball: the rational pastime", UAI 1998; D. Koller and N. Friedman, *Probabilistic
Graphical Models*, algorithm 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from posteriori.graphs.adjacency import Adjacency
from posteriori.numerics.compilation import kernel, run
from posteriori.numerics.types import IntArray

__all__ = ["find_openers", "find_open_walk", "order_nodes", "search", "spread"]

#: Nodes and edges from which compiled loops are loaded for the first question already.
_LARGE = 100_000
#: What a step along an edge costs, in multiplications.
_STEP = 4


def search(body: Callable[..., Any], links: Adjacency, *arguments: Any) -> Any:
    """Run a search: plain on small graphs, compiled on large ones and after many questions."""
    size = len(links.start) + len(links.neighbours)
    return run(body, math.inf if size > _LARGE else _STEP * size, links, *arguments)


@kernel(plain=True, allocates=False)
def spread(links: Adjacency, reached: IntArray, queue: IntArray, filled: int) -> int:
    """Follow links from the nodes that stand in the queue; return how many are in it at the end.

    What is marked in ``reached`` is not entered.
    """
    done = 0
    while done < filled:
        node = queue[done]
        done += 1
        for k in range(links.start[node], links.start[node + 1]):
            end = links.neighbours[k]
            if reached[end] == 0:
                reached[end] = 1
                queue[filled] = end
                filled += 1
    return filled


@kernel(plain=True, allocates=False)
def order_nodes(children: Adjacency, waits_for: IntArray, order: IntArray) -> int:
    """Order nodes after their parents; return how many have a place, all if there is no cycle.

    Parameters
    ----------
    waits_for : array (n,)
        Numbers of parents, which count down to 0; those on cycles and below them do not get there.
    order : array (n,)
        Filled.
    """
    filled = 0
    for node in range(len(waits_for)):
        if waits_for[node] == 0:
            order[filled] = node
            filled += 1
    done = 0
    while done < filled:
        node = order[done]
        done += 1
        for k in range(children.start[node], children.start[node + 1]):
            end = children.neighbours[k]
            waits_for[end] -= 1
            if waits_for[end] == 0:
                order[filled] = end
                filled += 1
    return filled


@kernel(plain=True, allocates=False)
def find_openers(parents: Adjacency, given: IntArray, opener: IntArray, queue: IntArray) -> None:
    """Find for each node what opens it as a collider: itself or the nearest descendant, if given.

    ``opener`` (n,) becomes its number plus 1, and stays 0 where nothing is given.
    """
    filled = 0
    for k in range(len(given)):
        opener[given[k]] = given[k] + 1
        queue[filled] = given[k]
        filled += 1
    done = 0
    while done < filled:
        node = queue[done]
        done += 1
        for k in range(parents.start[node], parents.start[node + 1]):
            end = parents.neighbours[k]
            if opener[end] == 0:
                opener[end] = opener[node]
                queue[filled] = end
                filled += 1


@kernel(plain=True, allocates=False)
def find_open_walk(
    parents: Adjacency,
    children: Adjacency,
    sources: IntArray,
    target: IntArray,
    opener: IntArray,
    came: IntArray,
    queue: IntArray,
) -> int:
    """Follow open walks from the sources, shortest first, until one arrives at a target.

    Node x entered from a child (or as a source) is state 2x; entered from a parent, 2x + 1. A
    shortest walk passes no node twice: what may be left from 2x + 1 may be left from 2x as well,
    and a walk that goes down from x and comes back up turned at a collider that is open, which
    makes x open as a collider, too.

    Parameters
    ----------
    target : array (n,)
        Positive where the walk may end.
    opener : array (n,)
        As :func:`find_openers` left it: node x is given where this is x + 1.
    came, queue : arrays (2n,)
        Zeros; ``came`` becomes the state before each that was entered, plus 1; its own for sources.

    Returns
    -------
    int
        The state that arrived, or −1.
    """
    filled = 0
    for k in range(len(sources)):
        came[2 * sources[k]] = 2 * sources[k] + 1
        queue[filled] = 2 * sources[k]
        filled += 1
    done = 0
    while done < filled:
        state = queue[done]
        done += 1
        node, from_above = state // 2, state % 2
        if target[node] > 0:
            return int(state)
        given = opener[node] == node + 1
        if not given:  # → node →, or ← node →
            for k in range(children.start[node], children.start[node + 1]):
                end = 2 * children.neighbours[k] + 1
                if came[end] == 0:
                    came[end] = state + 1
                    queue[filled] = end
                    filled += 1
        if (from_above == 0 and not given) or (from_above == 1 and opener[node] > 0):
            # ← node ←, or → node ←
            for k in range(parents.start[node], parents.start[node + 1]):
                end = 2 * parents.neighbours[k]
                if came[end] == 0:
                    came[end] = state + 1
                    queue[filled] = end
                    filled += 1
    return -1
