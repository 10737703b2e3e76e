"""Normal vectors with a sparse precision of a fixed pattern, against dense algebra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from posteriori.inference.gaussian.sparse_precision import Meetings, solve_sparse

SIZE = 14


def _pairs(kind: str) -> list[tuple[np.ndarray, np.ndarray]]:
    t = np.arange(SIZE - 2)
    chain = (t[:-1], t[1:])
    if kind == "chain":
        return [chain]
    if kind == "chain and effects":
        return [chain, (t, np.full(len(t), SIZE - 2)), (t[::2], np.full(len(t[::2]), SIZE - 1))]
    rng = np.random.default_rng(1)
    return [(rng.integers(0, SIZE, 20), rng.integers(0, SIZE, 20))]


def _case(kind: str, starts: int = 2):
    """Return a pattern in a random order, dense precisions (S, n, n) on it, and h."""
    rng = np.random.default_rng(0)
    pairs = _pairs(kind)
    meetings = Meetings(rng.permutation(SIZE), pairs, SIZE**2)
    dense = np.zeros((starts, SIZE, SIZE))
    for i, j in pairs:
        values = rng.standard_normal((starts, len(i)))
        dense[:, i, j] = values
        dense[:, j, i] = values
    dense[:, np.arange(SIZE), np.arange(SIZE)] = np.abs(dense).sum(axis=-1) + 1.0
    return meetings, dense, rng.standard_normal((starts, SIZE))


def _entries(meetings: Meetings, dense: np.ndarray) -> np.ndarray:
    i, j = np.nonzero(dense[0])
    found = np.zeros((len(dense), len(meetings.keys)))
    found[:, meetings.at(i, j)] = dense[:, i, j]
    return found


KINDS = ["chain", "chain and effects", "loops"]


@pytest.mark.parametrize("kind", KINDS)
def test_moments_are_those_of_dense_algebra(kind):
    meetings, dense, h = _case(kind)
    solved = solve_sparse(meetings, _entries(meetings, dense), h)
    cov = np.linalg.inv(dense)
    assert_allclose(solved.mean, np.einsum("sij,sj->si", cov, h), rtol=1e-12, atol=1e-13)
    assert_allclose(solved.log_det, np.linalg.slogdet(dense)[1], rtol=1e-12)
    i, j = (a.ravel() for a in np.indices((SIZE, SIZE)))  # also where numbers do not meet
    assert_allclose(solved.covariances(i, j), cov.reshape(len(h), -1), rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_products_with_the_precision(kind):
    meetings, dense, h = _case(kind)
    found = meetings.multiply(_entries(meetings, dense)[1], h[1])
    assert_allclose(found, dense[1] @ h[1], rtol=1e-12, atol=1e-13)


def test_draws_have_the_covariance():
    meetings, dense, h = _case("chain and effects", starts=1)
    solved = solve_sparse(meetings, _entries(meetings, dense), h)
    draws = solved.deviations(40_000, np.random.default_rng(2))
    cov = np.linalg.inv(dense[0])
    error = np.sqrt((np.outer(np.diag(cov), np.diag(cov)) + cov**2) / len(draws))
    assert np.all(np.abs(np.cov(draws.T) - cov) < 5 * error)


def test_a_precision_that_is_not_positive_definite_is_refused():
    meetings, dense, h = _case("chain")
    dense[1, 3, 3] = -1.0
    with pytest.raises(ValueError, match="not positive definite"):
        solve_sparse(meetings, _entries(meetings, dense), h)


def test_entries_of_the_factor_are_counted_up_to_a_limit():
    t = np.arange(1000)
    pairs = [(t[:-1], t[1:]), (t[:-1], np.full(999, 999))]
    last = Meetings(t, pairs, 10**6)
    assert last.fits
    assert last.begin[-1] == 1000 + 999 + 998  # itself, the next, and the one that all share
    assert not Meetings(t, pairs, 2000).fits
    assert not Meetings(t[::-1], pairs, 10**5).fits  # the shared one first: all others meet
