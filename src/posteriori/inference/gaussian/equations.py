r"""The equations of a linear-Gaussian model.

.. math:: c_r - \sum_v K_{rv}\,x_v[i_v(r)] \sim N(0, 1/w_r),

one for each row r of an array: data, priors and dynamics look the same. A latent x_v is an array of
``count`` vectors of ``size`` numbers, and each row sees one of them, chosen by an index.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.blocks.block_sizes import ROWS_OF_ONE_THREAD, rows_per_block
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "Equation",
    "Latent",
    "Link",
    "design_matrix",
    "is_common",
    "log_heights",
    "residual",
    "row_blocks",
    "spread_link",
    "weighted_square",
]


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
    step = min(ROWS_OF_ONE_THREAD, rows_per_block(width))
    if rows <= step or any(shapes[link.name].count > 1 for link in equation.links):
        yield equation
        return
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
