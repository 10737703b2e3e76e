r"""Probit regression: two classes by a threshold on a normal latent variable.

.. math:: p(y = 1 \mid x, w) = \Phi(b + x\cdot w),\qquad w\sim N(0, \alpha^{-1}I).

Reference: J. Albert & S. Chib, "Bayesian analysis of binary and polychotomous response data", 1993.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from posteriori.classification.arguments import LabelledRows
from posteriori.classification.bayesian_linear import BayesianLinearClassifier
from posteriori.classification.linear_mode import class_signs
from posteriori.inference.class_curves import probit_curve, probit_mean
from posteriori.inference.expectation_propagation import curvature_sites, fit_sites, probit_tilt
from posteriori.inference.generalized_linear import LinearPredictor, posterior_mode
from posteriori.inference.weight_belief import WeightBelief, laplace_belief
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = ["ProbitRegression"]


class ProbitRegression(BayesianLinearClassifier):
    """Probit regression of two classes with a normal posterior over the weights.

    On standardised columns every weight has the prior N(0, 1/α), and the intercept N(Φ⁻¹(share of the
    second class), 1/α).

    Parameters
    ----------
    prior_precision : float
        Precision α of every weight, and of the intercept.
    approximation : {"laplace", "ep"}
        Laplace's method is the faster, expectation propagation nearly exact.
    fit_intercept : bool
    standardize : bool
        Whether the prior is stated on standardised columns, or on the columns as they are.
    tol : float
        Learning ends when a step is shorter than this many standard deviations.
    max_iter : int
        Most steps.

    Attributes
    ----------
    classes_ : (2,)
    coef_ : (1, D)
        Posterior means of the weights.
    intercept_ : (1,)
    posterior_ : MvNormal
        Of the weights of the raw columns, then the intercept.
    log_evidence_ : LogEvidence
        Of kind "laplace" or "ep".
    effective_parameters_ : float
        How many weights the data determine.
    n_iter_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> model = ProbitRegression(approximation="ep").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    _approximations: ClassVar[tuple[str, ...]] = ("laplace", "ep")

    def _level(self, share: Array) -> Array:
        return np.asarray(special.ndtri(share[1:]))

    def _belief(
        self, design: Array, rows: LabelledRows, precision: Array, mean: Array
    ) -> WeightBelief:
        sign = class_signs(rows)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        likelihood = probit_curve(sign)
        density = LinearPredictor(design, likelihood, np.diag(precision), mean, rows.frequency)
        laplace = laplace_belief(posterior_mode(density, mean, **limits), precision)
        if self.approximation == "laplace":
            return laplace
        eta = design @ laplace.mean
        start = curvature_sites(likelihood(eta, 0.0, slice(None)), eta)
        tilt = probit_tilt(sign)
        return fit_sites(design, tilt, precision, mean, rows.frequency, start=start, **limits)[0]

    def _mean_of(self, mean: Array, variance: Array) -> Array:
        return probit_mean(mean, variance)

    def _log_probabilities(self, eta: Array) -> Array:
        return np.concatenate([special.log_ndtr(-eta), special.log_ndtr(eta)], axis=-1)
