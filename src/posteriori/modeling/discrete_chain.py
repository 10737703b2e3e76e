"""Chains of discrete variables: tables turned into the arrays of a hidden Markov model.

Several variables that meet in a step are one state: its number is that of their joint table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.discrete_graph import Graph
from posteriori.modeling.elimination import MOST_CELLS, merge
from posteriori.modeling.tables import Axis, Table
from posteriori.numerics.types import Array

__all__ = ["SolvedChain", "chain_pairs", "decode_chain", "draw_chain", "smooth_chain"]


class _Arrays(NamedTuple):
    transition: Array  # (..., T - 1 or 1, K, K)
    likelihood: Array  # (..., T, K), first member's prior included
    others: tuple[Axis, ...]
    time: Axis
    nodes: tuple[Axis, ...]

    @property
    def labels(self) -> tuple[Axis, ...]:
        return (*self.others, self.time, *self.nodes)

    @property
    def series(self) -> tuple[int, ...]:
        return self.likelihood.shape[:-2]


class SolvedChain(NamedTuple):
    """Joint probabilities of the members at each time, and the log evidence."""

    probabilities: Table
    log_evidence: float


def smooth_chain(graph: Graph, tables: Sequence[Table]) -> SolvedChain:
    """Return what is known of the chain, given tables on its members at one time."""
    from posteriori.inference.hidden_markov import forward_backward

    arrays = _arrays(graph, tables)

    def run(initial: Array, transition: Array, likelihood: Array) -> tuple[Array, Array]:
        answer = forward_backward(initial, transition, likelihood)
        return answer.probabilities, answer.log_evidence

    probabilities, log_evidence = _run(arrays, run)
    shape = tuple(axis.size for axis in arrays.labels)
    return SolvedChain(
        Table(probabilities.reshape(shape), arrays.labels), float(np.sum(log_evidence))
    )


def chain_pairs(graph: Graph, tables: Sequence[Table]) -> Table:
    """Return the joint probabilities of the members before and after each step."""
    from posteriori.inference.hidden_markov import forward_backward

    arrays = _arrays(graph, tables)
    chain = graph.chain
    assert chain is not None

    def run(initial: Array, transition: Array, likelihood: Array) -> tuple[Array | None]:
        return (forward_backward(initial, transition, likelihood, pairs=True).pair_probabilities,)

    (pairs,) = _run(arrays, run)
    labels = (*arrays.others, chain.arrival, *chain.before, *chain.nodes)
    return Table(pairs.reshape(tuple(axis.size for axis in labels)), labels)


def decode_chain(graph: Graph, tables: Sequence[Table]) -> tuple[dict[Axis, Table], float]:
    """Return the most probable states of the members, and the log of their weight."""
    from posteriori.inference.hidden_markov import most_likely_path

    arrays = _arrays(graph, tables)
    states, log_joint = _run(arrays, most_likely_path)
    return _members(arrays, states, ()), float(np.sum(log_joint))


def draw_chain(
    graph: Graph, tables: Sequence[Table], draw: Axis, rng: np.random.Generator
) -> dict[Axis, Table]:
    """Return draws of the members' paths."""
    from posteriori.inference.hidden_markov import sample_path

    arrays = _arrays(graph, tables)

    def run(initial: Array, transition: Array, likelihood: Array) -> tuple[Array]:
        paths = sample_path(initial, transition, likelihood, draw.size, rng=rng)
        return (np.moveaxis(paths, 0, -2),)

    (states,) = _run(arrays, run)
    return _members(arrays, np.moveaxis(states, -2, 0), (draw,))


def _members(arrays: _Arrays, states: Array, lead: tuple[Axis, ...]) -> dict[Axis, Table]:
    codes = np.unravel_index(states, tuple(node.size for node in arrays.nodes))
    axes = (*lead, *arrays.others, arrays.time)
    return {node: Table(c, axes) for node, c in zip(arrays.nodes, codes, strict=True)}


def _arrays(graph: Graph, tables: Sequence[Table]) -> _Arrays:
    chain = graph.chain
    assert chain is not None
    others = tuple(p for p in graph.plates[chain.nodes[0]] if p is not chain.time)
    count = int(np.prod([node.size for node in chain.nodes]))
    labels = (*others, chain.time, *chain.nodes)
    rows = tuple(axis.size for axis in labels[: len(others) + 1])
    moves = merge(chain.steps, (*others, chain.arrival, *chain.before, *chain.nodes))
    lead = moves.shape[: len(others) + 1]
    cells = float(np.prod([float(n) for n in lead])) * count**2
    if cells > MOST_CELLS:
        names = ", ".join(node.name for node in chain.nodes)
        raise MemoryError(
            f"a chain over {names} together has {count} states: its transitions need "
            f"{cells:.3g} cells; use fewer states"
        )
    ends = tuple(node.size for node in chain.nodes) * 2
    transition = np.broadcast_to(moves, lead + ends).reshape(*lead, count, count)
    here = np.broadcast_to(merge(tables, labels), tuple(axis.size for axis in labels))
    return _Arrays(transition, here.reshape(*rows, count), others, chain.time, chain.nodes)


def _run(arrays: _Arrays, method: Callable[[Any, Any, Any], Sequence[Any]]) -> list[Array]:
    """Run a method on all series: at once where they share their transitions."""
    initial = np.zeros(arrays.likelihood.shape[-1])
    name = ", ".join(node.name for node in arrays.nodes)
    lead = arrays.transition.shape[: len(arrays.others)]
    try:
        if all(n == 1 for n in lead):
            shared = arrays.transition.reshape(arrays.transition.shape[len(lead) :])
            return [np.asarray(a) for a in method(initial, shared, arrays.likelihood)]
        full = arrays.series + arrays.transition.shape[len(lead) :]
        moves = np.broadcast_to(arrays.transition, full)
        answers = [
            method(initial, moves[index], arrays.likelihood[index])
            for index in np.ndindex(*arrays.series)
        ]
    except ValueError as error:
        what, _, _ = str(error).partition(";")
        raise ValueError(what.replace("no state is", f"no state of {name} is")) from None
    return [
        np.stack([np.asarray(a) for a in part]).reshape(arrays.series + np.shape(part[0]))
        for part in zip(*answers, strict=True)
    ]
