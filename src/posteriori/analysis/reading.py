"""Tables from files: format, compression, encoding and delimiter are guessed, and said."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import sys
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd

from posteriori.analysis.columns import to_pandas
from posteriori.analysis.values import MISSING_WORDS

__all__ = ["TableFile", "read_table"]

#: Larger files are refused unless the number of rows is limited.
MOST_BYTES = 1 << 30
MOST_COLUMNS = 10_000
_SAMPLE = 1 << 16
_LONG_LINE, _LONGEST_LINE = 10_000, 1 << 24

_MAGIC = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"))
_OPENERS: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


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
    """Read a table from CSV, TSV, JSON lines or Parquet, compressed or not.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard input.
    max_rows : int, optional
        Read no more than so many rows.

    Raises
    ------
    ValueError
        When the file holds no table that can be read, with the reason and the remedy.
    OSError
        When the file cannot be opened.
    """
    if max_rows is not None and max_rows < 1:
        raise ValueError(f"max_rows must be at least 1, got {max_rows}")
    name = "standard input" if str(path) == "-" else str(path)
    source = _Source(path, name)
    try:
        table = _read(source, max_rows)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        if not source.packing:
            raise
        raise ValueError(f"{name} is a broken compressed file: {error}") from None
    frame = to_pandas(table.frame)
    if not frame.shape[1] or not len(frame):
        raise ValueError(
            f"{name} has a header but no rows" if frame.shape[1] else f"{name} is empty"
        )
    return TableFile(frame, (*source.notes, *table.notes))


def _read(source: _Source, max_rows: int | None) -> TableFile:
    with source.open() as file:
        head = file.read(_SAMPLE)
        if b"\n" not in head:  # the header alone may be long
            head += file.readline(_LONGEST_LINE)
    if not head:
        raise ValueError(f"{source.name} is empty")
    if head.startswith(b"PAR1"):
        return _read_parquet(source, max_rows)
    source.require_size(max_rows)
    return _read_text(source, head, max_rows)


class _Source:
    """A file, plain or compressed, that can be opened from the start more than once."""

    def __init__(self, path: str | Path, name: str) -> None:
        self.name = name
        self.path = path
        self.notes: list[str] = []
        self._content: bytes | None = None
        if name == "standard input":
            self._content = sys.stdin.buffer.read(MOST_BYTES + 1)
            first = self._content[:8]
        else:
            with open(path, "rb") as file:
                first = file.read(8)
        self.packing = next((kind for magic, kind in _MAGIC if first.startswith(magic)), "")
        if self.packing:
            self.notes.append(f"compressed with {self.packing}")

    def open(self) -> IO[bytes]:
        raw: Any = self.path if self._content is None else io.BytesIO(self._content)
        return _OPENERS[self.packing](raw, "rb") if self.packing else _open_plain(raw)

    def require_size(self, max_rows: int | None) -> None:
        """Refuse what would not fit, before any of it is parsed."""
        if max_rows is not None:
            return
        size = 0
        with self.open() as file:
            while block := file.read(1 << 22):
                size += len(block)
                if size > MOST_BYTES:
                    raise ValueError(
                        f"{self.name} holds more than {MOST_BYTES >> 30} GB; read a part of it with "
                        "--max-rows (max_rows=)"
                    )


def _open_plain(raw: Any) -> IO[bytes]:
    return raw if isinstance(raw, io.BytesIO) else open(raw, "rb")


def _read_parquet(source: _Source, max_rows: int | None) -> TableFile:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise ValueError(
            f"{source.name} is a Parquet file; reading it needs pyarrow: "
            "pip install 'posteriori[parquet]'"
        ) from None
    with source.open() as file:
        content = io.BytesIO(file.read())
    try:
        table = parquet.read_table(content)
    except Exception as error:  # pyarrow has many; all mean that the file is broken
        raise ValueError(f"{source.name} is a broken Parquet file: {error}") from None
    limited = table if max_rows is None else table.slice(0, max_rows)
    return TableFile(limited.to_pandas(), ("read as Parquet",))


def _read_text(source: _Source, head: bytes, max_rows: int | None) -> TableFile:
    encoding = _guess_encoding(source, head)
    sample = _decode(head, encoding)
    if "\0" in sample:
        raise ValueError(f"{source.name} holds NUL bytes: it is no text file")
    if sample.lstrip().startswith("{"):
        return _read_json_lines(source, encoding, max_rows)
    return _read_delimited(source, sample, encoding, max_rows)


def _guess_encoding(source: _Source, head: bytes) -> str:
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        return "utf-8"
    with source.open() as file:
        decoder = io.TextIOWrapper(file, encoding="utf-8")
        try:
            while decoder.read(1 << 22):
                pass
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _decode(head: bytes, encoding: str) -> str:
    return head.decode(encoding, errors="ignore")


def _read_json_lines(source: _Source, encoding: str, max_rows: int | None) -> TableFile:
    try:
        with source.open() as file:
            frame = pd.read_json(file, lines=True, encoding=encoding, nrows=max_rows)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{source.name} looks like JSON lines, but {error}") from None
    nested = [c for c in frame if frame[c].map(lambda v: isinstance(v, (list, dict))).any()]
    if nested:
        raise ValueError(
            f"{source.name}: {', '.join(map(repr, nested[:3]))} holds lists or objects; "
            "give each entry a column of its own"
        )
    return TableFile(frame, ("read as JSON lines",))


def _read_delimited(source: _Source, sample: str, encoding: str, max_rows: int | None) -> TableFile:
    delimiter = _guess_delimiter(sample)
    header = next(csv.reader([sample.splitlines()[0]], delimiter=delimiter))
    if len(header) > MOST_COLUMNS:
        raise ValueError(
            f"{source.name} has {len(header):,} columns; at most {MOST_COLUMNS:,} are handled: "
            "select some first"
        )
    notes = [f"read as text in {encoding}, columns separated by {_DELIMITERS[delimiter]}"]
    notes += _repeated(header)
    try:
        with source.open() as file, warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                file,
                sep=delimiter,
                encoding=encoding,
                nrows=max_rows,
                header=None,
                names=range(len(header)),
                skiprows=1,
                skipinitialspace=True,
                na_values=sorted(MISSING_WORDS),
                index_col=False,
                on_bad_lines="error",
                low_memory=False,
            )
    except UnicodeDecodeError:
        raise ValueError(
            f"{source.name} is neither UTF-8 nor Windows-1252 text; save it as UTF-8"
        ) from None
    except pd.errors.ParserWarning:
        raise ValueError(
            f"{source.name} cannot be read as a table: its rows have more cells than the "
            f"{len(header)} of the header; name every column, and end no line with the separator"
        ) from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, ValueError) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip()
        raise ValueError(f"{source.name} cannot be read as a table: {reason}") from None
    frame.columns = pd.Index(header)
    return TableFile(frame, tuple(notes))


def _guess_delimiter(sample: str) -> str:
    """Return the delimiter that cuts the first lines into equally many, and most, cells."""
    lines = [line[:_LONG_LINE] for line in sample.splitlines()[:50] if line.strip()]
    if len(lines) > 2:
        lines = lines[:-1]  # the sample may end in the middle of it

    def score(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in csv.reader(lines, delimiter=delimiter)]
        usual = max(set(counts), key=counts.count)
        return counts.count(usual) / len(counts) if usual > 1 else 0.0, usual

    return max(_DELIMITERS, key=score)


def _repeated(header: list[str]) -> list[str]:
    names = [name.strip() for name in header]
    again = sorted({name for name in names if names.count(name) > 1 and name})
    if not again:
        return []
    return [f"the header repeats {', '.join(map(repr, again[:5]))}: the later ones get a number"]
