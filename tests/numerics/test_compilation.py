"""What compiled loops are given: one kind of array, without a copy where it already is one."""

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, compiled


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
