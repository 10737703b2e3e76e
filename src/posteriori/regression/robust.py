"""Regression that outliers cannot carry away: Student-t noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.student_t import StudentT
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.regression.shaped import ShapedCurve, ShapedRegression

__all__ = ["RobustRegression"]


class RobustRegression(ShapedRegression):
    """Linear regression with Student-t noise, whose scale is learned with the weights.

    With s the median absolute deviation of the targets, weights of standardised columns have the
    prior N(0, s²/α), the intercept N(median, s²/α), and the logarithm of the scale N(ln s, 1/α).

    Parameters
    ----------
    prior_precision : float
        Precision of every weight on standardised columns, of the intercept and of ln scale.
    dof : float
        Degrees of freedom of the noise: the smaller, the less an outlier counts.
    fit_intercept : bool
    tol : float
        The ascent ends when a Newton step is shorter than this many standard deviations.
    max_iter : int
        Most passes over the data.

    Attributes
    ----------
    posterior_ : MvNormal
        Of the weights, then the intercept.
    coef_, intercept_
        Posterior means.
    shape_ : float
        The scale of the noise at the mode.
    log_evidence_ : LogEvidence

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> y = 2.0 * x[:, 0] + 0.1 * np.sin(50 * x[:, 0])
    >>> y[::10] += 30.0
    >>> RobustRegression().fit(x, y).coef_.round(1)
    array([2.])
    """

    def __init__(
        self,
        prior_precision: float = 1.0,
        *,
        dof: float = 4.0,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 200,
    ) -> None:
        super().__init__(prior_precision, fit_intercept=fit_intercept, tol=tol, max_iter=max_iter)
        self.dof = dof

    def _check_targets(self, y: Array) -> None:
        if not self.dof > 0:
            raise ValueError(f"dof must be positive, got {self.dof!r}")

    def _link(self, mean: float) -> float:
        return mean

    def _prior(self, size: int, y: Array, frequency: Array | None) -> tuple[Array, Array]:
        precision, mean = super()._prior(size, y, frequency)
        if self.fit_intercept:
            mean[0] = np.median(y)
        return precision / _spread(y) ** 2, mean

    def _start_of_shape(self, y: Array) -> float:
        return float(np.log(_spread(y)))

    def _shaped_likelihood(self, y: Array) -> Any:
        nu = self.dof
        constant = special.gammaln(0.5 * (nu + 1.0)) - special.gammaln(0.5 * nu)
        constant -= 0.5 * np.log(nu * np.pi)

        def curve(eta: Array, log_scale: float, rows: Any) -> ShapedCurve:
            # c − ln s − ½(ν+1) ln(1 + z²/ν), z = (y − η)/s
            s = np.exp(log_scale)
            z = (y[rows] - eta) / s
            weight = (nu + 1.0) / (nu + z * z)  # of an observation: 1 near, 0 far away
            value = constant - log_scale - 0.5 * (nu + 1.0) * np.log1p(z * z / nu)
            slope = weight * z / s
            bend = weight * (nu - z * z) / (nu + z * z)
            in_scale = weight * z * z - 1.0
            twice = 2.0 * nu * weight * z * z / (nu + z * z)
            return ShapedCurve(
                value, slope, bend / s**2, in_scale, twice, 2.0 * nu * weight * z / (nu + z * z) / s
            )

        return curve

    def _shaped_member(self, eta: Array, log_shape: float) -> Any:
        return StudentT(self.dof, eta, scale=np.exp(log_shape))


def _spread(y: Array) -> float:
    """Return the median absolute deviation, or another positive number where that is 0."""
    distances = np.abs(y - np.median(y))
    found = [float(np.median(distances)), float(distances.mean()), float(np.abs(y).max()), 1.0]
    return next(value for value in found if value > 0)
