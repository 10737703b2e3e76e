r"""The equations of a linear-Gaussian model, and sums over their rows.

.. math:: c_r - \sum_v K_{rv}\,x_v[i_v(r)] \sim N(0, 1/w_r),

one for each row r of an array: data, priors and dynamics look the same. A latent x_v is an array of
``count`` vectors of ``size`` numbers, and each row sees one of them, chosen by an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import IN_CACHE, ROWS_OF_ONE_THREAD, rows_per_block
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "Equation",
    "Latent",
    "Link",
    "between_met",
    "cho_inverse",
    "cho_solve",
    "cholesky",
    "design_matrix",
    "gram",
    "is_common",
    "log_heights",
    "meeting",
    "pick",
    "residual",
    "row_blocks",
    "segment_sum",
    "spread_link",
    "sum_outer",
    "sum_rows",
    "weighted_square",
]

#: So few rows at a time, and so few operations, that products of thin blocks start no threads.
_GRAM_ROWS, _GRAM_PRODUCTS = 1000, 400_000

#: Pairs of columns from which on threads are worth their start.
_WIDE = 1250


@dataclass(frozen=True, slots=True)
class Latent:
    """``count`` unknown vectors of ``size`` numbers."""

    name: str
    count: int
    size: int


class Link(NamedTuple):
    """How the rows of an equation see a latent.

    Attributes
    ----------
    name : str
        The latent.
    coefficients : (R, size)
        K, possibly a broadcast view.
    index : (R,) of int, or None
        Which vector each row sees; None for the r-th (or the only) one.
    """

    name: str
    coefficients: Array
    index: Any = None


class Equation(NamedTuple):
    """Rows ``constant − Σ K x`` with noise of known precision.

    Attributes
    ----------
    constant, weight : (R,)
        Constants and precisions, possibly broadcast views.
    links : tuple of Link
    log_scale : float
        What whitening the rows added to the log density: ½ Σ ln|Λ|.
    """

    constant: Array
    weight: Array
    links: tuple[Link, ...]
    log_scale: float = 0.0


def residual(equation: Equation, means: Mapping[str, Array]) -> Array:
    """Return constant − Σ K x at given values of the latents."""
    value = equation.constant
    for link in equation.links:
        mean = means[link.name]
        if len(mean) == 1:
            value = value - link.coefficients @ mean[0]
        else:
            value = value - _products(link, mean)
    return value


def _products(link: Link, mean: Array) -> Array:
    """Return K x row by row; a common number is multiplied before the rows are picked."""
    k = link.coefficients
    if mean.shape[1] > 1:
        return np.einsum("ri,ri->r", k, mean if link.index is None else mean[link.index])
    numbers = mean[:, 0]
    if k.strides[0] == 0 and len(k):
        numbers = k[0, 0] * numbers
        return numbers if link.index is None else numbers[link.index]
    return k[:, 0] * (numbers if link.index is None else numbers[link.index])


def weighted_square(equation: Equation, residual: Array) -> float:
    """Return Σ w r²; a common weight is taken out."""
    weight = np.asarray(equation.weight)
    if is_common(weight):
        return float(residual @ residual) * float(weight.flat[0]) if residual.size else 0.0
    return float(np.sum(weight * residual**2))


def log_heights(equation: Equation) -> float:
    """Return Σ ln(w/2π)."""
    weight = np.asarray(equation.weight)
    if is_common(weight):
        return (
            len(equation.constant) * float(np.log(weight.flat[0]) - LOG_2PI) if weight.size else 0.0
        )
    return float(np.sum(np.log(weight) - LOG_2PI))


def row_blocks(equation: Equation, shapes: Mapping[str, Latent]) -> Iterator[Equation]:
    """Yield the rows in parts that stay in the processor's cache while they are used.

    Rows that choose among several vectors are not parted.
    """
    rows = len(equation.constant)
    width = sum(shapes[link.name].size for link in equation.links)
    is_small = rows <= ROWS_OF_ONE_THREAD and rows * width <= IN_CACHE
    if is_small or any(shapes[link.name].count > 1 for link in equation.links):
        yield equation
        return
    step = min(ROWS_OF_ONE_THREAD, rows_per_block(width))
    for start in range(0, rows, step):
        part = slice(start, start + step)
        links = tuple(Link(link.name, link.coefficients[part]) for link in equation.links)
        yield Equation(equation.constant[part], equation.weight[part], links)


def is_common(weight: Array) -> bool:
    """Tell whether one number in memory stands for all weights."""
    return weight.ndim == 0 or weight.strides == (0,)


def design_matrix(
    equation: Equation, shapes: Mapping[str, Latent], places: Mapping[str, slice], width: int
) -> Array:
    """Write out the coefficients of an equation's rows (R, width), each latent in its place."""
    design = np.zeros((len(equation.constant), width))
    for link in equation.links:
        design[:, places[link.name]] += spread_link(_explicit(link, shapes), shapes[link.name])[1]
    return design


def spread_link(link: Link, latent: Latent) -> Link:
    """Write coefficients of one vector as those of the whole array, zero elsewhere."""
    rows = len(link.coefficients)
    index = np.arange(rows) if link.index is None else np.asarray(link.index)
    full = np.zeros((rows, latent.count, latent.size))
    full[np.arange(rows), index] = link.coefficients
    return Link(
        link.name, full.reshape(rows, latent.count * latent.size), np.zeros(rows, dtype=np.intp)
    )


def _explicit(link: Link, shapes: Mapping[str, Latent]) -> Link:
    """Write out the index of a link to a latent with one vector."""
    if link.index is None and shapes[link.name].count == 1:
        return link._replace(index=np.zeros(len(link.coefficients), dtype=np.intp))
    return link


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
