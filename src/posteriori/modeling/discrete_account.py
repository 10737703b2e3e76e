"""Energies and entropy of a discrete block, from the beliefs of its elimination."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from posteriori.modeling.discrete import DiscreteResult
from posteriori.modeling.discrete_chain import (
    SolvedChain,
    chain_beliefs,
    chain_pairs,
    smooth_chain,
    static_belief,
)
from posteriori.modeling.discrete_order import split_tables
from posteriori.modeling.elimination import joint_beliefs, log_conditional, multiply_beliefs
from posteriori.modeling.tables import Axis, Table, spread
from posteriori.numerics.types import Array

__all__ = ["discrete_terms"]


def discrete_terms(result: DiscreteResult) -> tuple[list[tuple[str, float]], float]:
    """Return the energy of every table with the name of its factor, and the entropy."""
    block, done = result.block, result._elimination
    graph = block.graph
    energies: list[tuple[str, float]] = []
    entropy = 0.0
    roots: dict[Axis, Table] = {}
    if graph.chain is not None:
        assert result._after is not None
        solved = smooth_chain(graph, split_tables(graph, done.rest)[0])
        roots = chain_beliefs(graph, solved, result._after)
        more, entropy = _chain_terms(result, solved, roots)
        energies += more
    beliefs = joint_beliefs(done.buckets, roots)
    holders = {part: step.node for step in block.planned.before for part in step.parts}
    for i, (name, table) in enumerate(zip(graph.sources, graph.tables, strict=True)):
        if i in holders:
            node = holders[i]
            copies = _copies(graph.plates[node], beliefs[node])
            energies.append((name, copies * _expect(beliefs[node], table)))
        elif table.axes:
            node = next(node for node in roots if node in table.axes)
            copies = _copies(graph.plates[node], roots[node])
            energies.append((name, copies * _expect(roots[node], table)))
        else:
            energies.append((name, float(table.values)))
    after = () if result._after is None else result._after.buckets
    for bucket in (*done.buckets, *after):
        belief = beliefs[bucket.node]
        copies = _copies(graph.plates[bucket.node], belief)
        entropy -= copies * _expect(belief, log_conditional(bucket))
    return energies, entropy


def _chain_terms(
    result: DiscreteResult, solved: SolvedChain, roots: Mapping[Axis, Table]
) -> tuple[list[tuple[str, float]], float]:
    """Return the energies of the steps, and the entropy of a chain given its static variables."""
    graph = result.block.graph
    chain = graph.chain
    assert chain is not None
    pairs = chain_pairs(graph, split_tables(graph, result._elimination.rest)[0])
    now, given, moved = roots[chain.nodes[0]], solved.probabilities, pairs
    if chain.static:
        moved = multiply_beliefs(pairs, static_belief(graph, roots))
    energies = [
        (name, _expect(moved, table))
        for name, table in zip(chain.sources, chain.steps, strict=True)
    ]
    # H(z_1) + Σ_t H(z_{t+1} | z_t), each −Σ p log p(· | static)
    at_once = -_logs_at_each_time(now, given, chain.time)
    return energies, at_once[0] - _expect(moved, _log(pairs)) - float(np.sum(at_once[:-1]))


def _logs_at_each_time(belief: Table, given: Table, time: Axis) -> Array:
    """Return Σ p · log p(· | static) at each time."""
    logs = spread(_log(given), belief.axes)
    others = tuple(i for i, axis in enumerate(belief.axes) if axis is not time)
    return np.sum(belief.values * logs, axis=others)


def _log(p: Table) -> Table:
    return Table(np.log(np.where(p.values > 0, p.values, 1.0)), p.axes)


def _expect(belief: Table, logs: Table) -> float:
    """Return Σ p · log, 0 where p is."""
    values = np.broadcast_to(spread(logs, belief.axes), belief.values.shape)
    return float(np.sum(belief.values * np.where(belief.values > 0, values, 0.0)))


def _copies(plates: Iterable[Axis], belief: Table) -> int:
    """Return how many equal copies of a belief the plates hold that it does not depend on."""
    return int(np.prod([p.size for p in plates if p not in belief.axes]))
