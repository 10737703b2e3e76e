import numpy as np
import pytest
from scipy import integrate

from posteriori.inference.quadrature.composite_design import (
    central_composite_points,
    integrate_by_design,
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 9])
def test_normal_densities_are_integrated_exactly(size):
    rng = np.random.default_rng(size)
    root = rng.standard_normal((size, size)) + 2.0 * np.eye(size)
    cov, mean = root @ root.T, rng.standard_normal(size)
    precision = np.linalg.inv(cov)

    def log_density(z):
        return -0.5 * float((z - mean) @ precision @ (z - mean))

    found = integrate_by_design(log_density, mean, precision)
    log_integral = 0.5 * (size * np.log(2.0 * np.pi) + np.linalg.slogdet(cov)[1])
    assert found.log_integral == pytest.approx(log_integral, abs=1e-9)
    away = found.points - mean
    assert found.weights.sum() == pytest.approx(1.0)
    assert found.weights @ away == pytest.approx(np.zeros(size), abs=1e-9)
    assert (found.weights * away.T) @ away == pytest.approx(cov, rel=1e-8, abs=1e-9)


def test_corners_keep_effects_apart():
    """No product of two columns is a column or another product, up to seventeen numbers."""
    for size in (2, 6, 11, 17):
        corners = np.sign(central_composite_points(size)[1 + 2 * size :])
        pairs = [corners[:, i] * corners[:, j] for i in range(size) for j in range(i)]
        columns = np.column_stack([corners, *pairs])
        assert columns.T @ columns == pytest.approx(len(corners) * np.eye(columns.shape[1]))


def test_a_skew_density_in_one_number():
    """ln z of a gamma number: the integral is Γ(a), the mean of the logarithm ψ(a)."""

    def log_density(t):
        return float(4.0 * t[0] - np.exp(t[0]))

    found = integrate_by_design(log_density, np.log([4.0]), np.array([[4.0]]))
    total = integrate.quad(lambda t: np.exp(4.0 * t - np.exp(t)), -20.0, 5.0)[0]
    mean = integrate.quad(lambda t: t * np.exp(4.0 * t - np.exp(t)), -20.0, 5.0)[0] / total
    assert found.log_integral == pytest.approx(np.log(total), abs=0.02)
    assert found.weights @ found.points[:, 0] == pytest.approx(mean, abs=0.05)


def test_more_numbers_than_there_are_designs_for():
    with pytest.raises(ValueError, match="up to 17 numbers, got 18"):
        central_composite_points(18)
