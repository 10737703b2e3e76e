r"""The structure of a finite Markov chain by its transition matrix A (K, K): pure functions.

States communicate when each can be reached from the other; a class that is never left is closed.
Every state ends in a closed class, where it stays by the stationary law :math:`\pi A = \pi` of that
class; a mixture of these is stationary, too.

Reference: Kemeny and Snell (1960), Finite Markov chains; Grassmann, Taksar and Heyman (1985) for
stationary laws without subtraction; Jarvis and Shier (1999) for periods.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import csgraph, sparse
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "StateClass",
    "absorption",
    "hitting_probabilities",
    "hitting_times",
    "state_classes",
    "stationary_laws",
]


class StateClass(NamedTuple):
    """States that communicate.

    Attributes
    ----------
    states : tuple
        In their order.
    closed : bool
        Whether it is never left.
    period : int
        Returns to a state take multiples of this; 0 where there is no return.
    """

    states: tuple[Any, ...]
    closed: bool
    period: int


def state_classes(a: Array) -> list[StateClass]:
    """Return the classes of a chain, in the order of their first states. O(K²).

    Examples
    --------
    >>> state_classes(np.array([[0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]))
    [StateClass(states=(0,), closed=False, period=1), StateClass(states=(1, 2), closed=True, period=2)]
    """
    count, of = csgraph.connected_components(_edges(a), directed=True, connection="strong")
    members = sorted((np.flatnonzero(of == c) for c in range(count)), key=lambda m: int(m[0]))
    return [
        StateClass(tuple(m.tolist()), bool((a[m][:, of != of[m[0]]] == 0.0).all()), _period(a, m))
        for m in members
    ]


def stationary_laws(a: Array) -> Array:
    """Return the stationary law of each closed class, (C, K). O(K³).

    Examples
    --------
    >>> stationary_laws(np.array([[0.7, 0.3], [0.4, 0.6]])).round(6)
    array([[0.571429, 0.428571]])
    """
    closed = [np.array(c.states, dtype=np.int64) for c in state_classes(a) if c.closed]
    laws = np.zeros((len(closed), len(a)))
    for law, members in zip(laws, closed, strict=True):
        law[members] = _stationary(a[np.ix_(members, members)])
    return laws


def hitting_probabilities(a: Array, targets: IntArray) -> Array:
    """Return the probability (K,) of ever being in one of the targets, from each state."""
    reach = np.zeros(len(a))
    reach[targets] = 1.0
    open_states = np.setdiff1d(_leading_to(a, targets), targets)
    if len(open_states):
        inner = a[np.ix_(open_states, open_states)]
        reach[open_states] = np.linalg.solve(
            np.eye(len(open_states)) - inner, a[np.ix_(open_states, targets)].sum(axis=1)
        )  # h = A_oo h + A_ot 1, the smallest solution
    return np.clip(reach, 0.0, 1.0)


def hitting_times(a: Array, targets: IntArray) -> Array:
    """Return the expected number of steps (K,) to a target; infinite where it may never come."""
    certain = _certain(a, targets)
    times = np.full(len(a), np.inf)
    times[targets] = 0.0
    open_states = np.setdiff1d(certain, targets)
    if len(open_states):
        inner = a[np.ix_(open_states, open_states)]
        ones = np.ones(len(open_states))
        times[open_states] = np.linalg.solve(np.eye(len(open_states)) - inner, ones)
    return times


def absorption(a: Array) -> tuple[Array, Array]:
    """Return P(chain ends in closed class c | start) (K, C), and the expected steps to it (K,)."""
    closed = [np.array(c.states, dtype=np.int64) for c in state_classes(a) if c.closed]
    shares = np.stack([hitting_probabilities(a, members) for members in closed], axis=1)
    return shares, hitting_times(a, np.concatenate(closed))


def _period(a: Array, members: IntArray) -> int:
    """Return the greatest common divisor of the lengths of all ways back."""
    inner = a[np.ix_(members, members)]
    if not inner.any():
        return 0
    order, before = csgraph.breadth_first_order(_edges(inner), 0)
    depth = np.zeros(len(members), dtype=np.int64)
    for state in order[1:]:
        depth[state] = depth[before[state]] + 1
    start, end = np.nonzero(inner)
    return int(np.gcd.reduce(np.abs(depth[start] + 1 - depth[end])))


def _stationary(a: Array) -> Array:
    """Solve πA = π of an irreducible chain: states are left out one by one, nothing is subtracted."""
    a = np.array(a)
    for n in range(len(a) - 1, 0, -1):
        a[:n, n] /= a[n, :n].sum()
        a[:n, :n] += np.outer(a[:n, n], a[n, :n])
    law = np.zeros(len(a))
    law[0] = 1.0
    for n in range(1, len(a)):
        law[n] = law[:n] @ a[:n, n]
    return np.asarray(law / law.sum())


def _leading_to(a: Array, targets: IntArray) -> IntArray:
    """Return the states from which a target can be reached."""
    reached, back = np.zeros(len(a), dtype=bool), _edges(a.T)
    for target in targets.tolist():
        if not reached[target]:
            reached[csgraph.breadth_first_order(back, target)[0]] = True
    return np.flatnonzero(reached)


def _certain(a: Array, targets: IntArray) -> IntArray:
    """Return the states that come to a target for sure: no way leads them where none is reached."""
    stopped = np.array(a)
    stopped[targets] = 0.0  # what lies behind a target does not matter
    lost = np.setdiff1d(np.arange(len(a)), _leading_to(a, targets))
    return np.setdiff1d(np.arange(len(a)), _leading_to(stopped, lost) if len(lost) else lost)


def _edges(a: Array) -> Any:
    return sparse.csr_array((a > 0.0).astype(float))
