"""Normal beliefs about weights: what approximations of a posterior return."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.mode_finding import Mode, laplace_evidence
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["WeightBelief", "laplace_belief", "row_moments"]

#: Numbers of X that are worked on at a time.
_BLOCK = 1 << 17


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
    root = np.linalg.inv(mode.factor)
    log_evidence = laplace_evidence(mode) + 0.5 * float((np.log(prior_precision) - LOG_2PI).sum())
    return WeightBelief(
        mode.point, root.T @ root, log_evidence, mode.n_iter, mode.converged, mode.gradient_norm
    )


def row_moments(x: Array, mean: Array, cov: Array) -> tuple[Array, Array]:
    """Return means and variances of the predictors x·w, (N,) each."""
    variance = np.empty(len(x))
    step = max(1, _BLOCK // max(x.shape[1], 1))
    for first in range(0, len(x), step):
        block = x[first : first + step]
        variance[first : first + step] = np.einsum("nd,nd->n", block @ cov, block)
    return x @ mean, np.maximum(variance, 1e-300)
