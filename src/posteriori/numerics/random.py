"""Random streams: every draw in posteriori comes from a generator made here."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from posteriori.numerics.types import Seed

__all__ = ["as_generator", "spawn_generators"]


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


def spawn_generators(rng: Seed, count: int) -> list[np.random.Generator]:
    """Return ``count`` independent streams, for work that runs side by side."""
    return as_generator(rng).spawn(count)
