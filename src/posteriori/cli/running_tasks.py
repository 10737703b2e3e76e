"""A task at work: read the table, show what is under way, print the answer, and write what was asked for."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple

import pandas as pd
from rich.console import Console

from posteriori.analysis.saved.model_files import save_model
from posteriori.analysis.table.reading import read_table, reading_code
from posteriori.analysis.table.wording import counted
from posteriori.analysis.tasks.as_data import as_data
from posteriori.analysis.tasks.contract import TaskResult
from posteriori.analysis.tasks.listed import Task
from posteriori.analysis.tasks.sections import Grid, Printed, Words, fit_columns
from posteriori.analysis.warming.compiling_ahead import compiling_ahead
from posteriori.cli.output import PatientConsole, plain, print_indented, print_notes
from posteriori.cli.signatures import read_signature
from posteriori.cli.under_way import shown_progress
from posteriori.numerics.record_files import write_whole

__all__ = [
    "Places",
    "answer_task",
    "print_result",
    "print_table",
    "require_new_names",
    "run_task",
]


class Places(NamedTuple):
    """Where results go, how much is read, and how much is told."""

    html: Path | None = None
    save: Path | None = None
    out: Path | None = None
    max_rows: int | None = None
    json: bool = False
    verbose: bool = False


def run_task(task: Task, data: str, options: dict[str, Any], places: Places) -> None:
    """Read the table, and answer.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C was pressed: after what is done was printed, with nothing written.
    ValueError
        When there is no answer.
    """
    written = any((places.html, places.out, places.save))
    console = (PatientConsole if written else Console)(highlight=False, stderr=places.json)
    table = read_table(data, places.max_rows)
    loading = reading_code(data, places.max_rows)
    rows, columns = table.frame.shape
    size = f"{counted(rows, 'row')}, {counted(columns, 'column')}"
    console.print(plain(f"{data}: {size}"), markup=False)
    print_notes(console, table.notes)
    if places.out is not None:
        require_new_names(table.frame, task.labels)
    title = "standard input" if data == "-" else Path(data).name
    answer_task(console, task, table.frame, options, places, title=title, loading=loading)
    if not places.json:
        _say(console, _next_words(places))


def answer_task(
    console: Console,
    task: Task,
    frame: pd.DataFrame,
    options: dict[str, Any],
    places: Places,
    *,
    title: str,
    loading: str,
) -> None:
    """Answer for a table that was read, print, and write what was asked for."""
    for parameter in read_signature(task.function).parameters:
        if "Table" in parameter.kind and options.get(parameter.name) is not None:
            options = {**options, parameter.name: read_table(options[parameter.name]).frame}
    ahead: AbstractContextManager[None] = nullcontext()
    if task.ahead:
        ahead = compiling_ahead(partial(resolve_name(task.ahead), frame, **options))
    with ahead, shown_progress(console, task) as hears:
        found = resolve_name(task.function)(frame, **options, **hears)
    if places.json:
        json_format.dump(as_data(task.name, found), sys.stdout, indent=1, allow_nan=False)
        sys.stdout.write("\n")
    else:
        print_notes(console, found.notes)
        print_result(console, found, verbose=places.verbose)
    if found.interrupted:
        raise KeyboardInterrupt
    if found.failure:
        raise ValueError(found.failure)
    _write(console, task, frame, found, places, title, loading)


def print_result(console: Console, found: TaskResult, *, verbose: bool = False) -> None:
    """Print tables and remarks of a result, and its verdict; also its reasons if they are asked for."""
    parts = list(found.printed(details=verbose))
    verdict = found.verdict
    headed = False
    for part in parts:
        heading = isinstance(part, Words) and part.style == "bold"
        if heading or (isinstance(part, Grid) and not headed):
            console.print()
        headed = heading
        _print_part(console, part)
    console.print()
    console.print(plain(verdict), style="green", markup=False)
    console.print()
    if verbose and found.reasons:
        print_notes(console, found.reasons)
        console.print()


def _print_part(console: Console, part: Printed) -> None:
    if isinstance(part, Grid):
        hidden = print_table(console, part.header, part.rows, strong=part.strong)
        for text in part.remarks(hidden) if part.remarks else ():
            print_indented(console, text, "dim")
    elif part.style == "bold":
        console.print(plain(part.text), style="bold", markup=False)
    else:
        print_indented(console, part.text, part.style)


def _write(
    console: Console,
    task: Task,
    frame: pd.DataFrame,
    found: TaskResult,
    places: Places,
    title: str,
    loading: str,
) -> None:
    """Write the model, a table and the report, those that were asked for; the model first."""
    if places.save is not None:  # first: no figure of the report may cost the model
        save_model(found.model, places.save)
        _say(console, f"“{found.model_words}” saved to {places.save}")
    if places.out is not None:
        told, words = _table_of(task, frame, found)
        write_whole(places.out, told.to_csv(index=False).encode(errors="replace"))
        _say(console, f"{words} written to {places.out}")
    if places.html is not None:
        page = found.html(title, loading)
        write_whole(places.html, page.encode(errors="replace"))
        _say(console, f"Report written to {places.html}")


def _next_words(places: Places) -> str:
    """Say what to type next, from what was written and what was not."""
    model = places.save or "model.po"
    ask = f"posteriori predict {model} new.csv"
    parts = [
        f"open {places.html}" if places.html else "--html report.html writes the report",
        ask if places.save else f"--save {model} keeps the model for {ask}",
    ]
    return f"Next: {'; '.join(parts)}"


def _table_of(task: Task, frame: pd.DataFrame, found: Any) -> tuple[pd.DataFrame, str]:
    """Return what ``--out`` writes, and what that is: the rows with their labels, or a table of its own."""
    if task.labels:
        told = pd.concat([frame, found.model.predict(frame)], axis=1)
        return told, f"{counted(len(frame), 'row')} with their {task.written}"
    return found.frame, f"{counted(len(found.frame), 'step')} ahead"


def _say(console: Console, text: str) -> None:
    console.print(plain(text), markup=False, soft_wrap=True)


def require_new_names(frame: pd.DataFrame, names: Sequence[str]) -> None:
    """Refuse a table that has one of the columns already that ``--out`` would append."""
    taken = [name for name in names if name in frame.columns]
    if taken:
        raise ValueError(
            f"the table has a column {taken[0]!r} already, which --out would append: rename it"
        )


def print_table(
    console: Console,
    header: tuple[str, ...],
    rows: Sequence[tuple[str, ...]],
    *,
    strong: bool = False,
) -> list[str]:
    """Print a table; return the headings of columns that do not fit and are left out."""
    lines, hidden = fit_columns(header, rows, console.width)
    styles = ("dim", "bold" if strong else "", *[""] * len(rows))
    for line, style in zip(lines, styles, strict=False):
        console.print(plain(line), style=style, markup=False, soft_wrap=True)
    return hidden
