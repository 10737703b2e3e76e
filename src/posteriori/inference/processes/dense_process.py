r"""Gaussian process regression by one factor of a covariance: a Cholesky factor, unless another is known.

With targets :math:`y = m + H\beta + f + \varepsilon`, :math:`K` the covariance of :math:`f + \varepsilon`,
:math:`r = y - m`, :math:`B = L^{-1}H` and :math:`M = I + B^\top B`,

.. math:: \ln p(y) = -\tfrac12\bigl[N\ln 2\pi + \ln|K| + \ln|M| + |L^{-1}r|^2 -
          |M^{-1/2}B^\top L^{-1}r|^2\bigr],\qquad
          \frac{\partial\ln p}{\partial\theta} = \mathrm{tr}\,W\frac{\partial K}{\partial\theta},\quad
          W = \tfrac12(\alpha\alpha^\top - \Sigma^{-1}),

.. math:: \hat\beta = M^{-1}B^\top L^{-1}r,\quad \alpha = K^{-1}(r - H\hat\beta),\quad
          E f_* = K_*\alpha + H_*\hat\beta,\quad
          \mathrm{cov} f_* = K_{**} - K_*K^{-1}K_*^\top + RM^{-1}R^\top,\ R = H_* - K_*K^{-1}H.

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, eq. 2.23–2.43.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.gram_factor import (
    CovarianceFactor,
    GramFactor,
    extend_factor,
    factor_gram,
    pull_lower,
)
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.inference.processes.noise_parts import (
    noise_diagonal,
    pull_noise,
    silenced,
    summands,
)
from posteriori.inference.processes.process_rows import ProcessRows
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.blocks.block_sizes import IN_MEMORY, rows_per_block
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "DenseProcess",
    "Moments",
    "noise_slopes",
    "noise_variances",
    "score_dense",
    "slope_columns",
    "solve_dense",
    "solve_factored",
]

#: What is computed again may differ by this share: by the order of additions, not by other rows.
_SAME = 1e-12


class Moments(NamedTuple):
    """Means (M, Q) and variances (M,) of a function at points."""

    mean: Array
    variance: Array


def noise_variances(kernel: Kernel, X: Array, absolute: bool) -> Array:
    """Return the variance n of the noise at points, (N,): that of the kernel, or 1 where none is in it.

    Parameters
    ----------
    kernel : Kernel
    X : (N, D)
    absolute : bool
        Whether targets have noise of their own, which is then measured in units of 1.
    """
    if absolute:
        return np.ones(len(X))
    return noise_diagonal(kernel, X)


class DenseProcess(NamedTuple):
    """What is known of a function after rows.

    Attributes
    ----------
    kernel : Kernel
    rows : ProcessRows
    mean : MeanEffects
    noise : (N,)
        n/w, of the mean of the targets at each input.
    factor : CovarianceFactor
        Of K.
    alpha : (N, Q)
    beta : (P, Q)
        Weights of the mean.
    root : (P, P)
        R with RRᵀ = M⁻¹, the covariance of these weights.
    through : (N, P)
        K⁻¹H.
    log_evidence : float
        ln p(y), constants of rows with equal inputs included.
    """

    kernel: Kernel
    rows: ProcessRows
    mean: MeanEffects
    noise: Array
    factor: CovarianceFactor
    alpha: Array
    beta: Array
    root: Array
    through: Array
    log_evidence: float

    @property
    def jitter(self) -> float:
        """What was added to the diagonal of K."""
        return self.factor.jitter

    @property
    def n_made(self) -> int:
        """Numbers of the factor."""
        return len(self.alpha) ** 2

    def parts(self) -> tuple[Kernel, ProcessRows, MeanEffects, bool] | None:
        """Return what all else is computed from by :meth:`from_parts`, None where it would differ."""
        if not isinstance(self.factor, GramFactor):
            return None
        n = noise_variances(self.kernel, self.rows.X, False)
        parts = (
            self.kernel,
            self.rows,
            self.mean,
            not np.array_equal(n / self.rows.weight, self.noise),
        )
        made = DenseProcess.from_parts(*parts)
        pairs = (made.alpha, self.alpha), (made.noise, self.noise), (made.through, self.through)
        same = made.jitter == self.jitter and all(
            np.abs(a - b).max(initial=0.0) <= _SAME * np.abs(b).max(initial=0.0) for a, b in pairs
        )
        return parts if same else None

    @classmethod
    def from_parts(
        cls, kernel: Kernel, rows: ProcessRows, mean: MeanEffects, absolute: bool
    ) -> DenseProcess:
        """Return the process that has these parts."""
        return solve_dense(kernel, rows, mean, absolute)

    def predict(self, X: Array) -> Moments:
        """Return means and variances of the function at points."""
        made = [self._moments(X[part]) for part in _parts(len(X), len(self.alpha))]
        return Moments(*(np.concatenate(one) for one in zip(*made, strict=True)))

    def _moments(self, X: Array) -> Moments:
        across, left, prior = self._left(X)
        half = self.factor.half_solve(across.T)
        variance = prior - np.einsum("nm,nm->m", half, half) + np.einsum("mp,mp->m", left, left)
        mean = self.mean.center + across @ self.alpha + self.mean.columns(X) @ self.beta
        return Moments(mean, np.maximum(variance, 0.0))

    def covariance(self, X: Array) -> Array:
        """Return the covariance of the function's values at points, (M, M)."""
        across, left, _ = self._left(X)
        half = self.factor.half_solve(across.T)
        cov = silenced(self.kernel).evaluate(X, X) - half.T @ half + left @ left.T
        cov[np.diag_indices(len(X))] = np.maximum(cov.diagonal(), 0.0)
        return 0.5 * (cov + cov.T)

    def _left(self, X: Array) -> tuple[Array, Array, Array]:
        """Return K_*, what K_*K⁻¹ leaves of H_* times the root of M⁻¹, and the prior variances."""
        function = silenced(self.kernel)
        across = function.evaluate(X, self.rows.X)
        left = (self.mean.columns(X) - across @ self.through) @ self.root
        return across, left, function.diagonal(X)

    def effects(self, X: Array) -> list[Moments]:
        """Return moments of the mean, if there is one, and of each summand of the kernel."""
        found = []
        if self.beta.size:
            columns = self.mean.columns(X)
            spread = columns @ self.root
            mean = self.mean.center + columns @ self.beta
            found.append(Moments(mean, np.einsum("mp,mp->m", spread, spread)))
        for part in summands(self.kernel):
            across = part.evaluate(X, self.rows.X)
            half, seen = self.factor.half_solve(across.T), across @ self.through @ self.root
            variance = part.diagonal(X) - np.einsum("nm,nm->m", half, half)
            variance += np.einsum("mp,mp->m", seen, seen)
            found.append(Moments(across @ self.alpha, np.maximum(variance, 0.0)))
        return found

    def left_out(self) -> Moments:
        """Return moments of the mean target at each input, given all others, noise included."""
        seen = self.through @ self.root
        precision = self.factor.inverse_diagonal() - np.einsum("np,np->n", seen, seen)
        return Moments(self.rows.y - self.alpha / precision[:, None], 1.0 / precision)

    def extended(self, rows: ProcessRows, mean: MeanEffects, absolute: bool) -> DenseProcess:
        """Return the process after further rows, from the factor of earlier ones where it is a part."""
        old = len(self.rows.X)
        same = len(rows.X) >= old and np.array_equal(rows.X[:old], self.rows.X)
        same = same and np.array_equal(rows.weight[:old], self.rows.weight)
        earlier = self.factor if same and isinstance(self.factor, GramFactor) else None
        return solve_dense(self.kernel, rows, mean, absolute, earlier)


