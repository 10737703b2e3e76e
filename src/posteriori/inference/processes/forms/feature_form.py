r"""Processes whose kernels have few features: lines in them, in linear time in the rows.

.. math:: f = \Phi w,\quad w \sim N(0, I),\qquad S^{-1} = I + \Phi^\top N^{-1}\Phi,\qquad
          \ln p(y) = \ln N(y\mid\Phi m, N) + \ln N(m\mid 0, I) + \tfrac12\ln|2\pi S|,

with :math:`m = S\Phi^\top N^{-1}y`; the columns of the mean are features as well. Slopes are differences
of the evidence, which costs :math:`O(NM^2)`.

Reference: C. Bishop, "Pattern recognition and machine learning", 2006, §3.3 and 6.1.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.processes.dense_process import Moments, noise_variances
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.noise_parts import noiseless, summands
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["FeatureForm", "FeatureProcess", "count_features"]

#: Step of differences in logarithms.
_STEP = 1e-4


def count_features(kernel: Kernel, columns: int) -> int | None:
    """Return how many features a kernel has without its noise, None where they are not finite."""
    function = noiseless(kernel)
    if function is None:
        return 0
    try:
        return int(function.features(np.ones((1, columns))).shape[1])
    except TypeError:
        return None


class FeatureForm(NamedTuple):
    """Lines in the features of a kernel; there must be noise."""

    rows: ProcessRows
    mean: MeanEffects
    absolute: bool

    @property
    def account(self) -> str:
        return f"lines in the features of the kernel, {len(self.rows.X)} distinct inputs, O(N)"

    def solve(self, kernel: Kernel) -> FeatureProcess:
        rows, mean = self.rows, self.mean
        n = noise_variances(kernel, rows.X, self.absolute)
        noise = n / rows.weight
        white = np.sqrt(noise)[:, None]
        design = np.hstack([mean.columns(rows.X), _features(kernel, rows.X)]) / white
        targets = (rows.y - mean.center) / white
        # a triangular factor of [Φ; I] keeps the digits that ΦᵀΦ would lose
        stacked = np.vstack([design, np.eye(design.shape[1])])
        upper: Array = np.linalg.qr(stacked, mode="r")  # type: ignore[assignment]
        root = triangular_inverse(np.ascontiguousarray(upper.T)).T  # S = RRᵀ
        weights = root @ (root.T @ (design.T @ targets))
        left = targets - design @ weights
        outputs = rows.y.shape[1]
        log_det = 2.0 * float(np.log(np.abs(upper.diagonal())).sum()) + float(np.log(noise).sum())
        squares = np.vdot(left, left) + np.vdot(weights, weights)
        value = -0.5 * (outputs * (len(rows.X) * LOG_2PI + log_det) + squares)
        value += rows.log_constant(n)
        return FeatureProcess(kernel, rows, mean, noise, weights, root, float(value))

    def score(self, kernel: Kernel) -> tuple[float, Array]:
        at = kernel.log_parameters
        slopes = [
            self.solve(kernel.with_log_parameters(at + step)).log_evidence
            - self.solve(kernel.with_log_parameters(at - step)).log_evidence
            for step in _STEP * np.eye(len(at))
        ]
        return self.solve(kernel).log_evidence, np.array(slopes) / (2.0 * _STEP)


class FeatureProcess(NamedTuple):
    """What is known of the weights of features after rows.

    Attributes
    ----------
    kernel : Kernel
    rows : ProcessRows
    mean : MeanEffects
    noise : (N,)
        n/w, of the mean of the targets at each input.
    weights : (P + M, Q)
        Of the mean and of the features.
    root : (P + M, P + M)
        R with RRᵀ = S, their covariance.
    log_evidence : float
    """

    kernel: Kernel
    rows: ProcessRows
    mean: MeanEffects
    noise: Array
    weights: Array
    root: Array
    log_evidence: float

    @property
    def jitter(self) -> float:
        """The prior of the weights makes all definite."""
        return 0.0

    def predict(self, X: Array) -> Moments:
        """Return means and variances of the function at points."""
        made = self._seen(self._design(X), slice(None))
        return Moments(self.mean.center + made.mean, made.variance)

    def covariance(self, X: Array) -> Array:
        """Return the covariance of the function's values at points, (M, M)."""
        half = self._design(X) @ self.root
        return half @ half.T

    def effects(self, X: Array) -> list[Moments]:
        """Return moments of the mean, if there is one, and of each summand of the kernel."""
        design, found = self._design(X), []
        own = self.mean.columns(X).shape[1]
        if own:
            level = self._seen(design, slice(0, own))
            found.append(Moments(self.mean.center + level.mean, level.variance))
        sizes = [part.features(X[:1]).shape[1] for part in summands(self.kernel)]
        ends = own + np.cumsum([0, *sizes])
        return found + [self._seen(design, slice(a, b)) for a, b in pairwise(ends.tolist())]

    def left_out(self) -> Moments:
        """Return moments of the mean target at each input, given all others, noise included."""
        mean, variance = self.predict(self.rows.X)
        # the site of a row divided out: 1/c = 1/v − 1/n
        share = (variance / (self.noise - variance))[:, None]
        apart = mean + share * (mean - self.rows.y)
        return Moments(apart, self.noise**2 / (self.noise - variance))

    def _design(self, X: Array) -> Array:
        return np.hstack([self.mean.columns(X), _features(self.kernel, X)])

    def _seen(self, design: Array, part: slice) -> Moments:
        """Return moments of what some of the weights add."""
        half = design[:, part] @ self.root[part]
        mean = design[:, part] @ self.weights[part]
        return Moments(mean, np.einsum("nm,nm->n", half, half))


def _features(kernel: Kernel, X: Array) -> Array:
    function: Any = noiseless(kernel)
    return np.zeros((len(X), 0)) if function is None else function.features(X)
