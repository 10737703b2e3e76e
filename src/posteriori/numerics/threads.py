"""Work on several processors: compiled loops, NumPy's sorts and inner products, side by side in threads."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

__all__ = [
    "in_halves",
    "processor_count",
    "run_beside",
    "share_rows",
    "thread_count",
    "without_blas_threads",
]


def thread_count() -> int:
    """Return how many threads to use: ``OMP_NUM_THREADS``, or a thread for each processor allowed."""
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    if asked.isdigit() and int(asked) > 0:
        return int(asked)
    return processor_count()


def processor_count() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_halves(rows: Any, pool: ThreadPoolExecutor | None) -> list[Any]:
    """Return rows in two halves where threads share them, else whole."""
    half = len(rows) // 2 if pool is not None else 0
    return [rows[:half], rows[half:]] if half else [rows]


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


def share_rows(
    function: Callable[[slice], Any], rows: int, parts: int, pool: ThreadPoolExecutor | None = None
) -> list[Any]:
    """Return what a function says of parts of the rows, one after another in order, side by side.

    Parameters
    ----------
    function : callable
        Of a slice of rows; its inner products run in the thread that asks for them.
    rows : int
        How many there are.
    parts : int
        Into how many parts they are worth to be cut: as many as there are threads at most.
    pool : ThreadPoolExecutor, optional
        Threads that stand ready, from within :func:`without_blas_threads`: where rows are shared out again
        and again, starting some for each time would take longer than their work.

    Examples
    --------
    >>> share_rows(lambda rows: rows.stop - rows.start, 10, parts=1)
    [10]
    """
    ends = np.linspace(0, rows, max(1, min(parts, thread_count())) + 1).astype(int).tolist()
    jobs = [(slice(*pair),) for pair in pairwise(ends)]
    if pool is not None:
        return run_beside(function, jobs, pool if len(jobs) > 1 else None)
    with without_blas_threads():
        if len(jobs) == 1:
            return run_beside(function, jobs, None)
        with ThreadPoolExecutor(len(jobs)) as pool:
            return run_beside(function, jobs, pool)


def without_blas_threads() -> AbstractContextManager[Any]:
    """Let inner products run in the thread that asks for them.

    Threads of BLAS wait for one another in loops: where other work takes a processor, a product of a few
    milliseconds takes a second. Rows that are shared out among threads meet only once.
    """
    return _thread_pools(len(sys.modules)).limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> ThreadpoolController:
    """Return the thread pools of loaded libraries, looked for anew once more modules are there.

    SciPy has a BLAS of its own, which comes with the first of its modules that needs it.
    """
    return ThreadpoolController()
