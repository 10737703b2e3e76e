"""What commands read and print: tables, and what was guessed of them."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from rich.console import Console

from posteriori.analysis.report.ranking_tables import fit_columns
from posteriori.analysis.table.reading import TableFile, read_table
from posteriori.analysis.table.wording import counted
from posteriori.cli.output import plain, print_notes

__all__ = ["print_table", "read_and_tell", "require_new_names"]


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
