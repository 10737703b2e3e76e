"""Forecasts of a table: of its one series, or of every level of a column."""

from __future__ import annotations

import time as clock
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from posteriori.analysis.fitting.running import DIED, INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.fitting.workers import Workers, beside, count_jobs, in_processes
from posteriori.analysis.forecasts.forecasting import Forecast, forecast_series
from posteriori.analysis.forecasts.forecasts_words import series_rows
from posteriori.analysis.forecasts.prepared_series import ForecastOptions, check_mass
from posteriori.analysis.saved.forecast_model import ForecastModel
from posteriori.analysis.saved.kept_forecasts import make_forecast_model
from posteriori.analysis.table.dated_column import DatedTable, read_dated_table
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.wording import counted
from posteriori.analysis.tasks.contract import Table, TaskResult
from posteriori.analysis.tasks.sections import Grid, Page, Printed, Words

__all__ = ["Forecasts", "forecast"]

#: Series whose line is printed.
_MOST_SERIES = 24
#: Steps of all series from which on they have processes of their own.
_WORTH_PROCESSES = 2000
#: Seconds between two looks at the time.
_LOOK = 0.1


@dataclass(frozen=True, repr=False, eq=False)
class Forecasts(TaskResult):
    """Forecasts of several series.

    Attributes
    ----------
    dated : DatedTable
    options : ForecastOptions
    series : dict of Forecast
        By name of the series.
    failures : dict of str
        Why there is none of others.
    interrupted : bool
        Whether Ctrl-C has ended it.
    """

    dated: DatedTable
    options: ForecastOptions
    series: dict[str, Forecast]
    failures: dict[str, str]
    interrupted: bool = False

    @property
    def best(self) -> dict[str, str]:
        """The candidate at the top, by series."""
        return {name: one.best for name, one in self.series.items()}

    @property
    def ranking(self) -> dict[str, Any]:
        """The ranking, by series."""
        return {name: one.ranking for name, one in self.series.items()}

    @property
    def dist(self) -> dict[str, Any]:
        """Distributions of the next steps, by series."""
        return {name: one.dist for name, one in self.series.items()}

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Times of the next steps of all series, medians, and ends of the intervals."""
        frames = [one.frame for one in self.series.values()]
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

    @property
    def components(self) -> dict[str, pd.DataFrame]:
        """Smoothed parts, by series."""
        return {name: one.components for name, one in self.series.items()}

    @property
    def notes(self) -> tuple[str, ...]:
        """What was guessed and done, what all series share first."""
        notes = [one.prepared.notes for one in self.series.values()]
        common = [n for n in notes[0] if all(n in other for other in notes)] if notes else []
        failed = [f"{name}: {why}" for name, why in self.failures.items()]
        return (*self.dated.notes, *common, *failed)

    @cached_property
    def model(self) -> ForecastModel:
        """The models that are kept as one that takes tables, absorbs later values, and can be saved."""
        return make_forecast_model(self.dated, self.series)

    @property
    def verdict(self) -> str:
        """How many series there are, and which models foresee them best."""
        if not self.series:
            return "No series could be forecast."
        counts = pd.Series(list(self.best.values())).value_counts()
        listed = ", ".join(f"“{name}” {count}" for name, count in list(counts.items())[:4])
        more = f" and {counted(len(counts) - 4, 'other')}" if len(counts) > 4 else ""
        failed = (
            f" {counted(len(self.failures), 'series', 'series')} failed." if self.failures else ""
        )
        count = counted(len(self.series), "series", "series")
        return f"{count} forecast; at the top are {listed}{more}.{failed}"

    @property
    def failure(self) -> str:
        """Why no series was forecast; empty where one was."""
        why = next(iter(self.failures.values()), "")
        return "" if self.series else f"no series was forecast: {why}"

    def printed(self, *, details: bool = False) -> Iterator[Printed]:
        header, rows = series_rows(self)
        most = len(rows) if details else _MOST_SERIES
        yield Grid(header, rows[:most])
        if len(rows) > most:
            more = counted(len(rows) - most, "more series", "more series")
            yield Words(f"and {more}", "dim")

    def page(self, title: str) -> Page:
        from posteriori.analysis.forecasts.forecasts_page import make_forecasts_page

        return make_forecasts_page(self, title)

    def code(self, loading: str = "") -> str:
        return next((one.code(loading) for one in self.series.values()), "")

    def data(self) -> dict[str, Any]:
        series = {name: one.data() for name, one in self.series.items()}
        return {"series": series, "failures": self.failures}

    def __iter__(self) -> Iterator[str]:
        return iter(self.series)

    def __getitem__(self, name: str) -> Forecast:
        return self.series[name]

    def __len__(self) -> int:
        return len(self.series)


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
    """Forecast a dated column with the model that foresaw best what came, and say by how much.

    At each origin every candidate is fitted to its past alone and says how probable what came then is. The
    one with the highest sum of log densities makes the forecast; their average, weighted by what earlier
    origins ask for, is one of them.

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
        horizon, period, future, holidays, event, asked, origins, check_mass(mass), seed
    )
    if by is None:
        return forecast_series(
            dated, 0, options, jobs=count_jobs(jobs), time_limit=time_limit, on_outcome=on_outcome
        )
    return _forecast_all(dated, options, count_jobs(jobs), time_limit, on_outcome)


