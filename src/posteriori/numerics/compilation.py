"""Compiled loops: Numba on first use, plain Python where its JIT is switched off."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from typing import Any, TypeVar, cast

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["as_kernel_input", "compiled", "compiled_sums"]

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compile a function of arrays and scalars when it is first called; keep the code on disk.

    Importing Numba costs several times the import of NumPy. Only the first call does, so files of
    compiled loops are imported at the top like any other.
    """
    return cast(_Function, _CompiledOnUse(function))


def compiled_sums(function: _Function) -> _Function:
    """Compile as ``compiled`` does a function whose sums may be taken several terms at a time.

    Their rounding may then differ between machines; NaN and infinity keep their meaning.
    """
    return cast(_Function, _CompiledOnUse(function, fastmath={"reassoc", "contract"}))


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
        from numba import njit

        function = self.__wrapped__
        made: Callable[..., object] = njit(cache=True, **self._options)(function)
        scope = function.__globals__  # where the compiler looks up what the function calls
        for name in function.__code__.co_names:
            part = scope.get(name)
            if isinstance(part, _CompiledOnUse):
                scope[name] = made if part is self else part._machine_code
        return made


def as_kernel_input(a: Array) -> Array:
    """Return contiguous read-only float64: one type for the compiler, whatever was handed in."""
    view = np.ascontiguousarray(a, dtype=np.float64).view()
    view.setflags(write=False)
    return view
