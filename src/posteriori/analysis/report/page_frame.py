"""What all reports have in common: the page around the sections, the columns at a glance, the versions."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

import pandas as pd

from posteriori.analysis.report import figures
from posteriori.analysis.report.html_pieces import links
from posteriori.analysis.table.columns import Column

__all__ = ["column_table", "fill_page", "versions"]

#: Columns that are shown one by one; more are only counted.
_MOST_COLUMNS = 60


def fill_page(title: str, lede: str, verdict: str, sections: Sequence[str], footer: str) -> str:
    """Return a page; sections are HTML, all else is text. Sections that are empty are left out."""
    parts = [part for part in sections if part]
    template = (
        files("posteriori.analysis").joinpath("templates/report.html").read_text(encoding="utf-8")
    )
    return Template(template).substitute(
        title=escape(title),
        lede=escape(lede),
        verdict=escape(verdict),
        links=links(parts),
        sections="\n".join(parts),
        footer=escape(footer),
    )


def column_table(columns: Sequence[tuple[Column, pd.Series | None]], total: int) -> str:
    """Return what columns of so many rows hold; those with values are drawn.

    Columns beyond the first are counted, not shown, where they are many.
    """
    shown = columns[: _MOST_COLUMNS + 1]
    body = "".join(_column_row(column, series, total) for column, series in shown)
    more = len(columns) - len(shown)
    rest = f"<p>And {more} more columns.</p>" if more > 0 else ""
    head = "<tr><th>column</th><th>kind</th><th>missing</th><th>different</th><th></th></tr>"
    return (
        f'<div class="wide"><table class="columns"><thead>{head}</thead>'
        f"<tbody>{body}</tbody></table></div>{rest}"
    )


def _column_row(column: Column, series: pd.Series | None, total: int) -> str:
    spark = "" if series is None else figures.draw_spark(column.name, series)
    missing = f"{100 * column.missing / max(total, 1):.1f}%" if column.missing else ""
    cells = (escape(column.kind), missing, f"{column.distinct:,}" if column.distinct else "", spark)
    kind = "" if column.used else ' class="unused"'
    return (
        f'<tr{kind}><th scope="row">{escape(column.name)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
    )


def versions(seed: int) -> str:
    """Say with what, and with which seed, a report was made."""
    names = ("posteriori", "numpy", "scipy", "scikit-learn", "pandas")
    return (
        ", ".join(f"{name} {version(name)}" for name in names)
        + f"; Python {platform.python_version()}; seed {seed}"
    )
