"""Candidates ranked by what they say of unseen rows, with their average and their evidences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from posteriori.analysis.fitting.running import UNREACHED, Outcome, Reached
from posteriori.distributions.composites.predictive_mixture import PredictiveMixture
from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate
from posteriori.selection.comparison import (
    Comparison,
    Row,
    best_first,
    ranked,
    row_of,
    with_differences,
    with_probabilities,
)
from posteriori.selection.cross_validation import Unseen
from posteriori.selection.stacking import (
    Splits,
    log_mixed,
    weights_by_folds,
    weights_of_other_folds,
)

__all__ = [
    "AVERAGE",
    "all_outcomes",
    "average_outcome",
    "evidence_group",
    "order_outcomes",
    "outcome_of_average",
    "rank_outcomes",
    "told_end",
]


#: What kinds of evidence add to what they are of.
_OF_KINDS = {"type-II": ", chosen scale", "prequential": ", prequential"}

_ENDED = {"time": "the time limit was reached", "interrupted": "stopped by Ctrl-C"}


def rank_outcomes(
    reached: Reached, task: str, kind: type[Any]
) -> tuple[dict[str, Outcome], Comparison]:
    """Return the outcomes of all candidates and of their average, best first, and the ranking.

    Parameters
    ----------
    reached : Reached
    task : str
    kind : class
        Of the average.
    """
    splits = reached.problem.splits
    outcomes = all_outcomes(reached.candidates, reached.outcomes, reached.ended)
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
    why = UNREACHED.get(ended, "")
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


#: The name of the average among the models.
AVERAGE = "average"

#: Models of a smaller share are left out: they cost time and change no prediction that matters.
_LEAST_SHARE = 0.01


def average_outcome(
    outcomes: Mapping[str, Outcome], splits: Splits, task: str, kind: type[Any]
) -> tuple[Outcome, dict[str, float]] | None:
    """Return the average as one more outcome, and the weights of its members.

    None where fewer than two models say something of every row.

    Parameters
    ----------
    outcomes : mapping from name to Outcome
    splits : sequence of pairs of rows
    task : str
    kind : class
        Whose ``of_fitted(models, weights)`` makes one model of several.
    """
    members = {name: o for name, o in outcomes.items() if o.unseen is not None}
    if len(members) < 2:
        return None
    logs = np.stack([_unseen(o).log_density for o in members.values()], axis=1)
    if not np.isfinite(logs.max(axis=1)).all():
        return None
    kept = _without_small(weights_by_folds(logs, splits)[None])[0]
    weights = dict(zip(members, kept.tolist(), strict=True))
    fitted = {name: members[name].model for name, share in weights.items() if share > 0.0}
    shares = _without_small(weights_of_other_folds(logs, splits))
    unseen = _mixed([_unseen(o) for o in members.values()], logs, shares)
    model = kind.of_fitted(fitted, weights)
    return outcome_of_average(task, kind, model, unseen, members.values()), weights


def outcome_of_average(
    task: str, kind: type[Any], model: Any, unseen: Any, members: Iterable[Outcome]
) -> Outcome:
    """Return what became of the average of candidates, which takes the time of them all."""
    candidate = Candidate(
        AVERAGE,
        task,
        f"{kind.__module__}.{kind.__name__}",
        prior="those of its members",
        title="average of the models",
    )
    seconds = sum(o.seconds for o in members)
    return Outcome(candidate, model=model, unseen=unseen, seconds=seconds)


def _unseen(outcome: Outcome) -> Unseen:
    assert outcome.unseen is not None
    return outcome.unseen


def _without_small(shares: Array) -> Array:
    """Return weights (N, K) without the smallest, summing to 1 again."""
    kept = np.where(shares < _LEAST_SHARE, 0.0, shares)
    return kept / kept.sum(axis=1, keepdims=True)


def _mixed(parts: list[Unseen], logs: Array, shares: Array) -> Unseen:
    """Return what the average says: of densities and levels the weighted means."""
    levels = np.stack([part.level for part in parts], axis=1)
    points = _medians(parts, shares) if parts[0].predictive else _means(parts, shares)
    return Unseen(log_mixed(logs, shares), points, (shares * levels).sum(axis=1))


def _means(parts: list[Unseen], shares: Array) -> Array:
    """Return weighted means of what members predict, (N,) or (N, classes)."""
    predictions = np.stack([part.prediction for part in parts])
    return np.einsum("nk,kn...->n...", shares, predictions)


def _medians(parts: list[Unseen], shares: Array) -> Array:
    """Return medians of the mixtures, (N,); rows that were predicted together have the same weights."""
    found = np.empty(len(shares))
    for members in zip(*(part.predictive for part in parts), strict=True):
        rows = members[0][0]
        weights = shares[rows[0]]
        kept = np.flatnonzero(weights)
        mixture = PredictiveMixture(weights[kept], [members[k][1] for k in kept])
        found[rows] = mixture.median
    return found
