r"""Regression by a sum of smooth curves, one for each column.

.. math:: y_n = c + \sum_d\{w_dx_{nd} + f_d(x_{nd})\} + \varepsilon_n,\qquad
          \mathrm{cov}(f_d(x), f_d(z)) = v_de^{-(x-z)^2/2\ell_d^2},\quad w_d\sim N(0, b),\quad
          \varepsilon_n\sim N(0, \sigma^2)

Reference: D. Duvenaud, H. Nickisch & C. Rasmussen, "Additive Gaussian processes", 2011.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs, check_rows
from posteriori.estimators.parameters import Constraint, check_parameters
from posteriori.gaussian_process.process_belief import LARGEST_TARGET, Effect
from posteriori.inference.processes.additive.additive_process import (
    AdditiveSums,
    add_up,
    additive_kernel,
    column_kernels,
    score_additive,
    solve_additive,
)
from posteriori.inference.processes.additive.curve_features import CurveFeatures, make_features
from posteriori.inference.processes.kernel_search import SEARCH_TOL, maximize_evidence
from posteriori.inference.processes.process_rows import merge_rows
from posteriori.inference.processes.search_bounds import SearchBounds, default_bounds
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["AdditiveGaussianProcessRegressor"]

#: Curves turn over this share of what they run over, at least and at most: their points tell no faster
#: ones, and slower ones are lines, which stand beside them.
_SHORTEST, _LONGEST = 1.0 / 8.0, 2.0


class AdditiveGaussianProcessRegressor(ApproximatePosterior, RegressorMixin, BaseEstimator):
    """Regression by a smooth curve of each column, with the band that each is known to.

    Every column of more than two values has a curve with its own size and its own length, beside straight
    lines of all columns with one scale; all of these are chosen by evidence. What no column adds to becomes
    flat.

    Parameters
    ----------
    callback : callable, optional
        Is told the number of an evaluation and the highest evidence so far; True ends the search. Ctrl-C
        keeps the best so far as well.

    Attributes
    ----------
    kernel_ : Kernel
        Of curves, lines and noise, of standardised columns: a sum over columns with curves of
        ``Constant(v_d) * RBF(ℓ_d)``, then ``Constant(b) * Linear()``, then ``White(σ²)``.
    log_evidence_ : LogEvidence
        ln p(y | X), of kind "type-II".
    level_ : Normal
        Of the mean of the targets, around which curves are: a priori N(ȳ, s²).
    effective_parameters_ : float
        How many weights the data determine.
    n_iter_ : int
        Evaluations of the evidence.
    n_features_in_, feature_names_in_

    Notes
    -----
    A curve is told by its values at 12 points between the ends of the middle 99 % of its column, and is straight
    beyond. An evaluation of the evidence costs O(P³) for P ≤ 13 D + 1 weights, and nothing
    for rows, of which sums are made once in O(N P²). NaN in y is a missing target.

    Examples
    --------
    >>> x = np.linspace(-1.0, 1.0, 60)
    >>> X = np.column_stack([x, np.cos(29.0 * x)])
    >>> model = AdditiveGaussianProcessRegressor().fit(X, np.sin(3.0 * x) + 0.1 * np.cos(70.0 * x))
    >>> level, first, second = (effect.belief for effect in model.effects([[0.5, 0.0]]))
    >>> bool(abs(first.mean[0] - np.sin(1.5)) < 3.0 * first.std[0]), bool(abs(second.mean[0]) < 0.1)
    (True, True)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    def __init__(self, *, callback: Any = None) -> None:
        self.callback = callback

    # -- learning --------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the curves.

        Parameters
        ----------
        X : (N, D)
        y : (N,)
            NaN is a missing target.
        sample_weight : (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        check_parameters(self)
        rows = check_rows(
            self, X, y, sample_weight=sample_weight, missing="drop", largest=LARGEST_TARGET
        )
        merged = merge_rows(rows.x, rows.y[:, None], rows.frequency)
        features = make_features(merged.X, merged.weight)
        sums = add_up(features, merged)
        kernel = additive_kernel(features)
        found = maximize_evidence(
            partial(score_additive, features=features, sums=sums),
            kernel,
            bounds=_bounds(kernel, features, sums),
            callback=self.callback,
            tol=SEARCH_TOL,
        )
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} has not found the curves of highest evidence in "
                f"{found.n_iter} evaluations; the best found are kept",
                ConvergenceWarning,
                stacklevel=2,
            )
        self._features, self._center = features, sums.center
        self._weights = solve_additive(found.kernel, features, sums)
        self.kernel_, self.n_iter_ = found.kernel, found.n_iter
        self.effective_parameters_ = _effective(self._weights.root, sums, self._weights.noise)
        self.log_evidence_ = LogEvidence(
            self._weights.log_evidence, kind="type-II", of="y|X", fingerprint=rows.fingerprint
        )
        return self

    # -- predictions -----------------------------------------------------------------------

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the expected targets (N,), with ``return_std`` also their standard deviations."""
        if return_std:
            found = self.predict_dist(X)
            return found.mean, found.std
        phi = self._seen(X)
        return self._center + phi @ self._weights.mean

    def predict_dist(self, X: Any, *, noise: bool = True) -> Normal:
        """Return the distributions of the targets, a batch; without noise, of the sum of the curves."""
        phi = self._seen(X)
        mean, variance = self._moments(phi, slice(None))
        return Normal(self._center + mean, variance=variance + noise * self._weights.noise)

    def effects(self, X: Any) -> list[Effect]:
        """Return what is believed of the level and, at rows, of the curve and line of each column.

        Those of a column have the mean 0 over the rows of ``fit``. All means add up to the prediction; what
        is believed of one depends on the others.
        """
        phi = self._seen(X)
        level = np.zeros(len(phi))
        found = [
            Effect(None, Normal(level + self.level_.mean, variance=level + self.level_.variance))
        ]
        for d, kernel in enumerate(column_kernels(self.kernel_, self._features)):
            mean, variance = self._moments(phi, self._features.places(d))
            found.append(Effect(kernel, Normal(mean, variance=variance)))
        return found

    @property
    def level_(self) -> Normal:
        """What is believed of the mean of the targets."""
        check_is_fitted(self)
        spread = self._weights.root[:, -1]
        return Normal(self._center + self._weights.mean[-1], variance=float(spread @ spread))

    def _seen(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._features.of(check_inputs(self, X))

    def _moments(self, phi: Array, places: Any) -> tuple[Array, Array]:
        """Return means and variances of what some of the weights add."""
        half = phi[:, places] @ self._weights.root[:, places].T
        variance = np.einsum("np,np->n", half, half)
        return phi[:, places] @ self._weights.mean[places], np.maximum(
            variance, np.finfo(float).tiny
        )


def _effective(root: Array, sums: AdditiveSums, noise: float) -> float:
    """Return tr(S G)/σ²."""
    return float(np.einsum("pq,pq->", root, root @ sums.gram)) / noise


def _bounds(kernel: Kernel, features: CurveFeatures, sums: AdditiveSums) -> SearchBounds:
    """Return bounds on the scale of the data, of lengths on that of the curves."""
    points = np.zeros((2, len(features.center)))
    points[:, features.curved] = features.low, features.high
    bounds = default_bounds(kernel, points, np.array([-sums.spread, sums.spread]))
    lengths = np.array([name.endswith(".scale") for name in kernel.parameter_names], dtype=bool)
    low, high, reach = bounds.low.copy(), bounds.high.copy(), features.high - features.low
    low[lengths], high[lengths] = np.log(_SHORTEST * reach), np.log(_LONGEST * reach)
    return bounds._replace(low=low, high=high)
