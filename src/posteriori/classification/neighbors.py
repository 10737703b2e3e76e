r"""Nearest neighbours with a prior on their counts.

.. math:: p(C_k\mid x) = \frac{n_k + \alpha}{n + K\alpha},

with :math:`n_k` of the n nearest rows in class k: a Dirichlet belief about the classes around x.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import ProbabilisticClassifier
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import check_labelled_rows
from posteriori.estimators.parameters import AT_LEAST_ONE, NOT_NEGATIVE, check_parameters
from posteriori.numerics.types import Array

__all__ = ["KNeighborsClassifier"]


class KNeighborsClassifier(ProbabilisticClassifier):
    """Classes of the nearest rows, counted with a Dirichlet prior.

    Parameters
    ----------
    n_neighbors : int
    concentration : float
        α >= 0, pseudo-count of every class: no class is ever ruled out by a few neighbours. With 0
        probabilities are the shares n_k/n themselves, 0 included. There is no ``class_weight``, as the nearest rows are counted: :func:`posteriori.decision.compensate_priors`
        weighs classes afterwards.

    Attributes
    ----------
    classes_ : (K,)

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [10.0], [11.0]], ["low", "low", "low", "high", "high"]
    >>> model = KNeighborsClassifier(3).fit(X, y)
    >>> model.predict_proba([[0.5]]).round(6)  # (0 + 1)/(3 + 2) and (3 + 1)/(3 + 2)
    array([[0.2, 0.8]])
    >>> KNeighborsClassifier(3, concentration=0).fit(X, y).predict_proba([[5.5]]).round(6)
    array([[0.333333, 0.666667]])
    """

    _constraints = {"concentration": NOT_NEGATIVE, "n_neighbors": AT_LEAST_ONE}

    def __init__(self, n_neighbors: int = 5, *, concentration: float = 1.0) -> None:
        self.n_neighbors = n_neighbors
        self.concentration = concentration

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the rows, in a tree where that is faster.

        Parameters
        ----------
        X : array_like (N, D)
        y : array_like (N,)
        """
        check_parameters(self)
        rows = check_labelled_rows(self, X, y)
        self.classes_, self._codes, self._rows = rows.classes, rows.codes, rows.x
        self.__dict__["_search"] = self._sort_rows()
        return self

    @cached_property
    def _search(self) -> NearestNeighbors:
        """Sorted by ``fit``; again in a model that comes from a file, which holds the rows alone."""
        return self._sort_rows()

    def _sort_rows(self) -> NearestNeighbors:
        return NearestNeighbors(n_neighbors=min(self.n_neighbors, len(self._rows))).fit(self._rows)

    def posterior(self, X: Any) -> Dirichlet:
        """Return the belief about the class probabilities around each row, a batch."""
        if not self.concentration > 0:
            raise ValueError(
                f"concentration={self.concentration} is no prior, so there is no belief about the class "
                "probabilities; predict_proba has their shares"
            )
        return Dirichlet(self._counts(X) + self.concentration)

    def predict_proba(self, X: Any) -> Array:
        counts = self._counts(X) + self.concentration
        return np.asarray(counts / counts.sum(axis=1, keepdims=True))

    def _counts(self, X: Any) -> Array:
        """Return how many of the nearest rows are of each class, (N, K)."""
        check_is_fitted(self)
        found = self._search.kneighbors(check_inputs(self, X), return_distance=False)
        n, k = len(found), len(self.classes_)
        cells = np.arange(n)[:, None] * k + self._codes[found]
        return np.bincount(cells.ravel(), minlength=n * k).reshape(n, k).astype(np.float64)
