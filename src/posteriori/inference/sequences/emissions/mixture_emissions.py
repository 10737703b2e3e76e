r"""States that each emit a mixture: the components of all states are learned together, below the states.

.. math:: p(x_t\mid z_t = k) = \sum_m w_{km}\,p(x_t\mid θ_{km}), \qquad
   r_{tkm} = r_{tk}\,\frac{w_{km}\,p(x_t\mid θ_{km})}{p(x_t\mid z_t = k)}.
"""

from __future__ import annotations

from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from posteriori.distributions.batches import take_members
from posteriori.distributions.composites.mixture import Mixture
from posteriori.inference.latent.contract import Learned, Scored, Sums
from posteriori.inference.latent.namings import symmetry_gain
from posteriori.inference.sequences.dirichlet_rows import DirichletRows, draw_rows
from posteriori.inference.sequences.draws.chain_turns import EmissionDraws
from posteriori.inference.sequences.emissions.normal_emissions import NormalEmission
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array

__all__ = ["MOST_COMPONENTS", "MixtureBelief", "MixtureEmission"]

#: Up to so many components of a state all their orders are counted, draw by draw.
MOST_COMPONENTS = 5


class MixtureBelief(NamedTuple):
    """Beliefs about the weights (K, M) and the K M components, state after state."""

    weights: Any
    components: Any


class MixtureEmission(NamedTuple):
    """Mixtures of M components in each of K states.

    Attributes
    ----------
    components : NormalEmission
        Of K M states, those of each mixture one after another.
    weights : DirichletRows
        Of a table (K, M).
    spread : (T, M)
        How a state's rows are shared out among its components at the start.
    alike : bool
        Whether the prior does not tell the components of a state apart.
    """

    components: NormalEmission
    weights: DirichletRows
    spread: Array
    alike: bool = True

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
    def completes(self) -> bool:
        """Whether beliefs are exact where components are drawn beside the states."""
        return self.components.exact

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        return 1 + self.components.n_sums

    def expected_sums(self, shares: Array) -> Sums:
        """Return sums of components among which rows are spread as at the start."""
        return self._sums(
            shares[:, :, None] * self.spread[:, None, :], self.components.expected_sums
        )

    def look(self, sums: Sums) -> Scored:
        """Return ln Σ_m w p(x | θ_km) of all rows."""
        logs, beside = self.weights.learn(sums[0])
        view = self.components.look(sums[1:])
        joint = view.scores.reshape(-1, *self._shape) + logs
        scores = log_sum_exp(joint, axis=2)

        def summarize(shares: Array) -> Sums:
            inside = np.exp(joint - scores[:, :, None]) * shares[:, :, None]
            return self._sums(inside, view.summarize)

        return Scored(scores.copy(), view.constant, view.bonus + beside, summarize)

    def learn(self, sums: Sums) -> Learned:
        """Return the mixtures as one batch."""
        found, (k, m) = self.components.learn(sums[1:]), self._shape
        free = m * (found.n_parameters + 1) - 1 if found.n_parameters else 0
        batch = take_members(found.emission, (np.arange(k * m).reshape(k, m),))
        beliefs = None
        if self.weights.estimate == "belief":
            beliefs = MixtureBelief(self.weights.belief(sums[0]), found.beliefs)
        emission = Mixture(self.weights.mean(sums[0]), batch)
        return Learned(emission, beliefs, free, found.n_shared)

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of states in another order."""
        k, m = self._shape
        inside = np.arange(k * m).reshape(k, m)[order].ravel()
        return sums[0][order], *self.components.reorder(sums[1:], inside)

    def log_affinities(self, sums: Sums) -> Array:
        r"""Return ln \{perm B/M!\} (K, K) with the coefficients B of two states' components, in any order of these."""
        k, m = self._shape
        each = self.components.log_affinities(sums[1:]).reshape(k, m, k, m)
        if not self.alike:
            return np.einsum("jmkm->jk", each)
        return np.array([[-symmetry_gain(each[i, :, j]) for j in range(k)] for i in range(k)])

    def draw(self, sums: Sums, size: int, rng: np.random.Generator) -> EmissionDraws:
        """Draw weights and components from the beliefs about them.

        A belief about a state counts all orders of its components, of which it knows one.
        """
        k, m = self._shape
        if m > MOST_COMPONENTS:
            raise ValueError(
                f"evidence of mixtures of {m} components in a state cannot be drawn, of at most "
                f"{MOST_COMPONENTS} it can; lower mixture_components, or compare log_evidence_"
            )
        inside = self.components.draw(sums[1:], size, rng)
        log_weights = draw_rows(self.weights, sums[0], size, rng)

        def joint(s: int) -> Array:
            return inside.scores(s).reshape(-1, k, m) + log_weights[s]

        def log_beliefs(other: Sums) -> Array:
            of_weights = _row_densities(log_weights, self.weights.concentration + other[0])
            of_components = inside.log_beliefs(other[1:]).reshape(size, k, m, k, m)
            return self._in_any_order(of_weights, of_components)

        def complete(s: int, states: Array, frequency: Array | None) -> Sums:
            rows = np.arange(len(states))
            noise = rng.gumbel(size=(len(states), m))
            chosen = (joint(s)[rows, states] + noise).argmax(axis=1)
            shares = np.zeros((len(states), k, m))
            shares[rows, states, chosen] = 1.0 if frequency is None else frequency
            return self._sums(shares, self.components.expected_sums)

        def log_priors() -> Array:
            of_weights = _row_densities(log_weights, self.weights.concentration)[:, :, 0]
            of_components = inside.log_priors().reshape(size, k, m).sum(axis=2)
            return np.diagonal(of_weights, axis1=1, axis2=2) + of_components

        return EmissionDraws(
            lambda s: log_sum_exp(joint(s), axis=2),
            log_beliefs,
            log_priors,
            complete if self.completes else None,
        )

    def _in_any_order(self, of_weights: Array, of_components: Array) -> Array:
        """Return ln q_j(θ_k) (S, K, K), the mean over the orders of components.

        Parameters
        ----------
        of_weights : (S, K, M!, K)
            What state j's belief says of the weights of state k in each order.
        of_components : (S, K, M, K, M)
            What component m of state j's belief says of component l of state k.
        """
        m = self._shape[1]
        orders = list(permutations(range(m))) if self.alike else [tuple(range(m))]
        each = [
            of_weights[:, :, i] + sum(of_components[:, :, a, :, b] for a, b in enumerate(order))
            for i, order in enumerate(orders)
        ]
        return log_sum_exp(np.stack(each), axis=0) - np.log(len(orders))

    def _sums(self, shares: Array, summarize: Any) -> Sums:
        """Return the counts and sums of components, given shares (T, K, M)."""
        k, m = self._shape
        return shares.sum(axis=0), *summarize(shares.reshape(-1, k * m))


def _row_densities(logs: Array, alpha: Array) -> Array:
    """Return ln Dir(w_k in each order | α_j), (S, K, M!, K), of draws ln w (S, K, M)."""
    orders = np.array(list(permutations(range(alpha.shape[1]))))
    constant = gammaln(alpha.sum(axis=1)) - gammaln(alpha).sum(axis=1)
    found = np.einsum("jm,skom->sjok", alpha - 1.0, logs[:, :, orders], optimize=True)
    return found + constant[:, None, None]
