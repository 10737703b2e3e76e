r"""Rows of one precision, as few as tell the same.

Rows c − K x with independent noise of a common precision w can be turned by any orthogonal matrix:
of all rows that see the same vectors, the triangle of [K c] is left (width + 1 rows), and each row
that vanishes keeps its height ½ ln(w/2π). Where the same rows are solved with many precisions, they
are read once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from posteriori.inference.gaussian.equations import Equation, Latent, Link
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["UnitRows", "reduce_rows"]

#: Rows of a block that becomes a triangle, in widths: taller blocks spend less on their triangles.
_TALL = 8


class UnitRows(NamedTuple):
    """Rows of unit precision, and how many others had nothing left to say."""

    constant: Array
    links: tuple[Link, ...]
    gone: int

    def weighted(self, weight: float, log_scale: float = 0.0) -> Equation:
        """Return the rows with a precision."""
        weights = np.broadcast_to(np.asarray(weight, dtype=np.float64), (len(self.constant),))
        heights = 0.5 * self.gone * (float(np.log(weight)) - LOG_2PI)
        return Equation(self.constant, weights, self.links, log_scale + heights)


def reduce_rows(equations: Sequence[Equation], shapes: Mapping[str, Latent]) -> UnitRows:
    """Return rows that say of the latents what those of all equations say, at a common precision.

    Parameters
    ----------
    equations : sequence of Equation
        Which see the same latents in the same order; their weights are not looked at.
    shapes : mapping to Latent
    """
    latents = [shapes[link.name] for link in equations[0].links]
    rows = np.concatenate([_rows(equation) for equation in equations])
    seen = np.concatenate([_seen(equation, latents) for equation in equations])
    which, where = np.unique(seen, axis=0, return_inverse=True)
    few, owner = _triangles(rows, where.ravel(), len(which))
    starts = np.cumsum([0, *(latent.size for latent in latents)])
    links = tuple(
        Link(latent.name, few[:, starts[i] : starts[i + 1]], which[owner, i])
        for i, latent in enumerate(latents)
    )
    return UnitRows(few[:, -1], links, len(rows) - len(few))


def _rows(equation: Equation) -> Array:
    """Return [K c], (R, width + 1)."""
    parts = [*(link.coefficients for link in equation.links), equation.constant[:, None]]
    return np.concatenate(parts, axis=1)


def _seen(equation: Equation, latents: Sequence[Latent]) -> Array:
    """Return which vector of each latent each row sees, (R, latents)."""
    count = len(equation.constant)
    found = np.zeros((count, len(latents)), dtype=np.intp)
    for i, (link, latent) in enumerate(zip(equation.links, latents, strict=True)):
        if latent.count > 1:
            found[:, i] = np.arange(count) if link.index is None else link.index
    return found


def _triangles(rows: Array, owner: Array, owners: int) -> tuple[Array, Array]:
    """Return the triangle of the rows of each owner; where they are fewer, the rows themselves."""
    width = rows.shape[1]
    order = np.argsort(owner, kind="stable")
    rows, owner = rows[order], owner[order]
    while True:
        counts = np.bincount(owner, minlength=owners)
        if counts.max(initial=0) <= width:
            return rows, owner
        rows, owner = _one_round(rows, owner, counts, width)


def _one_round(rows: Array, owner: Array, counts: Array, width: int) -> tuple[Array, Array]:
    """Turn blocks of at most so many rows of one owner into triangles."""
    tall = _TALL * width
    rank = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    blocks = -(-counts // tall)
    first = np.cumsum(blocks) - blocks
    block = first[owner] + rank // tall
    heights = np.bincount(block, minlength=int(blocks.sum()))
    padded = np.zeros((len(heights), min(tall, int(heights.max())), width))
    padded[block, rank % tall] = rows
    triangles: Array = padded
    if padded.shape[1] >= width:
        triangles = np.asarray(np.linalg.qr(padded, mode="r"))
    owners_of_blocks = np.repeat(np.arange(len(counts)), blocks)
    left = np.minimum(heights, width)
    kept = np.arange(triangles.shape[1]) < left[:, None]
    short = heights <= width  # these rows stay as they are
    triangles[short, : padded.shape[1]] = padded[short, : triangles.shape[1]]
    return triangles[kept], np.repeat(owners_of_blocks, left)
