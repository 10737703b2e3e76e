"""What a table says about models for one of its columns: which to act on, what they rely on, and what is told of it."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from posteriori.analysis.comparisons.comparison_page import (
    code_of,
    comparison_findings,
    comparison_heading,
    draw_picture,
)
from posteriori.analysis.comparisons.table_problem import Problem, Target
from posteriori.analysis.comparisons.verdict_words import next_steps, verdict_of
from posteriori.analysis.fitting.running import Outcome
from posteriori.analysis.ranking.ranked_outcomes import (
    AVERAGE,
    evidence_group,
)
from posteriori.analysis.ranking.ranked_result import RankedResult
from posteriori.analysis.report.what_if import Effects, column_importance
from posteriori.analysis.saved.table_model import TableModel
from posteriori.analysis.table.association import strongest_first
from posteriori.analysis.table.columns import Column
from posteriori.analysis.targets.class_costs import threshold_of
from posteriori.analysis.targets.decided_classes import Decided
from posteriori.analysis.targets.reasons import reasons_of
from posteriori.estimators.contract import ScalesPrior, offers
from posteriori.numerics.evidence import LogEvidence
from posteriori.selection.comparing import PRIOR_SCALES
from posteriori.selection.comparison import Comparison, Row, with_probabilities
from posteriori.selection.cross_validation import Metrics, Unseen, fit_in_parts
from posteriori.selection.prequential import prequential_evidence

__all__ = ["Analysis"]

#: Columns that are shuffled at most, to see what they are worth.
_MOST_SHUFFLED = 30

#: Columns that are named as those that matter most, at most; a column matters if shuffling it costs this share
#: of what shuffling the most important one does.
_MOST_NAMED, _MATTERS = 3, 0.1

#: A model is not kept whose error is more than this many times that of the one without columns.
_WORSE = 1.05


@dataclass(frozen=True, repr=False, eq=False)
class Analysis(RankedResult):
    """What a table says about models for one of its columns, with a report and models to keep.

    Attributes
    ----------
    target : Target
    columns : list of Column
        All columns of the table but the target.
    problem : Problem
        Converted rows.
    outcomes : dict of Outcome
        By name of the candidate, best first.
    ranking : Comparison
    metrics : dict of dict
        Errors of unseen rows, by name of the candidate.
    notes : tuple of str
        What was guessed and done.
    seed : int
    revealing : tuple of str
        Columns that alone tell the target.
    dated : str
        The column of dates that follow one another in regular steps; empty if there is none.
    thorough : bool
        Whether all was asked for that takes further fits.
    decided : dict of Decided
        What is said of unseen rows, by name of the candidate, where a class is to be found.
    leading : tuple of str
        What is told of that class.
    keep : str
        The model to act on, the average by default; empty for the best single one.
    """

    target: Target
    columns: list[Column]
    problem: Problem
    outcomes: dict[str, Outcome]
    ranking: Comparison
    metrics: dict[str, Metrics]
    notes: tuple[str, ...] = ()
    seed: int = 0
    revealing: tuple[str, ...] = ()
    dated: str = ""
    thorough: bool = False
    decided: dict[str, Decided] = field(default_factory=dict)
    leading: tuple[str, ...] = ()
    keep: str = AVERAGE

    @property
    def best(self) -> Any:
        """The pipeline of one model that predicts unseen rows best, fitted to all rows."""
        return self.outcomes[self.best_single].model

    @cached_property
    def importance(self) -> Effects | None:
        """Log density per row that the best single model loses when a column is shuffled, largest first.

        Of many columns, those that go with the target most closely. Costs three predictions each
        when it is first asked for.
        """
        outcome = self.outcomes[self.best_single]
        if outcome.candidate.encoding == "nothing" or not self.problem.kinds:
            return None
        names = self.strongest[:_MOST_SHUFFLED]
        with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
            return column_importance(outcome.model, self.problem, self.seed, names)

    @property
    def unseen(self) -> Unseen:
        """What the model to act on said of rows that it had not seen."""
        unseen = self.outcomes[self.kept].unseen
        assert unseen is not None
        return unseen

    @property
    def codes(self) -> Any:
        """The places of the classes that came, (N,)."""
        return np.searchsorted(self.problem.classes, self.problem.y)

    @property
    def drivers(self) -> list[str]:
        """The columns that matter most to the best single model."""
        importance = self.importance
        if importance is None:
            return []
        least = max(_MATTERS * float(importance.mean[0]), 0.0)
        lost = zip(importance.names[:_MOST_NAMED], importance.mean, strict=False)
        return [name for name, mean in lost if mean > least]

    @cached_property
    def strongest(self) -> list[str]:
        """The columns, those first that go with the target most closely."""
        return strongest_first(self.targets, {str(n): self.problem.X[n] for n in self.problem.X})

    @property
    def targets(self) -> pd.Series:
        """The known targets: numbers, or classes as texts."""
        values = pd.Series(self.problem.y)
        return values if self.problem.classes is None else values.astype(str).astype(object)

    @property
    def baseline(self) -> str:
        """The name of the model that ignores all columns; empty if there is none."""
        if self.target.task == "density":
            return ""
        flat = (o.name for o in self.outcomes.values() if o.candidate.encoding == "nothing")
        return next(flat, "")

    @property
    def kept(self) -> str:
        """The model to act on: the one asked for, or the first that errs no more than without columns.

        First comes the average, unless a single model is asked for or has all of it, and then the others by density.
        """
        names = [row.name for row in self.ranking.rows if not row.failure]
        if self.keep in names and self.keep != AVERAGE:
            return self.keep
        averaged = bool(self.keep) and self._shares_told > 1
        names = [name for name in names if name != AVERAGE or averaged]
        names.sort(key=lambda name: name != self.keep)  # which keeps the order of the others
        sound = (name for name in names if self.error_ratio(name) <= _WORSE)
        return next(sound, "") or self.ranking.best

    @property
    def _shares_told(self) -> int:
        """How many models have a share in the average that is not told as 0.00."""
        return sum(row.weight >= 0.005 for row in self.ranking.rows)

    def error_ratio(self, name: str) -> float:
        """How large the error of a model is beside that of the model without columns."""
        flat = self.metrics.get(self.baseline)
        if flat is None or self.problem.classes is not None:
            return 1.0
        first = next(iter(flat))
        return self.metrics[name][first] / flat[first] if flat[first] > 0.0 else 1.0

    @cached_property
    def sensitivity(self) -> dict[str, dict[float, float]]:
        """Log evidence of the best two models with the prior's scale changed, by name and factor.

        Costs four fits of each when it is first asked for.
        """
        best = [o for o in self.outcomes.values() if o.evidence is not None][:2]
        return {o.name: _scaled_evidences(o, self.problem) for o in best}

    @cached_property
    def detailed_rows(self) -> list[Row]:
        """The ranking; if thorough, with prequential evidences of models without a prior, a group of their own.

        That costs about one more fit of each of these when it is first asked for; Ctrl-C leaves the rest out.
        """
        if not self.thorough:
            return list(self.ranking.rows)
        rows = {row.name: row for row in self.ranking.rows}
        evidences: dict[str, LogEvidence] = {}
        for name, outcome in self.outcomes.items():
            if outcome.evidence is not None or outcome.model is None or name == AVERAGE:
                continue
            try:
                found = _prequential(outcome, self.problem, self.seed)
            except KeyboardInterrupt:
                break
            if found is not None:
                evidences[name] = found
                of = evidence_group(outcome._replace(evidence=found))
                rows[name] = replace(rows[name], log_evidence=float(found), kind=found.kind, of=of)
        return list(with_probabilities(rows, evidences).values())

    verdict = property(verdict_of)
    steps = cached_property(next_steps)
    reasons = property(reasons_of)
    picture = property(draw_picture)
    heading = comparison_heading
    findings = comparison_findings
    code = code_of

    @property
    def model(self) -> TableModel:
        """The model to act on, with the columns that it needs: it predicts tables and can be saved.

        The average of all, whose errors must not be larger than without any column, or the one that was asked for.
        """
        return self.table_model(self.kept)

    @property
    def _rows_learned(self) -> int:
        """How many rows models have learned from, those before the first origin too."""
        past = self.problem.past
        return len(self.problem.y) + (0 if past is None else len(past.y))

    def table_model(self, name: str) -> TableModel:
        """Return one of the fitted models, with the columns that it needs."""
        outcome = self.fitted_outcome(name)
        decided = self.decided.get(name)
        seen = set() if outcome.candidate.encoding == "nothing" else set(self.problem.kinds)
        facts = {
            **self.facts_of(outcome, self._rows_learned, self.seed),
            "task": self.target.task,
            "metrics": dict(self.metrics[name]),
            "loss": self.problem.loss,
        }
        return TableModel(
            name,
            self.target.column.name,
            outcome.model,
            tuple(c for c in self.columns if c.name in seen),
            self.target.classes,
            facts,
            self.target.kind,
            None if decided is None else decided.rule,
            None if decided is None or decided.rule is None else decided.positive,
        )

    def data(self) -> dict[str, Any]:
        about = {"target": self.target.column.name, "task": self.target.task}
        rows, kept = len(self.problem.y), super().data()
        decided = self.decided.get(self.kept) if self.decided else None
        return {**about, "rows": rows, **kept, **({} if decided is None else self._acted(decided))}

    def _acted(self, decided: Decided) -> dict[str, Any]:
        """Return what is said of the class that is to be found, and what comes of it."""
        told: dict[str, Any] = {
            "rows": decided.rows,
            "found": decided.found,
            "alarms": decided.alarms,
        }
        classes, k, rule = self.problem.classes, decided.positive, decided.rule
        if rule is not None and len(classes) == 2:
            told["threshold"] = threshold_of(rule, k)
        return {"positive": {"class": classes[k], **told, "costs": rule}}


def _prequential(outcome: Outcome, problem: Problem, seed: int) -> LogEvidence | None:
    """Return the evidence of rows predicted by those before them; None where it is no number."""
    # only the evidence is wanted
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        try:
            found = prequential_evidence(outcome.model, *problem.learned, problem.classes, rng=seed)
        except (ValueError, TypeError, ArithmeticError, np.linalg.LinAlgError):
            return None
    return found if np.isfinite(float(found)) else None


def _scaled_evidences(outcome: Outcome, problem: Problem) -> dict[float, float]:
    """Return the log evidence with the prior's scale changed."""
    final = outcome.model[-1]
    if not offers(final, ScalesPrior):
        return {}

    def refitted(scale: float) -> float:
        steps = [("columns", outcome.model[0]), ("model", final.with_prior_scaled(scale))]
        again = fit_in_parts(clone(Pipeline(steps)), *problem.learned)
        return float(again[-1].log_evidence_)

    # only the evidence is wanted; products are small, and threads that wait for one another cost more
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        moved = {scale: refitted(scale) for scale in PRIOR_SCALES}
    return {1.0: float(outcome.evidence or 0.0), **moved}
