r"""Sets of models: posterior probabilities, Bayes factors, and sets of sets.

.. math:: p(m_k\mid D) \propto p(m_k)\,p(D\mid m_k),\qquad
          p(D\mid M) = \sum_k p(m_k\mid M)\,p(D\mid m_k)

A set has an evidence of its own, so it can be a member of a larger set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

import numpy as np

from posteriori.estimators.contract import (
    ComparableResult,
    HasEvidence,
    last_step,
    missing_evidence,
    offers,
)
from posteriori.numerics.evidence import Kind, LogEvidence
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["ModelSet", "strength_of_evidence"]

#: Least log Bayes factor for each word (Kass & Raftery 1995, on 2 ln B: 2, 6, 10).
_WORDS = ((5.0, "very strong"), (3.0, "strong"), (1.0, "positive"), (0.0, "barely worth a mention"))


class ModelSet:
    """Models of the same data with prior probabilities.

    Parameters
    ----------
    members : mapping of names to models
        Evidences, or what has one: fitted estimators, results of ``Model.infer`` or of ``bayes``,
        other sets.
    prior : mapping of names to numbers, optional
        Prior probabilities up to a factor; equal by default.

    Examples
    --------
    >>> from posteriori import Bernoulli, Beta, bayes
    >>> tosses = [1, 0, 1, 1, 0, 0, 1]
    >>> coins = ModelSet(
    ...     {
    ...         "any": bayes(Beta(1, 1), Bernoulli, tosses),
    ...         "nearly fair": bayes(Beta(5, 5), Bernoulli, tosses),
    ...     }
    ... )
    >>> round(coins.bayes_factor("any", "nearly fair"), 6)
    0.583673
    >>> {name: round(p, 3) for name, p in coins.probabilities.items()}
    {'any': 0.369, 'nearly fair': 0.631}
    """

    def __init__(
        self, members: Mapping[str, Any], prior: Mapping[str, float] | None = None
    ) -> None:
        if not members:
            raise ValueError("a set of models needs at least one member")
        self.members = dict(members)
        self._evidences = {name: evidence_of(name, model) for name, model in members.items()}
        first, *others = self._evidences.values()
        for other in others:
            _ = first - other  # refuses evidences of different data
        self._log_prior = _check_prior(prior, list(members))
        self._logs = self._log_prior + np.array([float(e) for e in self._evidences.values()])

    @property
    def log_evidence(self) -> LogEvidence:
        """Return ln Σ p(m) p(D | m), of the least certain kind among the members."""
        parts = list(self._evidences.values())
        kind = max((part.kind for part in parts), key=get_args(Kind).index)
        total = float(log_sum_exp(self._logs, axis=0))
        one = parts[0]
        return LogEvidence(
            total, kind=kind, of=one.of, fingerprint=one.fingerprint, namings=one.namings
        )

    @property
    def prior(self) -> dict[str, float]:
        """Prior probabilities of the members."""
        return dict(zip(self.members, np.exp(self._log_prior).tolist(), strict=True))

    @property
    def probabilities(self) -> dict[str, float]:
        """Posterior probabilities of the members."""
        logs = self._logs - log_sum_exp(self._logs, axis=0)
        return dict(zip(self.members, np.exp(logs).tolist(), strict=True))

    @property
    def model_probabilities(self) -> dict[str, float]:
        """Posterior probabilities of single models, of sets within sets as well: ``"set/model"``."""
        found: dict[str, float] = {}
        for name, p in self.probabilities.items():
            inner = self.members[name]
            if isinstance(inner, ModelSet):
                found |= {f"{name}/{k}": p * q for k, q in inner.model_probabilities.items()}
            else:
                found[name] = p
        return found

    @property
    def best(self) -> str:
        """Name of the most probable member."""
        return list(self.members)[int(np.argmax(self._logs))]

    def bayes_factor(self, one: str, other: str) -> float:
        """Return p(D | one) / p(D | other)."""
        return float(self._evidences[one].bayes_factor(self._evidences[other]))

    def odds(self, one: str, other: str) -> float:
        """Return p(one | D) / p(other | D), the Bayes factor times the prior odds."""
        names = list(self.members)
        return float(np.exp(self._logs[names.index(one)] - self._logs[names.index(other)]))

    def __repr__(self) -> str:
        width = max(map(len, self.members))
        rows = [f"  {name:<{width}}  {p:.4f}" for name, p in self.probabilities.items()]
        return "\n".join([f"ModelSet: log_evidence = {float(self.log_evidence):.6g}", *rows])


def strength_of_evidence(log_bayes_factor: float) -> str:
    """Return the usual word for a log Bayes factor, and whom it favours if it is negative.

    Reference: R. Kass & A. Raftery, "Bayes factors", 1995.

    Examples
    --------
    >>> strength_of_evidence(4.0), strength_of_evidence(-0.5)
    ('strong', 'barely worth a mention, against')
    """
    size = abs(float(log_bayes_factor))
    if np.isnan(size):
        raise ValueError("log_bayes_factor is NaN")
    word = next(word for least, word in _WORDS if size >= least)
    return word if log_bayes_factor >= 0 else f"{word}, against"


def evidence_of(name: str, model: Any) -> LogEvidence:
    """Return the evidence of a model, or of the last step of a pipeline."""
    if isinstance(model, LogEvidence):
        return model
    final, _ = last_step(model)
    if offers(final, HasEvidence):
        return final.log_evidence_
    if offers(final, ComparableResult):
        return final.log_evidence
    reason = missing_evidence(final) or "fit it first if it is unfitted"
    raise TypeError(f"{name} ({type(final).__name__}) has no evidence; {reason}")


def _check_prior(prior: Mapping[str, float] | None, names: list[str]) -> Array:
    """Return log prior probabilities in the order of the names."""
    if prior is None:
        return np.full(len(names), -np.log(len(names)))
    if set(prior) != set(names):
        raise ValueError(f"prior must name the models {', '.join(names)}; got {', '.join(prior)}")
    p = np.array([prior[name] for name in names], dtype=np.float64)
    if not (np.isfinite(p).all() and (p >= 0).all() and p.sum() > 0):
        raise ValueError(f"prior must hold numbers >= 0 with a positive sum, got {dict(prior)}")
    with np.errstate(divide="ignore"):
        return np.log(p / p.sum())
