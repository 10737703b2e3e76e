"""Energies and entropy of a discrete block, from the beliefs of its elimination."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table, spread
from posteriori.modeling.exact.discrete.discrete_chain import (
    ChainBeliefs,
    chain_pairs,
    static_belief,
)
from posteriori.modeling.exact.discrete.discrete_graph import Chained
from posteriori.modeling.exact.discrete.discrete_order import split_tables
from posteriori.modeling.forms.table_elimination import (
    Bucket,
    joint_beliefs,
    log_conditional,
    multiply_beliefs,
)
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.exact.discrete.discrete_result import DiscreteResult

__all__ = ["discrete_terms", "pairs_along_chain"]


def discrete_terms(result: DiscreteResult) -> tuple[list[tuple[str, float]], float]:
    """Return the energy of every table with the name of its factor, and the entropy."""
    block, done = result.block, result._elimination
    graph = block.graph
    energies: list[tuple[str, float]] = []
    entropy = 0.0
    roots: Mapping[Axis, Table] = {}
    last: tuple[Bucket, ...] = ()
    if result._chain is not None:
        assert graph.chain is not None
        roots, last = result._chain.joint, result._chain.after.buckets
        given, joint = pairs_along_chain(result)
        energies += [
            (name, _expect(joint, table))
            for name, table in zip(graph.chain.sources, graph.chain.steps, strict=True)
        ]
        entropy = _chain_entropy(graph.chain, result._chain, given, joint)
    beliefs = joint_beliefs(done.buckets, roots)
    holders = {part: step.node for step in block.planned.before for part in step.parts}
    for i, (name, table) in enumerate(zip(graph.sources, graph.tables, strict=True)):
        if not table.axes:
            energies.append((name, float(table.values)))
            continue
        node = holders[i] if i in holders else next(n for n in roots if n in table.axes)
        copies = _copies(graph.plates[node], beliefs[node])
        energies.append((name, copies * _expect(beliefs[node], table)))
    for bucket in (*done.buckets, *last):
        belief = beliefs[bucket.node]
        copies = _copies(graph.plates[bucket.node], belief)
        entropy -= copies * _expect(belief, log_conditional(bucket))
    return energies, entropy


def pairs_along_chain(result: DiscreteResult) -> tuple[Table, Table]:
    """Return probabilities of members before and after each step, given and with static ones."""
    graph = result.block.graph
    assert graph.chain is not None
    assert result._chain is not None
    if result._pairs is None:
        result._pairs = chain_pairs(graph, split_tables(graph, result._elimination.rest)[0])
    given = result._pairs
    if not graph.chain.static:
        return given, given
    return given, multiply_beliefs(given, static_belief(graph, result._chain.joint))


def _chain_entropy(chain: Chained, along: ChainBeliefs, given: Table, joint: Table) -> float:
    """Return H(z_1) + Σ_t H(z_{t+1} | z_t), each −Σ p log p(· | static)."""
    now = along.joint[chain.nodes[0]]
    at_once = -_logs_at_each_time(now, along.solved.probabilities, chain.time)
    return float(at_once[0] - np.sum(at_once[:-1])) - _expect(joint, _log(given))


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
