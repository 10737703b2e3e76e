r"""Whether chains agree: the potential scale reduction R̂ and the effective sample size.

Each chain is halved, so that drift counts as disagreement; with W the variance inside halves and B the
variance of their means,

.. math:: \hat R = \sqrt{\frac{\tfrac{n-1}n W + B}{W}}, \qquad
          n_{\text{eff}} = \frac{mn}{1 + 2\sum_t\hat\rho_t},

where the sum over autocorrelations ends when sums of neighbours turn negative, and never rises (C. Geyer).

Reference: A. Vehtari, A. Gelman, D. Simpson, B. Carpenter & P.-C. Bürkner, "Rank-normalization, folding, and
localization: an improved R̂", Bayesian Analysis 16, 2021, sec. 2 and 3.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.lazy import fft
from posteriori.numerics.types import Array

__all__ = ["effective_sample_size", "potential_scale_reduction"]


def potential_scale_reduction(draws: Array) -> float:
    """Return R̂ of chains (C, T): 1 where they agree, NaN of fewer than four draws each.

    Examples
    --------
    >>> potential_scale_reduction(np.array([[1.0, 1.0, 1.0, 1.0], [2.0, 2.0, 2.0, 2.0]]))
    inf
    """
    if draws.shape[1] < 4:
        return float("nan")
    halves = _split_chains(draws)
    if (halves == halves[0, 0]).all():
        return 1.0
    n = halves.shape[1]
    within = halves.var(axis=1, ddof=1).mean()
    between = halves.mean(axis=1).var(ddof=1)
    if within == 0.0:
        return float("inf")
    return float(np.sqrt((n - 1) / n + between / within))


def effective_sample_size(draws: Array) -> float:
    """Return how many independent draws chains (C, T) are worth for their mean."""
    if draws.shape[1] < 4 or (draws == draws[0, 0]).all():
        return float(draws.size)
    halves = _split_chains(draws)
    m, n = halves.shape
    covariance = _autocovariances(halves).mean(axis=0)
    within = covariance[0] * n / (n - 1)
    spread = covariance[0] + halves.mean(axis=1).var(ddof=1)  # (n − 1)/n W + B
    correlation = 1.0 - (within - covariance * n / (n - 1)) / spread
    correlation[0] = 1.0
    pairs = correlation[: n // 2 * 2].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0.0)
    pairs = np.minimum.accumulate(pairs[: ends[0]] if len(ends) else pairs)
    time = max(2.0 * pairs.sum() - 1.0, 1.0 / np.log10(m * n))  # as antithetic chains are bounded
    return float(m * n / time)


def _split_chains(draws: Array) -> Array:
    n = draws.shape[1] // 2
    return np.concatenate([draws[:, :n], draws[:, -n:]]).astype(np.float64)


def _autocovariances(x: Array) -> Array:
    """Return (1/n) Σ (x_t − x̄)(x_{t+l} − x̄) of each series, by lag l."""
    n = x.shape[1]
    spectrum = fft.rfft(x - x.mean(axis=1, keepdims=True), n=2 * n, axis=1)
    covariance: Array = fft.irfft(np.abs(spectrum) ** 2, n=2 * n, axis=1)[:, :n] / n
    return covariance
