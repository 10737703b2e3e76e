r"""Evidence of a process that a few points tell, and its gradient in the kernel and in the points.

With :math:`\alpha = D^{-1}(r - \Phi m)`, :math:`E = B^{-1}` and :math:`e = 1/d` (the bound) or
:math:`e = -2\,\partial_d` (FITC) a row of features is pulled by

.. math:: P = \alpha m^\top - D^{-1}\Phi E + \mathrm{diag}(e)\,\Phi ,

cross covariances by :math:`PL^{-1}`, and those of the points by
:math:`-\tfrac12 L^{-\top}\Phi^\top P L^{-1}` with :math:`\Phi^\top P = mm^\top - 1 + E +
\Phi^\top\mathrm{diag}(e)\,\Phi`; the slope in the noise of a row is
:math:`\partial_d = \tfrac12\{\alpha^2 - 1/d + \phi^\top E\phi/d^2\}` (+ ρ/2d² of the bound). Two passes over
the rows, none of which holds N × M numbers.

Reference: M. Titsias, "Variational learning of inducing variables in sparse Gaussian processes", 2009.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from posteriori.inference.processes.inducing.inducing_features import (
    InducedRows,
    InducingFeatures,
    SparseRows,
)
from posteriori.inference.processes.inducing.inducing_statistics import (
    InducedWeights,
    add_up_rows,
    over_blocks,
    row_noise,
)
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.linalg import symmetrize, weighted_gram
from posteriori.numerics.types import Array

__all__ = ["InducedEvidence", "induced_evidence"]

#: Points are moved by this share of the largest distance along a column, to both sides: slopes of
#: smooth kernels keep nine digits.
_STEP = 1e-5


class InducedEvidence(NamedTuple):
    """A log evidence and its slopes.

    Attributes
    ----------
    value : float
    kernel : (P,)
        In the log parameters of the kernel.
    points : (M, D) or None
        In the points, where these were asked for.
    """

    value: float
    kernel: Array
    points: Array | None


class _Slopes(NamedTuple):
    """Sums of a pass over rows."""

    kernel: Array
    points: Array
    scatter: Array  # Σ e φφᵀ; of the bound that is the gram matrix of the first pass

    def plus(self, other: _Slopes) -> _Slopes:
        return _Slopes(*(a + b for a, b in zip(self, other, strict=True)))


def induced_evidence(
    model: InducingFeatures, rows: SparseRows, *, fitc: bool, points: bool = False
) -> InducedEvidence:
    """Return the collapsed bound, or FITC's evidence, with its gradient.

    Parameters
    ----------
    model : InducingFeatures
    rows : SparseRows
    fitc : bool
    points : bool
        Whether slopes in the points are wanted.

    Notes
    -----
    Costs O(N M²) and O(M²) memory beside the rows; with ``points`` 2D kernels more.
    """
    sums, size = add_up_rows(model, rows, fitc=fitc), len(model.points)
    weights = InducedWeights.of(sums)
    second = _Pass(model, weights, fitc, points)
    slopes = second.over(rows)
    scatter = slopes.scatter if fitc else sums.gram[:size, :size]
    tie = scatter + second.cov[:size, :size] - np.eye(size)
    tie += np.outer(weights.mean[:size], weights.mean[:size])
    pull = symmetrize(-0.5 * model.inverse.T @ tie @ model.inverse)  # of k(U, U)
    gradient = slopes.kernel + model.own.pull(pull)
    moved = None
    if points:
        # k(u_m, u_m) moves with both of its arguments: twice the slope in the second
        moved = slopes.points + _point_slopes(
            model.function, model.points, model.points, 2.0 * pull
        )
    return InducedEvidence(weights.log_evidence, gradient, moved)


class _Pass:
    """A pass over rows, given the posterior."""

    def __init__(
        self,
        model: InducingFeatures,
        weights: InducedWeights,
        fitc: bool,
        points: bool,
    ) -> None:
        self.model, self.weights, self.fitc = model, weights, fitc
        self.points = points
        size = len(model.points)
        self.cov = cov = weights.root.T @ weights.root
        #: E L⁻¹ of FITC, (1 − E) L⁻¹ of the bound, where Φ/d has the same factor
        turn = cov[:, :size] if fitc else np.eye(len(cov))[:, :size] - cov[:, :size]
        self.turn = turn @ model.inverse
        self.mean = weights.mean[:size] @ model.inverse

    def over(self, rows: SparseRows) -> _Slopes:
        return reduce(_Slopes.plus, over_blocks(self._of_block, rows, self.model.size))

    def _of_block(self, block: SparseRows) -> _Slopes:
        model, size = self.model, len(self.model.points)
        seen = model.of(block.x)
        d = row_noise(model, block, seen, self.fitc)
        f = np.ones(len(d)) if block.frequency is None else block.frequency
        alpha = (block.y - model.mean.center - seen.features @ self.weights.mean) / d
        phi, along = seen.features[:, :size], seen.features @ self.turn
        in_noise = 0.5 * (alpha**2 - 1.0 / d + self._leverage(seen, along) / d**2)
        if self.fitc:
            pull = np.outer(alpha, self.mean) - along / d[:, None]
            pull -= 2.0 * in_noise[:, None] * (phi @ model.inverse)
            in_own = in_noise
            scatter = weighted_gram(phi, -2.0 * f * in_noise)
        else:
            pull = np.outer(alpha, self.mean) + along / d[:, None]
            in_noise += 0.5 * seen.rest / d**2
            in_own, scatter = -0.5 / d, np.zeros((0, 0))
        pull *= f[:, None]
        return _Slopes(
            seen.cross.pull(pull)
            + seen.own.pull(f * in_own)
            + model.pull_noise(block, f * in_noise),
            self._of_points(block.x, pull),
            scatter,
        )

    def _leverage(self, seen: InducedRows, along: Array) -> Array:
        """Return φᵀEφ of rows: k(x, U)·(E L⁻¹ row), and what the columns of the mean add."""
        size = len(self.model.points)
        phi, columns = seen.features[:, :size], seen.features[:, size:]
        inner = np.einsum("nm,nm->n", along, seen.cross.value)
        if not self.fitc:
            inner = np.einsum("nm,nm->n", phi, phi) - inner
        return inner + np.einsum("nj,nj->n", seen.features @ self.cov[:, size:], columns)

    def _of_points(self, x: Array, pull: Array) -> Array:
        if not self.points:
            return np.zeros((0, 0))
        return _point_slopes(self.model.function, x, self.model.points, pull)


def _point_slopes(signal: Kernel, x: Array, points: Array, pull: Array) -> Array:
    """Return Σₙ Wₙₘ ∂k(xₙ, u_m)/∂u_m, (M, D): all points step along a column together."""
    slopes = np.empty_like(points)
    reach = np.ptp(points, axis=0)
    for column, step in enumerate(_STEP * np.where(reach > 0, reach, 1.0)):
        shift = np.zeros(points.shape[1])
        shift[column] = step
        change = signal.evaluate(x, points + shift) - signal.evaluate(x, points - shift)
        slopes[:, column] = np.einsum("nm,nm->m", pull, change) / (2.0 * step)
    return slopes
