"""Tables from files, pipes and standard input: packing, format, encoding and delimiter are guessed, and said."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from posteriori.analysis.table.delimited import read_delimited
from posteriori.analysis.table.parquet import read_parquet
from posteriori.analysis.table.sources import (
    BROKEN,
    LONGEST_LINE,
    SAMPLE,
    EndlessLineError,
    Source,
)
from posteriori.numerics.record_files import MOST_BYTES

__all__ = ["TableFile", "read_table", "reading_code", "to_pandas"]

_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))


class TableFile(NamedTuple):
    """A table that was read.

    Attributes
    ----------
    frame : DataFrame
    notes : tuple of str
        What was guessed.
    """

    frame: pd.DataFrame
    notes: tuple[str, ...]


def read_table(path: str | Path, max_rows: int | None = None) -> TableFile:
    r"""Read a table from CSV, TSV, JSON lines or Parquet, compressed or not.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard input.
    max_rows : int, optional
        Read no more than so many rows.

    Returns
    -------
    TableFile
        The table, and what was guessed.

    Raises
    ------
    ValueError
        When the file holds no table that can be read, with the reason and the remedy.
    OSError
        When the file cannot be opened.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "t.csv")
    ...     _ = path.write_text("x;y\n1;2\n3;4\n")
    ...     table = read_table(path)
    >>> table.frame.shape, table.notes
    ((2, 2), ('read as text in utf-8, columns separated by semicolons',))
    """
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows must be at least 1, got {max_rows}")
    name = "standard input" if str(path) == "-" else str(path)
    source = Source(path, name)
    try:
        table = _read(source, None if max_rows is None else max_rows + 1)
    except BROKEN as error:
        if not source.packing:
            raise
        raise ValueError(f"{name} is a broken compressed file: {error}") from None
    frame = to_pandas(table.frame)
    if not frame.shape[1] or not len(frame):
        raise ValueError(
            f"{name} has a header but no rows" if frame.shape[1] else f"{name} is empty"
        )
    notes = (*source.notes, *table.notes)
    if max_rows is not None and len(frame) > max_rows:
        rows = "the first row was" if max_rows == 1 else f"the first {max_rows:,} rows were"
        notes += (f"only {rows} read, as asked: there are more",)
        frame = frame.iloc[:max_rows]
    return TableFile(frame, notes)


def to_pandas(table: Any) -> pd.DataFrame:
    """Return a table of pandas or polars, a mapping of columns or an array as a DataFrame."""
    if isinstance(table, pd.DataFrame):
        frame = table.copy(deep=False)
    elif hasattr(table, "get_columns"):  # polars
        frame = pd.DataFrame({c.name: _from_polars(c) for c in table.get_columns()})
    elif hasattr(table, "dtype") and getattr(table, "ndim", 0) != 2:
        raise ValueError(f"a table has two axes, got an array of shape {table.shape}")
    else:
        frame = pd.DataFrame(table)
    frame.columns = _distinct_names(str(c).strip() for c in frame.columns)
    return frame


def _from_polars(column: Any) -> Any:
    values = column.to_numpy()
    return values if values.dtype != object else column.to_list()


def _distinct_names(names: Iterable[str]) -> list[str]:
    """Give empty names a number, and repeated ones a suffix."""
    seen: set[str] = set()
    out = []
    for place, name in enumerate(names, start=1):
        chosen, again = name or f"column {place}", 2
        while chosen in seen:
            chosen, again = f"{name or f'column {place}'} ({again})", again + 1
        seen.add(chosen)
        out.append(chosen)
    return out


def reading_code(path: str, max_rows: int | None = None) -> str:
    """Return code that reads a table from a file as the command ``compare`` does."""
    limit = "" if max_rows is None else f", max_rows={max_rows}"
    said = "  # standard input" if path == "-" else ""
    return (
        "from posteriori.analysis import read_table\n\n"
        f"table = read_table({path!r}{limit}).frame{said}"
    )


def _read(source: Source, max_rows: int | None) -> TableFile:
    with source.open() as file:
        head = file.read(SAMPLE)
        if b"\n" not in head:  # the header alone may be long
            head += file.readline(LONGEST_LINE)
    if not head:
        raise ValueError(f"{source.name} is empty")
    if head.startswith(b"PAR1"):
        frame = read_parquet(source.seekable(), source.name, max_rows)
        return TableFile(frame, ("read as Parquet",))
    source.require_size(max_rows)
    return _read_text(source, head, max_rows)


def _read_text(source: Source, head: bytes, max_rows: int | None) -> TableFile:
    encoding = _guess_encoding(source, head)
    sample = _decode(head, encoding)
    if "\0" in sample:
        raise ValueError(
            f"{source.name} holds NUL bytes: it is no text file, or an unusual one; save the table as "
            "CSV in UTF-8"
        )
    if sample.lstrip().startswith("{"):
        return _read_json_lines(source, encoding, max_rows)
    if not sample.strip():
        raise ValueError(f"{source.name} is blank: it holds no table")
    frame, notes = read_delimited(source.name, source.open_lines, sample, encoding, max_rows)
    return TableFile(frame, tuple(notes))


def _guess_encoding(source: Source, head: bytes) -> str:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        return "utf-8"
    with source.open() as file:
        decoder = io.TextIOWrapper(file, encoding="utf-8")
        try:
            for _ in range(MOST_BYTES >> 22):
                if not decoder.read(1 << 22):
                    break
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _decode(head: bytes, encoding: str) -> str:
    return head.decode(encoding, errors="ignore")


def _read_json_lines(source: Source, encoding: str, max_rows: int | None) -> TableFile:
    try:
        with source.open_lines() as file, warnings.catch_warnings():
            # pandas before 3 tries texts of columns such as "modified" as times, and warns of itself
            warnings.filterwarnings("ignore", "The behavior of 'to_datetime'", FutureWarning)
            frame = pd.read_json(file, lines=True, encoding=encoding, nrows=max_rows)
    except EndlessLineError:
        raise
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source.name} looks like JSON lines, but {error}") from None
    nested = [c for c in frame if frame[c].map(lambda v: isinstance(v, (list, dict))).any()]
    if nested:
        raise ValueError(
            f"{source.name}: {', '.join(map(repr, nested[:3]))} holds lists or objects; "
            "give each entry a column of its own"
        )
    return TableFile(frame, ("read as JSON lines",))
