"""A line on the terminal that shows how far long work is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

__all__ = ["Progress"]

#: Seconds from one line to the next.
_BEAT = 0.2


class Progress:
    """Writes one line to standard error, over and over.

    Parameters
    ----------
    wanted : bool or None
        None writes when standard error is a terminal and the work takes longer than ``patience``.
    patience : float
        Seconds.
    kept : str
        What is left when the work is stopped.
    """

    def __init__(self, wanted: bool | None, patience: float = 2.0, kept: str = "this") -> None:
        self.kept = kept
        self.wanted = wanted if wanted is not None else sys.stderr.isatty()
        self.start = time.monotonic()
        self.next = self.start + (0.0 if wanted else patience)
        self.width = 0

    def show(self, sweep: int, bound: float) -> None:
        """Say how far an ascent is."""
        if self.wanted:
            self.say(f"sweep {sweep}: bound {bound:.6f}")

    def say(self, text: str) -> None:
        """Write a text, at most five times a second."""
        now = time.monotonic()
        if not self.wanted or now < self.next:
            return
        self.next = now + _BEAT
        line = f"{text} ({now - self.start:.0f} s; Ctrl-C keeps {self.kept})"
        sys.stderr.write("\r" + line.ljust(self.width))
        sys.stderr.flush()
        self.width = len(line)

    @contextmanager
    def during(self, tell: Callable[[], str]) -> Iterator[None]:
        """Repeat a text beside work that cannot say how far it is: loops that are compiled leave other threads free."""
        if not self.wanted:
            yield
            return
        over = Event()

        def repeat() -> None:
            while not over.wait(_BEAT):
                self._say_of(tell)

        self._say_of(tell)
        beside = Thread(target=repeat, daemon=True)
        beside.start()
        try:
            yield
        finally:
            over.set()
            beside.join()
            self.close()

    def _say_of(self, tell: Callable[[], str]) -> None:
        """Write a text that is made only when there is time for it."""
        if time.monotonic() >= self.next:
            self.say(tell())

    def close(self) -> None:
        """End the line."""
        if self.width:
            sys.stderr.write("\n")
