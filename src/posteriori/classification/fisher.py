r"""Fisher's discriminant: the directions along which classes are far apart beside their spread.

.. math:: J(w) = \frac{w^\top S_B w}{w^\top S_W w}, \qquad S_B w = \lambda S_W w.

For two classes :math:`S_B = (m_2-m_1)(m_2-m_1)^\top` and :math:`w \propto S_W^{-1}(m_2-m_1)`, with
class means :math:`m_k = \frac1{N_k}\sum_{n\in k} x_n`; for more
:math:`S_B = \sum_k N_k(m_k-m)(m_k-m)^\top`.

Reference: R. Fisher, "The use of multiple measurements in taxonomic problems", 1936.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.spatial.distance import cdist
from sklearn.base import ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from posteriori.classification.classifier import class_pair
from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.class_probabilities import LabelledLearner
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.labelled_rows import LabelledRows, check_labelled_rows
from posteriori.estimators.parameters import ABOVE_ZERO, WHOLE, one_of
from posteriori.inference.classes.class_moments import (
    class_scatters,
    moments_by_class,
    overall,
    within_scatter,
)
from posteriori.mathematics.geometry import Hyperplane
from posteriori.numerics.types import Array
from posteriori.numerics.validation import real_matrix, real_vector

__all__ = ["FisherDiscriminant", "generalized_rayleigh_quotient", "mean_separation"]


class FisherDiscriminant(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    LabelledLearner,
    ClassifierMixin,
    BaseEstimator,
):
    """Projection on the directions that tell classes apart best, and the nearest mean there.

    Parameters
    ----------
    n_components : int, optional
        Number of directions, at most K − 1; all if None.
    scatter : {"sum", "average"}
        S_W as the sum of scatters over all rows, or of class covariances: equal classes then count
        equally, however many rows they have (``class_weight="balanced"`` elsewhere).
    ridge : float
        Share of the columns' variances that is added to S_W, in its units.

    Attributes
    ----------
    classes_ : (K,)
    means_ : (K, D)
    between_, within_ : (D, D)
        S_B and S_W, the latter with its ridge.
    directions_ : (D, M)
        With wᵀS_W w = 1, the best first.
    criterion_ : (M,)
        J of each direction.

    Notes
    -----
    Cost O(N D² + D³).

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0], [4, 1], [0, 2], [4, 3], [1, 3], [5, 4], [1, 5], [5, 6]])
    >>> model = FisherDiscriminant().fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    >>> model.transform(X).shape, model.score(X, [0, 0, 0, 0, 1, 1, 1, 1])
    ((8, 1), 1.0)
    """

    _constraints = {"scatter": one_of("sum", "average"), "ridge": ABOVE_ZERO}

    def __init__(
        self,
        n_components: int | None = None,
        *,
        scatter: str = "sum",
        ridge: float = 1e-6,
    ) -> None:
        self.n_components = n_components
        self.scatter = scatter
        self.ridge = ridge

    def _learn(self, rows: LabelledRows) -> None:
        size = self._n_directions(rows)
        moments = moments_by_class(rows)
        self.classes_, self.means_ = rows.classes, moments.means
        self.within_ = self._within(rows, moments.means)
        _, variance = overall(moments)
        unit = rows.counts.sum() if self.scatter == "sum" else len(rows.classes)
        self.within_ += np.diag(self.ridge * unit * variance)
        self.between_ = _between(rows.counts, moments.means)
        scale = 1.0 / np.sqrt(np.diagonal(self.within_))  # J knows no units
        values, vectors = eigh(
            scale[:, None] * self.between_ * scale, scale[:, None] * self.within_ * scale
        )
        self.criterion_ = values[::-1][:size]
        self.directions_ = scale[:, None] * vectors[:, ::-1][:, :size]
        self._centre = moments.means.mean(axis=0)
        self._n_features_out = size

    def transform(self, X: Any) -> Array:
        """Return the coordinates of rows along the directions, (N, M)."""
        check_is_fitted(self)
        return (check_inputs(self, X) - self._centre) @ self.directions_

    def decision_function(self, X: Any) -> Array:
        """Return how much nearer the second of two classes is (N,), or −½ distance² to each (N, K)."""
        z = self.transform(X)
        nearness = -0.5 * cdist(z, (self.means_ - self._centre) @ self.directions_, "sqeuclidean")
        return nearness[:, 1] - nearness[:, 0] if len(self.classes_) == 2 else nearness

    def predict(self, X: Any) -> Any:
        """Return the class whose projected mean is nearest."""
        score = self.decision_function(X)
        best = (score > 0).astype(np.intp) if score.ndim == 1 else score.argmax(axis=1)
        return self.classes_[best]

    def boundary(self, first: Any = None, second: Any = None) -> Hyperplane:
        """Return where the projected means of two classes are equally near, ``second`` positive.

        They need not be named where there are only two.
        """
        check_is_fitted(self)
        a, b = class_pair(self.classes_, first, second)
        w = self.directions_ @ (self.directions_.T @ (self.means_[b] - self.means_[a]))
        return Hyperplane(w, -w @ (self.means_[a] + self.means_[b]) / 2.0)

    def _n_directions(self, rows: LabelledRows) -> int:
        most = min(len(rows.classes) - 1, rows.x.shape[1])
        if self.n_components is None:
            return most
        if not (WHOLE.allows(self.n_components) and self.n_components <= most):
            raise ValueError(
                f"n_components must lie between 1 and {most}, got {self.n_components!r}"
            )
        return int(self.n_components)

    def _within(self, rows: LabelledRows, means: Array) -> Array:
        if self.scatter == "sum":
            return within_scatter(rows, means)
        return (class_scatters(rows, means) / rows.counts[:, None, None]).sum(axis=0)


def mean_separation(X: Any, y: Any) -> Hyperplane:
    """Return the boundary half-way between two class means, w = (m₂ − m₁)/‖m₂ − m₁‖.

    The unit vector along which the means are farthest apart. It ignores the spread of the classes;
    :class:`FisherDiscriminant` does not.

    Examples
    --------
    >>> plane = mean_separation([[0.0, 0.0], [2.0, 0.0]], ["a", "b"])
    >>> plane.weights, plane.offset
    (array([1., 0.]), 1.0)
    """
    rows = check_labelled_rows(BaseEstimator(), X, y)
    if len(rows.classes) != 2:
        raise ValueError(f"y must hold two classes, got {len(rows.classes)}")
    first, second = moments_by_class(rows, squares=False).means
    length = np.linalg.norm(second - first)
    if length == 0:
        raise ValueError("both classes have the same mean: no direction separates them")
    w = (second - first) / length
    return Hyperplane(w, -float(w @ (first + second)) / 2.0)


def generalized_rayleigh_quotient(w: Any, a: Any, b: Any) -> float:
    """Return wᵀAw / wᵀBw, which lies between the least and largest λ of A w = λ B w.

    Examples
    --------
    >>> generalized_rayleigh_quotient(
    ...     [1.0, 1.0], [[2.0, 0.0], [0.0, 4.0]], [[1.0, 0.0], [0.0, 1.0]]
    ... )
    3.0
    """
    vector, top, bottom = real_vector("w", w), real_matrix("a", a), real_matrix("b", b)
    below = float(vector @ bottom @ vector)
    if not below > 0:
        raise ValueError(f"wᵀBw must be positive, got {below:.6g}")
    return float(vector @ top @ vector) / below


def _between(counts: Array, means: Array) -> Array:
    if len(means) == 2:
        return np.outer(means[1] - means[0], means[1] - means[0])
    shift = np.sqrt(counts)[:, None] * (means - counts @ means / counts.sum())
    return shift.T @ shift
