"""Separation in random directed graphs against networkx, and how its cost grows.

Every question is answered by both first, and the answers must be equal.
"""

from __future__ import annotations

import statistics
import time

import networkx as nx
import numpy as np
from harness import Comparison, compare, report

from posteriori.graphs import DirectedGraph

Question = tuple[int, int, list[int]]


def random_graph(n: int, rng: np.random.Generator) -> DirectedGraph:
    """Return n nodes and 3n arrows, from lower to higher numbers."""
    ends = rng.integers(0, n, size=(3 * n + 20, 2))
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)[: 3 * n]
    return DirectedGraph(ends, nodes=range(n))


def draw_questions(n: int, n_given: int, times: int, rng: np.random.Generator) -> list[Question]:
    drawn = [rng.permutation(n)[: n_given + 2].tolist() for _ in range(times)]
    return [(a, b, given) for a, b, *given in drawn]


def against_networkx(n: int, n_given: int, bar: float) -> Comparison:
    rng = np.random.default_rng(n)
    graph = random_graph(n, rng)
    other, questions = graph.to_networkx(), draw_questions(n, n_given, 5, rng)
    sets = [({a}, {b}, set(given)) for a, b, given in questions]

    def ours() -> list[bool]:
        return [graph.is_separated(*question) for question in questions]

    def theirs() -> list[bool]:
        return [nx.is_d_separator(other, *question) for question in sets]

    assert ours() == theirs()
    name = f"{n:,} nodes, {n_given:,} given, 5 questions (networkx)"
    return compare(name, ours, theirs, bar=bar, faster=True, rounds=7, warm=False)


def show_growth(sizes: list[int]) -> None:
    """Print seconds of a question and of making the graph, for each size and for each node."""
    print("\nhow the cost grows (1,000 given)")
    for n in sizes:
        rng = np.random.default_rng(n)
        start = time.perf_counter()
        graph = random_graph(n, rng)
        made = time.perf_counter() - start
        spans = []
        for question in draw_questions(n, 1000, 11, rng):
            start = time.perf_counter()
            graph.is_separated(*question)
            spans.append(time.perf_counter() - start)
        each = statistics.median(spans[1:])
        print(
            f"  {n:>9,} nodes  {each * 1e3:8.2f} ms  {each / n * 1e9:6.1f} ns a node  made in {made:.2f} s"
        )


def main() -> None:
    cases = [against_networkx(10**5, 1000, 20.0), against_networkx(1000, 50, 1.0)]
    report("is_separated", cases)
    show_growth([10**4, 10**5, 10**6])


if __name__ == "__main__":
    main()
