r"""Classifiers that know how rows come about: p(x, C_k) = p(x | C_k) p(C_k), and what follows.

.. math:: p(C_k\mid x) = \frac{e^{a_k}}{\sum_j e^{a_j}}, \qquad a_k = \ln p(x\mid C_k)\,p(C_k).

For two classes that is σ(a) with :math:`a = a_1 - a_2`.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.2.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import digamma, gammaln
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import ProbabilisticClassifier
from posteriori.estimators.class_probabilities import LabelledLearner
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows, check_known_labels
from posteriori.estimators.parameters import one_of
from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.logspace import log_softmax, log_sum_exp, softmax
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import probability_vector

__all__ = ["ESTIMATE", "ClassPrior", "JointClassifier", "joint_fingerprint", "learn_priors"]

#: Integrating the parameters out, or plugging in those of highest likelihood.
ESTIMATE = one_of("bayes", "ml", mark='"')


class ClassPrior(NamedTuple):
    """What is known of p(C_k).

    Attributes
    ----------
    probabilities : (K,)
    log_probability : float
        ln p(y) of the sequence of labels: the evidence, or the likelihood at its maximum.
    belief : (K,) or None
        Concentration N_k + 1 of the Dirichlet belief; None where the probabilities are numbers.
    """

    probabilities: Array
    log_probability: float
    belief: Array | None = None

    def log_without(self, codes: Any) -> Array:
        """Return ln p(C_k) up to a constant for each row, its own label left out, (N, K)."""
        if self.belief is None:
            with np.errstate(divide="ignore"):
                return np.tile(np.log(self.probabilities), (len(codes), 1))
        counts = np.tile(self.belief, (len(codes), 1))
        counts[np.arange(len(codes)), codes] -= 1.0
        return np.log(counts)

    @property
    def expected_log(self) -> Array:
        """E[ln p(C_k)], (K,)."""
        if self.belief is None:
            with np.errstate(divide="ignore"):
                return np.log(self.probabilities)
        return digamma(self.belief) - digamma(self.belief.sum())


def _can_leave_out(self: JointClassifier) -> bool:
    """Tell whether each row counts as itself in beliefs that it can be taken from."""
    return self._integrates() and self.class_weight is None


class JointClassifier(LabelledLearner, ProbabilisticClassifier):
    """What generative classifiers have in common, given ln p(x | class) of rows."""

    classes_: Any
    class_prior_: Array
    _labels: ClassPrior

    @abstractmethod
    def _log_densities(self, x: Array) -> Array:
        """Return ln p(x | C_k) of checked rows, (N, K)."""

    @abstractmethod
    def _draw(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each class code, (N, D)."""

    @abstractmethod
    def _integrates(self) -> bool:
        """Tell whether parameters have a belief from which single rows can be taken."""

    @abstractmethod
    def _left_out(self, x: Array, codes: Any) -> Array:
        """Return ln p(x_n | C_k, all rows but n) up to a term of each row, (N, K)."""

    def _log_ratios(self, x: Array) -> Array:
        """Return the same up to a term that all classes have in common."""
        return self._log_densities(x)

    def _check_inputs(self, X: Any) -> Array:
        return check_inputs(self, X)

    def joint_log_prob(self, X: Any) -> Array:
        """Return ln p(x, class) of rows, (N, K)."""
        check_is_fitted(self)
        return self._log_densities(self._check_inputs(X)) + self._log_prior

    def log_prob(self, X: Any) -> Array:
        """Return ln p(x) of rows, (N,): low where a row resembles no class."""
        return log_sum_exp(self.joint_log_prob(X), axis=1)

    def predict_proba(self, X: Any) -> Array:
        return softmax(self._finite(X), axis=1)

    def predict_log_proba(self, X: Any) -> Array:
        return log_softmax(self._finite(X), axis=1)

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second of two classes (N,), or ln p(class | x) + const (N, K)."""
        joint = self._finite(X)
        return joint[:, 1] - joint[:, 0] if len(self.classes_) == 2 else joint

    @available_if(_can_leave_out)
    def leave_one_out_log_density(self, X: Any, y: Any) -> Array:
        """Return ln p(y_n | x_n, all other rows) of the rows that the model was fitted to, (N,).

        In closed form: the belief gives one row back. The prior stays as it is, also where the data
        have set it. Of a row of frequency above 1 one copy is left out. Not offered with class weights.
        """
        x, codes = self._known_rows(X, y)
        found = log_softmax(self._left_out(x, codes) + self._labels.log_without(codes), axis=1)
        own = found[np.arange(len(codes)), codes]
        if np.isnan(own).any():
            raise ValueError(
                f"row {int(np.argmax(np.isnan(own)))} of X cannot be left out: it is not among the "
                f"rows that {type(self).__name__} was fitted to"
            )
        return own

    def _known_rows(self, X: Any, y: Any) -> tuple[Array, Any]:
        check_is_fitted(self)
        x = self._check_inputs(X)
        return x, check_known_labels(self, x, y)

    def sample(self, size: int = 1, rng: Seed = None) -> tuple[Array, Any]:
        """Draw rows and their classes from p(x, class): X (S, D) and y (S,)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        codes = generator.choice(len(self.classes_), size=size, p=self.class_prior_)
        return self._draw(codes, generator), self.classes_[codes]

    def _log_odds(self, a: int, b: int, x: Array) -> Array:
        """Return ln p(b | x) − ln p(a | x) of rows (N, D)."""
        ratios = self._log_ratios(x) + self._log_prior
        return ratios[:, b] - ratios[:, a]

    def _forget(self) -> None:
        """Drop what an earlier fit of another kind has left."""
        for name in ("posterior_", "log_evidence_", "log_likelihood_", "shrinkage_"):
            self.__dict__.pop(name, None)

    @property
    def _log_prior(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.log(self.class_prior_)

    def _finite(self, X: Any) -> Array:
        """Return ln p(class | x) up to a constant, refusing rows that no class can produce."""
        check_is_fitted(self)
        joint = self._log_ratios(self._check_inputs(X)) + self._log_prior
        impossible = np.isneginf(joint.max(axis=1))
        if impossible.any():
            raise ValueError(
                f"row {int(np.argmax(impossible))} of X has probability 0 in every class; "
                'method="bayes" leaves room for what was not seen'
            )
        return joint


def learn_priors(class_prior: Any, counts: Array, estimate: str) -> ClassPrior:
    """Return class probabilities: as given, N_k/N, or (N_k + 1)/(N + K) under a flat Dirichlet."""
    size = len(counts)
    if class_prior is not None:
        p = probability_vector("class_prior", class_prior)
        if p.shape != (size,):
            raise ValueError(
                f"class_prior must hold one probability for each of the {size} classes, "
                f"got shape {p.shape}"
            )
        with np.errstate(divide="ignore"):
            return ClassPrior(p, float(counts @ np.log(p)))
    if estimate == "ml":
        share = counts / counts.sum()
        return ClassPrior(share, float(counts @ np.log(share)))
    log_evidence = gammaln(size) - gammaln(size + counts.sum()) + gammaln(1.0 + counts).sum()
    belief = counts + 1.0
    return ClassPrior(belief / belief.sum(), float(log_evidence), belief)


def joint_fingerprint(rows: LabelledRows) -> Fingerprint:
    """Return the fingerprint of inputs and labels."""
    inputs = Fingerprint().update(rows.x, rows.frequency)
    return inputs.merge(Fingerprint(0, rows.fingerprint.checksum))
