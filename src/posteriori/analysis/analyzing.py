"""From a table to a verdict: which model the data support, how surely, and what it predicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

from posteriori.analysis.densities.describing import TableDensity, describe_density
from posteriori.analysis.fitting.findings import Findings, conclude
from posteriori.analysis.fitting.running import Outcome
from posteriori.analysis.fitting.staged import run_in_stages
from posteriori.analysis.fitting.table_problem import make_problem, read_target, suited_candidates
from posteriori.analysis.fitting.workers import count_jobs
from posteriori.analysis.report.ranking_tables import (
    aligned,
    ranked_data,
    ranking_parts,
    ranking_table,
)
from posteriori.analysis.report.verdict_words import verdict_of
from posteriori.analysis.saved.column_reader import common_facts
from posteriori.analysis.saved.table_model import TableModel
from posteriori.analysis.table.columns import describe_columns
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.tasks.contract import Table, TaskResult
from posteriori.analysis.tasks.sections import Page, Printed

__all__ = ["Analysis", "compare"]


class Analysis(Findings, TaskResult):
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
    thorough : bool
        Whether all was asked for that takes further fits.
    """

    @property
    def verdict(self) -> str:
        """How well the target can be predicted, by which model, how sure that is."""
        return verdict_of(self)

    @property
    def model(self) -> TableModel:
        """The model to act on, with the columns that it needs: it predicts tables and can be saved.

        The one that predicts unseen rows best, if its errors are not larger than without any column. Of up
        to 100 rows of numbers the average of all, if it is not worse by more than a standard error.
        """
        return self.table_model(self.kept)

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

    @property
    def model_words(self) -> str:
        """What the model to act on is called where it is shown."""
        return self.words(self.kept)

    @property
    def failure(self) -> str:
        """Why no model was fitted; empty where one was."""
        why = self.ranking.rows[0].failure
        return f"no model was fitted: {why}" if why else ""

    def printed(self, *, details: bool = False) -> Iterator[Printed]:
        return ranking_parts(self, details=details)

    def page(self, title: str) -> Page:
        from posteriori.analysis.report.page import make_page

        return make_page(self, title)

    def code(self, loading: str = "") -> str:
        from posteriori.analysis.report.page_code import code_of

        return code_of(self, loading)

    def data(self) -> dict[str, Any]:
        kept = {"target": self.target.column.name, "task": self.target.task, "kept": self.kept}
        return {**kept, "rows": len(self.problem.y), **ranked_data(self)}

    def _facts(self, outcome: Outcome) -> dict[str, Any]:
        evidence = outcome.evidence
        return {
            **common_facts(len(self.problem.y), self.seed),
            "task": self.target.task,
            "prior": outcome.candidate.prior,
            "log_evidence": None if evidence is None else float(evidence),
            "kind": "" if evidence is None else evidence.kind,
            "held_out": self.ranking[outcome.name].elpd,
            "metrics": dict(self.metrics[outcome.name]),
            "loss": self.problem.loss,
        }

    def __repr__(self) -> str:
        header, rows = ranking_table(self)
        return "\n".join([*aligned([header, *rows]), "", self.verdict])


