"""What series do under a chain: runs of its states, and stretches that it did not expect."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from posteriori.inference.state_chains.state_filters import filter_states
from posteriori.numerics.types import Array, IntArray

__all__ = ["Run", "Surprise", "find_runs", "find_surprises", "predictive_log_prob"]

#: A row is surprising if fewer than this share of the rows that the chain itself would draw are more so.
_RARE = 1e-3

#: Surprising rows with no more than so many others between them are one stretch.
_BETWEEN = 2


class Run(NamedTuple):
    """Steps of one state after another.

    Attributes
    ----------
    series : int
    start, length : int
        Within the series.
    state : int
        0 is the first.
    whole : bool
        Whether the series shows where it began and ended.
    """

    series: int
    start: int
    length: int
    state: int
    whole: bool


class Surprise(NamedTuple):
    """A stretch that the chain did not expect.

    Attributes
    ----------
    series : int
    start, length : int
        Within the series.
    nats : float
        ln p(row | rows before) of its worst row, below what is usual.
    """

    series: int
    start: int
    length: int
    nats: float


def find_runs(shares: Array, lengths: IntArray) -> list[Run]:
    """Return the runs of the most probable states, from p(state | series) of every step, (ΣT, K)."""
    runs: list[Run] = []
    for s, part in enumerate(np.split(shares, np.cumsum(lengths)[:-1])):
        states = part.argmax(axis=1)
        edges = [0, *(np.flatnonzero(np.diff(states)) + 1).tolist(), len(states)]
        for begin, end in pairwise(edges):
            whole = begin > 0 and end < len(states)
            runs.append(Run(s, begin, end - begin, int(states[begin]), whole))
    return runs


def find_surprises(expected: Array, lengths: IntArray, own: Array) -> list[Surprise]:
    """Return the stretches whose rows the chain expected least, the most surprising first.

    Rows count that are less probable, given those before, than all but a thousandth of the rows that the
    chain itself would draw.

    Parameters
    ----------
    expected : (ΣT,)
        ln p(row | rows before) of every step.
    lengths : (S,)
    own : (N,)
        The same of rows that the chain has drawn.
    """
    limit, usual = np.quantile(own, [_RARE, 0.5])
    found: list[Surprise] = []
    for s, part in enumerate(np.split(expected, np.cumsum(lengths)[:-1])):
        odd = np.flatnonzero(part < limit)
        for group in np.split(odd, np.flatnonzero(np.diff(odd) > _BETWEEN + 1) + 1):
            if len(group):
                first, last = int(group[0]), int(group[-1])
                worst = float(usual - part[group].min())
                found.append(Surprise(s, first, last - first + 1, worst))
    return sorted(found, key=lambda one: -one.nats)


def predictive_log_prob(
    initial: Array, transition: Array, scores: Array, lengths: IntArray
) -> Array:
    """Return ln p(x_t | x_1, …, x_{t−1}) of every step, (ΣT,), from ln p(x_t | z_t), (ΣT, K)."""
    with np.errstate(divide="ignore"):
        logs = np.log(initial), np.log(transition)
    filtered = filter_states(*logs, scores, lengths=lengths).probabilities
    predicted = np.empty_like(filtered)
    predicted[1:] = filtered[:-1] @ transition
    predicted[np.cumsum(lengths) - lengths] = initial
    tops = scores.max(axis=1)
    return tops + np.log((predicted * np.exp(scores - tops[:, None])).sum(axis=1))
