r"""A process of many rows, told at a few points: learning the kernel and the points, and adding rows.

Points are chosen where the function is least known, the kernel is searched for by the evidence that they give,
and points are chosen anew under the kernel that was found. They can be moved uphill as well.

Few points leave much open, and the bound then has a top at which all of it is noise, to which starts with
short scales lead. FITC's evidence does not charge for what is left open: its top is a further start.

For a given kernel and points everything that is learned from rows is a sum over them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.statistics import Moments
from posteriori.inference.processes.dense_process import Moments as Values
from posteriori.inference.processes.inducing.inducing_bound import induced_evidence
from posteriori.inference.processes.inducing.inducing_features import InducingFeatures, SparseRows
from posteriori.inference.processes.inducing.inducing_points import choose_points
from posteriori.inference.processes.inducing.inducing_statistics import (
    InducedStatistics,
    InducedWeights,
    add_up_rows,
    over_blocks,
    row_noise,
)
from posteriori.inference.processes.kernel_search import SearchedKernel
from posteriori.inference.processes.mean_effects import MeanEffects, mean_effects
from posteriori.inference.processes.noise_parts import silenced, summands
from posteriori.kernels.kernel import Kernel
from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array

__all__ = [
    "SolvedSparse",
    "SparseProcess",
    "learn_sparse",
    "move_points",
    "sparse_evidence",
    "start_sparse",
]

#: A row takes at most all but this share of what is known of its function.
_KNOWN = 1e-12

#: Most evaluations while points move.
_MOST = 60


class SparseProcess(NamedTuple):
    """A kernel, its points, and the sums over rows.

    Attributes
    ----------
    model : InducingFeatures
        With the mean on the scale of all rows so far.
    mean_kind : {"zero", "constant", "linear"}
    fitc : bool
    sums : InducedStatistics
    moments : Moments
        Of the targets, then the inputs.
    """

    model: InducingFeatures
    mean_kind: str
    fitc: bool
    sums: InducedStatistics
    moments: Moments

    def solve(self) -> SolvedSparse:
        """Return what is known of the function after the rows."""
        return SolvedSparse(self, InducedWeights.of(self.sums.around(self.model.mean)))

    def extended(self, rows: SparseRows) -> SparseProcess:
        """Return the process after further rows: the same as after all of them at once."""
        sums = self.sums.merge(add_up_rows(self._measured_as(self.sums.mean), rows, fitc=self.fitc))
        return self._with(sums, self.moments.merge(_moments(rows)))

    def merge(self, other: SparseProcess) -> SparseProcess:
        """Return the process that has seen the rows of both."""
        return self._with(self.sums.merge(other.sums), self.moments.merge(other.moments))

    def _with(self, sums: InducedStatistics, moments: Moments) -> SparseProcess:
        measured = self._measured_as(_mean_of(self.mean_kind, moments))
        return self._replace(model=measured, sums=sums, moments=moments)

    def _measured_as(self, mean: MeanEffects) -> InducingFeatures:
        old = self.model
        return InducingFeatures(old.kernel, old.points, mean, absolute=old.absolute)


class SolvedSparse(NamedTuple):
    """What is known of a function after rows.

    Attributes
    ----------
    process : SparseProcess
    weights : InducedWeights
        The posterior of the features' weights.
    """

    process: SparseProcess
    weights: InducedWeights

    @property
    def model(self) -> InducingFeatures:
        """Kernel, points and mean."""
        return self.process.model

    @property
    def log_evidence(self) -> float:
        """The bound, or FITC's evidence."""
        return self.weights.log_evidence

    @property
    def jitter(self) -> float:
        """What was added to the diagonal of the points' covariance."""
        return self.model.jitter

    def predict(self, X: Array) -> Values:
        """Return means and variances of the function at points."""

        def of_block(block: SparseRows) -> tuple[Array, Array]:
            return self.weights.moments(self.model.of(block.x))

        made = over_blocks(of_block, SparseRows(X, X[:, 0]), self.model.size)
        mean, variance = (np.concatenate(one) for one in zip(*made, strict=True))
        return Values((self.model.mean.center + mean)[:, None], variance)

    def covariance(self, X: Array) -> Array:
        """Return the covariance of the function's values at points, (S, S)."""
        seen = self.model.of(X)
        phi = seen.features[:, : len(self.model.points)]
        spread = seen.features @ self.weights.root.T
        cov = self.model.function.evaluate(X, X) - phi @ phi.T + spread @ spread.T
        cov[np.diag_indices(len(X))] = seen.rest + np.einsum("np,np->n", spread, spread)
        return 0.5 * (cov + cov.T)

    def effects(self, X: Array) -> list[Values]:
        """Return moments of the mean, if there is one, and of each summand of the kernel.

        A summand g has features φ = L⁻¹cov(f(U), g(x)) of its own, and what these leave open.
        """
        model, (mean, root, _) = self.model, self.weights
        first, columns, found = len(model.points), model.mean.columns(X), []
        if columns.shape[1]:
            spread = columns @ root[:, first:].T
            level = model.mean.center + columns @ mean[first:]
            found.append(Values(level[:, None], np.einsum("np,np->n", spread, spread)))
        for part in summands(model.kernel):
            phi = part.evaluate(X, model.points) @ model.inverse.T
            spread = phi @ root[:, :first].T
            rest = np.maximum(part.diagonal(X) - np.einsum("nm,nm->n", phi, phi), 0.0)
            variance = rest + np.einsum("np,np->n", spread, spread)
            found.append(Values((phi @ mean[:first])[:, None], variance))
        return found

    def left_out(self, rows: SparseRows) -> Values:
        r"""Return moments of the targets of rows that were seen, each given all others.

        With :math:`h = \phi^\top B^{-1}\phi/d` the leverage of one row, they are
        :math:`y - (y - \hat y)/(1 - h)` and :math:`d/(1 - h)`, and what the points leave open in the bound.
        """
        seen = self.model.of(rows.x)
        d = row_noise(self.model, rows, seen, self.process.fitc)
        spread = seen.features @ self.weights.root.T
        left = np.maximum(1.0 - np.einsum("np,np->n", spread, spread) / d, _KNOWN)
        gap = rows.y - self.model.mean.center - seen.features @ self.weights.mean
        open_ = 0.0 if self.process.fitc else seen.rest
        return Values((rows.y - gap / left)[:, None], d / left + open_)


