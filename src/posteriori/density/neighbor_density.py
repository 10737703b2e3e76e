r"""Densities from the distance to the K-th neighbour.

.. math:: p(x) \approx \frac{K}{N V}, \qquad P \sim \mathrm{Beta}(K, N - K + 1)

with V the volume of the smallest ball around x that holds K of the N rows, and P its probability: the
mass up to the K-th of N distances is the K-th of N uniform numbers, whatever the density.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.neighbors import KDTree
from sklearn.utils.validation import check_is_fitted

from posteriori.density.local_balls import log_ball_volume
from posteriori.distributions.numbers.beta import Beta
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.parameters import AT_LEAST_ONE, check_parameters
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares

__all__ = ["NearestNeighborDensity"]


class NearestNeighborDensity(BaseEstimator):
    """The density that the K nearest rows suggest, as wide as they lie apart.

    It does not integrate to 1: far from all rows it falls like 1/|x|^D only, so its integral is
    infinite. There is nothing to draw from, and its log densities must not be compared with those of
    densities that do integrate.

    Parameters
    ----------
    n_neighbors : int
        K.

    Examples
    --------
    >>> model = NearestNeighborDensity(2).fit([[0.0], [1.0], [3.0]])
    >>> np.exp(model.log_prob([[0.0]])).round(6)  # 2 of 3 rows in (−1, 1)
    array([0.333333])
    >>> low, high = model.interval([[0.0]], 0.9)  # of the mean density in the ball
    >>> low.round(3), high.round(3)
    (array([0.068]), array([0.432]))
    """

    _constraints = {
        "n_neighbors": AT_LEAST_ONE._replace(words="be a whole number >= 1", whole=True)
    }
    _rows: Array

    def __init__(self, n_neighbors: int = 5) -> None:
        self.n_neighbors = n_neighbors

    def fit(self, X: Any, y: Any = None) -> Self:
        """Keep the rows.

        Parameters
        ----------
        X : (N, D)
        y : ignored
        """
        check_parameters(self)
        x = check_inputs(self, X, reset=True)
        require_squares("X", x)
        if len(x) < self.n_neighbors:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} must not exceed the rows, n_samples={len(x)}"
            )
        self._center = x.mean(axis=0)
        self._rows = x - self._center
        self.__dict__.pop("_tree", None)
        return self

    def log_prob(self, X: Any) -> Array:
        """Return ln K/(N V) of each row, (N,): infinite where K rows are equal to it."""
        return np.log(self.n_neighbors / len(self._checked_rows)) - self._log_volumes(X)

    def score_samples(self, X: Any) -> Array:
        """Return :meth:`log_prob`, as scikit-learn calls it."""
        return self.log_prob(X)

    def interval(self, X: Any, mass: float = 0.95) -> tuple[Array, Array]:
        """Return the ends of the central interval of the mean density in the ball, P/V, (N,) each.

        It holds for new points; a row that the model has seen is its own first neighbour.
        """
        n, k = len(self._checked_rows), int(self.n_neighbors)
        low, high = Beta(k, n - k + 1).interval(mass)
        log_volumes = self._log_volumes(X)
        with np.errstate(over="ignore"):
            return np.exp(np.log(low) - log_volumes), np.exp(np.log(high) - log_volumes)

    @property
    def sample(self) -> NoReturn:
        """There is none."""
        raise AttributeError(
            "NearestNeighborDensity has no sample: it does not integrate to 1, so there is nothing to draw "
            "from; KernelDensity does"
        )

    @property
    def _checked_rows(self) -> Array:
        check_is_fitted(self)
        return self._rows

    @cached_property
    def _tree(self) -> KDTree:
        """Made on use: a model that comes from a file holds the rows alone."""
        return KDTree(self._rows)

    def _log_volumes(self, X: Any) -> Array:
        x = check_inputs(self, X) - self._center
        distance, _ = self._tree.query(x, k=int(self.n_neighbors))
        return log_ball_volume(x.shape[1], distance[:, -1])
