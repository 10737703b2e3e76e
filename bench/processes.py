"""Processor seconds, wall seconds and memory of whole processes, with an empty or a full cache of machine code."""

from __future__ import annotations

import compileall
import os
import resource
import site
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import posteriori

__all__ = ["Spent", "compiled", "make_byte_code", "run", "run_warm", "show", "spent"]

HERE = Path(__file__).parent


def make_byte_code() -> None:
    """Leave modules as an installation leaves them: no run is to be the one that makes byte code."""
    for modules in (*site.getsitepackages(), Path(posteriori.__file__).parent):
        compileall.compile_dir(modules, quiet=2, workers=0)


class Spent(NamedTuple):
    """Processor seconds and the most memory of a process and those that it waited for; wall seconds; its last line."""

    processor: float
    wall: float
    megabytes: float
    said: str


def run(arguments: tuple[str, ...], cache: Path) -> Spent:
    """Run Python with arguments, and with a folder of machine code."""
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    surroundings = {**os.environ, **threads, "NUMBA_CACHE_DIR": str(cache)}
    command, start = [sys.executable, "-W", "ignore", *arguments], time.perf_counter()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, cwd=HERE, env=surroundings, stdout=out, stderr=errors)
        _, status, used = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        said, told = (file.seek(0) or file.read() for file in (out, errors))
    if process.returncode:
        raise RuntimeError(f"{command} failed: {told}")
    last = said.rstrip().rpartition("\n")[2]
    return Spent(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, last)


def run_warm(arguments: tuple[str, ...], cache: Path) -> Spent:
    """Run again where the first run had something to compile."""
    before = set(cache.rglob("*"))
    spent = run(arguments, cache)
    if set(cache.rglob("*")) != before:
        spent = run(arguments, cache)
    show(warm=spent)
    return spent


def compiled(arguments: tuple[str, ...]) -> tuple[Spent, float]:
    """Return what a warm run takes, and what a cold one takes beyond."""
    with tempfile.TemporaryDirectory() as folder:
        cold, warm = (run(arguments, Path(folder)) for _ in range(2))
    show(cold=cold, warm=warm)
    return warm, cold.processor - warm.processor


def show(**runs: Spent) -> None:
    told = (f"{how} {s.processor:.1f} s, wall {s.wall:.1f} s" for how, s in runs.items())
    print("    " + "; ".join(told), flush=True)


def spent() -> float:
    """Return the processor seconds so far of this process and of all that it has started."""
    import psutil

    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    living = (child.cpu_times() for child in psutil.Process().children(recursive=True))
    others = ended.ru_utime + ended.ru_stime + sum(sum(times[:4]) for times in living)
    return time.process_time() + others
