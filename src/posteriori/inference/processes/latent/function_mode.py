r"""Laplace's evidence of a function behind targets from its values alone, for log-concave likelihoods.

With :math:`f = Ka` and :math:`W = -\partial^2\ln p(y\mid f) \ge 0` Newton's step is

.. math:: a \leftarrow b - W^{1/2}B^{-1}W^{1/2}Kb,\qquad b = Wf + \nabla\ln p(y\mid f),\qquad
          B = I + W^{1/2}KW^{1/2} .

The eigenvalues of B are at least 1, so no K is too close to singular, and one Cholesky factor a step is all
that is needed; :math:`R = W^{1/2}B^{-1}W^{1/2}` then gives :math:`W\Sigma = RK` and the slope of

.. math:: \ln Z = \ln p(y\mid\hat f) - \tfrac12 a^\top\hat f - \tfrac12\ln|B| .

Reference: C. Rasmussen & C. Williams, "Gaussian processes for machine learning", 2006, alg. 3.1 and 5.1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.gram_factor import GramFactor, lower_gram, pull_lower
from posteriori.inference.processes.latent.latent_likelihoods import SingleLatent
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.lazy import blas, lapack
from posteriori.numerics.types import Array

__all__ = ["FunctionMode", "covariance_of", "find_function", "score_function"]

#: After so many halvings a step is 1e-12 of what it was.
_MOST_HALVINGS = 40

#: A fall by less than this share of the log density is rounding.
_ROUNDING = 1e-12

#: Predictors move by this to both sides for the slope of a curvature: it keeps nine digits.
_STEP = 1e-4


class FunctionMode(NamedTuple):
    """The most probable values of a function.

    Attributes
    ----------
    a : (N,)
        K⁻¹f.
    function : (N,)
        f.
    root : (N,)
        W^{1/2}.
    factor : GramFactor
        Of B.
    log_evidence : float
        Laplace's.
    """

    a: Array
    function: Array
    root: Array
    factor: GramFactor
    log_evidence: float


def covariance_of(kernel: Kernel, X: Array, mean: MeanEffects) -> Array:
    """Return the prior covariance of a function and its mean at rows, on and below the diagonal."""
    columns = mean.columns(X)
    gram = lower_gram(kernel, X, kernel.diagonal(X))
    if columns.shape[1]:
        gram += columns @ columns.T
    return gram


def find_function(
    gram: Array,
    likelihood: SingleLatent,
    start: Array | None = None,
    *,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> FunctionMode:
    """Return the mode of a function at rows.

    Parameters
    ----------
    gram : (N, N)
        K, of which the diagonal and what is below it are read.
    likelihood : SingleLatent
        A log-concave one.
    start : (N,), optional
        a, such as that of a kernel that is near.
    tol : float
        Steps below so many standard deviations end it.
    max_iter : int

    Notes
    -----
    Costs N³/3 operations a step.
    """
    a = np.zeros(len(gram)) if start is None else start
    f = _times(gram, a)
    height = likelihood.log_mass(f) - 0.5 * float(a @ f)
    if start is not None and height < likelihood.log_mass(0.0 * f):
        return find_function(gram, likelihood, tol=tol, max_iter=max_iter)
    for _ in range(max_iter):
        slope, curvature = (one.reshape(-1) for one in likelihood.bends(f[:, None]))
        root = np.sqrt(np.maximum(curvature, 0.0))
        factor = _factor(gram, root)
        b = curvature * f + slope
        step = b - root * _solve(factor, root * _times(gram, b)) - a
        along = _times(gram, step)
        if float((slope - a) @ along) <= tol**2:  # Newton's decrement: the square of the step
            break
        length = _climb(likelihood, a, f, step, along, height)
        if length == 0.0:
            break
        a, f = a + length * step, f + length * along
        height = likelihood.log_mass(f) - 0.5 * float(a @ f)
    return FunctionMode(a, f, root, factor, height - 0.5 * factor.log_det)


def score_function(
    mode: FunctionMode, gram: Array, kernel: Kernel, X: Array, likelihood: SingleLatent
) -> Array:
    r"""Return the slope of the log evidence in the logarithms of the kernel's parameters, (P,).

    It is :math:`\mathrm{tr}\,\partial K\,\{\tfrac12(aa^\top - R) + \tfrac12(ua^\top + au^\top)\}` with
    :math:`u = s - RKs` and :math:`s_n = -\tfrac12\Sigma_{nn}\,\partial W_n/\partial f_n`. The factor is lost.
    """
    a, f, root = mode.a, mode.function, mode.root
    inverse = mode.factor.inverse_in_place()  # B⁻¹
    # W^{1/2} Σ W^{1/2} = I − B⁻¹; where W is 0 the targets say nothing
    spread = np.where(
        root > 0, (1.0 - inverse.diagonal()) / np.where(root > 0, root, 1.0) ** 2, 0.0
    )
    up, down = (likelihood.bends((f + shift)[:, None]).curvature for shift in (_STEP, -_STEP))
    s = -0.5 * spread * (up - down)[:, 0, 0] / (2.0 * _STEP)
    inverse *= root
    inverse *= root[:, None]  # R
    u = s - _times(inverse, _times(gram, s))
    own = 0.5 * (a * a - inverse.diagonal()) + u * a
    # aaᵀ + uaᵀ + auᵀ = (a + u)(a + u)ᵀ − uuᵀ
    inverse += np.outer(u, u)
    slopes: Array = pull_lower(kernel, X, (a + u)[:, None], inverse, 1.0)
    return slopes + kernel.traced_diagonal(X).pull(own)


def _climb(
    likelihood: SingleLatent, a: Array, f: Array, step: Array, along: Array, height: float
) -> float:
    """Return the share of a step that does not lead downhill, 0 where none does."""
    length = 1.0
    for _ in range(_MOST_HALVINGS):
        there = f + length * along
        value = likelihood.log_mass(there) - 0.5 * float((a + length * step) @ there)
        if value >= height - _ROUNDING * max(1.0, abs(height)):
            return length
        length *= 0.5
    return 0.0


def _factor(gram: Array, root: Array) -> GramFactor:
    """Return the Cholesky factor of B = I + W^{1/2}KW^{1/2}."""
    B = gram * root
    B *= root[:, None]
    B[np.diag_indices(len(B))] += 1.0
    _, failed = lapack.dpotrf(B.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise ValueError(
            "the covariance of the function is not finite or not positive semi-definite; use a Mercer kernel "
            "and columns of moderate size"
        )
    return GramFactor(B, 0.0)


def _solve(factor: GramFactor, b: Array) -> Array:
    """Return B⁻¹b."""
    return np.asarray(lapack.dpotrs(factor.lower.T, b, lower=0)[0])


def _times(lower: Array, v: Array) -> Array:
    """Return Av of a symmetric matrix of which the lower triangle is known."""
    return np.asarray(blas.dsymv(1.0, lower.T, v, lower=0))
