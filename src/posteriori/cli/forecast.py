"""The command ``forecast``: from a dated column to a verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console

from posteriori.analysis.forecasts.forecasting import Forecast
from posteriori.analysis.forecasts.forecasts_of_table import Forecasts, forecast
from posteriori.analysis.forecasts.shown.forecast_words import forecast_rows, heading_words
from posteriori.analysis.forecasts.shown.forecasts_words import series_rows
from posteriori.analysis.report.ranking_tables import failures_of, warnings_of
from posteriori.analysis.table.reading import read_table
from posteriori.analysis.table.wording import counted
from posteriori.cli.counted_progress import counted_progress
from posteriori.cli.output import PatientConsole, plain, print_indented, print_notes
from posteriori.cli.results import print_table, read_and_tell, write_found

__all__ = ["ForecastChoices", "run_forecast"]

#: Series whose line is printed.
_MOST_SERIES = 24


class ForecastChoices(NamedTuple):
    """What is read and written, and how long that may take."""

    data: str
    time: str
    value: str
    html: Path | None = None
    out: Path | None = None
    save: Path | None = None
    max_rows: int | None = None
    jobs: int | None = None
    time_limit: float | None = None


def run_forecast(choices: ForecastChoices, future: Path | None, options: dict[str, Any]) -> None:
    """Read, forecast, print, and write what was asked for.

    Parameters
    ----------
    choices : ForecastChoices
    future : Path, optional
        A table of later inputs.
    options : dict
        Further keywords of :func:`posteriori.forecast`.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C was pressed: after the ranking of what is done, with nothing written.
    ValueError
        When no model is left.
    """
    written = any((choices.html, choices.out, choices.save))
    console = (PatientConsole if written else Console)(highlight=False)
    table = read_and_tell(console, choices.data, choices.max_rows)
    if future is not None:
        options = {**options, "future": read_table(future).frame}
    found = _forecast_with_progress(console, table.frame, choices, options)
    print_notes(console, found.notes)
    (_print_forecasts if isinstance(found, Forecasts) else _print_forecast)(console, found)
    if found.interrupted:
        raise KeyboardInterrupt
    _require_some(found)
    text = "" if choices.out is None else found.frame.to_csv(index=False)
    count = 0 if choices.out is None else len(found.frame)
    write_found(console, found, choices, text, f"{counted(count, 'step')} ahead")


def _require_some(found: Any) -> None:
    """Refuse to go on where there is no forecast."""
    if isinstance(found, Forecasts):
        if not found.series:
            first = next(iter(found.failures.values()))
            raise ValueError(f"no series was forecast: {first}")
    elif found.ranking.rows[0].failure:
        raise ValueError(f"no model was fitted: {found.ranking.rows[0].failure}")


def _forecast_with_progress(
    console: Console, frame: pd.DataFrame, choices: ForecastChoices, options: dict[str, Any]
) -> Any:
    with counted_progress(console, "forecasting") as advance:
        return forecast(
            frame,
            time=choices.time,
            value=choices.value,
            jobs=choices.jobs,
            time_limit=choices.time_limit,
            on_outcome=lambda _, total, left: advance(total, left),
            **options,
        )


def _print_forecast(console: Console, found: Forecast) -> None:
    """Print the ranking, what failed, and the verdict."""
    console.print()
    hidden = print_table(console, *forecast_rows(found))
    if found.prepared.problem.origins:
        print_indented(console, heading_words(hidden), "dim")
    for text in failures_of(found):
        print_indented(console, text, "yellow")
    for text in warnings_of(found):
        print_indented(console, text, "dim")
    console.print()
    console.print(plain(found.verdict), style="green", markup=False)
    console.print()


def _print_forecasts(console: Console, found: Forecasts) -> None:
    """Print a line for each of the first series, and the verdict."""
    console.print()
    header, rows = series_rows(found)
    print_table(console, header, rows[:_MOST_SERIES])
    if len(rows) > _MOST_SERIES:
        print_indented(
            console, f"and {counted(len(rows) - _MOST_SERIES, 'more series', 'more series')}", "dim"
        )
    console.print()
    console.print(plain(found.verdict), style="green", markup=False)
    console.print()
