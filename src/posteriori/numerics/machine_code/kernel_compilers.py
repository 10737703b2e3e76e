"""How kernels become machine code: each once, with all the parts that it calls.

Numba optimises every function together with all that it calls, and turns the whole into machine code:
what lies at the bottom of a tower of calls is optimised once for each storey, though only the top is ever
called. Here a part, which only kernels call, is left as the translator wrote it. The kernel that Python
calls takes its parts in, and is optimised with them once.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

from posteriori.numerics.machine_code.interrupts import interrupts_later
from posteriori.numerics.machine_code.kernel_cache import KernelCache

__all__ = ["compile_loop"]


def compile_loop(function: Any, made_of: str, **options: Any) -> Callable[..., Any]:
    """Return a function that is compiled for each type of arguments; its code is kept on disk.

    Parameters
    ----------
    function : function
    made_of : str
        From :func:`~posteriori.numerics.machine_code.kernel_cache.describe_function`.
    options
        Of Numba. Without a wrapper for Python it is a part, which is kept in the kernels that call it.
    """
    from numba import njit

    is_part = "no_cpython_wrapper" in options
    compiler = _part_compiler() if is_part else _kernel_compiler()
    made: Any = njit(pipeline_class=compiler, **options)(function)
    if hasattr(made, "_cache"):  # otherwise the compiler is off
        made._made_of = made_of
        if not is_part:
            made._cache = KernelCache(function, made_of)
        elif "forceinline" in options:
            _take_any_constant(made)
    return cast(Callable[..., Any], made)


@cache
def _kernel_compiler() -> Any:
    """Return Numba's compiler, for what Python calls."""
    from numba.core import compiler

    usual: Any = compiler.Compiler

    class KernelCompiler(usual):  # type: ignore[misc]
        def compile_extra(self, function: Callable[..., Any]) -> Any:
            with _collector_at_rest():
                return super().compile_extra(function)

        def define_pipelines(self) -> Any:
            state, library = self.state, _kernel_library()
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            return super().define_pipelines()

    return KernelCompiler


@cache
def _kernel_library() -> Any:
    from numba.core import codegen

    usual: Any = codegen.JITCodeLibrary

    class KernelLibrary(usual):  # type: ignore[misc]
        def _finalize_final_module(self) -> None:
            with interrupts_later():
                super()._finalize_final_module()

    return KernelLibrary


@cache
def _part_compiler() -> Any:
    """Return Numba's compiler, for what only kernels call."""
    from numba.core import compiler

    usual: Any = compiler.Compiler

    class PartCompiler(usual):  # type: ignore[misc]
        def define_pipelines(self) -> Any:
            state, library = self.state, _part_library()
            state.library = library(state.targetctx.codegen(), state.func_id.func_qualname)
            return super().define_pipelines()

    return PartCompiler


@cache
def _part_library() -> Any:
    from numba.core import codegen

    usual: Any = codegen.JITCodeLibrary

    class PartLibrary(usual):  # type: ignore[misc]
        """Code that is linked into that of kernels, and nothing more is done to it."""

        @property
        def codegen(self) -> Any:
            return self

        def set_env(self, name: str, environment: Any) -> None:
            """Do nothing: the objects of Python that code may hold are for what Python calls."""

        def _optimize_final_module(self) -> None:
            """Leave that to the kernel."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._verify_declare_only_symbols()
            self._finalized = True

    return PartLibrary


def _take_any_constant(part: Any) -> None:
    """Let a part that is inlined be one for all constants that it is called with: inlining puts them in."""
    from numba.core import types

    without_constants: Any = types.unliteral
    find = part.get_call_template

    def find_for_any(arguments: Any, named: Any) -> Any:
        return find([without_constants(kind) for kind in arguments], named)

    part.get_call_template = find_for_any


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Look for no circles among the millions of small objects of a compilation: that takes a seventh of it."""
    worked = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if worked:
            gc.enable()
