"""What each state is like: its share, its columns, how long its runs are and what follows them; and in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.analysis.counted.counted_finding import NumberWords
from posteriori.analysis.counted.profiles import (
    Trait,
    make_profiles,
    one_line,
    trait_numbers,
    trait_words,
)
from posteriori.analysis.saved.segment_model import SegmentModel
from posteriori.analysis.segments.segment_rows import SegmentRows
from posteriori.analysis.segments.state_search import TriedStates
from posteriori.analysis.table.series import Arrangement
from posteriori.analysis.table.wording import (
    counted,
    fixed_number,
    listed,
    number_with_error,
    one_sentence,
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
    "FEW",
    "Regime",
    "StateWords",
    "better_number",
    "chain_rows",
    "make_regimes",
    "regime_rows",
    "state_rows",
    "successor_words",
    "surprises_of",
    "trait_table",
]

#: Rows that the chain draws to know what is surprising.
_DRAWN = 20_000

#: States that a verdict tells all, and beside the largest where there are more; columns of each, and how far one must
#: set a state apart.
_TOLD_STATES, _TOLD_EXTREMES, _TOLD_TRAITS, _APART = 4, 2, 2, 0.2

#: Part of the rows in doubt from which longer states are spoken of, and below which fewer ones are.
_MANY, FEW = 0.5, 0.3

#: Nats by which another number must predict the last fifth better.
_BETTER = 3.0

#: Pairs of columns whose correlations are listed.
_MOST_PAIRS = 8


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
        Steps of a run on average, by the chain: 1/(1 − A_kk), and m − 1 more where runs last at least m rows.
    successors : tuple of (state, probability)
        What follows when the state ends, most probable first.
    correlations : tuple of (column, column, correlation)
        Of pairs of numbers, those first that differ most among states.
    """

    state: int
    share: float
    rows: int
    in_doubt: int
    traits: tuple[Trait, ...]
    runs: int
    mean_run: float
    successors: tuple[tuple[int, float], ...]
    correlations: tuple[tuple[str, str, float], ...] = ()


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
    pairs, correlations = _correlations(rows, codes, shares[known])
    return tuple(
        Regime(
            k + 1,
            float(shares[:, k].mean()),
            profile.rows,
            profile.in_doubt,
            tuple(sorted(profile.traits, key=lambda trait: names.index(trait.column))),
            int(counts[k]),
            model.min_length - 1.0 + float(1.0 / max(1.0 - transition[k, k], 1e-12)),
            _successors(transition, k),
            tuple((*pair, r) for pair, r in zip(pairs, correlations[k].tolist(), strict=True)),
        )
        for k, profile in enumerate(profiles)
    )


def _correlations(
    rows: SegmentRows, codes: Array, shares: Array
) -> tuple[list[tuple[str, str]], Array]:
    """Return pairs of columns of numbers, and their correlations in each state, (K, P); NaN where there is none.

    Rows count by their probability of being in the state, of each pair those that have both entries.
    """
    places = [d for d, column in enumerate(rows.used) if column.kind == "number"]
    first, second = np.triu_indices(len(places), 1)
    known = ~np.isnan(codes[:, places])
    z = np.where(known, codes[:, places] - np.nanmean(codes[:, places], axis=0), 0.0)
    found = np.full((shares.shape[1], len(first)), np.nan)
    for k, weights in enumerate(shares.T[:, :, None]):
        n, sums = (weights * known).T @ known, (weights * z).T @ known
        squares, products = (weights * z**2).T @ known, (weights * z).T @ z
        with np.errstate(divide="ignore", invalid="ignore"):
            variances = squares / n - (sums / n) ** 2
            r = (products / n - sums * sums.T / n**2) / np.sqrt(variances * variances.T)
        found[k] = np.where(np.isfinite(r), np.clip(r, -1.0, 1.0), np.nan)[first, second]
    apart = np.ptp(np.nan_to_num(found), axis=0)
    told = np.argsort(-apart, kind="stable")[:_MOST_PAIRS]
    names = [rows.used[d].name for d in places]
    return [(names[first[p]], names[second[p]]) for p in told], found[:, told]


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


