"""Compiled loops: what they are given, and that the compiler waits for the first call."""

import inspect
import subprocess
import sys

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, compiled, compiled_sums


def test_inputs_become_contiguous_read_only_float64():
    for given in ([1, 2, 3], np.arange(6.0)[::2], np.asfortranarray(np.ones((2, 3)))):
        array = as_kernel_input(np.asarray(given))
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert not array.flags.writeable
        np.testing.assert_array_equal(array, given)


def test_inputs_are_not_copied_nor_locked_for_their_owner():
    given = np.arange(3.0)
    assert np.shares_memory(as_kernel_input(given), given)
    assert given.flags.writeable


def test_a_compiled_function_answers_as_the_plain_one():
    def add_up(a):
        total = 0.0
        for value in a:
            total += value
        return total

    assert compiled(add_up)(as_kernel_input(np.arange(5.0))) == add_up(range(5)) == 10.0


@compiled
def square_of(x):
    return x * x


@compiled
def sum_of_squares(a):
    total = 0.0
    for value in a:
        total += square_of(value)
    return total


@compiled
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@compiled_sums
def mean_square(a):
    return sum_of_squares(a) / len(a)


def test_compiled_functions_call_one_another_and_themselves():
    a = as_kernel_input(np.arange(4.0))
    assert mean_square(a) == 3.5
    assert sum_of_squares(a) == 14.0
    assert square_of(3.0) == 9.0
    assert factorial(5) == 120


def test_a_compiled_function_is_still_described():
    assert sum_of_squares.__name__ == "sum_of_squares"
    assert inspect.signature(sum_of_squares) == inspect.signature(lambda a: None)


def test_no_file_of_the_package_loads_the_compiler():
    code = (
        "import pkgutil, sys, posteriori\n"
        "for file in pkgutil.walk_packages(posteriori.__path__, 'posteriori.'):\n"
        "    __import__(file.name)\n"
        "    assert 'numba' not in sys.modules, file.name\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
