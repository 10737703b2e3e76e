r"""Clusters around rows of the data, by any dissimilarity: :math:`J = \sum_n w_n \min_m d(x_n, m)`."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist
from sklearn.base import ClusterMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.parameters import check_parameters
from posteriori.inference.clusters.distinct_rows import distinct_rows
from posteriori.inference.clusters.medoids import find_medoids
from posteriori.mixture.cluster_inputs import CONSTRAINTS, check_frequencies, check_gappy_rows
from posteriori.numerics.types import Array, IntArray

__all__ = ["KMedoids"]


class KMedoids(ClusterMixin, BaseEstimator):
    """Clusters around rows, such that no swap of one of them for another lowers J (FasterPAM).

    Parameters
    ----------
    n_clusters : int
    metric : str or callable
        Any of :func:`sklearn.metrics.pairwise_distances`; "precomputed": X holds dissimilarities
        (N, N), and for ``predict`` (M, N). "nan_euclidean" takes rows with gaps.
    max_iter : int
        Rounds over all rows.

    Attributes
    ----------
    medoid_indices_ : (K,)
        Which rows the medoids are.
    cluster_centers_ : (K, D)
        The medoids; not of "precomputed".
    labels_ : (N,)
    inertia_ : float
        J.
    n_iter_ : int
    converged_ : bool
        Whether no swap lowers J.

    Notes
    -----
    O(N²K) to begin and O(N²) for a round; the dissimilarities of all distinct rows are held. Nothing is
    drawn at random, and neither order nor copies of rows matter.

    References
    ----------
    E. Schubert & P. Rousseeuw, "Fast and eager k-medoids clustering", Information Systems, 2021.

    Examples
    --------
    >>> model = KMedoids(2, metric="manhattan").fit([[0.0], [1.0], [2.0], [50.0], [51.0], [99.0]])
    >>> model.cluster_centers_.ravel(), model.labels_
    (array([ 1., 51.]), array([0, 0, 0, 1, 1, 1], dtype=int32))
    """

    _constraints = {name: CONSTRAINTS[name] for name in ("n_clusters", "max_iter")}

    def __init__(
        self, n_clusters: int = 8, *, metric: Any = "euclidean", max_iter: int = 100
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.max_iter = max_iter

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the medoids.

        Parameters
        ----------
        X : array_like (N, D), or (N, N) for "precomputed"
        y : None
            Not used.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        check_parameters(self)
        x = self._check(X, reset=True)
        weight = check_frequencies(sample_weight, len(x))
        if self._given:
            self._refuse_oblong(x)
            first = np.arange(len(x)) if weight is None else np.flatnonzero(weight > 0)
            distances, w = x[np.ix_(first, first)], None if weight is None else weight[first]
        else:
            rows, w, first = distinct_rows(x, weight, len(x), np.random.default_rng(0))
            distances = self._distances(rows, rows)
        self._require_enough(len(first), len(x))
        k = int(self.n_clusters)
        found = find_medoids(distances, k, weight=w, max_iter=int(self.max_iter))
        self.medoid_indices_ = first[found.medoids]
        if not self._given:
            self.cluster_centers_ = x[self.medoid_indices_]
        self.inertia_, self.n_iter_, self.converged_ = found[2:]
        self.labels_ = self._nearest(x)
        return self

    def predict(self, X: Any) -> IntArray:
        """Return the nearest medoid of each row, (N,)."""
        check_is_fitted(self)
        return self._nearest(self._check(X, reset=False))

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Learn the medoids and return that of each row, (N,)."""
        return self.fit(X, sample_weight=sample_weight).labels_

    @property
    def _given(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _check(self, X: Any, *, reset: bool) -> Array:
        if isinstance(self.metric, str) and self.metric == "nan_euclidean":
            return check_gappy_rows(self, X, reset=reset).x
        return check_inputs(self, X, reset=reset)

    def _distances(self, a: Array, b: Array) -> Array:
        if isinstance(self.metric, str) and self.metric == "euclidean":
            return cdist(a, b)  # by differences: products lose the digits of what lies far out
        return pairwise_distances(a, b, metric=self.metric)

    def _nearest(self, x: Array) -> IntArray:
        table = (
            x[:, self.medoid_indices_] if self._given else self._distances(x, self.cluster_centers_)
        )
        return np.argmin(table, axis=1).astype(np.int32)

    def _refuse_oblong(self, x: Array) -> None:
        if x.shape[0] != x.shape[1]:
            raise ValueError(
                f"X must hold dissimilarities of all pairs, (N, N), for metric='precomputed', got shape "
                f"{x.shape}"
            )

    def _require_enough(self, count: int, n: int) -> None:
        if count < self.n_clusters:
            what = "rows" if self._given else "distinct rows"
            raise ValueError(
                f"n_clusters={self.n_clusters} needs as many {what} of positive weight, X has {count} "
                f"(n_samples={n}); lower n_clusters"
            )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._given
        tags.input_tags.allow_nan = self.metric == "nan_euclidean"
        return tags
