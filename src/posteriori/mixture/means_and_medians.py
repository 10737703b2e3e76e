r"""Clusters around centres: each row belongs to the nearest, each centre is the middle of its rows.

.. math:: J = \sum_n w_n \sum_d (x_{nd} - \mu_{z_n d})^2 \quad\text{or}\quad \sum_n w_n \sum_d |x_{nd} - \mu_{z_n d}|

The best partition of all is out of reach (:func:`~posteriori.inference.count_partitions`); each half-step
lowers J, so the descent ends in a local minimum, which depends on its start.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.parameters import Constraint, check_parameters, or_none
from posteriori.inference.clusters.cluster_rows import (
    column_moments,
    distances_to,
    make_rows,
    nearest_labels,
    objective,
)
from posteriori.inference.clusters.distance_kernels import follow_rows
from posteriori.inference.clusters.k_means import find_clusters
from posteriori.inference.clusters.lloyd import Clustering, PathStep
from posteriori.mixture.cluster_inputs import (
    CONSTRAINTS,
    check_frequencies,
    check_gappy_rows,
    check_init,
)
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray

__all__ = ["KMeans", "KMedians"]

_BOOLEAN = Constraint("be True or False", 0.0, 1.0, whole=True)


class _Centers(ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator):
    """What clusterings around centres have in common."""

    n_clusters: Any
    init: Any
    n_init: Any
    max_iter: Any
    tol: Any
    random_state: Any
    cluster_centers_: Array
    labels_: IntArray
    inertia_: float
    n_iter_: int
    converged_: bool
    counts_: Array
    _absolute: bool

    def _learn(self, X: Any, sample_weight: Any, **options: Any) -> Clustering:
        check_parameters(self)
        x, gappy = check_gappy_rows(self, X, reset=True)
        weight = check_frequencies(sample_weight, len(x))
        k = int(self.n_clusters)
        rows = make_rows(x, weight, gappy=gappy, absolute=self._absolute)
        tol = float(self.tol)
        if tol > 0:
            tol *= float(column_moments(rows.x, rows.weight)[1].mean())
        found = find_clusters(
            rows,
            k,
            as_generator(self.random_state),
            init=check_init(self.init, k, x.shape[1]),
            n_init=int(self.n_init),
            max_iter=int(self.max_iter),
            tol=tol,
            **options,
        )
        self.cluster_centers_, self.labels_, self.inertia_ = found[:3]
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.counts_ = np.bincount(found.labels, weights=weight, minlength=k).astype(np.float64)
        self._n_features_out = k
        return found

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Learn the clusters and return that of each row, (N,)."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any) -> IntArray:
        """Return the nearest centre of each row, (N,)."""
        check_is_fitted(self)
        x, gappy = check_gappy_rows(self, X, reset=False)
        return nearest_labels(x, self.cluster_centers_, gappy=gappy, absolute=self._absolute)

    def transform(self, X: Any) -> Array:
        """Return the distances of rows to all centres, over seen entries, (N, K)."""
        check_is_fitted(self)
        x, _ = check_gappy_rows(self, X, reset=False)
        return distances_to(x, self.cluster_centers_, absolute=self._absolute)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return −J of rows."""
        check_is_fitted(self)
        x, gappy = check_gappy_rows(self, X, reset=False)
        weight = check_frequencies(sample_weight, len(x))
        rows = make_rows(x, weight, gappy=gappy, absolute=self._absolute)
        labels = nearest_labels(x, self.cluster_centers_, gappy=gappy, absolute=self._absolute)
        return -objective(rows, self.cluster_centers_, labels)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class KMeans(_Centers):
    """Clusters around means: J is the sum of squared distances.

    Clusters come out round, of like spread and size; :func:`diagnose_clusters` tells where that does
    not suit the data.

    Parameters
    ----------
    n_clusters : int
    init : {"k-means++", "random"} or array_like (K, D)
        Rows far from one another, any rows, or given centres. Neither the order of rows nor copies in
        the place of weights change what is drawn.
    n_init : int
        Starts, of which the lowest end counts.
    max_iter : int
        Iterations of a descent.
    tol : float
        A descent ends where all centres together move by less than this, squared, in units of the
        columns' mean variance; 0: where no row changes its cluster.
    split_merge : bool
        Whether centres are taken from where they are needed least to clusters that are better divided,
        as long as that lowers J.
    keep_path : bool
        Whether ``path_`` keeps every half-step.
    learning_rate : float or None
        η of ``partial_fit``, from 0 to ½; None: centres are the running means of their rows.
    random_state : int, Generator or None

    Attributes
    ----------
    cluster_centers_ : (K, D)
    labels_ : (N,)
    inertia_ : float
        J.
    counts_ : (K,)
        Weight of each cluster's rows.
    n_iter_ : int
        Iterations, of those after moves too.
    converged_ : bool
    path_ : list of PathStep
        With ``keep_path``.

    Notes
    -----
    O(N K D) for an iteration at most: rows that provably stay are left out. Rows are read where they
    lie, also from a memory-mapped file; beside them 8 bytes a row are held.

    NaN is a missing entry: J counts the seen ones. An empty cluster takes the row farthest from its
    centre.

    Examples
    --------
    >>> model = KMeans(2, random_state=0).fit([[1.0, 2.0], [1.0, 4.0], [9.0, 2.0], [9.0, np.nan]])
    >>> sorted(model.cluster_centers_.tolist()), model.inertia_
    ([[1.0, 3.0], [9.0, 2.0]], 2.0)
    """

    _constraints = {
        **CONSTRAINTS,
        "split_merge": _BOOLEAN,
        "keep_path": _BOOLEAN,
        "learning_rate": or_none(
            Constraint("be a positive number up to 0.5 or None", 0.0, 0.5, open=True)
        ),
    }
    _absolute = False
    _stream_is_batch = False  # what rows do depends on those before them
    path_: list[PathStep]

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        split_merge: bool = True,
        keep_path: bool = False,
        learning_rate: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.split_merge = split_merge
        self.keep_path = keep_path
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the clusters.

        Parameters
        ----------
        X : array_like (N, D)
            NaN is missing.
        y : None
            Not used.
        sample_weight : array_like (N,), optional
            Frequencies: 2 equals a repeated row, 0 leaves it out.
        """
        found = self._learn(
            X, sample_weight, split_merge=bool(self.split_merge), keep_path=bool(self.keep_path)
        )
        if self.keep_path:
            self.path_ = found.path
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Let each row in turn pull its nearest centre: μ += 2η(x − μ).

        Unless ``init`` holds centres, the first rows are learned as a batch and must be enough for
        that. ``labels_`` and ``inertia_`` are those of the rows given last.

        Parameters
        ----------
        X, y, sample_weight
            As of ``fit``.
        """
        first = not hasattr(self, "cluster_centers_")
        if first and isinstance(self.init, str):
            return self.fit(X, sample_weight=sample_weight)
        check_parameters(self)
        x, gappy = check_gappy_rows(self, X, reset=first)
        weight = check_frequencies(sample_weight, len(x))
        rows = make_rows(x, weight, gappy=gappy)
        if first:
            k = int(self.n_clusters)
            self.cluster_centers_, self.counts_ = check_init(self.init, k, x.shape[1]), np.zeros(k)
            self.n_iter_, self._n_features_out = 1, k
        centers, counts = self.cluster_centers_.copy(), self.counts_.copy()
        labels: IntArray = np.empty(len(x), dtype=np.int64)
        follow_rows(rows.x, rows.weight, centers, counts, float(self.learning_rate or 0.0), labels)
        self.cluster_centers_, self.counts_ = centers, counts
        self.labels_ = nearest_labels(x, centers, gappy=gappy)
        self.inertia_ = objective(rows, centers, self.labels_)
        return self


class KMedians(_Centers):
    """Clusters around medians: J is the sum of absolute differences, so that outliers pull little.

    Parameters
    ----------
    n_clusters, init, n_init, max_iter, tol, random_state
        As of :class:`KMeans`.

    Attributes
    ----------
    cluster_centers_ : (K, D)
        Medians of the columns.
    labels_ : (N,)
    inertia_ : float
        J.
    counts_ : (K,)
        Weight of each cluster's rows.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> model = KMedians(1).fit([[0.0], [1.0], [2.0], [3.0], [1000.0]])
    >>> model.cluster_centers_, model.inertia_
    (array([[2.]]), 1002.0)
    """

    _constraints = CONSTRAINTS
    _absolute = True

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the clusters; parameters as of :meth:`KMeans.fit`."""
        self._learn(X, sample_weight, split_merge=False)
        return self
