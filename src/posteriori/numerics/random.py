"""Random streams: every draw in posteriori comes from a generator made here."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from posteriori.numerics.types import Seed

__all__ = ["as_generator", "as_size", "draw_counts", "spawn_generators"]

#: Poisson counts of larger rates are drawn as normal numbers: their skewness is 1e-8, and not all of
#: them are whole numbers that a computer has.
_NORMAL_RATE = 1e16


def as_generator(rng: Seed = None) -> np.random.Generator:
    """Turn ``rng`` into a generator: a generator is used as it is, an integer seeds one.

    None asks the operating system for fresh entropy.

    Examples
    --------
    >>> bool(as_generator(7).normal() == as_generator(7).normal())
    True
    """
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None or (isinstance(rng, Integral) and not isinstance(rng, bool)):
        if rng is not None and rng < 0:
            raise ValueError(f"rng must be a non-negative seed, got {rng}")
        return np.random.default_rng(rng)
    raise TypeError(
        f"rng must be None, an integer seed or a numpy Generator, got {type(rng).__name__}; "
        "np.random.default_rng(seed) makes one"
    )


def as_size(size: Any) -> tuple[int, ...]:
    """Return the leading shape of draws: () for None, (n,) for a whole number.

    Examples
    --------
    >>> as_size(None), as_size(np.int64(3)), as_size((2, 3))
    ((), (3,), (2, 3))
    """
    if size is None:
        return ()
    sizes = size if isinstance(size, (tuple, list)) else (size,)
    for n in sizes:
        if not isinstance(n, Integral) or isinstance(n, bool):
            raise TypeError(f"size must be a whole number or a tuple of them, got {size!r}")
        if n < 0:
            raise ValueError(f"size must not be negative, got {size!r}")
    return tuple(int(n) for n in sizes)


def spawn_generators(rng: Seed, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent streams, for work that runs side by side."""
    return as_generator(rng).spawn(count)


def draw_counts(rates: Any, rng: np.random.Generator, size: Any = None) -> Any:
    """Return Poisson counts as float64, of rates up to any.

    Examples
    --------
    >>> draw_counts(np.array([0.0, 1e100]), as_generator(0))
    array([0.e+000, 1.e+100])
    """
    rate = np.asarray(rates, dtype=np.float64)
    large = rate > _NORMAL_RATE
    if not large.any():
        return rng.poisson(rate, size) * 1.0
    counts = rng.poisson(np.where(large, 0.0, rate), size) * 1.0
    around = rate + np.sqrt(rate) * rng.standard_normal(np.shape(counts))
    return np.where(large, np.rint(around), counts)[()]
