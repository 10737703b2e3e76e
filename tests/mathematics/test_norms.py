"""Norms: their axioms, their values, and that the tester finds what is no norm."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from posteriori.mathematics import frobenius_norm, is_norm, p_norm

VECTORS = arrays(np.float64, 4, elements=st.floats(-1e6, 1e6))


@pytest.mark.topic("001/1.1")
@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, np.inf])
@pytest.mark.parametrize("over_complex", [False, True])
def test_every_p_norm_passes(p, over_complex):
    assert is_norm(lambda x: p_norm(x, p), 5, over_complex=over_complex)


@pytest.mark.topic("001/1.1", "001/1.3")
def test_norms_of_matrices_pass():
    assert is_norm(frobenius_norm, (3, 2))
    assert is_norm(lambda x: np.linalg.norm(x, 2), (3, 2), over_complex=True)


@pytest.mark.topic("001/1.1")
@pytest.mark.parametrize(
    ("candidate", "axiom"),
    [
        (lambda x: x @ x, "homogeneity"),
        (lambda x: np.sqrt(np.abs(x)).sum() ** 2, "triangle inequality"),  # p = 1/2
        (lambda x: abs(x[0]), "definiteness"),
        (lambda x: x.sum(), "non-negativity"),
        (lambda x: np.abs(x).sum() + 1.0, "definiteness"),
        (lambda x: np.count_nonzero(x), "homogeneity"),
        (lambda x: min(np.abs(x).sum(), 1.0), "homogeneity"),
    ],
)
def test_what_is_no_norm_fails_with_a_witness(candidate, axiom):
    check = is_norm(candidate, 3)
    assert not check
    assert axiom in check.violated
    assert set(check.witnesses) == set(check.violated)


@pytest.mark.topic("001/1.1")
def test_homogeneity_over_the_complex_numbers_is_a_stronger_demand():
    def mixed(x):  # a norm over the reals only
        return np.abs(x.real).sum() + np.abs(x.imag).sum()

    assert is_norm(mixed, 2)
    assert "homogeneity" in is_norm(mixed, 2, over_complex=True).violated


@pytest.mark.topic("001/1.2")
def test_taxi_drive():
    assert p_norm([2.0, 3.0], 1) == 5.0
    assert p_norm([2.0, 3.0], 2) == pytest.approx(3.605551, abs=5e-7)
    assert p_norm([2.0, -3.0], np.inf) == 3.0
    assert p_norm([[3.0, 4.0], [0.0, 0.0]]).tolist() == [5.0, 0.0]


@pytest.mark.topic("001/1.2")
@given(VECTORS)
def test_p_norms_fall_with_p_and_agree_with_numpy(x):
    sizes = [p_norm(x, p) for p in (1, 2, 3, np.inf)]
    assert all(a >= b * (1 - 1e-12) for a, b in pairwise(sizes))
    for p, size in zip((1, 2, np.inf), (sizes[0], sizes[1], sizes[3]), strict=True):
        assert size == pytest.approx(np.linalg.norm(x, p), rel=1e-12)


def test_no_overflow_and_no_underflow():
    assert p_norm([3e300, 4e300]) == pytest.approx(5e300, rel=1e-15)
    assert p_norm([3e-300, 4e-300]) == pytest.approx(5e-300, rel=1e-15)


@pytest.mark.topic("001/1.3")
@given(arrays(np.float64, (3, 4), elements=st.floats(-1e3, 1e3)))
def test_both_forms_of_the_frobenius_norm(x):
    assert frobenius_norm(x) == pytest.approx(np.sqrt(np.trace(x.T @ x)), rel=1e-10, abs=1e-150)
    columns = np.sqrt((np.linalg.norm(x, axis=0) ** 2).sum())
    assert frobenius_norm(x) == pytest.approx(columns, rel=1e-10, abs=1e-150)


def test_orders_below_one_are_refused():
    with pytest.raises(ValueError, match="p must be at least 1"):
        p_norm([1.0, 2.0], 0.5)
    with pytest.raises(ValueError, match="must be a matrix"):
        frobenius_norm([1.0, 2.0])
