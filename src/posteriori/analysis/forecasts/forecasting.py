"""From a dated column to a forecast: which model foresees best, by how much, and what it says."""

from __future__ import annotations

import time as clock
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.running import (
    DIED,
    UNREACHED,
    Outcome,
    run_calls,
    run_candidates,
)
from posteriori.analysis.forecasts.forecast_result import Forecast, Forecasts
from posteriori.analysis.forecasts.prepared_series import (
    ForecastOptions,
    check_mass,
    check_origins,
    prepare_series,
)
from posteriori.analysis.ranking.ranked_outcomes import (
    AVERAGE,
    all_outcomes,
    order_outcomes,
    outcome_of_average,
    told_end,
)
from posteriori.analysis.table.dated_column import DatedTable, read_dated_table
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.wording import counted, listed
from posteriori.analysis.tasks.contract import Table
from posteriori.selection.candidates import Candidate
from posteriori.selection.comparison import Comparison
from posteriori.selection.cross_validation import Metrics
from posteriori.selection.origins.origin_averages import average_scores
from posteriori.selection.origins.origin_fits import (
    before_first_origin,
    is_asked,
    near_best,
    score_from_origin,
    suited_series,
)
from posteriori.selection.origins.origin_scores import ForecastProblem, join_origins, measure_scores
from posteriori.sequence.series.series_average import SeriesAverage

__all__ = ["forecast"]

#: Steps of a series, times its origins, from which on fits have processes of their own; and steps of all series.
_WORTH_PROCESSES, _WORTH_FOR_ALL = 3000, 2000


def forecast(
    table: Table,
    *,
    time: str,
    value: str,
    horizon: int | None = None,
    period: Any = "auto",
    by: str | None = None,
    inputs: Sequence[str] = (),
    future: Table | None = None,
    holidays: str | None = None,
    event: Any = None,
    models: Sequence[str] = (),
    origins: int = 5,
    mass: float | Sequence[float] = (0.8, 0.95),
    jobs: int | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    day_first: bool | None = None,
    on_outcome: Callable[[Any, int, float], None] | None = None,
) -> Any:
    """Forecast a dated column by models that foresaw what came, and say how much nearer they were than repeating values.

    At each origin every candidate is fitted to its past alone and says how probable what came then is. Their
    average makes the forecast, weighted by what they foresaw. Its intervals are widened where they did not hold.

    Parameters
    ----------
    table : DataFrame of pandas or polars, or a mapping of columns
    time : str
        The column of dates or numbers. Steps that are left out are gaps.
    value : str
        The column to forecast.
    horizon : int, optional
        How many steps to forecast; a period by default, or 6.
    period : "auto", "none", float or sequence of float
        Of seasons, in steps, such as 7,365.25; "auto" takes those of the calendar.
    by : str, optional
        Column whose levels are series of their own.
    inputs : sequence of str
        Columns of known numbers whose weights are learned.
    future : table, optional
        Table with times and inputs of the steps that are forecast.
    holidays : str, optional
        A country whose holidays have effects, by its ISO code; needs the package ``holidays``.
    event : date or number, optional
        Only what was before is learned from, and the forecast tells what would have been after it.
    models : sequence of str
        Names of candidates; all that suit by default.
    origins : int
        From how many points in the past to forecast; 0 ranks by evidence.
    mass : float or sequence of float
        Probabilities of the intervals.
    jobs : int, optional
        Fits at a time; as many as there are processors, but at most 8, by default.
    time_limit : float, optional
        Seconds after which no result is waited for.
    seed : int
        Of random draws.
    day_first : bool, optional
        Whether dates such as 01/02/2020 have the day first; by default what is equal steps apart, or else as
        such signs are mostly used, and notes say so.
    on_outcome : callable, optional
        Called as ``on_outcome(outcome, total, seconds_left)`` after every candidate, or every series.

    Returns
    -------
    Forecast
        Or, with ``by``, Forecasts.

    Raises
    ------
    ValueError
        When the table cannot be forecast: which column or row, and what to do.

    Examples
    --------
    >>> from posteriori.datasets import load_nile
    >>> f = forecast(
    ...     load_nile().frame, time="year", value="flow", horizon=3, models=["walk", "level"]
    ... )
    >>> f.best, f.frame["median"].round(-1).tolist()
    ('level', [800.0, 800.0, 800.0])
    """
    frame = _with_index(to_pandas(table), time)
    names = (inputs,) if isinstance(inputs, str) else tuple(inputs)
    asked = (models,) if isinstance(models, str) else tuple(models)
    dated = read_dated_table(frame, time, value, by, names, day_first)
    options = ForecastOptions(
        horizon,
        period,
        future,
        holidays,
        event,
        asked,
        check_origins(origins),
        check_mass(mass),
        seed,
    )
    if by is None:
        return _forecast_series(
            dated, 0, options, jobs=jobs, time_limit=time_limit, on_outcome=on_outcome
        )
    return _forecast_all(dated, options, jobs, time_limit, on_outcome)


