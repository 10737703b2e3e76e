"""Ctrl-C while machine code is made: it waits until that is whole."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["interrupts_later"]


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Let Ctrl-C wait: raised in a function of Python that LLVM calls, it would be lost, and the code with it."""
    usual: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(usual):
        yield
        return
    came: list[tuple[Any, ...]] = []
    signal.signal(signal.SIGINT, lambda *call: came.append(call))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
        for call in came[:1]:
            usual(*call)