@overload
def compare(
    table: Table,
    target: str,
    *,
    task: str = ...,
    models: Sequence[str] | None = ...,
    drop: Iterable[str] = ...,
    folds: int = ...,
    jobs: int | None = ...,
    time_limit: float | None = ...,
    seed: int = ...,
    loss: str = ...,
    thorough: bool = ...,
    day_first: bool | None = ...,
    on_outcome: Callable[[Outcome, int, float], None] | None = ...,
) -> Analysis: ...
@overload
def compare(
    table: Table,
    target: None = None,
    *,
    task: str = ...,
    models: Sequence[str] | None = ...,
    drop: Iterable[str] = ...,
    folds: int = ...,
    jobs: int | None = ...,
    time_limit: float | None = ...,
    seed: int = ...,
    loss: str = ...,
    thorough: bool = ...,
    day_first: bool | None = ...,
    on_outcome: Callable[[Outcome, int, float], None] | None = ...,
) -> TableDensity: ...
@overload
def compare(
    table: Table,
    target: str | None,
    *,
    task: str = ...,
    models: Sequence[str] | None = ...,
    drop: Iterable[str] = ...,
    folds: int = ...,
    jobs: int | None = ...,
    time_limit: float | None = ...,
    seed: int = ...,
    loss: str = ...,
    thorough: bool = ...,
    day_first: bool | None = ...,
    on_outcome: Callable[[Outcome, int, float], None] | None = ...,
) -> Analysis | TableDensity: ...
def compare(
    table: Table,
    target: str | None = None,
    *,
    task: str = "auto",
    models: Sequence[str] | None = (),
    drop: Iterable[str] = (),
    folds: int = 5,
    jobs: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    loss: str = "squared",
    thorough: bool = False,
    day_first: bool | None = None,
    on_outcome: Callable[[Outcome, int, float], None] | None = None,
) -> Analysis | TableDensity:
    """Find out which model a table supports, how surely, and what it predicts.

    Models are tried, and ranked by how well they predict unseen rows.

    Of more than 50,000 rows 20,000 are drawn first, and only the models that do best on them, with the
    simplest ones, are fitted to all rows; the notes say which.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or a mapping of columns
    target : str, optional
        The column to predict. Without it, and with the task "density", all columns are described together.
    task : {"auto", "regression", "classification", "density"}
        "density" asks for the distribution of the target alone, or of all columns where there is none.
    models : sequence of str, str or None
        Names of candidates; all that suit by default.
    drop : iterable of str
        Columns to leave out.
    folds : int
        Parts of the rows that are held out in turn.
    jobs : int, optional
        Fits at a time, in processes of their own unless these would take longer to start than they save; as
        many as there are processors, but at most 8, by default.
    time_limit : float, optional
        Seconds after which no result is waited for.
    seed : int
        Of the random split into folds.
    loss : {"squared", "absolute", "log"}
        What a wrong number costs: means are predicted for squared differences, medians for absolute
        ones and for those of logarithms.
    thorough : bool
        Of a target: also try the models that cost much and seldom win, and report what takes further
        fits, which are the evidence of models without a prior and how far priors move that of the others.
        All models are fitted to all rows.
    day_first : bool, optional
        The order of dates such as 01/02/2020; where it is not told and both would fit, a note says which was taken.
    on_outcome : callable, optional
        Called as ``on_outcome(outcome, total, seconds_left)`` after every candidate, cheapest first.

    Returns
    -------
    Analysis
        Or, without a target, TableDensity.

    Raises
    ------
    ValueError
        When the target cannot be predicted from this table, or the table cannot be described, with the
        reason and the remedy.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 60)
    >>> result = compare(
    ...     {"x": x, "y": 2 * x + np.cos(40 * x) / 9}, "y", models=["constant", "linear"]
    ... )
    >>> result.ranking.best
    'linear'
    >>> both = compare({"x": x, "y": x + np.cos(40 * x) / 9}, task="density", models=["normal"])
    >>> both.model.predict({"x": [0.5], "y": [None]})["y_filled"].round(1).item()
    0.5
    """
    frame = to_pandas(table)
    if target is None:
        _require_joint(task, loss)
        return describe_density(
            frame,
            models=models,
            drop=drop,
            folds=folds,
            jobs=count_jobs(jobs),
            time_limit=time_limit,
            seed=seed,
            day_first=day_first,
            thorough=thorough,
            on_outcome=on_outcome,
        )
    goal = read_target(frame, target, task)
    columns = describe_columns(frame, drop, goal.column.name, day_first)
    problem = make_problem(frame, goal, columns, folds, seed, loss)
    candidates = suited_candidates(goal, problem, models, thorough=thorough)
    reached = run_in_stages(
        problem,
        candidates,
        seed,
        whole=thorough,
        jobs=count_jobs(jobs),
        time_limit=time_limit,
        on_outcome=on_outcome,
    )
    found = conclude(goal, columns, reached, seed)
    return Analysis(**{**vars(found), "thorough": thorough})


def _require_joint(task: str, loss: str) -> None:
    """Refuse to predict without a target."""
    if task != "density":
        raise ValueError(
            "name the column to predict with --target (target=), or describe all columns together with "
            "--task density (task='density')"
        )
    if loss != "squared":
        raise ValueError(f"the loss {loss!r} is for a target, and there is none")
