r"""Conjugate pairs of regression weights: y = X w + b + noise, a row of X for each datum.

Data are reduced to a triangular factor of the weighted, prior-centred system [X, y − b − X m₀]:
sums of squares of large numbers are never formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.pair import Correction, Pair, register
from posteriori.distributions.joint.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, number

__all__ = ["Triangle", "VectorNormalInverseGammaRegression", "WeightsVariance"]


@dataclass(frozen=True, slots=True)
class Triangle:
    """Reduced rows of a least-squares system.

    Attributes
    ----------
    count : float
        Number of rows.
    factor : (D + 1, D + 1)
        R with RᵀR = [X, r]ᵀ [X, r].
    log_carrier : float
        Sum of the log likelihood's constant parts.
    """

    count: Array
    factor: Array
    log_carrier: Array

    def merge(self, other: Triangle) -> Triangle:
        """Return the reduction of both sets of rows."""
        both = _triangle(np.concatenate([self.factor, other.factor]))
        return Triangle(self.count + other.count, both, self.log_carrier + other.log_carrier)

    def squared_error(self, shift: Array) -> Array:
        """Return |r − X δ|²."""
        size = self.factor.shape[-1] - 1
        residual = self.factor[:, size] - shift @ self.factor[:, :size].T
        return (residual**2).sum(axis=-1)

    def minimise(self, root: Array) -> tuple[Array, Array, Array]:
        """Minimise |root δ|² + |r − X δ|²; return δ, the new root and the minimum."""
        size = root.shape[-1]
        prior_rows = np.concatenate([root, np.zeros((len(root), 1))], axis=1)
        r = _triangle(np.concatenate([prior_rows, self.factor]))
        shift = np.linalg.solve(r[:size, :size], r[:size, size])
        return shift, r[:size, :size], (r[size:, size] ** 2).sum()


class _Regression(Pair):
    """What the two pairs share: the map of the weights and the reduction of rows."""

    likelihood_family = Normal

    @property
    def of(self) -> str:
        """The inputs X are given, so the evidence is that of y given X."""
        return "y|X"

    def check_maps(self) -> None:
        """Demand a design: ``X @ w`` or ``x @ w``."""
        unknown = self.conditional.unknown["mean"]
        size = self.prior_mean.shape[-1]
        if unknown.matrix is None or unknown.matrix.ndim > 2 or unknown.matrix.shape[-1] != size:
            raise TypeError(
                f"the mean must be X @ w with X of shape (N, {size}) or ({size},), one row a datum"
            )
        if self.prior.batch_shape:
            raise ValueError("regression takes a single prior, not a batch of them")

    @property
    def prior_mean(self) -> Array:
        """Return m₀."""
        raise TypeError("stated by subclasses")

    def design(self, start: int, block: Array) -> Array:
        """Return the rows of X that belong to a block."""
        matrix = self.conditional.unknown["mean"].matrix
        assert matrix is not None
        if matrix.ndim == 1:
            return np.broadcast_to(matrix, (len(block), len(matrix)))
        self.row_count = len(matrix)
        rows = matrix[start : start + len(block)]
        if len(rows) != len(block):
            raise ValueError(f"X has {len(matrix)} rows but y has at least {start + len(block)}")
        return rows

    def reduce(self, block: Array, start: int, variance: Any) -> Triangle:
        """Reduce rows to a triangle under noise of the given variance."""
        if block.ndim != 1:
            raise ValueError(f"y must be one column, got shape {block.shape}")
        x = self.design(start, block)
        offset = self.rows(self.conditional.unknown["mean"].offset, start, block)
        residual = block - x @ self.prior_mean - (0.0 if offset is None else offset)
        v = np.broadcast_to(self.rows(variance, start, block), block.shape)
        system = np.column_stack([x, residual]) / np.sqrt(v)[:, None]
        size = system.shape[1]
        if len(system) < size:
            system = np.concatenate([system, np.zeros((size - len(system), size))])
        log_carrier = -0.5 * (LOG_2PI + np.log(v)).sum()
        return Triangle(number(len(block)), _triangle(system), log_carrier)

    def _next(self, belief_mean: Array) -> tuple[Array, Array]:
        """Return the design of the next data and their predicted means."""
        unknown = self.conditional.unknown["mean"]
        assert unknown.matrix is not None
        offset = 0.0 if unknown.offset is None else unknown.offset
        return unknown.matrix, unknown.matrix @ belief_mean + offset

    def _correction(self, before: Array, after: Array, statistics: Triangle) -> Correction:
        """Return the view of the weights; the gain is that of the least-squares estimate."""
        size = len(before)
        gram = statistics.factor[:, :size].T @ statistics.factor[:, :size]
        estimate, *_ = np.linalg.lstsq(
            statistics.factor[:, :size], statistics.factor[:, size], rcond=None
        )
        gain = np.linalg.solve(gram + self._prior_information(), gram)
        return Correction(before, before + estimate, gain, estimate, gain @ estimate, after)

    def _prior_information(self) -> Array:
        raise TypeError("stated by subclasses")


@register
class WeightsVariance(_Regression):
    """Unknown weights with a normal prior, known noise variance (per row, if need be)."""

    prior_family, unknown, needs = MvNormal, ("mean",), ("variance",)

    @property
    def prior_mean(self) -> Array:
        """Return m₀."""
        mean: Array = self.prior.mean
        return mean

    def summarize(self, block: Array, start: int = 0) -> Triangle:
        """Reduce the weighted rows."""
        return self.reduce(block, start, self.known["variance"])

    def update(self, belief: MvNormal, statistics: Triangle) -> MvNormal:
        """Return mean m₀ + δ and precision W + XᵀV⁻¹X."""
        root = np.linalg.cholesky(belief.precision).T
        shift, factor, _ = statistics.minimise(root)
        return MvNormal._from(mean=belief.mean + shift, precision=factor.T @ factor)

    def log_likelihood(self, theta: Any, statistics: Triangle) -> Array:
        """Return −½ |r − X(θ − m₀)|² + c."""
        return statistics.log_carrier - 0.5 * statistics.squared_error(theta - self.prior_mean)

    def predictive(self, belief: MvNormal) -> Distribution:
        """Return N(Xm + b, diag(XPXᵀ) + v), one for each row of the likelihood's X."""
        x, mean = self._next(belief.mean)
        spread = ((x @ belief.cov) * x).sum(axis=-1)
        return Normal(mean, variance=spread + self.known["variance"])

    def correction(self, posterior: MvNormal, statistics: Triangle) -> Correction:
        """Return the view of the weights."""
        return self._correction(self.prior.mean, posterior.mean, statistics)

    def _prior_information(self) -> Array:
        precision: Array = self.prior.precision
        return precision