def _with_index(frame: pd.DataFrame, time: str) -> pd.DataFrame:
    """Return a table whose index is a column too, where it is called as times are."""
    return frame.reset_index() if frame.index.name == time else frame


def _forecast_all(
    dated: DatedTable,
    options: ForecastOptions,
    jobs: int | None,
    time_limit: float | None,
    on_outcome: Callable[[Any, int, float], None] | None,
) -> Forecasts:
    """Forecast every series, side by side; what is done when time is over, or at Ctrl-C, is kept."""
    start, names = clock.monotonic(), [one.name for one in dated.series]
    found: dict[str, Forecast | str] = {}

    def keep(name: str, result: Forecast | str | None) -> None:
        found[name] = (
            replace(result, dated=dated) if isinstance(result, Forecast) else result or DIED
        )
        if on_outcome is not None:
            left = (clock.monotonic() - start) * (len(names) - len(found)) / len(found)
            on_outcome(name, len(names), left)

    work = sum(len(one.rows.y) for one in dated.series) * (1 + options.origins)
    calls = deque((name, (_forecast_one, k, options)) for k, name in enumerate(names))
    ended = run_calls(
        dated, calls, keep, apart=work >= _WORTH_FOR_ALL, jobs=jobs, time_limit=time_limit
    )
    told = {name: found.get(name, UNREACHED.get(ended, "")) for name in names}
    series = {name: one for name, one in told.items() if not isinstance(one, str)}
    failures = {name: one for name, one in told.items() if isinstance(one, str)} | dated.unread
    return Forecasts(dated, options, series, failures, ended == "interrupted")


def _forecast_one(dated: DatedTable, place: int, options: ForecastOptions) -> Forecast | str:
    """Return the forecast of one series without models that it does not need, or why there is none."""
    try:
        found = _forecast_series(dated, place, options)
    except ValueError as error:
        return " ".join(str(error).split())
    if found.ranking.rows[0].failure:
        return found.ranking.rows[0].failure
    kept = {found.kept, found.best, found.components_of}
    slim = {n: o if n in kept else o._replace(model=None) for n, o in found.outcomes.items()}
    return replace(found, outcomes=slim, dated=dated._replace(series=()))


# -- one series ------------------------------------------------------------------------------


def _forecast_series(
    dated: DatedTable,
    place: int,
    options: ForecastOptions,
    *,
    jobs: int | None = 1,
    time_limit: float | None = None,
    on_outcome: Callable[[Outcome, int, float], None] | None = None,
) -> Forecast:
    """Return the forecast of one series of a table.

    Parameters
    ----------
    dated : DatedTable
    place : int
        Which series.
    options : ForecastOptions
    jobs, time_limit, on_outcome
        As of :func:`posteriori.forecast`.
    """
    prepared = prepare_series(dated.series[place], dated, options)
    outcomes, ended, told = _run_series(
        prepared.problem, options.models, jobs, time_limit, on_outcome
    )
    found = _rank_series(outcomes, prepared.problem, options)
    notes = (*dated.notes, *prepared.notes, *told, *told_end(ended))
    return Forecast(
        dated, prepared, options, *found, notes=notes, interrupted=ended == "interrupted"
    )