def _parts(count: int, width: int) -> Iterator[slice]:
    """Yield slices of so many points that what is made of them stays small; at least one slice."""
    step = rows_per_block(width, IN_MEMORY)
    for first in range(0, max(count, 1), step):
        yield slice(first, first + step)


def solve_dense(
    kernel: Kernel,
    rows: ProcessRows,
    mean: MeanEffects,
    absolute: bool = False,
    earlier: GramFactor | None = None,
) -> DenseProcess:
    """Return what is known of a function after rows, in O(N³).

    Parameters
    ----------
    kernel : Kernel
    rows : ProcessRows
    mean : MeanEffects
    absolute : bool
        Whether targets have noise of their own, and the kernel none.
    earlier : GramFactor, optional
        Of the first of the rows.
    """
    function = silenced(kernel)
    n = noise_variances(kernel, rows.X, absolute)
    diagonal = function.diagonal(rows.X) + n / rows.weight
    if earlier is None:
        factor = factor_gram(function, rows.X, diagonal)
    else:
        factor = extend_factor(earlier, function, rows.X, diagonal)
    return solve_factored(kernel, rows, mean, n, factor)


def solve_factored(
    kernel: Kernel, rows: ProcessRows, mean: MeanEffects, n: Array, factor: CovarianceFactor
) -> DenseProcess:
    """Return what is known of a function after rows, from a factor of their covariance.

    Parameters
    ----------
    kernel : Kernel
    rows : ProcessRows
    mean : MeanEffects
    n : (N,)
        Variance of the noise of one target at each input.
    factor : CovarianceFactor
    """
    residual, H = rows.y - mean.center, mean.columns(rows.X)
    half, B = factor.half_solve(residual), factor.half_solve(H)
    root, log_det = _invert_mean(B)
    pulled = root.T @ (B.T @ half)
    beta = root @ pulled
    squares = float(np.vdot(half, half)) - float(np.vdot(pulled, pulled))
    size, outputs = residual.shape
    value = -0.5 * (outputs * (size * LOG_2PI + factor.log_det + log_det) + squares)
    value += rows.log_constant(n)
    alpha, through = factor.back_solve(half - B @ beta), factor.back_solve(B)
    of_mean = beta, root, through
    return DenseProcess(kernel, rows, mean, n / rows.weight, factor, alpha, *of_mean, float(value))


