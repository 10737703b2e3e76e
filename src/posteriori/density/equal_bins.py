r"""Histograms of equal bins, averaged over their number.

.. math:: p(X\mid M) = \Big(\frac{M}{V}\Big)^N \frac{\Gamma(M/2)}{\Gamma(1/2)^M}\,
   \frac{\prod_m\Gamma(n_m + 1/2)}{\Gamma(N + M/2)}

with V the length of the range and :math:`n_m` of the N rows in bin m: masses are Dirichlet(½, …, ½).

Reference: K. Knuth, "Optimal data-based binning for histograms", 2006 (physics/0605197), eq. 31.
"""

from __future__ import annotations

import numpy as np

from posteriori.density.line_rows import LineRows
from posteriori.density.step_density import StepDensity, believed_number
from posteriori.distributions.counts.categorical import Categorical
from posteriori.estimators.parameters import AT_LEAST_ONE
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array

__all__ = ["Histogram"]


class Histogram(StepDensity):
    """A density of one number from histograms of 1 to ``max_bins`` equal bins.

    All numbers of bins are equally probable before the data and averaged by their posterior; in a bin
    that holds n of N rows the mean density is (n + ½)/(N + M/2) · M/V. The cost is
    O(N ln N + max_bins² ln N).

    Parameters
    ----------
    max_bins : int
        Largest number of bins M.
    range : pair of float, optional
        Ends of the numbers that are possible; from the least to the largest row if None.

    Attributes
    ----------
    n_bins_ : Categorical
        p(M | X), labelled 1, 2, ….
    log_evidence_ : LogEvidence
        "exact" with ``range`` given, else "type-II".
    model_ : Mixture of Uniform
        The averaged density.
    edges_, masses_ : (B + 1,), (B,)
        Its bins: all edges of all histograms.

    Examples
    --------
    >>> hours = [0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 20.0]
    >>> model = Histogram(max_bins=20, range=(0, 24)).fit(hours)
    >>> model.n_bins_.mode
    7
    >>> model.log_evidence_
    LogEvidence(-18.776257, kind="exact", of="X")
    """

    _constraints = {"max_bins": AT_LEAST_ONE._replace(words="be a whole number >= 1", whole=True)}

    def __init__(self, max_bins: int = 100, range: tuple[float, float] | None = None) -> None:
        self.max_bins = max_bins
        self.range = range

    n_bins_: Categorical

    def _learn(self, rows: LineRows) -> Array:
        numbers = np.arange(1, int(self.max_bins) + 1)
        # equal fractions m/M round to equal numbers, so edges that histograms share are equal
        shares = [np.arange(m + 1) / m for m in numbers]
        counts = [rows.counts(rows.edges(share)) for share in shares]
        log_likelihoods = np.array([_log_likelihood(rows, c) for c in counts])
        self.n_bins_ = believed_number(log_likelihoods)
        every = np.unique(np.concatenate(shares))
        masses = np.zeros(len(every) - 1)
        for p, share, count in zip(self.n_bins_.probabilities, shares, counts, strict=True):
            mean = (count + 0.5) / (rows.total + 0.5 * len(count)) * len(count)  # E[π_m] M
            masses += p * mean[np.searchsorted(share, every[:-1], side="right") - 1]
        self.edges_ = rows.edges(every)
        masses *= np.diff(every)
        self.masses_ = masses / masses.sum()
        return log_likelihoods


def _log_likelihood(rows: LineRows, counts: Array) -> float:
    m, n = len(counts), rows.total
    log_gamma = special.gammaln
    return float(
        n * (np.log(m) - np.log(rows.high - rows.low))
        + log_gamma(0.5 * m)
        - log_gamma(n + 0.5 * m)
        + (log_gamma(counts + 0.5) - log_gamma(0.5)).sum()
    )