def start_sparse(
    kernel: Kernel, points: Array, rows: SparseRows, mean_kind: str, *, fitc: bool, absolute: bool
) -> SparseProcess:
    """Return a process with a given kernel and points after its first rows."""
    moments = _moments(rows)
    model = InducingFeatures(kernel, points, _mean_of(mean_kind, moments), absolute=absolute)
    return SparseProcess(model, mean_kind, fitc, add_up_rows(model, rows, fitc=fitc), moments)


def learn_sparse(
    kernel: Kernel,
    points: Array | int,
    evidence: Callable[[Kernel, Array], Any],
    search: Callable[[Callable[[Kernel], tuple[float, Array]], Kernel], SearchedKernel],
    X: Array,
    *,
    move: bool,
    scout: Callable[[Kernel, Array], Any] | None = None,
) -> tuple[SearchedKernel, Array]:
    """Return the kernel of highest evidence, and its points.

    Parameters
    ----------
    kernel : Kernel
        Where the search begins.
    points : (M, D) or int
        Given, or how many to choose.
    evidence : callable
        From kernel, points and whether slopes in these are wanted to an ``InducedEvidence``.
    search : callable
        From an objective and a kernel to the kernel of highest evidence.
    X : (N, D)
        What points are chosen from.
    move : bool
        Whether points move uphill.
    scout : callable, optional
        Another such evidence, from whose kernel and points the search begins once more.
    """
    given = isinstance(points, np.ndarray)

    def choose(one: Kernel) -> Array:
        return points if given else choose_points(silenced(one), X, points)  # type: ignore[return-value, arg-type]

    def climb(one: Kernel, chosen: Array) -> tuple[SearchedKernel, Array]:
        return search(partial(_objective, evidence, chosen), one), chosen

    tops = [climb(kernel, choose(kernel))]
    n_iter = 0
    if scout is not None and tops[0][0].converged:  # else someone has ended it
        seen, chosen = learn_sparse(kernel, points, scout, search, X, move=False)
        tops.append(climb(seen.kernel, chosen))
        n_iter = seen.n_iter
    if (move or not given) and all(found.converged for found, _ in tops):
        # points anew under the kernel that was found: this begins near its end
        last, chosen = _best(tops)
        anew = last.kernel, chosen if given else choose(last.kernel)
        tops.append(climb(last.kernel, move_points(*anew, evidence) if move else anew[1]))
    best, chosen = _best(tops)
    return best._replace(n_iter=n_iter + sum(found.n_iter for found, _ in tops)), chosen


def _best(tops: list[tuple[SearchedKernel, Array]]) -> tuple[SearchedKernel, Array]:
    return max(tops, key=lambda top: top[0].log_evidence)


def move_points(kernel: Kernel, points: Array, evidence: Callable[..., Any]) -> Array:
    """Return points uphill of the given ones, for a given kernel."""
    scale = np.ptp(points, axis=0)
    unit = np.where(scale > 0, scale, 1.0)

    def evaluate(flat: Array) -> tuple[float, Array]:
        found = evidence(kernel, flat.reshape(points.shape) * unit, True)
        return -found.value, -(found.points * unit).ravel()

    found = optimize.minimize(
        evaluate, (points / unit).ravel(), jac=True, method="L-BFGS-B", options={"maxfun": _MOST}
    )
    return np.asarray(found.x).reshape(points.shape) * unit


def sparse_evidence(
    rows: SparseRows, mean: MeanEffects, fitc: bool, absolute: bool
) -> Callable[..., Any]:
    """Return the evidence of rows as a function of kernel, points, and whether these have slopes."""

    def evidence(kernel: Kernel, points: Array, slopes: bool = False) -> Any:
        model = InducingFeatures(kernel, points, mean, absolute=absolute)
        return induced_evidence(model, rows, fitc=fitc, points=slopes)

    return evidence


def _objective(evidence: Callable[..., Any], points: Array, kernel: Kernel) -> tuple[float, Array]:
    found = evidence(kernel, points)
    return found.value, found.kernel


def _moments(rows: SparseRows) -> Moments:
    return Moments.of_numbers(np.column_stack([rows.y, rows.x]), rows.frequency)


def _mean_of(kind: str, moments: Moments) -> MeanEffects:
    """Return the mean on the scale of rows: two rows with the same moments say the same."""
    std = np.sqrt(moments.scatter / moments.count)
    two = np.stack([moments.mean - std, moments.mean + std])
    return mean_effects(kind, two[:, 1:], two[:, 0])
