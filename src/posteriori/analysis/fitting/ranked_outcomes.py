"""Candidates ranked by what they say of unseen rows, with their average and their evidences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from posteriori.analysis.fitting.averaged import AVERAGE, average_outcome
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME, Outcome
from posteriori.selection.candidates import Candidate
from posteriori.selection.comparison import Comparison, Row
from posteriori.selection.ranking import best_first, row_of, with_differences, with_probabilities
from posteriori.selection.stacking import Splits

__all__ = ["evidence_group", "rank_outcomes", "told_end", "without_average"]

#: What kinds of evidence add to what they are of.
_OF_KINDS = {"type-II": ", chosen scale", "prequential": ", prequential"}

_ENDED = {"time": "the time limit was reached", "interrupted": "stopped by Ctrl-C"}


def rank_outcomes(
    candidates: Sequence[Candidate],
    reached: Sequence[Outcome],
    ended: str,
    splits: Splits,
    task: str,
    kind: type[Any],
) -> tuple[dict[str, Outcome], Comparison]:
    """Return the outcomes of all candidates and of their average, best first, and the ranking.

    Parameters
    ----------
    candidates : sequence of Candidate
    reached : sequence of Outcome
        Of those that were waited for.
    ended : {"", "interrupted", "time"}
        Why the others were not.
    splits : sequence of pairs of rows
    task : str
    kind : class
        Of the average.
    """
    why = OUT_OF_TIME if ended == "time" else INTERRUPTED
    outcomes = {c.name: Outcome(c, failure=why) for c in candidates}
    outcomes |= {outcome.name: outcome for outcome in reached}
    averaged = average_outcome(outcomes, splits, task, kind)
    weights: dict[str, float] = {}
    if averaged is not None:
        outcomes[AVERAGE], weights = averaged
    rows = {name: _row(outcome, len(splits)) for name, outcome in outcomes.items()}
    rows |= {name: replace(rows[name], weight=share) for name, share in weights.items()}
    evidences = {name: o.evidence for name, o in outcomes.items() if o.evidence is not None}
    unseen = {name: o.unseen for name, o in outcomes.items() if o.unseen is not None}
    rows = with_probabilities(rows, evidences)
    rows = with_differences(rows, {name: part.log_density for name, part in unseen.items()})
    ranking = best_first(rows.values())
    return {row.name: outcomes[row.name] for row in ranking}, Comparison(ranking)


def without_average(ranking: Comparison, outcomes: Mapping[str, Outcome]) -> list[Row]:
    """Return the ranking of single models, with differences to the best of these."""
    rows = {row.name: row for row in ranking.rows if row.name != AVERAGE}
    unseen = {name: outcomes[name].unseen for name in rows}
    said = {name: part.log_density for name, part in unseen.items() if part is not None}
    return best_first(with_differences(rows, said).values())


def told_end(ended: str) -> list[str]:
    """Say why candidates were not waited for, if some were not."""
    return [_ENDED[ended]] if ended else []


def evidence_group(outcome: Outcome) -> str:
    """Name what an evidence is of.

    Inputs may be coded differently, targets have mass or density; an evidence whose scale was chosen
    by it is larger than one whose scale was fixed before, and that of a learner is none of a model.
    """
    if outcome.evidence is None:
        return ""
    if outcome.evidence.of == "X,y":
        return f"X,y ({outcome.candidate.encoding})"
    of = "y|X (counts)" if outcome.candidate.targets == "counts" else outcome.evidence.of
    return f"{of}{_OF_KINDS.get(outcome.evidence.kind, '')}"


def _row(outcome: Outcome, folds: int) -> Row:
    if outcome.unseen is None:
        return Row(outcome.name, failure=outcome.failure, seconds=outcome.seconds)
    return row_of(
        outcome.name,
        outcome.evidence,
        outcome.unseen.log_density,
        of=evidence_group(outcome),
        method=f"{folds}-fold",
        effective_parameters=outcome.effective_parameters,
        seconds=outcome.seconds,
    )