def score_dense(
    kernel: Kernel, rows: ProcessRows, mean: MeanEffects, absolute: bool = False
) -> tuple[float, Array]:
    """Return ln p(y) and its gradient in the logarithms of the kernel's parameters, in O(N³).

    Memory is one matrix of N² numbers, which holds the kernel, its factor and its inverse in turn.
    """
    solved = solve_dense(kernel, rows, mean, absolute)
    outputs = rows.y.shape[1]
    C = slope_columns(solved)
    assert isinstance(solved.factor, GramFactor)
    inverse = solved.factor.inverse_in_place()
    # W on the diagonal
    own = 0.5 * (np.einsum("nr,nr->n", C, C) - outputs * inverse.diagonal())
    function = silenced(kernel)
    gradient = pull_lower(function, rows.X, C, inverse, float(outputs))
    gradient = gradient + function.traced_diagonal(rows.X).pull(own)
    if not absolute:
        gradient = gradient + noise_slopes(kernel, rows, own)
    return solved.log_evidence, gradient


def slope_columns(solved: DenseProcess) -> Array:
    """Return C with W = ½(CCᵀ − qK⁻¹), of q outputs, (N, R)."""
    outputs = solved.rows.y.shape[1]
    return np.column_stack([solved.alpha, np.sqrt(outputs) * (solved.through @ solved.root)])


def noise_slopes(kernel: Kernel, rows: ProcessRows, own: Array) -> Array:
    """Return what the parameters add to the slope through the noise, (P,), from W on the diagonal, (N,)."""
    of_noise = own
    if not rows.is_plain:
        of_noise = own / rows.weight + rows.constant_slope(noise_diagonal(kernel, rows.X))
    return pull_noise(kernel, rows.X, of_noise)


def _invert_mean(B: Array) -> tuple[Array, float]:
    """Return R with RRᵀ = M⁻¹, and ln |M|."""
    lower = np.linalg.cholesky(np.eye(B.shape[1]) + B.T @ B)
    return triangular_inverse(lower).T, 2.0 * float(np.log(lower.diagonal()).sum())
