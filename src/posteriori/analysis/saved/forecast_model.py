"""Models of series that were learned from one table, and go on with the rows of others."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.preparation import NoColumns
from posteriori.analysis.saved.column_reader import (
    COMMON_FACTS,
    ColumnReader,
    common_facts,
)
from posteriori.analysis.table.columns import Column, numbers_in
from posteriori.analysis.table.dated_column import DatedTable, levels_of, read_moments
from posteriori.analysis.table.reading import to_pandas
from posteriori.analysis.table.series_calendar import (
    count_holidays,
    interval_columns,
    name_steps,
    time_words,
)
from posteriori.analysis.table.wording import counted
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_average import SeriesAverage
from posteriori.sequence.series.series_clock import SeriesClock

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecast_result import Forecast

__all__ = ["ForecastModel", "SavedSeries", "SeriesShelf", "keep_forecasts"]

#: Series that are described.
_MOST_SERIES = 24


class SavedSeries(NamedTuple):
    """A model of one series, and when its steps are.

    Attributes
    ----------
    model : StructuralSeries, AutoregressiveSeries, CountSeries or SeriesAverage
    kind : str
        Of the clock.
    origin : str or float
        Time of position 0.
    step : float
    dated : bool
    last : float
        Position of the last step that was learned from.
    inputs : tuple of str
        Names of the inputs, holidays included.
    """

    model: Any
    kind: str
    origin: str | float
    step: float
    dated: bool
    last: float
    inputs: tuple[str, ...]

    @property
    def clock(self) -> SeriesClock:
        """How its times count."""
        origin = pd.Timestamp(self.origin) if self.dated else self.origin
        return SeriesClock(self.kind, origin, self.step, self.dated)


class SeriesShelf:
    """Models of several series, by name."""

    def __init__(self, series: dict[str, SavedSeries]) -> None:
        self.series = series


@dataclass(frozen=True)
class ForecastModel(ColumnReader):
    """Models of series with the columns that they need.

    Attributes
    ----------
    name : str
    pipeline : Pipeline
        Its last step holds the series.
    columns : tuple of Column
        The time, and the inputs.
    value : Column
    by : Column or None
        Whose levels are series.
    holidays : str
        The country whose holidays are inputs; empty for none.
    facts : dict
        Rows, series, evidence, seed and version.
    """

    purpose: ClassVar[str] = "forecasts by"
    told: ClassVar[str] = "later values"
    command: ClassVar[str] = "forecast"
    own = ("value", "by", "holidays")
    fact_types = {
        **COMMON_FACTS,
        **dict.fromkeys(("kind", "prior"), (str,)),
        "series": (int,),
        "log_evidence": (float, type(None)),
    }

    name: str
    pipeline: Pipeline
    columns: tuple[Column, ...]
    value: Column
    by: Column | None = None
    holidays: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What it is and does, in a line."""
        count = counted(self.facts["series"], "series", "series")
        return f"{self.name}: forecasts {self.value.name!r} of {count}"

    def own_lines(self) -> list[str]:
        """Say when the series are, and what the first of them is forecast by."""
        lines = [f"series are told by {self.by.name!r}"] if self.by is not None else []
        lines += [f"holidays of {self.holidays}"] if self.holidays else []
        for name, one in list(self.series.items())[:_MOST_SERIES]:
            last = time_words(one.clock, one.clock.times(np.array([one.last]))[0])
            label = f"{name}: " if name else ""
            lines.append(f"{label}{name_steps(one.clock).steps} up to {last}")
        return lines

    def require_sound(self) -> None:
        super().require_sound()
        if not isinstance(self.holidays, str):
            raise ValueError("its holidays are of no country")
        if not isinstance(self.value, Column) or not isinstance(self.by, Column | None):
            raise ValueError("its series are of no column")
        self.require_last_step(
            lambda shelf: isinstance(shelf, SeriesShelf) and _are_series(shelf.series), "series"
        )

    @property
    def series(self) -> dict[str, SavedSeries]:
        """The models, by series."""
        return self.pipeline[-1].series

    def predict(self, table: Any, mass: float = 0.9) -> pd.DataFrame:
        """Absorb the values of a table in the order of their times, and predict those that are empty.

        Each is predicted from the values before it. Rows up to the last step that was learned from are left
        as they are.

        Parameters
        ----------
        table : DataFrame of pandas or polars, or a mapping of columns
        mass : float
            Probability of the predicted interval.

        Returns
        -------
        DataFrame
            ``median``, ``lower_90`` and ``upper_90``, missing for rows that have a value.
        """
        if not 0.0 < mass < 1.0:
            raise ValueError(f"mass must be between 0 and 1, got {mass!r}")
        told = pd.DataFrame(np.nan, to_pandas(table).index, self._labels(mass))
        self._follow(table, told, mass)
        return told

    def updated(self, table: Any) -> ForecastModel:
        """Return the model that has absorbed the values of a table as well, in the order of their times."""
        followed, rows = self._follow(table)
        if not rows:
            raise ValueError(
                f"the table has no value of {self.value.name!r} after the last step that was learned from"
            )
        return self.gone_on(SeriesShelf({**self.series, **followed}), rows)

    def _follow(
        self, table: Any, told: pd.DataFrame | None = None, mass: float = 0.9
    ) -> tuple[dict[str, SavedSeries], int]:
        """Go on with the rows of a table; return the series after them, and how many values were absorbed.

        Where predictions are to be told, ``told`` is filled with those of rows without a value.
        """
        frame = to_pandas(table)
        wanted = [*self.columns, *((self.by,) if self.by else ())]
        absent = [c.name for c in wanted if c.name not in frame.columns]
        if absent:
            raise ValueError(
                f"the table lacks {', '.join(map(repr, absent))}, which the model needs"
            )
        if not len(frame):
            raise ValueError("the table has no rows")
        values = np.full(len(frame), np.nan)
        if self.value.name in frame.columns and not frame[self.value.name].isna().all():
            values = numbers_in(self.value, frame[self.value.name])
        times = read_moments(frame, self.columns[0])
        levels, codes = levels_of(frame, self.by)
        followed, absorbed = {}, 0
        for k, level in enumerate(levels):
            rows = np.flatnonzero(codes == k)
            if level not in self.series:
                raise ValueError(
                    f"{self.by.name if self.by else ''!r} holds {level!r}, a series that was not learned"
                )
            one, count = self._go_on(
                self.series[level], frame.iloc[rows], times[rows], values[rows], told, rows, mass
            )
            followed[level], absorbed = one, absorbed + count
        return followed, absorbed

    def predict_inputs(self, inputs: pd.DataFrame, mass: float = 0.9) -> pd.DataFrame:
        """Return what the first series says of its next steps, as many as there are rows."""
        one = next(iter(self.series.values()))
        positions = one.last + np.arange(1.0, len(inputs) + 1)
        known = np.nan_to_num(self._inputs(one, inputs, positions)) if one.inputs else None
        dist = one.model.forecast(time=positions, inputs=known)
        return pd.DataFrame(interval_columns(dist, (mass,)), index=inputs.index)

    def notes_on(self, table: Any) -> list[str]:
        """Return nothing: series go on with what they have not seen."""
        del table
        return []

    def _labels(self, mass: float) -> list[str]:
        return ["median", f"lower_{100 * mass:g}", f"upper_{100 * mass:g}"]

    def _go_on(
        self,
        one: SavedSeries,
        frame: pd.DataFrame,
        times: Any,
        values: Array,
        told: pd.DataFrame | None,
        rows: Array,
        mass: float,
    ) -> tuple[SavedSeries, int]:
        """Absorb runs of values and predict runs without, in the order of time; fill in ``told``."""
        positions = one.clock.positions(times)
        order = np.argsort(positions, kind="stable")
        order = order[positions[order] > one.last + 1e-6]
        again = np.diff(positions[order]) < 1e-6
        if again.any():
            row = int(rows[order[int(np.argmax(again)) + 1]]) + 1
            raise ValueError(f"the time of row {row} stands in another row too; leave one out")
        model = deepcopy(one.model)
        empty, last = np.isnan(values[order]), one.last
        for run in np.split(order, np.flatnonzero(np.diff(empty)) + 1):
            if not len(run):
                continue
            known = self._inputs(one, frame.iloc[run], positions[run]) if one.inputs else None
            if not np.isnan(values[run[0]]):
                model.update(values[run], positions[run], known)
                last = float(positions[run[-1]])
            elif told is not None:
                dist = model.forecast(time=positions[run], inputs=known)
                columns = interval_columns(dist, (mass,))
                told.iloc[rows[run]] = np.column_stack(list(columns.values()))
        return one._replace(model=model, last=last), int((~empty).sum())

    def _inputs(self, one: SavedSeries, frame: pd.DataFrame, positions: Array) -> Array:
        """Return the inputs of rows, (N, K): columns of the table, and holidays."""
        own = {column.name: column for column in self.columns[1:]}
        days = count_holidays(one.clock, positions, self.holidays) if self.holidays else {}
        nothing = np.zeros(len(frame))
        return np.column_stack(
            [
                numbers_in(own[name], frame[name]) if name in own else days.get(name, nothing)
                for name in one.inputs
            ]
        )


