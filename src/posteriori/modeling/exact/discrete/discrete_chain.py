"""Chains of discrete variables: tables turned into the arrays of a hidden Markov model.

Several variables that meet in a step are one state: its number is that of their joint table.
Variables that do not move in time are leading axes: a chain is solved for each of their states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.state_chains.hidden_markov import (
    forward_backward,
    impossible_steps,
    most_likely_path,
    sample_path,
)
from posteriori.inference.state_chains.series_batches import run_series
from posteriori.modeling.binding.labelled import Axis, Table, count_of, gather, shape_of
from posteriori.modeling.binding.places import add_tables, locate
from posteriori.modeling.exact.discrete.discrete_graph import Chained, Graph
from posteriori.modeling.exact.discrete.plate_elimination import reduce_plates
from posteriori.modeling.forms.state_tables import MOST_CELLS
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "SolvedChain",
    "chain_pairs",
    "decode_chain",
    "draw_chain",
    "paths_at",
    "smooth_chain",
]


class _Arrays(NamedTuple):
    transition: Array  # (..., T - 1 or 1, K, K), length 1 where all share them
    likelihood: Array  # (..., T, K), first member's prior included
    lead: tuple[Axis, ...]  # static variables, then plates
    graph: Graph

    @property
    def chain(self) -> Chained:
        assert self.graph.chain is not None
        return self.graph.chain

    @property
    def shape(self) -> tuple[int, ...]:
        return self.likelihood.shape[:-2]


class SolvedChain(NamedTuple):
    """What is known for each state of the static variables.

    Attributes
    ----------
    probabilities : Table
        Joint probabilities of the members at each time, 0 where the data are impossible.
    log_evidence : Table
        Over the static variables and their plates.
    pairs : Table, optional
        Joint probabilities of the members before and after each step, of chains that are solved
        many times.
    """

    probabilities: Table
    log_evidence: Table
    pairs: Table | None = None


def smooth_chain(graph: Graph, tables: Sequence[Table]) -> SolvedChain:
    """Return what is known of the chain, given tables on its members at one time."""
    arrays = _arrays(graph, tables)
    repeated = arrays.chain.repeated

    def run(initial: Array, transition: Array, likelihood: Array) -> tuple[Array, ...]:
        answer = forward_backward(initial, transition, likelihood, pairs=repeated)
        p, _, pairs, log_evidence = answer
        return (p, log_evidence) if pairs is None else (p, log_evidence, pairs)

    (probabilities, log_evidence, *pairs), possible = _run(arrays, run)
    labels = (*arrays.lead, arrays.chain.time, *arrays.chain.nodes)
    joint = Table(probabilities.reshape(shape_of(labels)), labels)
    evidence = _evidence(arrays, log_evidence, possible)
    return SolvedChain(joint, evidence, _pairs_of(arrays, pairs[0]) if pairs else None)


def chain_pairs(graph: Graph, tables: Sequence[Table]) -> Table:
    """Return the joint probabilities of the members before and after each step."""
    arrays = _arrays(graph, tables)

    def run(initial: Array, transition: Array, likelihood: Array) -> tuple[Array | None]:
        answer = forward_backward(initial, transition, likelihood, pairs=True)
        return (answer.pair_probabilities,)

    (pairs,), _ = _run(arrays, run)
    return _pairs_of(arrays, pairs)


def _pairs_of(arrays: _Arrays, pairs: Array) -> Table:
    chain = arrays.chain
    labels = (*arrays.lead, chain.arrival, *chain.before, *chain.nodes)
    return Table(pairs.reshape(shape_of(labels)), labels)


def decode_chain(graph: Graph, tables: Sequence[Table]) -> tuple[dict[Axis, Table], Table]:
    """Return the most probable states of the members, and the log of their weight."""
    arrays = _arrays(graph, tables)
    (states, log_joint), possible = _run(arrays, most_likely_path)
    return _members(arrays, states, ()), _evidence(arrays, log_joint, possible)


def draw_chain(
    graph: Graph, tables: Sequence[Table], draw: Axis, rng: np.random.Generator
) -> dict[Axis, Table]:
    """Return draws of the members' paths."""
    arrays = _arrays(graph, tables)

    def run(initial: Array, transition: Array, likelihood: Array) -> tuple[Array]:
        paths = sample_path(initial, transition, likelihood, draw.size, rng=rng)
        return (np.moveaxis(paths, 0, -2),)

    (states,), _ = _run(arrays, run)
    return _members(arrays, np.moveaxis(states, -2, 0), (draw,))


