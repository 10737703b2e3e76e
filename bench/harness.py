"""Timing in alternating runs: ours and a reference take turns, and ratios of medians count."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

__all__ = [
    "Comparison",
    "compare",
    "peak_memory",
    "report",
    "take_turns",
    "time_processes",
    "use_threads",
]

ROUNDS = 9


@dataclass(frozen=True)
class Comparison:
    """One line of the report.

    Attributes
    ----------
    name : str
        What was run.
    ours, reference : float
        Median seconds per call.
    bar : float
        The ratio that is the goal.
    faster : bool
        True: reference/ours must be at least ``bar``. False: ours/reference at most ``bar``.
    processor : (float, float), optional
        Median seconds of processor time, which other work on the machine disturbs less. It means little
        where threads wait in loops, as those of OpenMP do.
    rounds : int, optional
        Alternating runs, where they are not ``ROUNDS``.
    """

    name: str
    ours: float
    reference: float
    bar: float
    faster: bool
    processor: tuple[float, float] | None = None
    rounds: int | None = None

    @property
    def ratio(self) -> float:
        return self._ratio(self.ours, self.reference)

    @property
    def processor_ratio(self) -> float | None:
        return None if self.processor is None else self._ratio(*self.processor)

    def _ratio(self, ours: float, reference: float) -> float:
        return reference / ours if self.faster else ours / reference

    @property
    def met(self) -> bool:
        return self.ratio >= self.bar if self.faster else self.ratio <= self.bar


def compare(
    name: str,
    ours: Callable[[], object],
    reference: Callable[[], object],
    *,
    bar: float,
    faster: bool,
    calls: int = 1,
    rounds: int | None = None,
    warm: bool = True,
) -> Comparison:
    """Time both in ``rounds`` alternating runs (None: ``ROUNDS``) of ``calls`` calls each.

    ``warm`` runs both once before: False where they have just been run.
    """
    if warm:
        ours(), reference()
    (mine, busy), (other, busy_other) = take_turns([ours, reference], rounds or ROUNDS, calls)
    return Comparison(name, mine, other, bar, faster, (busy, busy_other), rounds)


def take_turns(
    functions: list[Callable[[], object]], rounds: int, calls: int = 1
) -> list[tuple[float, float]]:
    """Return median seconds, and seconds of processor time, of functions that are run in turn."""
    times: list[list[tuple[float, float]]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, kept in zip(functions, times, strict=True):
            start, begin = time.perf_counter(), time.process_time()
            for _ in range(calls):
                function()
            spans = time.perf_counter() - start, time.process_time() - begin
            kept.append((spans[0] / calls, spans[1] / calls))
    return [
        (statistics.median(a for a, _ in kept), statistics.median(b for _, b in kept))
        for kept in times
    ]


@contextmanager
def use_threads(count: int) -> Iterator[None]:
    """Let posteriori use so many threads; others are told by their own arguments."""
    before = os.environ.get("OMP_NUM_THREADS")
    os.environ["OMP_NUM_THREADS"] = str(count)
    try:
        yield
    finally:
        del os.environ["OMP_NUM_THREADS"]
        if before is not None:
            os.environ["OMP_NUM_THREADS"] = before


def time_processes(name: str, ours: str, reference: str, *, bar: float) -> Comparison:
    """Time two statements, each in cold processes that take turns.

    All modules of both are loaded from byte code, as installed ones are; the first run writes it.
    """
    times: tuple[list[float], list[float]] = [], []
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": folder, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(ROUNDS + 1):
            for code, kept in zip((ours, reference), times, strict=True):
                start = time.perf_counter()
                subprocess.run([sys.executable, "-c", code], check=True, env=environment)
                kept.append(time.perf_counter() - start)
    medians = (statistics.median(kept[1:]) for kept in times)
    return Comparison(name, *medians, bar=bar, faster=False)


def peak_memory(function: Callable[[], object]) -> int:
    """Return the most bytes that ``function`` held at one time."""
    tracemalloc.start()
    function()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def report(title: str, rows: list[Comparison]) -> None:
    """Print a table of ratios with their goals."""
    print(f"\n{title}  (medians of {ROUNDS} alternating runs; load {os.getloadavg()[0]:.1f})")
    for row in rows:
        sign = ">=" if row.faster else "<="
        what = "reference/ours" if row.faster else "ours/reference"
        flag = "" if row.met else "   MISSED"
        if row.processor_ratio is not None:
            flag = f" by processor time {row.processor_ratio:.2f}{flag}"
        if row.rounds is not None:
            flag += f"   ({row.rounds} runs)"
        print(
            f"  {row.name:44} {_span(row.ours):>10} vs {_span(row.reference):>10}   "
            f"{what} {row.ratio:6.2f} (goal {sign} {row.bar:g}){flag}",
            flush=True,
        )


def _span(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
