"""Who compiles: one process at a time makes a file of machine code, and the others wait for it.

A claim is a lock of the system on a file beside the one that is made. It ends with the process that holds it,
however that ends. Where there are no such locks, or no place for them, both compile: that costs time only.
"""

from __future__ import annotations

import atexit
import os
import time
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["claim", "give_up", "give_up_all"]

#: Seconds that another process is waited for, and between two looks.
_PATIENCE, _LOOK = 60.0, 0.02

#: What this process has claimed: files that hold the locks.
_claims: dict[Path, int] = {}


def claim(path: Path) -> None:
    """Claim a file to be made; first wait while another process makes it."""
    if fcntl is None or path in _claims:
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(_lock(path), os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:  # there is no place for it
        return
    if _waited_for(handle):
        _claims[path] = handle
    else:
        os.close(handle)


def give_up(path: Path) -> None:
    """End a claim, whether the file was made or not."""
    if path in _claims:
        _lock(path).unlink(missing_ok=True)
        os.close(_claims.pop(path))


@atexit.register
def give_up_all() -> None:
    """End all claims of this process: of what was interrupted."""
    for path in list(_claims):
        give_up(path)


def _waited_for(handle: int) -> bool:
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            time.sleep(_LOOK)
        except OSError:  # a file system without locks
            return False
    return False


def _lock(path: Path) -> Path:
    return path.with_suffix(".claim")