def paths_at(
    graph: Graph, paths: Mapping[Axis, Table], states: Mapping[Axis, Table]
) -> dict[Axis, Table]:
    """Return the paths that belong to known states of the static variables."""
    assert graph.chain is not None
    found = dict(paths)
    for node in graph.chain.static:
        found = {member: gather(path, node, states[node]) for member, path in found.items()}
    return found


def _members(arrays: _Arrays, states: Array, draws: tuple[Axis, ...]) -> dict[Axis, Table]:
    chain = arrays.chain
    codes = np.unravel_index(states.astype(np.intp), shape_of(chain.nodes))
    axes = (*draws, *arrays.lead, chain.time)
    return {node: Table(c, axes) for node, c in zip(chain.nodes, codes, strict=True)}


def _evidence(arrays: _Arrays, logs: Array, possible: Array) -> Table:
    """Multiply the evidences of series that share their static variables."""
    plates = arrays.graph.plates
    table = Table(np.where(possible, logs, -np.inf), arrays.lead)
    shared = {plate for node in arrays.chain.static for plate in plates[node]}
    return reduce_plates(table, arrays.graph.series, shared)


def _arrays(graph: Graph, tables: Sequence[Table]) -> _Arrays:
    chain = graph.chain
    assert chain is not None
    lead = (*chain.static, *graph.series)
    count = count_of(chain.nodes)
    labels = (*lead, chain.time, *chain.nodes)
    rows = shape_of(labels[: len(lead) + 1])
    moves = add_tables(chain.steps, (*lead, chain.arrival, *chain.before, *chain.nodes))
    wide = moves.shape[: len(lead) + 1]
    _require_memory(chain, count, max(math.prod(wide) * count**2, math.prod(rows) * count))
    ends = shape_of(chain.nodes) * 2
    transition = np.broadcast_to(moves, wide + ends).reshape(*wide, count, count)
    here = np.broadcast_to(add_tables(tables, labels), shape_of(labels))
    return _Arrays(transition, here.reshape(*rows, count), lead, graph)


def _require_memory(chain: Chained, count: int, cells: int) -> None:
    if cells > MOST_CELLS:
        names = ", ".join(node.name for node in chain.nodes)
        still = ", ".join(node.name for node in chain.static)
        raise MemoryError(
            f"a chain over {names} together has {count} states"
            f"{f', for each state of {still}' if still else ''}: its tables need {cells:.3g} "
            "cells; use fewer states"
        )


def _run(
    arrays: _Arrays, method: Callable[[Any, Any, Any], Sequence[Any]]
) -> tuple[list[Array], Array]:
    """Run a method on all series, at once where they share their transitions.

    Returns
    -------
    answers : list of arrays
        0 for series that are impossible.
    possible : array of bool
    """
    failed, *found = run_series(partial(_possible, method), arrays.transition, arrays.likelihood)
    _require_possible(arrays, failed)
    return found, failed < 0


def _possible(method: Callable[[Any, Any, Any], Sequence[Any]], *arguments: Array) -> list[Array]:
    """Return the step at which each series is impossible, −1 for most, and what a method answers.

    Impossible ones are left out of it.
    """
    initial, transition, likelihood = arguments
    batch = likelihood.shape[:-2]
    try:
        return [np.full(batch, -1), *map(np.asarray, method(*arguments))]
    except ValueError:
        failed = np.asarray(impossible_steps(*arguments))
        if np.all(failed < 0):
            raise
    fine = failed < 0
    if fine.any():
        answers = method(initial, transition, likelihood[fine])
    else:  # for the shapes alone
        free = np.zeros((1, *likelihood.shape[-2:]))
        answers = method(initial, np.zeros_like(transition), free)
    filled = [failed]
    for answer in answers:
        full = np.zeros(batch + answer.shape[1:])
        full[fine] = answer[: np.count_nonzero(fine)]
        filled.append(full)
    return filled


def _require_possible(arrays: _Arrays, failed: IntArray) -> None:
    """Refuse series that are impossible for every state of the static variables."""
    chain = arrays.chain
    inner = tuple(range(len(chain.static)))
    dead = np.all(failed >= 0, axis=inner)
    if not np.any(dead):
        return
    series = tuple(np.argwhere(dead)[0])
    step = int(np.max(failed[(..., *series)]))
    variables = {node.name for node in arrays.graph.plates}
    names = ", ".join(node.name for node in chain.nodes)
    still = ", ".join(node.name for node in chain.static)
    raise ValueError(
        f"the data have probability 0: no state of {names} is possible"
        f"{locate((*arrays.graph.series, chain.time), (*series, step), variables)}"
        f" given the steps before it{f', whatever the state of {still}' if still else ''}"
    )
