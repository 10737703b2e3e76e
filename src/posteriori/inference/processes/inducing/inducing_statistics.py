r"""What rows say about a function that a few points tell: sums that add up.

.. math:: G = \sum_n w_n\phi_n\phi_n^\top,\quad g = \sum_n w_n\phi_n r_n,\quad \sum_n w_n r_n^2,\qquad
          w_n = 1/d_n

with the noise :math:`d_n` of rows and :math:`r = y - \text{level}`. From them come the posterior
:math:`v\sim N(B^{-1}g, B^{-1})`, :math:`B = I + G`, and the evidence

.. math:: \ln N(r\mid 0, \Phi\Phi^\top + D) - \tfrac12\sum_n w_n\rho_n ,

where :math:`\rho_n` is what the points leave open of f(xₙ): the collapsed lower bound. In place of the last
term FITC adds ρ to the noise of rows.

References: M. Titsias, "Variational learning of inducing variables in sparse Gaussian processes", 2009;
E. Snelson & Z. Ghahramani, "Sparse Gaussian processes using pseudo-inputs", 2006.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.processes.inducing.inducing_features import (
    InducedRows,
    InducingFeatures,
    SparseRows,
)
from posteriori.inference.processes.mean_effects import MeanEffects
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.linalg import whiten_above_one
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array

__all__ = ["InducedStatistics", "InducedWeights", "over_blocks", "row_noise", "add_up_rows"]

#: Rows from which on a second thread pays.
_WORTH_THREADS = 2000


class InducedStatistics(NamedTuple):
    """Sums over rows.

    Attributes
    ----------
    gram : (P, P)
    pull : (P,)
    square : float
        Of targets less the level, over the noise.
    log_noise : float
        Σ ln d.
    rest : float
        Σ ρ/d; 0 of FITC.
    rows : float
        How many there are.
    mean : MeanEffects
        Whose columns come last, and whose centre was taken off the targets.
    """

    gram: Array
    pull: Array
    square: float
    log_noise: float
    rest: float
    rows: float
    mean: MeanEffects

    def merge(self, other: InducedStatistics) -> InducedStatistics:
        """Return the sums over the rows of both."""
        moved = other.around(self.mean)
        pairs: Any = zip(self[:-1], moved[:-1], strict=True)
        added: Any = (*(a + b for a, b in pairs), self.mean)
        return InducedStatistics(*added)

    def around(self, mean: MeanEffects) -> InducedStatistics:
        """Return the sums with other columns of the mean, and another level taken off."""
        if mean is self.mean or mean.spread == 0.0:
            return self
        turn, first = _turn(len(self.pull), self.mean, mean)
        step = float(np.ravel(mean.center)[0] - np.ravel(self.mean.center)[0]) / self.mean.spread
        square = self.square - 2.0 * step * self.pull[first] + step**2 * self.gram[first, first]
        pull = turn.T @ (self.pull - step * self.gram[:, first])
        return self._replace(
            gram=turn.T @ self.gram @ turn, pull=pull, square=float(square), mean=mean
        )


class InducedWeights(NamedTuple):
    """The posterior of the features' weights.

    Attributes
    ----------
    mean : (P,)
    root : (P, P)
        R with RᵀR their covariance.
    log_evidence : float
    """

    mean: Array
    root: Array
    log_evidence: float

    @classmethod
    def of(cls, sums: InducedStatistics) -> InducedWeights:
        """Solve for the posterior; all weights are N(0, 1) a priori."""
        root, log_det = whiten_above_one(sums.gram)
        mean = root.T @ (root @ sums.pull)
        misfit = sums.square - float(sums.pull @ mean)
        total = sums.rows * LOG_2PI + sums.log_noise + log_det + misfit + sums.rest
        return cls(mean, root, -0.5 * total)

    def moments(self, rows: InducedRows) -> tuple[Array, Array]:
        """Return means and variances of the function at rows."""
        spread = rows.features @ self.root.T
        return rows.features @ self.mean, rows.rest + np.einsum("np,np->n", spread, spread)


def add_up_rows(model: InducingFeatures, rows: SparseRows, *, fitc: bool) -> InducedStatistics:
    """Return the sums over rows, in blocks of them.

    Parameters
    ----------
    model : InducingFeatures
    rows : SparseRows
    fitc : bool
        Whether what points leave open counts as noise of rows.

    Notes
    -----
    Costs O(N M²), and O(M²) memory beside the rows.
    """

    def add_up(block: SparseRows) -> InducedStatistics:
        seen = model.of(block.x)
        d = row_noise(model, block, seen, fitc)
        f = np.ones(len(d)) if block.frequency is None else block.frequency
        w, r = f / d, block.y - model.mean.center
        scaled = seen.features * np.sqrt(w)[:, None]
        rest = 0.0 if fitc else float(w @ seen.rest)
        return InducedStatistics(
            scaled.T @ scaled,
            seen.features.T @ (w * r),
            float(w @ (r * r)),
            float(f @ np.log(d)),
            rest,
            float(f.sum()),
            model.mean,
        )

    return reduce(InducedStatistics.merge, over_blocks(add_up, rows, model.size))


def row_noise(model: InducingFeatures, block: SparseRows, seen: InducedRows, fitc: bool) -> Array:
    """Return the variances of rows around what the points tell, (n,)."""
    d = model.noise(block)
    return d + seen.rest if fitc else d


def over_blocks(work: Callable[[SparseRows], Any], rows: SparseRows, width: int) -> list[Any]:
    """Return what a function says of blocks of rows that stay in the cache, on all processors."""

    def part(some: slice) -> list[Any]:
        return [work(rows.part(block)) for block in _blocks(some, width)]

    parts = share_rows(part, len(rows.x), 1 + len(rows.x) // _WORTH_THREADS)
    return [answer for part_ in parts for answer in part_]


def _blocks(rows: slice, width: int) -> Iterator[slice]:
    step = rows_per_block(width)
    for first in range(rows.start, rows.stop, step):
        yield slice(first, min(first + step, rows.stop))


def _turn(size: int, old: MeanEffects, new: MeanEffects) -> tuple[Array, int]:
    """Return T with (features with new columns) = (features with old ones) T, and the level's place."""
    turn, ratio = np.eye(size), new.spread / old.spread
    if old.input_center is None or old.input_scale is None:
        turn[-1, -1] = ratio
        return turn, size - 1
    assert new.input_center is not None  # both have lines
    assert new.input_scale is not None
    first = size - 1 - len(old.input_scale)
    scale, places = ratio / new.input_scale, np.arange(first + 1, size)
    turn[first, first] = ratio
    turn[places, places] = scale * old.input_scale
    turn[first, places] = scale * (old.input_center - new.input_center)
    return turn, first
