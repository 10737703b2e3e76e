"""Files that hold tables, or claim to: a few rows of odd columns, written in any format and spoilt.

``hostile_file(rng)`` gives the bytes of one; the same generator gives the same bytes.
"""

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

__all__ = ["hostile_file"]

#: Names of columns that files may well have; some are repeated, empty or not printable.
NAMES = (
    *("x", "y", "a b", "", " ", "x", "id", "date", "0.5", "nan", "#", "a,b", 'say "no"', "l\nb"),
    *("\x1b[2J", "\u202e", "é" * 300, "<b>", "__class__", "=1+1", "column 1", "x (2)", "1", "-"),
)

#: Cells of which a column may mix some.
CELLS: tuple[Any, ...] = (
    *("", " ", "a", "b", "ä", "\x07", "\x1b[31m", "'", '"', "\ud800", "😀", "\u0661", "x" * 500),
    *("nan", "NA", "-", "?", "inf", "-Infinity", "1e400", "0x1f", "1_000", "1,5", "1.234,5", "٣"),
    *("$5", "5 %", "(3)", "1e5", "+7", "--1", "007", "1/2", "∞", "NaN", "true", "no", "Yes"),
    *("2024-02-30", "2024-01-01", "31/12/1999", "0000-00-00", "9999-12-31", "12:30", "1 May 2020"),
    *("2024-01-01T00:00:00+99:00", "01.02.03", "100000-01-01", "1677-09-21", "2262-04-12"),
    *(None, True, False, 0, -1, 2**53 + 1, 2**63, 2**64, 10**30, -(10**400), 5, 1.7e18),
    *(0.1, -0.0, 1e300, -1e300, 1e-300, 5e-324, 1.7976931348623157e308, float("inf"), float("nan")),
)


def _numbers(rng: np.random.Generator, n: int) -> list[Any]:
    scale = float(rng.choice([1.0, 1e-300, 1e-160, 1e160, 1e300, 1.7e18, 1e-8]))
    shift = float(rng.choice([0.0, 0.0, 1.0, 1e7]))
    return [float(v) for v in (rng.normal(size=n) + shift) * scale]


def _integers(rng: np.random.Generator, n: int) -> list[Any]:
    top = int(rng.choice([2, 3, 10, 10**6, 2**62]))
    start = int(rng.choice([0, 1, -5, 17 * 10**17]))
    return [start + int(v) for v in rng.integers(0, top, n)]


def _dates(rng: np.random.Generator, n: int) -> list[Any]:
    form = str(rng.choice(["%Y-%m-%d", "%d.%m.%Y", "%m/%d/%y", "%Y-%m-%dT%H:%M:%S%z", "%b %d, %Y"]))
    days = pd.to_timedelta(rng.integers(-100_000, 80_000, n), unit="D")
    return [(pd.Timestamp("2000-01-01") + day).strftime(form) for day in days]


def _words(rng: np.random.Generator, n: int) -> list[Any]:
    levels = [f"w{k}" for k in range(int(rng.choice([1, 2, 3, n + 1])))]
    return [levels[i] for i in rng.integers(len(levels), size=n)]


def _mixture(rng: np.random.Generator, n: int) -> list[Any]:
    some = rng.integers(len(CELLS), size=int(rng.integers(1, 5)))
    return [CELLS[some[i]] for i in rng.integers(len(some), size=n)]


def _truths(rng: np.random.Generator, n: int) -> list[Any]:
    no, yes = [("no", "yes"), (False, True), (0, 1), ("f", "T"), (0.5, 1.5)][int(rng.integers(5))]
    return [yes if heads else no for heads in rng.random(n) < 0.5]


def _constant(rng: np.random.Generator, n: int) -> list[Any]:
    return [CELLS[int(rng.integers(len(CELLS)))]] * n


def _one_differs(rng: np.random.Generator, n: int) -> list[Any]:
    values = _numbers(rng, n)
    if n:
        values[int(rng.integers(n))] = CELLS[int(rng.integers(len(CELLS)))]
    return values


COLUMNS = (_numbers, _integers, _dates, _words, _mixture, _truths, _constant, _one_differs)


def _hostile_columns(rng: np.random.Generator) -> tuple[list[str], list[list[Any]]]:
    """Return names and cells, by column."""
    rows = int(rng.choice([0, 1, 2, 5, 8, 12, 30, 30]))
    width = int(rng.choice([1, 2, 3, 5]))
    plain = rng.random() < 0.5
    names = [f"c{k}" if plain else NAMES[int(rng.integers(len(NAMES)))] for k in range(width)]
    columns = [COLUMNS[int(rng.integers(len(COLUMNS)))](rng, rows) for _ in names]
    for column in columns:
        if rng.random() < 0.3:
            for place in np.flatnonzero(rng.random(rows) < 0.2):
                column[place] = None
    return names, columns


