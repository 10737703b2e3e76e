r"""Factors by variational Bayes: how many are needed is learned, and evidence tells what that is worth.

.. math:: x\mid z \sim N(\mu + Wz, \Psi), \qquad w_{dk}\sim N(0, \alpha_k^{-1}).

A factor that rows do not need gets a large precision α and vanishes (automatic relevance determination).

Reference: C. Bishop, "Variational principal components", 1999.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np

from posteriori.decomposition.factor_estimator import (
    FactorEstimator,
    canonical_loadings,
    factor_units,
)
from posteriori.estimators.approximate_posterior import ApproximatePosterior, Unweighed
from posteriori.estimators.estimator_rows import check_gappy_inputs
from posteriori.estimators.parameters import WHOLE, check_parameters, or_none
from posteriori.inference.components.factor_beliefs import (
    FactorBeliefs,
    FactorPrior,
    learn_factor_beliefs,
)
from posteriori.inference.components.factor_draws import FactorDraws
from posteriori.inference.components.weak_factors import OFF
from posteriori.mathematics.least_widths import check_least_widths
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.numerics.types import Array

__all__ = ["BayesianFactorAnalysis", "BayesianPCA"]

#: Factors that are offered at most, unless more are asked for.
_OFFERED = 20

#: In units in which columns have variance 1: precisions of factors and noise are hardly known before,
#: and means lie within a standard deviation of those of the columns.
_PRIOR = FactorPrior((1e-3, 1e-3), (1e-3, 1e-3), 1.0)


class _BayesianFactors(ApproximatePosterior, FactorEstimator):
    """Beliefs about factors, with a precision for each."""

    tol: float
    max_iter: int
    min_width: Any
    _constraints = {**FactorEstimator._constraints, "n_components": or_none(WHOLE)}
    _shared: ClassVar[bool]

    @property
    @abstractmethod
    def _one_unit(self) -> bool:
        """Whether all columns are in one unit, or each in its own."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows (N, D); NaN is a missing entry."""
        check_parameters(self)
        x = check_gappy_inputs(self, X, reset=True)
        widths = check_least_widths("min_width", self.min_width, x.shape[1])
        units = factor_units(self, x, shared=self._one_unit)
        n, d = x.shape
        k = min(d - 1, n - 1, _OFFERED) if self.n_components is None else int(self.n_components)
        self._require_fewer(max(k, 1), d)
        found = learn_factor_beliefs(
            (x - units.mean) / units.scale,
            k,
            _PRIOR,
            shared=self._shared,
            tol=self.tol,
            max_iter=int(self.max_iter),
        )
        scales = np.sum(~np.isnan(x), axis=0) @ np.log(units.scale)
        self.trace_ = np.array(found.trace) - scales
        self.log_evidence_ = LogEvidence(
            self.trace_[-1], kind="bound", of="X", fingerprint=Fingerprint().update(x, None)
        )
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        beliefs = found.parameters
        self._learned_from = x, beliefs, units
        loadings, noise, needed = _expected_factors(beliefs, (widths / units.scale) ** 2)
        moved = units._replace(mean=units.mean + units.scale * beliefs.mean)
        self._keep_factors(loadings, noise, moved)
        self.n_components_ = needed
        one = self._one_unit and not widths.any()
        self.noise_variance_ = float(self._noise.mean()) if one else self._noise
        return self

    def _approximate_belief(self) -> FactorDraws | Unweighed:
        x, beliefs, units = self._learned_from
        if np.isnan(x).any():
            known = Unweighed.of_kind(self.log_evidence_.kind)
            return known._replace(reason="rows with gaps are not weighed")
        z = (x - units.mean) / units.scale
        scale = np.broadcast_to(units.scale, units.mean.shape)
        return FactorDraws(beliefs, _PRIOR, z, units.mean, scale)


