r"""The matrix-normal-Wishart distribution of regression weights and noise precision,
:math:`\Lambda \sim \mathrm{Wishart}(\nu, V)`,
:math:`W\mid\Lambda \sim \mathrm{MatrixNormal}(M, K^{-1}, \Lambda^{-1})`.

It is the conjugate prior of regression with several outputs, :math:`Y = XW + E`: rows of X and Y
are data points, W has a row for each of the P inputs and a column for each of the Q outputs, and
the rows of E are independent with precision :math:`\Lambda` between outputs. Natural parameters
:math:`(\tfrac{\nu-Q-1+P}2, -\tfrac12(V^{-1}+M^\top KM), KM, -\tfrac12K)` with statistics
:math:`(\ln|\Lambda|, \Lambda, W\Lambda, W\Lambda W^\top)`; the third is kept as a vector, row
after row, since it is no symmetric matrix.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple, Self

import numpy as np

from posteriori.distributions.joint.joint_family import ETAS
from posteriori.distributions.joint.matrix_joint import WishartSpread
from posteriori.distributions.vectors.cone import factor, is_positive_definite
from posteriori.distributions.vectors.matrix_normal import MatrixNormal, real_table
from posteriori.distributions.vectors.wishart import check_dof
from posteriori.numerics.linalg import inverse_from_factor, symmetrize, triangular_inverse
from posteriori.numerics.special import relative_entropy_terms
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive_definite

__all__ = ["MatrixNormalWishart", "WeightsPrecision"]


class WeightsPrecision(NamedTuple):
    """Weights (P, Q) of a regression with Q outputs, and the precision (Q, Q) of its noise."""

    weights: Array
    precision: Array


class MatrixNormalWishart(WishartSpread):
    """Matrix-normal-Wishart distribution of pairs (matrix of weights, precision matrix).

    Parameters
    ----------
    mean : array (..., P, Q)
        Location M of the weights: a row for each input, a column for each output.
    mean_precision : array (..., P, P)
        Positive definite K: given Λ, the weights have row covariance K⁻¹ and column
        covariance Λ⁻¹.
    dof : float or array
        Degrees of freedom ν > Q − 1 of the precision.
    scale : array (..., Q, Q)
        Positive definite scale V: the precision has mean ν V.

    Examples
    --------
    >>> d = MatrixNormalWishart([[0.0, 1.0]], [[2.0]], 5.0, [[0.2, 0.0], [0.0, 0.1]])
    >>> d.mean.precision
    array([[1. , 0. ],
           [0. , 0.5]])
    >>> d.given_precision([[1.0, 0.0], [0.0, 4.0]])
    MatrixNormal([[0., 1.]], row_cov=[[0.5]], col_cov=[[1. , 0. ], [0. , 0.25]])
    """

    _parameters = {
        "location": 2,
        "mean_precision": 2,
        "dof": 0,
        "scale": 2,
        "inverse_scale": 2,
        **dict(zip(ETAS, (0, 2, 1, 2), strict=True)),
    }
    _shown = ("location", "mean_precision=", "dof=", "scale=")
    _record = WeightsPrecision
    _strength_name = "mean_precision"
    _event_ndims = (2, 2)
    _natural_ndims = (0, 2, 1, 2)

    def __new__(cls, mean: Any, mean_precision: Any, dof: Any, scale: Any) -> Self:
        centre = real_table("mean", mean)
        precision = positive_definite("mean_precision", mean_precision)
        matrix = positive_definite("scale", scale)
        if not any(isinstance(part, Symbol) for part in (centre, precision, matrix)):
            wanted = (precision.shape[-1], matrix.shape[-1])
            if centre.shape[-2:] != wanted:
                raise ValueError(
                    f"mean is {centre.shape[-2]} x {centre.shape[-1]} but mean_precision and "
                    f"scale are for {wanted[0]} inputs and {wanted[1]} outputs"
                )
        return cls._from(
            location=centre,
            mean_precision=precision,
            dof=check_dof(dof, matrix),
            scale=matrix,
        )

    @cached_property
    def mean_precision(self) -> Array:
        """Precision K between the inputs, in units of Λ."""
        self._require_proper("mean_precision")
        return self._strength

    def given_precision(self, precision: Any) -> MatrixNormal:
        """Return the distribution of the weights given Λ."""
        columns = inverse_from_factor(factor(positive_definite("precision", precision)))
        return MatrixNormal._from(mean=self.location, row_cov=self._row_cov, col_cov=columns)

    @cached_property
    def mean(self) -> WeightsPrecision:
        """(M, ν V)."""
        self._require_proper("mean")
        return WeightsPrecision(self.location, self._spread.mean)

    @cached_property
    def variance(self) -> WeightsPrecision:
        """Variances of the entries; those of W need ν > Q + 1."""
        self._require_proper("variance")
        excess = self.dof - self._outputs - 1.0
        if np.any(excess <= 0):
            least = self._outputs + 1
            raise ValueError(f"the variance of the weights exists only for dof > Q + 1 = {least}")
        rows = np.diagonal(self._row_cov, axis1=-2, axis2=-1)
        columns = np.diagonal(self.inverse_scale, axis1=-2, axis2=-1) / excess[..., None]
        return WeightsPrecision(rows[..., :, None] * columns[..., None, :], self._spread.variance)

    # -- the algebra of a matrix of weights with a matrix Λ --------------------------------

    @property
    def event_shape(self) -> tuple[Any, ...]:
        """((P, Q), (Q, Q))."""
        return (self._inputs, self._outputs), (self._outputs, self._outputs)

    @property
    def _inputs(self) -> int:
        return int(self._stored(self._strength_name, ETAS[3]).shape[-1])

    @property
    def _outputs(self) -> int:
        if ETAS[1] in self.__dict__:
            return int(self.__dict__[ETAS[1]].shape[-1])
        return int(self.__dict__["location"].shape[-1])

    def _stored(self, *names: str) -> Array:
        return next(self.__dict__[name] for name in names if name in self.__dict__)

    @property
    def _copies(self) -> int:
        return self._inputs

    @property
    def _size(self) -> int:
        return self._inputs * self._outputs

    @classmethod
    def _apply(cls, strength: Array, table: Array) -> Array:
        return _as_vector(strength @ table)

    @classmethod
    def _divide(cls, strength: Array, vector: Array) -> Array:
        usable = np.asarray(cls._is_strength(strength))[..., None, None]
        safe = np.where(usable, strength, np.eye(strength.shape[-1]))
        return np.linalg.solve(safe, _as_table(vector, strength.shape[-1]))

    @classmethod
    def _bilinear(cls, strength: Array, a: Array, b: Array) -> Array:
        return symmetrize(np.swapaxes(a, -1, -2) @ (strength @ b))

    @classmethod
    def _lift(cls, precision: Array, mean: Array) -> tuple[Array, Array]:
        weighted = mean @ precision
        return _as_vector(weighted), symmetrize(weighted @ np.swapaxes(mean, -1, -2))

    @classmethod
    def _lower(cls, precision: Array, weighted: Array) -> Array:
        table = _as_table(weighted, weighted.shape[-1] // precision.shape[-1])
        return np.swapaxes(np.linalg.solve(precision, np.swapaxes(table, -1, -2)), -1, -2)

    @classmethod
    def _is_strength(cls, strength: Array) -> Any:
        return is_positive_definite(strength)

    @cached_property
    def _log_det_strength(self) -> Array:
        return self._outputs * np.linalg.slogdet(self._strength)[1]

    @cached_property
    def _row_cov(self) -> Array:
        """K⁻¹."""
        return inverse_from_factor(factor(self._strength))

    @cached_property
    def _inverse_strength(self) -> Array:
        return self._outputs * self._row_cov

    @classmethod
    def _strength_from(cls, inverse: Array, size: int) -> Array:
        spread = positive_definite("E[WΛWᵀ] less its value at the mean", inverse)
        return size * inverse_from_factor(factor(spread))

    def _strength_divergence(self, other: Self) -> Array:
        relative = np.swapaxes(factor(other._strength), -1, -2) @ self._coloring
        ratios = np.linalg.svd(relative, compute_uv=False) ** 2
        return self._outputs * relative_entropy_terms(1.0, ratios).sum(axis=-1)

    @cached_property
    def _coloring(self) -> Array:
        """C with C Cᵀ = K⁻¹."""
        return np.swapaxes(triangular_inverse(factor(self._strength)), -1, -2)

    def _colored(self, spread: Array, noise: Array) -> Array:
        root = np.swapaxes(np.linalg.cholesky(spread), -1, -2)
        columns = np.linalg.solve(root, np.swapaxes(noise, -1, -2))
        return self._coloring @ np.swapaxes(columns, -1, -2)

    def _interior(self) -> Any:
        if self._all_proper:
            return self._record(self.location, self._spread._interior())
        return self._record(np.zeros(self.event_shape[0]), np.eye(self._outputs))


def _as_vector(table: Array) -> Array:
    return table.reshape(*table.shape[:-2], table.shape[-2] * table.shape[-1])


def _as_table(vector: Array, rows: int) -> Array:
    return vector.reshape(*vector.shape[:-1], rows, vector.shape[-1] // rows)