def _as_text(cell: Any) -> str:
    return "" if cell is None else str(cell) if not _is_huge(cell) else "1" + "0" * 400


def _is_huge(cell: Any) -> bool:
    return isinstance(cell, int) and abs(cell) > 10**300  # str() of long integers is quadratic


def _delimited(rng: np.random.Generator, names: list[str], columns: list[list[Any]]) -> bytes:
    out = io.StringIO(newline="")
    delimiter = str(rng.choice([",", "\t", ";", "|"]))
    quoting = csv.QUOTE_MINIMAL if rng.random() < 0.8 else csv.QUOTE_ALL
    ending = str(rng.choice(["\n", "\r\n", "\r"]))
    writer = csv.writer(out, delimiter=delimiter, quoting=quoting, lineterminator=ending)
    writer.writerow(names)
    for row in zip(*columns, strict=True):
        cells = [_as_text(cell) for cell in row]
        if rng.random() < 0.02:  # ragged
            cells = cells[:-1] if rng.random() < 0.5 else [*cells, "more"]
        writer.writerow(cells)
    encoding = str(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "cp1252", "latin-1"]))
    return out.getvalue().encode(encoding, errors="replace")


def _json_lines(rng: np.random.Generator, names: list[str], columns: list[list[Any]]) -> bytes:
    lines = []
    for row in zip(*columns, strict=True):
        entry = dict(zip(names, row, strict=True))
        if rng.random() < 0.05:  # a key is missing, or its value nested
            entry = dict(list(entry.items())[1:]) if rng.random() < 0.5 else {**entry, "z": [1]}
        lines.append(json.dumps(entry, ensure_ascii=bool(rng.random() < 0.5)))
    return "\n".join(lines).encode(errors="replace")


def _parquet(rng: np.random.Generator, names: list[str], columns: list[list[Any]]) -> bytes:
    import pyarrow as arrow
    from pyarrow import parquet

    kinds: list[Any] = [arrow.float16(), arrow.uint64(), arrow.date32(), arrow.time64("us")]
    kinds += [arrow.timestamp("s"), arrow.timestamp("ns", tz="Asia/Tokyo"), arrow.duration("s")]
    kinds += [arrow.decimal128(38, 4), arrow.list_(arrow.int8()), arrow.null(), arrow.binary()]
    arrays = []
    for column in columns:
        try:
            arrays.append(arrow.array(column))
        except (arrow.ArrowException, OverflowError, ValueError, TypeError):
            arrays.append(arrow.array([_printable(cell) for cell in column]))
        if rng.random() < 0.3:
            kind = kinds[int(rng.integers(len(kinds)))]
            values = rng.integers(0, 9, len(column))
            try:
                arrays[-1] = arrow.array(values).cast(kind)
            except arrow.ArrowException:
                arrays[-1] = arrow.array([None] * len(column), type=kind)
    names = [_printable(name) for name in names]
    out = io.BytesIO()
    parquet.write_table(arrow.Table.from_arrays(arrays, names=names), out)
    return out.getvalue()


def _printable(cell: Any) -> str:
    return _as_text(cell).encode(errors="replace").decode()


FORMATS = (_delimited, _delimited, _delimited, _json_lines, _parquet)


def _zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("t.csv", content)
    return out.getvalue()


PACKINGS: tuple[Callable[[bytes], bytes], ...] = (
    gzip.compress,
    bz2.compress,
    lzma.compress,
    _zipped,
)

#: What is put into the bytes of a file somewhere.
INSERTS = (
    *(b"\0", b"\xff", b"\xc3", b"\xed\xa0\x80", b'"', b"\r", b"\n", b"\n\n", b",", b"\xef\xbb\xbf"),
    *(b"\x1a", b"{", b"[", b"\\", b"#", b"\xff\xfe", b"\t", b" "),
)


def spoilt(rng: np.random.Generator, content: bytes) -> bytes:
    """Return bytes with one flipped, cut off, repeated or put in."""
    place = int(rng.integers(len(content) + 1))
    head, tail = content[:place], content[place:]
    kind = int(rng.integers(4))
    if kind == 0:
        return head
    if kind == 1:
        return head + INSERTS[int(rng.integers(len(INSERTS)))] + tail
    if kind == 2:
        return head + bytes([tail[0] ^ int(rng.integers(1, 256))]) + tail[1:] if tail else head
    return head + tail[: int(rng.integers(20))] + tail


def hostile_file(rng: np.random.Generator) -> bytes:
    """Return the bytes of a table as no one would write it."""
    names, columns = _hostile_columns(rng)
    content = FORMATS[int(rng.integers(len(FORMATS)))](rng, names, columns)
    if rng.random() < 0.4:
        content = spoilt(rng, content)
    if rng.random() < 0.05:
        content = PACKINGS[int(rng.integers(len(PACKINGS)))](content)
        content = spoilt(rng, content) if rng.random() < 0.5 else content
    return content
