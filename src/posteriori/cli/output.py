"""What commands say: in any encoding, to readers who may leave; what they refuse, and how they tell what goes wrong."""

from __future__ import annotations

import errno
import os
import stat
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from mmap import mmap
from pathlib import Path
from typing import NoReturn

import typer
from rich.console import Console
from rich.text import Text

from posteriori.numerics.machine_code.kernel_cache import listeners

__all__ = [
    "PatientConsole",
    "fail",
    "plain",
    "print_indented",
    "print_notes",
    "require_file",
    "told_compilation",
    "told_errors",
    "tolerate_encodings",
]


class PatientConsole(Console):
    """A console whose reader may leave (``| head -1``): what is still to be written is worth its work."""

    def on_broken_pipe(self) -> None:
        """Print to nobody from now on."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


def plain(text: str) -> str:
    r"""Return text without control codes: names in files could otherwise move and colour the cursor.

    Examples
    --------
    >>> plain("a\x1b[2Jb")
    'a�[2Jb'
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def print_indented(console: Console, text: str, style: str) -> None:
    """Print a text below what it belongs to, in lines that fit."""
    for line in Text(plain(text)).wrap(console, console.width - 2):
        console.print(f"  {line.plain.rstrip()}", style=style, markup=False)


def print_notes(console: Console, notes: Sequence[str]) -> None:
    """Print what was guessed and done, a mark before each note."""
    for note in notes:
        for place, line in enumerate(Text(plain(note)).wrap(console, console.width - 4)):
            mark = "·" if place == 0 else " "
            console.print(f"  {mark} {line.plain.rstrip()}", style="dim", markup=False)


def tolerate_encodings() -> None:
    """Print a question mark for what the terminal cannot show, instead of failing after the work."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


# -- refusals --------------------------------------------------------------------------------------

#: What Python says where there is no room for the stack of a thread.
_NO_THREAD = "can't start new thread"


@contextmanager
def told_errors(
    command: str = "",
    *,
    read: Sequence[str | Path] = (),
    written: Sequence[Path | None] = (),
) -> Iterator[None]:
    """Load what is heavy and run; tell that loops are compiled, and what goes wrong in a line without a traceback.

    Files that are missing, could not be written, or are named twice are refused before anything is loaded.
    """
    for path in read:
        require_file(path)
    for place in written:
        _require_place(place)
    _require_different(written, read)
    try:
        with told_compilation(command):
            yield
    except OSError as error:
        unnamed = "standard output" if error.errno == errno.ENOSPC else "file"
        fail(f"{error.filename or unnamed}: {error.strerror or error}")
    except (ValueError, MemoryError) as error:
        fail(str(error) or "out of memory")
    except ImportError as error:  # libraries that do not fit into memory are no defect
        fail(f"a library cannot be loaded, for lack of memory or of the library: {error}")
    except Exception as error:
        if str(error) == _NO_THREAD:
            fail(f"out of memory: {error}")
        what = " ".join(f"{type(error).__name__}: {error}".split())
        fail(f"{what}. This is a defect of posteriori: please report it with the command you gave")
    except KeyboardInterrupt:
        fail("stopped by Ctrl-C: nothing was written", code=130)


def fail(message: str, code: int = 1) -> NoReturn:
    """Print a message, and end with an exit code."""
    typer.echo(plain(f"posteriori: {message}"), err=True)
    raise typer.Exit(code)


def require_file(path: str | Path) -> None:
    """Refuse a missing file."""
    if str(path) == "-":
        return
    if Path(path).is_dir():
        fail(f"{path} is a folder")
    if not Path(path).exists():
        fail(f"{path} does not exist")


def _require_place(path: Path | None) -> None:
    """Refuse a file that could not be written, before the work is done."""
    if path is None:
        return
    try:
        special = not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        special = False
    except OSError as error:  # links that lead in a circle, a folder that may not be entered
        fail(f"{path} cannot be written: {error.strerror}")
    if special:  # a device or a pipe is written to, not replaced
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        fail(f"{path} cannot be written: there is no folder {folder}")
    if not os.access(folder, os.W_OK):
        fail(f"{path} cannot be written: the folder {folder} is protected")


def _require_different(written: Sequence[Path | None], read: Sequence[str | Path]) -> None:
    """Refuse to write over what is read, or over what was just written."""
    taken = {Path(path).resolve() for path in read if str(path) != "-"}
    for path in written:
        if path is None or (path.exists() and not path.is_file()):
            continue
        if path.resolve() in taken:
            fail(f"{path} is named twice: what is read and written must be different files")
        taken.add(path.resolve())


#: Seconds that the first run of each command compiles, and of those that are not named: as
#: bench/bench_compilation.py measures them on a processor that takes ``_REFERENCE`` seconds to count to ``_COUNTED``.
_SECONDS, _OTHERS = {"compare": 11, "demo": 11, "cluster": 5, "segment": 2, "forecast": 2}, 3
#: Told by a loop of plain Python.
_REFERENCE, _COUNTED = 0.009, 500_000


@contextmanager
def told_compilation(command: str) -> Iterator[None]:
    """Say on standard error that loops are compiled, before the first one is.

    What is said appears above bars and tables that are drawn meanwhile.
    """
    lock, said = threading.Lock(), mmap(-1, 1)  # seen by copies of this process as well

    def tell(_: str) -> None:
        with lock:
            if not said[0]:
                said[0] = 1
                about = _SECONDS.get(command, _OTHERS) * _slowness()
                print(
                    f"compiling loops for this machine, once (about {about:.0f} s)", file=sys.stderr
                )

    listeners.append(tell)
    try:
        yield
    finally:
        listeners.remove(tell)


def _slowness() -> float:
    """Return how long this processor takes beside the one on which seconds were measured."""
    start = time.thread_time()
    total = 0
    for number in range(_COUNTED):
        total += number
    return (time.thread_time() - start) / _REFERENCE
