r"""Classifiers that know how rows come about: p(x, C_k) = p(x | C_k) p(C_k), and what follows.

.. math:: p(C_k\mid x) = \frac{e^{a_k}}{\sum_j e^{a_j}}, \qquad a_k = \ln p(x\mid C_k)\,p(C_k).

For two classes that is σ(a) with :math:`a = a_1 - a_2`.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, sec. 4.2.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.arguments import LabelledRows
from posteriori.classification.base import ProbabilisticClassifier
from posteriori.numerics.estimator_rows import check_inputs
from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.logspace import log_softmax, log_sum_exp, softmax
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed
from posteriori.numerics.validation import probability_vector

__all__ = ["ClassPrior", "JointClassifier", "check_estimate", "joint_fingerprint", "learn_priors"]

_ESTIMATES = ("bayes", "ml")


class ClassPrior(NamedTuple):
    """What is known of p(C_k).

    Attributes
    ----------
    probabilities : (K,)
    log_probability : float
        ln p(y) of the sequence of labels: the evidence, or the likelihood at its maximum.
    """

    probabilities: Array
    log_probability: float


class JointClassifier(ProbabilisticClassifier):
    """What generative classifiers have in common, given ln p(x | class) of rows."""

    classes_: Any
    class_prior_: Array

    @abstractmethod
    def _log_densities(self, x: Array) -> Array:
        """Return ln p(x | C_k) of checked rows, (N, K)."""

    @abstractmethod
    def _draw(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each class code, (N, D)."""

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
                'estimate="bayes" leaves room for what was not seen'
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
    return ClassPrior((counts + 1.0) / (counts.sum() + size), float(log_evidence))


def joint_fingerprint(rows: LabelledRows) -> Fingerprint:
    """Return the fingerprint of inputs and labels."""
    inputs = Fingerprint().update(rows.x, rows.frequency)
    return inputs.merge(Fingerprint(0, rows.fingerprint.checksum))


def check_estimate(estimate: Any) -> None:
    """Refuse anything but "bayes" and "ml"."""
    if estimate not in _ESTIMATES:
        raise ValueError(f'estimate must be "bayes" or "ml", got {estimate!r}')
