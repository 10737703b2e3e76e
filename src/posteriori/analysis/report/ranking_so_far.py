"""The ranking while models are still being fitted, and what it says so far."""

from __future__ import annotations

from collections.abc import Sequence

from posteriori.analysis.fitting.ranked_outcomes import order_outcomes
from posteriori.analysis.fitting.running import Outcome
from posteriori.analysis.report.ranking_tables import Table, behind_best
from posteriori.analysis.report.verdict_words import verdict
from posteriori.analysis.table.wording import fixed_number, short_number
from posteriori.selection.comparison import Row

__all__ = ["score_of", "table_so_far", "verdict_so_far"]


def table_so_far(outcomes: Sequence[Outcome]) -> Table:
    """Return the ranking of the models that are done, best first: score of a row, time of all fits."""
    named = {outcome.name: outcome for outcome in outcomes}
    rows: list[tuple[str, ...]] = []
    for row in _ranked(outcomes):
        outcome = named[row.name]
        behind = "" if row.failure else behind_best(row)
        words = outcome.candidate.words
        rows.append((words, score_of(outcome), behind, short_number(row.seconds, 2)))
    return ("model", "score", "behind", "seconds"), rows


def score_of(outcome: Outcome) -> str:
    """Return the mean log density of a row that the model has not seen, or that there is none."""
    if outcome.unseen is None:
        return "failed"
    return fixed_number(float(outcome.unseen.log_density.mean()), 2)


def verdict_so_far(outcomes: Sequence[Outcome], total: int) -> str:
    """Say which of the models that are done predicts unseen rows best, and that more are to come."""
    held = [o for o in outcomes if o.unseen is not None]
    flat = (o.name for o in held if o.candidate.encoding == "nothing")
    alone = not held or held[0].candidate.task == "density"
    said = verdict(
        _ranked(outcomes),
        len(held[0].unseen.log_density) if held else 0,
        baseline="" if alone else next(flat, ""),
        names={o.name: o.candidate.words for o in outcomes},
    )
    return f"So far, {len(outcomes)} of {total} models (preliminary): {said}"


def _ranked(outcomes: Sequence[Outcome]) -> tuple[Row, ...]:
    """Rank by what is said of unseen rows; evidences wait for the end."""
    plain = {o.name: o._replace(evidence=None) for o in outcomes}
    held = {name: o.unseen.log_density for name, o in plain.items() if o.unseen is not None}
    return order_outcomes(plain, {}, held, "")[1].rows
