"""Means of a chain in compiled loops, in one word or two.

The sums are those of ``two_word``. As with ``square_root_kernels``, a change here asks for
``chain_kernels`` to be saved again.
"""

from __future__ import annotations

from posteriori.numerics.compilation import compiled
from posteriori.numerics.types import Array

__all__ = [
    "find_innovation",
    "step_mean",
    "two_sum",
]

_SPLITTER = 134217729.0  # 2²⁷ + 1


@compiled
def step_mean(
    transition: Array,
    offset: Array,
    hi: Array,
    lo: Array,
    in_two_words: bool,
    new_hi: Array,
    new_lo: Array,
) -> None:
    """Move the mean: m ← A m + b."""
    size = len(hi)
    for i in range(size):
        value, slip = offset[i], 0.0
        if in_two_words:
            for k in range(size):
                value, slip = _add_product(value, slip, transition[i, k], hi[k])
                slip += transition[i, k] * lo[k]
            value, slip = two_sum(value, slip)
        else:
            for k in range(size):
                value += transition[i, k] * hi[k]
        new_hi[i], new_lo[i] = value, slip
    for i in range(size):
        hi[i], lo[i] = new_hi[i], new_lo[i]


@compiled
def find_innovation(
    y: float, offset: float, row: Array, hi: Array, lo: Array, in_two_words: bool
) -> float:
    """Return y − (C m + d)."""
    if not in_two_words:
        value = y - offset
        for k in range(len(hi)):
            value -= row[k] * hi[k]
        return value
    value, slip = offset, 0.0
    for k in range(len(hi)):
        value, slip = _add_product(value, slip, row[k], hi[k])
        slip += row[k] * lo[k]
    return (y - value) - slip


@compiled
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return s and e with a + b = s + e exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@compiled
def _add_product(value: float, slip: float, a: float, b: float) -> tuple[float, float]:
    """Return value + slip + a·b, with what rounding drops added to slip."""
    product = a * b
    wide_a, wide_b = _SPLITTER * a, _SPLITTER * b
    a_hi = wide_a - (wide_a - a)
    b_hi = wide_b - (wide_b - b)
    a_lo, b_lo = a - a_hi, b - b_hi
    error = ((a_hi * b_hi - product) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo
    total, drop = two_sum(value, product)
    return total, slip + (drop + error)
