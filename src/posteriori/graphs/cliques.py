"""Maximal cliques: sets of nodes that are all linked, to which no other can be added."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from posteriori.graphs.adjacency import Adjacency

__all__ = ["list_cliques"]


def list_cliques(links: Adjacency) -> Iterator[list[int]]:
    """Return the maximal cliques of a graph one by one, each as rising numbers.

    A clique is extended by its common neighbours, but not by those of a pivot: some clique of
    these holds the pivot as well, or another node that is no neighbour of it. Nodes of low degree
    begin, so that few candidates are left for each.

    References
    ----------
    C. Bron and J. Kerbosch, Comm. ACM 16 (1973); E. Tomita, A. Tanaka and H. Takahashi,
    Theoretical Computer Science 363 (2006).
    """
    n = len(links.start) - 1
    neighbours = [frozenset(links.of(node)) for node in range(n)]
    rank = {node: i for i, node in enumerate(sorted(range(n), key=lambda x: len(neighbours[x])))}
    for node in rank:
        later = {x for x in neighbours[node] if rank[x] > rank[node]}
        yield from _extend(neighbours, node, later, set(neighbours[node] - later))


def _extend(
    neighbours: list[frozenset[int]], node: int, candidates: set[int], seen: set[int]
) -> Iterator[list[int]]:
    """Return the maximal cliques of a node and some candidates that hold nothing seen before."""
    clique = [node]
    waiting = [(candidates, seen, _choices(neighbours, candidates, seen))]
    if not candidates and not seen:
        yield clique
    while waiting:
        candidates, seen, choices = waiting[-1]
        if not choices:
            waiting.pop()
            clique.pop()
            continue
        node = choices.pop()
        candidates.remove(node)
        inside, outside = candidates & neighbours[node], seen & neighbours[node]
        seen.add(node)
        clique.append(node)
        if not inside and not outside:
            yield sorted(clique)
        waiting.append((inside, outside, _choices(neighbours, inside, outside)))


def _choices(neighbours: list[frozenset[int]], candidates: set[int], seen: set[int]) -> list[int]:
    """Return the candidates that are not linked to the pivot, which leaves the fewest, last first."""
    fewest = candidates
    for pivot in chain(seen, candidates):
        if len(fewest) <= 1:
            break
        left = candidates - neighbours[pivot]
        if len(left) < len(fewest):
            fewest = left
    return sorted(fewest, reverse=True)
