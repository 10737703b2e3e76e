"""Kernels are made with their parts: these are compiled for types, not for constants, and have no code of their own."""

import gc

import numpy as np
import pytest

from posteriori.numerics.compilation import kernel
from posteriori.numerics.machine_code import kernel_cache


@kernel(called="inlined")
def _scaled(x, factor):
    return factor * x


@kernel(called="kernels")
def _shifted(a, k, by):
    a[k] = _scaled(a[k], 2) + by


@kernel
def shift(a):
    for k in range(len(a)):
        _shifted(a, k, 1.0)
        a[k] = _scaled(a[k], 3)


def test_a_kernel_takes_its_parts_in():
    a = np.array([1.0, -2.0])
    shift(a)
    np.testing.assert_array_equal(a, [9.0, -9.0])


@pytest.fixture
def compiled(tmp_path, monkeypatch):
    """The kernel and its parts compiled, whatever was kept: parts are known by their compiled forms then."""
    shift(np.zeros(1))
    monkeypatch.setattr(kernel_cache, "cache_folder", lambda: tmp_path)
    shift._machine_code.recompile()


def test_an_inlined_part_is_compiled_once_for_all_constants(compiled):
    (types,) = _scaled.signatures
    assert [str(kind) for kind in types] == ["float64", "int64"]


def test_a_part_has_no_machine_code(compiled):
    (made,) = _shifted.overloads.values()
    assert not made.library._codegen._engine.is_symbol_defined(made.fndesc.mangled_name)


def test_the_collector_works_again_after_a_compilation(compiled):
    assert gc.isenabled()
