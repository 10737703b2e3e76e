"""Energies and entropy of a discrete block, from the beliefs of its elimination."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from posteriori.modeling.discrete import DiscreteResult
from posteriori.modeling.discrete_chain import chain_pairs, smooth_chain
from posteriori.modeling.elimination import joint_beliefs, log_conditional
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
        now = smooth_chain(graph, done.rest).probabilities
        pairs = chain_pairs(graph, done.rest)
        roots = dict.fromkeys(graph.chain.nodes, now)
        for name, table in zip(graph.chain.sources, graph.chain.steps, strict=True):
            energies.append((name, _expect(pairs, table)))
        time = now.axes.index(graph.chain.time)
        states = np.moveaxis(now.values, time, 0)
        # H(z_1) + Σ_t H(z_{t+1} | z_t)
        entropy = _entropy(states[0]) + _entropy(pairs.values) - _entropy(states[:-1])
    beliefs = joint_beliefs(done.buckets, roots)
    holders = {part: step.node for step in block.steps for part in step.parts}
    for i, (name, table) in enumerate(zip(graph.sources, graph.tables, strict=True)):
        if i in holders:
            node = holders[i]
            copies = _copies(graph.plates[node], beliefs[node])
            energies.append((name, copies * _expect(beliefs[node], table)))
        elif table.axes:
            energies.append((name, _expect(next(iter(roots.values())), table)))
        else:
            energies.append((name, float(table.values)))
    for bucket in done.buckets:
        belief = beliefs[bucket.node]
        copies = _copies(graph.plates[bucket.node], belief)
        entropy -= copies * _expect(belief, log_conditional(bucket))
    return energies, entropy


def _expect(belief: Table, logs: Table) -> float:
    """Return Σ p · log, 0 where p is."""
    values = np.broadcast_to(spread(logs, belief.axes), belief.values.shape)
    return float(np.sum(belief.values * np.where(belief.values > 0, values, 0.0)))


def _entropy(p: Array) -> float:
    return -float(np.sum(p * np.log(np.where(p > 0, p, 1.0))))


def _copies(plates: Iterable[Axis], belief: Table) -> int:
    """Return how many equal copies of a belief the plates hold that it does not depend on."""
    return int(np.prod([p.size for p in plates if p not in belief.axes]))
