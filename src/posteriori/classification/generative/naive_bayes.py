r"""Naive Bayes: columns of any kind that are independent given the class.

.. math:: p(x\mid C_k) = \prod_d p_d(x_d\mid\theta_{kd}).

The number of parameters grows with D, not with 2^D; the marginal p(x) does not factorise.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.2.3 and 8.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.generative.joint_classifier import (
    ESTIMATE,
    JointClassifier,
    joint_fingerprint,
    learn_priors,
)
from posteriori.classification.generative.prior_width import widened
from posteriori.estimators.estimator_rows import check_gappy_inputs, check_inputs
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.inference.classes.column_checks import (
    check_kinds,
    check_priors,
    check_values,
    places_of,
    take_columns,
)
from posteriori.inference.classes.column_models import KINDS, learn_columns
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_moderate

__all__ = ["NaiveBayes"]

_COUNTED = {kind for kind, how in KINDS.items() if how.whole and how.largest > 1}


class NaiveBayes(JointClassifier):
    """Columns that are independent given the class, each with a model of its own.

    Parameters
    ----------
    columns : str, or sequence of D str
        Kind of all columns, or of each: "normal", "bernoulli" (0 or 1), "poisson" (counts),
        "categorical" (codes 0, 1, …), or "table" (codes whose combinations have probabilities of
        their own: such columns are not independent). NaN is a missing entry, but not in a table.
    method : {"bayes", "ml"}
        "bayes" integrates the parameters out and has evidence; "ml" plugs in the estimates of
        highest likelihood, which give probability 0 to what was not seen.
    class_prior : array (K,), optional
        Known probabilities of the sorted classes; learned by default.
    class_weight : mapping from labels to numbers > 0, "balanced" or None
        Factors of the frequencies of each class's rows.
    priors : mapping from kind to distribution, optional
        Belief about a column's parameters in a class: ``NormalInverseGamma``, ``Beta``, ``Gamma``,
        ``Dirichlet`` (of "categorical" also a list, one for each column of the kind). By default: as in :class:`GaussianDiscriminant`; Beta(1, 1); Gamma(1, rate = 1 /
        mean of the column); Dirichlet(1, …, 1) over the categories up to the largest one seen.

    Attributes
    ----------
    classes_ : (K,)
    class_prior_ : (K,)
    columns_ : tuple of D str
    posterior_ : dict
        Beliefs by kind, (K, D) for all columns of the kind; a list by column for "categorical".
    log_evidence_ : LogEvidence
        ln p(X, y), exact ("bayes").
    log_likelihood_ : float
        ln p(X, y) at the estimates ("ml").
    n_parameters_ : int
        Free parameters of all classes, their probabilities among them.

    Notes
    -----
    One or two passes, O(N D).

    Examples
    --------
    >>> import numpy as np
    >>> X = [[1, 5.1], [1, 4.9], [0, np.nan], [0, 1.0], [0, 1.2], [1, 0.9]]
    >>> y = ["fit", "fit", "fit", "ill", "ill", "ill"]
    >>> model = NaiveBayes(["bernoulli", "normal"]).fit(X, y)
    >>> model.predict([[1, 5.0], [0, 1.1]])
    array(['fit', 'ill'], dtype='<U3')
    >>> model.predict_proba([[1, np.nan]]).round(
    ...     6
    ... )  # only the first column is known: 3/5 against 2/5
    array([[0.6, 0.4]])
    """

    _constraints = {"method": ESTIMATE}

    def __init__(
        self,
        columns: Any = "normal",
        *,
        method: str = "bayes",
        class_prior: Any = None,
        class_weight: Any = None,
        priors: Mapping[str, Any] | None = None,
    ) -> None:
        self.columns = columns
        self.method = method
        self.class_prior = class_prior
        self.class_weight = class_weight
        self.priors = priors

    def _learn(self, rows: LabelledRows) -> None:
        priors = check_priors(self.priors, self.method == "bayes")
        self.columns_ = check_kinds(self.columns, rows.x.shape[1])
        self._places = places_of(self.columns_)
        check_values(self._places, rows.x)
        for place in self._places.get("normal", ()):
            require_moderate(f"column {place} of X", rows.x[:, place])
        integrate = self.method == "bayes"
        learned = {
            kind: learn_columns(kind, _columns_of(rows, at), priors.get(kind), integrate)
            for kind, at in self._places.items()
        }
        labels = learn_priors(self.class_prior, rows.counts, self.method)
        self._forget()
        self.classes_ = rows.classes
        self.class_prior_ = labels.probabilities
        self._labels = labels
        self._parts = {kind: part.densities for kind, part in learned.items()}
        per_class = sum(part.n_parameters for part in self._parts.values())
        self.n_parameters_ = len(rows.classes) - 1 + len(rows.classes) * per_class
        total = labels.log_probability + sum(part.log_probability for part in learned.values())
        if not integrate:
            self.log_likelihood_ = float(total)
            return
        self.posterior_ = {kind: part.posterior for kind, part in learned.items()}
        self._priors = {kind: part.prior for kind, part in learned.items()}
        self.log_evidence_ = LogEvidence(
            total, kind="exact", of="X,y", fingerprint=joint_fingerprint(rows)
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._gaps
        tags.input_tags.categorical = tags.input_tags.positive_only = self._kinds <= _COUNTED
        return tags

    @property
    def _gaps(self) -> bool:  # type: ignore[override]
        return self._kinds != {"table"}

    @property
    def _kinds(self) -> set[str]:
        return {self.columns} if isinstance(self.columns, str) else set(self.columns)

    # -- predicting --------------------------------------------------------------------------

    def _check_inputs(self, X: Any) -> Array:
        x = check_gappy_inputs(self, X) if self._gaps else check_inputs(self, X)
        check_values(self._places, x)
        return x

    def _log_densities(self, x: Array) -> Array:
        parts = [
            self._parts[kind].log_prob(take_columns(x, at)) for kind, at in self._places.items()
        ]
        return sum(parts[1:], start=parts[0])

    def _draw(self, codes: Any, rng: np.random.Generator) -> Array:
        drawn = np.empty((len(codes), len(self.columns_)))
        for kind, at in self._places.items():
            drawn[:, at] = self._parts[kind].sample(codes, rng)
        return drawn

    # -- how the rows fare, and the prior ----------------------------------------------------

    def _integrates(self) -> bool:
        return self.method == "bayes"

    def _left_out(self, x: Array, codes: Any) -> Array:
        found = self._log_densities(x)
        found[np.arange(len(x)), codes] = self._own_terms("left_out", x, codes)
        return found

    @available_if(_integrates)
    def expected_log_likelihood(self, X: Any, y: Any) -> Array:
        """Return E[ln p(x_n, y_n | parameters)] under the posterior, (N,): how well rows are fitted."""
        x, codes = self._known_rows(X, y)
        return self._own_terms("fit", x, codes) + self._labels.expected_log[codes]

    @available_if(_integrates)
    def with_prior_scaled(self, factor: float) -> Self:
        """Return an unfitted copy whose priors of the columns are ``factor`` times as wide.

        The strength of normal means and the pseudo-counts of Beta, Gamma and Dirichlet priors are divided
        by the square. The priors of variances and class probabilities stay; what the data of this fit
        have set in default priors is kept.
        """
        check_is_fitted(self)
        wider = {
            kind: [widened(one, factor) for one in prior]
            if isinstance(prior, list)
            else widened(prior, factor)
            for kind, prior in self._priors.items()
        }
        return clone(self).set_params(priors=wider)

    def _own_terms(self, which: str, x: Array, codes: Any) -> Array:
        """Return what the beliefs say of rows in their classes, (N,): "left_out" or "fit"."""
        total = np.zeros(len(x))
        for kind, at in self._places.items():
            belief, part = self.posterior_[kind], take_columns(x, at)
            if kind == "table":  # one column, of combinations
                belief, part = [belief], self._parts[kind].cells(part)[:, None]
            total += getattr(KINDS[kind], which)(belief, part, codes)
        return total


def _columns_of(rows: LabelledRows, at: Any) -> LabelledRows:
    return rows._replace(x=take_columns(rows.x, at))
