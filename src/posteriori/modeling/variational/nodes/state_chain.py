"""A discrete variable that follows itself in time: forward–backward for all starts and series."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.state_chains.hidden_markov import forward_backward
from posteriori.inference.state_chains.series_batches import run_series
from posteriori.modeling.binding.labelled import Axis, Lookup, Switch, Table
from posteriori.modeling.binding.places import add_tables, same_place
from posteriori.numerics.types import Array

__all__ = [
    "ChainBelief",
    "StateChain",
    "best_path",
    "draw_path",
    "draw_states",
    "find_state_chain",
    "log_path",
    "log_states",
    "solve_state_chain",
]

#: Numbers of a series' moves below which series with moves of their own are solved together: a call for each
#: would take longer than writing its moves out for all steps.
_SHORT = 10_000


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
    probabilities : array (starts, *series, T, K)
    pairs : array (starts, *series, T - 1, K, K)
        Joint probabilities of neighbours.
    log_total : array (starts,)
    log_states, log_steps : arrays
        The log weights, of length 1 where all share them.
    """

    probabilities: Array
    pairs: Array
    log_total: Array
    log_states: Array
    log_steps: Array

    def entropy(self) -> Array:
        """H = ln Z − E[log weights] for each start."""
        states = _expected(self.probabilities, self.log_states)
        return self.log_total - states - _expected(self.pairs, self.log_steps)


def find_state_chain(switches: Sequence[Switch], axes: Sequence[Axis]) -> StateChain | None:
    """Return the chain that two switches of one variable make up, if they do.

    They must read each member of one axis and its successor, and be the same on all others.
    """
    if len(switches) != 2 or switches[0].name != switches[1].name:
        return None
    early, late = switches
    time, step = -1, None
    for i, (p, q) in enumerate(zip(early.places, late.places, strict=True)):
        if isinstance(p, Lookup) and isinstance(q, Lookup) and not same_place(p, q):
            step = p.labels[0] if time < 0 and len(p.labels) == 1 else None
            if step is None or (p.run, q.run) != ((step, 0), (step, 1)):
                return None
            if step.size != axes[i].size - 1:
                return None
            time = i
        elif p is not q:
            return None
    if step is None:
        return None
    series = tuple(p for i, p in enumerate(early.places) if i != time)
    if step in series or len(set(series)) < len(series):
        return None
    return StateChain(time, (*series, step, early.state, late.state))


