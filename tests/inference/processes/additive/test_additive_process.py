"""Sums of curves: evidence and slopes by dense algebra and differences, curves as their kernels say."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from posteriori.inference.processes.additive.additive_process import (
    _curve_roots,
    add_up,
    additive_kernel,
    column_kernels,
    score_additive,
    solve_additive,
)
from posteriori.inference.processes.additive.curve_features import make_features
from posteriori.inference.processes.process_rows import merge_rows
from posteriori.kernels import RBF
from tests.inference.processes.dense_oracle import slopes


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    X = np.column_stack([rng.uniform(5.0, 9.0, 40), rng.integers(0, 2, 40), rng.normal(size=40)])
    return X, 7.0 + np.sin(2.0 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=40)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def learned(X, y):
    features = make_features(X)
    kernel = additive_kernel(features)
    kernel = kernel.with_log_parameters(np.log([0.7, 1.2, 1.4, 1.5, 0.3, 0.2]))
    return features, add_up(features, merge_rows(X, y[:, None])), kernel


def plain_covariance(kernel, X, y):
    """Return the covariance of targets: all curves and lines with the mean 0 over rows, level and noise."""
    z = standardised(X)
    (v0, l0, v2, l2, lines, noise) = np.exp(kernel.log_parameters)
    cov = noise * np.eye(len(X)) + np.var(y)
    for d, (v, ell) in {0: (v0, l0), 2: (v2, l2)}.items():
        gram = v * np.exp(-0.5 * ((z[:, None, d] - z[None, :, d]) / ell) ** 2)
        cov += gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
    return cov + lines * z @ z.T


class TestEvidence:
    def test_it_is_that_of_the_kernels(self, rows):
        """Twelve points tell functions that turn so slowly to many digits."""
        X, y = rows
        features, sums, kernel = learned(X, y)
        found = solve_additive(kernel, features, sums)
        expected = multivariate_normal(np.full(40, y.mean()), plain_covariance(kernel, X, y))
        assert found.log_evidence == pytest.approx(expected.logpdf(y), abs=1e-3)

    def test_slopes_are_those_of_differences(self, rows):
        X, y = rows
        features, sums, kernel = learned(X, y)
        _, gradient = score_additive(kernel, features, sums)
        expected = slopes(lambda k: solve_additive(k, features, sums).log_evidence, kernel)
        assert gradient == pytest.approx(expected, rel=1e-5, abs=1e-5)

    def test_the_posterior_is_that_of_dense_algebra(self, rows):
        X, y = rows
        features, sums, kernel = learned(X, y)
        found = solve_additive(kernel, features, sums)
        cov = plain_covariance(kernel, X, y)
        noise = float(np.exp(kernel.log_parameters[-1]))
        mean = (cov - noise * np.eye(40)) @ np.linalg.solve(cov, y - y.mean())
        assert np.allclose(features.of(X) @ found.mean, mean, atol=1e-4)

    def test_weights_are_repeated_rows(self, rows):
        X, y = rows
        times = np.random.default_rng(0).integers(1, 4, 40)
        features = make_features(X, times.astype(float))
        again = make_features(np.repeat(X, times, axis=0))
        for one, other in zip(features, again, strict=True):
            assert np.allclose(one, other)
        sums = add_up(features, merge_rows(X, y[:, None], times))
        noisy = y + np.random.default_rng(1).normal(size=40)
        both = merge_rows(np.vstack([X, X]), np.append(y, noisy)[:, None])
        apart = [add_up(features, merge_rows(X, one[:, None])) for one in (y, noisy)]
        center = add_up(features, both).center
        squares = sum(float(np.sum((one - center) ** 2)) for one in (y, noisy))
        assert np.isclose(add_up(features, both).square, squares)
        assert np.allclose(add_up(features, both).gram, apart[0].gram + apart[1].gram)
        repeated = add_up(
            again, merge_rows(np.repeat(X, times, axis=0), np.repeat(y, times)[:, None])
        )
        for one, other in zip(sums, repeated, strict=True):
            assert np.allclose(one, other)


class TestFeatures:
    def test_curves_pass_through_polynomials(self, rows):
        """Features of a column times values at its points are the polynomial of these, less its mean."""
        X, _ = rows
        features = make_features(X)
        z = standardised(X)[:, 0]
        values = features.points[0][:, 0] ** 5 - features.points[0][:, 0]
        found = features.of(X)[:, :12] @ values
        assert np.allclose(found, z**5 - z - np.mean(z**5 - z), atol=1e-9)

    def test_curves_go_on_straight(self, rows):
        """Beyond the ends with the slope that the polynomial has there."""
        X, _ = rows
        features = make_features(X)
        (low, *_), (high, *_) = features.low, features.high
        points = features.points[0][:, 0]
        z = np.array([low - 0.5, low, high, high + 0.25])
        asked = np.zeros((4, 3))
        asked[:, 0] = z * features.scale[0] + features.center[0]
        found = features.of(asked)[:, :12] @ points**3
        assert found[0] - found[1] == pytest.approx(-0.5 * 3.0 * low**2, rel=1e-6)
        assert found[3] - found[2] == pytest.approx(0.25 * 3.0 * high**2, rel=1e-6)

    def test_features_of_a_column_are_its_own(self, rows):
        X, _ = rows
        features, changed = make_features(X), X.copy()
        changed[:, 2] += 0.1
        moved = np.any(features.of(changed) != features.of(X), axis=0)
        assert set(np.flatnonzero(moved)) <= set(features.places(2))
        assert list(features.places(1)) == [25]

    def test_far_values_take_no_points(self):
        x = np.append(np.linspace(-1.0, 1.0, 999), 1e6)[:, None]
        features = make_features(x)
        reach = float((features.high - features.low)[0] * features.scale[0])
        assert reach < 2.0

    def test_kernels_of_columns_are_curve_and_line(self, rows):
        X, y = rows
        features, _, kernel = learned(X, y)
        first, second, _ = column_kernels(kernel, features)
        z = np.array([[0.3, 1.0, -2.0]])
        assert first(z)[0, 0] == pytest.approx(0.7 + 0.3 * 0.3**2)
        assert second(z)[0, 0] == pytest.approx(0.3)


def test_roots_of_curves_need_no_jitter():
    """Curves of two sizes, one so long that its points have one value: RRᵀ is the covariance to rounding."""
    short, long = np.linspace(-1.0, 1.0, 5)[:, None], np.linspace(-1.0, 1.0, 7)[:, None]
    covs = [3.0 * RBF(0.7)(short), 1e-8 * RBF(1e3)(long), RBF(0.2)(long), RBF(1e6)(short)]
    for cov, root in zip(covs, _curve_roots(covs), strict=True):
        np.testing.assert_allclose(root @ root.T, cov, atol=1e-14 * cov.max())
