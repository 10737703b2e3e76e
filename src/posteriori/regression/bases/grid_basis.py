"""What bases have in common: functions of one column, put side by side or multiplied in a grid."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.parameters import WHOLE, Constraint, check_parameters
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_numbers

__all__ = ["CentredBasis", "GridBasis"]

#: Larger grids are refused: they are not what was meant.
_MOST_FUNCTIONS = 10**6


class GridBasis(TransformerMixin, BaseEstimator):
    """What bases have in common that are made of functions of one column."""

    tensor_product: bool

    # -- what a basis states -----------------------------------------------------------------

    #: How features are called.
    _kind: str
    _constraints: ClassVar[Mapping[str, Constraint]] = {}

    @property
    @abstractmethod
    def _per_column(self) -> int:
        """Number M of functions of one column."""

    @abstractmethod
    def _place(self, x: Array) -> None:
        """Place the functions where the inputs are."""

    @abstractmethod
    def _evaluate(self, x: Array) -> Array:
        """Return the functions of each column, (N, D, M)."""

    # -- what follows ------------------------------------------------------------------------

    def size(self, n_columns: int) -> int:
        """Return how many features this basis has over so many columns.

        Examples
        --------
        >>> from posteriori.regression import GaussianBasis
        >>> GaussianBasis(9).size(10), GaussianBasis(9, tensor_product=True).size(10)
        (90, 3486784401)
        """
        m = self._per_column
        return m**n_columns if self.tensor_product else m * n_columns

    def fit(self, X: Any, y: Any = None) -> Self:
        """Place the functions.

        Parameters
        ----------
        X : array_like (N, D)
        y : ignored
        """
        check_parameters(self)
        x = check_inputs(self, X, reset=True)
        size = self.size(x.shape[1])
        if self.tensor_product and size > _MOST_FUNCTIONS:
            raise ValueError(
                f"a grid of {self._per_column} functions along each of {x.shape[1]} columns has {size} "
                "functions; take fewer, or tensor_product=False for functions of single columns"
            )
        self._place(x)
        self._n_features_out = size
        return self

    def transform(self, X: Any) -> Array:
        """Return the features, (N, M·D) or (N, Mᴰ)."""
        check_is_fitted(self)
        values = self._evaluate(check_inputs(self, X))
        if not self.tensor_product:
            return values.reshape(len(values), -1)
        grid = values[:, 0]
        for j in range(1, values.shape[1]):
            grid = (grid[:, :, None] * values[:, j, None, :]).reshape(len(values), -1)
        return grid

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return what the features are called: ``x0_gaussian_3``."""
        check_is_fitted(self)
        columns = _check_feature_names_in(self, input_features)
        numbers = range(self._per_column)
        each = [[f"{column}_{self._kind}_{m}" for m in numbers] for column in columns]
        if not self.tensor_product:
            return np.array([name for names in each for name in names], dtype=object)
        grid = each[0]
        for names in each[1:]:
            grid = [f"{left} {right}" for left in grid for right in names]
        return np.array(grid, dtype=object)


class CentredBasis(GridBasis):
    """Functions of (x − c)/s around centres."""

    _constraints = {"n_centers": WHOLE}

    def __init__(
        self,
        n_centers: int = 9,
        *,
        centers: Any = None,
        width: Any = None,
        tensor_product: bool = False,
    ) -> None:
        self.n_centers = n_centers
        self.centers = centers
        self.width = width
        self.tensor_product = tensor_product

    @abstractmethod
    def _function(self, t: Array) -> Array:
        """Return the function at (x − c)/s."""

    @property
    def _per_column(self) -> int:
        if self.centers is None:
            return int(self.n_centers)
        return len(np.atleast_1d(as_numbers("centers", self.centers)))

    def _place(self, x: Array) -> None:
        low, high = x.min(axis=0), x.max(axis=0)
        if self.centers is None:
            alone = self.n_centers == 1
            self.centers_ = (
                0.5 * (low + high)[None] if alone else np.linspace(low, high, self.n_centers)
            )
        else:
            given = as_numbers("centers", self.centers)
            columns = given[:, None] if given.ndim == 1 else given
            if columns.ndim != 2 or columns.shape[1] not in (1, x.shape[1]):
                raise ValueError(
                    f"centers must have shape (M,) or (M, {x.shape[1]}), got {given.shape}"
                )
            self.centers_ = np.broadcast_to(columns, (len(columns), x.shape[1])).copy()
        self.width_ = self._widths(high - low)

    def _widths(self, span: Array) -> Array:
        if self.width is not None:
            width = np.broadcast_to(as_numbers("width", self.width), span.shape)
            if not np.all((width > 0) & np.isfinite(width)):
                raise ValueError(f"width must be positive, got {self.width!r}")
            return width.copy()
        reach = np.ptp(self.centers_, axis=0)
        gap = np.where(reach > 0, reach, span) / max(len(self.centers_) - 1, 1)
        return np.where(gap > 0, gap, 1.0)

    def _evaluate(self, x: Array) -> Array:
        return self._function((x[:, :, None] - self.centers_.T) / self.width_[:, None])
