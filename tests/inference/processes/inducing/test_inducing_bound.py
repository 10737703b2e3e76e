"""Bounds of processes told at a few points: dense algebra, finite differences, sums of parts."""

import numpy as np
import pytest

from posteriori.inference.processes.inducing.inducing_bound import induced_evidence
from posteriori.inference.processes.inducing.inducing_features import InducingFeatures, SparseRows
from posteriori.inference.processes.inducing.inducing_points import choose_points
from posteriori.inference.processes.inducing.inducing_statistics import InducedWeights, add_up_rows
from posteriori.inference.processes.mean_effects import MeanEffects, mean_effects
from posteriori.inference.processes.noise_parts import silenced
from posteriori.kernels import RBF, Linear, Matern, White

LINES = MeanEffects(0.7, 2.0, np.array([0.1, -0.3]), np.array([1.5, 0.5]))
KERNELS = {
    "rbf": 1.3 * RBF([1.0, 2.0]) + White(0.05),
    "sum": White(0.2) + Matern(2.5, 1.5).on([1]) + 0.5 * Linear(),
    "changing noise": 1.3 * RBF(1.0) + (Linear() + 1.0) * White(0.1),
}


def example(seed=0, size=30):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(size, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=size) + 3.0
    frequency = rng.integers(1, 4, size).astype(float)
    return SparseRows(X, y, frequency, rng.uniform(0.5, 2.0, size))


def dense_evidence(kernel, points, rows, fitc, mean=LINES):
    """Of all rows written out as often as they count."""
    i = np.repeat(np.arange(len(rows.x)), rows.frequency.astype(int))
    x, r = rows.x[i], rows.y[i] - mean.center
    signal = silenced(kernel)
    own, cross = signal.evaluate(points, points), signal.evaluate(x, points)
    low_rank = cross @ np.linalg.solve(own, cross.T)
    noise = (kernel.diagonal(x) - signal.diagonal(x)) * rows.variance[i]
    rest = signal.diagonal(x) - np.diagonal(low_rank)
    lines = mean.columns(x)
    cov = low_rank + lines @ lines.T
    cov += np.diag(noise + rest if fitc else noise)
    value = len(r) * np.log(2.0 * np.pi) + np.linalg.slogdet(cov)[1] + r @ np.linalg.solve(cov, r)
    return -0.5 * (value + (0.0 if fitc else (rest / noise).sum()))


def slopes_of(function, at):
    step, slopes = 1e-5, np.empty_like(at)
    for place in np.ndindex(at.shape):
        shift = np.zeros_like(at)
        shift[place] = step
        slopes[place] = (function(at + shift) - function(at - shift)) / (2.0 * step)
    return slopes


