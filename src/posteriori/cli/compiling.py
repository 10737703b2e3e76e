"""What a command says while it compiles: once, and only if it does."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from mmap import mmap

from posteriori.numerics.machine_code.kernel_cache import listeners

__all__ = ["told_compilation"]

#: Seconds that the first run of each command compiles, and of those that are not named: as
#: bench/bench_compilation.py measures them on a processor that takes ``_REFERENCE`` seconds to count to ``_COUNTED``.
_SECONDS, _OTHERS = {"compare": 11, "demo": 11, "cluster": 5, "segment": 2, "forecast": 2}, 3
#: Told by a loop of plain Python.
_REFERENCE, _COUNTED = 0.009, 500_000


@contextmanager
def told_compilation(command: str) -> Iterator[None]:
    """Say on standard error that loops are compiled, before the first one is.

    What is said appears above bars and tables that are drawn meanwhile.
    """
    lock, said = threading.Lock(), mmap(-1, 1)  # seen by copies of this process as well

    def tell(_: str) -> None:
        with lock:
            if not said[0]:
                said[0] = 1
                about = _SECONDS.get(command, _OTHERS) * _slowness()
                print(
                    f"compiling loops for this machine, once (about {about:.0f} s)", file=sys.stderr
                )

    listeners.append(tell)
    try:
        yield
    finally:
        listeners.remove(tell)


def _slowness() -> float:
    """Return how long this processor takes beside the one on which seconds were measured."""
    start = time.thread_time()
    total = 0
    for number in range(_COUNTED):
        total += number
    return (time.thread_time() - start) / _REFERENCE