class BayesianPCA(_BayesianFactors):
    """Principal components as beliefs: their number is learned, and evidence compares models.

    Parameters
    ----------
    n_components : int or None
        Factors that are offered; those that are not needed vanish. None offers one fewer than there are
        rows or columns, and 20 at most.
    standardize : bool
        Whether each column counts in units of its standard deviation, as where columns are of different
        kinds; the noise then has one variance in these units.
    tol : float
        Nats that a step must gain.
    max_iter : int
    min_width : float or (D,)
        The noise of columns is no narrower, when all is learned: say, δ/√12 of numbers that are rounded to
        steps δ. The evidence is that of the rows.

    Attributes
    ----------
    n_components_ : int
        Factors that are needed; may be 0.
    components_ : (k, D)
        Expected loadings of these (of the strongest where none is needed), orthogonal in units of the
        noise; the largest entry of each is positive.
    mean_ : (D,)
    noise_variance_ : float, or (D,) with ``standardize`` or ``min_width``
        Expected, with what is not known of loadings and means.
    log_evidence_ : LogEvidence
        A lower bound of ln p(X), of kind "bound".
    model_ : MvNormal
        A row that is expected next: mean and covariance are those of the beliefs.
    trace_ : array
        The bound after each step.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    NaN is a missing entry. Priors are weak and in units of the rows: precisions of factors and noise are
    Gamma(0.001, 0.001), means lie within a standard deviation of those of the columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = 2 * rng.normal(size=(200, 3)) @ rng.normal(size=(3, 8)) + rng.normal(size=(200, 8))
    >>> b = BayesianPCA().fit(X)
    >>> b.n_components_, b.log_evidence_.kind
    (3, 'bound')
    """

    _shared = True

    def __init__(
        self,
        n_components: int | None = None,
        *,
        standardize: bool = False,
        tol: float = 1e-6,
        max_iter: int = 1000,
        min_width: Any = 0.0,
    ) -> None:
        self.n_components = n_components
        self.standardize = standardize
        self.tol = tol
        self.max_iter = max_iter
        self.min_width = min_width

    @property
    def _one_unit(self) -> bool:
        return not self.standardize


class BayesianFactorAnalysis(_BayesianFactors):
    """Factor analysis as beliefs: the number of factors is learned, and evidence compares models.

    Parameters
    ----------
    n_components : int or None
        Factors that are offered; those that are not needed vanish. None offers one fewer than there are
        rows or columns, and 20 at most.
    tol : float
        Nats that a step must gain.
    max_iter : int
    min_width : float or (D,)
        The noise of columns is no narrower, when all is learned: say, δ/√12 of numbers that are rounded to
        steps δ. The evidence is that of the rows.

    Attributes
    ----------
    n_components_ : int
        Factors that are needed; may be 0.
    components_ : (k, D)
        Expected loadings of these (of the strongest where none is needed), with WᵀΨ⁻¹W diagonal; the
        largest entry of each is positive.
    mean_ : (D,)
    noise_variance_ : (D,)
        Expected, with what is not known of loadings and means.
    log_evidence_ : LogEvidence
        A lower bound of ln p(X), of kind "bound".
    model_ : MvNormal
        A row that is expected next: mean and covariance are those of the beliefs.
    trace_ : array
        The bound after each step.
    n_iter_ : int
    converged_ : bool

    Notes
    -----
    NaN is a missing entry. Priors are those of :class:`BayesianPCA`, in units of each column.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = 2 * rng.normal(size=(200, 2)) @ rng.normal(size=(2, 8))
    >>> X += rng.normal(size=(200, 8)) * np.linspace(0.5, 2, 8)
    >>> BayesianFactorAnalysis().fit(X).n_components_
    2
    """

    _shared = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        tol: float = 1e-6,
        max_iter: int = 1000,
        min_width: Any = 0.0,
    ) -> None:
        self.n_components = n_components
        self.tol = tol
        self.max_iter = max_iter
        self.min_width = min_width

    @property
    def _one_unit(self) -> bool:
        return False


def _expected_factors(beliefs: FactorBeliefs, least: Array) -> tuple[Array, Array, int]:
    """Return loadings (D, k), noise (D,) with all that is uncertain, and how many factors are needed.

    No variance of the noise is below the least one of its column.
    """
    squares, second = np.sum(beliefs.loadings**2, axis=0), np.diag(beliefs.second)
    needed = squares > OFF * second
    kept = needed if needed.any() else np.arange(len(squares)) == np.argmax(squares)
    tau = beliefs.precision
    noise = np.broadcast_to(tau.rate / (tau.shape - 1.0), beliefs.mean.shape)  # E[1/τ]
    spread = np.trace(beliefs.spreads, axis1=1, axis2=2)
    noise = np.maximum(noise + spread + np.sum(beliefs.loadings[:, ~kept] ** 2, axis=1), least)
    loadings = canonical_loadings(beliefs.loadings[:, kept], noise)
    return loadings, noise, int(needed.sum())
