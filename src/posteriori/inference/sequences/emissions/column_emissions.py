r"""Columns of several kinds that are independent given the state.

.. math:: p(x_t\mid z_t) = \prod_c p_c(x_{t, c}\mid z_t).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.latent.contract import Learned, Scored, Sums
from posteriori.inference.mixtures.columns.mixture_densities import ColumnDensities
from posteriori.inference.sequences.draws.chain_turns import EmissionDraws
from posteriori.numerics.types import Array

__all__ = ["ColumnEmission"]


class ColumnEmission(NamedTuple):
    """Parts of the columns, each with its own model.

    Attributes
    ----------
    parts : mapping from name to Components
    places : mapping from name to the columns of the part
    densities : callable
        From what a part emits, its densities of rows.
    """

    parts: Mapping[str, Any]
    places: Mapping[str, Any]
    densities: Callable[[Any], Any]

    @property
    def numeric(self) -> bool:
        """Whether all sums are numbers."""
        return all(part.numeric for part in self.parts.values())

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the states are known."""
        return all(part.exact for part in self.parts.values())

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        return sum(part.n_sums for part in self.parts.values())

    def expected_sums(self, shares: Array) -> Sums:
        """Return the sums of all parts, one after another."""
        return tuple(one for part in self.parts.values() for one in part.expected_sums(shares))

    def look(self, sums: Sums) -> Scored:
        """Return the sum of what the parts say of rows."""
        views = [part.look(own) for part, own in self._divided(sums)]

        def summarize(shares: Array) -> Sums:
            return tuple(one for view in views for one in view.summarize(shares))

        scores = np.sum([view.scores for view in views], axis=0)
        constant = sum(view.constant for view in views)
        return Scored(scores, constant, sum(view.bonus for view in views), summarize)

    def learn(self, sums: Sums) -> Learned:
        """Return the densities of all columns, and the beliefs by name."""
        found = [part.learn(own) for part, own in self._divided(sums)]
        named = dict(zip(self.parts, found, strict=True))
        inside = {name: self.densities(one.emission) for name, one in named.items()}
        counted = all(one.n_parameters for one in found)
        beliefs = {name: one.beliefs for name, one in named.items()}
        known = any(one is not None for one in beliefs.values())
        return Learned(
            ColumnDensities(self.places, inside),
            beliefs if known else None,
            sum(one.n_parameters for one in found) if counted else 0,
            sum(one.n_shared for one in found),
        )

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of states in another order."""
        return tuple(one for part, own in self._divided(sums) for one in part.reorder(own, order))

    def log_affinities(self, sums: Sums) -> Array:
        """Return the sum over all parts."""
        return np.sum([part.log_affinities(own) for part, own in self._divided(sums)], axis=0)

    def draw(self, sums: Sums, size: int, rng: np.random.Generator) -> EmissionDraws:
        """Draw the parameters of all parts."""
        drawn = [part.draw(own, size, rng) for part, own in self._divided(sums)]

        def log_beliefs(other: Sums) -> Array:
            own = (part for _, part in self._divided(other))
            return np.sum([d.log_beliefs(part) for d, part in zip(drawn, own, strict=True)], axis=0)

        return EmissionDraws(
            lambda s: np.sum([one.scores(s) for one in drawn], axis=0),
            log_beliefs,
            lambda: np.sum([one.log_priors() for one in drawn], axis=0),
        )

    def _divided(self, sums: Sums) -> Iterator[tuple[Any, Sums]]:
        """Yield each part with its sums."""
        first = 0
        for part in self.parts.values():
            yield part, sums[first : first + part.n_sums]
            first += part.n_sums
