"""The report of several forecasts: a table, and the figures of the first series."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posteriori.analysis.forecasts.forecast_page import fan_and_intervals
from posteriori.analysis.forecasts.forecasts_words import series_rows
from posteriori.analysis.table.wording import counted
from posteriori.analysis.tasks.sections import (
    Grid,
    Items,
    Page,
    Part,
    Section,
    Words,
)

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecasts_of_table import Forecasts

__all__ = ["make_forecasts_page"]

#: Series that are drawn.
_MOST_SERIES = 24


def make_forecasts_page(found: Forecasts, title: str) -> Page:
    """Return the report; the title is what the data are called."""
    first = list(found.series.items())[:_MOST_SERIES]
    drawn: list[Part] = []
    for name, one in first:
        drawn += [Words(name, "bold"), Words(one.verdict), *fan_and_intervals(one)]
    more = len(found.series) - len(first)
    if more > 0:
        drawn.append(Words(f"And {counted(more, 'more series', 'more series')}."))
    parts = [
        Section("All series", [Grid(*series_rows(found))]),
        Section("Series by series", drawn),
        Section("What was done", [Items(found.notes)]),
    ]
    lede = f"Forecasts of {counted(len(found.series), 'series', 'series')}."
    name = found.dated.value.name
    return Page(f"Forecasts of {name} in {title}", lede, parts, found.options.seed)