class StateWords(NamedTuple):
    """What a verdict tells of.

    Attributes
    ----------
    number : NumberWords
    regimes : sequence of Regime
    rows, series : int
        Of the table.
    steps : str
        What several steps are called.
    end : tuple of (int, str), optional
        The state in which the only series ends, and from when on.
    fewer : tuple of (int, float), optional
        A smaller number of states, and the part of the rows that it would leave in doubt.
    least : int
        Rows that states were asked to last.
    better : tuple of (int, float), optional
        Another number of states, and by how many nats it predicts the last fifth better.
    """

    number: NumberWords
    regimes: Sequence[Regime]
    rows: int
    series: int = 1
    steps: str = "rows"
    end: tuple[int, str] | None = None
    fewer: tuple[int, float] | None = None
    least: int = 1
    better: tuple[int, float] | None = None

    @property
    def doubtful(self) -> int:
        """Rows whose state is in doubt."""
        return sum(regime.in_doubt for regime in self.regimes)

    @property
    def open(self) -> bool:
        """Whether most rows are in doubt."""
        return self.doubtful >= _MANY * self.rows

    def verdict(self) -> str:
        """Return what everybody reads: which states, how surely, and what to do."""
        unlike = "" if self.better is None else "the end of the series is unlike what came before"
        sentences = [
            self._states(),
            one_sentence(self.number.sure(ask=not self.open), self._doubts()),
            one_sentence(self._end(), unlike),
        ]
        return " ".join(sentence for sentence in sentences if sentence)

    def reasons(self) -> list[str]:
        """Return what it rests on."""
        told = self.number.reasons(self.doubtful)
        if self.better is not None:
            states, gain = counted(self.better[0], "state"), fixed_number(self.better[1])
            told.append(f"{states} predict the last fifth of the series better, by {gain} nats")
        return told

    def _states(self) -> str:
        rows = counted(self.rows, "row") + (f" of {self.series} series" if self.series > 1 else "")
        if len(self.regimes) == 1:
            longer = "more" if self.least == 1 else f"states that last {self.least} rows"
            return self.number.one(f"these {rows}", "are in one state throughout", longer)
        whose = "The series has" if self.series == 1 else f"The {self.series} series share"
        if self.number.asked:
            whose = f"As asked, the {rows} are divided among"
        return f"{whose} {len(self.regimes)} states: {self._told()}."

    def _told(self) -> str:
        """Tell few states all, of many the largest and those most unlike all rows."""
        if len(self.regimes) <= _TOLD_STATES:
            return listed([self._state(one) for one in self.regimes])
        largest, *others = sorted(self.regimes, key=lambda one: -one.rows)
        extreme = sorted(others, key=lambda one: -max(trait.strength for trait in one.traits))
        unlike = listed([self._state(one) for one in extreme[:_TOLD_EXTREMES]])
        return f"the largest is {self._state(largest)}, and most unlike all rows are {unlike}"

    def _state(self, regime: Regime) -> str:
        traits = sorted(regime.traits, key=lambda trait: -trait.strength)[:_TOLD_TRAITS]
        told = [trait_words(trait) for trait in traits if trait.strength >= _APART]
        return f"state {regime.state} ({'; '.join([*told, self._lasting(regime)])})"

    def _lasting(self, regime: Regime) -> str:
        if not regime.runs:
            return "in no row the likeliest"
        run = regime.rows / regime.runs
        steps = self.steps if run > 1.0 else self.steps.removesuffix("s")
        often, about = ("once", "") if regime.runs == 1 else (f"{regime.runs} times", "about ")
        return f"{often}, for {about}{short_number(run, 2)} {steps}"

    def _end(self) -> str:
        if self.end is None:
            return ""
        return f"it ends in state {self.end[0]}, from {self.end[1]} on"

    def _doubts(self) -> str:
        if len(self.regimes) == 1:
            return ""
        share = self.doubtful / self.rows
        if not self.open:
            return (
                "every row is clear"
                if not share
                else f"for {1.0 - share:.0%} of the rows the state is clear"
            )
        longer = 2 * int(np.ceil(min(one.mean_run for one in self.regimes)))
        said = (
            f"for {share:.0%} of the rows the state is open, as states end soon: ask for longer ones by "
            f"--min-length {longer} (min_length={longer})"
        )
        if self.fewer is None:
            return said
        number, doubt = self.fewer
        return f"{said}, or for {number} states, which leave {doubt:.0%} open"


def better_number(found: WeighedNumbers) -> tuple[int, float] | None:
    """Return another number that predicts the end of the series better by far, and by how many nats."""
    scored = [one for one in found.tried if not np.isnan(one.held_out)]
    if found.best not in scored:
        return None
    best = max(scored, key=lambda one: one.held_out)
    gain = best.held_out - found.best.held_out
    return None if best.number == found.best.number or gain < _BETTER else (best.number, gain)


def successor_words(regime: Regime, most: int) -> str:
    """Say what follows the state.

    Examples
    --------
    >>> successor_words(Regime(1, 0.5, 40, 0, (), 4, 12.34, ((3, 0.8), (2, 0.2))), 2)
    'state 3 (80%), state 2 (20%)'
    """
    some = [f"state {k} ({p:.0%})" for k, p in regime.successors[:most] if p >= 0.005]
    return ", ".join(some)


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
    """Return header and rows of a table: means and deviations, or shares of levels, of every column in every state,
    and correlations.
    """
    rows = []
    for traits in zip(*(one.traits for one in regimes), strict=True):
        cells = [trait_numbers(trait) for trait in traits]
        told = [
            f"{one_line(trait.level)}: {cell[0]}" if trait.kind == "category" else cell[0]
            for trait, cell in zip(traits, cells, strict=True)
        ]
        overall = "" if traits[0].kind == "category" else cells[0][3]
        name = one_line(traits[0].column)
        rows.append((name, *told, overall))
        if traits[0].kind in ("number", "code"):
            own = [short_number(trait.deviation) for trait in traits]
            rows.append((f"{name}, sd", *own, short_number(traits[0].spread)))
    for pairs in zip(*(one.correlations for one in regimes), strict=True):
        both = f"{one_line(pairs[0][0])} with {one_line(pairs[0][1])}, correlation"
        rows.append((both, *(fixed_number(r, 2) for _, _, r in pairs), ""))
    return ("column", *(f"state {one.state}" for one in regimes), "all rows"), rows
