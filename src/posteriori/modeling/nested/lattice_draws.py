"""Draws between the points of a lattice: a normal kernel around each, and the density of their sum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.quadrature.lattices import BEND, Lattice
from posteriori.numerics.lazy import scipy_linalg
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = ["Kernels", "kernels"]

#: Standard deviation of a kernel in steps of the lattice, narrow enough to keep skew.
_JITTER = 0.35

#: Numbers of a table of draws and kernels.
_MOST = 1 << 22


class Kernels(NamedTuple):
    """Normal densities around points, N(centre, R diag(width²) Rᵀ).

    Attributes
    ----------
    centres, widths : (K, D)
    root : (D, D)
    """

    centres: Array
    widths: Array
    root: Array

    def sample(self, rng: np.random.Generator) -> Array:
        """Draw once from each, (K, D)."""
        noise = self.widths * rng.standard_normal(self.widths.shape)
        return self.centres + noise @ self.root.T

    def log_density(self, points: Array, weights: Array) -> Array:
        """Return ln Σ_k w_k N_k at points (N, D)."""
        at, centres = (self._whitened(x) for x in (points, self.centres))
        logs = np.log(weights) - np.log(self.widths).sum(axis=1)
        logs -= 0.5 * points.shape[1] * LOG_2PI + np.linalg.slogdet(self.root)[1]
        found, rows = np.empty(len(at)), max(_MOST // self.widths.size, 1)
        for start in range(0, len(at), rows):
            part = slice(start, start + rows)
            away = (at[part, None] - centres) / self.widths
            found[part] = log_sum_exp(logs - 0.5 * np.sum(away**2, axis=-1), axis=1)
        return found

    def _whitened(self, points: Array) -> Array:
        return np.asarray(scipy_linalg.solve(self.root, points.T)).T


def kernels(lattice: Lattice, cells: IntArray) -> Kernels:
    """Return kernels around some points that keep mean and covariance of the whole."""
    mean, cov = lattice.moments()
    widths = _JITTER * lattice.step * np.cosh(lattice.step * lattice.cells[cells] / BEND)
    root = _JITTER * lattice.step * lattice.root
    share = np.einsum("ij,ij->i", root, root) / np.diagonal(cov)
    drawn = np.sqrt(np.maximum(1.0 - share, 0.0)) * (lattice.points[cells] - mean)
    return Kernels(mean + drawn, widths, lattice.root)
