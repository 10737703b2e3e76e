"""The report of several forecasts: a table, and the figures of the first series."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from posteriori.analysis.forecasts.forecast_page import fan_of, interval_table
from posteriori.analysis.forecasts.forecasts_words import series_rows
from posteriori.analysis.report.html_pieces import bullet_list, paragraph, section, table
from posteriori.analysis.table.wording import counted
from posteriori.analysis.tasks.contract import Page

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecasts_of_table import Forecasts

__all__ = ["make_forecasts_page"]

#: Series that are drawn.
_MOST_SERIES = 24


def make_forecasts_page(found: Forecasts, title: str) -> Page:
    """Return the report; the title is what the data are called."""
    first = list(found.series.items())[:_MOST_SERIES]
    drawn = "".join(
        f"<h3>{escape(name)}</h3>{paragraph(one.verdict)}{fan_of(one)}{interval_table(one)}"
        for name, one in first
    )
    more = len(found.series) - len(first)
    rest = paragraph(f"And {counted(more, 'more series', 'more series')}.") if more > 0 else ""
    parts = [
        section("All series", table(*series_rows(found))),
        section("Series by series", drawn + rest),
        section("What was done", bullet_list(found.notes)),
    ]
    lede = f"Forecasts of {counted(len(found.series), 'series', 'series')}."
    name = found.dated.value.name
    return Page(f"Forecasts of {name} in {title}", lede, parts, found.options.seed)
