r"""Regression for other than normal targets: Laplace posteriors over one Newton core.

The predictor is :math:`\eta = b + x\cdot w`. On standardised columns every weight has the prior N(0, 1/α), and
the intercept N(g(ȳ), 1/α) around the value that ignores all inputs. The posterior is the normal
distribution at the mode with the curvature there, and the evidence its integral.

References: P. McCullagh & J. Nelder, "Generalized linear models", 1989; D. MacKay, "Information
theory, inference, and learning algorithms", 2003, ch. 27.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from posteriori.distributions.mixture import Mixture
from posteriori.distributions.mvnormal import MvNormal
from posteriori.inference.generalized_linear import LinearPredictor, posterior_mode
from posteriori.inference.mode_finding import Mode, laplace_evidence
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning
from posteriori.regression.standardized import standardize

__all__ = ["GeneralizedRegression", "hermite_rule"]

#: Points of the Gauss–Hermite rule that integrates a predictive distribution over η.
_NODES = 21


class GeneralizedRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """What regressions on a linear predictor have in common.

    Parameters
    ----------
    prior_precision : float
        Precision α of every weight on standardised columns, and of the intercept.
    fit_intercept : bool
    tol : float
        The ascent ends when a Newton step is shorter than this many standard deviations.
    max_iter : int
        Most passes over the data.
    """

    def __init__(
        self,
        prior_precision: float = 1.0,
        *,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 200,
    ) -> None:
        self.prior_precision = prior_precision
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter

    # -- what a family states ----------------------------------------------------------------

    @abstractmethod
    def _check_targets(self, y: Array) -> None:
        """Refuse targets off the support."""

    @abstractmethod
    def _link(self, mean: float) -> float:
        """Return the predictor that has this mean."""

    @abstractmethod
    def _likelihood(self, y: Array) -> Any:
        """Return the log density of rows as a function of their predictors, and derivatives."""

    @abstractmethod
    def _member(self, eta: Array) -> Any:
        """Return the distribution of targets with known predictors."""

    # -- learning ----------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the posterior of the weights.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        if not self.prior_precision > 0:
            raise ValueError(f"prior_precision must be positive, got {self.prior_precision!r}")
        x, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        y = np.asarray(y, dtype=np.float64)
        frequency = None
        if sample_weight is not None:
            frequency = _check_sample_weight(sample_weight, x, ensure_non_negative=True)
            kept = frequency > 0
            if not kept.any():
                raise ValueError("sample_weight is 0 everywhere: there is nothing to learn from")
            x, y, frequency = x[kept], y[kept], frequency[kept]
        self._check_targets(y)
        self._standardized = standardize(x, frequency, intercept=self.fit_intercept)
        mode = self._find_mode(self._standardized.design, y, frequency)
        if not mode.converged:
            warnings.warn(
                f"{type(self).__name__} did not converge in {self.max_iter} passes: the Newton step "
                f"is {mode.gradient_norm:.2g} standard deviations; raise max_iter or "
                "prior_precision",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._keep(mode, y, frequency)
        self._standardized = self._standardized._replace(design=np.zeros((0, 0)))
        return self

    def _find_mode(self, design: Array, y: Array, frequency: Array | None) -> Mode:
        self._precision, mean = self._prior(design.shape[1], y, frequency)
        precision = np.diag(self._precision)
        density = LinearPredictor(design, self._likelihood(y), precision, mean, frequency)
        return posterior_mode(density, mean, tol=self.tol, max_iter=self.max_iter)

    def _prior(self, size: int, y: Array, frequency: Array | None) -> tuple[Array, Array]:
        """Return precisions and means of intercept and weights, on the standardised scale."""
        mean = np.zeros(size)
        if self.fit_intercept:
            mean[0] = self._link(float(np.average(y, weights=frequency)))
        return np.full(size, float(self.prior_precision)), mean

    def _keep(self, mode: Mode, y: Array, frequency: Array | None) -> None:
        size = len(self._standardized.scale) + self.fit_intercept
        root = np.linalg.inv(mode.factor)
        cov = root.T @ root
        self._weights = MvNormal(mode.point[:size], cov=cov[:size, :size])
        self.posterior_ = self._standardized.raw(self._weights)
        d = len(self._standardized.scale)
        self.coef_ = self.posterior_.mean[:d]
        self.intercept_ = float(self.posterior_.mean[d]) if self.fit_intercept else 0.0
        rows = (
            y if frequency is None else np.repeat(y, np.maximum(np.rint(frequency), 1).astype(int))
        )
        self.log_evidence_ = LogEvidence(
            laplace_evidence(mode) + 0.5 * float((np.log(self._precision) - LOG_2PI).sum()),
            kind="laplace",
            of="y|X",
            fingerprint=Fingerprint().update(rows),
        )
        kept = (self._precision * np.diagonal(cov))[:size].sum()
        self.effective_parameters_ = float(size - kept)  # γ = Σ λ/(α + λ)
        self.n_iter_ = mode.n_iter

    # -- predicting --------------------------------------------------------------------------

    def predictor(self, X: Any) -> Any:
        """Return the posterior of η for each row, a batch of normal distributions."""
        from posteriori.distributions.normal import Normal

        check_is_fitted(self)
        x = validate_data(self, X, dtype=np.float64, reset=False)
        z = self._standardized.of(x)
        variance = np.einsum("ni,ij,nj->n", z, self._weights.cov, z)
        return Normal(z @ self._weights.mean, variance=np.maximum(variance, 1e-300))

    def predict_dist(self, X: Any) -> Any:
        """Return the predictive distribution of each row's target.

        The predictor is integrated out by a Gauss–Hermite rule: a mixture over its nodes.
        """
        at, weights = hermite_rule(self.predictor(X))
        return Mixture(weights, self._member(at))

    def predict(self, X: Any) -> Array:
        """Return the mean of the predictive distribution."""
        return np.asarray(self.predict_dist(X).mean)


def hermite_rule(eta: Any) -> tuple[Array, Array]:
    """Return nodes (N, Q) and weights (Q,) that integrate over a batch of normal distributions."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
    at = np.asarray(eta.mean)[:, None] + np.asarray(eta.std)[:, None] * nodes
    return at, weights / weights.sum()
