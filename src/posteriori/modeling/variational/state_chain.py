"""A discrete variable that follows itself in time: forward–backward for all starts and series."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.modeling.tables import Axis, Lookup, Switch, Table
from posteriori.modeling.variational.contraction import add_tables
from posteriori.modeling.variational.monomials import same_place
from posteriori.numerics.types import Array

__all__ = ["ChainBelief", "StateChain", "find_chain", "solve_chain"]


class StateChain(NamedTuple):
    """How a step sees the variable.

    Attributes
    ----------
    time : int
        Which axis of the variable is time.
    labels : tuple of Axis
        Of the log weights of steps: series, step, state before, state after.
    """

    time: int
    labels: tuple[Axis, ...]


class ChainBelief(NamedTuple):
    """What is known of all chains.

    Attributes
    ----------
    probabilities : array (starts, *axes, K)
    pairs : Table
        Joint probabilities of neighbours, over starts and the labels of the chain.
    log_total, entropy : arrays (starts,)
    """

    probabilities: Array
    pairs: Table
    log_total: Array
    entropy: Array


def find_chain(switches: Sequence[Switch], axes: Sequence[Axis]) -> StateChain | None:
    """Return the chain that two switches of one variable make up, if they do.

    They must read each member of one axis and its successor, and be the same on all others.
    """
    if len(switches) != 2 or switches[0].name != switches[1].name:
        return None
    early, late = switches
    time, step = -1, None
    for i, (p, q) in enumerate(zip(early.places, late.places, strict=True)):
        if isinstance(p, Lookup) and isinstance(q, Lookup) and not same_place(p, q):
            if time >= 0 or not _is_step(p.positions, q.positions, axes[i].size):
                return None
            time, (step,) = i, p.positions.axes
        elif p is not q:
            return None
    if step is None:
        return None
    series = tuple(p for i, p in enumerate(early.places) if i != time)
    if step in series or len(set(series)) < len(series):
        return None
    return StateChain(time, (*series, step, early.state, late.state))


def _is_step(before: Table, after: Table, size: int) -> bool:
    return (
        len(before.axes) == 1
        and before.axes == after.axes
        and np.array_equal(before.values, np.arange(size - 1))
        and np.array_equal(after.values, np.arange(1, size))
    )


def solve_chain(
    chain: StateChain, logits: Table, steps: Sequence[Table], restart: Axis
) -> ChainBelief:
    """Return the beliefs, given the log weights of states and of steps.

    Parameters
    ----------
    chain : StateChain
    logits : Table
        Over starts, the variable's axes and its states.
    steps : sequence of Table
        Log weights that add up, over starts and the labels of the chain.
    restart : Axis
    """
    from posteriori.inference.hidden_markov import forward_backward

    labels = (restart, *chain.labels)
    moves = add_tables(steps, labels)
    size = chain.labels[-1].size
    moves = np.broadcast_to(moves, (*moves.shape[:-2], size, size))
    here = np.moveaxis(logits.values, 1 + chain.time, -2)  # (starts, *series, T, K)
    wide = moves.shape[:-3]
    probabilities = np.empty(here.shape)
    pairs = np.empty((*here.shape[:-2], here.shape[-2] - 1, size, size))
    log_total = np.empty(here.shape[:-2])
    initial = np.zeros(size)
    for index in np.ndindex(*wide):  # series that share their steps are one call
        where = tuple(i if n > 1 else slice(None) for i, n in zip(index, wide, strict=True))
        answer = forward_backward(initial, moves[index], here[where], pairs=True, repeated=True)
        probabilities[where], pairs[where] = answer.probabilities, answer.pair_probabilities
        log_total[where] = answer.log_evidence
    starts = restart.size
    totals = log_total.reshape(starts, -1).sum(axis=1)
    energy = _expected(probabilities, here, starts) + _expected(pairs, moves, starts)
    return ChainBelief(
        np.moveaxis(probabilities, -2, 1 + chain.time),
        Table(pairs, labels),
        totals,
        totals - energy,  # H = ln Z − E[log weights]
    )


def _expected(p: Array, logs: Array, starts: int) -> Array:
    """Return Σ p ln w for each start, 0 ln 0 = 0."""
    possible = np.where(np.isneginf(logs), 0.0, logs)
    axes = list(range(p.ndim))
    if logs.shape[1:] != p.shape[1:] and p.ndim > 3:  # steps that are all alike: sum them first
        gone = tuple(i for i in axes[1:-2] if logs.shape[i] == 1)
        p = p.sum(axis=gone, keepdims=True)
    return (p * possible).reshape(starts, -1).sum(axis=1)
