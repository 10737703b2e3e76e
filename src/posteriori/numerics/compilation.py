"""Loops over arrays: compiled by Numba where their work pays for it, plain Python before that.

Importing Numba costs several times the import of NumPy, and its first loop as much again. So a
recursion is written once, as plain loops over entries ``a[i][j]``, and :func:`run` decides: plain
on lists of floats, whose entries Python reads five times faster than those of arrays, or compiled
on the arrays themselves. Both take the same steps in the same order and round alike.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial, update_wrapper
from types import FunctionType
from typing import Any, Literal, TypeVar, cast, overload

import numpy as np

from posteriori.numerics.machine_code.kernel_cache import describe_function
from posteriori.numerics.machine_code.kernel_compilers import compile_loop
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "STAYS_PLAIN",
    "as_kernel_indices",
    "as_kernel_input",
    "compile_at_once",
    "integers",
    "kernel",
    "largest",
    "logarithm",
    "matrix",
    "numbers",
    "run",
]

_Function = TypeVar("_Function", bound=Callable[..., object])

#: Seconds that the import of Numba and its first loop take.
_IMPORT = 1.5
#: … that a further loop takes to come from Numba's cache.
_LOAD = 0.15
#: … that a multiplication in plain Python takes at least, with what is around it.
_LEAST = 3e-8
#: What is divided by 0 becomes infinite, as in NumPy: loops see to it that nothing is.
_OPTIONS: dict[str, Any] = {"error_model": "numpy"}
#: Without Python's lock, and without references that are counted.
_BESIDE: dict[str, Any] = {"nogil": True, "_nrt": False}
#: What only compiled functions call needs no code that Python could call …
_PART: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
#: … and makes no arrays.
_BARE_PART: dict[str, Any] = {**_BESIDE, **_PART}
#: Options of Numba by who calls a kernel …
_CALLED: dict[str, dict[str, Any]] = {
    "python": {"no_cfunc_wrapper": True},
    "kernels": _BARE_PART,
    "inlined": {"forceinline": True, **_BARE_PART},
    "written out": {"inline": "always", **_BARE_PART},
}
#: … and by how it may round sums.
_SUMS: dict[str, dict[str, Any]] = {
    "exact": {},
    "fused": {"fastmath": {"contract"}},
    "free": {"fastmath": {"reassoc", "contract"}},
}
#: Whether nothing is compiled: to look into loops with a debugger.
STAYS_PLAIN = os.environ.get("POSTERIORI_NO_COMPILE", "0") not in ("", "0")
#: Whether loops are compiled before that pays.
_hurries = False
#: From this many series on, NumPy's steps over all of them are faster than a loop over each.
_MANY = 16


@overload
def kernel(function: _Function, /) -> _Function: ...
@overload
def kernel(
    *,
    called: Literal["python", "kernels", "inlined", "written out"] = ...,
    sums: Literal["exact", "fused", "free"] = ...,
    allocates: bool = ...,
    plain: bool = ...,
) -> Callable[[_Function], _Function]: ...
def kernel(
    function: Any = None,
    /,
    *,
    called: str = "python",
    sums: str = "exact",
    allocates: bool = True,
    plain: bool = False,
) -> Any:
    """Compile a function of arrays and scalars when it is first called; keep the code on disk.

    Importing Numba costs several times the import of NumPy. Only the first call does, so files of
    compiled loops are imported at the top like any other. Threads may run beside a kernel: arrays
    that it writes to must not be read or written by them meanwhile.

    Parameters
    ----------
    called : {"python", "kernels", "inlined", "written out"}
        By whom. What only kernels call has no code that Python could call, and makes no arrays. A
        small function is compiled *inlined* into those that call it, where handing over arrays would
        cost more than it does: it is compiled alone first, then again in each function around it. A
        large one is *written out* where it is called before anything is compiled, so that a tower of
        them is not compiled once for each storey.
    sums : {"exact", "fused", "free"}
        How sums may be rounded: as written; with a product and the sum around it rounded once, which
        is as fast as the product alone where processors have that step; or several terms at a time,
        so that rounding may differ between machines. NaN and infinity keep their meaning.
    allocates : bool
        Whether it makes arrays. Where it does not nothing counts references, which costs more than a
        loop over a few rows, and most of the time that it takes to compile records of many arrays.
    plain : bool
        Whether it also runs as plain Python: :func:`run` decides, and may call it with lists. It
        reads and writes single entries ``a[i][j]``, rows ``a[i]`` and records of arrays; what it
        needs beside its arguments comes from :func:`numbers`, :func:`matrix` and :func:`integers`.
    """
    if plain:
        return partial(_mark_plain, allocates=allocates)
    options: dict[str, Any] = {"nogil": True, **_CALLED[called], **_SUMS[sums]}
    if not allocates:
        options["_nrt"] = False
    if function is None:
        return partial(_CompiledOnUse, **options)
    return _CompiledOnUse(function, **options)


class _CompiledOnUse:
    """A loop that becomes machine code, with all loops that it calls, on its first call."""

    __wrapped__: Any

    def __init__(self, function: Callable[..., object], **options: Any) -> None:
        update_wrapper(self, function)
        self._options = options

    def __call__(self, *arguments: object) -> object:
        return self._machine_code(*arguments)

    @cached_property
    def _machine_code(self) -> Callable[..., object]:
        function = self.__wrapped__
        if STAYS_PLAIN:
            return cast(Callable[..., object], function)
        made = compile_loop(function, self._made_of, **self._options)
        scope = function.__globals__  # where the compiler looks up what the function calls
        for name in function.__code__.co_names:
            part = scope.get(name)
            if isinstance(part, _CompiledOnUse):
                scope[name] = made if part is self else part._machine_code
        return made

    @cached_property
    def _made_of(self) -> str:
        def describe(value: Any) -> str | None:
            if value is self:
                return "itself"
            known: str | None = getattr(value, "_made_of", None)
            return known

        options = sorted(
            (name, repr(sorted(v) if isinstance(v, set) else v))
            for name, v in self._options.items()
        )
        return repr((options, describe_function(self.__wrapped__, describe)))


def as_kernel_input(a: Array) -> Array:
    """Return contiguous read-only float64: one type for the compiler, whatever was handed in."""
    if a.dtype == np.float64 and a.flags.c_contiguous and not a.flags.writeable:
        return a
    view = np.ascontiguousarray(a, dtype=np.float64).view()
    view.setflags(write=False)
    return view


def as_kernel_indices(a: Array) -> IntArray:
    """Return contiguous read-only int64, as :func:`as_kernel_input` does numbers."""
    if a.dtype == np.int64 and a.flags.c_contiguous and not a.flags.writeable:
        return a
    view = np.ascontiguousarray(a, dtype=np.int64).view()
    view.setflags(write=False)
    return view


# -- one body, plain or compiled -------------------------------------------------------------

_compilable: dict[object, Callable[..., object]] = {}
#: Those that make no arrays.
_bare: set[object] = set()
#: What plain runs of each function have done: work and seconds.
_spent: defaultdict[object, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))


def _mark_plain(function: Callable[..., object], *, allocates: bool) -> Callable[..., object]:
    _compilable[function] = function
    if not allocates:
        _bare.add(function)
    return function


def run(
    body: Callable[..., Any], work: float, *arguments: Any, series: Sequence[Array] = ()
) -> Any:
    """Run a kernel that also runs plain: uncompiled while there is little to do, compiled from then on.

    Plain runs are timed: a function is compiled once the process has spent on it, or would with this
    call, as much as that costs. So nobody waits longer than twice the time that the better choice,
    known beforehand, would have taken.

    Parameters
    ----------
    body : function
        Marked by :func:`kernel` as plain.
    work : float
        About how many multiplications this call needs: what other calls took tells how long it takes.
    arguments : arrays, records of arrays, numbers
        Arrays that may be written to are results; the others are locked (:func:`as_kernel_input`).
    series : sequence of arrays (B, ...)
        The last arguments: independent series, of which each step asks the same. Where they are
        many and the run is plain, they become one series whose numbers are vectors of length B:
        no step may then depend on their values, nor change a number in place. An array of fewer
        series is repeated.

    Returns
    -------
    object
        What the function returns.
    """
    if _pays(body, work):
        return _machine_code(body)(*arguments, *series)
    start = time.thread_time()
    answer = _run_plain(body, arguments, series)
    done, seconds = _spent[body]
    _spent[body] = done + work, seconds + time.thread_time() - start
    return answer


def compile_at_once() -> None:
    """Compile every kernel when it is first called, however little there is to do: to fill the cache."""
    global _hurries
    _hurries = True


def _run_plain(body: Callable[..., Any], arguments: Sequence[Any], series: Sequence[Array]) -> Any:
    many = max(map(len, series), default=0)
    lists = [_as_lists(a) for a in (arguments if many >= _MANY else (*arguments, *series))]
    vectors = [[_as_vectors(a, many)] for a in series] if many >= _MANY else []
    with np.errstate(all="ignore"):  # as in compiled loops
        answer = body(*lists, *vectors)
    for array, values in zip((*arguments, *series), lists, strict=False):
        if isinstance(array, np.ndarray) and array.flags.writeable and array.size:
            array[...] = values
    for array, values in zip(series, vectors, strict=False):
        if array.flags.writeable:
            _fill(np.moveaxis(array, 0, -1), values[0])
    return answer


def numbers(length: int) -> Array:
    """Return zeros (length,)."""
    return cast(Array, [0.0] * length)


def integers(length: int) -> IntArray:
    """Return zeros (length,) to count and to index with."""
    return cast(IntArray, [0] * length)


def matrix(rows: int, columns: int) -> Array:
    """Return zeros (rows, columns)."""
    return cast(Array, [[0.0] * columns for _ in range(rows)])


def largest(x: float) -> float:
    """Return the largest of a vector of series, or the number itself."""
    return x if isinstance(x, float) else float(np.max(x))


def logarithm(x: float) -> float:
    """Return ln x, of each series where it is a vector of them."""
    return math.log(x) if isinstance(x, float) else cast(float, np.log(x))


def _array_of_numbers(length: int) -> Array:
    return np.zeros(length)


def _array_of_integers(length: int) -> IntArray:
    return np.zeros(length, dtype=np.int64)


def _array_of_rows(rows: int, columns: int) -> Array:
    return np.zeros((rows, columns))


def _itself(x: float) -> float:
    return x


def _logarithm(x: float) -> float:
    return math.log(x)


_compilable |= {
    numbers: _array_of_numbers,
    integers: _array_of_integers,
    matrix: _array_of_rows,
    largest: _itself,
    logarithm: _logarithm,
}


def _pays(body: object, work: float) -> bool:
    """Tell whether compiling pays: once it has been done, it is always right."""
    done, seconds = _spent[body]
    expected = work * max(_LEAST, seconds / done if done else 0.0)
    everywhere = sum(s for _, s in _spent.values())
    pays = not STAYS_PLAIN and (
        _hurries
        or (
            seconds + expected > _LOAD
            and ("numba" in sys.modules or everywhere + expected > _IMPORT + _LOAD)
        )
    )
    if pays:
        _spent[body] = 1.0, math.inf
    return pays


@cache
def _machine_code(body: FunctionType) -> Callable[..., Any]:
    options = _BESIDE if body in _bare else {}
    made_of = _describe_plain(body)
    return compile_loop(_with_parts(body), made_of, no_cfunc_wrapper=True, **_OPTIONS, **options)


@cache
def _part(function: FunctionType) -> Callable[..., Any]:
    """Compile what a loop calls: into its machine code, as arrays are costly to hand over."""
    options = _BARE_PART if function in _bare else _PART
    made_of = _describe_plain(function)
    return compile_loop(_with_parts(function), made_of, forceinline=True, **_OPTIONS, **options)


def _with_parts(function: FunctionType) -> FunctionType:
    """Return a function whose plain names stand for their compiled forms."""
    form = cast(FunctionType, _compilable[function])
    scope = dict(form.__globals__)
    for name in form.__code__.co_names:
        value = scope.get(name)
        if isinstance(value, FunctionType) and value in _compilable:
            scope[name] = _part(value)
    return FunctionType(form.__code__, scope, form.__name__)


@cache
def _describe_plain(function: FunctionType) -> str:
    """Return what a kernel that also runs plain is made of, with all that it calls."""

    def describe(value: Any) -> str | None:
        known = isinstance(value, FunctionType) and value in _compilable
        return _describe_plain(value) if known else None

    form = cast(FunctionType, _compilable[function])
    return repr((function in _bare, describe_function(form, describe)))


def _as_lists(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return type(value)(*map(_as_lists, value)) if isinstance(value, tuple) else value


def _as_vectors(a: Array, many: int) -> Any:
    """Turn series (B, ...) into lists (...) of vectors of length ``many``."""
    whole = np.resize(a, (many, *a.shape[1:]))
    return _nested(np.ascontiguousarray(np.moveaxis(whole, 0, -1)))


def _nested(a: Array) -> Any:
    return a if a.ndim == 1 else [_nested(part) for part in a]


def _fill(array: Array, values: Any) -> None:
    if isinstance(values, list):
        for part, value in zip(array, values, strict=True):
            _fill(part, value)
    else:
        array[...] = values
