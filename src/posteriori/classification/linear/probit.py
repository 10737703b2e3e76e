r"""Probit regression: two classes by a threshold on a normal latent variable.

.. math:: p(y = 1 \mid x, w) = \Phi(b + x\cdot w),\qquad w\sim N(0, \alpha^{-1}I).

Reference: J. Albert & S. Chib, "Bayesian analysis of binary and polychotomous response data", 1993.
"""

from __future__ import annotations

from typing import ClassVar

from posteriori.classification.linear.bayesian_linear import BayesianLinearClassifier, Link
from posteriori.estimators.parameters import one_of
from posteriori.inference.predictors.class_curves import probit_curve, probit_mean
from posteriori.inference.predictors.expectation_propagation import probit_tilt
from posteriori.numerics.lazy import special

__all__ = ["ProbitRegression"]


class ProbitRegression(BayesianLinearClassifier):
    """Probit regression of two classes with a normal posterior over the weights.

    On standardised columns every weight has the prior N(0, 1/α), and the intercept N(Φ⁻¹(share of the
    second class), 1/α).

    Parameters
    ----------
    prior_precision : float
        Precision α of every weight, and of the intercept.
    method : {"laplace", "variational", "ep"}
        Laplace's method is the fastest; the variational belief is the normal one with the highest
        bound of the evidence; expectation propagation is nearly exact.
    fit_intercept, standardize, class_weight, tol, max_iter, hyperparameters, groups
        As of :class:`BayesianLogisticRegression`.

    Attributes
    ----------
    classes_ : (2,)
    coef_ : (1, D)
        Posterior means of the weights.
    intercept_ : (1,)
    posterior_ : MvNormal
        Of the weights of the raw columns, then the intercept.
    corrected_posterior_, prior_precision_, log_evidence_, effective_parameters_, group_effects_
        As of :class:`BayesianLogisticRegression`.
    n_iter_
        As of :class:`BayesianLogisticRegression`.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> model = ProbitRegression(method="ep").fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> model.predict([[0.5], [2.5]])
    array([0, 1])
    """

    _link: ClassVar[Link] = Link(
        probit_curve,
        probit_tilt,
        probit_mean,
        lambda eta: special.log_ndtr(eta),
        lambda share: special.ndtri(share),
    )
    _constraints = {
        **BayesianLinearClassifier._constraints,
        "method": one_of("laplace", "variational", "ep"),
    }
