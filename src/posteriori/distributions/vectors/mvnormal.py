r"""The multivariate normal distribution,
:math:`p(x) = |2\pi\Sigma|^{-1/2}\exp\{-\tfrac12(x-m)^\top\Sigma^{-1}(x-m)\}`.

Natural parameters :math:`(\xi, W) = (\Sigma^{-1}m, \Sigma^{-1})` with statistics
:math:`(x, -\tfrac12 xx^\top)`. A value keeps the form it was given (covariance, precision or
natural) and derives the others when asked; a rank-deficient precision is a legal message.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.exponential import ExponentialFamily
from posteriori.distributions.statistics import Moments, Sums
from posteriori.distributions.vectors.boxes import box_probability
from posteriori.distributions.vectors.cone import is_positive_definite
from posteriori.numerics.linalg import (
    inverse_from_factor,
    log_det_from_factor,
    outer,
    squared_distance,
    symmetrize,
    triangular_inverse,
)
from posteriori.numerics.rank import (
    difference,
    exceeds_rounding,
    factor_definite,
    is_semidefinite,
    solve_semidefinite,
)
from posteriori.numerics.special import LOG_2PI, log1pmx
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array, Natural
from posteriori.numerics.validation import (
    as_observation,
    check_symmetric,
    exactly_one,
    positive_definite,
    real,
    real_matrix,
    real_vector,
    require_same_size,
)

__all__ = ["MvNormal"]


class MvNormal(ExponentialFamily):
    """Multivariate normal distribution on vectors.

    Parameters
    ----------
    mean : array (..., D)
        Mean m.
    cov, precision : array (..., D, D)
        Exactly one of: covariance Σ, symmetric and positive semi-definite (a singular one has
        moments and draws but no density), or precision W = Σ⁻¹, positive definite.

    Examples
    --------
    >>> joint = MvNormal([1.0, 2.0], cov=[[0.3, 0.7], [0.7, 2.0]])
    >>> joint.condition([0], [0.1])  # x₁ given x₀ = 0.1
    MvNormal([-0.1], cov=[[0.366667]])
    """

    _parameters = {"mean": 1, "cov": 2, "precision": 2, "weighted_mean": 1}
    _shown = ("mean", "cov=")
    _natural_ndims = (1, 2)
    _event_ndim = 1

    def __new__(cls, mean: Any, *args: Any, cov: Any = None, precision: Any = None) -> Self:
        if args:
            raise TypeError("name the spread: MvNormal(mean, cov=…) or precision=…")
        name = exactly_one("MvNormal", cov=cov, precision=precision)
        centre = real_vector("mean", mean)
        spread = _semidefinite("cov", cov) if name == "cov" else positive_definite(name, precision)
        require_same_size(centre, spread, name)
        return cls._from(**{"mean": centre, name: spread})

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(D,)."""
        name = "mean" if "mean" in self.__dict__ else "weighted_mean"
        shape: tuple[int, ...] = self.__dict__[name].shape[-1:]
        return shape

    # -- the three forms -------------------------------------------------------------------

    @cached_property
    def mean(self) -> Array:
        """Mean m."""
        self._require_proper("mean")
        return _times_vector(self.cov, self.weighted_mean)

    @cached_property
    def cov(self) -> Array:
        """Covariance Σ."""
        self._require_proper("cov")
        return inverse_from_factor(np.linalg.cholesky(self.precision))

    @cached_property
    def precision(self) -> Array:
        """Precision W = Σ⁻¹; possibly rank-deficient for a message."""
        whitening = self._whitening
        return symmetrize(np.swapaxes(whitening, -1, -2) @ whitening)

    @cached_property
    def weighted_mean(self) -> Array:
        """Precision times mean, ξ = W m."""
        return _times_vector(self.precision, self.mean)

    @cached_property
    def variance(self) -> Array:
        """Marginal variances, the diagonal of Σ."""
        return np.diagonal(self.cov, axis1=-2, axis2=-1)

    @property
    def std(self) -> Array:
        """Marginal standard deviations."""
        return np.sqrt(self.variance)

    @property
    def mode(self) -> Array:
        """The mean, where the density is highest."""
        return self.mean

    @cached_property
    def _whitening(self) -> Array:
        """B with BᵀB = Σ⁻¹: B (x − m) has independent unit entries."""
        if "cov" not in self.__dict__:
            self._require_proper("density")
            return np.swapaxes(np.linalg.cholesky(self.precision), -1, -2)
        try:
            return triangular_inverse(factor_definite(self.cov))
        except np.linalg.LinAlgError:
            raise ValueError(
                "the covariance is singular, so there is no density; "
                "marginalise onto fewer coordinates or add noise"
            ) from None

    @cached_property
    def _log_det_precision(self) -> Array:
        return log_det_from_factor(self._whitening)

    # -- exponential family ----------------------------------------------------------------

    @cached_property
    def natural(self) -> Natural:
        """(ξ, W) = (Σ⁻¹m, Σ⁻¹)."""
        return self.weighted_mean, self.precision

    @classmethod
    def from_natural(cls, *natural: Any) -> Self:
        """Return the normal or message exp(ξᵀx − ½xᵀWx).

        Parameters
        ----------
        *natural : arrays (..., D) and (..., D, D)
            Weighted mean ξ and precision W; W may be singular or indefinite.

        Examples
        --------
        >>> message = MvNormal.from_natural([2.0, 0.0], [[1.0, 0.0], [0.0, 0.0]])
        >>> (message * MvNormal([0.0, 0.0], cov=np.eye(2))).mean
        array([1., 0.])
        """
        made = super().from_natural(*natural)
        xi, w = made.natural
        check_symmetric("precision", w)
        require_same_size(xi, w, "precision")
        return made

    @classmethod
    def _from_natural(cls, *natural: Array) -> Self:
        weighted_mean, precision = natural
        return cls._from(weighted_mean=weighted_mean, precision=precision)

    @property
    def is_proper(self) -> Any:
        """Whether the precision is positive definite."""
        if "weighted_mean" not in self.__dict__:
            return np.True_
        return is_positive_definite(self.precision)

    @classmethod
    def sufficient(cls, x: Any) -> Natural:
        """Return T(x) = (x, −½ x xᵀ)."""
        x = as_observation(x)
        return x, -0.5 * outer(x, x)

    @cached_property
    def mean_params(self) -> Natural:
        """(E[x], −½ E[x xᵀ])."""
        return self.mean, -0.5 * (self.cov + outer(self.mean, self.mean))

    @classmethod
    def from_mean_params(cls, *mean_params: Any) -> Self:
        """Return the normal with E[x] and −½ E[x xᵀ] as given."""
        mean, half = (as_observation(part, "mean_params") for part in mean_params)
        return cls(mean, cov=-2.0 * half - outer(mean, mean))

    def _log_normalizer(self) -> Array:
        # A = ½ ξᵀW⁻¹ξ − ½ ln|W/2π|
        if not self._all_proper:
            return _log_normalizer_of_messages(self)
        quadratic = np.einsum("...i,...i->...", self.weighted_mean, self.mean)
        return 0.5 * (quadratic - self._log_det_precision + self.event_shape[0] * LOG_2PI)

    # -- stable forms ----------------------------------------------------------------------

    @cached_property
    def _log_height(self) -> Array:
        return 0.5 * (self.event_shape[0] * LOG_2PI - self._log_det_precision)

    def _log_density(self, x: Array) -> Array:
        return -0.5 * self._squared_distance(x) - self._log_height

    def _squared_distance(self, x: Array) -> Array:
        return squared_distance(x, self.mean, self._whitening)

    def _entropy(self) -> Array:
        return 0.5 * self.event_shape[0] + self._log_height

    def _kl(self, other: Self) -> Array:
        # ½[|B'(m−m')|² + Σᵢ(ρᵢ − 1 − ln ρᵢ)],  ρ the eigenvalues of B' Σ B'ᵀ
        whitening = other._whitening
        relative = symmetrize(whitening @ self.cov @ np.swapaxes(whitening, -1, -2))
        ratios = np.linalg.eigvalsh(relative)
        spread = -log1pmx(ratios - 1.0, ratios).sum(axis=-1)
        return 0.5 * (other._squared_distance(self.mean) + spread)

    def _times(self, other: Self) -> Self:
        if not (self._all_proper and other._all_proper):
            return super()._times(other)
        precision = self.precision + other.precision
        pull = _times_vector(other.precision, other.mean - self.mean)
        shift = np.linalg.solve(precision, pull[..., None])[..., 0]
        return self._from(mean=self.mean + shift, precision=precision)

    def _over(self, other: Self) -> Self:
        precision = difference(self.precision, other.precision, matrices=True)
        if not (self._all_proper and other._all_proper and np.all(is_positive_definite(precision))):
            return super()._over(other)
        pull = _times_vector(other.precision, self.mean - other.mean)
        shift = np.linalg.solve(precision, pull[..., None])[..., 0]
        return self._from(mean=self.mean + shift, precision=precision)

    def _to_the(self, power: Array) -> Self:
        if not self._all_proper or power <= 0:
            return super()._to_the(power)
        return self._from(mean=self.mean, precision=self.precision * power)

    # -- Gaussian algebra ------------------------------------------------------------------

    def marginal(self, indices: Any) -> Self:
        """Return the distribution of the coordinates ``indices``, in that order."""
        keep = _as_indices(indices, self.event_shape[0])
        return self._from(mean=self.mean[..., keep], cov=self.cov[..., keep[:, None], keep])

    def condition(self, indices: Any, values: Any) -> Self:
        r"""Return the distribution of the other coordinates given x[indices] = values.

        .. math:: m_{a|b} = m_a + \Sigma_{ab}\Sigma_{bb}^{-1}(x_b - m_b),\qquad
                  \Sigma_{a|b} = \Sigma_{aa} - \Sigma_{ab}\Sigma_{bb}^{-1}\Sigma_{ba}.

        Coordinates that follow from others, where :math:`\Sigma_{bb}` is singular, add nothing. A
        value made from a precision is conditioned in that form:
        :math:`W_{a|b} = W_{aa}`, :math:`m_{a|b} = m_a - W_{aa}^{-1}W_{ab}(x_b - m_b)`.
        """
        known = _as_indices(indices, self.event_shape[0])
        others = np.setdiff1d(np.arange(self.event_shape[0]), known)
        if not len(others):
            raise ValueError("indices names every coordinate: nothing is left to describe")
        surprise = real_vector("values", np.atleast_1d(values)) - self.mean[..., known]
        if "cov" in self.__dict__:
            cross = self.cov[..., others[:, None], known]
            gain = _solve_right(self.cov[..., known[:, None], known], cross)
            mean = self.mean[..., others] + _times_vector(gain, surprise)
            cov = self.cov[..., others[:, None], others] - gain @ np.swapaxes(cross, -1, -2)
            return self._from(mean=mean, cov=symmetrize(cov))
        own = self.precision[..., others[:, None], others]
        pull = _times_vector(self.precision[..., others[:, None], known], surprise)
        shift = np.linalg.solve(own, pull[..., None])[..., 0]
        return self._from(mean=self.mean[..., others] - shift, precision=own)

    def affine(self, matrix: Any, offset: Any = 0.0) -> Self:
        """Return the distribution of A x + b, with mean A m + b and covariance A Σ Aᵀ.

        A variance that is a rounding error of its terms is 0.
        """
        a = real("matrix", matrix)
        if a.ndim < 2 or a.shape[-1] != self.event_shape[0]:
            raise ValueError(f"matrix must have {self.event_shape[0]} columns, got shape {a.shape}")
        mean = _times_vector(a, self.mean) + real("offset", offset)
        cov = symmetrize(a @ self.cov @ np.swapaxes(a, -1, -2))
        sizes = ((np.abs(a) @ np.abs(self.cov)) * np.abs(a)).sum(axis=-1)
        there = exceeds_rounding(np.diagonal(cov, axis1=-2, axis2=-1), sizes)
        if not np.all(there):
            cov = np.where(there[..., None] & there[..., None, :], cov, 0.0)
        return self._from(mean=mean, cov=cov)

    def __add__(self, other: Any) -> Self:
        """Return the distribution of x + y for independent x and y, or of x plus a constant."""
        if isinstance(other, MvNormal):
            self._require_same_family(other, "sum")
            return self._from(mean=self.mean + other.mean, cov=self.cov + other.cov)
        if isinstance(other, Symbol):
            return NotImplemented
        return self._from(mean=self.mean + real_vector("offset", other), cov=self.cov)

    def joint(self, matrix: Any, offset: Any = 0.0, *, noise: Any) -> Self:
        """Return the joint distribution of (x, y) where y = A x + b + noise of covariance R."""
        a = as_observation(matrix, "matrix")
        r = _semidefinite("noise", noise)
        image = self.affine(a, offset)
        cross = self.cov @ np.swapaxes(a, -1, -2)
        top = np.concatenate([self.cov, cross], axis=-1)
        bottom = np.concatenate([np.swapaxes(cross, -1, -2), image.cov + r], axis=-1)
        mean = np.concatenate([self.mean, image.mean], axis=-1)
        return self._from(mean=mean, cov=np.concatenate([top, bottom], axis=-2))

    def box_probability(self, lower: Any, upper: Any) -> Array:
        """Return P(lower <= x <= upper), coordinatewise; bounds may be infinite.

        One and two dimensions are computed to rounding, more by Genz's quasi-Monte Carlo with
        an absolute error of about 1e-5.
        """
        return box_probability(self, as_observation(lower), as_observation(upper))

    # -- learning and draws ----------------------------------------------------------------

    @classmethod
    def statistics(cls, x: Array, weights: Array | None = None) -> Moments:
        """Summarise vectors by count, mean and centred scatter."""
        return Moments.of_vectors(x, weights)

    @classmethod
    def from_statistics(cls, statistics: Sums | Moments) -> Self:
        """Return the sample mean and the 1/N covariance."""
        assert isinstance(statistics, Moments)
        return cls(statistics.mean, cov=symmetrize(statistics.scatter / statistics.count))

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        noise = rng.standard_normal(shape + self.event_shape)
        return self.mean + _times_vector(self._coloring, noise)

    @cached_property
    def _coloring(self) -> Array:
        """C with C Cᵀ = Σ, from eigenvectors where Σ is singular."""
        try:
            return factor_definite(self.cov)
        except np.linalg.LinAlgError:
            values, vectors = np.linalg.eigh(self.cov)
            return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]

    def _interior(self) -> Array:
        return self.mean if self._all_proper else np.zeros(self.event_shape)


