r"""Conjugate pairs of regression weights: y = X w + b + noise, a row of X for each datum.

Data are reduced to a triangular factor of the weighted, prior-centred system [X, y − b − X m₀]:
sums of squares of large numbers are never formed.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.conjugate.pair import Correction, Pair, register
from posteriori.distributions.joint.vector_normal_inverse_gamma import VectorNormalInverseGamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.numerics.least_squares.regression_statistics import (
    RegressionStatistics,
    least_squares,
    regression_statistics,
)
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["VectorNormalInverseGammaRegression", "WeightsVariance"]


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
        return self._moments_of(self.prior)[0]

    @staticmethod
    @abstractmethod
    def _moments_of(belief: Any) -> tuple[Array, Array]:
        """Return location and precision of the weights."""

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

    def reduce(self, block: Array, start: int, variance: Any) -> RegressionStatistics:
        """Reduce rows to a triangle under noise of the given variance."""
        if block.ndim != 1:
            raise ValueError(f"y must be one column, got shape {block.shape}")
        x = self.design(start, block)
        offset = self.rows(self.conditional.unknown["mean"].offset, start, block)
        residual = block - x @ self.prior_mean - (0.0 if offset is None else offset)
        v = np.broadcast_to(self.rows(variance, start, block), block.shape)
        return regression_statistics(x, residual[:, None], variance=v, centre=False)

    def learn(self, belief: Any, statistics: RegressionStatistics) -> tuple[Array, Array, float]:
        """Return m₀ + δ of least δᵀΛδ + |r − X δ|², the precision Λ + XᵀX, and what is left."""
        location, precision = self._moments_of(belief)
        prior = np.column_stack([np.linalg.cholesky(precision).T, np.zeros(len(location))])
        rows = np.concatenate([prior, statistics.factor])
        shift, factor, left = least_squares(rows, len(location))
        return location + shift, factor.T @ factor, left

    def squared_error(self, weights: Array, statistics: RegressionStatistics) -> Array:
        """Return |r − X δ|², where δ is what the weights differ by from m₀."""
        rows, size = statistics.factor, statistics.n_inputs
        residual = rows[:, size] - (weights - self.prior_mean) @ rows[:, :size].T
        return (residual**2).sum(axis=-1)

    def log_constant(self, statistics: RegressionStatistics) -> float:
        """Return what the known variances say: −½ Σ ln 2πv."""
        return -0.5 * (statistics.rows * LOG_2PI + statistics.log_variance)

    def _next(self, belief_mean: Array) -> tuple[Array, Array]:
        """Return the design of the next data and their predicted means."""
        unknown = self.conditional.unknown["mean"]
        assert unknown.matrix is not None
        offset = 0.0 if unknown.offset is None else unknown.offset
        return unknown.matrix, unknown.matrix @ belief_mean + offset

    def correction(self, posterior: Any, statistics: RegressionStatistics) -> Correction:
        """Return the view of the weights; the gain is that of the least-squares estimate."""
        before, precision = self._moments_of(self.prior)
        inputs, target = np.split(statistics.factor, [len(before)], axis=1)
        estimate = np.linalg.lstsq(inputs, target[:, 0], rcond=None)[0]
        gram = inputs.T @ inputs
        gain = np.linalg.solve(gram + precision, gram)
        after, _ = self._moments_of(posterior)
        return Correction(before, before + estimate, gain, estimate, gain @ estimate, after)


@register
class WeightsVariance(_Regression):
    """Unknown weights with a normal prior, known noise variance (per row, if need be)."""

    prior_family, unknown, needs = MvNormal, ("mean",), ("variance",)

    @staticmethod
    def _moments_of(belief: MvNormal) -> tuple[Array, Array]:
        return belief.mean, belief.precision

    def summarize(self, block: Array, start: int = 0) -> RegressionStatistics:
        """Reduce the weighted rows."""
        return self.reduce(block, start, self.known["variance"])

    def update(self, belief: MvNormal, statistics: RegressionStatistics) -> MvNormal:
        """Return mean m₀ + δ and precision W + XᵀV⁻¹X."""
        mean, precision, _ = self.learn(belief, statistics)
        return MvNormal._from(mean=mean, precision=precision)

    def log_likelihood(self, theta: Any, statistics: RegressionStatistics) -> Array:
        """Return −½ |r − X(θ − m₀)|² + c."""
        return self.log_constant(statistics) - 0.5 * self.squared_error(theta, statistics)

    def predictive(self, belief: MvNormal) -> Distribution:
        """Return N(Xm + b, diag(XPXᵀ) + v), one for each row of the likelihood's X."""
        x, mean = self._next(belief.mean)
        spread = ((x @ belief.cov) * x).sum(axis=-1)
        return Normal(mean, variance=spread + self.known["variance"])


@register
class VectorNormalInverseGammaRegression(_Regression):
    """Unknown weights and noise variance."""

    prior_family, unknown = VectorNormalInverseGamma, ("mean", "variance")

    @staticmethod
    def _moments_of(belief: VectorNormalInverseGamma) -> tuple[Array, Array]:
        return belief.location, belief.mean_precision

    def summarize(self, block: Array, start: int = 0) -> RegressionStatistics:
        """Reduce the rows at unit variance."""
        return self.reduce(block, start, 1.0)

    def update(
        self, belief: VectorNormalInverseGamma, statistics: RegressionStatistics
    ) -> VectorNormalInverseGamma:
        """Return m₀ + δ, Λ + XᵀX, a + N/2 and b + half the penalised squared error."""
        location, precision, error = self.learn(belief, statistics)
        return VectorNormalInverseGamma(
            location,
            mean_precision=precision,
            shape=belief.shape + 0.5 * statistics.rows,
            scale=belief.scale + 0.5 * error,
        )

    def log_likelihood(self, theta: Any, statistics: RegressionStatistics) -> Array:
        """Return −|r − X(w − m₀)|²/(2σ²) − (N/2) ln 2πσ²."""
        weights, variance = theta
        error = self.squared_error(weights, statistics)
        constant = self.log_constant(statistics) - 0.5 * statistics.rows * np.log(variance)
        return constant - 0.5 * error / variance

    def predictive(self, belief: VectorNormalInverseGamma) -> Distribution:
        """Return a Student t with 2a degrees of freedom for each row of X."""
        x, mean = self._next(belief.location)
        spread = (x * np.linalg.solve(belief.mean_precision, x.T).T).sum(axis=-1)
        scale = np.sqrt(belief.scale / belief.shape * (1.0 + spread))
        return StudentT(2.0 * belief.shape, mean, scale=scale)
