"""Sums in log space against exact arithmetic."""

import mpmath
import numpy as np
import pytest
from hypothesis import given, strategies as st

from posteriori.numerics import (
    log1mexp,
    log_diff_exp,
    log_mean_exp,
    log_softmax,
    log_sum_exp,
    softmax,
)
from tests.distributions.oracles import high_precision

logs = st.lists(st.floats(-50, 50), min_size=1, max_size=6)


@given(logs)
def test_log_sum_exp_is_the_log_of_the_sum(x):
    assert log_sum_exp(x) == pytest.approx(np.log(np.sum(np.exp(x))), rel=1e-12, abs=1e-12)


@given(logs, st.floats(-1e5, 1e5))
def test_log_sum_exp_moves_with_its_terms(x, shift):
    moved = log_sum_exp(np.add(x, shift))
    assert moved == pytest.approx(log_sum_exp(x) + shift, rel=1e-12, abs=1e-9)


def test_log_sum_exp_beyond_the_range_of_exp():
    assert log_sum_exp([1e5, 1e5]) == pytest.approx(1e5 + np.log(2), rel=1e-15)
    assert log_sum_exp([-1e5, -1e5, -1e5]) == pytest.approx(-1e5 + np.log(3), rel=1e-15)


def test_zeros_and_infinities():
    assert log_sum_exp([-np.inf, -np.inf]) == -np.inf
    assert log_sum_exp([-np.inf, 3.0]) == 3.0
    assert log_sum_exp([np.inf, 3.0]) == np.inf
    assert log_sum_exp([]) == -np.inf


def test_axes_weights_and_keepdims():
    x = np.log(np.arange(1.0, 13.0)).reshape(2, 3, 2)
    table = np.exp(x)
    np.testing.assert_allclose(log_sum_exp(x, 1), np.log(table.sum(1)), rtol=1e-14)
    np.testing.assert_allclose(log_sum_exp(x, (0, 2)), np.log(table.sum((0, 2))), rtol=1e-14)
    assert log_sum_exp(x, 1, keepdims=True).shape == (2, 1, 2)
    w = np.array([0.5, 0.0, 2.0])[:, None]
    np.testing.assert_allclose(log_sum_exp(x, 1, weights=w), np.log((table * w).sum(1)), rtol=1e-14)
    assert log_sum_exp([0.0, 0.0], weights=[0.0, 0.0]) == -np.inf
    assert type(log_sum_exp([0.0, 1.0])) is np.float64


def test_log_mean_exp_is_the_log_of_the_mean():
    x = np.log(np.arange(1.0, 7.0)).reshape(2, 3)
    assert log_mean_exp(x) == pytest.approx(np.log(3.5), rel=1e-14)
    np.testing.assert_allclose(log_mean_exp(x, 1), np.log([2.0, 5.0]), rtol=1e-14)
    np.testing.assert_allclose(log_mean_exp(x, 0), np.log([2.5, 3.5, 4.5]), rtol=1e-14)
    assert log_mean_exp([1e5, 1e5]) == 1e5


@pytest.mark.parametrize("x", [1e-300, 1e-16, 1e-8, 0.1, 0.69, 0.7, 1.0, 30.0, 700.0])
def test_log1mexp_at_both_ends(x):
    expected = high_precision(lambda x: mpmath.log(1 - mpmath.exp(-x)), x, digits=800)
    assert log1mexp(x) == pytest.approx(expected, rel=1e-14)


def test_log1mexp_at_zero_and_infinity():
    assert log1mexp(0.0) == -np.inf
    assert log1mexp(np.inf) == 0.0


@given(st.floats(-30, 30), st.floats(1e-8, 60))
def test_log_diff_exp_undoes_the_sum(b, gap):
    a = b + gap
    assert log_sum_exp([log_diff_exp(a, b), b]) == pytest.approx(a, rel=1e-12, abs=1e-12)


def test_log_diff_exp_of_equal_and_empty_terms():
    assert log_diff_exp(1.0, 1.0) == -np.inf
    assert log_diff_exp(-np.inf, -np.inf) == -np.inf
    assert log_diff_exp(2.0, -np.inf) == 2.0
    with pytest.raises(ValueError, match="a >= b"):
        log_diff_exp(0.0, 1.0)


@given(logs)
def test_softmax_is_normalised_and_its_log_agrees(x):
    p = softmax(x)
    assert p.sum() == pytest.approx(1.0, rel=1e-13)
    np.testing.assert_allclose(np.log(p), log_softmax(x), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(softmax(np.add(x, 1000.0)), p, rtol=1e-9)


def test_softmax_takes_an_axis_and_exact_zeros():
    x = np.array([[0.0, -np.inf], [np.log(3.0), 0.0]])
    np.testing.assert_allclose(softmax(x, axis=0), [[0.25, 0.0], [0.75, 1.0]], rtol=1e-15)
    np.testing.assert_allclose(softmax(x), [[1.0, 0.0], [0.75, 0.25]], rtol=1e-15)


@pytest.mark.parametrize("size", [0.0, -1e200, 1e17])
def test_log_softmax_adds_up_to_one_however_large_its_terms(size):
    np.testing.assert_allclose(np.exp(log_softmax([size, size])).sum(), 1.0, rtol=1e-15)
