"""Compiled loops over rows and their classes; NaN is a missing entry."""

from typing import Any

import numpy as np

from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = [
    "add_rows",
    "add_squares",
    "binary_terms",
    "first_not_whole",
    "normal_terms",
    "student_terms",
]

#: Products of factors are turned into logarithms before they could overflow.
_LARGE = 1e100


@kernel
def add_rows(x: Array, codes: Any, weight: Array, counts: Array, sums: Array) -> None:
    """Add up the weights and values of seen entries by class: counts, sums (K, D)."""
    for n in range(x.shape[0]):
        k, w = codes[n], weight[n]
        for d in range(x.shape[1]):
            seen = x[n, d] == x[n, d]
            counts[k, d] += w if seen else 0.0
            sums[k, d] += w * x[n, d] if seen else 0.0


@kernel
def add_squares(x: Array, codes: Any, weight: Array, means: Array, squares: Array) -> None:
    """Add up the weighted squares of seen entries about the means of their classes (K, D)."""
    for n in range(x.shape[0]):
        k, w = codes[n], weight[n]
        for d in range(x.shape[1]):
            shift = x[n, d] - means[k, d]
            squares[k, d] += w * shift * shift if shift == shift else 0.0


@kernel
def normal_terms(
    x: Array, means: Array, half_precision: Array, log_norm: Array, out: Array
) -> None:
    """Add Σ_d log N(x | m, 1/(2h)) of seen entries, norms included, to out (N, K)."""
    for n in range(x.shape[0]):
        for k in range(means.shape[0]):
            total = 0.0
            for d in range(x.shape[1]):
                shift = x[n, d] - means[k, d]
                term = log_norm[k, d] - half_precision[k, d] * shift * shift
                total += term if term == term else 0.0
            out[n, k] += total


@kernel
def student_terms(
    x: Array, means: Array, precision: Array, half_power: Array, log_norm: Array, out: Array
) -> None:
    """Add Σ_d c − h ln(1 + τ (x − m)²) of seen entries to out (N, K).

    Neighbouring columns of one power share a logarithm.
    """
    for n in range(x.shape[0]):
        for k in range(means.shape[0]):
            total, product, power = 0.0, 1.0, half_power[k, 0]
            for d in range(x.shape[1]):
                shift = x[n, d] - means[k, d]
                if shift != shift:
                    continue
                if product > _LARGE or half_power[k, d] != power:
                    total -= power * np.log(product)
                    product, power = 1.0, half_power[k, d]
                product *= 1.0 + precision[k, d] * shift * shift
                total += log_norm[k, d]
            out[n, k] += total - power * np.log(product)


@kernel
def binary_terms(x: Array, log_one: Array, log_zero: Array, out: Array) -> None:
    """Add Σ_d ln p(x_d) of entries that are 0 or 1 to out (N, K)."""
    for n in range(x.shape[0]):
        for k in range(log_one.shape[0]):
            total = 0.0
            for d in range(x.shape[1]):
                zero = log_zero[k, d] if x[n, d] == 0.0 else 0.0
                total += log_one[k, d] if x[n, d] == 1.0 else zero
            out[n, k] += total


@kernel
def first_not_whole(x: Array, largest: float) -> tuple[int, int]:
    """Return row and column of the first seen entry that is no whole number in [0, largest], or −1."""
    for n in range(x.shape[0]):
        for d in range(x.shape[1]):
            v = x[n, d]
            if v == v and not (0.0 <= v <= largest and v == np.floor(v)):
                return n, d
    return -1, -1
