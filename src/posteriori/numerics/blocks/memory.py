"""How much memory is free, and a refusal, with the number, before too much of it is taken."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["free_memory", "require_memory"]

#: Bytes of a float64.
_DOUBLE = 8

#: Where Linux says how much can be taken without swapping.
_MEMINFO = Path("/proc/meminfo")


def free_memory() -> int | None:
    """Return how many bytes can be taken, or None where the system does not say."""
    try:
        lines = _MEMINFO.read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def require_memory(what: str, numbers: int, remedy: str) -> None:
    """Refuse arrays of more numbers than fit into free memory.

    Parameters
    ----------
    what : str
        What would be made, as the subject of a sentence.
    numbers : int
        Of 8 bytes.
    remedy : str
        What to do in place of it.

    Raises
    ------
    MemoryError
        That says how much is needed and how much is free.
    """
    free = free_memory()
    if free is not None and _DOUBLE * numbers > free:
        raise MemoryError(
            f"{what} needs {_DOUBLE * numbers / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB are "
            f"free; {remedy}"
        )
