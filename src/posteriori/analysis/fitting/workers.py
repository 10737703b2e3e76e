"""Where fits run: in a thread beside this one, or in processes that share the data.

Threads take turns at Python's lock, so that two do no more than one; processes do not, but start
slowly.
"""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import joblib
from joblib.externals.loky import ProcessPoolExecutor
from threadpoolctl import threadpool_limits

__all__ = ["Submit", "beside", "in_processes"]

#: From a function of the data, and its other arguments, to what it will return.
Submit = Callable[..., Future[Any]]


@contextmanager
def beside(data: Any, threads: int | None = None) -> Iterator[Submit]:
    """Call functions ``f(data, …)`` one after the other, in a thread that never delays the exit.

    Matrix products have so many threads of their own, or as many as there are processors.
    """
    executor = _Daemon()
    with threadpool_limits(threads):
        try:
            yield lambda function, *arguments: executor.submit(function, data, *arguments)
        finally:
            executor.shutdown()


@contextmanager
def in_processes(data: Any, count: int) -> Iterator[Submit]:
    """Call functions ``f(data, …)`` in processes, which are ended with this context.

    The data lie in a temporary file that all map into memory.
    """
    threads = max(1, (os.cpu_count() or 1) // count)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "data"
        joblib.dump(data, path)
        executor = ProcessPoolExecutor(count, initializer=_prepare, initargs=(path, threads))
        try:
            yield partial(_submit_unless_broken, executor)
        finally:
            executor.shutdown(kill_workers=True)


def _submit_unless_broken(executor: Executor, *call: Any) -> Future[Any]:
    """Submit a call; once a process has died, all further ones have failed."""
    try:
        return executor.submit(_call, *call)
    except BrokenExecutor as error:
        failed: Future[Any] = Future()
        failed.set_exception(error)
        return failed


class _Daemon(Executor):
    """An executor of one thread that dies with the program, in the midst of its work."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._ended = threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        self._waiting.put((future, lambda: function(*args, **kwargs)))
        return future

    def shutdown(self, wait: bool = False, *, cancel_futures: bool = True) -> None:
        self._ended.set()
        self._waiting.put(None)

    def _work(self) -> None:
        while (task := self._waiting.get()) is not None and not self._ended.is_set():
            future, call = task
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(call())
            except Exception as error:
                future.set_exception(error)


#: The data of this process, where it works for another one.
_data: Any = None


def _prepare(path: Path, threads: int) -> None:
    global _data
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    threadpool_limits(threads)
    _data = joblib.load(path, mmap_mode="r")


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(_data, *arguments)
