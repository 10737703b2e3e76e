"""What was found in the series, in words: the answer first, then the states and the doubts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.analysis.counted.number_weights import Found
from posteriori.analysis.counted.profiles import Trait
from posteriori.analysis.groups.cluster_words import probability_words, trait_numbers
from posteriori.analysis.segments.regimes import Regime
from posteriori.analysis.segments.state_search import TriedStates
from posteriori.analysis.table.wording import counted, fixed_number, number_with_error, short_number

__all__ = [
    "chain_rows",
    "regime_rows",
    "run_words",
    "state_rows",
    "successor_words",
    "trait_table",
    "verdict_of_states",
]

#: Probability from which one state is said without reserve.
_SURE = 0.9

#: Probability from which one state mostly follows another.
_MOSTLY = 0.6

#: Letters of a name or a level that are told.
_LONGEST = 40

#: Regimes and columns of each that a verdict tells.
_TOLD_STATES, _TOLD_TRAITS = 6, 2


def verdict_of_states(
    found: Found, regimes: Sequence[Regime], rows: int, series: int, *, asked: bool
) -> str:
    """Return the verdict.

    Parameters
    ----------
    found : Found
    regimes : sequence of Regime
    rows, series : int
        Of the table.
    asked : bool
        Whether the number of states was given.
    """
    where = f"these {counted(rows, 'row')}"
    where += f" of {counted(series, 'series', 'series')}" if series > 1 else ""
    chance = None if asked else float(found.probabilities.max())
    answer = _answer(len(regimes), where, chance)
    if len(regimes) == 1:
        return f"{answer}{_disagreement(found, asked)}"
    larger = ""
    if not asked and len(regimes) == found.numbers[-1]:
        larger = " No larger number was tried, and there may be more states: raise the limit."
    told = " ".join(_regime_in_words(one) for one in regimes[:_TOLD_STATES])
    doubts = _doubts(regimes, rows)
    return f"{answer}{larger} {told} {doubts}{_disagreement(found, asked)}"


def _answer(number: int, where: str, probability: float | None) -> str:
    if probability is None:
        return f"As asked, {where} are told apart as {counted(number, 'state')}."
    said = probability_words(probability)
    if number == 1:
        if probability < _SURE:
            return f"Most probably {where} are in one state throughout (probability {said})."
        return (
            f"{where[0].upper()}{where[1:]} are in one state throughout: nothing speaks for more "
            f"(probability {said})."
        )
    if probability < 0.5:
        return f"There are perhaps {number} states behind {where} (probability {said})."
    return f"There are {number} states behind {where} (probability {said})."


def _regime_in_words(regime: Regime) -> str:
    strongest = sorted(regime.traits, key=lambda trait: -abs(trait.distance))[:_TOLD_TRAITS]
    traits = ", ".join(_trait_in_words(trait) for trait in strongest)
    mostly = regime.successors and regime.successors[0][1] > _MOSTLY
    after = f"; then mostly state {regime.successors[0][0]}" if mostly else ""
    return f"State {regime.state}: {traits}; {counted(regime.rows, 'row')} in {run_words(regime)}{after}."


def _trait_in_words(trait: Trait) -> str:
    mean, _, _, overall = trait_numbers(trait)
    name = (
        f"{trait.column[:_LONGEST]} {trait.level[:_LONGEST]} in"
        if trait.level
        else trait.column[:_LONGEST]
    )
    return f"{name} {mean} (all rows {overall})"


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


def _doubts(regimes: Sequence[Regime], rows: int) -> str:
    doubtful = sum(regime.in_doubt for regime in regimes)
    if not doubtful:
        return "No row is in doubt."
    verb = "is" if doubtful == 1 else "are"
    share = f" ({doubtful / rows:.0%})" if doubtful >= 0.01 * rows else ""
    return f"{counted(doubtful, 'row')}{share} {verb} in doubt: no state has a probability of 0.9."


def _disagreement(found: Found, asked: bool) -> str:
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


def state_rows(found: Found) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table: numbers of states, how probable, and the better chain of each."""
    rows = []
    for n, p in zip(found.numbers, found.probabilities.tolist(), strict=True):
        one = max((o for o in found.tried if o.number == n), key=lambda o: o.log_evidence)
        rows.append((str(n), probability_words(p), *_chain_cells(one)))
    return ("states", "probability", "evidence", "last fifth", "columns"), rows


def chain_rows(found: Found) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
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
