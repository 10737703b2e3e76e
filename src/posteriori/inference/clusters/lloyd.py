r"""Lloyd's iterations: each row to its nearest centre, each centre to the middle of its rows.

Neither half-step raises :math:`J = \sum_n w_n \sum_{d\ \text{seen}} (x_{nd} - \mu_{z_n d})^2`; with absolute
values in place of squares the middle is the median. An empty cluster takes the row that is farthest from
its centre. Bounds by the triangle inequality (Hamerly 2010) leave out rows that cannot change; those that
rounding cannot tell are measured entry by entry, so the answers are those of all distances.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.clusters.cluster_rows import ClusterRows, Sweeps, objective
from posteriori.inference.clusters.distance_kernels import farthest_row
from posteriori.inference.clusters.weighted_medians import median_centers, ranked_columns
from posteriori.numerics.types import Array, IntArray

__all__ = ["Clustering", "PathStep", "descend"]


class PathStep(NamedTuple):
    """A half-step of k-means.

    Attributes
    ----------
    kind : {"assign", "update", "move"}
        Rows went to their nearest centres; centres to the middle of their rows; or two clusters became
        one and another two.
    centers : (K, D)
    labels : (N,)
    inertia : float
        J after it.
    """

    kind: str
    centers: Array
    labels: IntArray
    inertia: float


class Clustering(NamedTuple):
    """Centres and the rows around them.

    Attributes
    ----------
    centers : (K, D)
    labels : (N,)
    inertia : float
        J.
    n_iter : int
    converged : bool
    path : list of PathStep
        Empty unless it was asked for.
    """

    centers: Array
    labels: IntArray
    inertia: float
    n_iter: int
    converged: bool
    path: list[PathStep]


def descend(
    rows: ClusterRows,
    centers: Array,
    *,
    max_iter: int = 300,
    tol: float = 0.0,
    keep_path: bool = False,
) -> Clustering:
    """Alternate assignments and updates from given centres until no row changes.

    Parameters
    ----------
    rows : ClusterRows
    centers : (K, D)
    max_iter : int
    tol : float
        Ends as well where Σ |μ' − μ|² of all centres is not beyond this.
    keep_path : bool
        Whether every half-step is kept, with copies of labels and centres.

    Notes
    -----
    O(N K D) for an iteration at most; less the fewer rows can change.
    """
    sweeps = Sweeps(rows, len(centers))
    order = ranked_columns(rows.x) if rows.absolute else None
    path: list[PathStep] = []
    now = centers - rows.shift
    n_iter, changed, converged = 0, 1, False
    while not converged and n_iter < max_iter:
        n_iter += 1
        changed = sweeps.assign(now)
        if keep_path:
            path.append(_step("assign", sweeps, now))
        if changed == 0:
            converged = True
            break
        new = _update(sweeps, now, order, exactly=keep_path)
        converged = bool(np.sum((new - now) ** 2) <= tol)
        now = new
        if keep_path:
            path.append(_step("update", sweeps, now))
    if changed:
        changed = sweeps.assign(now)
        if keep_path and changed:
            path.append(_step("assign", sweeps, now))
    elif not rows.absolute:
        now = _update(sweeps, now, None, exactly=True)
    found = now + rows.shift
    return Clustering(found, sweeps.labels, objective(rows, found, sweeps.labels), n_iter, converged, path)  # fmt: skip


def _step(kind: str, sweeps: Sweeps, centers: Array) -> PathStep:
    found, labels = centers + sweeps.rows.shift, sweeps.labels.copy()
    return PathStep(kind, found, labels, objective(sweeps.rows, found, labels))


def _update(sweeps: Sweeps, centers: Array, order: IntArray | None, *, exactly: bool) -> Array:
    """Return the middles of all clusters, and for empty ones the farthest rows.

    ``order`` of columns asks for medians. ``exactly`` adds up all rows; else those that have changed are added and taken away.
    """
    rows = sweeps.rows
    if order is not None:
        now = centers + rows.shift
        new = median_centers(rows.x, rows.weight, sweeps.labels, now, order) - rows.shift
    else:
        if exactly or rows.gappy:
            sweeps.recount()
        seen = sweeps.counts > 0  # an entry that no row has seen stays where it was
        new = np.where(seen, sweeps.sums / np.where(seen, sweeps.counts, 1.0), centers)
    empty = np.flatnonzero(sweeps.members == 0)
    if empty.size:
        sweeps.sums[empty] = sweeps.counts[empty] = 0.0  # what rounding has left
        new[empty] = _farthest(sweeps, new, len(empty))
    return new


def _farthest(sweeps: Sweeps, centers: Array, count: int) -> Array:
    """Return rows that are farthest from their centres and from one another, gaps at the shift."""
    rows: Any = sweeps.rows
    found = np.empty((0, rows.x.shape[1]))
    for _ in range(count):
        i = farthest_row(
            rows.x, rows.weight, centers + rows.shift, sweeps.labels, rows.absolute, found
        )
        row = np.where(np.isnan(rows.x[i]), rows.shift, rows.x[i])
        found = np.concatenate([found, row[None]])
    return found - rows.shift
