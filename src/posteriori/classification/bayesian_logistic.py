r"""Bayesian logistic regression: Laplace's method, a variational bound, expectation propagation.

.. math:: p(y = 1 \mid x, w) = \sigma(b + x\cdot w),\qquad w\sim N(0, \alpha^{-1}I).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from posteriori.classification.arguments import LabelledRows
from posteriori.classification.bayesian_linear import BayesianLinearClassifier
from posteriori.classification.linear_mode import (
    class_basis,
    class_signs,
    class_weights,
    logistic_mode,
)
from posteriori.inference.class_curves import logistic_curve, logistic_mean
from posteriori.inference.expectation_propagation import curvature_sites, fit_sites, logistic_tilt
from posteriori.inference.polya_gamma import fit_polya_gamma
from posteriori.inference.softmax_averages import contrasts
from posteriori.inference.weight_belief import WeightBelief, laplace_belief
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = ["BayesianLogisticRegression"]

#: Rows that are predicted at a time.
_ROWS = 4096


class BayesianLogisticRegression(BayesianLinearClassifier):
    """Logistic regression with a normal posterior over the weights.

    On standardised columns every weight has the prior N(0, 1/α), and the intercept N(log odds of
    the classes, 1/α). For more than two classes each class has such weights.

    Parameters
    ----------
    prior_precision : float
        Precision α of every weight, and of the intercept.
    approximation : {"laplace", "variational", "ep"}
        Laplace's method is the fastest, and takes more than two classes; the variational bound
        never exceeds the log evidence; expectation propagation is the nearest to the truth.
    fit_intercept : bool
    standardize : bool
        Whether the prior is stated on standardised columns, or on the columns as they are.
    tol : float
        Learning ends when a step is shorter than this many standard deviations.
    max_iter : int
        Most steps.

    Attributes
    ----------
    classes_ : (K,)
    coef_ : (1, D) or (K, D)
        Posterior means of the weights; for two classes those of the second.
    intercept_ : (1,) or (K,)
    posterior_ : MvNormal
        Of the weights of the raw columns, then the intercept; class by class where there are more
        than two.
    log_evidence_ : LogEvidence
        Of kind "laplace", "bound" or "ep".
    effective_parameters_ : float
        How many weights the data determine.
    n_iter_ : int
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> x = [[0.0], [1.0], [2.0], [3.0]]
    >>> model = BayesianLogisticRegression().fit(x, ["no", "no", "yes", "yes"])
    >>> model.predict_proba([[1.5], [9.0]]).round(2)
    array([[0.5 , 0.5 ],
           [0.12, 0.88]])
    >>> model.log_evidence_.kind
    'laplace'
    """

    _approximations: ClassVar[tuple[str, ...]] = ("laplace", "variational", "ep")
    _several_classes: ClassVar[bool] = True

    def _level(self, share: Array) -> Array:
        log_share = np.log(share)
        return (
            log_share[1:] - log_share[0] if len(share) == 2 else contrasts(len(share)).T @ log_share
        )

    def _belief(
        self, design: Array, rows: LabelledRows, precision: Array, mean: Array
    ) -> WeightBelief:
        mode = logistic_mode(design, rows, precision, mean, tol=self.tol, max_iter=self.max_iter)
        laplace = laplace_belief(mode, precision)
        if self.approximation == "laplace":
            return laplace
        sign = class_signs(rows)
        limits: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}
        if self.approximation == "variational":
            return fit_polya_gamma(
                design, sign, precision, mean, rows.frequency, start=laplace, **limits
            )
        eta = design @ laplace.mean
        start = curvature_sites(logistic_curve(sign)(eta, 0.0, slice(None)), eta)
        tilt = logistic_tilt(sign)
        return fit_sites(design, tilt, precision, mean, rows.frequency, start=start, **limits)[0]

    def _mean_of(self, mean: Array, variance: Array) -> Array:
        return logistic_mean(mean, variance)

    def _log_probabilities(self, eta: Array) -> Array:
        basis = class_basis(len(self.classes_))
        full = eta @ basis.T
        return full - special.logsumexp(full, axis=-1, keepdims=True)

    def _several(self, design: Array) -> Array:
        """Return p_k ∝ 1/Σ_j exp(κ_kj (a_j − a_k)), κ_kj = (1 + πv/8)^(−1/2), v = Var[a_k − a_j].

        Each pair of classes is corrected as two classes would be (Z. Lu, E. Ie & F. Sha, "Mean-field
        approximation to Gaussian-softmax integral", 2020).
        """
        k, basis = len(self.classes_), contrasts(len(self.classes_))
        weights, p = class_weights(self._weights.mean, k), np.empty((len(design), k))
        cov = self._weights.cov.reshape(k - 1, design.shape[1], k - 1, design.shape[1])
        for first in range(0, len(design), _ROWS):
            x = design[first : first + _ROWS]
            a = x @ weights.T
            spread = np.einsum("nd,idje,ne->nij", x, cov, x, optimize=True)
            spread = basis @ spread @ basis.T
            own = np.diagonal(spread, axis1=1, axis2=2)
            variance = np.maximum(own[:, :, None] + own[:, None, :] - 2.0 * spread, 0.0)
            gap = (a[:, None, :] - a[:, :, None]) / np.sqrt(1.0 + np.pi / 8.0 * variance)
            p[first : first + _ROWS] = 1.0 / np.exp(np.minimum(gap, 700.0)).sum(axis=2)
        return p / p.sum(axis=1, keepdims=True)
