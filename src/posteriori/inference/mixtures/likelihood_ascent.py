r"""The likelihood of a mixture of normals climbed by its gradient, instead of by EM.

By Fisher's identity the gradient follows from the sums of a pass,

.. math:: \frac{∂\ln p}{∂m_k} = Σ_k^{-1}\sum_n r_{nk}(z_n - m_k), \qquad
   \frac{∂\ln p}{∂Σ_k} = \tfrac12 Σ_k^{-1}\Bigl\{\sum_n r_{nk}(z_n-m_k)(z_n-m_k)^\top - N_kΣ_k\Bigr\}Σ_k^{-1}.

Weights are a softmax, and :math:`Σ_k = εI + L_kL_k^\top` keeps above its floor.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from posteriori.inference.ascent.anderson import SLOW
from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.mixtures.mixture_rows import MixtureRows, full_precisions
from posteriori.inference.mixtures.normal_learning import PointLearner, ascend_normals
from posteriori.inference.mixtures.normal_maximum import (
    FLOOR,
    NormalParts,
    parts_to_statistics,
    scores_of,
)
from posteriori.inference.mixtures.normal_scores import NormalStatistics
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = [
    "PartsShape",
    "flat_gradient",
    "maximize_by_gradient",
    "pack_parts",
    "parts_gradient",
    "unpack_parts",
]

#: How SciPy's L-BFGS-B says that a step gained less than was asked for, and that no step gained anything.
_ENDED, _NOTHING_HIGHER = 0, 2


class PartsShape(NamedTuple):
    """How a flat vector holds the parameters of K components of D columns of a kind."""

    k: int
    d: int
    kind: str

    @property
    def roots(self) -> tuple[int, ...]:
        k, d = self.k, self.d
        return {"full": (k, d, d), "shared": (1, d, d), "diagonal": (k, d), "spherical": (k,)}[
            self.kind
        ]

    def split(self, flat: Array) -> tuple[Array, Array, Array]:
        k, d = self.k, self.d
        return flat[:k], flat[k : k + k * d].reshape(k, d), flat[k + k * d :].reshape(self.roots)


def maximize_by_gradient(
    learner: PointLearner, rows: MixtureRows, start: NormalStatistics, *, tol: float, max_iter: int
) -> EMResult:
    """Return the end of an ascent by L-BFGS, from where steps of EM from the sums of a start are slow.

    It ends where a step gains less than ``tol`` nats. Where rounding hides what a step gains, no search
    along the gradient succeeds: then a step of EM, which needs none, decides.
    """
    begun = _by_em(learner, rows, start, tol=SLOW, max_iter=max_iter)
    if begun.interrupted or begun.n_iter == max_iter:
        return begun
    k, d = start.sums.shape
    shape = PartsShape(k, d, learner.kind)
    first = pack_parts(learner.parts(begun.parameters), shape, learner.spread)
    trace = list(begun.trace)

    def loss(flat: Array) -> tuple[float, Array]:
        value, gradient = _value_and_gradient(flat, shape, learner, rows)
        return -value, -gradient

    def keep(intermediate_result: OptimizeResult) -> None:
        trace.append(-float(intermediate_result.fun))

    found = minimize(
        loss,
        first,
        jac=True,
        method="L-BFGS-B",
        callback=keep,
        options={
            "maxiter": max_iter - begun.n_iter,
            "ftol": tol / max(1.0, abs(trace[-1])),
            "gtol": 0.0,
            "maxcor": 20,
        },
    )
    parts = unpack_parts(found.x, shape, learner.spread)
    statistics = parts_to_statistics(parts, learner.kind, rows.total)
    n_iter = len(trace) - 1
    converged = found.status == _ENDED or (
        found.status == _NOTHING_HIGHER
        and _by_em(learner, rows, statistics, tol=tol, max_iter=1).converged
    )
    message = f"{'converged' if converged else 'stopped'} after {n_iter} steps"
    if not converged:
        warnings.warn(
            f"the ascent {message}; raise max_iter or tol", ConvergenceWarning, stacklevel=3
        )
    return EMResult(statistics, tuple(trace), n_iter, converged, message)


def _by_em(
    learner: PointLearner, rows: MixtureRows, start: NormalStatistics, *, tol: float, max_iter: int
) -> EMResult:
    """Take steps of EM for as long as these gain more than ``tol``.

    From afar a gradient may lead to where a component has no weight, and there it vanishes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the caller says what it means
        return ascend_normals(learner, rows, start, tol=tol, max_iter=max_iter, accelerated=False)


