"""Generated curves are distributed as their stated truth."""

import numpy as np
import pytest

from posteriori.datasets import (
    make_curve,
    make_heteroscedastic_line,
    make_line_with_outliers,
    make_noisy_line,
    make_polynomial,
    make_sinusoid,
)
from tests.datasets.sample_checks import MANY, assert_mean, assert_normal


class TestCurves:
    @pytest.mark.parametrize(
        ("table", "curve", "variance", "limits"),
        [
            (make_noisy_line(MANY, rng=0), lambda x: -0.3 + 0.5 * x, 0.04, (-1, 1)),
            (make_polynomial(MANY, rng=0), lambda z: 1 + 2 * z + 0.25 * z**2, 2.0, (0, 10)),
            (make_sinusoid(MANY, rng=0), lambda x: np.sin(2 * np.pi * x), 0.04, (0, 1)),
            (
                make_sinusoid(MANY, frequency=0.5, amplitude=3, low=-1, high=1, rng=0),
                lambda x: 3 * np.sin(np.pi * x),
                0.04,
                (-1, 1),
            ),
            (make_curve("square", MANY, noise_variance=1, rng=0), np.square, 1.0, (-1, 1)),
        ],
        ids=["line", "polynomial", "sinusoid", "slow sinusoid", "square"],
    )
    def test_inputs_are_uniform_and_noise_is_normal_about_the_curve(
        self, table, curve, variance, limits
    ):
        low, high = limits
        x = table.X[:, 0]
        assert low <= x.min() < x.max() <= high
        assert_mean(x, (low + high) / 2)
        assert_mean((x - (low + high) / 2) ** 2, (high - low) ** 2 / 12)
        np.testing.assert_allclose(table.truth["mean"], curve(x), rtol=1e-12, atol=1e-12)
        assert table.truth["noise_variance"] == variance
        assert_normal(table.y[:, None] - curve(x)[:, None], 0.0, np.array([[variance]]))
        assert_mean((table.y - curve(x)) * (x - (low + high) / 2), 0.0)

    @pytest.mark.parametrize(
        ("curve", "at"),
        [
            ("square", lambda x: x * x),
            ("sine", np.sin),
            ("absolute", lambda x: max(x, -x)),
            ("step", lambda x: float(x > 0)),
        ],
    )
    def test_the_curves_of_the_network_lesson_have_no_noise(self, curve, at):
        table = make_curve(curve, rng=0)
        assert table.y.tolist() == [at(x) for x in table.X[:, 0]]

    def test_weights_of_the_lines_are_the_truth(self):
        assert make_noisy_line(rng=0).truth["weights"].tolist() == [-0.3, 0.5]
        assert make_polynomial(rng=0).truth["weights"].tolist() == [1.0, 2.0, 0.25]
        assert make_heteroscedastic_line(rng=0).truth["weights"].tolist() == [-2.0, 5.0]

    def test_noise_that_grows(self):
        line = make_heteroscedastic_line(MANY, rng=0)
        x, variance = line.X[:, 0], line.truth["noise_variance"]
        assert_mean(x, 0.5)
        np.testing.assert_allclose(line.truth["mean"], 5 * x - 2, rtol=0, atol=1e-12)
        np.testing.assert_allclose(
            np.interp([0, 0.5, 1], np.sort(x), np.sort(variance)),
            [0.5, 6.98721, 64.39056],
            rtol=1e-2,
        )
        np.testing.assert_allclose(variance, 10 * np.exp(2 * x**2) - 9.5, rtol=1e-12)
        standard = (line.y - 5 * x + 2) / np.sqrt(variance)
        assert_normal(standard[:, None], 0.0, np.eye(1))
        assert_mean((standard**2 - 1) * (x - 0.5), 0.0)

    def test_outliers_are_the_last_rows_and_lifted(self):
        line = make_line_with_outliers(MANY, n_outliers=1000, shift=3.0, rng=0)
        residual = line.y - line.truth["mean"]
        outlier = line.truth["outlier"]
        assert np.flatnonzero(outlier).tolist() == list(range(MANY, MANY + 1000))
        assert_mean(residual[~outlier], 0.0)
        assert_mean(residual[outlier], 3.0)
        assert_mean((residual - 3.0 * outlier) ** 2, 0.04)
        np.testing.assert_array_equal(line.truth["mean"], -0.3 + 0.5 * line.X[:, 0])
