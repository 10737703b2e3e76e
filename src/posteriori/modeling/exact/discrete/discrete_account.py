"""Energies and entropy of a discrete block, from the beliefs of its elimination."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from posteriori.modeling.binding.labelled import Axis, Table, spread
from posteriori.modeling.exact.discrete.discrete_order import Order
from posteriori.modeling.exact.discrete.plate_elimination import log_conditional
from posteriori.modeling.exact.discrete.solved_states import SolvedStates
from posteriori.numerics.types import Array

__all__ = ["discrete_terms", "table_belief"]


def discrete_terms(order: Order, solved: SolvedStates) -> tuple[list[tuple[str, float]], float]:
    """Return the energy of every table with the name of its factor, and the entropy."""
    graph = order.graph
    energies: list[tuple[str, float]] = []
    entropy = solved.cliques.entropy()
    if graph.chain is not None:
        _, joint = solved.pairs
        energies += [
            (name, _expect(joint, table))
            for name, table in zip(graph.chain.sources, graph.chain.steps, strict=True)
        ]
        entropy += _chain_entropy(graph.chain.time, solved)
    for i, (name, table) in enumerate(zip(graph.sources, graph.tables, strict=True)):
        if not table.axes:
            energies.append((name, float(table.values)))
            continue
        node, belief = table_belief(order, solved, i)
        energies.append((name, _copies(graph.plates[node], belief) * _expect(belief, table)))
    for bucket in solved.buckets:
        belief = solved.beliefs[bucket.node]
        copies = _copies(graph.plates[bucket.node], belief)
        entropy -= copies * _expect(belief, log_conditional(bucket))
    return energies, entropy


def table_belief(order: Order, solved: SolvedStates, table: int) -> tuple[Axis, Table]:
    """Return joint probabilities of all variables that a table of the graph joins, and one of them."""
    for step in order.before:
        if table in step.parts:
            return step.node, solved.beliefs[step.node]
    plates = order.graph.plates
    nodes = tuple(axis for axis in order.graph.tables[table].axes if axis in plates)
    return nodes[0], solved.joint(nodes)


def _chain_entropy(time: Axis, solved: SolvedStates) -> float:
    """Return H(z_1) + Σ_t H(z_{t+1} | z_t), each −Σ p log p(· | static)."""
    assert solved.chain is not None
    given, joint = solved.pairs
    at_once = -_logs_at_each_time(solved.now, solved.chain.probabilities, time)
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
