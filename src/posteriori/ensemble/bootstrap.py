r"""Bootstrap samples: as many rows as there are, drawn with replacement.

A row is absent from a sample with probability :math:`(1 - 1/N)^N \to e^{-1} \approx 0.368`, and can be
predicted by a model of the sample as a row that it has not seen.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, IntArray, Seed

__all__ = ["BootstrapSamples", "bootstrap_samples", "draw_rows"]

#: Up to so many draws a place is kept of each.
_MOST_PLACES = 100_000_000

#: NumPy's draws without replacement are from fewer than so many.
_MOST_URN = 1e9


class BootstrapSamples(NamedTuple):
    """Which rows are in which bootstrap sample.

    Attributes
    ----------
    counts : (B, N)
        How often each row is in each sample; every sample has N rows.
    """

    counts: IntArray

    @property
    def out_of_bag(self) -> Any:
        """Whether a row is absent from a sample, (B, N)."""
        return self.counts == 0


def bootstrap_samples(n: int, size: int = 1, *, rng: Seed = None) -> BootstrapSamples:
    """Draw bootstrap samples of n rows.

    Parameters
    ----------
    n : int
        Number of rows N ≥ 1.
    size : int
        Number of samples B ≥ 1.
    rng : Generator, int or None

    Returns
    -------
    BootstrapSamples
        ``counts`` and ``out_of_bag``, both (B, N).

    Examples
    --------
    >>> samples = bootstrap_samples(1000, 50, rng=0)
    >>> samples.counts.sum(axis=1).tolist() == [1000] * 50
    True
    >>> round(float(samples.out_of_bag.mean()), 2)  # 1/e = 0.37
    0.37
    """
    for name, value in (("n", n), ("size", size)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}")
    generator = as_generator(rng)
    once = np.ones(n)
    return BootstrapSamples(
        np.stack([draw_rows(once, int(n), True, generator) for _ in range(size)])
    )


def draw_rows(frequency: Array, size: int, replace: bool, rng: np.random.Generator) -> IntArray:
    """Return how often each row is drawn, (N,).

    A row of frequency 2 is drawn as two equal rows would be, by the same random numbers.

    Parameters
    ----------
    frequency : (N,)
        How often each row is there; whole numbers where rows are drawn without replacement.
    size : int
        How many are drawn.
    replace : bool
    rng : Generator
    """
    ends = np.cumsum(frequency)
    total = ends[-1]
    if (size if replace else total) > _MOST_PLACES:
        return _draw_counts(frequency, size, replace, rng)
    places = rng.random(size) * total if replace else rng.permutation(int(total))[:size]
    if total == len(ends) and np.all(frequency == 1.0):
        drawn = places.astype(np.int64)  # what is searched for below, as the ends are 1, 2, …
    else:
        drawn = np.searchsorted(ends, places, side="right")
    return np.bincount(np.minimum(drawn, len(ends) - 1), minlength=len(ends))


def _draw_counts(frequency: Array, size: int, replace: bool, rng: np.random.Generator) -> IntArray:
    """Return how often each row is drawn from very many, whose places would not fit into memory."""
    total = float(frequency.sum())
    if replace:
        return rng.multinomial(size, frequency / total)
    if total >= _MOST_URN:
        raise ValueError(
            f"sample_weight adds up to {total:g} rows, too many to draw some without replacement; divide the "
            "weights by a common number, or set bootstrap=True"
        )
    return rng.multivariate_hypergeometric(frequency.astype(np.int64), size, method="marginals")
