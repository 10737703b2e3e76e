"""A second process that compiles what a command needs later, while its first models are fitted.

Both keep their code in the same folder, and neither compiles what the other has claimed
(:mod:`posteriori.numerics.machine_code.claims`). The second one ends with the first: its input is a pipe that
nobody writes to, which the system closes when the first one is gone, however it went.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from posteriori.analysis.warming.recipes import RECIPES, follow
from posteriori.numerics.compilation import STAYS_PLAIN
from posteriori.numerics.machine_code.claims import give_up_all
from posteriori.numerics.machine_code.kernel_cache import cache_folder, listeners, writing
from posteriori.numerics.threads import processor_count

__all__ = ["compiling_ahead", "note_done", "work_ahead"]

_CODE = "import sys\nfrom posteriori.analysis.warming.compiling_ahead import work_ahead\nwork_ahead(sys.argv[1:])"
#: Seconds that the process may take to end.
_PATIENCE = 5.0


@contextmanager
def compiling_ahead(find: Callable[[], Sequence[str]]) -> Iterator[None]:
    """Let another process compile what is needed later, where that is not done and there is a processor for it.

    Those who listen to the compiler of this process hear of the other's kernels as well, from a thread.

    Parameters
    ----------
    find : callable
        Returns the names of the recipes that are needed; asked only where another process can help.
    """
    recipes = [name for name in find() if not _note(name).exists()] if _can_help() else []
    if not recipes:
        yield
        return
    with _start(recipes) as process:
        listener = threading.Thread(target=_pass_on, args=(process,), daemon=True)
        try:
            listener.start()
            yield
        finally:
            _end(process)
            if listener.ident is not None:  # it was started
                listener.join()


def _start(recipes: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CODE, *recipes],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,  # Ctrl-C is for the process that asked
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )


def work_ahead(recipes: Sequence[str]) -> None:
    """Follow recipes in the process that was started for it, and note which are done."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    listeners.append(lambda name: print(name, flush=True))
    for name in recipes:
        follow(RECIPES[name])
        note_done(name)


def note_done(recipe: str) -> None:
    """Note that all which a recipe needs is compiled."""
    _note(recipe).touch()


def _can_help() -> bool:
    if STAYS_PLAIN or processor_count() < 2:
        return False
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(cache_folder(), os.W_OK)


def _note(recipe: str) -> Path:
    return cache_folder() / f"{recipe}.compiled"


def _pass_on(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        for tell in listeners:
            tell(line.strip())


def _end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _end_with_parent() -> None:
    sys.stdin.read()
    with writing:  # no file is left half-written
        give_up_all()
        os._exit(1)
