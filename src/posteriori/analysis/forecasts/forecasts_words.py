"""Forecasts of several series as a table of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from posteriori.analysis.table.series_calendar import time_words
from posteriori.analysis.table.wording import fixed_number, short_number

if TYPE_CHECKING:
    from posteriori.analysis.forecasts.forecasts_of_table import Forecasts

__all__ = ["series_rows"]


def series_rows(found: Forecasts) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return a header, and for every series which model foresaw it best, and what is forecast, how well."""
    mass = f"{100 * found.options.mass[0]:g}"
    header: tuple[str, ...] = (
        "series",
        "values",
        "best model",
        "scaled",
        "in 80 %",
        "last",
        "next",
        f"{mass} %",
    )
    rows: list[tuple[str, ...]] = []
    for name, one in found.series.items():
        problem, frame, metrics = one.prepared.problem, one.frame, one.metrics.get(one.kept, {})
        known = problem.rows.y[problem.rows.y == problem.rows.y]
        clock, later = problem.rows.clock, one.prepared.later
        low, high = (short_number(frame[f"{end}_{mass}"].iloc[0]) for end in ("lower", "upper"))
        rows.append(
            (
                name,
                str(len(known)),
                one.words(one.best),
                fixed_number(metrics["scaled error"], 2) if metrics else "",
                f"{100 * metrics['inside 80 %']:.0f} %" if metrics else "",
                short_number(known[-1]),
                f"{short_number(frame['median'].iloc[0])} ({time_words(clock, later.times[0])})",
                f"{low} to {high}",
            )
        )
    rows += [(name, "", "failed", *("" for _ in range(5))) for name in found.failures]
    return header, rows
