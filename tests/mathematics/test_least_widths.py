"""Covariances that are widened to what rounding leaves open."""

import numpy as np
import pytest

from posteriori.decomposition import BayesianFactorAnalysis, BayesianPCA
from posteriori.density import KernelDensity, StudentDensity
from posteriori.mathematics.least_widths import widen_covariances
from posteriori.mixture import BayesianGaussianMixture, LatentClasses


@pytest.mark.parametrize("seed", range(5))
def test_widened_covariances_are_no_narrower_and_nowhere_less(seed: int) -> None:
    rng = np.random.default_rng(seed)
    roots = rng.normal(size=(6, 4, 4)) * 10.0 ** rng.uniform(-3, 1, size=(6, 4, 1))
    covs, widths = roots @ np.swapaxes(roots, 1, 2), np.array([0.0, 0.1, 1.0, 0.01])
    wide = widen_covariances(covs, widths)
    for added in (wide - np.diag(widths**2), wide - covs):
        assert np.linalg.eigvalsh(added).min() >= -1e-12 * np.abs(wide).max()
    np.testing.assert_allclose(widen_covariances(wide, widths), wide, rtol=1e-9, atol=1e-14)


def test_wide_covariances_stay_as_they_are() -> None:
    covs = np.array([[[2.0, 0.9], [0.9, 1.0]]])
    np.testing.assert_array_equal(widen_covariances(covs, np.array([0.3, 0.3])), covs)
    assert widen_covariances(covs, np.zeros(2)) is covs


@pytest.mark.parametrize(
    "estimator",
    [
        KernelDensity(min_bandwidth=[1.0, 2.0, 3.0]),
        StudentDensity(min_width=-1.0),
        BayesianGaussianMixture(min_width=np.nan),
        LatentClasses(min_width=[1.0]),
        BayesianPCA(min_width=[1.0, np.inf]),
        BayesianFactorAnalysis(min_width=[[0.1, 0.1]]),
    ],
)
def test_widths_must_be_numbers_of_columns(estimator: object) -> None:
    with pytest.raises(
        ValueError, match=r"min_\w+ must be a number >= 0, or one for each of the 2"
    ):
        estimator.fit(np.random.default_rng(0).normal(size=(20, 2)))