def solve_state_chain(
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
    moves = add_tables(steps, (restart, *chain.labels))
    size = chain.labels[-1].size
    moves = np.broadcast_to(moves, (*moves.shape[:-2], size, size))
    here = np.moveaxis(logits.values, 1 + chain.time, -2)
    apart = math.prod(moves.shape[:-3]) > 1 and here.shape[-2] * size**2 < _SHORT
    found = _smooth_in_a_row(moves, here) if apart else run_series(_smooth, moves, here)
    p, pairs, log_evidence = found
    totals = log_evidence.reshape(restart.size, -1).sum(axis=1)
    return ChainBelief(p, pairs, totals, here, moves)


def _smooth(initial: Array, moves: Array, here: Array) -> tuple[Array, Any, Array]:
    """Return probabilities of states, of steps, and the evidence of each series."""
    p, _, pairs, log_evidence = forward_backward(initial, moves, here, pairs=True)
    return p, pairs, log_evidence


def _smooth_in_a_row(moves: Array, here: Array) -> tuple[Array, Array, Array]:
    """Do the same for series with moves of their own, one after another in one pass."""
    lead, (length, size) = here.shape[:-2], here.shape[-2:]
    count = math.prod(lead)
    arriving = np.zeros((*lead, length, size, size))
    arriving[..., 1:, :, :] = moves
    p, _, pairs, log_evidence = forward_backward(
        np.zeros(size),
        arriving.reshape(-1, size, size),
        here.reshape(-1, size),
        lengths=np.full(count, length),
        pairs=True,
    )
    assert pairs is not None
    steps = pairs.reshape(arriving.shape)[..., 1:, :, :]
    return p.reshape(here.shape), steps, log_evidence.reshape(lead)


def _expected(p: Array, logs: Array) -> Array:
    """Return Σ p ln w for each start, 0 ln 0 = 0."""
    gone = tuple(i for i in range(1, p.ndim - 2) if logs.shape[i] == 1 < p.shape[i])
    alike = p.sum(axis=gone, keepdims=True)  # steps that share their weights
    return (alike * np.where(np.isneginf(logs), 0.0, logs)).reshape(len(p), -1).sum(axis=1)


# -- paths -----------------------------------------------------------------------------------


def draw_states(p: Array, size: int, rng: np.random.Generator) -> Array:
    """Draw a state for each row of probabilities (..., K), (size, ...)."""
    return _pick(np.broadcast_to(p, (size, *p.shape)), rng)


def draw_path(
    p: Array, pairs: Array, chain: StateChain, size: int, rng: np.random.Generator
) -> Array:
    """Draw the first state of each series, then each next one given the one before.

    Parameters
    ----------
    p, pairs : arrays (*axes, K), (*series, T - 1, K, K)
        Probabilities of states and of neighbours.
    chain : StateChain
    size : int
    rng : Generator
    """
    first, steps = _markov_chain(p, pairs, chain)
    lead, (length, k) = first.shape[:-1], steps.shape[-3:-1]
    by_series = np.cumsum(steps, axis=-1).reshape(-1, length, k, k)
    edges = np.ascontiguousarray(by_series.swapaxes(0, 1)).reshape(length, -1, k)
    rows = k * np.arange(edges.shape[1] // k)
    path = np.empty((length + 1, size, len(rows)), dtype=np.intp)
    path[0] = draw_states(first, size, rng).reshape(size, -1)
    u = rng.random((length, size, len(rows), 1))
    for t in range(length):
        path[t + 1] = _place(u[t], edges[t].take(rows + path[t], axis=0))
    return np.moveaxis(path.reshape(length + 1, size, *lead), 0, 1 + chain.time)


def log_states(p: Array, states: Array) -> Array:
    """Return the log probability of states (S, ...) under probabilities (..., K), (S,)."""
    at = states.astype(np.intp)[..., None]
    logs = np.take_along_axis(np.broadcast_to(_log(p), (len(at), *p.shape)), at, axis=-1)
    return np.asarray(logs.reshape(len(at), -1).sum(axis=1))


def log_path(p: Array, pairs: Array, chain: StateChain, path: Array) -> Array:
    """Return the log probability of paths (S, *axes) of all series together, (S,)."""
    first, steps = _markov_chain(p, pairs, chain)
    states = np.moveaxis(path, 1 + chain.time, -1).astype(np.intp)
    total = log_states(first, states[..., 0])
    for t in range(steps.shape[-3]):
        rows = np.broadcast_to(steps[..., t, :, :], (*states.shape[:-1], *steps.shape[-2:]))
        chosen = np.take_along_axis(rows, states[..., t, None, None], axis=-2)[..., 0, :]
        arrived = np.take_along_axis(_log(chosen), states[..., t + 1, None], axis=-1)
        total = total + arrived.reshape(len(path), -1).sum(axis=1)
    return total


def best_path(p: Array, pairs: Array, chain: StateChain) -> Array:
    """Return the most probable path of each series (Viterbi)."""
    first, steps = _markov_chain(p, pairs, chain)
    score = _log(first)
    back = []
    for t in range(steps.shape[-3]):
        total = score[..., :, None] + _log(steps[..., t, :, :])
        back.append(total.argmax(axis=-2))
        score = total.max(axis=-2)
    path = [score.argmax(axis=-1)]
    for pointers in reversed(back):
        path.append(np.take_along_axis(pointers, path[-1][..., None], axis=-1)[..., 0])
    return np.moveaxis(np.stack(path[::-1], axis=-1), -1, chain.time)


def _markov_chain(p: Array, pairs: Array, chain: StateChain) -> tuple[Array, Array]:
    """Return p(first) (*series, K) and p(next | before) (*series, T - 1, K, K)."""
    first = np.moveaxis(p, chain.time, -2)[..., 0, :]
    total = pairs.sum(axis=-1, keepdims=True)
    steps = np.where(total > 0, pairs / np.where(total > 0, total, 1.0), 1.0 / pairs.shape[-1])
    return first, steps


def _log(p: Array) -> Array:
    with np.errstate(divide="ignore"):
        return np.log(p)


def _pick(p: Array, rng: np.random.Generator) -> Array:
    """Draw a state for each row of probabilities (..., K)."""
    return _place(rng.random((*p.shape[:-1], 1)), np.cumsum(p, axis=-1))


def _place(u: Array, edges: Array) -> Array:
    """Return between which edges (..., K) uniform numbers (..., 1) lie."""
    return np.asarray((u * edges[..., -1:] >= edges[..., :-1]).sum(axis=-1))
