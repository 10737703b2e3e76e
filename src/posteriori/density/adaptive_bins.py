r"""Histograms whose bins are as wide as the data allow, averaged over all of them.

The range is divided into M equal cells, and each of the :math:`2^{M-1}` ways to join neighbouring cells
to segments is a histogram. A segment of n rows and length v has the factor

.. math:: f = \frac{\Gamma(n + 1/2)}{\Gamma(1/2)}\,v^{-n},\qquad
   p(X\mid\text{segments}) = \frac{\Gamma(S/2)}{\Gamma(N + S/2)}\prod_s f_s ,

with masses Dirichlet(½, …, ½); the number S of segments is uniform, and its inner edges given it.
"""

from __future__ import annotations

import numpy as np

from posteriori.density.line_rows import LineRows
from posteriori.density.segmentations import Segmentations, sum_segmentations
from posteriori.density.step_density import StepDensity, believed_number
from posteriori.distributions.counts.categorical import Categorical
from posteriori.estimators.parameters import WHOLE, or_none
from posteriori.numerics.lazy import special
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["AdaptiveHistogram"]


class AdaptiveHistogram(StepDensity):
    """A density of one number from all histograms whose edges lie on a grid.

    Narrow bins where rows are many, wide ones where they are few; evidence, edges and averaged density
    are exact sums over all histograms, in O(cells² · max_segments).

    Parameters
    ----------
    cells : int
        Number M of equal cells of the range.
    range : pair of float, optional
        Ends of the numbers that are possible; from the least to the largest row if None.
    max_segments : int, optional
        Largest number of segments; ``cells`` if None.

    Attributes
    ----------
    n_segments_ : Categorical
        p(S | X), labelled 1, 2, ….
    edge_probabilities_ : (M − 1,)
        Probability that the density jumps at each inner edge, ``edges_[1:-1]``.
    log_evidence_ : LogEvidence
        "exact" with ``range`` given, else "type-II".
    model_ : Mixture of Uniform
        The averaged density, constant in each cell.
    edges_, masses_ : (M + 1,), (M,)
        Its cells.

    Examples
    --------
    >>> x = [0.05, 0.11, 0.42, 0.47, 0.5, 0.53, 0.58, 0.91]
    >>> model = AdaptiveHistogram(cells=10, range=(0, 1)).fit(x)
    >>> model.log_evidence_
    LogEvidence(-0.211731, kind="exact", of="X")
    >>> model.edge_probabilities_.round(2)
    array([0.47, 0.55, 0.46, 0.69, 0.51, 0.76, 0.46, 0.45, 0.56])
    """

    _constraints = {"cells": WHOLE, "max_segments": or_none(WHOLE)}

    def __init__(
        self,
        cells: int = 200,
        range: tuple[float, float] | None = None,
        max_segments: int | None = None,
    ) -> None:
        self.cells = cells
        self.range = range
        self.max_segments = max_segments

    n_segments_: Categorical
    edge_probabilities_: Array

    def _learn(self, rows: LineRows) -> Array:
        cells = int(self.cells)
        most = cells if self.max_segments is None else min(int(self.max_segments), cells)
        shares = np.arange(cells + 1) / cells
        self.edges_ = rows.edges(shares)
        below = np.concatenate(([0.0], np.cumsum(rows.counts(self.edges_))))
        lengths = (rows.high - rows.low) * shares
        sums = sum_segmentations(_log_factors(below, lengths), most)
        log_priors = _log_priors(rows.total, cells, most)
        log_likelihoods = log_priors + sums.log_totals
        self.n_segments_ = believed_number(log_likelihoods)
        log_posterior = log_priors - log_sum_exp(log_likelihoods)
        edges = np.exp(sums.log_edges(log_posterior)[1:-1])
        self.edge_probabilities_ = np.minimum(edges, 1.0)
        self.masses_ = _masses(sums, log_posterior, below)
        return log_likelihoods


def _log_factors(below: Array, lengths: Array) -> Array:
    """Return ln f(i, j) of segments between edges i < j, (M + 1, M + 1)."""
    i, j = np.triu_indices(len(below), 1)
    counts = below[j] - below[i]
    made = np.full((len(below), len(below)), -np.inf)
    log_gamma = special.gammaln
    made[i, j] = log_gamma(counts + 0.5) - log_gamma(0.5) - counts * np.log(lengths[j - i])
    return made


def _log_priors(count: float, cells: int, most: int) -> Array:
    """Return ln Γ(S/2)/{Γ(N + S/2) C(M−1, S−1)} of S = 1, …, (S,)."""
    s = np.arange(1, most + 1)
    log_gamma = special.gammaln
    ways = log_gamma(cells) - log_gamma(s) - log_gamma(cells - s + 1.0)
    return log_gamma(0.5 * s) - log_gamma(count + 0.5 * s) - ways


def _masses(sums: Segmentations, log_posterior: Array, below: Array) -> Array:
    """Return the mean mass of every cell: Σ p(segments | X) (n_s + ½)/(N + S/2)/(cells of s)."""
    s = np.arange(1, len(log_posterior) + 1)
    shares = log_posterior - np.log(below[-1] + 0.5 * s)
    i, j = np.triu_indices(len(below), 1)
    height = np.zeros_like(sums.log_factors)
    height[i, j] = np.exp(sums.log_segments(shares)[i, j]) * (below[j] - below[i] + 0.5) / (j - i)
    started = np.cumsum(height, axis=0)  # segments that begin at or before cell i and end at j
    masses = np.array([started[c, c + 1 :].sum() for c in range(len(below) - 1)])
    return masses / masses.sum()
