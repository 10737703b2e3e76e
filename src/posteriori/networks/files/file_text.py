"""The text of a file, plain or packed by gzip: read within a limit, written whole or not at all."""

from __future__ import annotations

import gzip
import io
import os
import zlib
from pathlib import Path

from posteriori.numerics.blocks.memory import free_memory
from posteriori.numerics.record_files import MOST_BYTES, write_whole

__all__ = ["PACKED", "malformed", "read_content", "read_text", "write_text"]

#: The suffix of files that are packed.
PACKED = ".gz"

#: Bytes that are unpacked at a time.
_CHUNK = 1 << 20

#: A text may take this share of free memory: its pieces, while it is read, take several times more.
_SHARE = 16


def read_content(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file; one whose name ends in .gz is unpacked.

    Raises
    ------
    ValueError
        When a packed file is damaged, or the content is larger than 1 GiB or a sixteenth of free
        memory.
    """
    limit = min(MOST_BYTES, (free_memory() or MOST_BYTES) // _SHARE)
    with open(path, "rb") as file:
        content = _read_chunks(file, path, limit)
    if Path(path).suffix.lower() != PACKED:
        return content
    try:
        return _read_chunks(gzip.GzipFile(fileobj=io.BytesIO(content)), path, limit)
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(f"{path} cannot be unpacked: {error}") from None


def read_text(path: str | os.PathLike[str]) -> str:
    """Return the content of a file as text.

    Raises
    ------
    ValueError
        As :func:`read_content`, and when it is not UTF-8.
    """
    content = read_content(path)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise malformed(
            path, line, f"byte {content[error.start]:#x} is not UTF-8; convert the file to UTF-8"
        ) from None


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text whole or not at all; packed where the name ends in .gz."""
    content = text.encode()
    packed = Path(path).suffix.lower() == PACKED
    write_whole(path, gzip.compress(content, mtime=0) if packed else content)


def malformed(path: object, line: int, what: str) -> ValueError:
    """Return the error for a line of a file."""
    return ValueError(f"{path}, line {line}: {what}")


def _read_chunks(file: io.BufferedIOBase, path: str | os.PathLike[str], limit: int) -> bytes:
    """Return what is left of a file, which holds no more than the limit."""
    chunks, total = [], 0
    while chunk := file.read(_CHUNK):
        chunks.append(chunk)
        total += len(chunk)
        if total > limit:
            raise ValueError(
                f"{path} holds more than {limit} bytes of text: more than 1 GiB, or than fits here"
            )
    return b"".join(chunks)
