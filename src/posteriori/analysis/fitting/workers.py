"""Where fits run: in a thread beside this one, or in processes that share the data.

Threads take turns at Python's lock, so that two do no more than one; processes do not. They are copies
of this one where the system can make some, else they start anew, which takes seconds. Nothing outlives
the program, however it ends: the thread is a daemon, and processes end when their parent is gone.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

import joblib
from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend.context import get_context
from threadpoolctl import threadpool_limits

from posteriori.analysis.fitting.copies import ORPHANED, Copies
from posteriori.numerics.threads import processor_count

__all__ = [
    "COPIES",
    "OutOfTimeError",
    "Workers",
    "beside",
    "count_jobs",
    "done_calls",
    "in_new_processes",
    "in_processes",
]

#: Most processes that are started unasked.
_MOST_JOBS = 8

#: Seconds between two looks at the time.
_LOOK = 0.1

#: Whether processes are copies of this one: elsewhere than on Linux libraries do not survive that.
COPIES = sys.platform == "linux"


class Workers(NamedTuple):
    """Those who work.

    Attributes
    ----------
    submit : callable
        From a function ``f(data, …)``, and its other arguments, to what it will return.
    alive : callable
        Tells whether what was submitted may still be done.
    """

    submit: Callable[..., Future[Any]]
    alive: Callable[[], bool]


class OutOfTimeError(Exception):
    """What is not done yet is not waited for."""


def done_calls(
    workers: Workers, calls: deque[tuple[Any, tuple[Any, ...]]], at_once: int, deadline: float
) -> Iterator[tuple[Any, Any]]:
    """Yield the key of each call and what it returned once it is done, None where its worker has died.

    Only as many calls are handed over as are soon begun: those that wait can be taken back out of ``calls``.

    Raises
    ------
    OutOfTimeError
        When the deadline is over before all are done.
    """
    running: dict[Future[Any], Any] = {}
    while calls or running:
        if time.monotonic() > deadline:
            raise OutOfTimeError
        while calls and len(running) < at_once:
            key, call = calls.popleft()
            running[workers.submit(*call)] = key
        alive = workers.alive()  # asked before it is waited: what they did last is among the done
        done = wait(running, timeout=_LOOK, return_when=FIRST_COMPLETED).done
        for future in done if alive else list(running):
            # only a call whose worker was killed has an exception of its own, or no end
            lost = not future.done() or future.exception() is not None
            yield running.pop(future), None if lost else future.result()


def count_jobs(asked: int | None) -> int:
    """Return how many fits run at a time: as asked, or one for each processor, but not too many."""
    return asked or min(processor_count(), _MOST_JOBS)


@contextmanager
def beside(data: Any, threads: int | None = None) -> Iterator[Workers]:
    """Call functions ``f(data, …)`` one after the other, in a thread that never delays the exit.

    Matrix products have so many threads of their own, or as many as there are processors.
    """
    executor = _Daemon()

    def submit(function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        return executor.submit(function, data, *arguments)

    with threadpool_limits(threads):
        try:
            yield Workers(submit, executor.thread.is_alive)
        finally:
            executor.shutdown()


@contextmanager
def in_processes(data: Any, count: int) -> Iterator[Workers]:
    """Call functions ``f(data, …)`` in processes, which are ended with this context.

    Each has its share of the processors for threads of our loops. Libraries have one thread in copies:
    those that GNU's OpenMP has started are missing in a copy, which would wait for them for ever.
    """
    threads = max(1, processor_count() // count)
    if not COPIES:
        with in_new_processes(data, count, threads) as workers:
            yield workers
        return
    with threadpool_limits(1):  # copies have this limit too
        try:
            copies = Copies(data, count, {"OMP_NUM_THREADS": str(threads)})
        except OSError:  # there is no room for one
            with beside(data, threads) as workers:
                yield workers
            return
        try:
            yield Workers(copies.submit, copies.alive)
        finally:
            copies.end()


@contextmanager
def in_new_processes(data: Any, count: int, threads: int) -> Iterator[Workers]:
    """Do the same in processes that start anew; the data lie in a file that all map into memory."""
    parent, ours = get_context("loky").Pipe(duplex=False)  # at its end when this process ends
    with _shared(data) as path, parent, ours, _quiet_manager(), _quiet_tracker():
        executor = ProcessPoolExecutor(
            count, initializer=_prepare, initargs=(path, threads, parent)
        )

        def submit(*call: Any) -> Future[Any]:
            try:
                return executor.submit(_call, *call)
            except (
                BrokenExecutor
            ) as error:  # once a process has died, all further calls have failed
                failed: Future[Any] = Future()
                failed.set_exception(error)
                return failed

        def alive() -> bool:  # the thread that hands out calls may die for lack of memory
            manager = executor._executor_manager_thread
            return manager is None or manager.is_alive()

        try:
            yield Workers(submit, alive)
        finally:
            executor.shutdown(kill_workers=True)


@contextmanager
def _quiet_manager() -> Iterator[None]:
    """Leave it to ``alive`` to tell that the thread which hands out calls has died.

    It may when Ctrl-C ends the processes before it knows, and would print how.
    """
    usual = threading.excepthook

    def hear(died: threading.ExceptHookArgs) -> None:
        if not type(died.thread).__module__.startswith("joblib."):
            usual(died)

    threading.excepthook = hear
    try:
        yield
    finally:
        threading.excepthook = usual


@contextmanager
def _quiet_tracker() -> Iterator[None]:
    """Start the process that tidies up after others so that it does not tell of what it finds.

    When Ctrl-C reaches all processes at once, locks may be gone before they are given back.
    """
    usual = os.environ.get("PYTHONWARNINGS")
    quiet = "ignore:resource_tracker:UserWarning"
    os.environ["PYTHONWARNINGS"] = f"{usual},{quiet}" if usual else quiet
    try:
        yield
    finally:
        if usual is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = usual


@contextmanager
def _shared(data: Any) -> Iterator[Path]:
    """Write data to a file for others to map."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "data"
        joblib.dump(data, path)
        yield path


class _Daemon(Executor):
    """An executor of one thread that dies with the program, in the midst of its work."""

    def __init__(self) -> None:
        self._waiting: SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None] = SimpleQueue()
        self._ended = threading.Event()
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

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


# -- in the processes ----------------------------------------------------------------------------

#: The data of this process, where it works for another one.
_data: Any = None


def _prepare(path: Path, threads: int, parent: Any) -> None:
    global _data
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    threading.Thread(target=_end_with, args=(parent, path), daemon=True).start()
    threadpool_limits(threads)
    _data = joblib.load(path, mmap_mode="r")


def _end_with(parent: Any, path: Path) -> None:
    """End this process when the other end of a pipe is closed, and with it what was shared."""
    parent.poll(None)
    shutil.rmtree(path.parent, ignore_errors=True)
    os._exit(ORPHANED)


def _call(function: Callable[..., Any], *arguments: Any) -> Any:
    return function(_data, *arguments)
