"""From a table to the density of its rows: which model describes all columns together, and what follows from it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from posteriori.analysis.densities.density_page import (
    density_code,
    density_findings,
    density_heading,
    density_reasons,
    density_verdict,
    draw_density_picture,
)
from posteriori.analysis.densities.joint_problem import (
    DensityAverage,
    JointProblem,
)
from posteriori.analysis.densities.odd_rows import OddRow, find_odd_rows
from posteriori.analysis.fitting.running import Outcome, Reached
from posteriori.analysis.ranking.ranked_outcomes import rank_outcomes, told_end
from posteriori.analysis.ranking.ranked_result import RankedResult
from posteriori.analysis.saved.density_model import DensityModel
from posteriori.analysis.table.association import association_matrix
from posteriori.analysis.table.columns import Column
from posteriori.numerics.types import Array, IntArray
from posteriori.selection.comparison import Comparison
from posteriori.selection.cross_validation import Metrics

__all__ = ["TableDensity", "conclude_density"]

#: Columns among which pairs are looked for.
_MOST_COLUMNS = 30


@dataclass(frozen=True, repr=False, eq=False)
class TableDensity(RankedResult):
    """What a table says about densities of all its columns together.

    Attributes
    ----------
    columns : tuple of Column
        All columns of the table.
    frame : DataFrame
        The used ones, converted.
    problem : JointProblem
        What the densities were fitted to.
    rows : (N,)
        The places of its rows in the table: all that have an entry, or a sample of them where a time limit
        left no density of all rows.
    outcomes : dict of Outcome
        By name of the candidate, best first.
    ranking : Comparison
    notes : tuple of str
        What was guessed and done.
    seed : int
    """

    columns: tuple[Column, ...]
    frame: pd.DataFrame
    problem: JointProblem
    rows: IntArray
    outcomes: dict[str, Outcome]
    ranking: Comparison
    notes: tuple[str, ...]
    seed: int

    @property
    def metrics(self) -> dict[str, Metrics]:
        """No errors, as nothing is predicted."""
        return {}

    @property
    def used(self) -> tuple[Column, ...]:
        """The columns that are described."""
        return tuple(column for column in self.columns if column.used)

    verdict = property(density_verdict)
    reasons = property(density_reasons)
    picture = property(draw_density_picture)
    heading = density_heading
    findings = density_findings
    code = density_code

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Places of pairs of columns, those first that go together most closely."""
        shown = self.used[:_MOST_COLUMNS]
        matrix = association_matrix({column.name: self.frame[column.name] for column in shown})
        strength = np.nan_to_num(matrix)
        return sorted(combinations(range(len(shown)), 2), key=lambda pair: -strength[pair])

    @property
    def log_density(self) -> Array:
        """What the best density says of each row of the table when it has not seen it.

        0 without an entry, and not a number where a sample was asked that does not have the row.
        """
        unseen = self.outcomes[self.kept].unseen
        if unseen is None:
            raise ValueError(f"no model was fitted: {self.outcomes[self.kept].failure}")
        found = np.where(_have_entries(self.frame), np.nan, 0.0)
        found[self.rows] = unseen.log_density
        return found

    @cached_property
    def odd_rows(self) -> tuple[OddRow, ...]:
        """Rows that the best single density would hardly draw, the oddest first."""
        outcome = self.outcomes[self.best_single]
        if outcome.unseen is None:
            return ()
        said = outcome.unseen.log_density
        # fits of folds have told what they have to
        with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
            found = find_odd_rows(
                self.problem, outcome.candidate, outcome.model[-1], said, self.seed
            )
        return tuple(self._as_recorded(odd) for odd in found)

    def _as_recorded(self, odd: OddRow) -> OddRow:
        """Return an odd row with its entries as they stand in the table."""
        place = self.rows[odd.row]
        recorded = self.problem.encoder.transform(self.frame.iloc[[place]])[0]
        entries = (entry._replace(value=float(recorded[entry.column])) for entry in odd.entries)
        return odd._replace(entries=tuple(entries))

    @cached_property
    def fill_ins(self) -> pd.DataFrame:
        """What belongs into the gaps: log densities and filled columns of the rows that have some."""
        gaps = self.frame[self.frame.isna().any(axis=1).to_numpy()]
        return self.model.predict_inputs(gaps) if len(gaps) else pd.DataFrame(index=gaps.index)

    @property
    def model(self) -> DensityModel:
        """The density that holds unseen rows most probable: it tells of other tables and can be saved."""
        return self.table_model(self.kept)

    def table_model(self, name: str) -> DensityModel:
        """Return one of the fitted densities, with the columns that it needs."""
        outcome = self.fitted_outcome(name)
        facts = self.facts_of(outcome, len(self.problem.X), self.seed)
        return DensityModel(name, outcome.model, self.used, facts)

    def data(self) -> dict[str, Any]:
        about = {"target": None, "task": "density", "rows": len(self.frame)}
        return {**about, **super().data(), "odd_rows": self.odd_rows}


def conclude_density(
    columns: Sequence[Column], converted: pd.DataFrame, reached: Reached, seed: int
) -> TableDensity:
    """Rank densities by how probable they hold unseen rows, and say what was guessed and done."""
    outcomes, ranking = rank_outcomes(reached, "joint", DensityAverage)
    rows = np.flatnonzero(_have_entries(converted))
    notes = [f"{c.name!r}: {c.note}" for c in columns if c.note]
    notes += _left_out(len(converted) - len(rows))
    return TableDensity(
        tuple(columns),
        converted,
        reached.problem,
        rows if reached.drawn is None else rows[reached.drawn],
        outcomes,
        ranking,
        (*notes, *reached.notes, *told_end(reached.ended)),
        seed,
    )


def _have_entries(frame: pd.DataFrame) -> Any:
    """Return which rows have an entry, (N,)."""
    return ~frame.isna().all(axis=1).to_numpy()


def _left_out(empty: int) -> list[str]:
    """Say how many rows have no entry."""
    if not empty:
        return []
    return [
        f"{empty} rows have no entry: left out" if empty > 1 else "1 row has no entry: left out"
    ]
