r"""One pass over the rows of a mixture: expectations, the sums that parameters are learned from, a bound.

With features t(x) of a row, the parts of every mixture of exponential families are linear in them,

.. math:: s_{nk} = \ln π_k p(x_n\mid θ_k) - c(x_n) = \langle θ_k, t(x_n)\rangle, \qquad
   r_{nk} = \frac{e^{s_{nk}}}{\sum_j e^{s_{nj}}}, \qquad
   T_k = \sum_n w_n r_{nk} t(x_n),

and so are their expectations under beliefs about θ. The first feature is 1, so that the first column
of θ carries ln π_k and log normalisers, and that of T the counts N_k. Blocks of rows pass through the
cache: nothing of size N × K is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

import numpy as np

from posteriori.numerics.blocks.block_sizes import WITH_COPY, rows_per_block
from posteriori.numerics.threads import share_rows
from posteriori.numerics.types import Array

__all__ = [
    "Features",
    "MixturePass",
    "pass_over_rows",
    "read_blocks_of_rows",
    "remember_features",
    "responsibilities",
]

#: Blocks of rows that are worth the start of a thread.
_BLOCKS_OF_A_THREAD = 4


class Features(Protocol):
    """Functions t of rows, F of them, of which the first is 1."""

    @property
    def size(self) -> int:
        """F."""
        ...

    def of(self, x: Array) -> Array:
        """Return t(x) of rows (B, D), a column each: (F, B)."""


class _Remembered(NamedTuple):
    """Features (F, N) of rows that are asked for again and again."""

    t: Array

    @property
    def size(self) -> int:
        """F."""
        return len(self.t)

    def of(self, x: Array) -> Array:
        """Return those of all rows."""
        return self.t


def remember_features(features: Features, x: Array) -> Features:
    """Return features for passes over the same rows: made once where one block holds all of them."""
    few = len(x) <= rows_per_block(features.size, WITH_COPY)
    return _Remembered(features.of(x)) if few else features


class MixturePass(NamedTuple):
    """What a pass has found.

    Attributes
    ----------
    statistics : (K, F)
        T_k, with the counts N_k first.
    log_likelihood : float
        Σ_n w_n ln Σ_k exp s_nk; of certain assignments Σ_n w_n max_k s_nk.
    """

    statistics: Array
    log_likelihood: float


def pass_over_rows(
    features: Features,
    theta: Array,
    x: Array,
    frequency: Array | None = None,
    *,
    hard: bool = False,
) -> MixturePass:
    """Return sums of the statistics of all rows, shared out among K components.

    Threads share the rows of a long table.

    Parameters
    ----------
    features : Features
    theta : (K, F)
    x : (N, D)
    frequency : (N,), optional
        How often each row counts.
    hard : bool
        Whether a row belongs to its most probable component alone.
    """

    def add(part: slice) -> MixturePass:
        weights = None if frequency is None else frequency[part]
        return _add_rows(features, theta, x[part], weights, hard)

    blocks = len(x) // rows_per_block(features.size, WITH_COPY)
    if blocks == 0:
        return add(slice(None))
    found = share_rows(add, len(x), blocks // _BLOCKS_OF_A_THREAD)
    statistics, totals = zip(*found, strict=True)
    return MixturePass(sum(statistics), sum(totals))


def _add_rows(
    features: Features, theta: Array, x: Array, frequency: Array | None, hard: bool
) -> MixturePass:
    statistics, total = np.zeros(theta.shape), 0.0
    for rows in read_blocks_of_rows(len(x), features.size):
        t = features.of(x[rows])
        shares, log_sums = responsibilities(theta @ t, hard=hard)
        counted = shares
        if frequency is not None:
            counted = shares * frequency[rows]
            log_sums *= frequency[rows]
        statistics += counted @ t.T
        total += float(log_sums.sum())
    return MixturePass(statistics, total)


def responsibilities(scores: Array, *, hard: bool = False) -> tuple[Array, Array]:
    """Return r (K, B) and ln Σ_k exp s (B,) of scores (K, B), which are overwritten.

    With ``hard``, 1 for the first of the largest scores, and that score.
    """
    top = scores.max(axis=0)
    if hard:
        best = scores.argmax(axis=0)
        scores[...] = 0.0
        scores[best, np.arange(scores.shape[1])] = 1.0
        return scores, top
    scores -= np.where(np.isfinite(top), top, 0.0)
    np.exp(scores, out=scores)
    sums = scores.sum(axis=0)
    scores /= sums
    return scores, top + np.log(sums)


def read_blocks_of_rows(rows: int, width: int) -> Iterator[slice]:
    """Return slices of rows whose features stay in the cache."""
    step = rows_per_block(width, WITH_COPY)
    return (slice(first, min(first + step, rows)) for first in range(0, rows, step))
