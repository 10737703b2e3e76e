r"""Means of a chain, in one word or two: a number as an unevaluated sum hi + lo of about 32 digits.

A mean near 1e8 known to 1e-6 leaves two digits for an innovation in float64. Error-free sums
and products (Knuth, Dekker) keep what rounding would drop; see Ogita, Rump and Oishi (2005),
algorithm Dot2.
"""

from __future__ import annotations

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = ["affine", "find_innovation", "step_mean", "two_sum"]

_SPLITTER = 134217729.0  # 2²⁷ + 1


@kernel(plain=True)
def step_mean(
    matrix: Array, offset: Array, hi: Array, lo: Array, in_two_words: bool, moved: Array, low: Array
) -> None:
    """Fill A m + b, and its second word."""
    for i in range(len(moved)):
        moved[i], low[i] = affine(matrix[i], offset[i], hi, lo, in_two_words)
        if in_two_words:
            moved[i], low[i] = two_sum(moved[i], low[i])


@kernel(plain=True)
def find_innovation(
    y: float, offset: float, row: Array, hi: Array, lo: Array, in_two_words: bool
) -> float:
    """Return y − (C m + d)."""
    if in_two_words:
        value, slip = affine(row, offset, hi, lo, True)
        return (y - value) - slip
    value, slip = affine(row, offset - y, hi, lo, False)
    return -value


@kernel(plain=True)
def affine(
    row: Array, offset: float, hi: Array, lo: Array, in_two_words: bool
) -> tuple[float, float]:
    """Return aᵀm + b, and what rounding drops of it."""
    value, slip = offset, 0.0
    if not in_two_words:
        for k in range(len(row)):
            value = value + row[k] * hi[k]
        return value, slip
    for k in range(len(row)):
        product, error = _two_product(row[k], hi[k])
        value, drop = two_sum(value, product)
        slip = slip + (drop + error)
        slip = slip + row[k] * lo[k]
    return value, slip


@kernel(plain=True)
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return s and e with a + b = s + e exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@kernel(plain=True)
def _two_product(a: float, b: float) -> tuple[float, float]:
    """Return p and e with a·b = p + e exactly."""
    product = a * b
    wide_a, wide_b = _SPLITTER * a, _SPLITTER * b
    a_hi = wide_a - (wide_a - a)
    b_hi = wide_b - (wide_b - b)
    a_lo, b_lo = a - a_hi, b - b_hi
    return product, ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo
