"""Each check names the argument, the value and the remedy, and hands back a locked copy."""

import numpy as np
import pandas as pd
import pytest

from posteriori.numerics import Symbol, validation as v


@pytest.mark.parametrize(
    ("check", "value", "error", "message"),
    [
        (v.real, np.nan, ValueError, "theta must be finite, got nan"),
        (v.real, [1.0, -np.inf], ValueError, "theta must be finite, got -inf"),
        (v.real, "one", TypeError, "theta must hold real numbers, got dtype"),
        (v.real, 1 + 2j, TypeError, "theta must hold real numbers, got dtype complex128"),
        (v.real, [[1.0], [1.0, 2.0]], ValueError, "theta is ragged"),
        (v.real, [1.0, object()], TypeError, "theta must hold real numbers, got <object"),
        (v.positive, 0.0, ValueError, "theta must be positive, got 0"),
        (v.positive, [1.0, -2.5], ValueError, "theta must be positive, got -2.5"),
        (v.positive, np.inf, ValueError, "theta must be finite, got inf"),
        (v.nonnegative, -1e-9, ValueError, "theta must not be negative, got -1e-09"),
        (v.probability, 1.5, ValueError, "theta must lie between 0 and 1, got 1.5"),
        (v.probability, -0.25, ValueError, "theta must lie between 0 and 1, got -0.25"),
        (v.whole, 2.5, ValueError, "theta must be a whole number >= 0, got 2.5"),
        (v.whole, -1, ValueError, "theta must be a whole number >= 0, got -1"),
        (v.real_vector, 3.0, ValueError, r"theta must be a vector, got shape \(\)"),
        (v.positive_vector, [1.0, 0.0], ValueError, "theta must be positive, got 0"),
        (v.probability_vector, 0.5, ValueError, "theta must be a vector of probabilities"),
        (v.probability_vector, [0.5, 0.6], ValueError, "sum to 1 .*sum of 1.1; divide by the sum"),
        (v.probability_vector, [1.5, -0.5], ValueError, "theta must not be negative, got -0.5"),
        (v.real_matrix, [1.0, 2.0], ValueError, "theta must be a square matrix"),
        (v.real_matrix, np.ones((2, 3)), ValueError, r"square matrix, got shape \(2, 3\)"),
        (
            v.real_matrix,
            [[1.0, 0.5], [0.25, 1.0]],
            ValueError,
            r"theta must be symmetric, entries \(0, 1\) and \(1, 0\) differ by 0.25; use",
        ),
        (
            v.positive_definite,
            [[1.0, 2.0], [2.0, 1.0]],
            ValueError,
            "theta must be positive definite, its smallest eigenvalue is -1",
        ),
    ],
)
def test_bad_values_are_named(check, value, error, message):
    with pytest.raises(error, match=message):
        check("theta", value)


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (v.real, -2.0),
        (v.positive, 1e-300),
        (v.nonnegative, 0.0),
        (v.probability, 0.0),
        (v.probability, 1.0),
        (v.whole, 12),
    ],
)
def test_good_numbers_come_back_as_plain_floats(check, value):
    result = check("theta", value)
    assert type(result) is np.float64
    assert result == value
    assert type(check("theta", np.array(value))) is np.float64


@pytest.mark.parametrize("value", [[1, 2], np.array([1.0, 2.0]), pd.Series([1.0, 2.0]), (True, 2)])
def test_good_arrays_come_back_locked_and_apart_from_the_callers(value):
    result = v.positive("theta", value)
    assert result.dtype == np.float64
    np.testing.assert_array_equal(result, [1.0, 2.0])
    assert not result.flags.writeable
    if isinstance(value, np.ndarray):
        value[0] = 9.0
        assert result[0] == 1.0


def test_a_view_of_the_callers_array_is_copied():
    whole = np.arange(1.0, 7.0)
    result = v.positive("theta", whole[::2])
    whole[:] = 9.0
    np.testing.assert_array_equal(result, [1.0, 3.0, 5.0])


def test_a_read_only_view_of_a_writable_array_is_copied():
    whole = np.arange(1.0, 4.0)
    view = whole[:]
    view.setflags(write=False)
    result = v.positive("theta", view)
    whole[:] = 9.0
    np.testing.assert_array_equal(result, [1.0, 2.0, 3.0])


def test_an_array_inside_another_object_is_neither_shared_nor_locked():
    class Holder:
        def __init__(self):
            self.values = np.array([1.0, 2.0])

        def __array__(self, dtype=None, copy=None):
            return self.values

    holder = Holder()
    result = v.positive("theta", holder)
    holder.values[0] = 9.0
    assert result[0] == 1.0


def test_memory_shared_through_a_frame_is_copied():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    result = v.positive("theta", frame["a"])
    frame.iloc[0, 0] = 9.0
    assert result[0] == 1.0


def test_probabilities_are_renormalised_within_the_tolerance():
    p = v.probability_vector("p", [0.3, 0.7 + 5e-7])
    assert p.sum() == pytest.approx(1.0, abs=1e-15)
    assert p[0] == pytest.approx(0.3 / (1 + 5e-7), rel=1e-14)
    with pytest.raises(ValueError, match="p must sum to 1"):
        v.probability_vector("p", [[0.3, 0.7], [0.3, 0.7 + 5e-6]])


def test_rounding_of_symmetric_matrices_is_forgiven():
    a = np.array([[2.0, 0.5], [0.5 + 1e-12, 1.0]])
    result = v.real_matrix("A", a)
    np.testing.assert_array_equal(result, result.T)
    many = v.positive_definite("A", np.stack([a, np.eye(2)]))
    assert many.shape == (2, 2, 2)
    assert not many.flags.writeable


def test_exactly_one():
    assert v.exactly_one("Normal", variance=None, scale=2.0) == "scale"
    with pytest.raises(TypeError, match="Normal takes exactly one of variance, scale; got none"):
        v.exactly_one("Normal", variance=None, scale=None)
    with pytest.raises(TypeError, match="got variance and scale"):
        v.exactly_one("Normal", variance=1.0, scale=2.0)


def test_observations_are_not_copied_and_may_be_anything_real():
    x = np.array([1.0, np.inf])
    assert v.as_observation(x) is x
    assert type(v.as_observation(3)) is np.float64
    assert type(v.as_observation(np.array(3.0))) is np.float64
    np.testing.assert_array_equal(v.as_observation([True, False]), [1.0, 0.0])
    with pytest.raises(TypeError, match="data must hold real numbers"):
        v.as_observation("seven", "data")


def test_symbols_pass_through_every_check():
    class Unknown(Symbol):
        pass

    symbol = Unknown()
    for check in (v.real, v.positive, v.nonnegative, v.probability, v.whole, v.real_vector):
        assert check("theta", symbol) is symbol
    for check in (v.positive_vector, v.probability_vector, v.real_matrix, v.positive_definite):
        assert check("theta", symbol) is symbol


def test_a_plain_symbol_is_no_parameter():
    class Unknown(Symbol):
        pass

    from posteriori import Normal

    with pytest.raises(TypeError, match="Unknown cannot be a parameter of Normal"):
        Normal(Unknown(), variance=1.0)
