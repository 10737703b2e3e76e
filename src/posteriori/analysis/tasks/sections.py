"""What answers are made of: words, tables and figures in sections, which terminals and pages show in their own way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    import pandas as pd

    from posteriori.analysis.table.columns import Column

__all__ = [
    "AT_A_GLANCE",
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
    "at_a_glance",
    "fit_columns",
]


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
    """What columns of so many rows hold; those with values are drawn."""

    columns: Sequence[tuple[Column, pd.Series | None]]
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


#: Of the section on what was guessed of a table, and on what its columns hold.
AT_A_GLANCE = "The data at a glance"


def at_a_glance(notes: Sequence[str], columns: Sequence[Column], frame: pd.DataFrame) -> Finding:
    """Return what was guessed of a table, and what its columns hold; the frame has those that are drawn."""
    listed = [(column, frame.get(column.name)) for column in columns]
    return Finding(AT_A_GLANCE, lambda: [Items(notes), ColumnList(listed, len(frame))])


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
