"""From a table to its segments: how many states there are, which row is in which, how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.analysis.counted.counted_finding import CountedFinding
from posteriori.analysis.counted.profiles import IN_DOUBT
from posteriori.analysis.saved.column_reader import common_facts
from posteriori.analysis.saved.segment_model import SegmentModel
from posteriori.analysis.segments.regimes import (
    FEW,
    Regime,
    StateWords,
    better_number,
    make_regimes,
)
from posteriori.analysis.segments.segment_page import draw_first, segment_findings, segment_heading
from posteriori.analysis.segments.segment_rows import (
    SegmentRows,
    most_states,
    numbers_of_states,
    place_words,
    read_series,
    step_places,
    with_min_length,
)
from posteriori.analysis.segments.state_search import TriedStates, search_states, share_states
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.tasks.contract import Table
from posteriori.analysis.tasks.sections import CodeAgain, Figure
from posteriori.inference.state_chains.state_runs import find_runs
from posteriori.inference.weighing.number_weights import WeighedNumbers
from posteriori.numerics.types import Array

__all__ = ["Segmentation", "segment"]


_AGAIN = CodeAgain(
    "segment",
    "found",
    "segmented",
    (
        "found.states, found.probabilities  # of each row",
        "found.regimes  # what each state is like",
        "found.model.predict(table)  # of other tables as well",
    ),
)


@dataclass(frozen=True, repr=False, eq=False)
class Segmentation(CountedFinding):
    """The states behind the rows of a table.

    Attributes
    ----------
    rows : SegmentRows
        What the chains were fitted to.
    found : WeighedNumbers
        All chains that were tried.
    step_shares : (ΣT, K)
        p(state | series) of every step.
    regimes : tuple of Regime
        Share, columns, runs and successors of every state.
    notes : tuple of str
        What was guessed and done.
    seed : int
    asked : bool
        Whether the number of states was given.
    model : SegmentModel
        Tells the states of other tables, and can be saved.
    """

    rows: SegmentRows
    found: WeighedNumbers
    step_shares: Array
    regimes: tuple[Regime, ...]
    notes: tuple[str, ...]
    seed: int
    asked: bool
    model: SegmentModel

    @property
    def n_states(self) -> int:
        """The most probable number of states, or the one that was asked for."""
        return int(self.found.best.number)

    @property
    def probabilities(self) -> Array:
        """p(state | series) of the rows of the table, (N, K); NaN for rows that are left out."""
        return self.rows.arrangement.gather(self.step_shares, len(self.rows.frame))

    @property
    def states(self) -> Any:
        """The most probable state of each row, (N,); 1 has the lowest mean, 0 is for rows left out."""
        shares = self.probabilities
        return np.where(np.isnan(shares[:, 0]), 0, shares.argmax(axis=1) + 1)

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns of the table."""
        return self.rows.columns

    @property
    def larger(self) -> str:
        low, high = self.numbers[0], min(2 * self.numbers[-1], most_states(self.rows))
        if high <= self.numbers[-1]:
            return ""
        return f"--states {low}-{high} (states=({low}, {high}))"

    @property
    def verdict(self) -> str:
        return self.words.verdict()

    @property
    def reasons(self) -> list[str]:
        return self.words.reasons()

    @cached_property
    def words(self) -> StateWords:
        """What is said of the states."""
        arrangement = self.rows.arrangement
        said = StateWords(
            self.number_words("state"),
            self.regimes,
            int((arrangement.rows >= 0).sum()),
            len({one.name for one in arrangement.series}),
            arrangement.steps,
            least=self.rows.min_length,
        )
        compared = not self.asked and self.rows.min_length == 1
        better = better_number(self.found) if compared else None
        return said._replace(better=better, end=self._end(), fewer=self._fewer(said))

    @cached_property
    def picture(self) -> Figure | None:
        return draw_first(self)

    def _end(self) -> tuple[int, str] | None:
        """Return the state in which the only series ends, and from when on."""
        last = find_runs(self.step_shares, self.rows.arrangement.lengths)[-1]
        if len(self.rows.arrangement.series) > 1 or not last.start:
            return None
        places, name = step_places(self.rows, 0)
        when = place_words(self.rows, places[last.start])
        return last.state + 1, when if self.rows.dated else f"{name} {when}"

    def _fewer(self, said: StateWords) -> tuple[int, float] | None:
        """Return the largest smaller number of states that leaves few rows in doubt, where many are."""
        if self.asked or not said.open:
            return None
        smaller = [one for one in self.found.tried if one.number < self.n_states and one.whole]
        for one in sorted(smaller, key=lambda one: (-one.number, -one.log_evidence)):
            doubt = share_states(self.rows, one.model).max(axis=1) < IN_DOUBT
            if one.number > 1 and doubt.mean() < FEW:
                return one.number, float(doubt.mean())
        return None

    heading = segment_heading
    findings = segment_findings

    def code(self, loading: str = "") -> str:
        rows = self.rows
        asked = {
            "columns": [column.name for column in rows.used],
            "time": rows.time and rows.time.name,
            "by": rows.by and rows.by.name,
            "states": self.n_states if self.asked else (self.numbers[0], self.numbers[-1]),
            "min_length": rows.min_length if rows.min_length > 1 else None,
            "seed": self.seed,
        }
        return _AGAIN.code(asked, loading)

    def data(self) -> dict[str, Any]:
        return {"states": self.n_states, **self.number_data(), "regimes": self.regimes}


