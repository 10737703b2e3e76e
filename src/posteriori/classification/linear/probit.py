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
    hyperparameters : {"fixed", "type-II"}
        "fixed": the precision above. "type-II": the one of highest evidence by Laplace's method, looked
        for around the one above.

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
    prior_precision_ : float
        The given precision, or the learned one.
    log_evidence_ : LogEvidence
        Of kind "laplace", "bound" or "ep", or "type-II" with a learned precision; where an
        approximation did not settle, a warning says so and posterior and evidence are Laplace's.
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

    _link: ClassVar[Link] = Link(
        probit_curve,
        probit_tilt,
        probit_mean,
        lambda eta: special.log_ndtr(eta),
        lambda share: special.ndtri(share),
    )
    _constraints = {
        **BayesianLinearClassifier._constraints,
        "approximation": one_of("laplace", "variational", "ep"),
    }
