"""Codes 0, 1, … of categories in the one column that a kernel sees."""

from __future__ import annotations

import numpy as np

from posteriori.kernels.kernel import Kernel
from posteriori.numerics.types import Array, IntArray

__all__ = ["category_codes"]


def category_codes(kernel: Kernel, X: Array, count: int) -> IntArray:
    """Return the codes in points (N, 1), or say what is wrong with them."""
    if X.shape[1] != 1:
        raise ValueError(
            f"{kernel!r} sees one column of codes, got {X.shape[1]} columns; say which by .on([column])"
        )
    codes = X[:, 0]
    wrong = ~((codes >= 0) & (codes < count) & (codes == np.floor(codes)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"{kernel!r} knows the codes 0 to {count - 1}, got {codes[row]:.6g} in row {row}"
        )
    return codes.astype(np.int64)
