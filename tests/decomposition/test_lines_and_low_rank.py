"""Lines, projections, low rank, and whether a covariance can be trusted."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra.numpy import arrays

from posteriori.decomposition import (
    PCA,
    FittedLine,
    covariance_report,
    fit_line,
    low_rank,
    norm_scores,
    pca_fisher_parameters,
    residual_projector,
)
from posteriori.mathematics import deflated_eigenpairs, is_idempotent, power_iteration

POINTS = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
vectors = arrays(float, 3, elements=st.floats(-10, 10)).filter(lambda v: np.linalg.norm(v) > 0.1)


@pytest.mark.topic("001/2.1", "001/2.2")
def test_low_rank_is_the_nearest_and_errs_by_the_dropped_singular_values():
    x = np.random.default_rng(0).normal(size=(7, 5))
    roots = np.linalg.svd(x, compute_uv=False)
    errors = [low_rank(x, k).error for k in range(1, 6)]
    for k, error in enumerate(errors, start=1):
        found = low_rank(x, k)
        assert found.left.shape == (7, k)
        assert found.right.shape == (k, 5)
        assert np.linalg.norm(x - found.left @ found.right) == pytest.approx(error, abs=1e-12)
        assert error == pytest.approx(np.sqrt(np.sum(roots[k:] ** 2)), abs=1e-12)
    assert np.all(np.diff(errors) < 0)
    assert errors[-1] == 0.0


@pytest.mark.topic("001/2.3")
def test_storage_is_saved_below_mn_over_m_plus_n():
    x = np.ones((12, 6))
    ratios = {k: low_rank(x, k).ratio for k in (3, 4, 5)}
    assert ratios == {3: 0.75, 4: 1.0, 5: 1.25}


@pytest.mark.topic("001/2.5")
def test_lengths_take_orthogonal_points_for_one():
    assert norm_scores([[0.0, 1.0], [1.0, 0.0], [3.0, 4.0]]).tolist() == [1.0, 1.0, 5.0]


@given(vectors, vectors, vectors, st.floats(-3, 3))
@settings(deadline=None)
@pytest.mark.topic("001/2.6", "001/2.7")
def test_the_projection_is_the_nearest_point_of_the_line(offset, direction, x, other):
    line = FittedLine(offset, direction)
    assert np.linalg.norm(line.direction) == pytest.approx(1.0)
    residual = x - line.project(x)
    assert abs(residual @ line.direction) < 1e-10
    assert line.distance(x) == pytest.approx(np.linalg.norm(residual))
    z = line.coordinate(x)
    np.testing.assert_allclose(line.point(z), line.project(x), atol=1e-12)
    assert np.linalg.norm(x - line.point(z + other)) >= line.distance(x) - 1e-9


@pytest.mark.topic("001/2.8", "001/2.12", "001/2.13")
def test_the_best_line_goes_through_the_mean_along_the_first_eigenvector():
    line = fit_line(POINTS)
    np.testing.assert_allclose(line.offset, [3.0, 5.0])
    np.testing.assert_allclose(line.direction, [0.47918807, 0.87771225], atol=5e-9)
    cov = np.cov(POINTS.T, bias=True)
    np.testing.assert_allclose(cov @ line.direction, 11.21443899 * line.direction, atol=5e-8)
    loss = np.mean(line.distance(POINTS) ** 2)
    assert loss == pytest.approx(0.11889434, abs=5e-9)
    centred = POINTS - POINTS.mean(axis=0)
    for angle in np.linspace(0.0, np.pi, 50):
        b = np.array([np.cos(angle), np.sin(angle)])
        here = np.mean(FittedLine(POINTS.mean(axis=0), b).distance(POINTS) ** 2)
        assert here == pytest.approx(np.mean(np.sum(centred**2, axis=1)) - b @ cov @ b)
        assert here >= loss - 1e-12


@pytest.mark.topic("001/2.9", "001/2.15")
def test_residuals_are_orthogonal_to_what_was_taken_out():
    b = fit_line(POINTS).direction
    p = residual_projector(7.0 * b)
    assert is_idempotent(p)
    np.testing.assert_allclose(p, p.T)
    np.testing.assert_allclose(p @ b, 0.0, atol=1e-15)
    residuals = (POINTS - POINTS.mean(axis=0)) @ p
    np.testing.assert_allclose(residuals.mean(axis=0), 0.0, atol=1e-15)
    np.testing.assert_allclose(residuals @ b, 0.0, atol=1e-14)


@pytest.mark.topic("001/2.16", "002/D9")
def test_lines_of_residuals_and_deflated_covariances_are_the_components():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 4)) * [4.0, 3.0, 2.0, 1.0] @ np.linalg.qr(rng.normal(size=(4, 4)))[0]
    found = PCA(4).fit(x)
    left = x
    for component in found.components_:
        b = fit_line(left).direction
        assert abs(b @ component) == pytest.approx(1.0, abs=1e-10)
        left = (left - left.mean(axis=0)) @ residual_projector(b)
    values, directions = deflated_eigenpairs(np.cov(x.T, bias=True), 4, rng=0)
    np.testing.assert_allclose(values, found.eigenvalues_, rtol=1e-9)
    np.testing.assert_allclose(directions @ directions.T, np.eye(4), atol=1e-14)
    np.testing.assert_allclose(np.abs(directions @ found.components_.T), np.eye(4), atol=1e-8)


@pytest.mark.topic("001/2.16")
def test_an_inexact_vector_is_taken_out_on_both_sides():
    a = np.diag([4.0, 2.0, 1.0])
    b = np.array([1.0, 0.1, 0.0]) / np.sqrt(1.01)
    both = residual_projector(b) @ a @ residual_projector(b)
    np.testing.assert_allclose(both @ b, 0.0, atol=1e-15)
    one = a - 4.0 * np.outer(b, b)  # as it is printed: for an exact eigenvector only
    assert np.linalg.norm(one @ b) > 0.1
    values, _ = deflated_eigenpairs(a, 3, tol=1e-3, rng=0)
    np.testing.assert_allclose(values, [4.0, 2.0, 1.0], rtol=1e-4)


def test_deflation_ends_where_nothing_is_left():
    values, directions = deflated_eigenpairs(np.diag([3.0, 0.0, 0.0]), 3, rng=0)
    np.testing.assert_allclose(values, [3.0, 0.0, 0.0], atol=1e-12)
    np.testing.assert_allclose(directions @ directions.T, np.eye(3), atol=1e-14)
    with pytest.raises(ValueError, match="count must be between 1 and 3, got 4"):
        deflated_eigenpairs(np.eye(3), 4)


@pytest.mark.topic("001/2.19", "002/D8")
def test_power_iteration_step_by_step():
    found = power_iteration([[2.0, 1.0], [1.0, 2.0]], [1.0, 0.0])
    norms = [2.2360680, 2.8635642, 2.9836955, 2.9981730, 2.9997968]
    np.testing.assert_allclose(found.norms[:5], norms, atol=5e-8)
    assert found.ratio == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.topic("002/D1")
def test_covariances_are_judged():
    rng = np.random.default_rng(0)
    few = covariance_report(rng.normal(size=(5, 5)))
    assert (few.rank, few.condition, few.verdict) == (4, np.inf, "singular")
    assert "at least 6 rows" in few.remedy
    x = rng.normal(size=(100, 3))
    twice = covariance_report(np.c_[x, x[:, 0] + x[:, 1]])
    assert (twice.rank, twice.verdict) == (3, "singular")
    near = np.c_[x, x[:, 0] + 1e-5 * rng.normal(size=100)]
    assert covariance_report(near).verdict == "ill-conditioned"
    assert covariance_report(rng.normal(size=(7, 5))).verdict == "few rows"
    sound = covariance_report(x)
    assert (sound.verdict, sound.remedy) == ("sound", "")
    values = np.linalg.eigvalsh(np.cov(x.T))
    assert sound.condition == pytest.approx(values[-1] / values[0])


@pytest.mark.topic("002/D10")
def test_parameters_of_components_before_a_discriminant():
    assert pca_fisher_parameters(10, 2) == 2 * 10 + 2**2 + 2 * 2 + 1
    with pytest.raises(ValueError, match="k must be between 1 and d=3, got 4"):
        pca_fisher_parameters(3, 4)


def test_what_is_no_line_is_refused():
    with pytest.raises(ValueError, match="direction must be a vector other than 0"):
        FittedLine([0.0, 0.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="as many entries"):
        FittedLine([0.0], [1.0, 0.0])
    with pytest.raises(ValueError, match="all points are equal"):
        fit_line(np.ones((4, 2)))
    with pytest.raises(ValueError, match="k must be between 1"):
        low_rank(np.ones((3, 2)), 3)
