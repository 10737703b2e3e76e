"""What the fits of all candidates say together: the ranking, errors that people know, and notes."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sklearn.base import clone
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from posteriori.analysis.fitting.cautions import cautions, revealing_columns
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME, Outcome
from posteriori.analysis.fitting.table_problem import Problem, Target
from posteriori.analysis.table.columns import Column
from posteriori.estimators.contract import ScalesPrior, offers
from posteriori.selection.candidates import Candidate
from posteriori.selection.comparing import PRIOR_SCALES
from posteriori.selection.comparison import Comparison, Row
from posteriori.selection.cross_validation import Metrics, fit_in_parts, metrics_of
from posteriori.selection.ranking import best_first, row_of, with_differences, with_probabilities

__all__ = ["Findings", "conclude"]

#: Share of missing entries from which on a note says what stands in their place.
_MANY_MISSING = 0.2


_ENDED = {"time": "the time limit was reached", "interrupted": "stopped by Ctrl-C"}


@dataclass(frozen=True)
class Findings:
    """What a table says about models for one of its columns; ``Analysis`` tells of its parts."""

    target: Target
    columns: list[Column]
    problem: Problem
    outcomes: dict[str, Outcome]
    ranking: Comparison
    metrics: dict[str, Metrics]
    notes: tuple[str, ...] = ()
    seed: int = 0
    revealing: tuple[str, ...] = ()

    @property
    def best(self) -> Any:
        """The pipeline that predicts unseen rows best, fitted to all rows."""
        return self.outcomes[self.ranking.best].model

    @cached_property
    def sensitivity(self) -> dict[str, dict[float, float]]:
        """Log evidence of the best two models with the prior's scale changed, by name and factor.

        Costs four fits of each when it is first asked for.
        """
        best = list(self.outcomes.values())[:2]
        return {o.name: _scaled_evidences(o, self.problem) for o in best if o.evidence is not None}

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the work before all models were fitted."""
        return any(outcome.failure == INTERRUPTED for outcome in self.outcomes.values())


def conclude(
    goal: Target,
    columns: list[Column],
    problem: Problem,
    candidates: Sequence[Candidate],
    reached: Sequence[Outcome],
    ended: str,
    seed: int,
) -> Findings:
    """Rank the candidates by how well they predict unseen rows, and say what to keep in mind."""
    why = OUT_OF_TIME if ended == "time" else INTERRUPTED
    outcomes = {c.name: Outcome(c, failure=why) for c in candidates}
    outcomes |= {outcome.name: outcome for outcome in reached}
    rows = {name: _row(outcome, problem) for name, outcome in outcomes.items()}
    evidences = {name: o.evidence for name, o in outcomes.items() if o.evidence is not None}
    unseen = {name: o.unseen for name, o in outcomes.items() if o.unseen is not None}
    rows = with_probabilities(rows, evidences)
    rows = with_differences(rows, {name: part.log_density for name, part in unseen.items()})
    ranking = best_first(rows.values())
    metrics = {name: metrics_of(part, problem.y, problem.classes) for name, part in unseen.items()}
    notes = _notes(goal, columns)
    revealing = revealing_columns(problem)
    notes += cautions(problem, goal.column.name, revealing)
    return Findings(
        goal,
        columns,
        problem,
        {row.name: outcomes[row.name] for row in ranking},
        Comparison(ranking),
        metrics,
        (*notes, _ENDED[ended]) if ended else tuple(notes),
        seed,
        tuple(revealing),
    )


def _row(outcome: Outcome, problem: Problem) -> Row:
    if outcome.unseen is None:
        return Row(outcome.name, failure=outcome.failure, seconds=outcome.seconds)
    return row_of(
        outcome.name,
        outcome.evidence,
        outcome.unseen.log_density,
        of=_group(outcome),
        method=f"{len(problem.splits)}-fold",
        effective_parameters=outcome.effective_parameters,
        seconds=outcome.seconds,
    )


def _group(outcome: Outcome) -> str:
    """Name what an evidence is of.

    Inputs may be coded differently, targets have mass or density; and an evidence whose scale was
    chosen by it is larger than one whose scale was fixed before.
    """
    if outcome.evidence is None:
        return ""
    if outcome.evidence.of == "X,y":
        return f"X,y ({outcome.candidate.encoding})"
    of = "y|X (counts)" if outcome.candidate.targets == "counts" else outcome.evidence.of
    return f"{of}, chosen scale" if outcome.evidence.kind == "type-II" else of


def _scaled_evidences(outcome: Outcome, problem: Problem) -> dict[float, float]:
    """Return the log evidence with the prior's scale changed."""
    final = outcome.model[-1]
    if not offers(final, ScalesPrior):
        return {}

    def refitted(scale: float) -> float:
        steps = [("columns", outcome.model[0]), ("model", final.with_prior_scaled(scale))]
        again = fit_in_parts(clone(Pipeline(steps)), problem.X, problem.y)
        return float(again[-1].log_evidence_)

    # One thread each: the products are small, and threads that wait for one another cost more.
    with threadpool_limits(1), warnings.catch_warnings():  # only the evidence is wanted
        warnings.simplefilter("ignore")
        moved = {scale: refitted(scale) for scale in PRIOR_SCALES}
    return {1.0: float(outcome.evidence or 0.0), **moved}


def _notes(goal: Target, columns: list[Column]) -> list[str]:
    """Say what was guessed, and what stands in for entries that are missing, where these are many."""
    rows = len(goal.known)
    return [
        *goal.notes,
        *(f"{c.name!r}: {c.note}" for c in columns if c.note),
        *(
            f"{c.name!r}: {c.missing / rows:.0%} are missing; "
            + ("that is a level of its own" if c.kind == "category" else "the mean stands in")
            + ("" if c.kind == "category" else ", and a further column says where")
            for c in columns
            if c.used and c.missing > _MANY_MISSING * rows
        ),
    ]
