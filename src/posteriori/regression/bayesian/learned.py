"""What a linear regression has seen so far: sums over rows, and the belief that follows from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from posteriori.inference.regression.regression_statistics import RegressionStatistics
from posteriori.numerics.evidence import Fingerprint, LogEvidence
from posteriori.regression.bayesian.learning import Solution, solve
from posteriori.regression.bayesian.priors import LinearPrior

__all__ = ["Learned"]


@dataclass(frozen=True)
class Learned:
    """Statistics of the data with a prior; solved when first asked for."""

    prior: LinearPrior
    statistics: RegressionStatistics
    fingerprint: Fingerprint

    def merge(self, other: Learned) -> Learned:
        """Return what is learned from both sets of data."""
        both = self.statistics.merge(other.statistics)
        return Learned(self.prior, both, self.fingerprint.merge(other.fingerprint))

    @cached_property
    def solution(self) -> Solution:
        """Posterior, evidence and hyper-parameters."""
        return solve(self.statistics, self.prior)

    @property
    def log_evidence(self) -> LogEvidence:
        """Evidence; that of a flat intercept is of y up to a constant, and compares with its like."""
        solution = self.solution
        if np.isneginf(solution.log_evidence):
            raise AttributeError(
                "log_evidence_ does not exist under an improper prior (a prior_precision of 0 in "
                "some direction); give every weight a positive prior precision"
            )
        flat = self.prior.fit_intercept and self.prior.intercept_precision == 0.0
        return LogEvidence(
            solution.log_evidence,
            kind=solution.kind,
            of="y up to a constant|X" if flat else "y|X",
            fingerprint=self.fingerprint,
        )

    @property
    def effective_parameters(self) -> float:
        """γ = Σ (1 − prior share) over directions: weights that the data determine."""
        belief, d = self.solution.belief, self.statistics.n_inputs
        seen = (self.statistics.factor[:d, :d] @ belief.directions) ** 2
        return float(belief.probabilities @ (seen.sum(axis=0) / belief.precisions).sum(axis=1))
