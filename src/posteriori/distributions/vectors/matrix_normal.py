r"""The matrix normal distribution of P × Q matrices,
:math:`p(X) = |2\pi U|^{-Q/2}|V|^{-P/2}\exp\{-\tfrac12\mathrm{tr}[V^{-1}(X-M)^\top U^{-1}(X-M)]\}`.

Entries have :math:`\mathrm{Cov}[X_{ij}, X_{kl}] = U_{ik}V_{jl}`: the covariance of the rows U is
P × P, that of the columns V is Q × Q, and the matrix written row after row is a normal vector of
covariance :math:`U\otimes V`. (U, V) and (cU, V/c) describe the same distribution.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.vectors.cone import factor
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.linalg import log_det_from_factor, triangular_inverse
from posteriori.numerics.special import LOG_2PI, relative_entropy_terms
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array
from posteriori.numerics.validation import positive_definite, real

__all__ = ["MatrixNormal", "real_table"]


class MatrixNormal(Distribution):
    """Matrix normal distribution: rows and columns correlate separately.

    Parameters
    ----------
    mean : array (..., P, Q)
        Mean M.
    row_cov : array (..., P, P)
        Positive definite covariance U between rows.
    col_cov : array (..., Q, Q)
        Positive definite covariance V between columns.

    Examples
    --------
    >>> d = MatrixNormal([[0.0, 1.0]], row_cov=[[2.0]], col_cov=[[1.0, 0.5], [0.5, 1.0]])
    >>> d.vec()
    MvNormal([0., 1.], cov=[[2., 1.], [1., 2.]])
    >>> d.marginal_columns([1])
    MatrixNormal([[1.]], row_cov=[[2.]], col_cov=[[1.]])
    """

    _parameters = {"mean": 2, "row_cov": 2, "col_cov": 2}
    _shown = ("mean", "row_cov=", "col_cov=")
    _event_ndim = 2

    row_cov: Array
    col_cov: Array

    def __new__(cls, mean: Any, row_cov: Any, col_cov: Any) -> Self:
        centre = real_table("mean", mean)
        rows = positive_definite("row_cov", row_cov)
        columns = positive_definite("col_cov", col_cov)
        if not any(isinstance(part, Symbol) for part in (centre, rows, columns)):
            _require_sizes(centre, rows, columns)
        return cls._from(mean=centre, row_cov=rows, col_cov=columns)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(P, Q)."""
        return self.mean.shape[-2:]

    @property
    def mean(self) -> Array:
        """Mean M."""
        centre: Array = self.__dict__["mean"]
        return centre

    @property
    def mode(self) -> Array:
        """The mean, where the density is highest."""
        return self.mean

    @cached_property
    def variance(self) -> Array:
        """Variances of the entries, U_ii V_jj."""
        rows = np.diagonal(self.row_cov, axis1=-2, axis2=-1)
        columns = np.diagonal(self.col_cov, axis1=-2, axis2=-1)
        return rows[..., :, None] * columns[..., None, :]

    @property
    def std(self) -> Array:
        """Standard deviations of the entries."""
        return np.sqrt(self.variance)

    # -- density and information -----------------------------------------------------------

    @cached_property
    def _row_whitening(self) -> Array:
        return triangular_inverse(factor(self.row_cov))

    @cached_property
    def _col_whitening(self) -> Array:
        return triangular_inverse(factor(self.col_cov))

    @cached_property
    def _log_height(self) -> Array:
        size_p, size_q = self.event_shape
        rows = log_det_from_factor(self._row_whitening)
        columns = log_det_from_factor(self._col_whitening)
        return 0.5 * (size_p * size_q * LOG_2PI - size_q * rows - size_p * columns)

    def _log_density(self, x: Array) -> Array:
        return -0.5 * self._squared_distance(x) - self._log_height

    def _squared_distance(self, x: Array) -> Array:
        """Sum of squares of the whitened matrix L_U⁻¹ (X − M) L_V⁻ᵀ."""
        z = self._row_whitening @ (x - self.mean) @ np.swapaxes(self._col_whitening, -1, -2)
        return np.einsum("...ij,...ij->...", z, z)

    def entropy(self) -> Array:
        r"""Return :math:`\tfrac12\{PQ\ln 2\pi e + Q\ln|U| + P\ln|V|\}` in nats."""
        return 0.5 * float(np.prod(self.event_shape)) + self._log_height

    def kl(self, other: Self) -> Array:
        r"""Return the divergence KL(p‖q) in nats.

        .. math:: \tfrac12\Bigl\{\mathrm{tr}[V'^{-1}D^\top U'^{-1}D]
                  + \sum_{ij}(\rho_i\sigma_j - 1 - \ln\rho_i\sigma_j)\Bigr\},

        with D = M − M', ρ the eigenvalues of U'⁻¹U and σ those of V'⁻¹V.
        """
        if type(other) is not type(self):
            raise TypeError(
                f"KL divergence is defined within one family, "
                f"got {type(self).__name__} and {type(other).__name__}"
            )
        rho = _relative_eigenvalues(other._row_whitening, self.row_cov)
        sigma = _relative_eigenvalues(other._col_whitening, self.col_cov)
        ratios = rho[..., :, None] * sigma[..., None, :]
        spread = relative_entropy_terms(1.0, ratios).sum(axis=(-2, -1))
        return np.maximum(0.5 * (other._squared_distance(self.mean) + spread), 0.0)

    def cross_entropy(self, other: Self) -> Array:
        r"""Return :math:`-E_p[\ln q] = H(p) + KL(p\,\|\,q)` in nats."""
        return self.entropy() + self.kl(other)

    # -- views -----------------------------------------------------------------------------

    def vec(self) -> MvNormal:
        """Return the distribution of the entries, row after row: covariance U ⊗ V."""
        size = self.event_shape[0] * self.event_shape[1]
        cov = np.einsum("...ik,...jl->...ijkl", self.row_cov, self.col_cov)
        return MvNormal._from(
            mean=self.mean.reshape(*self.batch_shape, size),
            cov=cov.reshape(*self.batch_shape, size, size),
        )

    def transpose(self) -> Self:
        """Return the distribution of Xᵀ."""
        return self._from(
            mean=np.swapaxes(self.mean, -1, -2), row_cov=self.col_cov, col_cov=self.row_cov
        )

    def marginal_rows(self, indices: Any) -> Self:
        """Return the distribution of the rows ``indices``, in that order."""
        keep = np.atleast_1d(np.asarray(indices))
        return self._from(
            mean=self.mean[..., keep, :],
            row_cov=self.row_cov[..., keep[:, None], keep],
            col_cov=self.col_cov,
        )

    def marginal_columns(self, indices: Any) -> Self:
        """Return the distribution of the columns ``indices``, in that order."""
        return self.transpose().marginal_rows(indices).transpose()

    # -- draws -----------------------------------------------------------------------------

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        noise = rng.standard_normal(shape + self.event_shape)
        return self.mean + factor(self.row_cov) @ noise @ np.swapaxes(factor(self.col_cov), -1, -2)


def real_table(name: str, value: Any) -> Array:
    """Check a finite matrix (..., P, Q), not necessarily square."""
    table = real(name, value)
    if not isinstance(table, Symbol) and table.ndim < 2:
        raise ValueError(f"{name} must be a matrix, got shape {table.shape}")
    return table


def _require_sizes(mean: Array, rows: Array, columns: Array) -> None:
    wanted = (rows.shape[-1], columns.shape[-1])
    if mean.shape[-2:] != wanted:
        raise ValueError(
            f"mean is {mean.shape[-2]} x {mean.shape[-1]} but row_cov and col_cov are for "
            f"{wanted[0]} x {wanted[1]} matrices"
        )


def _relative_eigenvalues(whitening: Array, cov: Array) -> Array:
    """Return the eigenvalues of B C Bᵀ, where BᵀB is the inverse of the other covariance."""
    return np.linalg.svd(whitening @ factor(cov), compute_uv=False) ** 2
