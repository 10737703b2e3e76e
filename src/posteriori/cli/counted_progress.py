"""A progress bar that counts what is done, and tells how long the rest may take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["counted_progress"]


@contextmanager
def counted_progress(
    console: Console, text: str
) -> Iterator[tuple[Progress, Callable[[int, float], None]]]:
    """Show a bar while something is done; what is returned tells of one more of a total, and of seconds left."""
    columns = (
        TextColumn(text),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=None, left="")

        def advance(total: int, remaining: float) -> None:
            left = f"about {remaining:.0f} s left" if remaining >= 1.0 else ""
            progress.update(bar, total=total, advance=1, left=left)

        yield progress, advance
