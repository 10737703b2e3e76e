"""Filling the cache of machine code: every recipe once, side by side in processes."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import as_completed
from pathlib import Path
from typing import NamedTuple

from posteriori.analysis.fitting.workers import in_processes
from posteriori.analysis.warming.compiling_ahead import RECIPES, follow, note_done
from posteriori.numerics.compilation import compile_at_once
from posteriori.numerics.machine_code.kernel_cache import cache_folder, listeners

__all__ = ["Warmed", "warm"]


class Warmed(NamedTuple):
    """What is in the cache.

    Attributes
    ----------
    compiled : tuple of str
        Loops that were compiled now, by name.
    kept : int
        Files of machine code in the folder.
    folder : Path
    """

    compiled: tuple[str, ...]
    kept: int
    folder: Path


def warm(jobs: int | None = None, on_recipe: Callable[[str, int], None] | None = None) -> Warmed:
    """Compile the loops of all commands, of hidden Markov models, processes and networks.

    Parameters
    ----------
    jobs : int, optional
        Processes; as many as there are processors by default. No two compile the same.
    on_recipe : callable, optional
        Called with words for what is done, and with how many recipes there are.

    Raises
    ------
    OSError
        When the folder of machine code cannot be written to.
    """
    folder = cache_folder()
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise PermissionError(13, "the folder is protected", str(folder))
    compiled: list[str] = []
    with in_processes(None, jobs or os.cpu_count() or 1) as workers:
        running = {workers.submit(_compile, name): name for name in RECIPES}
        for done in as_completed(running):
            compiled += done.result()
            note_done(running[done])
            if on_recipe is not None:
                on_recipe(RECIPES[running[done]].words, len(RECIPES))
    return Warmed(tuple(compiled), len(list(folder.glob("*.code"))), folder)


def _compile(_: None, name: str) -> list[str]:
    """Follow a recipe in a process that works for another one; return what it compiled."""
    made: list[str] = []
    listeners.append(made.append)
    compile_at_once()
    follow(RECIPES[name])
    listeners.remove(made.append)
    return made
