r"""Weights of more columns than rows: learning happens in the directions that the rows see.

With the rows Z (N, P), P > N, as :math:`Z = LV^T`, V of orthonormal columns (P, R), and a prior
:math:`w \sim N(m_0, \alpha^{-1}I)`, predictors :math:`Zw = LV^Tw` depend on :math:`u = V^Tw` alone.
So the posterior of u under its prior :math:`N(V^Tm_0, \alpha^{-1}I)` says all, every other direction
keeps its prior, and the evidence is the same:

.. math:: w \sim N\bigl(m_0 + V(\hat u - V^Tm_0),\ VSV^T + \alpha^{-1}(I - VV^T)\bigr).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.predictors.weight_belief import WeightBelief
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array

__all__ = ["SeenDirections", "is_wide", "seen_directions"]


class SeenDirections(NamedTuple):
    """What rows see of weights.

    Attributes
    ----------
    basis : (P, R)
        V, R being the rank of the rows.
    rows : (N, R)
        L, the rows along these directions.
    """

    basis: Array
    rows: Array

    def of(self, weights: Array) -> Array:
        """Return Vᵀw of M weight vectors and what was learned with them, (M P + E,)."""
        p, r = self.basis.shape
        vectors, others = _split(weights, p)
        return np.append((vectors @ self.basis).reshape(len(vectors) * r), others)

    def widened(self, belief: WeightBelief, prior_mean: Array, precision: float) -> WeightBelief:
        """Return a belief about Vᵀw as one about w; other directions keep their prior."""
        p, r = self.basis.shape
        before, _ = _split(prior_mean, p)
        found, others = belief.mean[: len(before) * r].reshape(len(before), r), belief.mean[-1:]
        moved = before + (found - before @ self.basis) @ self.basis.T
        mean = np.append(moved.ravel(), others[: len(prior_mean) - before.size])
        return belief._replace(mean=mean, seen=self.basis, open_variance=1.0 / precision)


def is_wide(table: Array) -> bool:
    """Tell whether columns are more than rows, so that learning goes through the rows."""
    return len(table) < table.shape[1]


def seen_directions(design: Array) -> SeenDirections:
    """Return the directions that fewer rows than columns see.

    Parameters
    ----------
    design : (N, P)

    Notes
    -----
    Costs O(P N²). Rows that depend on one another see fewer directions than they are.
    """
    left, values, right = np.linalg.svd(design, full_matrices=False)
    seen = exceeds_rounding(values, values[0])
    return SeenDirections(right[seen].T, left[:, seen] * values[seen])


def _split(weights: Array, p: int) -> tuple[Array, Array]:
    """Return M weight vectors (M, P), and the numbers after them."""
    m = len(weights) // p
    return weights[: m * p].reshape(m, p), weights[m * p :]
