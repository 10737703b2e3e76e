"""Draws from Markov chains of any order, step by step."""

from __future__ import annotations

import numpy as np

from posteriori.numerics.compilation import as_kernel_input, kernel, run
from posteriori.numerics.types import Array, IntArray

__all__ = ["draw_walk"]


def draw_walk(transition: Array, start: IntArray, uniforms: Array) -> IntArray:
    """Return a path (T,) from a start (M,) and T − M uniform numbers.

    Parameters
    ----------
    transition : array (K^M, K)
        Probabilities of the next symbol by the number of the M before it, oldest first.
    """
    sums = np.cumsum(transition, axis=1)
    path = np.concatenate([start, np.zeros(len(uniforms), dtype=np.int64)])
    if len(uniforms):
        arrays = as_kernel_input(sums / sums[:, -1:]), len(start), as_kernel_input(uniforms), path
        run(_walk, 10 * len(path), *arrays)
    return path


@kernel(plain=True)
def _walk(sums: Array, order: int, uniforms: Array, path: IntArray) -> None:
    context, size = 0, len(sums[0])
    for m in range(order):
        context = context * size + path[m]
    for t in range(order, len(path)):
        drawn = 0
        while sums[context][drawn] <= uniforms[t - order]:
            drawn += 1
        path[t] = drawn
        context = (context * size + drawn) % len(sums)
