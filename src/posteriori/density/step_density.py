r"""Densities that are constant in each of many bins: what averaged histograms answer.

.. math:: p(x) = \frac{\pi_m}{e_{m+1} - e_m}, \qquad e_m \le x < e_{m+1}.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.density.line_rows import LineRows, check_column, check_line
from posteriori.distributions.composites.mixture import Mixture, MixtureFamily
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.uniform import Uniform
from posteriori.estimators.approximate_posterior import ApproximatePosterior
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.parameters import check_parameters
from posteriori.estimators.row_density import RowDensity
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["StepDensity", "believed_number"]


class StepDensity(ApproximatePosterior, RowDensity, BaseEstimator):
    """A histogram, given how it learns its bins and their masses."""

    range: Any
    edges_: Array
    masses_: Array
    model_: MixtureFamily
    log_evidence_: LogEvidence
    _constraints: dict[str, Any]

    @abstractmethod
    def _learn(self, rows: LineRows) -> Array:
        """Set what is learned; return ln p(X | M) of M = 1, 2, … bins, (M,)."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from the numbers of one column.

        Parameters
        ----------
        X : (N,) or (N, 1)
        y : ignored
        sample_weight : (N,), optional
            Frequencies >= 0: equal to repeated rows.
        """
        check_parameters(self)
        rows = check_line(self, X, sample_weight)
        log_likelihoods = self._learn(rows)
        self.log_evidence_ = LogEvidence(
            log_sum_exp(log_likelihoods) - np.log(len(log_likelihoods)),
            kind="exact" if rows.given else "type-II",
            of="X",
            fingerprint=rows.fingerprint,
        )
        self.model_ = Mixture(self.masses_, Uniform(self.edges_[:-1], self.edges_[1:]))
        return self

    def log_prob(self, X: Any) -> Array:
        """Return ln p(x) of each row, (N,): −inf outside of the range."""
        check_is_fitted(self)
        x = self._check_column(X)[:, 0]
        bins = np.searchsorted(self.edges_, x, side="right") - 1
        bins = np.where(x == self.edges_[-1], len(self.masses_) - 1, bins)
        inside = (bins >= 0) & (bins < len(self.masses_))
        heights = np.log(self.masses_) - np.log(np.diff(self.edges_))
        return np.where(inside, heights[np.clip(bins, 0, len(self.masses_) - 1)], -np.inf)

    def sample(self, size: int = 1, rng: Seed = None) -> Array:
        """Draw rows (size, 1)."""
        check_is_fitted(self)
        generator = as_generator(rng)
        bins = generator.choice(len(self.masses_), size=size, p=self.masses_)
        return generator.uniform(self.edges_[bins], self.edges_[bins + 1])[:, None]

    def _check_column(self, X: Any, *, reset: bool = False) -> Array:
        """Return the one column (N, 1)."""
        return check_column(self, X, reset=reset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        return tags


def believed_number(log_likelihoods: Array) -> Categorical:
    """Return p(M | X) of M = 1, 2, …, all equally probable before."""
    labels = tuple(map(int, np.arange(1, len(log_likelihoods) + 1)))
    return Categorical(softmax(log_likelihoods), labels=labels)
