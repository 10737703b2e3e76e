r"""Affine maps in two words: a number as an unevaluated sum hi + lo of about 32 digits.

A mean near 1e8 known to 1e-6 leaves two digits for an innovation in float64. Error-free sums
and products (Knuth, Dekker) keep what rounding would drop; see Ogita, Rump and Oishi (2005),
algorithm Dot2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["TwoWord", "affine", "renormalize"]

_SPLITTER = 134217729.0  # 2²⁷ + 1


class TwoWord(NamedTuple):
    """The value hi + lo."""

    hi: Array
    lo: Array


def affine(matrix: Array, x: TwoWord, offset: Array) -> TwoWord:
    """Return M x + b for rows x (B, D), as (B, M)."""
    hi = np.broadcast_to(offset, (len(x.hi), len(matrix)))
    lo = x.lo @ matrix.T
    for j in range(matrix.shape[1]):
        product, slip = _two_product(x.hi[:, j, None], matrix[:, j])
        hi, drop = _two_sum(hi, product)
        lo = lo + (slip + drop)
    return TwoWord(hi, lo)


def renormalize(x: TwoWord) -> TwoWord:
    """Move what fits of lo into hi."""
    return TwoWord(*_two_sum(x.hi, x.lo))


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return s and e with a + b = s + e exactly."""
    s = a + b
    part = s - a
    return s, (a - (s - part)) + (b - part)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return p and e with a·b = p + e exactly."""
    p = a * b
    a_hi, a_lo = _split(a)
    b_hi, b_lo = _split(b)
    return p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def _split(a: Array) -> tuple[Array, Array]:
    wide = _SPLITTER * a
    hi = wide - (wide - a)
    return hi, a - hi
