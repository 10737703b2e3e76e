r"""Gaussian kernel values from inner products: :math:`e^{-|x-z|^2/2} = \exp(x^\top z - |x|^2/2 - |z|^2/2)`.

The exponential of numbers :math:`t\le 0` is :math:`2^n e^r` with n whole and :math:`|r|\le\frac12\ln 2`, so that
a short Taylor sum gives :math:`e^r` to rounding, and n goes straight into the exponent's bits. Written
so, the compiler takes four numbers at a time.

Reference: W. Cody & W. Waite, "Software manual for the elementary functions", 1980, ch. 6.
"""

from __future__ import annotations

import numpy as np

from posteriori.numerics.blocks.block_sizes import NODES, rows_per_block
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["fill_gaussian"]

#: Columns whose values are made at a time.
_COLUMNS = 1024

#: Numbers that the exponential takes at a time, in the first cache.
_RUN = 256


def fill_gaussian(
    x: Array, z: Array, half_x: Array, half_z: Array, out: Array, slots: IntArray, columns: slice
) -> None:
    """Write the Gaussian kernel of points, in units of its scale, into rows and columns of ``out``.

    Parameters
    ----------
    x, z : (N, D), (M, D)
    half_x, half_z : (N,), (M,)
        |x|²/2 and |z|²/2.
    out : (S, M)
        Contiguous.
    slots : (N,)
        Row of ``out`` for each x.
    columns : slice
        The z whose values are made.
    """
    space = np.empty(_RUN)
    step = rows_per_block(_COLUMNS, NODES)
    products = np.empty((min(step, len(x)), _COLUMNS))
    for first in range(0, len(x), step):
        few = slice(first, first + step)
        for left in range(columns.start, columns.stop, _COLUMNS):
            part = z[left : min(left + _COLUMNS, columns.stop)]
            block = products[: len(x[few]), : len(part)]
            np.matmul(x[few], part.T, out=block)
            _exponentials(
                products,
                half_x[few],
                half_z,
                out,
                slots[few],
                left,
                len(part),
                space,
                space.view(np.int64),
            )


@kernel(sums="fused", allocates=False)
def _exponentials(
    products: Array,
    half_x: Array,
    half_z: Array,
    out: Array,
    slots: IntArray,
    left: int,
    width: int,
    space: Array,
    bits: IntArray,
) -> None:
    """Write exp(xᵀz − |x|²/2 − |z|²/2) into columns ``left``, … of rows ``slots``.

    ``space`` and ``bits`` are the same memory, as numbers and as whole numbers.
    """
    for n in range(len(slots)):
        half = half_x[n]
        for start in range(0, width, 256):
            size = min(256, width - start)
            product = products[n, start : start + size]
            other = half_z[left + start : left + start + size]
            row = out[slots[n], left + start : left + start + size]
            for j in range(size):
                t = product[j] - half - other[j]
                t = t if t < 0.0 else 0.0
                t = t if t > -700.0 else -700.0
                # adding 1.5·2⁵² leaves the nearest whole number of t/ln 2 in the lowest bits
                moved = t * 1.4426950408889634 + 6755399441055744.0
                space[j] = moved
                whole = moved - 6755399441055744.0
                r = t - whole * 0.693147180369123816490 - whole * 1.90821492927058770002e-10
                e = 2.08767569878681e-9  # 1/12!
                e = e * r + 2.505210838544172e-8
                e = e * r + 2.755731922398589e-7
                e = e * r + 2.7557319223985893e-6
                e = e * r + 2.48015873015873e-5
                e = e * r + 1.984126984126984e-4
                e = e * r + 1.388888888888889e-3
                e = e * r + 8.333333333333333e-3
                e = e * r + 4.1666666666666664e-2
                e = e * r + 0.16666666666666666
                e = e * r + 0.5
                e = e * r + 1.0
                row[j] = e * r + 1.0
            for j in range(size):
                bits[j] = (bits[j] + 1023) << 52
            for j in range(size):
                row[j] *= space[j]
