"""A progress bar that counts what is done, and tells how long the rest may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["counted_bar", "counted_progress"]


def counted_bar(console: Console, text: str) -> tuple[Progress, Callable[[int, int, float], None]]:
    """Return a bar, and what sets how many of a total are done, and how many seconds the rest may take."""
    columns = (
        TextColumn(text),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    progress = Progress(*columns, console=console, transient=True)
    bar = progress.add_task("", total=None, left="")

    def count(done: int, total: int, remaining: float) -> None:
        left = f"about {remaining:.0f} s left" if remaining >= 1.0 else ""
        progress.update(bar, completed=done, total=total, left=left)

    return progress, count


@contextmanager
def counted_progress(console: Console, text: str) -> Iterator[Callable[[int, float], None]]:
    """Show a bar while something is done; what is returned tells of one more of a total, and of seconds left."""
    progress, count = counted_bar(console, text)

    def advance(total: int, remaining: float) -> None:
        count(int(progress.tasks[0].completed) + 1, total, remaining)

    with progress:
        yield advance
