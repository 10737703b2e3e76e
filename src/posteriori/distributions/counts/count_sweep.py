r"""Quantiles of mixtures of counts, by one sweep over the counts of each.

A cumulative probability of a Poisson or negative binomial distribution costs microseconds, but each
probability follows from the one before it (Panjer's recursion),

.. math:: p(x + 1) = \Big(a + \frac b{x + 1}\Big)\,p(x),

so that a mixture's are summed up until they reach the level. Where the sum comes so near the level
that rounding could decide, and where counts are very large, cumulative probabilities do.

Reference: H. Panjer, "Recursive evaluation of a family of compound distributions", 1981.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.counts.count_sweep_kernels import sweep_counts
from posteriori.distributions.counts.poisson_terms import count_quantile
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.types import Array

__all__ = ["CountComponents", "mixed_count_quantile"]

#: So few components in all are sooner done than the compiled sweep is loaded.
_FEW = 2000

#: Components begin at multiples of this.
_EVERY = 64

#: Most counts of a sweep.
_MOST = 1 << 16

#: Components begin this many standard deviations below their means, with e^(−s²/2) of them beneath.
_BELOW = 7.0

#: Rounding of the sums, and what lies beneath, are far less than this.
_MARGIN = 1e-9

#: The smallest log probability that a component may begin with.
_LEAST = -700.0

_NO_LIMIT = np.asarray(np.inf)


class CountComponents(Protocol):
    """Distributions of counts without an upper limit, whose probabilities follow Panjer's recursion."""

    mean: Array
    std: Array
    variance: Array

    def log_prob(self, x: Any) -> Array:
        """Return log probabilities."""

    def cdf(self, x: Any) -> Array:
        """Return cumulative probabilities."""

    def _panjer(self) -> tuple[Array, Array]:
        """Return a and b."""


def mixed_count_quantile(weights: Array, components: Any, q: Array) -> Array:
    """Return the least counts with Σ_k π_k P_k(X <= x) >= q.

    Parameters
    ----------
    weights : (..., K)
        Mixing weights π.
    components : CountComponents
        A batch (..., K).
    q : array that broadcasts against (...)
    """
    batch = weights.shape[:-1]
    shape = np.broadcast_shapes(np.shape(q), batch)
    levels = np.array(np.broadcast_to(q, shape), dtype=np.float64).ravel()
    places = np.arange(np.prod(batch, dtype=int)).reshape(batch)
    rows = np.array(np.broadcast_to(places, shape)).ravel()
    few = len(levels) * weights.shape[-1] <= _FEW
    found = np.full(len(levels), -1.0) if few else _swept(weights, components, levels, rows)
    left = np.flatnonzero(found < 0)
    if len(left):
        index = np.unravel_index(rows[left], batch) if batch else (np.newaxis,)
        found[left] = _bisected(weights[index], take_members(components, index), levels[left])
    return found.reshape(shape)[()]


def _swept(weights: Array, components: CountComponents, levels: Array, rows: Array) -> Array:
    """Return the counts (R,) of the levels of rows, −1 where a sweep does not tell."""
    lowest = components.mean - _BELOW * components.std
    start = np.floor(np.maximum(lowest, 0.0) / _EVERY) * _EVERY
    logs = components.log_prob(start)
    flat = (-1, weights.shape[-1])

    def rowwise(table: Array) -> Array:
        return as_kernel_input(np.broadcast_to(table, weights.shape).reshape(flat))

    a, b = map(rowwise, components._panjer())
    found = np.empty(len(levels))
    masses = rowwise(weights * np.exp(logs))
    sweep_counts(levels, rows, rowwise(start), masses, a, b, _EVERY, _MOST, _MARGIN, found)
    vanishing = np.any((~(logs >= _LEAST) & (weights > 0)).reshape(flat), axis=1)
    return np.where(vanishing[rows], -1.0, found)


def _bisected(weights: Array, components: CountComponents, levels: Array) -> Array:
    """Return the counts (R,) of levels of as many mixtures, by cumulative probabilities."""
    mean = (weights * components.mean).sum(axis=-1)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite variances are welcome
        gaps = components.mean - mean[..., None]
        variance = (weights * (components.variance + gaps**2)).sum(axis=-1)

    def cdf(x: Array) -> Array:
        return np.minimum((weights * components.cdf(x[..., None])).sum(axis=-1), 1.0)

    return count_quantile(cdf, levels, mean, variance, _NO_LIMIT)
