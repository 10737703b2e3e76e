"""Tables as text with separators: which one, where the header is, and which lines do not fit."""

from __future__ import annotations

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Any, NamedTuple

import pandas as pd

from posteriori.analysis.table.values import MISSING_WORDS
from posteriori.analysis.table.wording import counted

__all__ = ["read_delimited"]

#: Columns of a table; more are refused.
MOST_COLUMNS = 10_000
_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}

#: Characters of a line that are looked at for a delimiter.
_LONG_LINE = 10_000
_DECIMAL = re.compile(r"[+-]?\d*\.\d+")

#: How numbers are read exactly. Before pandas 3.1 its default is one off in the last bit of a third of them,
#: and ends the process at an exponent of many digits.
_TO_THE_LAST_BIT: dict[str, Any] = {}
if tuple(map(int, pd.__version__.split(".")[:2])) < (3, 1):
    _TO_THE_LAST_BIT["float_precision"] = "round_trip"


class _Layout(NamedTuple):
    """Where the text is, and how it is cut into cells.

    Attributes
    ----------
    name : str
        What messages call it.
    open : callable
        Returns its bytes from the start.
    encoding, delimiter : str
    comments : int
        Lines before the header that begin with #.
    header : list of str
    """

    name: str
    open: Callable[[], IO[bytes]]
    encoding: str
    delimiter: str
    comments: int
    header: list[str]


def read_delimited(
    name: str, open_bytes: Callable[[], IO[bytes]], sample: str, encoding: str, max_rows: int | None
) -> tuple[pd.DataFrame, list[str]]:
    """Read a table with one header line.

    Parameters
    ----------
    name : str
        What messages call it.
    open_bytes : callable
        Returns its bytes from the start.
    sample : str
        Its beginning.
    encoding : str
    max_rows : int, optional

    Returns
    -------
    frame : DataFrame
    notes : list of str
        What was guessed.
    """
    try:
        layout = _Layout(name, open_bytes, encoding, *_guess_layout(sample))
    except csv.Error:
        raise ValueError(
            f"{name} cannot be read as a table: one of its first cells is extremely long; "
            "close every quotation mark"
        ) from None
    width = len(layout.header)
    if width > MOST_COLUMNS:
        raise ValueError(
            f"{name} has {width:,} columns; at most {MOST_COLUMNS:,} are handled: select some first"
        )
    words = f"read as text in {encoding}, columns separated by {_DELIMITERS[layout.delimiter]}"
    notes = [words, *_on_header(layout)]
    frame = _parse(layout, max_rows)
    if len(frame) and frame.iloc[:, -1].isna().any():  # short rows lack the last column
        notes += _on_short_rows(layout, len(frame))
    return frame, notes


def _guess_layout(sample: str) -> tuple[str, int, list[str]]:
    """Return the delimiter, the number of lines with comments, and the header."""
    lines = [line for line in io.StringIO(sample, newline="") if line.strip()]
    delimiter, usual = _guess_delimiter([line[:_LONG_LINE] for line in lines[:50]])
    comments = 0
    for line in lines:
        cells = next(csv.reader([line], delimiter=delimiter))
        if not line.startswith("#") or len(cells) == usual:
            break
        comments += 1
    rows = csv.reader(lines[comments:], delimiter=delimiter, skipinitialspace=True)
    return delimiter, comments, next(rows, [])


def _guess_delimiter(lines: list[str]) -> tuple[str, int]:
    """Return the delimiter that cuts the first lines into equally many, and most, cells."""
    if len(lines) > 2:
        lines = lines[:-1]  # the sample may end in the middle of it

    def score(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        usual = max(set(counts), key=counts.count)
        return counts.count(usual) / len(counts) if usual > 1 else 0.0, usual

    best = max(_DELIMITERS, key=score)
    return best, score(best)[1]


def _parse(layout: _Layout, max_rows: int | None) -> pd.DataFrame:
    try:
        with _from_header(layout) as (text, _), warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                text,
                sep=layout.delimiter,
                nrows=max_rows,
                header=0,
                names=range(len(layout.header)),
                skipinitialspace=True,
                na_values=sorted(MISSING_WORDS),
                index_col=False,
                on_bad_lines="error",
                low_memory=False,
                **_TO_THE_LAST_BIT,
            )
    except UnicodeDecodeError:
        raise ValueError(
            f"{layout.name} is neither UTF-8 nor Windows-1252 text; save it as UTF-8"
        ) from None
    except (pd.errors.ParserWarning, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        reason = _misfit(layout, error)
        raise ValueError(f"{layout.name} cannot be read as a table: {reason}") from None
    frame.columns = pd.Index(layout.header)
    return frame


@contextmanager
def _from_header(layout: _Layout) -> Iterator[tuple[io.TextIOWrapper, int]]:
    """Open the text at the header, and tell the number of lines above it."""
    file: Any = layout.open()
    with io.TextIOWrapper(file, encoding=layout.encoding, newline="") as text:
        above = comments = 0
        while comments < layout.comments:
            comments += bool(text.readline().strip())
            above += 1
        yield text, above


def _misfit(layout: _Layout, error: Exception) -> str:
    """Return which line does not fit the header, and the remedy."""
    width, line = len(layout.header), 1
    for line, row in _rows(layout):
        if len(row) > width:
            return (
                f"line {line} has {counted(len(row), 'cell')}, more than the {width} of the header; "
                "name every column, end no line with the separator, and put texts with a "
                f"{layout.delimiter!r} in them between quotation marks"
            )
    if "EOF inside string" in str(error):
        return f"a quotation mark in line {line} is never closed; close it, or remove it"
    return " ".join(str(error).split())


def _on_header(layout: _Layout) -> list[str]:
    notes = []
    if layout.comments:
        lines = counted(layout.comments, "line")
        notes.append(f"{lines} before the header, beginning with #, left out")
    names = [name.strip() for name in layout.header]
    if decimals := [name for name in names if _DECIMAL.fullmatch(name)]:
        notes.append(
            f"the first line is taken as names, such as {decimals[0]!r}: if it is a row, put a line "
            "with names above it"
        )
    again = sorted({name for name in names if names.count(name) > 1 and name})
    if again:
        some = ", ".join(map(repr, again[:5]))
        notes.append(f"the header repeats {some}: the later ones get a number")
    return notes


def _on_short_rows(layout: _Layout, n_rows: int) -> list[str]:
    """Say how many rows have fewer cells than the header."""
    width, short, first = len(layout.header), 0, 0
    for place, (line, row) in enumerate(_rows(layout)):
        if place == n_rows:
            break
        if len(row) < width:
            short, first = short + 1, first or line
    if not short:
        return []
    cells = "its other cells are" if short == 1 else "their other cells are"
    where = f"line {first}" if short == 1 else f"the first in line {first}"
    fewer = f"fewer cells than the {width} of the header"
    return [f"{counted(short, 'row')} with {fewer} ({where}): {cells} missing"]


def _rows(layout: _Layout) -> Iterator[tuple[int, list[str]]]:
    """Return the rows below the header with the numbers of their first lines."""
    with _from_header(layout) as (text, above):
        reader = csv.reader(text, delimiter=layout.delimiter, skipinitialspace=True)
        header_is_above = False
        while True:
            line = above + reader.line_num + 1
            try:
                row = next(reader, None)
            except csv.Error:  # a cell that is too long: its end is far below, or missing
                row = []
            if row is None:
                return
            if header_is_above and "".join(row).strip():
                yield line, row
            header_is_above = header_is_above or bool(row)