@register
class VectorNormalInverseGammaRegression(_Regression):
    """Unknown weights and noise variance."""

    prior_family, unknown = VectorNormalInverseGamma, ("mean", "variance")

    @property
    def prior_mean(self) -> Array:
        """Return m₀."""
        mean: Array = self.prior.location
        return mean

    def summarize(self, block: Array, start: int = 0) -> Triangle:
        """Reduce the rows at unit variance."""
        return self.reduce(block, start, 1.0)

    def update(
        self, belief: VectorNormalInverseGamma, statistics: Triangle
    ) -> VectorNormalInverseGamma:
        """Return m₀ + δ, Λ + XᵀX, a + N/2 and b + half the penalised squared error."""
        root = np.linalg.cholesky(belief.mean_precision).T
        shift, factor, error = statistics.minimise(root)
        return VectorNormalInverseGamma(
            belief.location + shift,
            mean_precision=factor.T @ factor,
            shape=belief.shape + 0.5 * statistics.count,
            scale=belief.scale + 0.5 * error,
        )

    def log_likelihood(self, theta: Any, statistics: Triangle) -> Array:
        """Return −|r − X(w − m₀)|²/(2σ²) − (N/2) ln 2πσ²."""
        weights, variance = theta
        error = statistics.squared_error(weights - self.prior_mean)
        constant = statistics.log_carrier - 0.5 * statistics.count * np.log(variance)
        return constant - 0.5 * error / variance

    def predictive(self, belief: VectorNormalInverseGamma) -> Distribution:
        """Return a Student t with 2a degrees of freedom for each row of X."""
        x, mean = self._next(belief.location)
        spread = (x * np.linalg.solve(belief.mean_precision, x.T).T).sum(axis=-1)
        scale = np.sqrt(belief.scale / belief.shape * (1.0 + spread))
        return StudentT(2.0 * belief.shape, mean, scale=scale)

    def correction(self, posterior: VectorNormalInverseGamma, statistics: Triangle) -> Correction:
        """Return the view of the weights."""
        return self._correction(self.prior.location, posterior.location, statistics)

    def _prior_information(self) -> Array:
        precision: Array = self.prior.mean_precision
        return precision


def _triangle(system: Array) -> Array:
    """Return R of the QR decomposition."""
    r: Array = np.linalg.qr(system, mode="r")  # type: ignore[assignment]  # the stubs miss the mode
    return r
