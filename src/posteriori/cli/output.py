"""What the command prints: in any encoding, without codes for the terminal, to readers who may leave."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

__all__ = ["PatientConsole", "plain", "print_indented", "print_notes", "tolerate_encodings"]


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
