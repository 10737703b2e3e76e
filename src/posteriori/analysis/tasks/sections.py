"""What answers are made of: words, tables and figures in sections, as texts for terminals and as HTML for pages.

Pages need no network and no scripts; everything from the data is escaped.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from posteriori.analysis.table.columns import Column

__all__ = [
    "Beside",
    "CodeAgain",
    "ColumnList",
    "Content",
    "Figure",
    "Figures",
    "Finding",
    "Grid",
    "Items",
    "Markup",
    "Name",
    "Part",
    "Printed",
    "Section",
    "Words",
    "aligned",
    "as_html",
    "fill_page",
    "fit_columns",
    "framed",
    "render_page",
]

#: Columns that are shown one by one; more are only counted.
_MOST_COLUMNS = 60


#: Headings that are left out where the window is narrow, in this order.
_GO_FIRST = ("technical name", "seconds", "kind", "evidence", "prob.", "weight", "R²")


class Words(NamedTuple):
    """A line or a paragraph of text; how it is shown is one of "", "answer", "bold", "dim" and "yellow"."""

    text: str
    style: str = ""


class Grid(NamedTuple):
    """A table of texts, whose first row may be the answer.

    Attributes
    ----------
    header : tuple of str
    rows : sequence of tuple of str
        Their first texts are their names.
    strong : bool
        Whether the first row stands out.
    remarks : callable, optional
        Lines below it, from the headings of columns that did not fit; on a page all do.
    """

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    strong: bool = False
    remarks: Callable[[Sequence[str]], Sequence[str]] | None = None


class Items(NamedTuple):
    """A list of texts; nothing if there are none."""

    texts: Sequence[str]


class Figure(NamedTuple):
    """A drawing with its caption, as wide as the room that there is."""

    svg: str
    caption: str = ""


class Figures(NamedTuple):
    """Small figures side by side."""

    figures: Sequence[Figure]


class ColumnList(NamedTuple):
    """What columns of so many rows hold, with drawings of their values or nothing in their place."""

    columns: Sequence[tuple[Column, str]]
    rows: int


class Markup(NamedTuple):
    """HTML that no other part can say; texts in it are escaped already."""

    html: str


class Beside(NamedTuple):
    """Two contents side by side, where the page is wide enough."""

    left: Content
    right: Content


class Section(NamedTuple):
    """Parts of an answer under a heading; left out where there are none.

    Within the content of another section it is for those who want to know more, and opens when it is asked for.
    """

    heading: str
    content: Content


#: What terminals show.
Printed: TypeAlias = Words | Grid

#: What pages show.
Part: TypeAlias = "Words | Grid | Items | Figure | Figures | ColumnList | Markup | Beside | Section"
Content: TypeAlias = "Sequence[Part]"


class Finding(NamedTuple):
    """Something that was found, and where it is told.

    Attributes
    ----------
    heading : str
        Of the section on the page; findings that follow one another under one heading share it.
    content : callable
        Makes the parts, where they are told.
    place : {"page", "terminal", "both", "details"}
        Details are for statisticians: folded below what comes before them, printed when they are asked for.
    """

    heading: str
    content: Callable[[], Sequence[Part]]
    place: Literal["page", "terminal", "both", "details"] = "page"


def fit_columns(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], width: int
) -> tuple[list[str], list[str]]:
    """Return lines no wider than so many letters, and the headings that had to go.

    Columns go first that the verdict needs least.
    """
    table = [tuple(" ".join(cell.splitlines()) for cell in row) for row in (header, *rows)]
    widths = [max(len(row[k]) for row in table) + 2 for k in range(len(header))]
    kept = list(range(len(header)))
    others = [name for name in header[3:] if name not in _GO_FIRST][::-1]
    for heading in (*_GO_FIRST, *others, "score", "held out"):
        if heading in header and sum(widths[k] for k in kept) - 2 > width:
            kept.remove(header.index(heading))
    lines = aligned([tuple(row[k] for k in kept) for row in table])
    return lines, [name for k, name in enumerate(header) if k not in kept]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return lines of text: names to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


class Name(str):
    """What the code calls a value."""

    def __repr__(self) -> str:
        return str(self)


class CodeAgain(NamedTuple):
    """How an answer is found again.

    Attributes
    ----------
    task : str
        The function.
    name : str
        What the answer is called.
    done : str
        What became of the data.
    lines : sequence of str
        What may be asked of the answer.
    """

    task: str
    name: str
    done: str
    lines: Sequence[str]

    def code(self, options: Mapping[str, Any], loading: str = "") -> str:
        """Return the code; options that are None, empty or False are left out.

        Parameters
        ----------
        options : mapping
            By name, in the order of the call; what has no name stands alone.
        loading : str
            Code that makes ``table``; without it the code says what is needed.
        """
        given = {n: v for n, v in options.items() if v or (v == 0 and v is not False)}
        asked = [f"{n}={v!r}" if n else repr(v) for n, v in given.items()]
        told = [
            f"from posteriori import {self.task}",
            loading or f"# table: the data that were {self.done}",
            "",
            f"{self.name} = {self.task}(table, {', '.join(asked)})",
            *self.lines,
        ]
        return "\n".join(told) + "\n"


# -- pages ----------------------------------------------------------------------------------------


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


def _column_list(columns: Sequence[tuple[Column, str]], total: int) -> str:
    """Return columns, a row each; those beyond the first are counted where they are many."""
    shown = columns[: _MOST_COLUMNS + 1]
    body = "".join(_column_row(column, spark, total) for column, spark in shown)
    more = len(columns) - len(shown)
    rest = f"<p>And {more} more columns.</p>" if more > 0 else ""
    head = "<tr><th>column</th><th>kind</th><th>missing</th><th>different</th><th></th></tr>"
    return (
        f'<div class="wide"><table class="columns"><thead>{head}</thead>'
        f"<tbody>{body}</tbody></table></div>{rest}"
    )


def _column_row(column: Column, spark: str, total: int) -> str:
    missing = f"{100 * column.missing / max(total, 1):.1f}%" if column.missing else ""
    cells = (escape(column.kind), missing, f"{column.distinct:,}" if column.distinct else "", spark)
    kind = "" if column.used else ' class="unused"'
    return (
        f'<tr{kind}><th scope="row">{escape(column.name)}</th>'
        + "".join(f"<td>{cell}</td>" for cell in cells)
        + "</tr>"
    )
