r"""Directions of weights that fewer rows than columns do not see: they keep their prior.

Where the prior is :math:`N(m_0, \sigma^2\lambda^{-1}I)` on columns divided by s, and the rows see K < D
directions B alone (in the units of the columns, so that V = sB has orthonormal columns), weights are

.. math:: w \sim N\bigl(m,\ \sigma^2\{B\,\mathrm{diag}(1/e)B^T
          + \lambda^{-1}(\mathrm{diag}(s)^{-2} - BB^T)\}\bigr),

without a matrix of D columns and D rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["OpenDirections"]


class OpenDirections(NamedTuple):
    """What is believed along them, by members of a mixture.

    Attributes
    ----------
    scales : (D,)
        s; infinite for columns whose weight is fixed.
    precisions : (G,)
        λ, in units of the noise precision.
    """

    scales: Array
    precisions: Array

    @property
    def fixes_weights(self) -> bool:
        """Whether some weight is fixed."""
        return not np.isfinite(self.scales).all()

    def spread(self, x: Array, along: Array) -> Array:
        """Return what they add to the variance of x·w, (N, G), given x and xB."""
        squares = ((x / self.scales) ** 2).sum(axis=1) - (along**2).sum(axis=1)
        return np.maximum(squares, 0.0)[:, None] / self.precisions

    def co_spread(self, x: Array, other: Array, along: Array, other_along: Array) -> Array:
        """Return what they add to the covariance of x·w and x'·w, (G, N, N')."""
        inner = (x / self.scales) @ (other / self.scales).T - along @ other_along.T
        return inner / self.precisions[:, None, None]

    def covariance(self, directions: Array) -> Array:
        """Return what they add to the covariance of the weights, (G, D, D)."""
        outside = np.diag(self.scales**-2.0) - directions @ directions.T
        return outside / self.precisions[:, None, None]

    def draw(self, directions: Array, members: Array, rng: np.random.Generator) -> Array:
        """Draw what they add to the weights of members (S,), in units of the noise: (S, D)."""
        v = self._orthonormal(directions)
        free = rng.standard_normal((len(members), len(v)))
        free -= (free @ v) @ v.T
        return free / self.scales / np.sqrt(self.precisions[members, None])

    def precision_root(self, directions: Array, precisions: Array) -> Array:
        """Return R with RᵀR the precision of the weights of the first member, (D, D)."""
        v, open_root = self._orthonormal(directions), np.sqrt(self.precisions[0])
        bend = np.sqrt(precisions[0]) - open_root  # V e^½ Vᵀ + λ^½ (I − VVᵀ)
        return ((v * bend) @ v.T + open_root * np.eye(len(v))) * self.scales

    def _orthonormal(self, directions: Array) -> Array:
        """Return V = sB, (D, K)."""
        finite = np.where(np.isfinite(self.scales), self.scales, 0.0)
        return finite[:, None] * directions
