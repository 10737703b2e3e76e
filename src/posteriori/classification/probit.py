r"""Probit regression: two classes by a threshold on a normal latent variable.

.. math:: p(y = 1 \mid x, w) = \Phi(b + x\cdot w),\qquad w\sim N(0, \alpha^{-1}I).

Reference: J. Albert & S. Chib, "Bayesian analysis of binary and polychotomous response data", 1993.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from posteriori.classification.arguments import LabelledRows
from posteriori.classification.bayesian_linear import BayesianLinearClassifier
from posteriori.classification.linear_mode import class_signs, single_density
from posteriori.inference.class_curves import probit_curve, probit_mean
from posteriori.inference.expectation_propagation import curvature_sites, probit_tilt
from posteriori.inference.generalized_linear import LinearPredictor
from posteriori.inference.site_predictors import SinglePredictor, SitePredictors, Sites, Tilt
from posteriori.inference.weight_belief import WeightBelief, row_moments
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
    approximation : {"laplace", "variational", "ep"}
        Laplace's method is the fastest; the variational belief is the normal one with the highest
        bound of the evidence; expectation propagation is nearly exact.
    fit_intercept : bool
    standardize : bool
        Whether the prior is stated on standardised columns, or on the columns as they are.
    class_weight : mapping from labels to numbers > 0, "balanced" or None
        How often rows of a class count. "balanced" gives all classes the same total.
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
    corrected_posterior_ : MvNormal
        What probabilities, predictors and draws come from. Laplace's ``posterior_`` has the mode as
        its mean; this one is moved and widened where the posterior is skewed. Equal to
        ``posterior_`` for other approximations.
    log_evidence_ : LogEvidence
        Of kind "laplace", "bound" or "ep"; where an approximation did not settle, a warning says so and
        posterior and evidence are Laplace's.
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

    _approximations: ClassVar[tuple[str, ...]] = ("laplace", "variational", "ep")

    def _level(self, share: Array) -> Array:
        return np.asarray(special.ndtri(share[1:]))

    def _density(
        self, design: Array, rows: LabelledRows, precision: Array, mean: Array, cov: Array | None
    ) -> LinearPredictor:
        curve = probit_curve(class_signs(rows))
        return single_density(design, curve, rows, precision, mean, cov)

    def _sites(
        self, design: Array, rows: LabelledRows, near: WeightBelief
    ) -> tuple[SitePredictors, Tilt, Sites]:
        sign, eta = class_signs(rows), design @ near.mean
        start = curvature_sites(probit_curve(sign)(eta, 0.0, slice(None)), eta)
        return SinglePredictor(design, rows.frequency), probit_tilt(sign), start

    def _probabilities(self, design: Array, belief: WeightBelief) -> Array:
        mean, variance = row_moments(design, belief.mean, belief.cov)
        return np.column_stack([probit_mean(-mean, variance), probit_mean(mean, variance)])

    def _log_probabilities(self, eta: Array) -> Array:
        return np.concatenate([special.log_ndtr(-eta), special.log_ndtr(eta)], axis=-1)