def _run_series(
    problem: ForecastProblem,
    names: Sequence[str],
    jobs: int | None,
    time_limit: float | None,
    on_outcome: Callable[[Outcome, int, float], None] | None,
) -> tuple[dict[str, Outcome], str, list[str]]:
    """Return what became of the candidates, why some were not waited for, and a note on those
    that went no further, or were not asked for.

    All are fitted to what is known at the first origin, in half of the time at most, and those that are not far
    behind, or were asked for, or were not reached, go on.
    """
    start, candidates = clock.monotonic(), suited_series(problem, names)
    work = len(problem.rows.y) * len(problem.origins)
    run = partial(
        run_candidates,
        fit=score_from_origin,
        join=join_origins,
        apart=work >= _WORTH_PROCESSES,
        jobs=jobs,
    )
    if names or not problem.origins:
        reached, ended = run(candidates, problem, time_limit=time_limit, on_outcome=on_outcome)
        beside = [c.name for c in candidates if not is_asked(c, names)]
        return all_outcomes(candidates, reached, ended), ended, _told_beside(beside)
    half = None if time_limit is None else time_limit / 2.0
    first, ended = run(candidates, before_first_origin(problem), time_limit=half)
    if ended == "interrupted":
        return all_outcomes(candidates, [], ended), ended, []
    begun = {o.name: o.model[-1] for o in first if o.model is not None}
    kept = near_best(candidates, problem, begun)
    left = None if time_limit is None else start + time_limit - clock.monotonic()
    problem = problem._replace(begun=begun)
    reached, ended = run(kept, problem, time_limit=left, on_outcome=on_outcome)
    return all_outcomes(kept, reached, ended), ended, _told_left_out(candidates, kept)


def _told_left_out(candidates: Sequence[Candidate], kept: Sequence[Candidate]) -> list[str]:
    """Say which candidates were far behind at the first origin."""
    names = [c.name for c in candidates if c not in kept]
    if not names:
        return []
    count = counted(len(names), "model")
    return [
        f"{count} of {len(candidates)} left out, far behind at the first origin: {', '.join(names)}"
    ]


def _told_beside(names: Sequence[str]) -> list[str]:
    """Say which models are ranked although they were not asked for."""
    if not names:
        return []
    each, made = ("repeats", "it") if len(names) == 1 else ("repeat", "them")
    return [f"{listed(names)}, which {each} values, ranked beside; no forecast is made of {made}"]


def _rank_series(
    outcomes: dict[str, Outcome], problem: ForecastProblem, options: ForecastOptions
) -> tuple[dict[str, Outcome], Comparison, dict[str, Metrics]]:
    """Return all candidates and their average, best first, their ranking, and errors of what they foretold."""
    weights = _add_average(outcomes, problem, options)
    unseen = {name: o.unseen for name, o in outcomes.items() if o.unseen is not None}
    held = {name: problem.sum_by_origin(one.log_density) for name, one in unseen.items()}
    if len(problem.origins) == 1:  # then values stand for themselves
        held = {name: one.log_density for name, one in unseen.items()}
    metrics = {name: measure_scores(one, problem) for name, one in unseen.items()}
    method = f"{len(problem.origins)} origins" if problem.origins else ""
    return *order_outcomes(outcomes, weights, held, method), metrics


def _add_average(
    outcomes: dict[str, Outcome], problem: ForecastProblem, options: ForecastOptions
) -> dict[str, float]:
    """Add the average of all candidates that were asked for and have said something, and return its weights."""
    asked = {name: o for name, o in outcomes.items() if is_asked(o.candidate, options.models)}
    members = {name: o for name, o in asked.items() if o.unseen is not None}
    if len(members) < 2:
        return {}
    scores, shares = average_scores(
        [o.unseen for o in members.values()],
        [o.model[-1].log_predictive_ for o in members.values()],
        problem,
        np.random.default_rng(options.seed),
        np.array([o.candidate.log_odds for o in members.values()]),
    )
    weights = dict(zip(members, shares.tolist(), strict=True))
    kept = {name: share for name, share in weights.items() if share > 0.0}
    model = SeriesAverage({name: members[name].model[-1] for name in kept}, kept)
    made = Pipeline([("model", model)])
    outcomes[AVERAGE] = outcome_of_average("series", SeriesAverage, made, scores, members.values())
    return weights
