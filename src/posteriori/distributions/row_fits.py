"""What families share that fit themselves to all rows at once, rather than to sums over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from posteriori.distributions.base import any_of
from posteriori.numerics.blocks.chunks import read_blocks
from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation

__all__ = ["gather_rows", "require_support", "weighted_median"]


def gather_rows(data: Any, weights: Any) -> tuple[Array, Array]:
    """Return all rows (N, ...) that count, and their weights (N, 1, …, 1), which sum to 1."""
    x = np.concatenate(list(read_blocks(data)))
    w = np.ones(len(x)) if weights is None else as_observation(weights, "weights")
    if w.shape != (len(x),) or not np.all(np.isfinite(w)) or np.any(w < 0) or not np.any(w):
        raise ValueError(
            "weights must be one finite number >= 0 per row, not all 0; "
            f"got shape {w.shape} for {len(x)} rows"
        )
    if weights is not None and not np.all(w > 0):
        x, w = x[w > 0], w[w > 0]
    return x, (w / w.sum()).reshape(-1, *[1] * (x.ndim - 1))


def require_support(family: str, x: Array, outside: Callable[[Array], Any]) -> None:
    """Refuse data off the support: a likelihood of 0 fits nothing."""
    off = outside(x)
    if any_of(off):
        example = x[tuple(np.argwhere(off)[0])]
        raise ValueError(f"data must lie in the support of {family}, got {example}")


def weighted_median(x: Array, w: Array) -> Array:
    """Return the least row value with half of the weight at or below it, column by column."""
    order = np.argsort(x, axis=0)
    levels = np.cumsum(np.take_along_axis(np.broadcast_to(w, x.shape), order, axis=0), axis=0)
    middle = np.argmax(levels >= 0.5 - 1e-12, axis=0)
    ranked = np.take_along_axis(x, order, axis=0)
    return np.take_along_axis(ranked, middle[None], axis=0)[0]
