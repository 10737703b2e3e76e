"""All latents of a linear-Gaussian model as one dense normal vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.inference.gaussian.arrays import cho_inverse
from posteriori.inference.gaussian.equations import Equation, Latent, design_matrix
from posteriori.numerics.types import Array

__all__ = ["joint_moments"]

#: Coefficients that are written out: 400 MB.
_DENSE_LIMIT = 50_000_000


def joint_moments(
    latents: Sequence[Latent], equations: Sequence[Equation]
) -> tuple[Array, Array, dict[str, slice]]:
    """Return mean, covariance and places of all latents as one dense vector.

    Raises
    ------
    ValueError
        When the equations are too many to write out densely.
    """
    slices: dict[str, slice] = {}
    start = 0
    for latent in latents:
        slices[latent.name] = slice(start, start + latent.count * latent.size)
        start += latent.count * latent.size
    rows = sum(len(e.constant) for e in equations)
    if rows * start > _DENSE_LIMIT:
        raise ValueError(
            f"a joint distribution of {start} numbers under {rows} equations is too large to "
            "write out; ask for variables that meet in one equation"
        )
    shapes = {latent.name: latent for latent in latents}
    precision, h = np.zeros((start, start)), np.zeros(start)
    for equation in equations:
        design = design_matrix(equation, shapes, slices, start)
        weighted = design * _full(equation.weight, equation)[:, None]
        precision += weighted.T @ design
        h += weighted.T @ equation.constant
    factor = np.linalg.cholesky(precision)
    cov = cho_inverse(factor)
    return cov @ h, cov, slices


def _full(weight: Array, equation: Equation) -> Array:
    return np.broadcast_to(weight, equation.constant.shape)