def keep_forecasts(dated: DatedTable, series: Mapping[str, Forecast]) -> ForecastModel:
    """Return the models that make them of every series as one that can be saved."""
    if not series:
        raise ValueError("no series could be forecast: there is no model to keep")
    shelf = SeriesShelf({name: _kept(one) for name, one in series.items()})
    first = next(iter(series.values()))
    names = {one.words(one.kept) for one in series.values()}
    evidence = first.outcomes[first.kept].evidence if len(series) == 1 else None
    facts = {
        **common_facts(
            sum(len(one.prepared.problem.rows.y) for one in series.values()), first.options.seed
        ),
        "series": len(series),
        "log_evidence": None if evidence is None else float(evidence),
        "kind": "" if evidence is None else evidence.kind,
        "prior": first.outcomes[first.kept].candidate.prior if len(series) == 1 else "",
    }
    return ForecastModel(
        names.pop() if len(names) == 1 else "several models",
        Pipeline([("columns", NoColumns()), ("series", shelf)]),
        tuple(_usable(column) for column in (dated.time, *dated.inputs)),
        _usable(dated.value),
        dated.by,
        first.options.holidays or "",
        facts,
    )


def _kept(one: Forecast) -> SavedSeries:
    problem, clock = one.prepared.problem, one.prepared.problem.rows.clock
    origin = clock.origin.isoformat() if clock.dated else float(clock.origin)
    last = float(problem.rows.positions[-1])
    return SavedSeries(
        one.fitted, clock.kind, origin, float(clock.step), clock.dated, last, one.prepared.inputs
    )


def _usable(column: Column) -> Column:
    """Return a column as what it is read as: times that number the rows are numbers."""
    return column if column.used else replace(column, kind="number", note="")


def _are_series(series: Any) -> bool:
    return (
        isinstance(series, dict)
        and bool(series)
        and all(
            isinstance(name, str)
            and isinstance(one, SavedSeries)
            and isinstance(one.kind, str)
            and isinstance(one.origin, str if one.dated else float)
            and type(one.dated) is bool
            and all(type(x) is float for x in (one.step, one.last))
            and isinstance(one.inputs, tuple)
            and (not isinstance(one.model, SeriesAverage) or _is_factor(one.model.widening))
            for name, one in series.items()
        )
    )


def _is_factor(widening: Any) -> bool:
    return type(widening) is float and 1.0 <= widening < float("inf")
