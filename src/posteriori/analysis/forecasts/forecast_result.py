"""What was forecast: of one series, with the ranking of all candidates, or of several."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.running import Outcome
from posteriori.analysis.forecasts.forecast_page import (
    make_forecast_page,
    make_forecasts_page,
)
from posteriori.analysis.forecasts.forecast_words import (
    forecast_rows,
    heading_words,
    series_rows,
    step_rows,
    verdict_of_forecast,
    verdict_of_forecasts,
)
from posteriori.analysis.forecasts.prepared_series import ForecastOptions, Prepared
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.ranking.ranked_result import RankedResult
from posteriori.analysis.saved.forecast_model import ForecastModel, keep_forecasts
from posteriori.analysis.table.dated_column import DatedTable
from posteriori.analysis.table.series_calendar import interval_columns
from posteriori.analysis.table.wording import counted
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.analysis.tasks.sections import CodeAgain, Grid, Name, Page, Printed, Words
from posteriori.selection.comparison import Comparison
from posteriori.selection.cross_validation import Metrics
from posteriori.sequence.series.structural_series import StructuralSeries

__all__ = ["EventEffect", "Forecast", "Forecasts"]

#: Series whose line is printed.
_MOST_SERIES = 24
_AGAIN = CodeAgain(
    "forecast",
    "f",
    "forecast",
    ("f.frame, f.dist  # the forecast", "f.ranking, f.components"),
)
#: Paths behind the effect of an event in sum.
_PATHS = 4000


@dataclass(frozen=True, repr=False, eq=False)
class Forecast(RankedResult):
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
        return _measure_event(self.fitted, self.dist, self.prepared, self.options)

    @cached_property
    def model(self) -> ForecastModel:
        """The model that is kept as one that takes tables, absorbs later values, and can be saved."""
        return keep_forecasts(self.dated, {self.prepared.name: self})

    @property
    def verdict(self) -> str:
        """Which model foresees best, by how much, whether it beats the walk, and what it says."""
        return verdict_of_forecast(self)

    def printed(self, *, details: bool = False) -> Iterator[Printed]:
        known = bool(self.prepared.problem.origins)
        yield Grid(
            *forecast_rows(self), remarks=lambda hidden: [heading_words(hidden)] if known else []
        )
        yield from self.remarks()
        if details and not self.failure:
            yield Grid(*step_rows(self))

    def page(self, title: str) -> Page:
        return make_forecast_page(self, title)

    def code(self, loading: str = "") -> str:
        dated, options = self.dated, self.options
        asked = {
            "time": dated.time.name,
            "value": dated.value.name,
            "horizon": options.horizon,
            "period": None if options.period == "auto" else options.period,
            "by": dated.by and dated.by.name,
            "inputs": [column.name for column in dated.inputs],
            "future": None if options.future is None else Name("future"),
            "holidays": options.holidays,
            "event": options.event,
            "models": list(options.models),
            "origins": options.origins,
            "mass": options.mass,
            "seed": options.seed,
        }
        return _AGAIN.code(asked, loading)

    def data(self) -> dict[str, Any]:
        return {**super().data(), "forecast": self.frame}


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
        return keep_forecasts(self.dated, self.series)

    @property
    def verdict(self) -> str:
        """How many series there are, and which models foresee them best."""
        return verdict_of_forecasts(self)

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


class EventEffect(NamedTuple):
    """The effect of what began with an event.

    Attributes
    ----------
    frame : DataFrame
        For each step the value that came, and the effect, value less forecast: median and ends of intervals.
    total : float
        Median of the effect in sum, over the steps that have a value.
    intervals : dict from mass to (low, high)
        Of the effect in sum.
    probability : float
        That the effect in sum is positive.
    """

    frame: pd.DataFrame
    total: float
    intervals: dict[float, tuple[float, float]]
    probability: float


def _measure_event(
    model: Any, dist: Any, prepared: Prepared, options: ForecastOptions
) -> EventEffect:
    """Return the effect of an event, from a model that has seen only what was before.

    Parameters
    ----------
    model : model of a series
    dist : distributions
        Its forecasts from the event on.
    prepared : Prepared
        With the values that came.
    options : ForecastOptions
    """
    actual = prepared.actual
    columns: dict[str, Any] = {"time": prepared.later.times, "value": actual}
    columns["effect"] = actual - np.asarray(dist.median)
    for m in options.mass:
        low, high = (np.asarray(dist.quantile(0.5 + side * m)) for side in (-0.5, 0.5))
        columns[f"effect_lower_{100 * m:g}"] = actual - high
        columns[f"effect_upper_{100 * m:g}"] = actual - low
    known = ~np.isnan(actual)
    paths = model.sample_paths(draws=_PATHS, rng=options.seed, **prepared.asked_steps)
    sums = actual[known].sum() - np.asarray(paths)[:, known].sum(axis=1)
    intervals = {
        m: tuple(np.quantile(sums, [0.5 - 0.5 * m, 0.5 + 0.5 * m]).tolist()) for m in options.mass
    }
    total = float(np.median(sums))
    return EventEffect(pd.DataFrame(columns), total, intervals, float(np.mean(sums > 0.0)))


def _plain_times(times: Any) -> Any:
    """Return numbers that are whole as whole numbers."""
    whole = times.dtype.kind == "f" and bool((times == times.round()).all())
    return times.astype("int64") if whole else times