def parts_gradient(
    parts: NormalParts, statistics: NormalStatistics, kind: str, precisions: Array
) -> tuple[Array, Array, Array]:
    """Return the gradients of the log likelihood by log weights, means and covariances.

    Parameters
    ----------
    parts : NormalParts
    statistics : NormalStatistics
        The sums of a pass under these parameters.
    kind : {"full", "shared", "diagonal", "spherical"}
    precisions : (K, D, D)
    """
    counts, sums, squares = statistics
    m = parts.means
    about = sums - counts[:, None] * m
    of_means = np.einsum("kij,kj->ki", precisions, about)
    of_weights = counts - counts.sum() * parts.weights
    if kind in ("full", "shared"):
        cross = m[:, :, None] * sums[:, None, :]
        moved = (
            counts[:, None, None] * m[:, :, None] * m[:, None, :] - cross - np.swapaxes(cross, 1, 2)
        )
        scatter = squares + (moved if kind == "full" else moved.sum(axis=0))
        total = counts[:, None, None] * parts.covs if kind == "full" else counts.sum() * parts.covs
        p = precisions if kind == "full" else precisions[0]
        return of_weights, of_means, 0.5 * p @ (scatter - total) @ p
    if kind == "diagonal":
        scatter = squares - 2.0 * m * sums + counts[:, None] * m**2
        return of_weights, of_means, 0.5 * (scatter / parts.covs - counts[:, None]) / parts.covs
    scatter = squares - 2.0 * (m * sums).sum(axis=1) + counts * (m**2).sum(axis=1)
    return of_weights, of_means, 0.5 * (scatter / parts.covs - m.shape[1] * counts) / parts.covs


def _value_and_gradient(
    flat: Array, shape: PartsShape, learner: PointLearner, rows: MixtureRows
) -> tuple[float, Array]:
    parts = unpack_parts(flat, shape, learner.spread)
    scores = scores_of(parts, shape.kind)
    found = rows.expect(scores)
    precisions = full_precisions(scores, shape.kind)
    gradient = flat_gradient(flat, shape, parts, found.statistics, precisions)
    return found.log_likelihood - rows.log_scale, gradient


def flat_gradient(
    flat: Array,
    shape: PartsShape,
    parts: NormalParts,
    statistics: NormalStatistics,
    precisions: Array,
) -> Array:
    """Return the gradient of the log likelihood by the flat vector that the parts come from."""
    of_weights, of_means, of_covs = parts_gradient(parts, statistics, shape.kind, precisions)
    _, _, roots = shape.split(flat)
    if shape.kind in ("full", "shared"):
        of_roots = np.tril(2.0 * (of_covs @ roots).reshape(roots.shape))
    else:
        of_roots = 2.0 * of_covs * roots
    return np.concatenate([of_weights, of_means.ravel(), of_roots.ravel()])


def _floor(shape: PartsShape, spread: Array) -> Array:
    if shape.kind == "spherical":
        return FLOOR * np.linalg.eigvalsh(spread)[-1]
    return FLOOR * (np.diag(spread) if shape.kind == "diagonal" else spread)


def unpack_parts(flat: Array, shape: PartsShape, spread: Array) -> NormalParts:
    """Return the parameters that a flat vector holds; no covariance is below a part of the spread (D, D)."""
    logits, means, roots = shape.split(flat)
    weights = np.exp(logits - logits.max())
    if shape.kind in ("full", "shared"):
        covs = roots @ np.swapaxes(roots, 1, 2) + _floor(shape, spread)
        covs = covs if shape.kind == "full" else covs[0]
    else:
        covs = roots**2 + _floor(shape, spread)
    return NormalParts(weights / weights.sum(), means, covs)


def pack_parts(parts: NormalParts, shape: PartsShape, spread: Array) -> Array:
    """Return parameters as a flat vector without constraints."""
    least = _floor(shape, spread)
    above = parts.covs - least
    if shape.kind in ("full", "shared"):
        above = above.reshape(shape.roots)
        values, vectors = np.linalg.eigh(above)  # a covariance on its floor has no root beyond it
        raised = np.maximum(values, FLOOR * FLOOR)[:, None, :]
        roots = np.linalg.cholesky((vectors * raised) @ np.swapaxes(vectors, 1, 2))
    else:
        roots = np.sqrt(np.maximum(above, FLOOR * FLOOR))
    return np.concatenate(
        [np.log(np.maximum(parts.weights, 1e-300)), parts.means.ravel(), roots.ravel()]
    )
