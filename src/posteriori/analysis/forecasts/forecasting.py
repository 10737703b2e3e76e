"""From a dated column to a forecast: which model foresees best, by how much, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from posteriori.analysis.fitting.averaged import AVERAGE
from posteriori.analysis.fitting.ranked_outcomes import told_end
from posteriori.analysis.fitting.running import Outcome, run_candidates
from posteriori.analysis.forecasts.event_effect import EventEffect, measure_event
from posteriori.analysis.forecasts.forecast_words import (
    forecast_rows,
    heading_words,
    step_rows,
    verdict_of_forecast,
)
from posteriori.analysis.forecasts.interval_columns import interval_columns
from posteriori.analysis.forecasts.prepared_series import (
    ForecastOptions,
    Prepared,
    prepare_series,
)
from posteriori.analysis.forecasts.ranked_series import rank_series
from posteriori.analysis.report.ranking_tables import aligned, remark_parts
from posteriori.analysis.saved.forecast_model import ForecastModel
from posteriori.analysis.saved.kept_forecasts import make_forecast_model
from posteriori.analysis.table.dated_column import DatedTable
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.analysis.tasks.sections import Grid, Page, Printed
from posteriori.selection.comparison import Comparison
from posteriori.selection.cross_validation import Metrics
from posteriori.selection.origins.forecast_problem import suited_series
from posteriori.selection.origins.origin_scores import join_origins, score_from_origin
from posteriori.sequence.series.structural_series import StructuralSeries

__all__ = ["Forecast", "forecast_series"]

#: Steps of a series, times its origins, from which on fits have processes of their own.
_WORTH_PROCESSES = 3000


@dataclass(frozen=True, repr=False, eq=False)
class Forecast(TaskResult):
    """The forecast of a series, with the ranking of all candidates.

    Attributes
    ----------
    dated : DatedTable
        The columns of the table.
    prepared : Prepared
        Steps, periods, origins, and the steps that are forecast.
    options : ForecastOptions
    outcomes : dict of Outcome
        What became of each candidate, best first.
    ranking : Comparison
        By log density of what came after the origins, or by evidence where there are none.
    metrics : dict of Metrics
        CRPS, errors and coverage at the origins, by candidate.
    notes : tuple of str
        What was guessed and done.
    interrupted : bool
        Whether Ctrl-C has ended it.
    """

    dated: DatedTable
    prepared: Prepared
    options: ForecastOptions
    outcomes: dict[str, Outcome]
    ranking: Comparison
    metrics: dict[str, Metrics]
    notes: tuple[str, ...]
    interrupted: bool = False

    @property
    def best(self) -> str:
        """The candidate at the top: it foresaw best what came after the origins."""
        return self.ranking.best

    @property
    def kept(self) -> str:
        """The candidate that makes the forecast: the average if there is one, else the best.

        Who is first after a few origins is partly first by luck, and surer than it should be.
        """
        return AVERAGE if AVERAGE in self.outcomes else self.best

    @property
    def fitted(self) -> Any:
        """Its model, fitted to all steps."""
        return self.outcomes[self.kept].model[-1]

    def words(self, name: str) -> str:
        """Return what a candidate is called where it is shown."""
        return self.outcomes[name].candidate.words

    @cached_property
    def dist(self) -> Any:
        """Distributions of the next steps, a batch."""
        return self.fitted.forecast(**self.prepared.asked_steps)

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Times of the next steps, medians, and ends of the intervals."""
        columns: dict[str, Any] = {self.dated.time.name: _plain_times(self.prepared.later.times)}
        if self.dated.by is not None:
            columns[self.dated.by.name] = self.prepared.name
        return pd.DataFrame(columns | interval_columns(self.dist, self.options.mass))

    @property
    def components_of(self) -> str:
        """The best candidate that has parts; empty if none has."""
        found = (
            row.name
            for row in self.ranking.rows
            if (o := self.outcomes[row.name]).model is not None
            and isinstance(o.model[-1], StructuralSeries)
        )
        return next(found, "")

    @cached_property
    def components(self) -> pd.DataFrame:
        """Smoothed parts with ends of their 95 % intervals; those of ``components_of``."""
        if not self.components_of:
            return pd.DataFrame()
        rows = self.prepared.problem.rows
        found = self.outcomes[self.components_of].model[-1].components_
        return found.set_axis(rows.clock.times(rows.positions), axis=0)

    @cached_property
    def event(self) -> EventEffect | None:
        """What an event changed, if one was asked for."""
        if self.options.event is None:
            return None
        return measure_event(self.fitted, self.dist, self.prepared, self.options)

    @cached_property
    def model(self) -> ForecastModel:
        """The model that is kept as one that takes tables, absorbs later values, and can be saved."""
        return make_forecast_model(self.dated, {self.prepared.name: self})

    @property
    def verdict(self) -> str:
        """Which model foresees best, by how much, whether it beats the walk, and what it says."""
        return verdict_of_forecast(self)

    @property
    def failure(self) -> str:
        """Why no model was fitted; empty where one was."""
        why = self.ranking.rows[0].failure
        return f"no model was fitted: {why}" if why else ""

    def printed(self, *, details: bool = False) -> Iterator[Printed]:
        known = bool(self.prepared.problem.origins)
        yield Grid(
            *forecast_rows(self), remarks=lambda hidden: [heading_words(hidden)] if known else []
        )
        yield from remark_parts(self)
        if details and not self.failure:
            yield Grid(*step_rows(self))

    def page(self, title: str) -> Page:
        from posteriori.analysis.forecasts.forecast_page import make_forecast_page

        return make_forecast_page(self, title)

    def code(self, loading: str = "") -> str:
        from posteriori.analysis.forecasts.forecast_page import forecasting_code

        return forecasting_code(self, loading)

    def data(self) -> dict[str, Any]:
        rows = [
            {**asdict(row), "words": self.words(row.name), "errors": self.metrics.get(row.name, {})}
            for row in self.ranking.rows
        ]
        return {"kept": self.kept, "ranking": rows, "forecast": self.frame}

    def __repr__(self) -> str:
        header, rows = forecast_rows(self)
        return "\n".join([*aligned([header, *rows]), "", self.verdict])


def _plain_times(times: Any) -> Any:
    """Return numbers that are whole as whole numbers."""
    whole = times.dtype.kind == "f" and bool((times == times.round()).all())
    return times.astype("int64") if whole else times


def forecast_series(
    dated: DatedTable,
    place: int,
    options: ForecastOptions,
    *,
    jobs: int = 1,
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
    problem = prepared.problem
    candidates = suited_series(problem, options.models)
    work = len(problem.rows.y) * len(problem.origins)
    reached, ended = run_candidates(
        candidates,
        problem,
        fit=score_from_origin,
        join=join_origins,
        apart=work >= _WORTH_PROCESSES,
        jobs=jobs,
        time_limit=time_limit,
        on_outcome=on_outcome,
    )
    found = rank_series(candidates, reached, ended, problem, options.seed)
    notes = (*dated.notes, *prepared.notes, *told_end(ended))
    return Forecast(
        dated, prepared, options, *found, notes=notes, interrupted=ended == "interrupted"
    )
