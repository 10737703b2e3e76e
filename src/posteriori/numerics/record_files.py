"""Files of plain text and numbers, with a checksum: written whole or not at all, never code.

A file is a title line with the version of the format, the SHA-256 of all that follows, one line of
JSON, and then the bytes of numbers that the JSON describes.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["Format", "read_record", "write_record", "write_whole"]


class Format(NamedTuple):
    """What a kind of file calls itself.

    Attributes
    ----------
    title : str
        Begins the file.
    version : int
    noun : str
        For messages: "posterior".
    """

    title: str
    version: int
    noun: str


def write_record(
    path: str | os.PathLike[str], form: Format, header: Any, numbers: list[bytes]
) -> None:
    """Write JSON and numbers."""
    text = json.dumps(header, allow_nan=False, ensure_ascii=True).encode()
    body = b"".join([text, b"\n", *numbers])
    digest = hashlib.sha256(body).hexdigest()
    write_whole(path, f"{form.title} {form.version}\n{digest}\n".encode() + body)


def read_record(path: str | os.PathLike[str], form: Format) -> tuple[Any, bytes]:
    """Return JSON and numbers of a file.

    Raises
    ------
    ValueError
        When the file is of another kind or version, or is damaged.
    """
    content = Path(path).read_bytes()
    title, _, rest = content.partition(b"\n")
    kind, _, version = title.rpartition(b" ")
    if kind != form.title.encode():
        raise ValueError(f"{path} is not a saved {form.noun}")
    if version != b"%d" % form.version:
        found = version[:20].decode(errors="replace")
        raise ValueError(f"{path} has format version {found}; this release reads {form.version}")
    digest, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(f"{path} is damaged: its checksum does not match its content")
    text, _, numbers = body.partition(b"\n")
    try:
        return json.loads(text), numbers
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} does not hold a {form.noun}: {error}") from None


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all: into a neighbour first, then put it in place."""
    place = Path(path).resolve()
    handle, draft = tempfile.mkstemp(dir=place.parent, prefix=f".{place.name}.", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(draft, 0o666 & ~_umask())
        os.replace(draft, place)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
