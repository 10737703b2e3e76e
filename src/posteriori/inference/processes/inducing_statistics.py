r"""What rows say about a function that a few points tell: sums that add up.

.. math:: G = \sum_n w_n\phi_n\phi_n^\top,\quad g = \sum_n w_n\phi_n r_n,\quad \sum_n w_n r_n^2,\qquad
          w_n = 1/d_n

with the noise :math:`d_n` of rows and :math:`r = y - \text{level}`. From them come the posterior
:math:`v\sim N(B^{-1}g, B^{-1})`, :math:`B = \Lambda_0 + G`, and the evidence

.. math:: \ln N(r\mid 0, \Phi\Lambda_0^{-1}\Phi^\top + D) - \tfrac12\sum_n w_n\rho_n ,

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

from posteriori.inference.processes.inducing_features import (
    InducedRows,
    InducingFeatures,
    ProcessRows,
)
from posteriori.numerics.blocks.block_sizes import rows_per_block
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array

__all__ = ["InducedStatistics", "InducedWeights", "over_blocks", "row_noise", "sum_rows"]

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
    count : float
        Of rows.
    level : float
        What was taken off the targets.
    ones : int
        The place of the feature that is 1, where other than 0 was taken off.
    """

    gram: Array
    pull: Array
    square: float
    log_noise: float
    rest: float
    count: float
    level: float
    ones: int

    def merge(self, other: InducedStatistics) -> InducedStatistics:
        """Return the sums over the rows of both."""
        moved = other.around(self.level)
        added = (a + b for a, b in zip(self[:-2], moved[:-2], strict=True))
        return InducedStatistics(*added, self.level, self.ones)

    def around(self, level: float) -> InducedStatistics:
        """Return the sums with another level taken off; their column of ones is known."""
        step = level - self.level
        if step == 0.0:
            return self
        one = self.ones
        square = self.square - 2.0 * step * self.pull[one] + step**2 * self.gram[one, one]
        return self._replace(
            pull=self.pull - step * self.gram[:, one], square=float(square), level=level
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
    def of(cls, sums: InducedStatistics, prior: Array) -> InducedWeights:
        """Solve for the posterior, given precisions of the weights."""
        root = triangular_inverse(np.linalg.cholesky(np.diag(prior) + sums.gram))
        mean = root.T @ (root @ sums.pull)
        log_det = -2.0 * float(np.log(np.diagonal(root)).sum()) - float(np.log(prior).sum())
        misfit = sums.square - float(sums.pull @ mean)
        total = sums.count * LOG_2PI + sums.log_noise + log_det + misfit + sums.rest
        return cls(mean, root, -0.5 * total)

    def moments(self, rows: InducedRows) -> tuple[Array, Array]:
        """Return means and variances of the function at rows."""
        spread = rows.features @ self.root.T
        return rows.features @ self.mean, rows.rest + np.einsum("np,np->n", spread, spread)


def sum_rows(
    model: InducingFeatures, rows: ProcessRows, level: float, *, fitc: bool
) -> InducedStatistics:
    """Return the sums over rows, in blocks of them.

    Parameters
    ----------
    model : InducingFeatures
    rows : ProcessRows
    level : float
        Taken off the targets; 0 where there is no column 1 of a mean.
    fitc : bool
        Whether what points leave open counts as noise of rows.

    Notes
    -----
    Costs O(N M²), and O(M²) memory beside the rows.
    """

    def add_up(block: ProcessRows) -> InducedStatistics:
        seen = model.of(block.x)
        d = row_noise(model, block, seen, fitc)
        f = np.ones(len(d)) if block.frequency is None else block.frequency
        w, r = f / d, block.y - level
        scaled = seen.features * np.sqrt(w)[:, None]
        rest = 0.0 if fitc else float(w @ seen.rest)
        return InducedStatistics(
            scaled.T @ scaled,
            seen.features.T @ (w * r),
            float(w @ (r * r)),
            float(f @ np.log(d)),
            rest,
            float(f.sum()),
            level,
            len(model.points),
        )

    return reduce(InducedStatistics.merge, over_blocks(add_up, rows, len(model.prior)))


def row_noise(model: InducingFeatures, block: ProcessRows, seen: InducedRows, fitc: bool) -> Array:
    """Return the variances of rows around what the points tell, (n,)."""
    d, _ = model.noise(block)
    return d + seen.rest if fitc else d


def over_blocks(work: Callable[[ProcessRows], Any], rows: ProcessRows, width: int) -> list[Any]:
    """Return what a function says of blocks of rows that stay in the cache, on all processors."""

    def part(some: slice) -> list[Any]:
        return [work(rows.part(block)) for block in _blocks(some, width)]

    parts = share_rows(part, len(rows.x), 1 + len(rows.x) // _WORTH_THREADS)
    return [answer for part_ in parts for answer in part_]


def _blocks(rows: slice, width: int) -> Iterator[slice]:
    step = rows_per_block(width)
    for first in range(rows.start, rows.stop, step):
        yield slice(first, min(first + step, rows.stop))
