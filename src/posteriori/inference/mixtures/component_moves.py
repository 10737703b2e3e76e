r"""Moves of components out of a local maximum: merge two, split one, both at once, cut anew, or exchange rows.

A move shares rows out anew and is kept only if some steps from there end higher. Components are merged
in the order of :math:`\sum_n r_{nj}r_{nk}`, and split along their longest axis where two halves would
describe their rows better than the whole, in the order of

.. math:: -\tfrac12 N_k \ln\frac{\text{variance within halves}}{\text{variance}} - N_k H(\text{shares of halves}).

Reference: Ueda, Nakano, Ghahramani and Hinton (2000), SMEM algorithm for mixture models.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.clusters.bisection import cut_longest
from posteriori.inference.clusters.merges import merge_order
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["Half", "longest_halves", "rising_moves"]

#: Of so many shares a second look is taken where the first has found nothing: more moves, and more steps of each.
_FEW_SHARES = 20_000

#: A component with fewer rows than this is free for a half of another.
_EMPTY = 0.5


class Half(NamedTuple):
    """A component that could be split: what that may gain, and which rows leave it."""

    component: int
    gain: float
    leaves: Array


class _Effort(NamedTuple):
    """Merges and splits that are tried, and steps that a trial is given at most."""

    pairs: int
    steps: int


#: Where the first look finds nothing, slow ascents and less likely pairs may still lead higher.
_FIRST, _SECOND = _Effort(3, 10), _Effort(10, 30)


def rising_moves(
    look: Callable[[Any], Any],
    expected_sums: Callable[[Array], Any],
    value: float,
    z: Array,
    frequency: Array | None,
    shares: Array,
    *,
    may_empty: bool,
    named: bool = False,
) -> Iterator[Any]:
    """Return sums from which an ascent ends above a value, those of the most promising moves first.

    Parameters
    ----------
    look : callable
        From sums, what rows say under them: ``statistics``, the next sums, and ``log_likelihood``, the
        objective.
    expected_sums : callable
        From shares (K, N) of rows, sums.
    value : float
        The objective before.
    z : (N, D)
        Rows in units in which they are cut.
    frequency : (N,) or None
    shares : (K, N)
        Responsibilities of the components as they are.
    may_empty : bool
        Whether a component may be left without rows, as under a prior.
    named : bool
        Whether components have priors of their own, so that it matters which one has which rows.

    Notes
    -----
    After Ctrl-C there are no more.
    """
    for effort in (_FIRST, _SECOND)[: 1 + (shares.size <= _FEW_SHARES)]:
        for moved in _moved_shares(z, frequency, shares, effort.pairs, may_empty, named):
            try:
                found = _rises_above(value, look, expected_sums(moved), effort.steps)
            except KeyboardInterrupt:
                return
            if found is not None:
                yield found


def _moved_shares(
    z: Array, frequency: Array | None, shares: Array, most: int, may_empty: bool, named: bool
) -> Iterator[Array]:
    """Return shares (K, N) of rows after each of some moves, the most promising first."""
    weight = shares if frequency is None else shares * frequency
    counts = weight.sum(axis=1)
    pairs = merge_order(weight @ shares.T)[:most]
    halves = sorted(longest_halves(z, weight), key=lambda half: -half.gain)
    free = int(np.argmin(counts))
    if may_empty:
        for source, target in pairs:
            yield _merged(shares, source, target)
            if named:
                yield _merged(shares, target, source)
        if counts[free] < _EMPTY:
            for half in halves[:most]:
                yield _split(shares, half, free)
    if named:
        for j, k in combinations(range(len(shares)), 2):
            if max(counts[j], counts[k]) >= _EMPTY:
                yield _exchanged(shares, j, k)
    for (source, target), half in product(pairs, halves[: most + 2]):
        if half.component not in (source, target):
            yield _split(_merged(shares, source, target), half, source)
    for source, target in pairs:  # two components cut anew
        both = _merged(shares, source, target)
        for half in longest_halves(z, weight[[source]] + weight[[target]]):
            yield _split(both, half._replace(component=target), source)


def longest_halves(z: Array, weight: Array) -> list[Half]:
    """Return the best cut of each component across its longest axis.

    Parameters
    ----------
    z : (N, D)
    weight : (K, N)
        How much each row counts in each component.
    """
    found: list[Half] = []
    if len(z) < 2 or not z.shape[1]:  # there is nothing to cut
        return found
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


def _rises_above(value: float, look: Callable[[Any], Any], start: Any, steps: int) -> Any:
    """Return the sums after a few steps if these end above a value, else None."""
    before, sums = -np.inf, start
    for left in reversed(range(steps)):
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
