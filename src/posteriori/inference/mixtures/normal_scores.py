r"""Log densities of normal components as what they are in a pass: quadratic functions of rows.

.. math:: s_k(z) = a_k - \tfrac12 (z - m_k)^\top P_k (z - m_k).

With known parameters :math:`a_k = \ln π_k + \tfrac12\ln|P_k| - \tfrac D2\ln 2π`; under a belief
:math:`P_k = E[Λ_k]` and :math:`a_k` has expectations in the place of the logarithms.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from posteriori.inference.mixtures.normal_units import Units
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "NormalFeatures",
    "NormalScores",
    "NormalStatistics",
    "theta_of",
    "unpack_sums",
    "upper_triangle",
]


class NormalScores(NamedTuple):
    """Quadratic functions of rows, one for each component.

    Attributes
    ----------
    log_norm : (K,)
        a, the value at the centre.
    means : (K, D)
    precisions : (K, D, D); of kind "shared" (D, D), "diagonal" (K, D), "spherical" (K,)
    """

    log_norm: Array
    means: Array
    precisions: Array


class NormalStatistics(NamedTuple):
    """Sums over the rows of each component.

    Attributes
    ----------
    counts : (K,)
        Σ r.
    sums : (K, D)
        Σ r z.
    squares : (K, D, D); of kind "shared" (D, D), "diagonal" (K, D), "spherical" (K,)
        Σ r zzᵀ; of all rows, of the diagonal, of its sum.
    """

    counts: Array
    sums: Array
    squares: Array


class NormalFeatures:
    """1, z, and the products of z that a kind of covariance needs: of "shared" none.

    Parameters
    ----------
    kind : {"full", "shared", "diagonal", "spherical"}
    units : Units
    """

    def __init__(self, kind: str, units: Units) -> None:
        d = len(units.centre)
        self.kind, self.units = kind, units
        self.rows, self.columns = upper_triangle(d)
        products = {"full": len(self.rows), "shared": 0, "diagonal": d, "spherical": 1}
        self.size = 1 + d + products[kind]

    def of(self, x: Array) -> Array:
        """Return the features of rows (B, D), a column each: (F, B)."""
        z = self.units.of(x)
        d = len(z)
        t = np.empty((self.size, z.shape[1]))
        t[0] = 1.0
        t[1 : d + 1] = z
        if self.kind == "full":
            at = d + 1
            for i in range(d):  # z_i z_j for j ≥ i, in the order of the upper triangle
                np.multiply(z[i], z[i:], out=t[at : at + d - i])
                at += d - i
        elif self.kind == "diagonal":
            np.multiply(z, z, out=t[d + 1 :])
        elif self.kind == "spherical":
            np.einsum("db,db->b", z, z, out=t[d + 1])
        return t


@cache
def upper_triangle(d: int) -> tuple[IntArray, IntArray]:
    """Return the places (i, j) with i ≤ j of a matrix, row by row; small fits ask in every step."""
    rows, columns = np.triu_indices(d)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns


def theta_of(scores: NormalScores, kind: str) -> Array:
    """Return scores as linear functions of the features, (K, F).

    Of "shared" the square −½ zᵀPz, which all components have in common, is left out.
    """
    m, p = scores.means, scores.precisions
    if kind in ("full", "shared"):
        linear = np.einsum("kij,kj->ki", p, m) if kind == "full" else m @ p
    else:
        linear = m * (p if kind == "diagonal" else p[:, None])
    offset = scores.log_norm - 0.5 * np.einsum("kd,kd->k", linear, m)
    parts = [offset[:, None], linear]
    if kind == "full":
        rows, columns = upper_triangle(m.shape[1])
        parts.append(-np.where(rows == columns, 0.5, 1.0) * p[:, rows, columns])
    elif kind != "shared":
        parts.append(-0.5 * p.reshape(len(m), -1))
    return np.concatenate(parts, axis=1)


def unpack_sums(statistics: Array, kind: str, square: Array) -> NormalStatistics:
    """Return sums (K, F) of features by name; ``square`` (D, D) is Σ zzᵀ of all rows."""
    d = len(square)
    counts, sums, rest = statistics[:, 0], statistics[:, 1 : d + 1], statistics[:, d + 1 :]
    if kind == "shared":
        return NormalStatistics(counts, sums, square)
    if kind == "spherical":
        return NormalStatistics(counts, sums, rest[:, 0])
    if kind == "diagonal":
        return NormalStatistics(counts, sums, rest)
    squares = np.empty((len(counts), d, d))
    rows, columns = upper_triangle(d)
    squares[:, rows, columns] = rest
    squares[:, columns, rows] = rest
    return NormalStatistics(counts, sums, squares)
