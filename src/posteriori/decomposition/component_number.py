r"""How many principal components: by share of variance, by the knee, by evidence, or against noise.

Evidence is Laplace's approximation of Minka: with k directions of variances :math:`\lambda_i`, and one
variance v for the other D − k,

.. math:: p(X\mid k) \approx p(U)\,\Bigl(\prod_{j\le k}\lambda_j\Bigr)^{-N/2} v^{-N(D-k)/2}
          (2\pi)^{(m+k)/2}\,|A|^{-1/2} N^{-k/2}, \qquad m = Dk - \tfrac{k(k+1)}2.

References: T. Minka, "Automatic choice of dimensionality for PCA", 2000; J. Horn, "A rationale and test
for the number of factors in factor analysis", 1965; E. Dobriban & A. Owen, "Deterministic parallel
analysis", 2019; V. Satopää et al., "Finding a kneedle in a
haystack", 2011.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import gammaln

from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "KINDS",
    "check_number",
    "count_above_noise",
    "find_knee",
    "log_evidences_of_rank",
    "number_for_share",
]

#: Names of rules that choose a number.
KINDS = ("knee", "evidence", "parallel")

#: Tables of noise that are drawn, and the quantile of their eigenvalues that signals exceed.
_DRAWS, _QUANTILE = 100, 0.95


def number_for_share(values: Array, total: float, share: float) -> int:
    """Return the fewest components that carry a share of the variance.

    Examples
    --------
    >>> number_for_share(np.array([6.0, 3.0, 1.0]), 10.0, 0.9)
    2
    """
    sums = np.cumsum(values)
    enough = np.flatnonzero(sums >= share * total * (1.0 - 1e-12))  # a sum that rounds below counts
    return int(enough[0]) + 1 if len(enough) else len(values)


def find_knee(values: Array) -> int:
    """Return how many eigenvalues stand before the spectrum flattens.

    The first one after them lies farthest below the straight line from the first to the last.

    Examples
    --------
    >>> find_knee(np.array([9.0, 8.0, 7.0, 1.0, 0.9, 0.8]))
    3
    """
    if len(values) < 3:
        return 1
    line = np.linspace(values[0], values[-1], len(values))
    return max(1, int(np.argmax(line - values)))


def log_evidences_of_rank(values: Array, n: int) -> Array:
    """Return ln p(X | k) for k = 1, …, D − 1, from all D eigenvalues; up to what k has no part in.

    Parameters
    ----------
    values : (D,)
        Positive, the largest first.
    n : int
        Rows.
    """
    d = len(values)
    return np.array([_log_evidence(values, k, n) for k in range(1, d)])


def count_above_noise(
    values: Array, vectors: Array, variances: Array, n: int, rng: np.random.Generator
) -> int:
    """Return how many leading directions carry more variance than noise does (Horn); at least 1.

    After each one that does, noise has the variances that are left: strong directions hide no weak ones.

    Parameters
    ----------
    values : (M,)
    vectors : (M, D)
    variances : (D,)
        Of the columns.
    n : int
        Rows.
    rng : Generator
    """
    left, d = np.array(variances), len(variances)
    for j, value in enumerate(values):
        spread = np.sqrt(np.maximum(left, 0.0) * d / (d - j))  # D − j directions are left
        if value <= _noise_bound(spread, vectors[:j], n - j, rng):
            return max(1, j)
        left -= value * vectors[j] ** 2
    return len(values)


def _noise_bound(spread: Array, taken: Array, n: int, rng: np.random.Generator) -> float:
    """Return what eigenvalues of independent normal columns seldom exceed, but for taken directions."""
    d = len(spread)
    rows = max(1, min(n - 1, d))
    freedom = np.maximum(n - 1 - np.arange(rows), 1)
    largest = np.empty(_DRAWS)
    for i in range(_DRAWS):
        root = np.triu(rng.standard_normal((rows, d)), 1)  # R of the QR of n − 1 normal rows
        root[np.arange(rows), np.arange(rows)] = np.sqrt(rng.chisquare(freedom))
        root *= spread
        root -= (root @ taken.T) @ taken
        largest[i] = np.linalg.norm(root, 2) ** 2 / n
    return float(np.quantile(largest, _QUANTILE))


def _log_evidence(values: Array, k: int, n: int) -> float:
    d = len(values)
    v = float(values[k:].mean())
    m = d * k - k * (k + 1) / 2.0
    i = np.arange(1, k + 1)
    half = (d - i + 1) / 2.0
    prior = -k * np.log(2.0) + np.sum(gammaln(half) - half * np.log(np.pi))  # ln p(U)
    fit = -0.5 * n * (np.log(values[:k]).sum() + (d - k) * np.log(v))
    filled = np.append(values[:k], np.full(d - k, v))
    rows, columns = np.triu_indices(d, 1)
    inside = rows < k
    rows, columns = rows[inside], columns[inside]
    gaps = np.log(1.0 / filled[columns] - 1.0 / filled[rows])
    gaps += np.log(values[rows] - values[columns]) + np.log(n)
    return float(prior + fit + 0.5 * (m + k) * LOG_2PI - 0.5 * gaps.sum() - 0.5 * k * np.log(n))


def check_number(value: Any) -> None:
    """Refuse what is neither a number of components, a share, a rule nor None."""
    if value is None or (isinstance(value, str) and value in KINDS):
        return
    whole = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1
    share = isinstance(value, float) and 0.0 < value <= 1.0
    if not (whole or share):
        told = ", ".join(map(repr, KINDS))
        raise ValueError(
            "n_components must be a whole number >= 1, a share of variance in (0, 1], None or one of "
            f"{told}, got {value!r}"
        )
