r"""Normal classes: linear boundaries where they share a covariance, quadratic ones where not.

.. math:: p(x\mid C_k) = N(x\mid\mu_k, \Sigma_k), \qquad
   \ln\frac{p(C_1\mid x)}{p(C_2\mid x)} = w\cdot x + b \text{ for } \Sigma_1=\Sigma_2=\Sigma,
   \quad w = \Sigma^{-1}(\mu_1-\mu_2).

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.2.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import class_pair
from posteriori.classification.generative.class_boundaries import closed_boundary
from posteriori.classification.generative.covariance_shrinkage import least_error_shrinkage, shrink
from posteriori.classification.generative.joint_classifier import (
    ESTIMATE,
    JointClassifier,
    joint_fingerprint,
    learn_priors,
)
from posteriori.classification.generative.prior_width import widened
from posteriori.distributions.joint.normal_inverse_gamma import NormalInverseGamma
from posteriori.distributions.joint.normal_inverse_wishart import NormalInverseWishart
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.estimators.parameters import Constraint, covariance_of
from posteriori.inference.classes.class_moments import (
    class_scatters,
    moments_by_class,
    overall,
    within_scatter,
)
from posteriori.inference.classes.gaussian_learning import (
    LearnedClasses,
    bayesian_columns,
    bayesian_full,
    default_columns_prior,
    default_full_prior,
    most_likely_columns,
    most_likely_full,
)
from posteriori.inference.classes.row_terms import (
    full_fit,
    full_left_out,
    normal_fit,
    normal_left_out,
)
from posteriori.mathematics.geometry import Boundary
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array

__all__ = ["GaussianDiscriminant"]


class GaussianDiscriminant(JointClassifier):
    """Classes that are normal distributions of the columns.

    Parameters
    ----------
    covariance : {"full", "diagonal", "shared"}
        A covariance for each class (quadratic boundaries), independent columns with variances of their own
        in each class, or one covariance for all classes (linear boundaries).
    method : {"bayes", "ml"}
        "bayes" integrates means and covariances out: classes become Student distributions, wider
        where rows are few, and there is evidence. "ml" plugs in the estimates of highest likelihood.
    shrinkage : float in [0, 1], or "auto"
        With "ml": share of the diagonal that is mixed into covariances, Σ = (1 − λ) S + λ diag(S).
        "auto" takes the share of least expected squared error (Ledoit & Wolf), from the data. A column
        without spread inside the classes has its variance over all rows on that diagonal.
    class_prior : array (K,), optional
        Known probabilities of the sorted classes. By default they are learned: N_k/N with "ml",
        (N_k + 1)/(N + K) with "bayes".
    class_weight : mapping from labels to numbers > 0, "balanced" or None
        Factors of the frequencies of each class's rows.
    prior : NormalInverseWishart or NormalInverseGamma, optional
        Of means and covariance of a class; the latter for ``covariance="diagonal"``. By default the
        covariance is expected to be that of the whole table without its correlations, with D + 2
        degrees of freedom, and the means scatter about that of the table with strength 0.1.

    Attributes
    ----------
    classes_ : (K,)
    class_prior_ : (K,)
    means_ : (K, D)
    covariances_ : (K, D, D) or (K, D)
        Estimates; with "bayes" the posterior means.
    shrinkage_ : (1,) or (K,)
        λ of the shared covariance, or of each class ("ml" with full covariances).
    posterior_ : NormalInverseWishart or NormalInverseGamma
        One belief for each class ("bayes"). Classes that share Σ have its belief in common.
    log_evidence_ : LogEvidence
        ln p(X, y), exact ("bayes").
    log_likelihood_ : float
        ln p(X, y) at the estimates ("ml").
    n_parameters_ : int
        Free parameters of all classes, their probabilities among them: D(D + 5)/2 + 1 for two classes
        that share a covariance, against D + 1 of logistic regression.

    Notes
    -----
    Two passes; cost O(N D²), or O(N D) for independent columns.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(0, 1, (50, 2)), rng.normal(3, 1, (50, 2))])
    >>> y = np.repeat(["apple", "peach"], 50)
    >>> model = GaussianDiscriminant().fit(X, y)
    >>> model.predict([[0, 0], [3, 3]])
    array(['apple', 'peach'], dtype='<U5')
    >>> wider = GaussianDiscriminant("full").fit(X, y)
    >>> bool(model.log_evidence_.value > wider.log_evidence_.value)  # the simpler model is right
    True
    """

    _constraints = {
        "method": ESTIMATE,
        "covariance": covariance_of("full", "diagonal", "shared"),
        "shrinkage": Constraint('lie between 0 and 1 or be "auto"', 0.0, 1.0, choices=("auto",)),
    }

    def __init__(
        self,
        covariance: str = "shared",
        *,
        method: str = "bayes",
        shrinkage: float | str = 0.0,
        class_prior: Any = None,
        class_weight: Any = None,
        prior: Any = None,
    ) -> None:
        self.covariance = covariance
        self.method = method
        self.shrinkage = shrinkage
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.prior = prior

    def _learn(self, rows: LabelledRows) -> None:
        self._check_together()
        learned = (
            self._learn_columns(rows) if self.covariance == "diagonal" else self._learn_full(rows)
        )
        labels = learn_priors(self.class_prior, rows.counts, self.method)
        self._forget()
        self.classes_ = rows.classes
        self.class_prior_ = labels.probabilities
        self._labels = labels
        self._densities = learned.densities
        self.n_parameters_ = self._count_parameters(*learned.densities.means.shape)
        self._keep(learned)
        total = learned.log_probability + labels.log_probability
        if self.method == "ml":
            self.log_likelihood_ = total
        else:
            self.log_evidence_ = LogEvidence(
                total, kind="exact", of="X,y", fingerprint=joint_fingerprint(rows)
            )

    def _count_parameters(self, k: int, d: int) -> int:
        spread = {"shared": d * (d + 1) // 2, "full": k * d * (d + 1) // 2, "diagonal": k * d}
        return k - 1 + k * d + spread[self.covariance]

    # -- learning ----------------------------------------------------------------------------

    def _check_together(self) -> None:
        """Refuse parameters that do not go together."""
        if self.shrinkage and (self.method == "bayes" or self.covariance == "diagonal"):
            raise ValueError(
                'shrinkage is for method="ml" with a full covariance; with "bayes" the prior shrinks'
            )
        family = NormalInverseGamma if self.covariance == "diagonal" else NormalInverseWishart
        if self.prior is not None and not isinstance(self.prior, family):
            raise TypeError(
                f"prior must be a {family.__name__} for covariance={self.covariance!r}, "
                f"got {self.prior!r}"
            )
        if self.prior is not None and self.method == "ml":
            raise ValueError('prior is for method="bayes"; method="ml" has none')

    def _learn_columns(self, rows: LabelledRows) -> LearnedClasses:
        moments = moments_by_class(rows)
        if self.method == "ml":
            return most_likely_columns(moments, rows.classes.tolist())
        return bayesian_columns(self.prior or default_columns_prior(*overall(moments)), moments)

    def _learn_full(self, rows: LabelledRows) -> LearnedClasses:
        moments = moments_by_class(rows, squares=False)
        counts, means = rows.counts, moments.means
        if self.covariance == "shared":
            scatter = within_scatter(rows, means)[None]
        else:
            scatter = class_scatters(rows, means)
        squares = np.diagonal(scatter, axis1=1, axis2=2)
        mean, variance = overall(moments._replace(squares=squares))
        if self.method == "ml":
            return self._most_likely(rows, means, scatter, variance)
        prior = self.prior or default_full_prior(mean, variance)
        return bayesian_full(prior, means, counts, scatter)

    def _most_likely(
        self, rows: LabelledRows, means: Array, scatter: Array, variance: Array
    ) -> LearnedClasses:
        shared = len(scatter) == 1
        counts = rows.counts.sum(keepdims=True) if shared else rows.counts
        cov = scatter / counts[:, None, None]
        if isinstance(self.shrinkage, str):
            share = least_error_shrinkage(rows, means, cov)
        else:
            share = np.full(len(cov), float(self.shrinkage))
        names = ["all classes"] if shared else [f"class {c!r}" for c in rows.classes.tolist()]
        learned = most_likely_full(means, counts, scatter, shrink(cov, share, variance), names)
        return learned._replace(shrinkage=share)

    def _keep(self, learned: LearnedClasses) -> None:
        belief = learned.posterior
        if belief is None:
            self.means_ = learned.densities.means
            if self.covariance == "diagonal":
                self.covariances_ = learned.densities.scales**2
            else:
                self.shrinkage_ = learned.shrinkage
                roots = learned.densities.roots
                cov = roots @ roots.swapaxes(1, 2)
                self.covariances_ = np.repeat(cov, len(self.classes_) // len(cov), axis=0)
            return
        self.posterior_, self._prior = belief, learned.prior
        self.means_ = belief.location
        if self.covariance == "diagonal":
            self.covariances_ = belief.scale / (belief.shape - 1.0)
        else:
            room = belief.dof - self.means_.shape[1] - 1.0
            self.covariances_ = belief.scale / room[:, None, None]

    # -- how the rows fare, and the prior ----------------------------------------------------

    def _integrates(self) -> bool:
        return self.method == "bayes"

    def _left_out(self, x: Array, codes: Any) -> Array:
        if self.covariance != "diagonal":
            return full_left_out(self.posterior_, self._densities, x, codes)
        found = self._log_densities(x)
        found[np.arange(len(x)), codes] = normal_left_out(self.posterior_, x, codes)
        return found

    @available_if(_integrates)
    def expected_log_likelihood(self, X: Any, y: Any) -> Array:
        """Return E[ln p(x_n, y_n | parameters)] under the posterior, (N,): how well rows are fitted."""
        x, codes = self._known_rows(X, y)
        if self.covariance == "diagonal":
            fit = normal_fit(self.posterior_, x, codes)
        else:
            fit = full_fit(self.posterior_, self._densities, x, codes)
        return fit + self._labels.expected_log[codes]

    @available_if(_integrates)
    def with_prior_scaled(self, factor: float) -> Self:
        """Return an unfitted copy whose prior of the class means is ``factor`` times as wide.

        Its strength κ is divided by the square. The priors of covariances and class probabilities stay;
        what the data of this fit have set in the default prior is kept.
        """
        check_is_fitted(self)
        return clone(self).set_params(prior=widened(self._prior, factor))

    # -- predicting --------------------------------------------------------------------------

    def boundary(self, first: Any = None, second: Any = None) -> Boundary:
        """Return where two classes are equally probable; ``second`` is on the positive side.

        They need not be named where there are only two.

        ============  ==========================  ==================================================
        covariance    method="ml"                 method="bayes"
        ============  ==========================  ==================================================
        shared        hyperplane                  quadric (a hyperplane for classes of equal size)
        full          quadric                     quadric for classes of equal size, else a level set
        diagonal      quadric                     level set
        ============  ==========================  ==================================================

        The value of a level set, and of all with "ml", is the log odds; that of the others has the same
        sign.
        """
        check_is_fitted(self)
        a, b = class_pair(self.classes_, first, second)
        closed = closed_boundary(self._densities, self._log_prior, a, b)
        return super().boundary(first, second) if closed is None else closed

    def _log_densities(self, x: Array) -> Array:
        return self._densities.log_prob(x)

    def _log_ratios(self, x: Array) -> Array:
        return self._densities.log_ratios(x)

    def _draw(self, codes: Any, rng: np.random.Generator) -> Array:
        return self._densities.sample(codes, rng)
