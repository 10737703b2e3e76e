r"""What densities of rows answer, given :math:`\ln p(x_n)`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from sklearn.base import DensityMixin

from posteriori.numerics.types import Array

__all__ = ["RowDensity"]


class RowDensity(DensityMixin):
    """States the log density of rows; sums and means of it follow."""

    @abstractmethod
    def log_prob(self, X: Any) -> Array:
        """Return ln p(row), (N,)."""

    def score_samples(self, X: Any) -> Array:
        """Return :meth:`log_prob`, as scikit-learn calls it."""
        return self.log_prob(X)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean of :meth:`log_prob`."""
        return float(self.log_prob(X).mean())

    def log_likelihood(self, X: Any) -> float:
        """Return ln p(X), the sum of :meth:`log_prob`."""
        return float(self.log_prob(X).sum())
