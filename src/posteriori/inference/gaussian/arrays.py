"""Steps of elimination on arrays of vectors: sums over the rows that see one, blocks, factors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.inference.gaussian.equations import Equation, Latent, Link, is_common
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = [
    "between_met",
    "cho_inverse",
    "cho_solve",
    "cholesky",
    "gram",
    "meeting",
    "pick",
    "segment_sum",
    "sum_outer",
    "sum_rows",
]

#: So few rows at a time, and so few operations, that products of thin blocks start no threads.
_GRAM_ROWS, _GRAM_PRODUCTS = 1000, 400_000

#: Pairs of columns from which on threads are worth their start.
_WIDE = 1250


def sum_rows(link: Link, weighted: Array, count: int) -> Array:
    """Return Σ_r K_r w_r res_r for each vector."""
    if count == 1:
        return (np.asarray(weighted) @ link.coefficients)[None]
    return segment_sum(link.coefficients * np.asarray(weighted)[:, None], link.index, count)


def sum_outer(link: Link, other: Link, equation: Equation, latent: Latent) -> Array:
    """Return Σ_r w_r K_r K'_rᵀ for each vector of a latent."""
    if latent.count == 1:
        return gram(link.coefficients, other.coefficients, equation)[None]
    weighted = link.coefficients * np.asarray(equation.weight)[..., None]
    block = weighted[:, :, None] * other.coefficients[:, None, :]
    return segment_sum(block, link.index, latent.count)


def gram(a: Array, b: Array, equation: Equation) -> Array:
    """Return Aᵀ W B; a common weight is taken out."""
    weight = np.asarray(equation.weight)
    if not is_common(weight):
        a = a * weight[:, None]
    pairs = a.shape[1] * b.shape[1]
    step = min(_GRAM_ROWS, _GRAM_PRODUCTS // pairs) if 0 < pairs < _WIDE else _GRAM_ROWS
    total = a[:step].T @ b[:step]
    for start in range(step, len(a), step):
        part = slice(start, start + step)
        total += a[part].T @ b[part]
    return total * weight.flat[0] if is_common(weight) and weight.size else total


def segment_sum(values: Array, index: Any, count: int) -> Array:
    """Add rows (R, ...) into ``count`` places; a single place takes them all."""
    if count == 1 and len(values) != 1:
        return values.sum(axis=0, keepdims=True)
    if index is None:
        return np.broadcast_to(values, (count, *values.shape[1:]))
    flat = values.reshape(len(values), int(np.prod(values.shape[1:])))
    out = np.empty((count, flat.shape[1]))
    if index.min(initial=0) < 0:  # vectors that meet none
        index, flat = index[index >= 0], flat[index >= 0]
    for k in range(flat.shape[1]):
        out[:, k] = np.bincount(index, weights=flat[:, k], minlength=count)
    return out.reshape(count, *values.shape[1:])


def meeting(i: Any, j: Any, block: Array, count: int, others: int, known: Any) -> Any:
    """Return which vector of a neighbour each vector meets; None where the neighbour has one."""
    if others == 1:
        return None
    given = j if i is None else i
    rows = max(len(block), count) if given is None else len(given)
    mine = np.arange(rows) if i is None else np.asarray(i)
    theirs = np.arange(rows) if j is None else np.asarray(j)
    target = np.full(count, -1) if known is None else known
    target[mine] = theirs
    return target


def pick(values: Array, index: Any, count: int) -> Array:
    """Return the values at an index, 0 where it is negative; None picks the only one each time."""
    if index is None:
        return np.broadcast_to(values, (count, *values.shape[1:]))
    return np.where((index >= 0).reshape(-1, *[1] * (values.ndim - 1)), values[index], 0.0)


def between_met(
    b: str,
    a: str,
    couplings: Mapping[str, tuple[Array, Any]],
    cov: Mapping[str, Array],
    cross: Mapping[tuple[str, str], tuple[Array, Any]],
    count: int,
) -> Array:
    """Return cov(b, a) at the vectors that each of ``count`` vectors meets."""
    if a == b:
        return pick(cov[a], couplings[a][1], count)
    if (b, a) in cross:
        return pick(cross[b, a][0], couplings[b][1], count)
    return np.swapaxes(pick(cross[a, b][0], couplings[a][1], count), -1, -2)


def cholesky(a: Array, sizes: Array) -> Array:
    """Return lower factors; numbers take their square roots.

    Parameters
    ----------
    a : (count, size, size)
        What earlier eliminations have left of a precision.
    sizes : (count, size)
        Its diagonal before them.

    Raises
    ------
    LinAlgError
        When a pivot is no more than a rounding error of what was there at first.
    """
    with np.errstate(invalid="ignore"):
        lower = np.linalg.cholesky(a) if a.shape[-1] > 1 else np.sqrt(a)
    pivots = np.diagonal(lower, axis1=-2, axis2=-1) ** 2
    if not np.all(exceeds_rounding(pivots, sizes)):
        raise np.linalg.LinAlgError("not positive definite beyond rounding")
    return lower


def cho_solve(factor: Array, b: Array) -> Array:
    """Return (L Lᵀ)⁻¹ B."""
    if factor.shape[-1] == 1:
        return b / factor**2
    half = np.linalg.solve(factor, b)
    return np.linalg.solve(np.swapaxes(factor, -1, -2), half)


def cho_inverse(factor: Array) -> Array:
    """Return (L Lᵀ)⁻¹."""
    if factor.shape[-1] == 1:
        return 1.0 / (factor * factor)
    inverse = explicit_inverse(factor)  # that of a triangle would load SciPy
    return np.swapaxes(inverse, -1, -2) @ inverse
