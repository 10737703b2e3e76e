r"""Smooth curves as straight lines and what bends beside them.

B-splines :math:`b(x)` of evenly spaced knots whose coefficients are penalised by their second differences Δ are,
written as a model of random effects,

.. math:: f(x) = \beta x + b(x)^TD\,u,\qquad D = \Delta^T(\Delta\Delta^T)^{-1},\qquad
          u \sim N(0, \tau^2 I)

up to a constant: the line is no part of what is shrunken, and τ = 0 leaves it alone. Beyond the knots all go
on straight.

Reference: P. Eilers & B. Marx, "Flexible smoothing with B-splines and penalties", Statistical Science 11, 1996;
I. Currie & M. Durbán, "Flexible smoothing with P-splines: a unified approach", 2002 (the mixed model).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.parameters import WHOLE, Constraint, check_parameters
from posteriori.numerics.types import Array
from posteriori.regression.bases.basis import SplineBasis

__all__ = ["SmoothBasis"]


class SmoothBasis(TransformerMixin, BaseEstimator):
    """The columns themselves, and beside them cubic splines that bend: smooth curves with straight ends.

    Lines come first, column by column, then the functions that bend, ``n_knots`` of each column, so that
    ``BayesianLinearRegressor(hyperparameters="learned", own_scale=basis.bent(D))`` learns how much curves
    matter apart from how much lines do. A column that never changes has functions that are 0.

    Parameters
    ----------
    n_knots : int
        Knots of each column, evenly over the range of the data.

    Attributes
    ----------
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1.0, 1.0, 5)[:, None]
    >>> basis = SmoothBasis(3).fit(x)
    >>> basis.get_feature_names_out(["age"]).tolist()
    ['age', 'age_bend_0', 'age_bend_1', 'age_bend_2']
    >>> basis.bent(1)
    range(1, 4)
    >>> beyond = basis.transform([[1.0], [2.0], [3.0]])
    >>> bool(np.allclose(beyond[2] - beyond[1], beyond[1] - beyond[0]))  # straight
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "n_knots": WHOLE._replace(words="be a whole number >= 2", least=2.0)
    }

    def __init__(self, n_knots: int = 5) -> None:
        self.n_knots = n_knots

    def size(self, n_columns: int) -> int:
        """Return how many features there are over so many columns."""
        return n_columns * (1 + int(self.n_knots))

    def bent(self, n_columns: int) -> range:
        """Return which features of so many columns bend."""
        return range(n_columns, self.size(n_columns))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Place the knots.

        Parameters
        ----------
        X : array_like (N, D)
        y : ignored
        """
        check_parameters(self)
        x = check_inputs(self, X, reset=True)
        low, high = x.min(axis=0), x.max(axis=0)
        self._changes = high > low
        ramp = np.linspace(0.0, 1.0, max(len(x), 2))[:, None]
        placed = np.where(self._changes, x, ramp) if not self._changes.all() else x
        self._splines = SplineBasis(self.n_knots).fit(placed)
        self._ends = np.where(self._changes, [low, high], [[0.0], [1.0]])
        # D, coefficients of B-splines by their second differences, (n_knots + 2, n_knots)
        self._bends = np.linalg.pinv(np.diff(np.eye(int(self.n_knots) + 2), 2, axis=0))
        self._slopes = self._splines.slopes(self._ends) @ self._bends
        self._n_features_out = self.size(x.shape[1])
        return self

    def transform(self, X: Any) -> Array:
        """Return the features (N, D + n_knots·D)."""
        check_is_fitted(self)
        x = check_inputs(self, X) * self._changes
        inside = x.clip(*self._ends)
        curves = self._splines.transform(inside).reshape(*x.shape, -1) @ self._bends
        for end, slopes in zip(self._ends, self._slopes, strict=True):
            row, column = np.nonzero((x != inside) & (inside == end))
            curves[row, column] += (x - inside)[row, column, None] * slopes[column]
        curves *= self._changes[:, None]
        return np.column_stack([x, curves.reshape(len(x), -1)])

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return what the features are called: ``x0``, and ``x0_bend_3``."""
        check_is_fitted(self)
        columns = list(_check_feature_names_in(self, input_features))
        bends = [f"{column}_bend_{m}" for column in columns for m in range(int(self.n_knots))]
        return np.array(columns + bends, dtype=object)
