r"""What counting all namings of the components adds to a bound on the evidence.

A mixture of K components with one prior is the same under all K! namings, and its posterior has as
many copies. A belief q sits at one of them; the even mixture of all copies is better by at least

.. math:: \ln K! - \ln \mathrm{perm}\,B, \qquad B_{jk} = \int \sqrt{q(θ_j = θ)\,q(θ_k = θ)}\,dθ,

with Bhattacharyya's coefficients B, of an exponential family
:math:`\exp\{A(\tfrac12η_j+\tfrac12η_k) - \tfrac12A(η_j) - \tfrac12A(η_k)\}`. Components without rows
are alike (B = 1) and gain nothing by exchange.

Reference: A. Kolchinsky & B. Tracey, "Estimating mixture entropy with pairwise distances", 2017.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln

from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["gain_of_orders", "log_affinities", "symmetry_gain"]

#: A permanent is summed over all 2^K sets of columns up to here; beyond, row sums bound it.
_MOST_EXACT = 12


def log_affinities(log_normalizer: Array, halfway: Array) -> Array:
    """Return ln B (K, K) of an exponential family.

    Parameters
    ----------
    log_normalizer : (K,)
        A(η_k).
    halfway : (K, K)
        A(½η_j + ½η_k).
    """
    log_b = halfway - 0.5 * (log_normalizer[:, None] + log_normalizer)
    np.fill_diagonal(log_b, 0.0)
    return np.minimum(log_b, 0.0)


def symmetry_gain(log_b: Array) -> float:
    """Return ln K! − ln perm B, never below 0; of more than 12 components a lower bound of it.

    Parameters
    ----------
    log_b : (K, K)
        Logarithms of Bhattacharyya's coefficients. Where components have exchangeable parts of their own, those
        of the even mixtures of their copies, of which that of one with itself is below 0.

    Examples
    --------
    >>> round(symmetry_gain(np.log(np.eye(3) + 1e-300)), 6)  # nothing in common: ln 3!
    1.791759
    >>> symmetry_gain(np.zeros((3, 3)))  # all alike
    0.0
    """
    b = np.exp(log_b)
    log_permanent = _log_permanent(b) if len(b) <= _MOST_EXACT else np.log(b.sum(axis=1)).sum()
    return float(max(gammaln(len(b) + 1.0) - log_permanent, 0.0))


def gain_of_orders(log_b: Array, orders: Array) -> float:
    """Return ln |G| − ln Σ_σ Π_j B_{jσ(j)}, never below 0, where only the orders σ (G, K) are alike a priori."""
    each = log_b[np.arange(len(log_b)), orders].sum(axis=1)
    return float(max(np.log(len(orders)) - log_sum_exp(each), 0.0))


def _log_permanent(b: Array) -> float:
    """Return ln Σ_σ Π_j B_{jσ(j)} of a matrix with entries >= 0.

    Rows are placed one after another: f(S) sums the products of the first |S| rows over their
    assignments to the columns in S. All terms are positive, so that no digits are lost.
    """
    k = len(b)
    sets = np.zeros(1 << k)
    sets[0] = 1.0
    sizes = np.bitwise_count(np.arange(1 << k, dtype=np.uint32))
    for row in range(k):
        here = np.flatnonzero(sizes == row)
        for column in range(k):
            free = here[(here >> column) & 1 == 0]
            sets[free | (1 << column)] += b[row, column] * sets[free]
    return float(np.log(sets[-1]))
