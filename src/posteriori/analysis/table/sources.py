"""Bytes of tables from files, pipes and standard input, unpacked: never more than a limit at a time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from posteriori.analysis.table.wording import counted
from posteriori.numerics.record_files import MOST_BYTES

__all__ = ["BROKEN", "LONGEST_LINE", "SAMPLE", "EndlessLineError", "Source"]

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
