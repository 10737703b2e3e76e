"""The command ``warm``: machine code before it is asked for."""

from __future__ import annotations

from rich.console import Console

from posteriori.analysis.table.wording import counted
from posteriori.analysis.warming.warming import warm
from posteriori.cli.output import plain
from posteriori.cli.under_way import counted_progress

__all__ = ["run_warm"]


def run_warm(jobs: int | None) -> None:
    """Compile all loops, and say how many there are and where."""
    console = Console(highlight=False)
    with counted_progress(console, "compiling loops") as advance:
        done = warm(jobs, lambda words, total: advance(total, 0.0))
    new = counted(len(done.compiled), "loop") if done.compiled else "no loop"
    text = f"{new} compiled; machine code of {counted(done.kept, 'loop')} in {done.folder}"
    console.print(plain(text), markup=False, soft_wrap=True)