def _semidefinite(name: str, value: Any) -> Array:
    a = real_matrix(name, value)
    if isinstance(a, Symbol):
        return a
    if not np.all(is_semidefinite(a)):
        raise ValueError(
            f"{name} must be positive semi-definite, its smallest eigenvalue is "
            f"{float(np.linalg.eigvalsh(a).min()):.6g}"
        )
    return a


def _log_normalizer_of_messages(message: MvNormal) -> Array:
    """A(η) of the proper members of a mixed batch; whatever else is masked by the caller."""
    xi, w = message.natural
    proper = np.asarray(message.is_proper)[..., None, None]
    safe = np.where(proper, w, np.eye(w.shape[-1]))
    mean = np.linalg.solve(safe, xi[..., None])[..., 0]
    log_det = np.linalg.slogdet(safe)[1]
    return 0.5 * (np.einsum("...i,...i->...", xi, mean) - log_det + xi.shape[-1] * LOG_2PI)


def _times_vector(matrix: Array, vector: Array) -> Array:
    return np.matmul(matrix, vector[..., None])[..., 0]


def _solve_right(a: Array, b: Array) -> Array:
    """Return B A⁻¹ for a covariance A."""
    return np.swapaxes(solve_semidefinite(a, np.swapaxes(b, -1, -2)), -1, -2)


def _as_indices(indices: Any, size: int) -> Any:
    chosen = np.atleast_1d(np.asarray(indices))
    if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
        raise TypeError(f"indices must be whole numbers, got {indices!r}")
    if np.any((chosen < -size) | (chosen >= size)):
        raise ValueError(f"indices must lie between 0 and {size - 1}, got {indices!r}")
    chosen = chosen % size
    if len(np.unique(chosen)) != len(chosen):
        raise ValueError(f"indices must not repeat, got {indices!r}")
    return chosen
