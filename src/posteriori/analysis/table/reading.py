"""Tables from files, pipes and standard input: packing, format, encoding and delimiter are guessed, and said."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, Any, NamedTuple

import pandas as pd

from posteriori.analysis.table.delimited import read_delimited
from posteriori.analysis.table.parquet import read_parquet
from posteriori.analysis.table.wording import counted
from posteriori.numerics.record_files import MOST_BYTES

__all__ = [
    "BROKEN",
    "EndlessLineError",
    "LONGEST_LINE",
    "SAMPLE",
    "Source",
    "TableFile",
    "read_table",
    "reading_code",
    "to_pandas",
]


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


#: What a compressed file raises that is cut short or altered.
BROKEN = (
    EOFError,
    OSError,
    lzma.LZMAError,
    zlib.error,
    zipfile.BadZipFile,
    NotImplementedError,  # a zip file packed in a way that is not known
)

_MAGIC = ((b"\x1f\x8b", "gzip"), (b"BZh", "bzip2"), (b"\xfd7zXZ", "xz"), (b"PK\x03\x04", "zip"))
_OPENERS: dict[str, Callable[..., Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_SPREADSHEETS = ("xl/workbook.xml", "content.xml")

#: Bytes from which the form of a file is guessed.
SAMPLE = 1 << 16

#: Bytes of a line at most.
LONGEST_LINE = 1 << 24


class Source:
    """A table's bytes, which can be read from the start more than once.

    Parameters
    ----------
    path : str or Path
        ``"-"`` is standard input.
    name : str
        What messages call it.

    Attributes
    ----------
    packing : str
        "gzip", "bzip2", "xz" or "zip"; empty for plain files.
    notes : list of str
        What was guessed.
    """

    def __init__(self, path: str | Path, name: str) -> None:
        self.name = name
        self.path = path
        self.notes: list[str] = []
        self._content = _content_of_stream(path)
        with self._open_plain() as file:
            first = file.read(8)
        self.packing = next((kind for magic, kind in _MAGIC if first.startswith(magic)), "")
        if self.packing:
            self.notes.append(f"compressed with {self.packing}")

    def open(self) -> IO[bytes]:
        """Return the bytes, unpacked, from the start."""
        if not self.packing:
            return self._open_plain()
        raw: Any = self.path if self._content is None else io.BytesIO(self._content)
        return self._open_zip(raw) if self.packing == "zip" else _OPENERS[self.packing](raw, "rb")

    def open_lines(self) -> IO[bytes]:
        """Return the same, which fails at a line without end."""
        return io.BufferedReader(_Lines(self.open(), self.name), SAMPLE)

    def seekable(self) -> Any:
        """Return a path, or bytes that can be read anywhere: unpacked, if they are not too many."""
        if not self.packing and self._content is None:
            return str(self.path)
        self.require_size(None)
        with self.open() as file:
            return io.BytesIO(file.read())

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

    def _open_plain(self) -> IO[bytes]:
        return open(self.path, "rb") if self._content is None else io.BytesIO(self._content)

    def _open_zip(self, raw: Any) -> IO[bytes]:
        """Return the one file of an archive."""
        with zipfile.ZipFile(raw) as archive:
            names = [entry.filename for entry in archive.infolist() if _is_wanted(entry)]
            if any(name in _SPREADSHEETS for name in names):
                raise ValueError(
                    f"{self.name} is a spreadsheet; save the sheet as CSV and use that"
                )
            if len(names) != 1:
                some = ", ".join(names[:3]) + (", …" if len(names) > 3 else "")
                raise ValueError(
                    f"{self.name} is a zip archive of {counted(len(names), 'file')}"
                    f"{f' ({some})' if some else ''}; unpack it and name one of them"
                )
            if archive.getinfo(names[0]).flag_bits & 1:
                raise ValueError(f"{self.name} asks for a password; unpack it first")
            return archive.open(names[0])


class EndlessLineError(ValueError):
    """A line is longer than that of any table."""


class _Lines(io.RawIOBase):
    """Bytes of a file whose lines have an end: whoever asks for some rows reads no more than these."""

    def __init__(self, file: IO[bytes], name: str) -> None:
        self._file = file
        self._name = name
        self._since = 0  # bytes since the last end of a line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self._file.read(len(buffer))
        buffer[: len(block)] = block
        end = max(block.rfind(b"\n"), block.rfind(b"\r"))
        self._since = self._since + len(block) if end < 0 else len(block) - end - 1
        if self._since > LONGEST_LINE:
            raise EndlessLineError(
                f"{self._name} has a line of more than {LONGEST_LINE >> 20} MB: it is no table of rows"
            )
        return len(block)

    def close(self) -> None:
        self._file.close()
        super().close()


def _content_of_stream(path: str | Path) -> bytes | None:
    """Return what can be read once only: standard input, or a pipe; None for files."""
    if str(path) == "-":
        if sys.stdin is None:
            raise ValueError(
                "standard input is closed: give it a table, or name a file instead of -"
            )
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    mode = Path(path).stat().st_mode
    if stat.S_ISREG(mode) or stat.S_ISDIR(mode):
        return None
    with open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def _is_wanted(entry: zipfile.ZipInfo) -> bool:
    """Leave out folders, and what macOS adds about files."""
    return not entry.is_dir() and not entry.filename.startswith("__MACOSX/")
