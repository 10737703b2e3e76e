r"""Factor analysis, :math:`x \sim N(\mu, WW^\top + \Psi)` with noise of its own for each column.

Complete rows count only through their covariance, from which Newton's method finds the maximum; with
gaps it is found by EM. Unlike principal components the answer moves with the units of the columns.

References: D. Lawley & A. Maxwell, "Factor analysis as a statistical method", 1971; C. Bishop, "Pattern
recognition and machine learning", 2006, sec. 12.2.4.
"""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np

from posteriori.decomposition.factor_estimator import (
    FactorEstimator,
    FactorUnits,
    canonical_loadings,
    factor_units,
    units_from,
)
from posteriori.decomposition.loading_rotations import ROTATIONS, rotate_loadings
from posteriori.decomposition.moment_stream import MomentStream
from posteriori.estimators.estimator_rows import check_gappy_inputs, column_names
from posteriori.estimators.parameters import check_parameters, one_of, or_none
from posteriori.inference.components.factor_learning import FACTOR_FLOOR, learn_factors
from posteriori.inference.components.factor_maximum import maximize_factors
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["FactorAnalysis"]

#: Noise within this factor of the floor lies on it.
_ON_FLOOR = 1.0 + 1e-6


class FactorAnalysis(FactorEstimator):
    """Common factors of columns, each of which has noise of its own.

    Parameters
    ----------
    n_components : int
        Fewer than there are columns.
    rotation : {"varimax", "quartimax", "promax"} or None
        Towards loadings few of which are large. By default WᵀΨ⁻¹W is diagonal: the factors are
        independent given a row, and the strongest is the first.
    tol : float
        Nats that a further step must promise.
    max_iter : int

    Attributes
    ----------
    components_ : (k, D)
        Wᵀ, after the rotation; the largest loading of each factor, columns in units of their standard
        deviations, is positive.
    factor_covariance_ : (k, k)
        Of the factors: I, but for "promax" their correlations.
    mean_ : (D,)
    noise_variance_ : (D,)
        Ψ.
    heywood_ : list of str
        Columns whose noise has shrunk to the floor, 1e-6 of their variance: the factors explain them
        entirely, which more rows or fewer factors usually mend.
    log_likelihood_ : float
        Of the entries that were seen.
    model_ : MvNormal
    n_parameters_ : int
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    NaN is a missing entry. Complete rows cost O(N D²) once and O(k D³) a step; with gaps a step costs
    O(N D k²).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=(1000, 1))
    >>> X = z @ [[1.0, 2.0, 3.0]] + rng.normal(size=(1000, 3)) * [1.0, 0.5, 2.0]
    >>> f = FactorAnalysis(1).fit(X)
    >>> f.components_.round(1), f.noise_variance_.round(1)
    (array([[1., 2., 3.]]), array([1. , 0.3, 3.9]))
    """

    _constraints = {**FactorEstimator._constraints, "rotation": or_none(one_of(*ROTATIONS))}

    def __init__(
        self,
        n_components: int = 1,
        *,
        rotation: str | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
    ) -> None:
        self.n_components = n_components
        self.rotation = rotation
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows (N, D); NaN is a missing entry."""
        check_parameters(self)
        x = check_gappy_inputs(self, X, reset=True)
        self.__dict__.pop("_stream", None)
        if np.isnan(x).any() or len(x) < 2:
            units = factor_units(self, x, shared=False)
            self._require_fewer(self.n_components, x.shape[1])
            self._fit_gappy(x, units)
        else:
            self._fit_moments(MomentStream.of(x), None)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Learn from these complete rows and all that came before: equal to one ``fit`` of them."""
        stream = self._stream_with(X)
        self._fit_moments(stream, self._noise if "_stream" in self.__dict__ else None)
        self._stream = stream
        return self

    def _fit_moments(self, stream: MomentStream, start: Array | None) -> None:
        """Set the maximum that Newton's method finds from a covariance."""
        n, variances = stream.n_rows, stream.variances
        units = units_from(column_names(self), stream.mean, variances, shared=False)
        self._require_fewer(self.n_components, len(variances))
        cov = stream.cov / np.outer(units.scale, units.scale)
        found = maximize_factors(
            cov,
            int(self.n_components),
            n,
            floor=FACTOR_FLOOR,
            tol=self.tol,
            max_iter=int(self.max_iter),
            start=None if start is None else start / variances,
        )
        if not found.converged:
            warnings.warn(
                f"factor analysis stopped after {found.n_iter} steps; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
        log_scale = np.log(units.scale).sum()
        constant = len(variances) * LOG_2PI + 2.0 * log_scale
        self.log_likelihood_ = float(-0.5 * n * (constant + found.value))
        self.n_iter_, self.converged_ = max(found.n_iter, 1), found.converged
        self._settle(found.loadings, found.noise, units)

    def _fit_gappy(self, x: Array, units: FactorUnits) -> None:
        """Set the maximum that EM finds."""
        found = learn_factors(
            (x - units.mean) / units.scale,
            int(self.n_components),
            shared=False,
            tol=self.tol,
            max_iter=int(self.max_iter),
        )
        loadings, mean, _ = found.parameters
        scales = np.sum(~np.isnan(x), axis=0) @ np.log(units.scale)
        self.log_likelihood_ = float(found.trace[-1] - scales)
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        units = units._replace(mean=units.mean + units.scale * mean)
        self._settle(loadings, found.parameters.noise, units)

    def _settle(self, loadings: Array, noise: Array, units: FactorUnits) -> None:
        d, k = loadings.shape
        loadings = canonical_loadings(loadings, noise)
        turn = np.eye(k)
        if self.rotation is not None:
            back = rotate_loadings(loadings, self.rotation)
            rotated = loadings @ back
            order = np.argsort(-np.sum(rotated**2, axis=0), kind="stable")
            rotated, back = rotated[:, order], back[:, order]
            back = back * np.sign(rotated[np.argmax(np.abs(rotated), axis=0), np.arange(k)])
            turn = np.linalg.solve(back, np.eye(k))
        self._keep_factors(loadings, noise, units, turn)
        self.factor_covariance_ = turn @ turn.T
        self.noise_variance_ = self._noise
        names = column_names(self)
        low = np.flatnonzero(noise <= FACTOR_FLOOR * _ON_FLOOR)
        self.heywood_ = [names[j] for j in low]
        self.n_parameters_ = 2 * d + d * k - k * (k - 1) // 2
