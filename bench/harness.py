"""Timing in alternating runs: ours and a reference take turns, and ratios of medians count."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Comparison", "compare", "peak_memory", "report", "time_processes"]

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
        Median seconds of processor time, which other work on the machine disturbs less.
    """

    name: str
    ours: float
    reference: float
    bar: float
    faster: bool
    processor: tuple[float, float] | None = None

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
) -> Comparison:
    """Time both in ``ROUNDS`` alternating runs of ``calls`` calls each."""
    ours(), reference()
    times: tuple[list[float], list[float]] = [], []
    processor: tuple[list[float], list[float]] = [], []
    for _ in range(ROUNDS):
        for function, kept, busy in zip((ours, reference), times, processor, strict=True):
            start, begin = time.perf_counter(), time.process_time()
            for _ in range(calls):
                function()
            kept.append((time.perf_counter() - start) / calls)
            busy.append((time.process_time() - begin) / calls)
    medians = statistics.median(processor[0]), statistics.median(processor[1])
    return Comparison(
        name, *map(statistics.median, times), bar=bar, faster=faster, processor=medians
    )


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
    print(f"\n{title}  (medians of {ROUNDS} alternating runs)")
    for row in rows:
        sign = ">=" if row.faster else "<="
        what = "reference/ours" if row.faster else "ours/reference"
        flag = "" if row.met else "   MISSED"
        if row.processor_ratio is not None:
            flag = f" by processor time {row.processor_ratio:.2f}{flag}"
        print(
            f"  {row.name:44} {_span(row.ours):>10} vs {_span(row.reference):>10}   "
            f"{what} {row.ratio:6.2f} (goal {sign} {row.bar:g}){flag}"
        )


def _span(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"
