"""Student's t of several columns: the most probable parameters, gaps as dense algebra says, refusals."""

import numpy as np
import pytest
from scipy.special import gammaln

from posteriori.density import StudentDensity
from posteriori.distributions import MvNormal, MvStudentT


def rows_of(size: int = 80, dof: float = 4.0, gaps: float = 0.0, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    root = np.array([[2.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.5, 0.3]])
    wide = np.sqrt(rng.chisquare(dof, size=(size, 1)) / dof)
    x = np.array([100.0, 5.0, -3.0]) + rng.normal(size=(size, 3)) @ root.T / wide
    x[rng.random(x.shape) < gaps] = np.nan
    return x


def log_posterior(x: np.ndarray, dof: float, location: np.ndarray, scale: np.ndarray) -> float:
    """Row by row, with the prior of the inverse scale in units of the columns, and that of ν."""
    total = 0.0
    for row in x:
        seen = ~np.isnan(row)
        if seen.any():
            part = np.ix_(seen, seen)
            d, p = row[seen] - location[seen], seen.sum()
            square = d @ np.linalg.solve(scale[part], d)
            total += gammaln(0.5 * (dof + p)) - gammaln(0.5 * dof) - 0.5 * p * np.log(dof * np.pi)
            total -= 0.5 * np.linalg.slogdet(scale[part])[1]
            total -= 0.5 * (dof + p) * np.log1p(square / dof)
    unit = np.nanstd(x, axis=0)
    precision = np.linalg.inv(scale / np.outer(unit, unit))
    total += 0.5 * np.linalg.slogdet(precision)[1] - 0.5 * np.trace(precision)
    return total + np.log(dof) - 0.1 * dof


@pytest.mark.parametrize("gaps", [0.0, 0.2])
def test_the_parameters_are_the_most_probable(gaps: float) -> None:
    """No small step in any direction leads higher, and the trace is the objective."""
    x = rows_of(gaps=gaps)
    s = StudentDensity(tol=1e-10).fit(x)
    best = log_posterior(x, s.dof_, s.location_, s.scale_)
    assert s.trace_[-1] == pytest.approx(best, rel=1e-9)
    assert (np.diff(s.trace_) >= -1e-8).all()
    unit = np.sqrt(np.diag(s.scale_))
    for step in (1e-3, -1e-3):
        assert log_posterior(x, s.dof_ * (1 + step), s.location_, s.scale_) < best
        for j in range(3):
            moved = s.location_ + step * unit * np.eye(3)[j]
            assert log_posterior(x, s.dof_, moved, s.scale_) < best
            for k in range(j + 1):
                turn = np.zeros((3, 3))
                turn[j, k] = turn[k, j] = step * unit[j] * unit[k]
                assert log_posterior(x, s.dof_, s.location_, s.scale_ + turn) < best


def test_the_truth_is_recovered_with_gaps() -> None:
    x = rows_of(4000, gaps=0.2)
    s = StudentDensity().fit(x)
    assert s.dof_ == pytest.approx(4.0, abs=0.6)
    np.testing.assert_allclose(s.location_, [100.0, 5.0, -3.0], atol=0.2)
    truth = np.array([[4.0, 2.0, 0.0], [2.0, 2.0, 0.5], [0.0, 0.5, 0.34]])
    np.testing.assert_allclose(s.scale_, truth, atol=0.35)


def test_many_degrees_of_freedom_are_a_normal() -> None:
    x = rows_of()
    s = StudentDensity(dof=1e7).fit(x)
    normal = MvNormal(s.location_, cov=s.scale_)
    np.testing.assert_allclose(s.score_samples(x), normal.log_prob(x), rtol=1e-4)
    np.testing.assert_allclose(s.location_, x.mean(axis=0), rtol=1e-4)


def test_gaps_are_integrated_over() -> None:
    s = StudentDensity().fit(rows_of())
    t = MvStudentT(s.dof_, s.location_, scale=s.scale_)
    row = np.array([103.0, np.nan, -2.0])
    rest = t.condition([0, 2], row[[0, 2]])
    density = s.score_samples(row[None])[0]
    assert density == pytest.approx(float(t.marginal([0, 2]).log_prob(row[[0, 2]])), abs=1e-10)
    (belief,) = s.gap_beliefs(row[None])
    assert belief.mean[0] == pytest.approx(rest.mean[0], rel=1e-10)
    assert belief.variance[0] == pytest.approx(rest.variance[0], rel=1e-10)
    assert s.score_samples([[np.nan] * 3])[0] == pytest.approx(0.0, abs=1e-14)


def test_a_variance_may_be_infinite() -> None:
    """Of t with two degrees of freedom, where nothing is seen of a row."""
    s = StudentDensity(dof=1.5).fit(rows_of())
    beliefs = s.gap_beliefs([[np.nan] * 3])
    assert all(np.isinf(belief.variance[0]) for belief in beliefs)


def test_fewer_rows_than_columns_have_a_density() -> None:
    x = np.random.default_rng(0).normal(size=(4, 6))
    assert np.isfinite(StudentDensity().fit(x).score_samples(x)).all()


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[1.0, 2.0], [1.0, 3.0]], "column 0 of X is constant"),
        ([[np.nan, 2.0], [np.nan, 3.0]], "column 0 of X has no entry"),
        ([[1e300, 2.0], [-1e300, 3.0]], "X"),
    ],
)
def test_refusals(x: list[list[float]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StudentDensity().fit(x)
