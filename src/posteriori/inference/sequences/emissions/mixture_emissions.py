r"""States that each emit a mixture: the components of all states are learned together, below the states.

.. math:: p(x_t\mid z_t = k) = \sum_m w_{km}\,p(x_t\mid θ_{km}), \qquad
   r_{tkm} = r_{tk}\,\frac{w_{km}\,p(x_t\mid θ_{km})}{p(x_t\mid z_t = k)}.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.composites.mixture import Mixture
from posteriori.inference.sequences.dirichlet_rows import DirichletRows
from posteriori.inference.sequences.emissions.emission_contract import (
    EmissionModel,
    EmissionView,
    LearnedEmission,
    Sums,
)
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["MixtureBelief", "MixtureEmission"]


class MixtureBelief(NamedTuple):
    """Beliefs about the weights (K, M) and the K M components, state after state."""

    weights: Any
    components: Any


class MixtureEmission(NamedTuple):
    """Mixtures of M components in each of K states.

    Attributes
    ----------
    components : EmissionModel
        Of K M states, those of each mixture one after another.
    weights : DirichletRows
        Of a table (K, M).
    spread : (T, M)
        How a state's rows are shared out among its components at the start.
    """

    components: EmissionModel
    weights: DirichletRows
    spread: Array

    @property
    def numeric(self) -> bool:
        """Whether the sums of components are."""
        return self.components.numeric

    @property
    def _shape(self) -> tuple[int, int]:
        k, m = self.weights.concentration.shape
        return k, m

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the states are known."""
        return False

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        return 1 + self.components.n_sums

    def share_out(self, shares: Array) -> Sums:
        """Return sums of components among which rows are spread as at the start."""
        return self._sums(shares[:, :, None] * self.spread[:, None, :], self.components.share_out)

    def look(self, sums: Sums) -> EmissionView:
        """Return ln Σ_m w p(x | θ_km) of all rows."""
        logs, beside = self.weights.learn(sums[0])
        view = self.components.look(sums[1:])
        joint = view.scores.reshape(-1, *self._shape) + logs
        scores = log_sum_exp(joint, axis=2)

        def summarize(shares: Array) -> Sums:
            inside = np.exp(joint - scores[:, :, None]) * shares[:, :, None]
            return self._sums(inside, view.summarize)

        return EmissionView(scores.copy(), view.constant, view.bonus + beside, summarize)

    def learn(self, sums: Sums) -> LearnedEmission:
        """Return the mixtures as one batch."""
        found, (k, m) = self.components.learn(sums[1:]), self._shape
        free = m * (found.n_parameters + 1) - 1 if found.n_parameters else 0
        batch = take_members(found.emission, (np.arange(k * m).reshape(k, m),))
        beliefs = None
        if self.weights.estimate == "belief":
            beliefs = MixtureBelief(self.weights.belief(sums[0]), found.beliefs)
        return LearnedEmission(Mixture(self.weights.mean(sums[0]), batch), beliefs, free)

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of states in another order."""
        k, m = self._shape
        inside = np.arange(k * m).reshape(k, m)[order].ravel()
        return sums[0][order], *self.components.reorder(sums[1:], inside)

    def _sums(self, shares: Array, summarize: Any) -> Sums:
        """Return the counts and sums of components, given shares (T, K, M)."""
        k, m = self._shape
        return shares.sum(axis=0), *summarize(shares.reshape(-1, k * m))
