"""Rows in units of their columns, and chains in an order of their own."""

from __future__ import annotations

import numpy as np

from posteriori.inference.factorial_chains.kronecker_passes import Sequences
from posteriori.inference.latent.units import table_spread
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["log_units", "order_of_chains", "seen_units"]


def seen_units(x: Array, sequences: Sequences) -> tuple[Array, Array]:
    """Return mean and scale of what is seen of each column; 1 for a constant one.

    Every column has an entry in a sequence that counts.
    """
    _, mean, variance = table_spread(x, sequences.row_weights)
    scale = np.sqrt(variance)
    return mean, np.where(exceeds_rounding(scale, np.abs(mean)), scale, 1.0)


def log_units(x: Array, scale: Array, sequences: Sequences) -> Array:
    """Return what the log density of each sequence loses by the units of its columns."""
    return np.add.reduceat(~np.isnan(x) @ np.log(scale), sequences.starts)


def order_of_chains(sizes: tuple[int, ...], explained: list[Array]) -> list[int]:
    """Return the chains, those of equally many states by what they explain, most first."""
    order = list(range(len(sizes)))
    for size in set(sizes):
        alike = [m for m, k in enumerate(sizes) if k == size]
        ranked = sorted(alike, key=lambda m: -float(explained[m]))
        for place, m in zip(alike, ranked, strict=True):
            order[place] = m
    return order
