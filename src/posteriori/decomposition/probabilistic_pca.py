r"""Probabilistic principal components, :math:`x \sim N(\mu, WW^\top + \sigma^2I)`.

Of complete rows the maximum is known: with eigenvalues :math:`\lambda` of the covariance

.. math:: \sigma^2 = \frac1{D-k}\sum_{j>k}\lambda_j, \qquad W = U_k(\Lambda_k - \sigma^2I)^{1/2},

so that the model has the variances :math:`\lambda_1, …, \lambda_k` and :math:`\sigma^2` in all other directions.
With gaps it is found by EM.

Reference: M. Tipping & C. Bishop, "Probabilistic principal component analysis", 1999.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from posteriori.decomposition.factor_estimator import (
    FactorEstimator,
    FactorUnits,
    canonical_loadings,
    factor_units,
    units_from,
)
from posteriori.decomposition.moment_stream import MomentStream
from posteriori.decomposition.spectra import Spectrum, moments_spectrum, row_spectrum
from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.estimators.parameters import check_parameters
from posteriori.inference.components.factor_learning import FACTOR_FLOOR, learn_factors
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["ProbabilisticPCA"]


class ProbabilisticPCA(FactorEstimator):
    """Principal components as a normal distribution, which takes rows with gaps.

    Parameters
    ----------
    n_components : int
        Fewer than there are columns.
    tol : float
        Nats that a step of EM must gain, with gaps.
    max_iter : int

    Attributes
    ----------
    components_ : (k, D)
        Wᵀ: orthogonal rows, of length √(λ − σ²); the largest entry of each is positive.
    mean_ : (D,)
    noise_variance_ : float
        σ².
    log_likelihood_ : float
        Of the entries that were seen.
    model_ : MvNormal
        The distribution of a row.
    n_parameters_ : int
        Free parameters.
    n_iter_ : int
        Steps of EM; 1 for complete rows, whose maximum is known.
    converged_ : bool

    Notes
    -----
    NaN is a missing entry. What is missing may depend on what is seen, not on what is missing. The noise
    has no less than 1e-6 of the mean variance. O(N D²) once; with gaps O(N D k²) a step.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1)) @ [[2.0, 1.0, 2.0]] + 0.1 * rng.normal(size=(200, 3))
    >>> X[0] = [4.0, np.nan, 4.0]
    >>> p = ProbabilisticPCA(1).fit(X)
    >>> p.impute(X[:1]).round(1), round(p.noise_variance_, 3)
    (array([[4., 2., 4.]]), 0.01)
    """

    def __init__(self, n_components: int = 1, *, tol: float = 1e-6, max_iter: int = 1000) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows (N, D); NaN is a missing entry."""
        check_parameters(self)
        x = check_gappy_inputs(self, X, reset=True)
        self.__dict__.pop("_stream", None)
        units = factor_units(self, x, shared=True)
        self._require_fewer(self.n_components, x.shape[1])
        if np.isnan(x).any():
            self._fit_gappy(x, units)
        elif x.shape[1] > len(x):
            self._fit_spectrum(row_spectrum(x, units.mean, gram=True), units, len(x))
        else:
            self._fit_spectrum(moments_spectrum(MomentStream.of(x).moments), units, len(x))
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from these complete rows and all that came before: equal to one ``fit`` of them."""
        stream = self._stream_with(X)
        units = units_from(column_names(self), stream.mean, stream.variances, shared=True)
        self._require_fewer(self.n_components, len(units.mean))
        self._fit_spectrum(moments_spectrum(stream.moments), units, stream.n_rows)
        self._stream = stream
        return self

    def _fit_spectrum(self, found: Spectrum, units: FactorUnits, n: int) -> None:
        """Set the maximum in closed form."""
        k, d = int(self.n_components), len(units.mean)
        rank = found.rank(units.mean)
        if k > rank:
            raise ValueError(
                f"n_components={k}, but rows of X vary in {rank} directions only (n_samples={n}, "
                f"n_features={d}): ask for at most {rank}"
            )
        values, left = found.values[:k], found.left_over(k)
        noise = max(left / (d - k), FACTOR_FLOOR * found.total / d)
        loadings = (found.vectors[:k] * np.sqrt(np.maximum(values - noise, 0.0))[:, None]).T
        spread = np.maximum(values, noise)
        distance = np.sum(values / spread) + left / noise
        log_det = np.log(spread).sum() + (d - k) * np.log(noise)
        self.log_likelihood_ = float(-0.5 * n * (d * LOG_2PI + log_det + distance))
        self.n_iter_, self.converged_ = 1, True
        self.trace_ = np.array([self.log_likelihood_])
        self._settle(loadings, noise, FactorUnits(units.mean, np.ones(d)))

    def _fit_gappy(self, x: Array, units: FactorUnits) -> None:
        """Set the maximum that EM finds."""
        found = learn_factors(
            (x - units.mean) / units.scale,
            int(self.n_components),
            shared=True,
            tol=self.tol,
            max_iter=int(self.max_iter),
        )
        loadings, mean, _ = found.parameters
        noise = float(found.parameters.noise[0])
        scale = float(units.scale[0])
        self.trace_ = np.array(found.trace) - np.sum(~np.isnan(x)) * np.log(scale)
        self.log_likelihood_ = float(self.trace_[-1])
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        loadings = canonical_loadings(loadings, np.full(len(mean), noise))
        self._settle(loadings, noise, FactorUnits(units.mean + scale * mean, units.scale))

    def _settle(self, loadings: Array, noise: float, units: FactorUnits) -> None:
        d, k = loadings.shape
        self._keep_factors(loadings, np.full(d, noise), units)
        self.noise_variance_ = float(self._noise[0])
        self.n_parameters_ = d + d * k - k * (k - 1) // 2 + 1
