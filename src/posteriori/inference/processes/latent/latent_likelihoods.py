r"""Likelihoods of targets given a function that is not seen, as the engines of linear predictors take them.

With :math:`K = LL^\top` the values of the function at rows are :math:`f = Lv,\ v\sim N(0, I)`: rows of L are
features, and whatever fits a linear predictor fits a process. A row has one predictor, or the contrasts of
its classes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.inference.predictors.expectation_propagation import (
    curvature_sites,
    softmax_sites,
    softmax_tilt,
)
from posteriori.inference.predictors.generalized_linear import Curve, Likelihood, LinearPredictor
from posteriori.inference.predictors.mode_finding import LogDensity
from posteriori.inference.predictors.normal_bound import averaged_likelihood
from posteriori.inference.predictors.site_predictors import (
    SeveralPredictors,
    SinglePredictor,
    SitePredictors,
    Sites,
    Tilt,
)
from posteriori.inference.predictors.softmax_likelihood import SoftmaxLikelihood
from posteriori.inference.predictors.softmax_predictor import SoftmaxPredictor
from posteriori.inference.predictors.weight_belief import contrast_moments, row_moments
from posteriori.numerics.types import Array

__all__ = ["Bends", "LatentLikelihood", "SingleLatent", "SoftmaxLatent"]

_ALL = slice(None)


class Bends(NamedTuple):
    """How log likelihoods bend, as often as rows count.

    Attributes
    ----------
    slope : (N, M)
    curvature : (N, M, M)
        Minus second derivatives.
    """

    slope: Array
    curvature: Array


class LatentLikelihood(Protocol):
    """Targets of N rows given M predictors of each."""

    size: int
    frequency: Array | None

    def density(self, x: Array, cov: Array | None = None) -> LogDensity:
        """Return the log posterior of weights of rows (N, N), averaged over a covariance if one is given."""

    def bends(self, eta: Array, spread: Array | None = None) -> Bends:
        """Return derivatives at predictors (N, M), means over their covariances (N, M, M) if given."""

    def tilted_rows(self, x: Array) -> tuple[SitePredictors, Tilt]:
        """Return rows and their moments for expectation propagation."""

    def first_sites(self, x: Array, mean: Array, cov: Array) -> Sites:
        """Return the sites that expectation propagation begins with near a belief."""


class SingleLatent:
    """Rows with one predictor each.

    Parameters
    ----------
    curve : callable
        Log densities of rows as functions of their predictors.
    tilt : callable, optional
        Moments of the likelihood under normal predictors.
    frequency : (N,), optional
        How often each row counts.
    log_shape : float
        That of the family, where it has one.
    singularity : float
        How far the nearest singularity of log densities is from the real line.
    """

    size = 1

    def __init__(
        self,
        curve: Likelihood,
        tilt: Tilt | None = None,
        frequency: Array | None = None,
        log_shape: float = 0.0,
        singularity: float = np.pi,
    ) -> None:
        self.curve, self.tilt, self.log_shape = curve, tilt, log_shape
        self.frequency, self.singularity = frequency, singularity

    @property
    def log_concave(self) -> bool:
        """Whether log densities bend downwards everywhere: these are the likelihoods with a tilt."""
        return self.tilt is not None

    def density(self, x: Array, cov: Array | None = None) -> LinearPredictor:
        """Return the log posterior of weights of rows x (N, N)."""
        zero = np.zeros(x.shape[1])
        variance = None if cov is None else row_moments(x, zero, cov)[1]
        return LinearPredictor(x, self._plain(variance), np.eye(len(zero)), zero, self.frequency)

    def bends(self, eta: Array, spread: Array | None = None) -> Bends:
        """Return derivatives at predictors (N, 1)."""
        variance = None if spread is None else spread[:, 0, 0]
        curve = self._plain(variance)(eta[:, 0], 0.0, _ALL)
        f = 1.0 if self.frequency is None else self.frequency
        return Bends((f * curve.slope)[:, None], (f * curve.curvature)[:, None, None])

    def log_mass(self, eta: Array, variance: Array | None = None) -> float:
        """Return Σ ln p of rows at predictors (N,), means over variances if these are given."""
        value = self._plain(variance)(eta, 0.0, _ALL).value
        return float(value.sum() if self.frequency is None else self.frequency @ value)

    def cavity_mass(self, mean: Array, variance: Array) -> float:
        """Return Σ ln Z of rows under normal cavities, (N,) each."""
        assert self.tilt is not None  # expectation propagation has asked for it
        log_z = self.tilt(mean, variance)[0]
        return float(log_z.sum() if self.frequency is None else self.frequency @ log_z)

    def tilted_rows(self, x: Array) -> tuple[SitePredictors, Tilt]:
        """Return rows and their moments; a likelihood that is not log-concave has none."""
        if self.tilt is None:
            raise ValueError(
                "expectation propagation needs a log-concave likelihood; use method='laplace'"
            )
        return SinglePredictor(x, self.frequency), self.tilt

    def first_sites(self, x: Array, mean: Array, cov: Array) -> Sites:
        """Return what expectation propagation begins with: the curvature at the mean."""
        eta = x @ mean
        return curvature_sites(self._plain(None)(eta, 0.0, _ALL), eta)

    def _plain(self, variance: Array | None) -> Likelihood:
        """Return the curve at the shape, without derivatives in it; with variances its mean over these."""

        def curve(eta: Array, _: float, rows: Any) -> Curve:
            return Curve(*self.curve(eta, self.log_shape, rows)[:3])

        if variance is None:
            return curve
        return averaged_likelihood(curve, variance, singularity=self.singularity)


class SoftmaxLatent:
    """Rows with one of K classes, whose contrasts are independent functions with one kernel.

    Parameters
    ----------
    codes : (N,)
        Class of each row, 0 to K − 1.
    classes : int
        K.
    frequency : (N,), optional
        How often each row counts.
    """

    def __init__(self, codes: Any, classes: int, frequency: Array | None = None) -> None:
        self.codes, self.classes, self.frequency = codes, classes, frequency
        self.size = classes - 1

    def density(self, x: Array, cov: Array | None = None) -> SoftmaxPredictor:
        """Return the log posterior of weights of rows x (N, N), contrast by contrast."""
        zero = np.zeros(self.size * x.shape[1])
        spread = None if cov is None else contrast_moments(x, zero, cov, self.size)[1]
        return SoftmaxPredictor(
            x, self.codes, self.classes, np.ones(len(zero)), zero, self.frequency, spread
        )

    def bends(self, eta: Array, spread: Array | None = None) -> Bends:
        """Return derivatives at contrasts (N, K − 1)."""
        likelihood = SoftmaxLikelihood(self.codes, self.classes, spread)
        f = np.ones(len(eta)) if self.frequency is None else self.frequency
        _, slope = likelihood.value_and_slope(eta)
        return Bends(f[:, None] * slope, f[:, None, None] * likelihood.curvature(eta))

    def tilted_rows(self, x: Array) -> tuple[SitePredictors, Tilt]:
        """Return rows and their moments."""
        return SeveralPredictors(x, self.size, self.frequency), softmax_tilt(self.codes)

    def first_sites(self, x: Array, mean: Array, cov: Array) -> Sites:
        """Return what expectation propagation begins with: mean slopes and curvatures over a belief."""
        return softmax_sites(*contrast_moments(x, mean, cov, self.size), self.codes)
