"""Processes that begin as copies of this one: they have the data and all that is loaded, at once.

A copy shares memory with what it was made of until one of both writes to it, so that it costs
milliseconds where a new process loads libraries for seconds. Only the thread that asks goes on in it:
copies are made where the system and the libraries know how to (Linux), and before any thread of ours
is started.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import pickle
import signal
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Future
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any, NamedTuple

from posteriori.numerics.machine_code.kernel_cache import listeners

__all__ = ["ORPHANED", "Copies"]

#: The option of Linux's prctl that names the signal a process gets when its parent has died.
_SET_DEATH_SIGNAL = 1

#: What a process that has lost its parent returns to nobody.
ORPHANED = 1

#: What copies say.
_RESULT, _ERROR, _COMPILING = range(3)


class _Copy(NamedTuple):
    """A process, this end of the pipe to it, and the thread that hands it calls."""

    process: Any
    pipe: Connection
    thread: threading.Thread


class Copies:
    """Copies of this process that call functions ``f(data, …)`` until :meth:`end`.

    Parameters
    ----------
    data : object
        Never sent: the copies have it.
    count : int
        How many; fewer where there is no room for all.
    environment : mapping
        Variables that are different in the copies.

    Raises
    ------
    OSError
        Where there is no room for one.
    """

    def __init__(self, data: Any, count: int, environment: dict[str, str]) -> None:
        self._waiting: SimpleQueue[tuple[Future[Any], bytes] | None] = SimpleQueue()
        self._copies: list[_Copy] = []
        # those of other threads, which do not go on in a copy
        with warnings.catch_warnings(action="ignore"):
            for _ in range(count):
                try:
                    self._copies.append(self._copy(data, environment))
                except OSError:
                    if not self._copies:
                        raise
                    break
        for copy in self._copies:
            copy.thread.start()

    def submit(self, *call: Any) -> Future[Any]:
        """Have ``call[0](data, *call[1:])`` called by the next copy that is free."""
        future: Future[Any] = Future()
        self._waiting.put((future, pickle.dumps(call)))
        return future

    def alive(self) -> bool:
        """Tell whether a copy is left."""
        return any(copy.thread.is_alive() for copy in self._copies)

    def end(self) -> None:
        """End all copies, whatever they are doing."""
        for copy in self._copies:
            copy.process.kill()
            self._waiting.put(None)
        for copy in self._copies:
            copy.process.join()
            copy.thread.join()
            copy.pipe.close()
            copy.process.close()

    def _copy(self, data: Any, environment: dict[str, str]) -> _Copy:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        given = (theirs, data, environment, os.getpid())
        process = context.Process(target=_serve, args=given, daemon=True)
        process.start()
        theirs.close()  # with the copy's own end gone, reading from it ends
        thread = threading.Thread(target=_hand_out, args=(self._waiting, ours), daemon=True)
        return _Copy(process, ours, thread)


def _hand_out(waiting: SimpleQueue[tuple[Future[Any], bytes] | None], pipe: Connection) -> None:
    """Send calls to a copy, one at a time, and wait for what it answers, until it has died."""
    while (task := waiting.get()) is not None:
        future, call = task
        if not future.set_running_or_notify_cancel():
            continue
        try:
            pipe.send_bytes(call)
            while (name := _settle(future, pipe.recv_bytes())) is not None:
                for listener in listeners:
                    listener(name)
        except (EOFError, OSError) as error:
            future.set_exception(BrokenExecutor(str(error)))
            return


def _settle(future: Future[Any], answer: bytes) -> str | None:
    """Take an answer; what is none yet names a kernel that is being compiled."""
    try:
        kind, said = pickle.loads(answer)
    except Exception as error:  # an exception may be one that cannot be made again
        kind, said = _ERROR, error
    if kind == _COMPILING:
        return str(said)
    (future.set_result if kind == _RESULT else future.set_exception)(said)
    return None


# -- in the copies ---------------------------------------------------------------------------------


def _serve(pipe: Connection, data: Any, environment: dict[str, str], parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that asked
    _end_with_parent()
    if os.getppid() != parent:  # it was gone before the line above
        os._exit(ORPHANED)
    os.environ.update(environment)
    # what is printed here might wait for a thread of the terminal's that has not come along
    listeners[:] = [lambda name: pipe.send_bytes(pickle.dumps((_COMPILING, name)))]
    try:
        while True:
            function, *arguments = pickle.loads(pipe.recv_bytes())
            pipe.send_bytes(_answer(function, data, *arguments))
    finally:
        os._exit(ORPHANED)


def _answer(function: Callable[..., Any], *arguments: Any) -> bytes:
    """Return what a function says, or its error, as bytes."""
    try:
        return pickle.dumps((_RESULT, function(*arguments)))
    except Exception as error:
        return pickle.dumps((_ERROR, error))


def _end_with_parent() -> None:
    """Let this process be killed when its parent has died, on Linux."""
    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL)
