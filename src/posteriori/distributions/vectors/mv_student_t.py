r"""The multivariate Student t distribution.

.. math:: p(x) = \frac{\Gamma(\frac{\nu+D}2)}{\Gamma(\frac\nu2)\,|\nu\pi\Sigma|^{1/2}}
          \left(1 + \tfrac1\nu(x-m)^\top\Sigma^{-1}(x-m)\right)^{-(\nu+D)/2}.

It is a normal of precision :math:`\tau\Sigma^{-1}` with :math:`\tau \sim \mathrm{Gamma}(\nu/2,
\nu/2)` averaged out: the law of a mean whose covariance is unknown, with heavy tails. The
normalizer is evaluated so that :math:`\nu\to\infty` ends at the normal density.

Reference: C. Bishop, "Pattern Recognition and Machine Learning", 2006, section 2.3.7.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.blocks.chunks import read_blocks
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.rank import is_definite
from posteriori.numerics.special import LOG_2PI, log_gamma_correction_slope, log_gamma_ratio
from posteriori.numerics.types import Array
from posteriori.numerics.validation import (
    as_observation,
    positive,
    positive_definite,
    real_vector,
    require_same_size,
)

__all__ = ["MvStudentT"]


class MvStudentT(Distribution):
    """Multivariate Student t distribution on vectors.

    Parameters
    ----------
    dof : float or array
        Degrees of freedom ν > 0; moments of order ν and above do not exist.
    mean : array (..., D)
        Location m, the mean where ν > 1.
    scale : array (..., D, D)
        Positive definite scale matrix Σ: the covariance is ν/(ν − 2) Σ where ν > 2.

    Examples
    --------
    >>> d = MvStudentT(4.0, [1.0, 2.0], scale=[[2.0, 0.5], [0.5, 1.0]])
    >>> d.cov
    array([[4., 1.],
           [1., 2.]])
    >>> d.condition([1], [2.0])  # x₀ given x₁ = 2, more certain than before
    MvStudentT(5, [1.], scale=[[1.4]])
    """

    _parameters = {"dof": 0, "location": 1, "scale": 2}
    _shown = ("dof", "location", "scale=")
    _event_ndim = 1

    dof: Array
    location: Array
    scale: Array

    def __new__(cls, dof: Any, mean: Any, *, scale: Any) -> Self:
        centre, matrix = real_vector("mean", mean), positive_definite("scale", scale)
        require_same_size(centre, matrix, "scale")
        return cls._from(dof=positive("dof", dof), location=centre, scale=matrix)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """(D,)."""
        return self.location.shape[-1:]

    @cached_property
    def _normal(self) -> MvNormal:
        """N(m, Σ), whose linear algebra serves here too."""
        return MvNormal._from(mean=self.location, cov=self.scale)

    @property
    def mean(self) -> Array:
        """Mean m; needs ν > 1."""
        if np.any(self.dof <= 1):
            raise ValueError(
                f"the mean needs dof > 1, got {float(np.min(self.dof)):.10g}; the mode always exists"
            )
        return self.location

    @property
    def mode(self) -> Array:
        """The location m, where the density is highest."""
        return self.location

    @cached_property
    def cov(self) -> Array:
        """Covariance ν/(ν − 2) Σ; needs ν > 2."""
        if np.any(self.dof <= 2):
            raise ValueError(f"the covariance needs dof > 2, got {float(np.min(self.dof)):.10g}")
        return (self.dof / (self.dof - 2.0))[..., None, None] * self.scale

    @cached_property
    def variance(self) -> Array:
        """Marginal variances, the diagonal of the covariance; infinite where 1 < ν <= 2."""
        if np.any(self.dof <= 1):
            raise ValueError(f"the variance needs dof > 1, got {float(np.min(self.dof)):.10g}")
        spare = self.dof - 2.0
        factor = np.where(spare > 0, self.dof / np.where(spare > 0, spare, 1.0), np.inf)
        return factor[..., None] * np.diagonal(self.scale, axis1=-2, axis2=-1)

    @property
    def std(self) -> Array:
        """Marginal standard deviations."""
        return np.sqrt(self.variance)

    # -- density ---------------------------------------------------------------------------

    def _log_density(self, x: Array) -> Array:
        # (1 + δ²/ν)^{−(ν+D)/2}
        square = self._normal._squared_distance(x)
        return self._log_height - self._exponent * np.log1p(square / self.dof)

    @cached_property
    def _exponent(self) -> Array:
        return 0.5 * (self.dof + self.event_shape[0])

    @cached_property
    def _log_height(self) -> Array:
        # ln p(m), with the ln Γ((ν+D)/2) − ln Γ(ν/2) − (D/2) ln(ν/2) of a large ν near 0
        half, step = 0.5 * self.dof, 0.5 * self.event_shape[0]
        rise = log_gamma_ratio(half, step) - step * np.log(half)
        return rise - step * LOG_2PI + 0.5 * self._normal._log_det_precision

    def entropy(self) -> Array:
        r"""Return the entropy, with :math:`\psi(\tfrac{\nu+D}2) - \psi(\tfrac\nu2)` kept exact."""
        half, step = 0.5 * self.dof, 0.5 * self.event_shape[0]
        gap = np.log1p(step / half) + 0.5 * step / (half * (half + step))
        gap += log_gamma_correction_slope(half + step) - log_gamma_correction_slope(half)
        return (self._exponent * gap - self._log_height)[()]

    def _sample(self, shape: tuple[int, ...], rng: np.random.Generator) -> Any:
        noise = rng.standard_normal(shape + self.event_shape)
        tau = rng.standard_gamma(0.5 * self.dof, shape or None) / (0.5 * self.dof)
        colored = np.matmul(self._normal._coloring, noise[..., None])[..., 0]
        return self.location + colored / np.sqrt(tau)[..., None]

    def _interior(self) -> Array:
        return self.location

    # -- algebra ---------------------------------------------------------------------------

    def marginal(self, indices: Any) -> Self:
        """Return the distribution of the coordinates ``indices``, in that order."""
        part = self._normal.marginal(indices)
        return self._from(dof=self.dof, location=part.mean, scale=part.cov)

    def condition(self, indices: Any, values: Any) -> Self:
        r"""Return the distribution of the other coordinates given x[indices] = values.

        .. math:: \nu + p,\qquad m_{a|b},\qquad \frac{\nu + \delta_b^2}{\nu + p}\,\Sigma_{a|b},

        with p the number of known coordinates, :math:`\delta_b^2` their squared distance, and
        mean and scale as in a normal: a surprising value widens what is left.
        """
        rest, known = self._normal.condition(indices, values), self._normal.marginal(indices)
        distance = known._squared_distance(np.atleast_1d(as_observation(values, "values")))
        dof = self.dof + known.event_shape[0]
        widening = ((self.dof + distance) / dof)[..., None, None]
        return self._from(dof=dof, location=rest.mean, scale=widening * rest.cov)

    def affine(self, matrix: Any, offset: Any = 0.0) -> Self:
        """Return the distribution of A x + b; the rows of A must be linearly independent."""
        image = self._normal.affine(matrix, offset)
        if not np.all(is_definite(image.cov)):
            raise ValueError("the rows of matrix are linearly dependent: A x + b has no density")
        return self._from(dof=self.dof, location=image.mean, scale=image.cov)

    # -- learning --------------------------------------------------------------------------

    @classmethod
    def fit(
        cls, data: Any, weights: Any = None, *, dof: Any, tol: float = 1e-12, max_iter: int = 1000
    ) -> Self:
        """Fit location and scale by maximum likelihood for a fixed ``dof``.

        Expectation maximisation over the latent precisions of the rows, each step rescaled so
        that the precisions average 1 (Kent, Tyler & Vardi 1994): far rows count for little.

        Parameters
        ----------
        data : array_like (N, ..., D), or iterator of chunks
            Rows are data points; axes between the first and the last make a batch.
        weights : array_like (N,), optional
            Frequency weights: a weight of 2 equals a repeated row.
        dof : float
            Degrees of freedom ν > 0.
        tol : float
            Stop when no entry of the scale moves by more than this share of its size.
        max_iter : int
            Largest number of steps, O(N D²) each.
        """
        nu = positive("dof", dof)
        x = np.concatenate(list(read_blocks(data, 1)))
        w = _row_weights(weights, x)
        total = w.sum(axis=0)
        location = (w[..., None] * x).sum(axis=0) / total[..., None]
        scale = _scatter(x - location, w) / total[..., None, None]
        for _ in range(max_iter):
            distance = _normal_of(location, scale)._squared_distance(x)
            pull = w * ((nu + x.shape[-1]) / (nu + distance))
            mass = pull.sum(axis=0)
            location = (pull[..., None] * x).sum(axis=0) / mass[..., None]
            new = _scatter(x - location, pull) / mass[..., None, None]
            moved = np.abs(new - scale).max(axis=(-2, -1))
            scale = new
            if np.all(moved <= tol * np.abs(scale).max(axis=(-2, -1))):
                break
        return cls(nu, location, scale=scale)


def _row_weights(weights: Any, x: Array) -> Array:
    """Return one weight per row of every column."""
    w = np.ones(len(x)) if weights is None else as_observation(weights, "weights")
    if w.shape != x.shape[:1] or not np.all(np.isfinite(w)) or np.any(w < 0):
        raise ValueError("weights must be one finite number >= 0 per row")
    if not np.any(w):
        raise ValueError("weights must not all be 0")
    return np.broadcast_to(w.reshape(-1, *[1] * (x.ndim - 2)), x.shape[:-1])


def _scatter(centred: Array, weights: Array) -> Array:
    return symmetrize(np.einsum("n...,n...i,n...j->...ij", weights, centred, centred))


def _normal_of(location: Array, scale: Array) -> MvNormal:
    try:
        normal = MvNormal._from(mean=location, cov=scale)
        normal._whitening  # noqa: B018  (fails here, with a better message)
    except ValueError:
        raise ValueError("data lie on a plane: the maximum-likelihood scale is singular") from None
    return normal
