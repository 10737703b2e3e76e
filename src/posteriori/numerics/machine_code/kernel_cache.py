"""Machine code on disk: each kernel under a name that tells what it was made of.

Numba's own cache notices an edit of the file that holds a function, but not of the functions and
constants that it uses from other files. Here the name of a file is a hash of the bytecode of the kernel
and of all kernels that it calls, of the constants that they read, of the types of the arguments and of
the processor: what changed has another name, whatever did not stays, and several versions of the sources
share a folder. A file is written whole or not at all, and read only if its checksum is right.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

from posteriori.numerics.machine_code.claims import claim, give_up
from posteriori.numerics.machine_code.interrupts import interrupts_later

__all__ = ["KernelCache", "cache_folder", "describe_function", "listeners", "writing"]

#: Called with the name of each kernel that is compiled because its code was not in the cache, before it
#: is, in the process that compiles it.
listeners: list[Callable[[str], None]] = []

#: Held while a file is written: who ends this process in another thread waits for it.
writing = threading.Lock()

#: Bytes of the checksum before the code.
_CHECK = 32


@cache
def cache_folder() -> Path:
    """Return the folder of machine code: ``NUMBA_CACHE_DIR``, or one in the user's cache folder.

    It is named by the versions of posteriori, Numba and Python, and by the processor.
    """
    from llvmlite.binding import get_host_cpu_name  # type: ignore[import-untyped]

    named = os.environ.get("NUMBA_CACHE_DIR")
    base = Path(named) if named else _user_folder() / "posteriori"
    python = "".join(map(str, sys.version_info[:2]))
    made_by = f"{version('posteriori')}-numba{version('numba')}-{sys.implementation.name}{python}"
    return base / f"{made_by}-{platform.machine()}-{get_host_cpu_name()}"


def _user_folder() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


class KernelCache:
    """The machine code of one kernel, as Numba asks for it: by the types of the arguments.

    Parameters
    ----------
    function : function
    made_of : str
        From :func:`describe_function`.
    """

    def __init__(self, function: Callable[..., Any], made_of: str) -> None:
        self._name = f"{function.__module__}.{function.__qualname__}"
        self._made_of = made_of

    @property
    def cache_path(self) -> str:
        """The folder."""
        return str(cache_folder())

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return the code for a signature; None, after telling the listeners, if it is to be compiled."""
        _ready_to_run(context)
        path = self._path(signature, context.codegen())
        kept = _read(path, context)
        if kept is None:
            claim(path)
            kept = _read(path, context)  # another process may have made it meanwhile
            if kept is None:
                for listener in listeners:
                    listener(self._name)
            else:
                give_up(path)
        return kept

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep what was compiled for a signature."""
        from numba.core import serialize

        dumps: Any = serialize.dumps
        path = self._path(signature, compiled.codegen)
        try:
            if not compiled.library.has_dynamic_globals and not compiled.lifted:
                code: bytes = dumps(compiled._reduce())  # without addresses of this process
                _write_whole(path, sha256(code).digest() + code)
        except OSError as error:
            _say_once(str(cache_folder()), str(error.strerror))
        finally:
            give_up(path)

    def enable(self) -> None:
        """Do nothing: it is always on."""

    disable = flush = enable

    def _path(self, signature: Any, codegen: Any) -> Path:
        types = [_describe_type(kind) for kind in signature]
        key = repr((self._made_of, types, codegen.magic_tuple()))
        return cache_folder() / f"{self._name}-{sha256(key.encode()).hexdigest()[:32]}.code"


def _ready_to_run(context: Any) -> None:
    """Make what code calls at run time known to the linker.

    ``context.refresh`` does so too, and loads what only the compiler needs, which asks for it itself: longer
    than many a command takes.
    """
    from numba.core.runtime import rtsys

    start: Any = rtsys.initialize
    start(context)


def _read(path: Path, context: Any) -> Any:
    from numba.core import compiler

    rebuild: Any = compiler.CompileResult._rebuild
    try:
        code = path.read_bytes()
        if sha256(code[_CHECK:]).digest() == code[:_CHECK]:
            with interrupts_later():
                return rebuild(context, *pickle.loads(code[_CHECK:]))
    except Exception:  # no such file, or whatever a damaged one is taken for
        pass
    return None


def _write_whole(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing:
        handle, draft = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise


@cache
def _say_once(folder: str, reason: str) -> None:
    warnings.warn(
        f"machine code cannot be kept in {folder} ({reason}): every process compiles its loops anew; name "
        "a folder that can be written to by NUMBA_CACHE_DIR",
        stacklevel=2,
    )


# -- what a kernel is made of ---------------------------------------------------------------------


def describe_function(function: FunctionType, describe_other: Callable[[Any], str | None]) -> str:
    """Return a hash of a function's bytecode and of all that it reads from its surroundings.

    Parameters
    ----------
    function : function
    describe_other : callable
        Describes what is no module, constant or class: other kernels. None is said of what it does not
        know.
    """
    code, scope = function.__code__, function.__globals__
    told = [_describe_code(code, function.__doc__), repr(function.__defaults__)]
    cells = function.__closure__ or ()
    told += [_describe(cell.cell_contents, describe_other) for cell in cells]
    names = list(dict.fromkeys(_names_in(code)))
    for name in names:
        if name not in scope:
            continue
        value = scope[name]
        if isinstance(value, ModuleType) and value.__name__.startswith("posteriori"):
            known = [getattr(value, n) for n in names if hasattr(value, n)]
            told += [_describe(part, describe_other) for part in known]
        else:
            told.append(f"{name}={_describe(value, describe_other)}")
    return sha256("\0".join(told).encode()).hexdigest()


def _describe(value: Any, describe_other: Callable[[Any], str | None]) -> str:
    other = describe_other(value)
    if other is not None:
        return other
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.tobytes().hex()}"
    if isinstance(value, type | FunctionType):
        return f"{value.__module__}.{value.__qualname__}{getattr(value, '_fields', '')}"
    return repr(value)


def _describe_code(code: CodeType, docstring: str | None = None) -> str:
    constants = [_describe_constant(c) for c in code.co_consts if c is not docstring or c is None]
    return repr((code.co_code.hex(), constants, code.co_names, code.co_varnames))


def _describe_constant(constant: Any) -> str:
    if isinstance(constant, CodeType):
        return _describe_code(constant)
    if isinstance(constant, frozenset):  # in an order of its own in each process
        return repr(sorted(map(repr, constant)))
    return repr(constant)


def _names_in(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_in(constant)


def _describe_type(kind: Any) -> str:
    """Return the type of an argument, and for a record what its fields are called."""
    record = getattr(kind, "instance_class", None)
    if record is None:
        return str(kind)
    inner = [_describe_type(part) for part in kind]
    return f"{record.__module__}.{record.__qualname__}{record._fields}{inner}"
