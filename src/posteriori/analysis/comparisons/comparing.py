"""The task compare: which model a table supports, for one of its columns or for all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import partial
from typing import Any, TypedDict, Unpack, overload

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.analysis.comparisons.conclusions import Analysis
from posteriori.analysis.comparisons.table_problem import (
    Problem,
    Target,
    make_problem,
    read_target,
    suited_candidates,
)
from posteriori.analysis.densities.describing import TableDensity, conclude_density
from posteriori.analysis.densities.joint_problem import (
    fit_joint,
    joint_candidates,
    make_joint_problem,
)
from posteriori.analysis.fitting.preparation import CURVED, CodeColumns, NoColumns, NumberColumns
from posteriori.analysis.fitting.running import Outcome, Reached, run_in_stages
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE, rank_outcomes, told_end
from posteriori.analysis.table.columns import Column, describe_columns
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.targets.cautions import (
    cautions,
    notes_on_columns,
    notes_on_seasons,
    regular_date,
    revealing_columns,
)
from posteriori.analysis.targets.decided_classes import Decided, decide_unseen
from posteriori.analysis.targets.past_rows import fit_in_time, read_time
from posteriori.analysis.tasks.contract import Table
from posteriori.estimators.contract import TellsBends, offers
from posteriori.selection.averaging import ClassifierAverage, ModelAverage
from posteriori.selection.candidates import Candidate
from posteriori.selection.comparison import Comparison
from posteriori.selection.cross_validation import Metrics, fit_in_parts, metrics_of, predict_fold

__all__ = ["compare", "conclude", "fit_target", "make_pipeline"]

#: What is told of a class that is to be found; the first where costs are told.
_OF_CLASS = ("cost", "AUC", "average precision", "recall", "precision")

#: Levels of a category that trees may tell apart.
_MOST_LEVELS = 1000

#: Pairs of waves that tell a cycle of dates to models that bend no input of their own.
_MOST_WAVES = 3


class _Options(TypedDict, total=False):
    """All other arguments."""

    task: str
    models: Sequence[str] | None
    drop: Iterable[str]
    folds: int
    time: str | None
    jobs: int | None
    time_limit: float | None
    seed: int
    loss: str
    costs: Mapping[Any, float] | None
    positive: Any
    thorough: bool
    single: bool
    save_model: str | None
    day_first: bool | None
    on_outcome: Callable[[Outcome, int, float], None] | None


@overload
def compare(table: Table, target: str, **options: Unpack[_Options]) -> Analysis: ...
@overload
def compare(table: Table, target: None = None, **options: Unpack[_Options]) -> TableDensity: ...
@overload
def compare(
    table: Table, target: str | None, **options: Unpack[_Options]
) -> Analysis | TableDensity: ...
def compare(
    table: Table,
    target: str | None = None,
    *,
    task: str = "auto",
    models: Sequence[str] | None = (),
    drop: Iterable[str] = (),
    folds: int = 5,
    time: str | None = None,
    jobs: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    loss: str = "squared",
    costs: Mapping[Any, float] | None = None,
    positive: Any = None,
    thorough: bool = False,
    single: bool = False,
    save_model: str | None = None,
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
    time : str, optional
        The column of dates or numbers that orders rows in time: each part is then told by the rows before it,
        rather than by all others, which is what new rows will meet. The first part is only learned from.
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
    costs : mapping, optional
        What mistakes about classes cost: yes:no=10 says that a miss of "yes", which is taken for "no", costs
        10. Other mistakes cost 1. New rows are decided so that they cost least.
    positive : label, optional
        The class that is to be found: the ranking and the verdict say how many of its rows are, for how many
        false alarms. By default a class that is rare, or dear to miss.
    thorough : bool
        Of a target: also try the models that cost much and seldom win, and report what takes further
        fits, which are the evidence of models without a prior and how far priors move that of the others.
        All models are fitted to all rows.
    single : bool
        Act on the best single model, and save that, rather than the average of all.
    save_model : str, optional
        The model to act on, and to save, by its name in the ranking.
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
    run = partial(
        run_in_stages,
        seed=seed,
        whole=thorough,
        jobs=jobs,
        time_limit=time_limit,
        on_outcome=on_outcome,
    )
    if target is None:
        _require_joint(task, loss, costs, positive, single or save_model, time)
        columns = describe_columns(frame, drop, day_first=day_first)
        joint, converted, columns = make_joint_problem(frame, columns, folds, seed)
        reached = run(joint, joint_candidates(joint, models), fit=fit_joint)
        return conclude_density(columns, converted, reached, seed)
    goal = read_target(frame, target, task, costs, positive)
    columns = describe_columns(frame, drop, goal.column.name, day_first)
    when = None if time is None else read_time(frame, time, day_first)
    problem = make_problem(frame, goal, columns, folds, seed, loss, when)
    candidates = suited_candidates(goal, problem, models, thorough=thorough)
    keep = _model_to_keep(candidates, single, save_model)
    reached = run(problem, candidates, fit=fit_target)
    return conclude(goal, columns, reached, seed, thorough=thorough, keep=keep)


def _model_to_keep(candidates: Sequence[Candidate], single: bool, asked: str | None) -> str:
    """Return the name of the model to act on; nothing for the best single one."""
    if asked is None:
        return "" if single else AVERAGE
    if single:
        raise ValueError(
            "single=True (--single) asks for the best model, save_model= for a certain one"
        )
    known = {c.name: c.name for c in candidates} | {c.words: c.name for c in candidates}
    if asked not in known:
        near = get_close_matches(asked, known, n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]!r}?" if near else "."
        names = ", ".join(c.name for c in candidates)
        raise ValueError(f"save_model names {asked!r}, which is not tried{hint} There are: {names}")
    return known[asked]


def _require_joint(
    task: str, loss: str, costs: Any, positive: Any, kept: Any, time: str | None
) -> None:
    """Refuse to predict without a target."""
    if task != "density":
        raise ValueError(
            "name the column to predict with --target (target=), or describe all columns together with "
            "--task density (task='density')"
        )
    if loss != "squared":
        raise ValueError(f"the loss {loss!r} is for a target, and there is none")
    if costs or positive is not None:
        raise ValueError("costs and a positive class are for a target, and there is none")
    if time is not None:
        raise ValueError("time orders the rows that a target is scored by, and there is none")
    if kept:
        raise ValueError(
            "single and save_model choose among models of a target, and there is none; table_model(name) of what "
            "is returned gives each"
        )


# -- what is fitted, and what follows ------------------------------------------------------------------


def make_pipeline(
    candidate: Candidate,
    kinds: dict[str, str],
    classes: int = 0,
    seasons: Mapping[str, tuple[str, ...]] | None = None,
) -> Pipeline:
    """Return preparation and model of a candidate for so many classes and the seasons of dates, unfitted."""
    basis, model = candidate.make_basis(), candidate.make()
    seasons = dict(seasons or {})
    if candidate.encoding == "codes":
        codes = CodeColumns(kinds, seasons=seasons)
        return Pipeline([("columns", codes), ("model", model.set_params(columns=codes.columns))])
    if candidate.encoding == "mixed":
        mixed = CodeColumns(kinds, max_levels=_MOST_LEVELS, seasons=seasons)
        model.set_params(columns=mixed.asked_columns)
        return Pipeline([("columns", mixed), ("model", model)])
    if candidate.encoding == "nothing":
        return Pipeline([("columns", NoColumns()), ("model", model)])
    if offers(basis, TellsBends) and "own_scale" in model.get_params():
        curved = sum(kind in CURVED for kind in kinds.values())
        model.set_params(own_scale=list(basis.bent(curved)))
    groups = sum(kind == "category" for kind in kinds.values())
    if candidate.encoding == "groups" and groups:
        model.set_params(groups=list(range(-groups, 0)))
        outputs = max(classes - 1, 1)
        grouped = NumberColumns(kinds, basis=basis, grouped=True, outputs=outputs, seasons=seasons)
        return Pipeline([("columns", grouped), ("model", model)])
    bends = candidate.encoding == "numbers" and basis is None
    waves: dict[str, Any] = {"seasons": seasons, "most_waves": 1 if bends else _MOST_WAVES}
    columns = NumberColumns(kinds, basis=basis, **waves)
    return Pipeline([("columns", columns), ("model", model)])


def fit_target(problem: Problem, candidate: Candidate, fold: int | None) -> Any:
    """Return what a candidate says of the targets of a fold, or, for no fold, the pipeline of all rows."""
    classes = 0 if problem.classes is None else len(problem.classes)
    pipeline = make_pipeline(candidate, problem.kinds, classes, problem.seasons)
    if problem.past is not None:
        return fit_in_time(pipeline, problem, fold)
    if fold is None:
        return fit_in_parts(pipeline, problem.X, problem.y)
    return predict_fold(
        pipeline, problem.X, problem.y, problem.splits[fold], problem.classes, problem.loss
    )


def conclude(
    goal: Target,
    columns: list[Column],
    reached: Reached,
    seed: int,
    *,
    thorough: bool = False,
    keep: str = AVERAGE,
) -> Analysis:
    """Rank the candidates by how well they predict unseen rows, and say what to keep in mind."""
    problem = reached.problem
    told = reached.drawn if problem.past is None else problem.past.judged
    goal = goal if told is None else goal.some(told)
    kind = ModelAverage if problem.classes is None else ClassifierAverage
    ended = told_end(reached.ended)
    outcomes, ranking = rank_outcomes(reached, goal.task, kind)
    metrics = {
        name: metrics_of(o.unseen, problem.y, problem.classes, problem.loss, goal.stakes.positive)
        for name, o in outcomes.items()
        if o.unseen is not None
    }
    decided = _decisions(goal, problem, outcomes)
    metrics = {name: {**errors, **_told(decided.get(name))} for name, errors in metrics.items()}
    rows = [replace(row, errors=metrics.get(row.name, {})) for row in ranking.rows]
    notes = [*notes_on_columns(goal, columns), *notes_on_seasons(problem)]
    revealing, dated = revealing_columns(problem), regular_date(problem)
    notes += cautions(problem, goal.column.name, revealing, dated)
    if keep and keep != AVERAGE and outcomes[keep].model is None:
        why = outcomes[keep].failure
        notes.append(
            f"“{outcomes[keep].candidate.words}” was not fitted ({why}): another model is kept"
        )
    return Analysis(
        goal,
        columns,
        problem,
        outcomes,
        Comparison(rows),
        metrics,
        (*notes, *reached.notes, *ended),
        seed,
        tuple(revealing),
        dated,
        thorough,
        decided,
        _OF_CLASS[goal.stakes.costs is None :] if decided else (),
        keep,
    )


def _decisions(
    goal: Target, problem: Problem, outcomes: Mapping[str, Outcome]
) -> dict[str, Decided]:
    """Return what candidates say of unseen rows, where a class is to be found."""
    if goal.stakes.positive is None:
        return {}
    codes = np.searchsorted(problem.classes, problem.y)
    held = {name: o.unseen.prediction for name, o in outcomes.items() if o.unseen is not None}
    return {n: decide_unseen(p, codes, problem.splits, goal.stakes) for n, p in held.items()}


def _told(decided: Decided | None) -> Metrics:
    """Return what comes of decisions, on average."""
    if decided is None:
        return {}
    found = {"recall": decided.recall, "precision": decided.precision}
    return {"cost": float(decided.spent.mean()), **found} if decided.told else found
