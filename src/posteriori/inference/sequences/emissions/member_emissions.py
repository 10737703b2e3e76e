r"""States whose members are fitted to weighted rows: any class with ``fit(x, weights)`` and ``log_prob``.

.. math:: θ_k = \arg\max \sum_t (r_{tk} + ε)\,\ln p(x_t\mid θ_k), \qquad Tε = 10^{-6}.

All rows count a little for every state, so that none shrinks to a point or is left without rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.latent.contract import Learned, Scored, Sums
from posteriori.inference.mixtures.columns.latent_ascent import IMAGINED
from posteriori.inference.mixtures.columns.member_fits import (
    Columns,
    fit_columns,
    improved_columns,
    log_density_of,
)
from posteriori.inference.mixtures.columns.mixture_densities import FittedDensities, join_members
from posteriori.inference.mixtures.columns.mixture_learning import free_parameters
from posteriori.numerics.types import Array

__all__ = ["MemberEmission", "RowDensities"]


class MemberEmission(NamedTuple):
    """Rows that are fitted.

    Attributes
    ----------
    family : object with ``fit``
    x : (T, D)
        NaN is a missing entry; of a family of vectors its row is missing.
    frequency : (T,)
    n_sums : int
        Number of states, each of which has its members.
    """

    family: Any
    x: Array
    frequency: Array
    n_sums: int

    @property
    def numeric(self) -> bool:
        """Members are no numbers that could be moved."""
        return False

    @property
    def _seen(self) -> Array:
        return _rows_to_fit(self.family, self.x)

    @property
    def _imagined(self) -> Array:
        return IMAGINED / self.frequency.sum() * self.frequency

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the states are known."""
        return False

    def expected_sums(self, shares: Array) -> Sums:
        """Return the members that are fitted to rows by shares."""
        seen, whole = self._seen, self._whole()
        added = self._imagined[:, None]
        return tuple(
            fit_columns(self.family, self.x[seen], share[seen], whole)
            for share in (shares + added).T
        )

    def look(self, sums: Sums) -> Scored:
        """Return the log densities of all rows."""
        scores = RowDensities(sums, self.x.shape[1]).log_prob(self.x)
        bonus = float(self._imagined @ scores.sum(axis=1))

        def summarize(shares: Array) -> Sums:
            seen, added = self._seen, self._imagined[:, None]
            pairs = zip(sums, (shares + added).T, strict=True)
            return tuple(
                improved_columns(self.family, member, self.x[seen], share[seen])
                for member, share in pairs
            )

        return Scored(scores, 0.0, bonus, summarize)

    def learn(self, sums: Sums) -> Learned:
        """Return the members as one batch, where they are distributions."""
        members = join_members(sums)
        free = 0 if members is None else sum(map(free_parameters, sums[0]))
        one_column = members is not None and len(members.batch_shape) == 1
        return Learned(members if one_column else RowDensities(sums, self.x.shape[1]), None, free)

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the members of states in another order."""
        return tuple(sums[k] for k in order)

    def _whole(self) -> Columns:
        seen = self._seen
        return fit_columns(self.family, self.x[seen], self.frequency[seen])


class RowDensities(FittedDensities):
    """Members that were fitted; a row that cannot be whole is missing."""

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | state), (T, K)."""
        seen = _rows_to_fit(self.components[0][0], x)
        scores = np.zeros((len(x), len(self.components)))
        for k, component in enumerate(self.components):
            scores[seen, k] = log_density_of(component, x[seen])
        return scores


def _rows_to_fit(family: Any, x: Array) -> Array:
    """Return which rows say something: of vectors those without gaps."""
    if getattr(family, "_event_ndim", 0):
        return np.asarray(~np.isnan(x).any(axis=1))
    return np.ones(len(x), dtype=bool)
