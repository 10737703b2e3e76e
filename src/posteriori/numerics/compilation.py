"""Compiled loops: Numba on first use, plain Python where its JIT is switched off."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, cast

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["as_kernel_input", "compiled", "compiled_sums"]

_Function = TypeVar("_Function", bound=Callable[..., object])


def compiled(function: _Function) -> _Function:
    """Compile a function of arrays and scalars, and keep the machine code on disk.

    Importing Numba costs several times the import of NumPy, so the files that use this decorator
    hold nothing else and are imported inside the functions that need them.
    """
    from numba import njit

    return cast(_Function, njit(cache=True)(function))


def compiled_sums(function: _Function) -> _Function:
    """Compile as ``compiled`` does a function whose sums may be taken several terms at a time.

    Their rounding may then differ between machines; NaN and infinity keep their meaning.
    """
    from numba import njit

    return cast(_Function, njit(cache=True, fastmath={"reassoc", "contract"})(function))


def as_kernel_input(a: Array) -> Array:
    """Return contiguous read-only float64: one type for the compiler, whatever was handed in."""
    view = np.ascontiguousarray(a, dtype=np.float64).view()
    view.setflags(write=False)
    return view