@pytest.mark.parametrize("fitc", [False, True])
@pytest.mark.parametrize("name", KERNELS)
class TestEvidence:
    def test_is_that_of_dense_matrices(self, name, fitc):
        kernel, rows = KERNELS[name], example()
        points = rows.x[:6] + 0.01
        found = induced_evidence(InducingFeatures(kernel, points, LINES), rows, fitc=fitc)
        assert np.isclose(found.value, dense_evidence(kernel, points, rows, fitc), rtol=1e-9)

    def test_slopes_in_the_kernel(self, name, fitc):
        kernel, rows = KERNELS[name], example()
        points = rows.x[:6] + 0.01
        found = induced_evidence(InducingFeatures(kernel, points, LINES), rows, fitc=fitc)

        def value(v):
            return dense_evidence(kernel.with_log_parameters(v), points, rows, fitc)

        expected = slopes_of(value, kernel.log_parameters)
        assert np.allclose(found.kernel, expected, rtol=1e-6, atol=1e-5)

    def test_slopes_in_the_points(self, name, fitc):
        kernel, rows = KERNELS[name], example()
        points = rows.x[:4] + 0.01
        model = InducingFeatures(kernel, points, LINES)
        found = induced_evidence(model, rows, fitc=fitc, points=True)
        expected = slopes_of(lambda u: dense_evidence(kernel, u, rows, fitc), points)
        assert np.allclose(found.points, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("fitc", [False, True])
def test_all_points_tell_the_whole_process(fitc):
    """Then nothing is left open, and both are the exact evidence."""
    rows = example()._replace(frequency=None, variance=None)
    kernel = 1.3 * Matern(1.5, [1.0, 2.0]) + White(0.05)
    found = induced_evidence(InducingFeatures(kernel, rows.x), rows, fitc=fitc)
    cov = kernel(rows.x)
    value = rows.y @ np.linalg.solve(cov, rows.y) + np.linalg.slogdet(2.0 * np.pi * cov)[1]
    assert np.isclose(found.value, -0.5 * value, rtol=1e-9)


def test_the_bound_lies_below_the_evidence_and_rises_with_points():
    rows = example()._replace(frequency=None, variance=None)
    kernel = 1.3 * RBF([1.0, 2.0]) + White(0.05)
    cov = kernel(rows.x)
    exact = -0.5 * (rows.y @ np.linalg.solve(cov, rows.y) + np.linalg.slogdet(2.0 * np.pi * cov)[1])
    bounds = [
        induced_evidence(InducingFeatures(kernel, rows.x[:m]), rows, fitc=False).value
        for m in (2, 5, 10, 20)
    ]
    assert np.all(np.diff(bounds) > 0)
    assert bounds[-1] < exact


def test_sums_of_parts_add_up_whatever_the_mean_is_measured_by():
    kernel, rows = KERNELS["rbf"], example()
    first, second = rows.part(slice(0, 11)), rows.part(slice(11, None))
    means = [mean_effects("linear", part.x, part.y, part.frequency) for part in (first, second)]
    points = rows.x[:6]
    whole = add_up_rows(InducingFeatures(kernel, points, LINES), rows, fitc=False)
    parts = [
        add_up_rows(InducingFeatures(kernel, points, mean), part, fitc=False)
        for mean, part in zip(means, (first, second), strict=True)
    ]
    both = parts[0].merge(parts[1]).around(LINES)
    for a, b in zip(both[:-1], whole[:-1], strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9)
    evidence = InducedWeights.of(both).log_evidence
    assert np.isclose(evidence, InducedWeights.of(whole).log_evidence)


def test_moments_are_those_of_dense_matrices():
    rows = example()._replace(frequency=None, variance=None)
    kernel = 1.3 * RBF([1.0, 2.0]) + White(0.05)
    points, new = rows.x[:6], np.array([[0.3, -1.0], [4.0, 4.0]])
    model = InducingFeatures(kernel, points)
    weights = InducedWeights.of(add_up_rows(model, rows, fitc=False))
    mean, variance = weights.moments(model.of(new))
    # q(u) = N(m, S) with S = K (K + CᵀC/σ²)⁻¹ K, and f | u
    signal = 1.3 * RBF([1.0, 2.0])
    own, cross, ahead = signal(points), signal(points, rows.x), signal(new, points)
    inner = own + cross @ cross.T / 0.05
    assert np.allclose(mean, ahead @ np.linalg.solve(inner, cross @ rows.y) / 0.05)
    open_part = signal(new) - ahead @ np.linalg.solve(own, ahead.T)
    assert np.allclose(
        variance, np.diagonal(open_part + ahead @ np.linalg.solve(inner, ahead.T)), rtol=1e-6
    )


class TestPoints:
    def test_each_is_where_the_function_is_least_known(self):
        kernel, X = RBF(1.0), np.random.default_rng(1).normal(size=(40, 2))
        points = choose_points(kernel, X, 8)
        for m in range(1, 8):
            known = points[:m]
            gain = np.linalg.solve(kernel(known), kernel(known, X))
            left = 1.0 - np.einsum("mn,mn->n", gain, kernel(known, X))
            assert np.array_equal(points[m], X[np.argmax(left)])

    def test_repeated_rows_are_chosen_once(self):
        X = np.repeat(np.array([[0.0], [1.0], [2.0]]), 5, axis=0)
        assert np.array_equal(np.sort(choose_points(RBF(1.0), X, 10)[:, 0]), [0.0, 1.0, 2.0])
