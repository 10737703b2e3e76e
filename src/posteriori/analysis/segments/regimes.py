"""What each state is like: its share, its columns, how long its runs are and what follows them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.counted.profiles import Trait, make_profiles
from posteriori.analysis.saved.segment_model import SegmentModel
from posteriori.analysis.segments.segment_rows import SegmentRows
from posteriori.inference.state_chains.state_filters import filter_states
from posteriori.numerics.types import Array, IntArray

__all__ = ["Regime", "Run", "Surprise", "find_runs", "find_surprises", "make_regimes"]

#: A row is surprising if fewer than this share of the rows that the chain itself would draw are more so.
_RARE = 1e-3

#: Rows that are drawn to know that.
_DRAWN = 20_000

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


class Regime(NamedTuple):
    """One state.

    Attributes
    ----------
    state : int
        1 has the lowest mean of the first column.
    share : float
        Of the steps, by their probabilities.
    rows : int
        Of the table that are most probably in it.
    in_doubt : int
        Of these those whose probability is below 0.9.
    traits : tuple of Trait
        Of every column, in the order of the table.
    runs : int
        How often rows enter the state.
    mean_run : float
        Steps of a run on average, by the chain: 1/(1 − A_kk).
    successors : tuple of (state, probability)
        What follows when the state ends, most probable first.
    """

    state: int
    share: float
    rows: int
    in_doubt: int
    traits: tuple[Trait, ...]
    runs: int
    mean_run: float
    successors: tuple[tuple[int, float], ...]


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


def make_regimes(rows: SegmentRows, model: SegmentModel, shares: Array) -> tuple[Regime, ...]:
    """Describe all states.

    Parameters
    ----------
    rows : SegmentRows
    model : SegmentModel
    shares : (ΣT, K)
        p(state | series) of every step.
    """
    known = rows.arrangement.rows >= 0
    codes = rows.encoder.transform(rows.frame)[rows.arrangement.rows[known]]
    profiles = make_profiles(rows.used, rows.encoder, codes, shares[known], one_level=True)
    order = list(model.order)
    transition = model.pipeline[-1].transition[np.ix_(order, order)]
    counts = np.bincount(_runs_with_rows(rows, shares), minlength=len(order))
    names = [column.name for column in rows.used]
    return tuple(
        Regime(
            k + 1,
            float(shares[:, k].mean()),
            profile.rows,
            profile.in_doubt,
            tuple(sorted(profile.traits, key=lambda trait: names.index(trait.column))),
            int(counts[k]),
            float(1.0 / max(1.0 - transition[k, k], 1e-12)),
            _successors(transition, k),
        )
        for k, profile in enumerate(profiles)
    )


def _runs_with_rows(rows: SegmentRows, shares: Array) -> list[int]:
    """Return the states of the runs in which there is a row: steps that the table lacks may have others."""
    lengths = rows.arrangement.lengths
    starts, seen = np.cumsum(lengths) - lengths, rows.arrangement.rows >= 0
    found = []
    for run in find_runs(rows, shares):
        first = starts[run.series] + run.start
        if seen[first : first + run.length].any():
            found.append(run.state)
    return found


def _successors(transition: Array, k: int) -> tuple[tuple[int, float], ...]:
    leaving = transition[k].copy()
    leaving[k] = 0.0
    total = float(leaving.sum())
    if total <= 0.0:
        return ()
    best = np.argsort(-leaving, kind="stable")
    return tuple((int(j) + 1, float(leaving[j] / total)) for j in best if j != k)


def find_runs(rows: SegmentRows, shares: Array) -> list[Run]:
    """Return the runs of the most probable states."""
    lengths = rows.arrangement.lengths
    starts = np.cumsum(lengths) - lengths
    runs: list[Run] = []
    for s, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        states = shares[start : start + length].argmax(axis=1)
        edges = np.flatnonzero(np.diff(states)) + 1
        begins = [0, *edges.tolist()]
        ends = [*edges.tolist(), int(length)]
        for begin, end in zip(begins, ends, strict=True):
            whole = begin > 0 and end < length
            runs.append(Run(s, begin, end - begin, int(states[begin]), whole))
    return runs


def find_surprises(rows: SegmentRows, model: SegmentModel, seed: int, most: int) -> list[Surprise]:
    """Return the stretches whose rows the chain expected least, the most surprising first.

    Rows count that are less probable, given those before, than all but a thousandth of the rows that the
    chain itself would draw.
    """
    chain = model.pipeline[-1]
    lengths = rows.arrangement.lengths
    expected = predictive_densities(chain, rows.x, lengths)
    drawn = np.asarray(chain.sample(_DRAWN, rng=seed).observations).reshape(_DRAWN, -1)
    own = predictive_densities(chain, drawn, np.array([_DRAWN]))
    limit, usual = np.quantile(own, [_RARE, 0.5])
    found: list[Surprise] = []
    starts = np.cumsum(lengths) - lengths
    for s, (start, length) in enumerate(zip(starts, lengths, strict=True)):
        part = expected[start : start + length]
        odd = np.flatnonzero(part < limit)
        for group in np.split(odd, np.flatnonzero(np.diff(odd) > _BETWEEN + 1) + 1):
            if len(group):
                first, last = int(group[0]), int(group[-1])
                worst = float(usual - part[group].min())
                found.append(Surprise(s, first, last - first + 1, worst))
    return sorted(found, key=lambda one: -one.nats)[:most]


def predictive_densities(chain: Any, x: Array, lengths: IntArray) -> Array:
    """Return ln p(x_t | x_1, …, x_{t−1}) of what is seen of every step, (ΣT,)."""
    scores = chain.densities.log_prob(x)
    with np.errstate(divide="ignore"):
        initial, transition = np.log(chain.initial), np.log(chain.transition)
    filtered = filter_states(initial, transition, scores, lengths=lengths).probabilities
    predicted = np.empty_like(filtered)
    predicted[1:] = filtered[:-1] @ chain.transition
    predicted[np.cumsum(lengths) - lengths] = chain.initial
    tops = scores.max(axis=1)
    return tops + np.log((predicted * np.exp(scores - tops[:, None])).sum(axis=1))
