"""Pages as HTML: the frame, and each part of a section. No network, no scripts; everything from the data is escaped."""

from __future__ import annotations

import platform
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template

import pandas as pd

from posteriori.analysis.report.figures import draw_spark
from posteriori.analysis.table.columns import Column
from posteriori.analysis.tasks.sections import (
    Beside,
    ColumnList,
    Figure,
    Figures,
    Grid,
    Items,
    Markup,
    Part,
    Section,
    Words,
)

__all__ = ["as_html", "fill_page", "framed", "render_page"]

#: Columns that are shown one by one; more are only counted.
_MOST_COLUMNS = 60


def render_page(
    heading: tuple[str, str],
    answer: Iterable[Part],
    sections: Iterable[Section],
    code: str,
    seed: int,
) -> str:
    """Return a page: the answer, its sections, the code that finds the same again, and with what it was made.

    Parameters
    ----------
    heading : (str, str)
        What the page is called, and what stands below that.
    answer : iterable of Part
    sections : iterable of Section
    code : str
    seed : int
    """
    again = Section("The same in Python", [Markup(f"<pre><code>{escape(code)}</code></pre>")])
    names = ("posteriori", "numpy", "scipy", "scikit-learn", "pandas")
    made_with = ", ".join(f"{name} {version(name)}" for name in names)
    footer = f"{made_with}; Python {platform.python_version()}; seed {seed}"
    return fill_page(*heading, answer, [*sections, again], footer)


def fill_page(
    title: str, lede: str, answer: Iterable[Part], sections: Iterable[Section], footer: str
) -> str:
    """Fill the frame of all pages; sections without content are left out."""
    told = [section for section in sections if section.content]
    template = (
        files("posteriori.analysis").joinpath("templates/report.html").read_text(encoding="utf-8")
    )
    return Template(template).substitute(
        title=escape(title),
        lede=escape(lede),
        answer=as_html(answer),
        links="".join(f'<a href="#{_anchor(s.heading)}">{escape(s.heading)}</a>' for s in told),
        sections="\n".join(map(_section, told)),
        footer=escape(footer),
    )


def framed(page: str) -> str:
    """Return a whole page as a frame of another one, such as a notebook."""
    held = escape(page, quote=True)
    return f'<iframe srcdoc="{held}" style="width:100%;height:40rem;border:0"></iframe>'


def _section(section: Section) -> str:
    """Return a section that links can lead to."""
    heading, content = section
    body = as_html(content)
    return f'<section id="{_anchor(heading)}">\n<h2>{escape(heading)}</h2>\n{body}\n</section>'


def _anchor(heading: str) -> str:
    return re.sub(r"[^a-z]+", "-", heading.lower()).strip("-")


def as_html(content: Iterable[Part]) -> str:
    """Return the parts of a section as HTML."""
    return "".join(map(_part, content))


def _part(part: Part) -> str:
    match part:
        case Words(text, "answer"):
            return f'<p class="verdict">{escape(text)}</p>'
        case Words(text, "bold"):
            return f"<h3>{escape(text)}</h3>"
        case Words(text):
            return f"<p>{escape(text)}</p>"
        case Items(texts):
            listed = "".join(f"<li>{escape(text)}</li>" for text in texts)
            return f"<ul>{listed}</ul>" if texts else ""
        case Grid(header, rows, strong, remarks):
            below = as_html([Items(remarks(()))]) if remarks else ""
            return _table(header, rows, "ranking" if strong else "plain") + below
        case Figure(svg, caption):
            words = f"<figcaption>{escape(caption)}</figcaption>" if caption else ""
            return f'<figure><div class="wide">{svg}</div>{words}</figure>'
        case Figures(figures):
            return f'<div class="figures">{as_html(figures)}</div>'
        case Beside(left, right):
            return f'<div class="pair"><div>{as_html(left)}</div><div>{as_html(right)}</div></div>'
        case Section(heading, content):
            if not content:
                return ""
            return f"<details><summary>{escape(heading)}</summary>{as_html(content)}</details>"
        case ColumnList(columns, rows):
            return _column_list(columns, rows)
        case Markup(html):
            return html


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], name: str) -> str:
    """Return a table that scrolls beside the names of its rows."""
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in header)
    body = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table class="{name}"><thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _column_list(columns: Sequence[tuple[Column, pd.Series | None]], total: int) -> str:
    """Return columns, a row each; those beyond the first are counted where they are many."""
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
    spark = "" if series is None else draw_spark(column.name, series)
    missing = f"{100 * column.missing / max(total, 1):.1f}%" if column.missing else ""
    cells = (escape(column.kind), missing, f"{column.distinct:,}" if column.distinct else "", spark)
    kind = "" if column.used else ' class="unused"'
    return (
        f'<tr{kind}><th scope="row">{escape(column.name)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
    )
