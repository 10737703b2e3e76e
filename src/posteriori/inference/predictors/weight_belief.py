"""Normal beliefs about weights: what approximations of a posterior return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.predictors.mode_finding import Mode, laplace_evidence
from posteriori.numerics.block_sizes import rows_per_block
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "Progress",
    "WeightBelief",
    "contrast_moments",
    "evidence_at",
    "laplace_belief",
    "row_moments",
]


#: Steps that have not shrunk for so many rounds, and are below this, have come to what sums over nodes
#: can tell.
_PATIENCE, _SMALL = 15, 1e-4

#: Steps that have not shrunk for so many rounds will not.
_MOST_IDLE = 40


class Progress:
    """The steps of an ascent: whether it is at its end, and which part of the way to go next."""

    def __init__(self, tol: float, least: float) -> None:
        self.tol = tol
        self.least = least
        self.damping = 1.0
        self.step = np.inf
        self.n_iter = 0
        self._smallest, self._since = np.inf, 0

    def note(self, step: float) -> None:
        """Note a step in standard deviations: half the way where steps grow, then more again."""
        grows = step > self.step
        self.damping = (
            max(self.least, 0.5 * self.damping) if grows else min(1.0, 1.3 * self.damping)
        )
        self._since = 0 if step < 0.9 * self._smallest else self._since + 1
        self._smallest = min(self._smallest, step)
        self.step = step
        self.n_iter += 1

    @property
    def converged(self) -> bool:
        """Whether the last step is short, or cannot become shorter."""
        return self.step <= self.tol or (self._since >= _PATIENCE and self._smallest <= _SMALL)

    @property
    def stalled(self) -> bool:
        """Whether steps have long ceased to shrink."""
        return self._since >= _MOST_IDLE


class WeightBelief(NamedTuple):
    """A normal approximation of the posterior of weights.

    Attributes
    ----------
    mean : (P,)
    cov : (P, P)
    log_evidence : float
        As the approximation has it.
    n_iter : int
    converged : bool
    step : float
        How far the last step moved the mean, in standard deviations.
    """

    mean: Array
    cov: Array
    log_evidence: float
    n_iter: int
    converged: bool
    step: float


def laplace_belief(mode: Mode, prior_precision: Array) -> WeightBelief:
    """Return N(mode, A⁻¹) with Laplace's evidence, for independent normal priors."""
    return WeightBelief(
        mode.point,
        inverse_from_factor(mode.factor),
        evidence_at(mode, prior_precision),
        mode.n_iter,
        mode.converged,
        mode.gradient_norm,
    )


def evidence_at(mode: Mode, prior_precision: Array) -> float:
    """Return Laplace's log evidence for independent normal priors."""
    return laplace_evidence(mode) + 0.5 * float((np.log(prior_precision) - LOG_2PI).sum())


def row_moments(x: Array, mean: Array, cov: Array) -> tuple[Array, Array]:
    """Return means and variances of the predictors x·w, (N,) each."""
    variance = np.empty(len(x))
    step = rows_per_block(x.shape[1])
    for first in range(0, len(x), step):
        block = x[first : first + step]
        variance[first : first + step] = np.einsum("nd,nd->n", block @ cov, block)
    return x @ mean, np.maximum(variance, 1e-300)


def contrast_moments(x: Array, mean: Array, cov: Array, size: int) -> tuple[Array, Array]:
    """Return means (N, M) and covariances (N, M, M) of predictors of M weight vectors of equal length.

    Parameters
    ----------
    x : (N, P)
    mean : (M P,)
    cov : (M P, M P)
    size : int
        M.
    """
    p = x.shape[1]
    blocks = cov.reshape(size, p, size, p)
    spread = np.empty((len(x), size, size))
    step = rows_per_block(p)
    for first in range(0, len(x), step):
        rows = slice(first, first + step)
        for i in range(size):
            for j in range(i + 1):
                spread[rows, i, j] = np.einsum("nd,nd->n", x[rows] @ blocks[i, :, j], x[rows])
                spread[rows, j, i] = spread[rows, i, j]
    return x @ mean.reshape(size, p).T, spread