def _with_index(frame: pd.DataFrame, time: str) -> pd.DataFrame:
    """Return a table whose index is a column too, where it is called as times are."""
    return frame.reset_index() if frame.index.name == time else frame


def _forecast_all(
    dated: DatedTable,
    options: ForecastOptions,
    jobs: int,
    time_limit: float | None,
    on_outcome: Callable[[Any, int, float], None] | None,
) -> Forecasts:
    """Forecast every series, side by side; what is done when time is over, or at Ctrl-C, is kept."""
    start, names = clock.monotonic(), [one.name for one in dated.series]
    found: dict[str, Forecast | str] = {}
    ended = ""

    def keep(name: str, result: Forecast | str) -> None:
        found[name] = result if isinstance(result, str) else replace(result, dated=dated)
        if on_outcome is not None:
            left = (clock.monotonic() - start) * (len(names) - len(found)) / len(found)
            on_outcome(name, len(names), left)

    work = sum(len(one.rows.y) for one in dated.series) * (1 + options.origins)
    apart = jobs > 1 and work >= _WORTH_PROCESSES
    deadline = float("inf") if time_limit is None else start + time_limit
    try:
        with in_processes(dated, jobs) if apart else beside(dated, 1) as workers:
            in_time = _gather(workers, names, options, jobs + 1, deadline, keep)
            ended = "" if in_time else OUT_OF_TIME
    except KeyboardInterrupt:
        ended = INTERRUPTED
    told = {name: found.get(name, ended) for name in names}
    series = {name: one for name, one in told.items() if not isinstance(one, str)}
    failures = {name: one for name, one in told.items() if isinstance(one, str)}
    return Forecasts(dated, options, series, failures, ended == INTERRUPTED)


def _gather(
    workers: Workers,
    names: list[str],
    options: ForecastOptions,
    at_once: int,
    deadline: float,
    keep: Callable[[str, Forecast | str], None],
) -> bool:
    """Keep each forecast once it is done; tell whether all were in time."""
    tasks = deque(enumerate(names))
    running: dict[Future[Any], str] = {}
    while tasks or running:
        if clock.monotonic() > deadline:
            return False
        while tasks and len(running) < at_once:
            place, name = tasks.popleft()
            running[workers.submit(_forecast_one, place, options)] = name
        alive = workers.alive()
        done = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED).done
        for future in done if alive else list(running):
            name, lost = running.pop(future), not future.done() or future.exception() is not None
            keep(name, DIED if lost else future.result())
    return True


def _forecast_one(dated: DatedTable, place: int, options: ForecastOptions) -> Forecast | str:
    """Return the forecast of one series without models that it does not need, or why there is none."""
    try:
        found = forecast_series(dated, place, options)
    except ValueError as error:
        return " ".join(str(error).split())
    if found.ranking.rows[0].failure:
        return found.ranking.rows[0].failure
    kept = {found.kept, found.best, found.components_of}
    slim = {n: o if n in kept else o._replace(model=None) for n, o in found.outcomes.items()}
    return replace(found, outcomes=slim, dated=dated._replace(series=()))
