"""Files of plain text and numbers, with a checksum: written whole or not at all, never code.

A file is a title line with the version of the format, the SHA-256 of all that follows, one line of
JSON, and then the bytes of numbers that the JSON describes.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import stat
import sys
from pathlib import Path
from typing import IO, Any, NamedTuple

__all__ = ["MOST_BYTES", "Format", "read_bounded", "read_record", "write_record", "write_whole"]


#: What is read of pipes and devices, and of tables without a limit of rows, at most.
MOST_BYTES = 1 << 30

#: Bytes in which a title and its version have an end.
_LONGEST_TITLE = 200

#: Characters of a file's name that its draft has too; names are at most 255 bytes.
_NAME_PART = 40


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
    with open(path, "rb") as file:  # no more of another kind of file is read than its first line
        title = file.readline(_LONGEST_TITLE)
        kind, _, version = title.rstrip(b"\n").rpartition(b" ")
        if kind != form.title.encode():
            raise ValueError(f"{path} is not a saved {form.noun}")
        if version != b"%d" % form.version:
            found = version[:20].decode(errors="replace")
            raise ValueError(
                f"{path} has format version {found}; this release reads {form.version}"
            )
        rest = read_bounded(file, str(path))
    digest, _, body = rest.partition(b"\n")
    if hashlib.sha256(body).hexdigest().encode() != digest:
        raise ValueError(f"{path} is damaged: its checksum does not match its content")
    text, _, numbers = body.partition(b"\n")
    try:
        return json.loads(text), numbers
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path} does not hold a {form.noun}: {error}") from None


def read_bounded(file: IO[bytes], name: str) -> bytes:
    """Return what is left of a file; of one without a size, such as a pipe, no more than a limit.

    Raises
    ------
    ValueError
        When it does not end before.
    """
    regular = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    content = file.read(-1 if regular else MOST_BYTES + 1)
    if not regular and len(content) > MOST_BYTES:
        raise ValueError(
            f"{name} does not end within {MOST_BYTES >> 30} GB; save it as a file first"
        )
    return content


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all; what it replaces hands on its permissions.

    A symbolic link stays, and what it leads to is replaced. A device or a pipe is written to.

    Raises
    ------
    OSError
        When the place cannot be written, or links lead in a circle; with the name of the file, also where
        its disk is full.
    """
    try:
        _write(path, content)
    except OSError as error:
        if error.filename is not None:
            raise
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def _write(path: str | os.PathLike[str], content: bytes) -> None:
    status = _status(path)
    if status is not None and not stat.S_ISREG(status.st_mode):
        with open(path, "wb") as file:  # a folder raises what it should
            file.write(content)
        return
    place = Path(os.path.realpath(path))
    if not place.parent.exists():  # and not a draft that nobody asked for
        raise FileNotFoundError(errno.ENOENT, "the folder does not exist", str(place.parent))
    draft = place.parent / f".{place.name[:_NAME_PART]}.{secrets.token_hex(4)}.tmp"
    try:
        with _open_draft(draft, 0o666 if status is None else 0o600) as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            if status is not None:
                mode = stat.S_IMODE(status.st_mode)
                os.chmod(file.fileno() if os.chmod in os.supports_fd else draft, mode)
            if not draft.exists():  # only now has the content a name
                os.link(f"/proc/self/fd/{file.fileno()}", draft, src_dir_fd=file.fileno())
        os.replace(draft, place)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _open_draft(draft: Path, mode: int) -> IO[bytes]:
    """Open a file in the folder of a draft: without a name where that can be given later (Linux).

    The system takes from ``mode`` what the user's mask says; nobody else has to know the mask.
    """
    if sys.platform == "linux" and os.path.isdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # not all file systems have files without a name
            return os.fdopen(os.open(draft.parent, os.O_TMPFILE | os.O_WRONLY, mode), "wb")
    return os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode), "wb")


def _status(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return what is at a path, through links; None if there is nothing yet."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None
