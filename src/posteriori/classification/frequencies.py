r"""Class frequencies alone: the model in which the inputs say nothing about the class.

.. math:: p(C_k) = \frac{N_k + \alpha}{N + K\alpha},\qquad
          p(y) = \frac{\Gamma(K\alpha)}{\Gamma(N + K\alpha)}\prod_k\frac{\Gamma(N_k + \alpha)}{\Gamma(\alpha)}

What other classifiers have to be better than.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import ProbabilisticClassifier
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.estimators.class_probabilities import LabelledLearner
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows
from posteriori.estimators.parameters import POSITIVE
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.special import log_gamma_ratio
from posteriori.numerics.types import Array
from posteriori.numerics.validation import width_factor

__all__ = ["ClassFrequencies"]


class ClassFrequencies(LabelledLearner, ProbabilisticClassifier):
    """The same class probabilities for every row, with a Dirichlet belief about them.

    Parameters
    ----------
    concentration : float
        α > 0, pseudo-count of every class.

    Attributes
    ----------
    classes_ : (K,)
    posterior_ : Dirichlet
        Of the class probabilities.
    log_evidence_ : LogEvidence
        ln p(y), exact: the inputs do not matter.

    Examples
    --------
    >>> model = ClassFrequencies().fit([[5.0], [1.0], [2.0]], ["no", "no", "yes"])
    >>> model.predict_proba([[0.0]])
    array([[0.6, 0.4]])
    >>> model.log_evidence_  # ∫ (1 − p)² p dp = 1/12
    LogEvidence(-2.484907, kind="exact", of="y|X")
    """

    _constraints = {"concentration": POSITIVE}

    def __init__(self, concentration: float = 1.0) -> None:
        self.concentration = concentration

    def _learn(self, rows: LabelledRows) -> None:
        prior = np.full(len(rows.classes), float(self.concentration))
        counts = rows.counts
        self.classes_ = rows.classes
        self.posterior_ = Dirichlet(prior + counts)
        # ln B(α + n) − ln B(α), B(α) = Π Γ(α_k) / Γ(Σ α_k), as ratios: the terms may be huge
        value = log_gamma_ratio(prior, counts).sum() - log_gamma_ratio(prior.sum(), counts.sum())
        self.log_evidence_ = LogEvidence(
            float(value), kind="exact", of="y|X", fingerprint=rows.fingerprint
        )

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, (N, K): the same for all rows."""
        check_is_fitted(self)
        rows = len(check_inputs(self, X))
        return np.tile(np.asarray(self.posterior_.mean), (rows, 1))

    def with_prior_scaled(self, factor: float) -> ClassFrequencies:
        """Return an unfitted copy whose prior is ``factor`` times as wide: α / factor²."""
        return ClassFrequencies(float(self.concentration / width_factor(factor) ** 2))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # by intent: it ignores its inputs
        return tags
