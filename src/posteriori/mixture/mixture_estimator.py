r"""What all mixtures answer, given the joint density of rows and components.

.. math:: p(x) = \sum_k p(x, k), \qquad p(k\mid x) = \frac{p(x, k)}{p(x)}.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_gappy_inputs
from posteriori.estimators.row_density import RowDensity
from posteriori.estimators.weighted_fits import check_frequency
from posteriori.numerics.logspace import log_sum_exp, softmax
from posteriori.numerics.types import Array

__all__ = ["MixtureEstimator", "ReadsRows", "counted_rows"]


class ReadsRows:
    """Reads the rows that it is given."""

    def _read(self, X: Any, *, reset: bool = False) -> Array:
        """Return checked rows (N, D); NaN is a missing entry."""
        return check_gappy_inputs(self, X, reset=reset)


class MixtureEstimator(ReadsRows, RowDensity, BaseEstimator):
    """Rows that come from one of several components."""

    @abstractmethod
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows."""

    @abstractmethod
    def _log_joint(self, x: Array) -> Array:
        """Return ln p(x, k) of checked rows, (N, K); of rows without an entry ln p(k)."""

    def predict_proba(self, X: Any) -> Array:
        """Return p(component | row), (N, K), by the entries that are seen."""
        return softmax(self._joint(X), axis=1)

    def predict(self, X: Any) -> Any:
        """Return the most probable component of each row, (N,)."""
        return self._joint(X).argmax(axis=1)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Learn from rows and return the most probable component of each, (N,)."""
        return self.fit(X, sample_weight=sample_weight).predict(X)

    def log_prob(self, X: Any) -> Array:
        """Return ln p(row) of the seen entries, (N,)."""
        return log_sum_exp(self._joint(X), axis=1)

    def _joint(self, X: Any) -> Array:
        check_is_fitted(self)
        return self._log_joint(self._read(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def counted_rows(
    estimator: Any, X: Any, sample_weight: Any, *, reset: bool = True
) -> tuple[Array, Array | None]:
    """Return checked rows, and how often each counts; rows of weight 0 are left out."""
    x = estimator._read(X, reset=reset)
    if sample_weight is None:
        return x, None
    frequency = check_frequency(sample_weight, x)
    keep = frequency > 0
    return (x, frequency) if keep.all() else (x[keep], frequency[keep])
