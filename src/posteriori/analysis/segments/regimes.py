"""What each state is like: its share, its columns, how long its runs are and what follows them; and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.analysis.counted.counted_finding import CountWords
from posteriori.analysis.counted.profiles import (
    Trait,
    make_profiles,
    trait_name,
    trait_numbers,
)
from posteriori.analysis.saved.segment_model import SegmentModel
from posteriori.analysis.segments.segment_rows import SegmentRows
from posteriori.analysis.segments.state_search import TriedStates
from posteriori.analysis.table.series import Arrangement
from posteriori.analysis.table.wording import (
    counted,
    fixed_number,
    number_with_error,
    probability_words,
    short_number,
)
from posteriori.inference.state_chains.state_runs import (
    Surprise,
    find_runs,
    find_surprises,
    predictive_log_prob,
)
from posteriori.inference.weighing.number_weights import WeighedNumbers
from posteriori.numerics.types import Array

__all__ = [
    "Regime",
    "chain_rows",
    "make_regimes",
    "regime_rows",
    "run_words",
    "state_rows",
    "successor_words",
    "surprises_of",
    "trait_table",
    "verdict_of_states",
]

_STATES = CountWords("state", "behind", "are in one state throughout", "probability")

#: Rows that the chain draws to know what is surprising.
_DRAWN = 20_000

#: Probability from which one state mostly follows another.
_MOSTLY = 0.6

#: Regimes and columns of each that a verdict tells.
_TOLD_STATES, _TOLD_TRAITS = 6, 2


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
    counts = np.bincount(_states_of_runs(rows.arrangement, shares), minlength=len(order))
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


def _states_of_runs(arrangement: Arrangement, shares: Array) -> list[int]:
    """Return the states of the runs in which there is a row: steps that the table lacks may have others."""
    parts = np.split(arrangement.rows >= 0, np.cumsum(arrangement.lengths)[:-1])
    return [
        run.state
        for run in find_runs(shares, arrangement.lengths)
        if parts[run.series][run.start : run.start + run.length].any()
    ]


def _successors(transition: Array, k: int) -> tuple[tuple[int, float], ...]:
    leaving = transition[k].copy()
    leaving[k] = 0.0
    total = float(leaving.sum())
    if total <= 0.0:
        return ()
    best = np.argsort(-leaving, kind="stable")
    return tuple((int(j) + 1, float(leaving[j] / total)) for j in best if j != k)


def surprises_of(rows: SegmentRows, model: SegmentModel, seed: int) -> list[Surprise]:
    """Return the stretches whose rows the chain expected least, the most surprising first."""
    chain, lengths = model.pipeline[-1], rows.arrangement.lengths
    drawn = np.asarray(chain.sample(_DRAWN, rng=seed).observations).reshape(_DRAWN, -1)
    expected, own = (
        predictive_log_prob(chain.initial, chain.transition, chain.densities.log_prob(x), ends)
        for x, ends in ((rows.x, lengths), (drawn, np.array([_DRAWN])))
    )
    return find_surprises(expected, lengths, own)


# -- in words --------------------------------------------------------------------------------


def verdict_of_states(
    found: WeighedNumbers, regimes: Sequence[Regime], rows: int, series: int, *, asked: bool
) -> str:
    """Return the verdict.

    Parameters
    ----------
    found : WeighedNumbers
    regimes : sequence of Regime
    rows, series : int
        Of the table.
    asked : bool
        Whether the number of states was given.
    """
    where = f"these {counted(rows, 'row')}"
    where += f" of {counted(series, 'series', 'series')}" if series > 1 else ""
    chance = None if asked else float(found.probabilities.max())
    answer = _STATES.answer(len(regimes), where, chance)
    if len(regimes) == 1:
        return f"{answer}{_disagreement(found, asked)}"
    larger = ""
    if not asked and len(regimes) == found.numbers[-1]:
        larger = _STATES.larger()
    told = " ".join(_regime_in_words(one) for one in regimes[:_TOLD_STATES])
    doubts = _STATES.doubts(regimes, rows)
    return f"{answer}{larger} {told} {doubts}{_disagreement(found, asked)}"


def _regime_in_words(regime: Regime) -> str:
    strongest = sorted(regime.traits, key=lambda trait: -abs(trait.distance))[:_TOLD_TRAITS]
    traits = ", ".join(
        f"{trait_name(trait, ' {} in')} {mean} (all rows {overall})"
        for trait, (mean, _, _, overall) in ((trait, trait_numbers(trait)) for trait in strongest)
    )
    mostly = regime.successors and regime.successors[0][1] > _MOSTLY
    after = f"; then mostly state {regime.successors[0][0]}" if mostly else ""
    return f"State {regime.state}: {traits}; {counted(regime.rows, 'row')} in {run_words(regime)}{after}."


def run_words(regime: Regime) -> str:
    """Say how often the state is entered, and how long it is expected to last.

    Examples
    --------
    >>> run_words(Regime(1, 0.5, 40, 0, (), 4, 12.34, ()))
    '4 runs, expected to last 12.3 steps'
    """
    if regime.mean_run >= 1e9:
        return f"{counted(regime.runs, 'run')}, expected to last"
    return (
        f"{counted(regime.runs, 'run')}, expected to last {short_number(regime.mean_run, 3)} steps"
    )


def successor_words(regime: Regime, most: int) -> str:
    """Say what follows the state.

    Examples
    --------
    >>> successor_words(Regime(1, 0.5, 40, 0, (), 4, 12.34, ((3, 0.8), (2, 0.2))), 2)
    'state 3 (80%), state 2 (20%)'
    """
    some = [f"state {k} ({p:.0%})" for k, p in regime.successors[:most] if p >= 0.005]
    return ", ".join(some)


def _disagreement(found: WeighedNumbers, asked: bool) -> str:
    """Say so where another number predicts the end of the series better, by far."""
    scored = [one for one in found.tried if not np.isnan(one.held_out)]
    if asked or found.best not in scored:
        return ""
    best = max(scored, key=lambda one: one.held_out)
    if best.number == found.best.number or best.held_out - found.best.held_out < 3.0:
        return ""
    gain = fixed_number(best.held_out - found.best.held_out)
    return (
        f" The last fifth of the series is predicted better with {counted(best.number, 'state')} (by {gain} "
        "nats): it may differ from what came before."
    )


def state_rows(found: WeighedNumbers) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table: numbers of states, how probable, and the better chain of each."""
    rows = []
    for n, p in zip(found.numbers, found.probabilities.tolist(), strict=True):
        one = max((o for o in found.tried if o.number == n), key=lambda o: o.log_evidence)
        rows.append((str(n), probability_words(p), *_chain_cells(one)))
    return ("states", "probability", "evidence", "last fifth", "columns"), rows


