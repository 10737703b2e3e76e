r"""Moves of components out of a local maximum: merge two, split one, both at once, or exchange rows.

A move shares rows out anew and is kept only if a few steps from there end higher. Components are merged
in the order of :math:`\sum_n r_{nj}r_{nk}`, and split along their longest axis where two halves would
describe their rows better than the whole, in the order of

.. math:: -\tfrac12 N_k \ln\frac{\text{variance within halves}}{\text{variance}} - N_k H(\text{shares of halves}).

Reference: Ueda, Nakano, Ghahramani and Hinton (2000), SMEM algorithm for mixture models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.clusters.halves import cut_longest
from posteriori.inference.clusters.merges import merge_order
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["Half", "longest_halves", "moved_shares", "rising_moves"]

#: Merges and splits that are tried in each round.
_MERGES, _SPLITS = 3, 3

#: Steps that a trial is given at most.
_STEPS = 10

#: A component with fewer rows than this is free for a half of another.
_EMPTY = 0.5


class Half(NamedTuple):
    """A component that could be split: what that may gain, and which rows leave it."""

    component: int
    gain: float
    leaves: Array


def rising_moves(
    look: Callable[[Any], Any],
    share_out: Callable[[Array], Any],
    moved: Iterable[Array],
    value: float,
) -> Iterator[Any]:
    """Return sums from which an ascent ends above a value, in the order of moves.

    Parameters
    ----------
    look : callable
        From sums, what rows say under them: ``statistics``, the next sums, and ``log_likelihood``, the
        objective.
    share_out : callable
        From shares (K, N) of rows, sums.
    moved : iterable of (K, N)
        Shares after each move.
    value : float
        The objective before.

    Notes
    -----
    After Ctrl-C there are no more.
    """
    for shares in moved:
        try:
            found = _rises_above(value, look, share_out(shares))
        except KeyboardInterrupt:
            return
        if found is not None:
            yield found


def moved_shares(
    z: Array, frequency: Array | None, shares: Array, *, may_empty: bool, named: bool = False
) -> Iterator[Array]:
    """Return shares (K, N) of rows after each of some moves, the most promising first.

    Parameters
    ----------
    z : (N, D)
        Rows in units in which they are cut.
    frequency : (N,) or None
    shares : (K, N)
        Responsibilities of the components as they are.
    may_empty : bool
        Whether a component may be left without rows, as under a prior.
    named : bool
        Whether components have priors of their own, so that it matters which one has which rows.
    """
    weight = shares if frequency is None else shares * frequency
    counts = weight.sum(axis=1)
    pairs = merge_order(weight @ shares.T)[:_MERGES]
    halves = sorted(longest_halves(z, weight), key=lambda half: -half.gain)
    free = int(np.argmin(counts))
    if may_empty:
        for source, target in pairs:
            yield _merged(shares, source, target)
            if named:
                yield _merged(shares, target, source)
        if counts[free] < _EMPTY:
            for half in halves[:_SPLITS]:
                yield _split(shares, half, free)
    if named:
        for j, k in combinations(range(len(shares)), 2):
            if max(counts[j], counts[k]) >= _EMPTY:
                yield _exchanged(shares, j, k)
    for (source, target), half in product(pairs, halves[: _SPLITS + 2]):
        if half.component not in (source, target):
            yield _split(_merged(shares, source, target), half, source)


def longest_halves(z: Array, weight: Array) -> list[Half]:
    """Return the best cut of each component across its longest axis.

    Parameters
    ----------
    z : (N, D)
    weight : (K, N)
        How much each row counts in each component.
    """
    found = []
    for k, w in enumerate(weight):
        total = w.sum()
        if total <= 2.0 * _EMPTY:
            continue
        cut = cut_longest(z, w)
        within = max(cut.within, 1e-12 * cut.variance)
        share = min(max(cut.share, 1e-12), 1.0 - 1e-12)
        entropy = -share * np.log(share) - (1.0 - share) * np.log1p(-share)
        gain = -np.inf
        if cut.variance > 0:
            gain = -0.5 * total * np.log(within / cut.variance) - total * entropy
        found.append(Half(k, float(gain), cut.leaves))
    return found


def _merged(shares: Array, source: int, target: int) -> Array:
    moved = shares.copy()
    moved[target] += moved[source]
    moved[source] = 0.0
    return moved


def _exchanged(shares: Array, j: int, k: int) -> Array:
    moved = shares.copy()
    moved[[j, k]] = shares[[k, j]]
    return moved


def _split(shares: Array, half: Half, free: int) -> Array:
    moved = shares.copy()
    moved[free] += np.where(half.leaves, moved[half.component], 0.0)
    moved[half.component, half.leaves] = 0.0
    return moved


def _rises_above(value: float, look: Callable[[Any], Any], start: Any) -> Any:
    """Return the sums after a few steps if these end above a value, else None."""
    before, sums = -np.inf, start
    for left in reversed(range(_STEPS)):
        try:
            found = look(sums)
        except (ValueError, np.linalg.LinAlgError):
            return None
        now, sums = found.log_likelihood, found.statistics
        if exceeds_rounding(now - value, 1e3 * abs(value)):  # far beyond the way back
            return sums
        if now + left * (now - before) <= value:  # steps gain less and less
            return None
        before = now
    return None
