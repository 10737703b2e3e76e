"""Work on several processors: compiled loops and NumPy's sorts, side by side in threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

__all__ = ["run_beside", "thread_count"]


def thread_count() -> int:
    """Return how many threads to use: ``OMP_NUM_THREADS``, or a thread for each processor allowed."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def run_beside(
    function: Callable[..., Any], jobs: Iterable[tuple[Any, ...]], pool: ThreadPoolExecutor | None
) -> list[Any]:
    """Return what a function answers to each job, in order.

    Parameters
    ----------
    function : callable
        That leaves Python's lock for most of its time.
    jobs : iterable of tuples
        Its arguments.
    pool : ThreadPoolExecutor or None
        None runs one after another.
    """
    if pool is None:
        return [function(*job) for job in jobs]
    return [future.result() for future in [pool.submit(function, *job) for job in jobs]]