def segment(
    table: Table,
    *,
    columns: Iterable[str] | None = None,
    time: str | None = None,
    by: str | None = None,
    states: int | tuple[int, int] = (1, 8),
    min_length: int = 1,
    seed: int = 0,
    day_first: bool | None = None,
    on_tried: Callable[[TriedStates], None] | None = None,
) -> Segmentation:
    """Divide series into stretches of like rows: hidden states that follow one another.

    Hidden Markov models with 1, 2, … states are fitted and weighed by their evidence, with columns that are
    independent in each state and, where all hold numbers, with columns that depend on one another. Gaps need
    not be filled; steps that are missing between regular times are taken as missing.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or a mapping of columns
    columns : iterable of str, optional
        What states are told by; by default all columns of numbers, truth values and categories.
    time : str, optional
        Column that rows are ordered by; by default the only column of dates, or of years that rise
        from row to row, or of numbers that count the rows, or else rows as they stand.
    by : str, optional
        Column whose levels are series of their own.
    states : int or pair of int
        The number of states, or the smallest and the largest one to try.
    min_length : int
        Rows that a state lasts at least: of all paths of states those with a shorter run between two others
        are left out.
    seed : int
        Of where the search begins.
    day_first : bool, optional
        Whether dates such as 01/02/2020 have the day first; by default what is equal steps apart, or else as
        such signs are mostly used, and notes say so.
    on_tried : callable, optional
        Called after every fit, with its kind, number, evidence and prediction.

    Returns
    -------
    Segmentation

    Raises
    ------
    ValueError
        When no states can be told in this table, with the reason and the remedy.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> level = np.repeat([10.0, 15.0, 10.0], [60, 50, 40])
    >>> found = segment({"load": level + rng.normal(size=150)}, states=(1, 3))
    >>> found.n_states, [round(regime.traits[0].mean) for regime in found.regimes]
    (2, [10, 15])
    >>> found.states[[0, 59, 60, 110]].tolist()
    [1, 1, 2, 1]
    """
    frame = to_pandas(table)
    rows = read_series(frame, columns, time, by, seed, day_first)
    numbers, limited = numbers_of_states(rows, states)
    rows = with_min_length(rows, min_length)
    found = search_states(rows, numbers, seed, on_tried)
    model, shares = _model_of(found, rows, seed)
    return Segmentation(
        rows,
        found,
        shares,
        make_regimes(rows, model, shares),
        (*rows.notes, *([limited] if limited else ()), *found.notes),
        seed,
        isinstance(states, int) or states[0] == states[1],
        model,
    )


def _model_of(found: WeighedNumbers, rows: SegmentRows, seed: int) -> tuple[SegmentModel, Array]:
    """Return the best chain as a model of tables, lowest mean first, and what it tells of these steps."""
    best = found.best
    facts = {
        **common_facts(len(rows.frame), seed),
        "states": best.number,
        "log_evidence": best.log_evidence,
        "kind": "estimate",
    }
    pipeline = Pipeline([("columns", rows.encoder), ("model", best.model.model_)])
    model = SegmentModel(
        best.kind,
        pipeline,
        rows.used,
        tuple(range(best.number)),
        rows.symbols,
        rows.time,
        rows.by,
        facts,
        rows.arrangement.working,
        rows.min_length,
    )
    shares = model.probabilities(rows.frame, rows.arrangement)
    order = np.argsort(_first_means(rows, shares), kind="stable")
    return replace(model, order=tuple(order.tolist())), shares[:, order]


def _first_means(rows: SegmentRows, shares: Array) -> Array:
    """Return the mean of the first column in each state; of categories, that of their codes."""
    first = rows.x[:, 0]
    seen = ~np.isnan(first)
    totals = np.maximum(shares[seen].sum(axis=0), 1e-300)
    return np.asarray(shares[seen].T @ first[seen] / totals)
