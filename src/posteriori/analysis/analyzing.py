"""From a table to a verdict: which model the data support, how surely, and what it predicts."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from posteriori.analysis.fitting.cautions import cautions
from posteriori.analysis.fitting.leakage import revealing_columns
from posteriori.analysis.fitting.running import (
    INTERRUPTED,
    OUT_OF_TIME,
    Outcome,
    Problem,
    run_candidates,
)
from posteriori.analysis.fitting.scores import Metrics, metrics_of
from posteriori.analysis.fitting.table_model import TableModel
from posteriori.analysis.fitting.targets import Target, read_target
from posteriori.analysis.report.ranking_table import aligned, ranking_table
from posteriori.analysis.report.verdict import verdict
from posteriori.analysis.table.columns import Column, column_name, convert_column, to_pandas
from posteriori.analysis.table.describing import describe_columns
from posteriori.estimators.contract import CountsParameters, ScalesPrior, offers
from posteriori.selection.candidates import Candidate, candidates_for
from posteriori.selection.comparing import PRIOR_SCALES
from posteriori.selection.comparison import Comparison, Row
from posteriori.selection.cross_validation import fit_in_parts, split_rows
from posteriori.selection.psis import standard_error
from posteriori.selection.ranking import with_differences, with_probabilities

__all__ = ["Analysis", "analyze", "suited_candidates"]

#: Most processes that are started unasked.
_MOST_JOBS = 8


@dataclass(frozen=True)
class Analysis:
    """What a table says about models for one of its columns.

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
    def verdict(self) -> str:
        """One sentence: which model, how sure that is, what would change it."""
        flat = (o.name for o in self.outcomes.values() if o.candidate.encoding == "nothing")
        untried = [o for o in self.outcomes.values() if o.failure in (INTERRUPTED, OUT_OF_TIME)]
        return verdict(
            self.ranking.rows,
            len(self.problem.y),
            baseline=next(flat, "") if self.target.task != "density" else "",
            untried=len(untried),
            revealing=self.revealing,
        )

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the work before all models were fitted."""
        return any(outcome.failure == INTERRUPTED for outcome in self.outcomes.values())

    @property
    def model(self) -> TableModel:
        """The best model, with the columns that it needs: it predicts tables and can be saved."""
        return self.table_model(self.ranking.best)

    def table_model(self, name: str) -> TableModel:
        """Return one of the fitted models, with the columns that it needs."""
        outcome = self.outcomes[name]
        if outcome.model is None:
            raise ValueError(f"{name!r} was not fitted: {outcome.failure}")
        seen = set() if outcome.candidate.encoding == "nothing" else set(self.problem.kinds)
        return TableModel(
            name,
            self.target.column.name,
            outcome.model,
            tuple(c for c in self.columns if c.name in seen),
            self.target.classes,
            self._facts(outcome),
            self.target.kind,
        )

    def html(self, title: str = "the table", loading: str = "") -> str:
        """Return the report: one HTML page that needs no network.

        Parameters
        ----------
        title : str
            What the data are called.
        loading : str
            Python code that makes ``table``, for those who want to repeat the analysis.
        """
        from posteriori.analysis.report.page import make_page

        return make_page(self, title, loading)

    def _repr_html_(self) -> str:
        from html import escape

        page = escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:40rem;border:0"></iframe>'

    def _facts(self, outcome: Outcome) -> dict[str, Any]:
        evidence = outcome.evidence
        return {
            "rows": len(self.problem.y),
            "task": self.target.task,
            "prior": outcome.candidate.prior,
            "log_evidence": None if evidence is None else float(evidence),
            "kind": "" if evidence is None else evidence.kind,
            "held_out": self.ranking[outcome.name].elpd,
            "metrics": dict(self.metrics[outcome.name]),
            "seed": self.seed,
            "version": version("posteriori"),
        }

    def __repr__(self) -> str:
        header, rows = ranking_table(self)
        return "\n".join([*aligned([header, *rows]), "", self.verdict])


def analyze(
    table: Any,
    target: str,
    *,
    task: str = "auto",
    models: Sequence[str] = (),
    drop: Iterable[str] = (),
    folds: int = 5,
    jobs: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    on_outcome: Callable[[Outcome, int, float], None] | None = None,
) -> Analysis:
    """Try models on a table and rank them by how well they predict unseen rows.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or a mapping of columns
    target : str
        The column to predict.
    task : {"auto", "regression", "classification", "density"}
        "density" asks for the distribution of the target alone.
    models : sequence of str
        Names of candidates; all that suit by default.
    drop : iterable of str
        Columns to leave out.
    folds : int
        Parts of the rows that are held out in turn.
    jobs : int, optional
        Fits at a time, in processes of their own where the table is large; as many as there are
        processors, but at most 8, by default.
    time_limit : float, optional
        Seconds after which no result is waited for.
    seed : int
    on_outcome : callable, optional
        Called as ``on_outcome(outcome, total, seconds_left)`` after every candidate.

    Returns
    -------
    Analysis

    Raises
    ------
    ValueError
        When the target cannot be predicted from this table, with the reason and the remedy.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 60)
    >>> result = analyze(
    ...     {"x": x, "y": 2 * x + np.cos(40 * x) / 9}, "y", models=["constant", "linear"]
    ... )
    >>> result.ranking.best
    'linear'
    """
    frame = to_pandas(table)
    goal = read_target(frame, column_name(target), task)
    dropped = [column_name(name) for name in ([drop] if isinstance(drop, str) else drop)]
    _require_known(dropped, frame)
    columns = describe_columns(frame.drop(columns=goal.column.name), dropped)
    problem = _make_problem(frame, goal, columns, folds, seed)
    candidates = suited_candidates(goal, problem, models)
    outcomes, ended = run_candidates(
        candidates,
        problem,
        jobs=jobs or min(os.cpu_count() or 1, _MOST_JOBS),
        time_limit=time_limit,
        on_outcome=_with_time_left(candidates, on_outcome),
    )
    return _conclude(goal, columns, problem, candidates, outcomes, ended, seed)


def suited_candidates(
    goal: Target, problem: Problem, models: Sequence[str] = ()
) -> list[Candidate]:
    """Return the models to try on a table, or those of the given names, cheapest first."""
    rows, inputs = problem.X.shape
    numbers = [name for name, kind in problem.kinds.items() if kind in ("number", "date")]
    return candidates_for(
        goal.task,
        models,
        targets=goal.traits,
        inputs=inputs,
        rows=rows,
        curved=any(problem.X[name].nunique() > 2 for name in numbers),
    )


def _with_time_left(
    candidates: list[Candidate], tell: Callable[[Outcome, int, float], None] | None
) -> Callable[[Outcome], None]:
    """Add the number of candidates and the time that the others need, by their stated costs."""
    start, open_cost = time.monotonic(), sum(c.cost for c in candidates)
    total_cost = open_cost

    def told(outcome: Outcome) -> None:
        nonlocal open_cost
        open_cost -= outcome.candidate.cost
        spent = time.monotonic() - start
        left = spent * open_cost / max(total_cost - open_cost, 1e-9)
        if tell is not None:
            tell(outcome, len(candidates), left)

    return told


def _require_known(drop: Iterable[str], frame: pd.DataFrame) -> None:
    for name in drop:
        if name not in frame.columns:
            raise ValueError(f"drop names {name!r}, which is no column of the table")


def _make_problem(
    frame: pd.DataFrame, goal: Target, columns: list[Column], folds: int, seed: int
) -> Problem:
    used = [c for c in columns if c.used and goal.task != "density"]
    if not used and goal.task != "density":
        why = "; ".join(f"{c.name!r}: {c.note}" for c in columns[:5])
        raise ValueError(
            "no column is left to predict from" + (f" ({why})" if why else ": the target is alone")
        )
    rows = frame.loc[goal.known]
    X = pd.DataFrame({c.name: convert_column(c, rows[c.name]) for c in used}, index=rows.index)
    y = goal.values
    splits = split_rows(y, folds, seed, classes=goal.classes is not None)
    return Problem(
        X.reset_index(drop=True), y, {c.name: c.kind for c in used}, goal.classes, splits
    )


def _conclude(
    goal: Target,
    columns: list[Column],
    problem: Problem,
    candidates: list[Candidate],
    outcomes: list[Outcome],
    ended: str,
    seed: int,
) -> Analysis:
    reached = {outcome.name: outcome for outcome in outcomes}
    for candidate in candidates:
        if candidate.name not in reached:
            why = OUT_OF_TIME if ended == "time" else INTERRUPTED
            reached[candidate.name] = Outcome(candidate, failure=why)
    rows = _rank(list(reached.values()), problem)
    done = [reached[row.name] for row in rows]
    revealing = revealing_columns(problem)
    return Analysis(
        goal,
        columns,
        problem,
        {outcome.name: outcome for outcome in done},
        Comparison(rows),
        {o.name: metrics_of(o.unseen, problem.y, problem.classes) for o in done if o.unseen},
        _notes(goal, columns, problem, revealing, ended),
        seed,
        tuple(revealing),
    )


def _rank(outcomes: list[Outcome], problem: Problem) -> list[Row]:
    rows = {outcome.name: _row(outcome, problem) for outcome in outcomes}
    rows = with_probabilities(
        rows, {o.name: o.evidence for o in outcomes if o.evidence is not None}
    )
    rows = with_differences(
        rows, {o.name: o.unseen.log_density for o in outcomes if o.unseen is not None}
    )
    return sorted(rows.values(), key=lambda row: (bool(row.failure), -np.nan_to_num(row.elpd)))


def _row(outcome: Outcome, problem: Problem) -> Row:
    if outcome.unseen is None:
        return Row(outcome.name, failure=outcome.failure, seconds=outcome.seconds)
    final, evidence = outcome.model[-1], outcome.evidence
    return Row(
        outcome.name,
        log_evidence=float("nan") if evidence is None else float(evidence),
        kind="" if evidence is None else evidence.kind,
        of=_group(outcome),
        elpd=float(outcome.unseen.log_density.sum()),
        elpd_se=standard_error(outcome.unseen.log_density),
        method=f"{len(problem.splits)}-fold",
        effective_parameters=final.effective_parameters_
        if offers(final, CountsParameters)
        else float("nan"),
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


#: Share of missing entries from which on a note says what stands in their place.
_MANY_MISSING = 0.2


def _notes(
    goal: Target, columns: list[Column], problem: Problem, revealing: dict[str, str], ended: str
) -> tuple[str, ...]:
    notes = [*goal.notes, *(f"{c.name!r}: {c.note}" for c in columns if c.note)]
    notes += _notes_on_gaps(columns, len(goal.known))
    notes += cautions(problem, goal.column.name, revealing)
    if "date" in problem.kinds.values():
        notes.append(
            "rows are held out at random: that tests predictions between the dates, not forecasts"
        )
    if ended:
        notes.append("the time limit was reached" if ended == "time" else "stopped by Ctrl-C")
    return tuple(notes)


def _notes_on_gaps(columns: list[Column], rows: int) -> list[str]:
    """Say what stands in for entries that are missing, where these are many."""
    return [
        f"{c.name!r}: {c.missing / rows:.0%} are missing; "
        + ("that is a level of its own" if c.kind == "category" else "the mean stands in")
        + ("" if c.kind == "category" else ", and a further column says where")
        for c in columns
        if c.used and c.missing > _MANY_MISSING * rows
    ]
