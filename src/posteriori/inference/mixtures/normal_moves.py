r"""Moves of components out of a local maximum: merge two, split one, both at once, or exchange rows.

A move shares rows out anew and is kept only if a few steps from there end higher. Components are merged
in the order of :math:`\sum_n r_{nj}r_{nk}`, and split along their longest axis where two halves would
describe their rows better than the whole, in the order of

.. math:: -\tfrac12 N_k \ln\frac{\text{variance within halves}}{\text{variance}} - N_k H(\text{shares of halves}).

Reference: Ueda, Nakano, Ghahramani and Hinton (2000), SMEM algorithm for mixture models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from posteriori.inference.clusters.halves import cut_longest
from posteriori.inference.clusters.merges import merge_order
from posteriori.inference.mixtures.feature_pass import responsibilities
from posteriori.inference.mixtures.mixture_rows import (
    MixtureRows,
    NormalExpectations,
    full_precisions,
)
from posteriori.inference.mixtures.normal_scores import NormalScores, NormalStatistics
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["Half", "longest_halves", "moved_shares", "raise_by_move", "share_rows"]

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


def share_rows(rows: MixtureRows, scores: NormalScores) -> Array:
    """Return the responsibilities (K, N) of rows, gaps taken as lying at the centre of the data."""
    z = np.nan_to_num(rows.read(slice(None)))
    precisions = full_precisions(scores, rows.kind)
    shift = z - scores.means[:, None]
    squares = np.einsum("kni,kij,knj->kn", shift, precisions, shift, optimize=True)
    return responsibilities(scores.log_norm[:, None] - 0.5 * squares)[0]


def raise_by_move(
    look: Callable[[NormalStatistics], NormalExpectations],
    rows: MixtureRows,
    scores: NormalScores,
    value: float,
    *,
    may_empty: bool,
    named: bool,
) -> NormalStatistics | None:
    """Return sums from which an ascent ends above a value, or None where no move leads there.

    Parameters
    ----------
    look : callable
        From sums, what rows say under them, with the objective.
    rows : MixtureRows
    scores : NormalScores
        Of the components as they are.
    value : float
        The objective there.
    may_empty : bool
        Whether a component may be left without rows, as under a prior.
    named : bool
        Whether components have priors of their own, so that it matters which one has which rows.
    """
    shares = share_rows(rows, scores)
    for moved in moved_shares(rows, shares, may_empty=may_empty, named=named):
        found = _rises_above(value, look, rows.share_out(moved))
        if found is not None:
            return found
    return None


def moved_shares(
    rows: MixtureRows, shares: Array, *, may_empty: bool, named: bool = False
) -> Iterator[Array]:
    """Return shares (K, N) of rows after each of some moves, the most promising first."""
    weight = shares if rows.frequency is None else shares * rows.frequency
    counts = weight.sum(axis=1)
    pairs = merge_order(weight @ shares.T)[:_MERGES]
    z = np.nan_to_num(rows.read(slice(None)))
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


def _rises_above(
    value: float,
    look: Callable[[NormalStatistics], NormalExpectations],
    start: NormalStatistics,
) -> NormalStatistics | None:
    """Return the sums after a few steps if these end above a value."""
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