def chain_rows(found: WeighedNumbers) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table: every chain that was tried."""
    rows = [(str(one.number), *_chain_cells(one)) for one in found.tried]
    return ("states", "evidence", "last fifth", "columns"), rows


def _chain_cells(one: TriedStates) -> tuple[str, ...]:
    evidence = number_with_error(one.log_evidence, one.error)
    return (
        evidence if one.error >= 0.05 else fixed_number(one.log_evidence),
        "" if np.isnan(one.held_out) else fixed_number(one.held_out),
        one.kind.split()[0],
    )


def regime_rows(regimes: Sequence[Regime]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table: share, runs and successors of every state."""
    rows: list[tuple[str, ...]] = [
        (
            str(one.state),
            f"{one.rows:,}",
            f"{one.share:.0%}",
            f"{one.runs:,}",
            short_number(one.mean_run, 3),
            successor_words(one, 2),
        )
        for one in regimes
    ]
    return ("state", "rows", "share", "runs", "mean run", "followed by"), rows


def trait_table(regimes: Sequence[Regime]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table: means, or shares of levels, of every column in every state."""
    rows = []
    for traits in zip(*(one.traits for one in regimes), strict=True):
        cells = [trait_numbers(trait) for trait in traits]
        told = [
            f"{trait.level}: {cell[0]}" if trait.kind == "category" else cell[0]
            for trait, cell in zip(traits, cells, strict=True)
        ]
        overall = "" if traits[0].kind == "category" else cells[0][3]
        rows.append((traits[0].column, *told, overall))
    return ("column", *(f"state {one.state}" for one in regimes), "all rows"), rows
