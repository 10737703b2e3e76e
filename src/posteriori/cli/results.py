"""What the commands that look for structure print and write: tables, labelled rows, models, reports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from rich.console import Console

from posteriori.analysis.report.ranking_tables import fit_columns
from posteriori.analysis.saved.model_files import save_model
from posteriori.analysis.table.reading import TableFile, read_table, reading_code
from posteriori.analysis.table.wording import counted
from posteriori.cli.output import plain, print_notes
from posteriori.numerics.record_files import write_whole

__all__ = ["print_table", "read_and_tell", "require_new_names", "write_found", "write_results"]


def read_and_tell(console: Console, data: str, max_rows: int | None) -> TableFile:
    """Read a table, and print its size and what was guessed of it."""
    table = read_table(data, max_rows)
    rows, columns = table.frame.shape
    size = f"{counted(rows, 'row')}, {counted(columns, 'column')}"
    console.print(plain(f"{data}: {size}"), markup=False)
    print_notes(console, table.notes)
    return table


def require_new_names(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Refuse a table that has one of the columns already that ``--out`` would append."""
    taken = [name for name in names if name in frame.columns]
    if taken:
        raise ValueError(
            f"the table has a column {taken[0]!r} already, which --out would append: rename it"
        )


def print_table(
    console: Console, header: tuple[str, ...], rows: list[tuple[str, ...]]
) -> list[str]:
    """Print a table; return the headings of columns that do not fit and are left out."""
    lines, hidden = fit_columns(header, rows, console.width)
    for line, style in zip(lines, ("dim", *[""] * len(rows)), strict=False):
        console.print(plain(line), style=style, markup=False, soft_wrap=True)
    return hidden


def write_results(
    console: Console, frame: pd.DataFrame, found: Any, choices: Any, labels: str
) -> None:
    """Write what was asked for; all of it is made before.

    Parameters
    ----------
    console : Console
    frame : DataFrame
        The table.
    found : Clustering or Segmentation
    choices : record
        With ``data``, ``max_rows``, ``html``, ``out`` and ``save``.
    labels : str
        What rows were given, in words.
    """
    text = ""
    if choices.out is not None:
        told = found.model.predict(frame)
        text = pd.concat([frame, told], axis=1).to_csv(index=False)
    written = f"{counted(len(frame), 'row')} with their {labels}"
    write_found(console, found, choices, text, written)


def write_found(console: Console, found: Any, choices: Any, text: str, written: str) -> None:
    """Write the model, a table as text and the report, those that were asked for.

    Parameters
    ----------
    console : Console
    found : Clustering, Segmentation, Forecast or Forecasts
    choices : record
        As of :func:`write_results`.
    text, written : str
        The table, and what it holds.
    """
    title = "standard input" if choices.data == "-" else Path(choices.data).name
    loading = reading_code(choices.data, choices.max_rows)
    page = "" if choices.html is None else found.html(title, loading)
    if choices.save is not None:
        save_model(found.model, choices.save)
        _say(console, f"“{found.model.name}” saved to {choices.save}")
    if choices.out is not None:
        write_whole(choices.out, text.encode(errors="replace"))
        _say(console, f"{written} written to {choices.out}")
    if choices.html is not None:
        write_whole(choices.html, page.encode(errors="replace"))
        _say(console, f"Report written to {choices.html}")


def _say(console: Console, text: str) -> None:
    console.print(plain(text), markup=False, soft_wrap=True)
