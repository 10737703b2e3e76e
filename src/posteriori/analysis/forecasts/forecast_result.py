"""What was forecast: of one series, with the ranking of all candidates, or of several."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from posteriori.analysis.fitting.running import Outcome
from posteriori.analysis.forecasts.forecast_page import (
    draw_forecast,
    forecast_findings,
    forecasts_findings,
)
from posteriori.analysis.forecasts.forecast_words import (
    answer_of_forecast,
    answer_of_forecasts,
    known_values,
    reasons_of_forecast,
    reasons_of_forecasts,
)
from posteriori.analysis.forecasts.prepared_series import (
    EventEffect,
    ForecastOptions,
    Prepared,
    measure_event,
)
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.ranking.ranked_result import RankedResult
from posteriori.analysis.saved.forecast_model import ForecastModel, keep_forecasts
from posteriori.analysis.table.dated_column import DatedTable
from posteriori.analysis.table.series_calendar import interval_columns
from posteriori.analysis.table.wording import counted
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.analysis.tasks.sections import CodeAgain, Figure, Finding, Name
from posteriori.selection.comparison import Comparison
from posteriori.selection.cross_validation import Metrics
from posteriori.selection.origins.origin_fits import is_asked
from posteriori.sequence.series.series_average import SeriesAverage
from posteriori.sequence.series.structural_series import StructuralSeries

__all__ = ["EventEffect", "Forecast", "Forecasts"]

_AGAIN = CodeAgain(
    "forecast",
    "f",
    "forecast",
    ("f.frame, f.dist  # the forecast", "f.ranking, f.components"),
)


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
        CRPS, errors, coverage at the origins, and by how much it asks to widen intervals, by candidate.
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
        return next(iter(self.outcomes))

    @property
    def kept(self) -> str:
        """The candidate that makes the forecast: the average if there is one, else the best that was asked for.

        Who is first after a few origins is partly first by luck, and surer than it should be.
        """
        if AVERAGE in self.outcomes:
            return AVERAGE
        return next(
            (n for n, o in self.outcomes.items() if self.asks(o) and not o.failure), self.best
        )

    def asks(self, outcome: Outcome) -> bool:
        """Tell whether a model was asked for, as all are where none is named, or is ranked beside these."""
        return is_asked(outcome.candidate, self.options.models)

    @property
    def seed(self) -> int:
        """Of random draws."""
        return self.options.seed

    @property
    def widening(self) -> float:
        """By how much intervals are widened, as those of the model did not hold at the origins; 1 where they did."""
        return self.metrics.get(self.kept, {}).get("widening", 1.0)

    @cached_property
    def fitted(self) -> Any:
        """The model that makes the forecast, fitted to all steps, its intervals widened if need be."""
        model = self.outcomes[self.kept].model[-1]
        if self.widening == 1.0:
            return model
        alone = {self.kept: model}, {self.kept: 1.0}
        members = (model.models, model.weights) if isinstance(model, SeriesAverage) else alone
        return SeriesAverage(*members, self.widening)

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
        """The candidate with parts that has the largest share in the average, or is the best; empty if none has any."""
        found = [
            row
            for row in self.ranking.rows
            if (o := self.outcomes[row.name]).model is not None
            and self.asks(o)
            and isinstance(o.model[-1], StructuralSeries)
        ]
        return max(found, key=lambda row: np.nan_to_num(row.weight)).name if found else ""

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
        return keep_forecasts(self.dated, {self.prepared.name: self})

    @property
    def verdict(self) -> str:
        """What the series will do, how much nearer that was than repeating values, and what to beware of."""
        return self._answer

    @cached_property
    def _answer(self) -> str:
        return answer_of_forecast(self)

    @property
    def reasons(self) -> Sequence[str]:
        return reasons_of_forecast(self)

    @property
    def picture(self) -> Figure | None:
        return None if self.failure else draw_forecast(self)

    def heading(self, data: str) -> tuple[str, str]:
        problem, calendar = self.prepared.problem, self.prepared.calendar
        ahead = counted(problem.horizon, calendar.step, calendar.steps)
        models = counted(len(self.outcomes), "model")
        by = f"at {counted(len(problem.origins), 'origin')}" if problem.origins else "by evidence"
        values = counted(len(known_values(self)), "value")
        lede = f"{ahead} ahead from {values}; {models} compared {by}."
        return f"Forecast of {self.dated.value.name} in {data}", lede

    def findings(self) -> Iterator[Finding]:
        return forecast_findings(self)

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
        return {**super().data(), "forecast": self.frame, "widening": self.widening}


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
    def seed(self) -> int:
        """Of random draws."""
        return self.options.seed

    @cached_property
    def by_change(self) -> list[tuple[str, Forecast]]:
        """The series, the largest fall first, beside their mean size."""

        def change(one: Forecast) -> float:
            size = float(np.abs(known_values(one)).mean()) or 1.0
            return float(one.frame["median"].iloc[-1] - known_values(one)[-1]) / size

        return sorted(self.series.items(), key=lambda pair: change(pair[1]))

    @property
    def verdict(self) -> str:
        """What each series will do, the largest fall first."""
        return answer_of_forecasts(self)

    @property
    def reasons(self) -> Sequence[str]:
        return reasons_of_forecasts(self)

    @property
    def picture(self) -> Figure | None:
        """The series that falls most."""
        if not self.series:
            return None
        name, one = self.by_change[0]
        return draw_forecast(one, f"“{name}”, the first of these")

    @property
    def failure(self) -> str:
        """Why no series was forecast; empty where one was."""
        why = next(iter(self.failures.values()), "")
        return "" if self.series else f"no series was forecast: {why}"

    def heading(self, data: str) -> tuple[str, str]:
        lede = f"Forecasts of {counted(len(self.series), 'series', 'series')}."
        return f"Forecasts of {self.dated.value.name} in {data}", lede

    def findings(self) -> Iterator[Finding]:
        return forecasts_findings(self)

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


def _plain_times(times: Any) -> Any:
    """Return numbers that are whole as whole numbers."""
    whole = times.dtype.kind == "f" and bool((times == times.round()).all())
    return times.astype("int64") if whole else times
