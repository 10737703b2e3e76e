r"""Expected log densities of the equations of a linear-Gaussian model, and the entropy.

Under the posterior :math:`N(m, \Sigma)` a row :math:`c - kx` of precision w has

.. math:: E\ln f = \tfrac12\ln\tfrac{w}{2\pi} - \tfrac12 w\,(c - km)^2 - \tfrac12 w\,k\Sigma k^\top,

and :math:`k\Sigma k^\top` needs only the covariances of latents that meet in the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.gaussian.dense import DenseSystem
from posteriori.inference.gaussian.elimination import factorize
from posteriori.inference.gaussian.equations import Equation, Latent, Link, log_heights, residual
from posteriori.inference.gaussian.sparse import SparseSystem
from posteriori.inference.gaussian.system import GaussianSystem
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["RowEnergies", "equation_energies"]


class RowEnergies(NamedTuple):
    """Parts of the expected log density of some rows.

    Attributes
    ----------
    numbers : int
        Rows of scalars.
    log_height : float
        Sum of the log densities at their peaks.
    misfit, spread : arrays (R,)
        Squares of what is left at the mean, and expected squares about it, in units of the noise.
    """

    numbers: int
    log_height: float
    misfit: Array
    spread: Array

    @property
    def energy(self) -> float:
        """Expected log density."""
        return self.log_height - 0.5 * float(np.sum(self.misfit) + np.sum(self.spread))


def equation_energies(
    latents: Sequence[Latent], equations: Sequence[Equation], mean: Mapping[str, Array]
) -> tuple[list[RowEnergies], float]:
    """Return the parts of each equation, and the entropy of the posterior.

    Parameters
    ----------
    latents, equations : sequences
        As for :func:`~posteriori.inference.gaussian.elimination.solve_gaussian`.
    mean : mapping to (count, size)
        The posterior means.
    """
    system = factorize(latents, equations)
    found = []
    for given, spread in zip(equations, _row_variances(system), strict=True):
        square = np.asarray(given.weight) * residual(given, mean) ** 2
        variance = np.asarray(given.weight) * spread
        height = 0.5 * log_heights(given) + given.log_scale
        found.append(RowEnergies(len(given.constant), height, square, variance))
    numbers = sum(latent.count * latent.size for latent in latents)
    return found, 0.5 * (numbers * (1.0 + LOG_2PI) - system.log_det)


def _row_variances(system: GaussianSystem) -> list[Array]:
    if isinstance(system, (DenseSystem, SparseSystem)):
        return system.row_variances()
    cov, cross = system.covariances()
    return [_variance(equation, system.shapes, cov, cross) for equation in system.equations]


def _variance(
    equation: Equation,
    shapes: Mapping[str, Latent],
    cov: Mapping[str, Array],
    cross: Mapping[tuple[str, str], tuple[Array, Any]],
) -> Array:
    """Return the posterior variance of K x, row by row."""
    total = np.zeros(len(equation.constant))
    for i, a in enumerate(equation.links):
        total += _bilinear(a, cov[a.name], a, shapes)
        for b in equation.links[i + 1 :]:
            if a.name == b.name:
                between = _bilinear(a, cov[a.name], b, shapes)
            elif (a.name, b.name) in cross:
                between = _bilinear(a, cross[a.name, b.name][0], b, shapes)
            else:
                between = _bilinear(b, cross[b.name, a.name][0], a, shapes)
            total += 2.0 * between
    return total


def _bilinear(a: Link, blocks: Array, b: Link, shapes: Mapping[str, Latent]) -> Array:
    """Return k_a cov(a, b) k_b for each row; the blocks are those of a's vectors."""
    if shapes[a.name].count == 1:
        left = a.coefficients @ blocks[0]
    else:
        seen = blocks if a.index is None else blocks[a.index]
        left = np.einsum("ri,rij->rj", a.coefficients, seen)
    return np.einsum("rj,rj->r", left, b.coefficients)
