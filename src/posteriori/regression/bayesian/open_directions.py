r"""Directions of weights that fewer rows than columns do not see: they keep their prior.

Where the prior is :math:`N(m_0, \sigma^2\lambda^{-1}I)` on columns divided by s, and the rows see K < D
directions B alone (in the units of the columns, so that V = sB has orthonormal columns), weights are

.. math:: w \sim N\bigl(m,\ \sigma^2\{B\,\mathrm{diag}(1/e)B^T
          + \lambda^{-1}(\mathrm{diag}(s)^{-2} - BB^T)\}\bigr),

without a matrix of D columns and D rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["OpenDirections", "OpenParts"]


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

    def in_units(self, units: Array) -> OpenDirections:
        """Return the same for columns that are ``units`` times as large, (D,)."""
        return self._replace(scales=self.scales * units)

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


class OpenParts(NamedTuple):
    """The same where members of a mixture differ in scales and directions: the parts side by side.

    Attributes
    ----------
    parts : tuple of OpenDirections
        Of members in their order.
    widths : tuple of int
        How many of the directions B belong to each, in the same order.
    """

    parts: tuple[OpenDirections, ...]
    widths: tuple[int, ...]

    @property
    def fixes_weights(self) -> bool:
        """Whether some weight is fixed."""
        return any(part.fixes_weights for part in self.parts)

    def in_units(self, units: Array) -> OpenParts:
        """Return the same for columns that are ``units`` times as large, (D,)."""
        return self._replace(parts=tuple(part.in_units(units) for part in self.parts))

    def spread(self, x: Array, along: Array) -> Array:
        """Return what they add to the variance of x·w, (N, G), given x and xB."""
        return np.concatenate(
            [part.spread(x, along[:, own]) for part, _, own in self._places()], axis=1
        )

    def co_spread(self, x: Array, other: Array, along: Array, other_along: Array) -> Array:
        """Return what they add to the covariance of x·w and x'·w, (G, N, N')."""
        return np.concatenate(
            [
                part.co_spread(x, other, along[:, own], other_along[:, own])
                for part, _, own in self._places()
            ]
        )

    def covariance(self, directions: Array) -> Array:
        """Return what they add to the covariance of the weights, (G, D, D)."""
        return np.concatenate(
            [part.covariance(directions[:, own]) for part, _, own in self._places()]
        )

    def draw(self, directions: Array, members: Array, rng: np.random.Generator) -> Array:
        """Draw what they add to the weights of members (S,), in units of the noise: (S, D)."""
        found = np.empty((len(members), len(directions)))
        for part, rows, own in self._places():
            mine = (members >= rows.start) & (members < rows.stop)
            found[mine] = part.draw(directions[:, own], members[mine] - rows.start, rng)
        return found

    def _places(self) -> Iterator[tuple[OpenDirections, slice, slice]]:
        """Yield each part with its members and its directions."""
        member = place = 0
        for part, width in zip(self.parts, self.widths, strict=True):
            rows = slice(member, member := member + len(part.precisions))
            yield part, rows, slice(place, place := place + width)
