"""Functions behind counts, outliers and ordered categories: quadrature over three rows, moments, slopes."""

import numpy as np
import pytest
from scipy import integrate, stats

from posteriori.inference.predictors.curves.concave_tilt import concave_tilt
from posteriori.inference.predictors.curves.count_curves import poisson_curve
from posteriori.inference.processes.latent.latent_process import fit_latent
from posteriori.inference.processes.latent.latent_search import LatentObjective
from posteriori.inference.processes.latent.latent_targets import (
    count_targets,
    ordered_targets,
    robust_targets,
    usual_thresholds,
)
from posteriori.inference.processes.mean_effects import NO_MEAN
from posteriori.kernels import RBF
from tests.inference.processes.latent.test_latent_process import grid, slopes_of

POINTS = np.array([[0.0], [0.7], [2.0]])
KERNEL = 0.7 * RBF(1.0)
COUNTS = np.array([1.0, 4.0, 0.0])
CODES = np.array([0, 2, 1])
LEVEL = np.log(COUNTS.mean())
TARGETS = {
    "poisson": (
        count_targets(COUNTS, level=LEVEL),
        lambda f: stats.poisson.pmf(COUNTS, np.exp(LEVEL + f)),
    ),
    "negative binomial": (
        count_targets(COUNTS, level=LEVEL, log_count=np.log(2.0)),
        lambda f: stats.nbinom.pmf(COUNTS, 2.0, 2.0 / (2.0 + np.exp(LEVEL + f))),
    ),
    "student-t": (
        robust_targets(COUNTS, level=1.0, log_scale=np.log(0.8), dof=4.0),
        lambda f: stats.t.pdf(COUNTS, 4.0, 1.0 + f, 0.8),
    ),
    "ordinal": (
        ordered_targets(CODES, np.array([-0.5, 1.0])),
        lambda f: np.diff(
            stats.logistic.cdf(np.array([-np.inf, -0.5, 1.0, np.inf]) - f[..., None])
        )[..., np.arange(3), CODES],
    ),
}


@pytest.mark.parametrize("name", TARGETS)
class TestQuadrature:
    def exact(self, name):
        f, weights = grid(KERNEL(POINTS))
        mass = weights * np.prod(TARGETS[name][1](f), axis=-1)
        return float(np.log(mass.sum())), mass @ f / mass.sum()

    def test_laplace_is_near(self, name):
        value, _ = self.exact(name)
        fit = fit_latent(KERNEL(POINTS), TARGETS[name][0], "laplace")
        assert fit.converged
        assert np.isclose(fit.log_evidence, value, atol=0.1)

    def test_expectation_propagation_is_nearly_exact(self, name):
        if name == "student-t":
            pytest.skip("not log-concave")
        value, mean = self.exact(name)
        fit = fit_latent(KERNEL(POINTS), TARGETS[name][0], "ep")
        assert fit.converged
        assert np.isclose(fit.log_evidence, value, atol=3e-3)
        assert np.allclose(fit.function[:, 0], mean, atol=1e-2)

    def test_the_bound_lies_below_and_near(self, name):
        value, mean = self.exact(name)
        fit = fit_latent(KERNEL(POINTS), TARGETS[name][0], "variational")
        assert value - 0.1 < fit.log_evidence < value
        assert np.allclose(fit.function[:, 0], mean, atol=0.1)

    @pytest.mark.parametrize("approximation", ["laplace", "ep", "variational"])
    def test_slopes_in_the_kernel(self, name, approximation):
        if name == "student-t" and approximation == "ep":
            pytest.skip("not log-concave")

        def evidence(v):
            objective = LatentObjective(
                POINTS, TARGETS[name][0], NO_MEAN, approximation, tol=1e-10, max_iter=500
            )
            return objective(KERNEL.with_log_parameters(v))

        _, gradient = evidence(KERNEL.log_parameters)
        expected = slopes_of(lambda v: evidence(v)[0], KERNEL.log_parameters)
        assert np.allclose(gradient, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("y", "mean", "std"), [(3.0, 0.0, 1.0), (0.0, 2.0, 5.0), (900.0, 0.0, 3.0)]
)
def test_moments_of_counts(y, mean, std):
    """Also where the likelihood is far from the cavity, and much narrower."""
    tilt = concave_tilt(poisson_curve(np.array([y])))

    def log_z(m):
        at = np.log(y) if y > 50 else np.linspace(-40.0, 10.0, 11)
        whole = integrate.quad(
            lambda e: stats.poisson.pmf(y, np.exp(e)) * stats.norm.pdf(e, m, std),
            -40.0,
            12.0,
            points=np.atleast_1d(at),
            epsabs=0.0,
            epsrel=1e-11,
            limit=500,
        )
        return np.log(whole[0])

    found = tilt(np.array([mean]), np.array([std**2]))
    step = 1e-3 * std
    low, middle, high = (log_z(mean + s) for s in (-step, 0.0, step))
    assert np.isclose(found[0][0], middle, atol=1e-7)
    assert np.isclose(found[1][0], (high - low) / (2.0 * step), rtol=1e-5)
    assert np.isclose(found[2][0], (2.0 * middle - high - low) / step**2, rtol=1e-3)


def test_thresholds_that_fall_are_refused():
    with pytest.raises(ValueError, match="must rise"):
        ordered_targets(CODES, np.array([1.0, 0.0]))
    assert np.allclose(usual_thresholds(np.array([0, 0, 1, 2])), [0.0, np.log(3.0)])
