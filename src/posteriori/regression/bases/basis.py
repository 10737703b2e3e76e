r"""Basis functions: inputs x become features φ(x), and what is linear in φ bends in x.

A basis holds M functions of one column. Over D columns they are put side by side, M·D features, or
multiplied in a grid, :math:`\phi_{m_1\dots m_D}(x) = \prod_d \phi_{m_d}(x_d)`, which can describe how columns
act together and costs :math:`M^D` features: the curse of dimensionality. ``size`` tells before
anything is computed.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, §3.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb, factorial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import TransformerMixin
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted

from posteriori.estimators.base.base_estimator import BaseEstimator
from posteriori.estimators.estimator_rows import check_inputs
from posteriori.estimators.parameters import WHOLE, Constraint, check_parameters
from posteriori.numerics.blocks.row_blocks import Products, RowBlocks
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_numbers
from posteriori.regression.bases.grid_basis import CentredBasis, GridBasis
from posteriori.regression.bases.spline_kernel import add_curves, add_moments, fill_splines

__all__ = [
    "FourierBasis",
    "GaussianBasis",
    "PolynomialBasis",
    "SigmoidBasis",
    "SplineBasis",
    "design_matrix",
]

#: Numbers that splines are placed by from which on compiled values pay for the compiler's import:
#: scikit-learn's take half a microsecond each, and what is long is read several times.
_WORTH_COMPILING = 1 << 17


def design_matrix(X: Any, basis: Any = None, *, bias: bool = True) -> Array:
    """Return the matrix whose rows are φ(xₙ)ᵀ, (N, M).

    Parameters
    ----------
    X : array_like (N, D)
    basis : transformer or sequence of functions, optional
        A basis of this file (fitted or not) or any scikit-learn transformer, or functions from X
        (N, D) to a feature (N,); None is the inputs themselves.
    bias : bool
        Whether a column of ones comes first.

    Examples
    --------
    >>> design_matrix([[2.0], [3.0]], [lambda x: x[:, 0], lambda x: x[:, 0] ** 2])
    array([[1., 2., 4.],
           [1., 3., 9.]])
    """
    x = np.asarray(X, dtype=np.float64)
    if x.ndim != 2:
        raise ValueError(
            f"X must be a table (N, D), got shape {x.shape}; use X[:, None] for one column"
        )
    if basis is None:
        features = x
    elif hasattr(basis, "fit_transform"):
        features = np.asarray(basis.transform(x) if _is_fitted(basis) else basis.fit_transform(x))
    else:
        features = np.stack([np.asarray(function(x)) for function in basis], axis=1)
    return np.column_stack([np.ones(len(x)), features]) if bias else features


def _is_fitted(transformer: Any) -> bool:
    return any(name.endswith("_") and not name.startswith("__") for name in vars(transformer))


class GaussianBasis(CentredBasis):
    r"""Bumps :math:`\exp\{-(x-c)^2/2s^2\}` around centres.

    Parameters
    ----------
    n_centers : int
        Centres of each column, evenly over the range of the data.
    centers : (M,) or (M, D), optional
        Centres in place of those, for all columns or column by column.
    width : float or (D,), optional
        s, by default the distance between centres.
    tensor_product : bool
        True multiplies functions of different columns, Mᴰ features; False puts them side by side,
        M·D features.

    Attributes
    ----------
    centers_ : array (M, D)
    width_ : array (D,)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 5)[:, None]
    >>> GaussianBasis(3).fit_transform(x).round(2)
    array([[1.  , 0.61, 0.14],
           [0.88, 0.88, 0.32],
           [0.61, 1.  , 0.61],
           [0.32, 0.88, 0.88],
           [0.14, 0.61, 1.  ]])
    """

    _kind = "gaussian"

    def _function(self, t: Array) -> Array:
        return np.exp(-0.5 * t * t)


class SigmoidBasis(CentredBasis):
    r"""Steps :math:`\sigma((x-c)/s)` at centres, with the logistic function σ.

    Parameters
    ----------
    n_centers, centers, width, tensor_product
        As of :class:`GaussianBasis`.

    Attributes
    ----------
    centers_ : array (M, D)
    width_ : array (D,)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> SigmoidBasis(centers=[0.0], width=1.0).fit_transform([[-1.0], [0.0], [1.0]]).round(4)
    array([[0.2689],
           [0.5   ],
           [0.7311]])
    """

    _kind = "sigmoid"

    def _function(self, t: Array) -> Array:
        return special.expit(t)


class FourierBasis(GridBasis):
    r"""Waves :math:`\cos(2\pi k x/P), \sin(2\pi k x/P)`, k = 1 … K.

    Parameters
    ----------
    n_frequencies : int
        K: 2K functions of each column.
    period : float or (D,), optional
        P, by default twice the range of the data, so that a fit need not be periodic over it.
    tensor_product : bool
        True multiplies functions of different columns, (2K)ᴰ features; False puts them side by
        side, 2KD features.

    Attributes
    ----------
    period_ : array (D,)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> FourierBasis(1, period=4.0).fit_transform([[0.0], [1.0], [2.0]]).round(12) + 0.0
    array([[ 1.,  0.],
           [ 0.,  1.],
           [-1.,  0.]])
    """

    _kind = "fourier"
    _constraints = {"n_frequencies": WHOLE}

    def __init__(
        self, n_frequencies: int = 4, *, period: Any = None, tensor_product: bool = False
    ) -> None:
        self.n_frequencies = n_frequencies
        self.period = period
        self.tensor_product = tensor_product

    @property
    def _per_column(self) -> int:
        return 2 * int(self.n_frequencies)

    def _place(self, x: Array) -> None:
        span = 2.0 * np.ptp(x, axis=0)
        period = np.where(span > 0, span, 1.0) if self.period is None else self.period
        period = np.broadcast_to(as_numbers("period", period), span.shape).copy()
        if not np.all((period > 0) & np.isfinite(period)):
            raise ValueError(f"period must be positive, got {self.period!r}")
        self.period_ = period

    def _evaluate(self, x: Array) -> Array:
        turns = 2.0 * np.pi * (x / self.period_)[:, :, None] * np.arange(1, self.n_frequencies + 1)
        waves = np.stack([np.cos(turns), np.sin(turns)], axis=-1)
        return waves.reshape(*x.shape, -1)


class SplineBasis(GridBasis):
    """B-splines: smooth pieces of polynomials, each zero but over a few intervals between knots.

    Parameters
    ----------
    n_knots : int
        Knots of each column.
    degree : int
        Of the pieces; there are n_knots + degree − 1 functions of each column, and they sum to 1.
    knots : {"uniform", "quantile"} or (n_knots, D)
        Evenly over the range of the data, at their quantiles, or given.
    extrapolation : {"constant", "linear", "continue", "periodic", "error"}
        What happens beyond the knots.
    tensor_product : bool
        True multiplies functions of different columns; False puts them side by side.

    Attributes
    ----------
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> SplineBasis(3, degree=1).fit_transform([[0.0], [0.5], [2.0]])
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    """

    _kind = "spline"
    _constraints = {
        "n_knots": WHOLE._replace(words="be a whole number >= 2", least=2.0),
        "degree": WHOLE._replace(words="be a whole number >= 0", least=0.0),
    }

    def __init__(
        self,
        n_knots: int = 5,
        *,
        degree: int = 3,
        knots: Any = "uniform",
        extrapolation: str = "constant",
        tensor_product: bool = False,
    ) -> None:
        self.n_knots = n_knots
        self.degree = degree
        self.knots = knots
        self.extrapolation = extrapolation
        self.tensor_product = tensor_product

    @property
    def _per_column(self) -> int:
        knots = int(self.n_knots) if isinstance(self.knots, str) else len(np.asarray(self.knots))
        return knots - 1 if self.extrapolation == "periodic" else knots + int(self.degree) - 1

    def _place(self, x: Array) -> None:
        self._splines = SplineTransformer(
            self.n_knots, self.degree, knots=self.knots, extrapolation=self.extrapolation
        ).fit(x)
        many = x.size >= _WORTH_COMPILING and self.extrapolation == "constant"
        self._pieces = _pieces_of(self._splines.bsplines_, int(self.degree)) if many else None

    def _evaluate(self, x: Array) -> Array:
        if self._pieces is None:
            with np.errstate(over="ignore", invalid="ignore"):
                values = self._splines.transform(x).reshape(*x.shape, -1)
            return _finite_features(values, "give extrapolation='linear' or 'constant'")
        values = np.empty((*x.shape, self._per_column))
        fill_splines(np.ascontiguousarray(x), *self._pieces, values)
        return values

    def slopes(self, X: Any) -> Array:
        """Return the first derivatives of the functions of each column, (N, D, M)."""
        check_is_fitted(self)
        x = check_inputs(self, X)
        splines = self._splines.bsplines_
        return np.stack([s(x[:, j], nu=1) for j, s in enumerate(splines)], axis=1)

    def transform_blocks(self, X: Any) -> RowBlocks:
        """Return the features, (N, M·D) or (N, Mᴰ), made when they are read.

        Products with vectors cost little more than those of the columns themselves.
        """
        check_is_fitted(self)
        x = np.ascontiguousarray(check_inputs(self, X))
        products = None
        if self._pieces is not None and not self.tensor_product:
            knots, pieces = self._pieces
            products = _products(x, knots, pieces)
        size = self.size(x.shape[1])
        return RowBlocks(lambda rows: self.transform(x[rows]), (len(x), size), products)


def _finite_features(features: Array, remedy: str) -> Array:
    """Refuse features that overflow."""
    if not np.isfinite(features).all():
        row = int(np.argwhere(~np.isfinite(features))[0, 0])
        raise ValueError(f"row {row} of X has features that overflow; {remedy}")
    return features


def _products(x: Array, knots: Array, pieces: Array) -> Products:
    """Return what sums over splines, and over rows, are without making their values."""
    d, k, order, _ = pieces.shape
    place = np.arange(k)[:, None] + np.arange(order)  # which functions live on each piece, (K, P)
    of_columns = np.arange(d)[:, None, None]

    def times(v: Array) -> Array:
        weights = v.reshape(d, k + order - 1, -1)
        found = np.zeros((weights.shape[2], len(x)))
        curves = np.einsum("dkjs,dkjp->sdkp", weights[:, place], pieces)
        for total, curve in zip(found, curves, strict=True):
            add_curves(x, knots, curve, total)
        return found.T.reshape(len(x), *v.shape[1:])

    def sums(u: Array) -> Array:
        moments = np.zeros((d, k, order))
        add_moments(x, knots, np.ascontiguousarray(u), moments)
        found = np.zeros((d, k + order - 1))
        np.add.at(found, (of_columns, place), np.einsum("dkp,dkjp->dkj", moments, pieces))
        return found.ravel()

    return Products(times, sums)


def _pieces_of(splines: list[Any], degree: int) -> tuple[Array, Array]:
    """Return the inner knots of columns (D, K + 1), and the polynomials between them (D, K, P, P)."""
    knots = np.stack([s.t[degree : len(s.t) - degree] for s in splines])
    orders = range(degree, -1, -1)
    # Taylor's coefficients at the knot on the left, f⁽ᵐ⁾/m!: (D, K, M, P)
    whole = np.stack(
        [
            np.stack([s(at[:-1], nu=m) / factorial(m) for m in orders], axis=-1)
            for s, at in zip(splines, knots, strict=True)
        ]
    )
    k = np.arange(knots.shape[1] - 1)[:, None]
    return knots, whole[:, k, k + np.arange(degree + 1)]


class PolynomialBasis(TransformerMixin, BaseEstimator):
    """Powers and products of columns up to a degree, without the constant.

    Parameters
    ----------
    degree : int
        Largest sum of powers.

    Attributes
    ----------
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> PolynomialBasis(3).fit_transform([[2.0], [3.0]])
    array([[ 2.,  4.,  8.],
           [ 3.,  9., 27.]])
    >>> PolynomialBasis(3).size(10)
    285
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {"degree": WHOLE}

    def __init__(self, degree: int = 2) -> None:
        self.degree = degree

    def size(self, n_columns: int) -> int:
        """Return how many features there are over so many columns, C(D + degree, degree) − 1."""
        return comb(n_columns + self.degree, self.degree) - 1

    def bent(self, n_columns: int) -> range:
        """Return which features of so many columns bend: all but the columns themselves, which come first."""
        return range(n_columns, self.size(n_columns))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Count the columns.

        Parameters
        ----------
        X : array_like (N, D)
        y : ignored
        """
        check_parameters(self)
        x = check_inputs(self, X, reset=True)
        self._powers = PolynomialFeatures(self.degree, include_bias=False).fit(x[:1])
        self._n_features_out = self.size(x.shape[1])
        return self

    def transform(self, X: Any) -> Array:
        """Return the features, ordered by degree."""
        check_is_fitted(self)
        with np.errstate(over="ignore"):
            features = self._powers.transform(check_inputs(self, X))
        return _finite_features(features, "divide X by a unit of its size, or lower degree")

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return what the features are called: ``x0^2 x1``."""
        check_is_fitted(self)
        columns = _check_feature_names_in(self, input_features)
        return self._powers.get_feature_names_out(columns)
