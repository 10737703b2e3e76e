"""Compiled loops: what they are given, and that the compiler waits for the first call."""

import inspect
import subprocess
import sys

import numpy as np
import pytest

from posteriori.numerics import compilation
from posteriori.numerics.compilation import as_kernel_input, kernel, run


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

    assert kernel(add_up)(as_kernel_input(np.arange(5.0))) == add_up(range(5)) == 10.0


@kernel
def square_of(x):
    return x * x


@kernel
def sum_of_squares(a):
    total = 0.0
    for value in a:
        total += square_of(value)
    return total


@kernel
def factorial(n):
    return 1 if n < 2 else n * factorial(n - 1)


@kernel(sums="free")
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


@kernel(plain=True)
def doubled(a):
    for i in range(len(a)):
        a[i] = 2.0 * a[i]


@pytest.fixture
def clock(monkeypatch):
    """Let every plain run take as long as a test says, and note the runs that are compiled."""
    seconds, made = [0.0], []
    now = [0.0]

    def thread_time():
        now[0] += 0.5 * seconds[0]  # it is read before and after a run
        return now[0]

    def machine_code(body):
        made.append(body)
        return body

    monkeypatch.setattr(compilation.time, "thread_time", thread_time)
    monkeypatch.setattr(compilation, "_machine_code", machine_code)
    monkeypatch.setattr(compilation, "_spent", compilation._spent.copy())
    compilation._spent.clear()
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    return seconds, made


def test_a_function_is_compiled_once_it_has_taken_as_long_as_the_compiler(clock):
    seconds, made = clock
    seconds[0] = 1.0  # half of it is counted: from the first reading to the second
    values = np.ones(4)
    runs = 0
    while not made and runs < 20:
        run(doubled, 100.0, values)
        runs += 1
    # three runs of half a second, and one that would exceed what the compiler costs
    assert runs == int((compilation._IMPORT + compilation._LOAD) / 0.5) + 1
    np.testing.assert_array_equal(values, 2.0**runs)
    run(doubled, 1e-6, values)
    assert len(made) == 2  # what is compiled is not run plain again, however little there is to do


def test_much_work_is_compiled_at_once(clock):
    _, made = clock
    run(doubled, 1e9, np.ones(4))
    assert made == [doubled]


def test_short_runs_stay_plain(clock):
    seconds, made = clock
    seconds[0] = 1e-6
    for _ in range(100):
        run(doubled, 10.0, np.ones(4))
    assert not made


def test_time_on_other_functions_pays_for_the_import_alone(clock):
    _, made = clock
    compilation._spent["another"] = (1.0, 10.0)
    run(doubled, 10.0, np.ones(4))
    assert not made
    run(doubled, 1.1 * compilation._LOAD / compilation._LEAST, np.ones(4))
    assert made == [doubled]
