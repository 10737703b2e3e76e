"""What is kept of forecasts: the models that make them, with the clocks of their series."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.preparation import NoColumns
from posteriori.analysis.saved.column_reader import common_facts
from posteriori.analysis.saved.forecast_model import ForecastModel, SavedSeries, SeriesShelf
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.dated_column import DatedTable

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecasting import Forecast

__all__ = ["make_forecast_model"]


def make_forecast_model(dated: DatedTable, series: Mapping[str, Forecast]) -> ForecastModel:
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
