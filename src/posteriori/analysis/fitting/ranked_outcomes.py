"""Candidates ranked by what they say of unseen rows, with their average and their evidences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from posteriori.analysis.fitting.averaged import AVERAGE, average_outcome
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME, Outcome
from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate
from posteriori.selection.comparison import Comparison, Row
from posteriori.selection.ranking import (
    best_first,
    ranked,
    row_of,
    with_differences,
    with_probabilities,
)
from posteriori.selection.stacking import Splits

__all__ = [
    "all_outcomes",
    "evidence_group",
    "order_outcomes",
    "rank_outcomes",
    "told_end",
    "without_average",
]

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
    outcomes = all_outcomes(candidates, reached, ended)
    averaged = average_outcome(outcomes, splits, task, kind)
    weights: dict[str, float] = {}
    if averaged is not None:
        outcomes[AVERAGE], weights = averaged
    held = {name: o.unseen.log_density for name, o in outcomes.items() if o.unseen is not None}
    return order_outcomes(outcomes, weights, held, f"{len(splits)}-fold")


def all_outcomes(
    candidates: Sequence[Candidate], reached: Sequence[Outcome], ended: str
) -> dict[str, Outcome]:
    """Return the outcomes of all candidates by name, with the reason for those that were not waited for."""
    why = OUT_OF_TIME if ended == "time" else INTERRUPTED
    outcomes = {c.name: Outcome(c, failure=why) for c in candidates}
    return outcomes | {outcome.name: outcome for outcome in reached}


def order_outcomes(
    outcomes: Mapping[str, Outcome],
    weights: Mapping[str, float],
    held: Mapping[str, Array],
    method: str,
) -> tuple[dict[str, Outcome], Comparison]:
    """Return outcomes, best first, and the ranking: by what is unseen, or by evidence where nothing is.

    Parameters
    ----------
    outcomes : mapping from name to Outcome
    weights : mapping from name to float
        Shares in the average.
    held : mapping from name to (N,)
        Log densities of what was not seen, in parts that are as good as independent.
    method : str
        How it was held out.
    """
    rows = {name: _row(outcome, held.get(name), method) for name, outcome in outcomes.items()}
    rows |= {name: replace(rows[name], weight=share) for name, share in weights.items()}
    evidences = {name: o.evidence for name, o in outcomes.items() if o.evidence is not None}
    rows = with_differences(with_probabilities(rows, evidences), held)
    ranking = best_first(rows.values()) if held else ranked(list(rows.values()))
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


def _row(outcome: Outcome, held: Array | None, method: str) -> Row:
    if outcome.failure:
        return Row(outcome.name, failure=outcome.failure, seconds=outcome.seconds)
    said = {"method": method, "seconds": outcome.seconds}
    said["effective_parameters"] = outcome.effective_parameters
    nothing = {} if held is not None else {"elpd": np.nan, "elpd_se": np.nan}
    terms = np.zeros(0) if held is None else held
    return row_of(
        outcome.name, outcome.evidence, terms, of=evidence_group(outcome), **said, **nothing
    )
