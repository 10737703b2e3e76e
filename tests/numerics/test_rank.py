"""Decisions about rank: against exact arithmetic, in any units, and near the one tolerance."""

from fractions import Fraction

import numpy as np
import pytest

from posteriori.numerics.rank import (
    ROUNDING,
    difference,
    exceeds_rounding,
    factor_definite,
    has_clear_pivots,
    is_definite,
    is_invertible,
    is_semidefinite,
    numerical_rank,
    solve_semidefinite,
    without_rounding,
)

pytestmark = pytest.mark.blas


def of_rank(rank, size, seed=0):
    """A semi-definite matrix of whole numbers below 2⁵³: its rank is exact."""
    root = np.random.default_rng(seed).integers(-9, 10, size=(size, rank)).astype(float)
    return root @ root.T


def exact_rank(a):
    """The rank in rational arithmetic."""
    rows, rank = [[Fraction(float(v)) for v in row] for row in a], 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column]), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] / rows[rank][column]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


UNITS = {"one unit": np.ones(6), "many units": 10.0 ** np.array([-9.0, 7.0, 0.0, 12.0, -3.0, 5.0])}


@pytest.mark.parametrize("units", UNITS.values(), ids=UNITS)
@pytest.mark.parametrize("rank", range(7))
def test_the_rank_is_that_of_exact_arithmetic_in_any_units(rank, units):
    for seed in range(5):
        a = of_rank(rank, 6, seed)
        assert numerical_rank(a) == exact_rank(a)
        scaled = a * units * units[:, None]
        assert numerical_rank(scaled) == exact_rank(a)
        assert is_definite(scaled) == (exact_rank(a) == 6) == is_invertible(scaled)
        assert is_semidefinite(a)


def test_small_pivots_do_not_pass_for_more_than_rounding():
    # the second column is all but the first, the third is their difference: its pivot is noise
    x = np.random.default_rng(0).normal(size=(50, 2))
    columns = np.column_stack([x[:, 0], x[:, 0] + 1e-5 * x[:, 1], 1e-5 * x[:, 1]])
    gram = columns.T @ columns
    assert not is_definite(gram)
    with pytest.raises(np.linalg.LinAlgError):
        factor_definite(gram)


@pytest.mark.parametrize("share", [2.0, 10.0, 1e4])
def test_what_exceeds_the_tolerance_counts_and_what_does_not_is_0(share):
    def correlated(gap):
        return np.array([[1.0, 1.0 - gap], [1.0 - gap, 1.0]])  # eigenvalues gap and 2 − gap

    assert is_definite(correlated(2.0 * share * ROUNDING))
    assert not is_definite(correlated(2.0 * ROUNDING / share))
    assert exceeds_rounding(share * ROUNDING, 1.0)
    assert not exceeds_rounding(ROUNDING / share, 1.0)


def test_sizes_of_terms_tell_a_rounding_error_from_a_small_number():
    small = np.array([[1e-20]])
    assert is_definite(small)  # in its own units
    assert not is_definite(small, np.array([1.0]))  # as what is left of terms of size 1


def test_what_is_not_finite_is_neither_definite_nor_positive():
    for bad in (np.nan, np.inf):
        assert not is_definite(np.diag([1.0, bad]))
        assert not exceeds_rounding(bad, bad)
    assert not is_definite(np.array([[1.0, np.inf], [np.inf, 1.0]]))
    assert not is_definite(np.zeros((2, 2)))
    assert not is_definite(np.diag([1.0, -1.0]))


def test_stacks_are_decided_one_by_one():
    stack = np.stack([np.eye(3), np.ones((3, 3)), np.diag([1e-18, 1.0, 1e9])])
    np.testing.assert_array_equal(is_definite(stack), [True, False, True])
    np.testing.assert_array_equal(numerical_rank(stack), [3, 1, 3])
    np.testing.assert_array_equal(is_invertible(stack), [True, False, True])
    assert not np.any(is_invertible(stack[:, :2]))
    assert not has_clear_pivots(np.linalg.cholesky(np.diag([1.0, 1e-9])), np.ones(2))


def test_slack_of_given_matrices():
    assert is_semidefinite(np.diag([1.0, -1e-11]))
    assert not is_semidefinite(np.diag([1.0, -1e-9]))
    assert is_semidefinite(np.zeros((2, 2)))


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_semidefinite_systems_are_solved_where_they_have_a_solution(rank):
    units = 10.0 ** np.array([-5.0, 0.0, 3.0, 6.0])
    a = of_rank(rank, 4, seed=rank) * units * units[:, None]
    b = a @ (np.random.default_rng(1).normal(size=(4, 2)) / units[:, None])
    x = solve_semidefinite(a, b)
    np.testing.assert_allclose((a @ x) / units[:, None], b / units[:, None], rtol=1e-11)


def test_rounding_errors_are_taken_out_of_what_is_left():
    q = np.linalg.qr(np.random.default_rng(2).normal(size=(3, 3)))[0]
    full = (q * [2.0, 1.0, 1.0]) @ q.T
    left = full - (q[:, 1:] @ q[:, 1:].T)  # 2 q qᵀ and rounding
    clean = without_rounding(left, np.diagonal(full))
    np.testing.assert_allclose(clean, 2.0 * np.outer(q[:, 0], q[:, 0]), atol=1e-14)
    assert numerical_rank(clean) == 1
    assert not np.any(without_rounding(np.array([[3e-17]]), np.ones(1)))
    negative = np.diag([1.0, -0.5])
    np.testing.assert_array_equal(without_rounding(negative, np.ones(2)), negative)


def test_differences_are_0_where_both_agree():
    assert difference(np.float64(0.1 + 0.2), np.float64(0.3)) == 0.0
    assert difference(np.float64(0.31), np.float64(0.3)) == 0.31 - 0.3
    assert difference(np.float64(np.inf), np.float64(1.0)) == np.inf
    a, b = np.diag([1e8, 3e-8]), np.diag([1e8 * (1 + 2e-16), 1e-8])
    np.testing.assert_array_equal(difference(a, b, matrices=True), np.diag([0.0, 3e-8 - 1e-8]))
