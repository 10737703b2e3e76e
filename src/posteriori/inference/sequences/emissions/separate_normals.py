r"""Normal columns whose means and precisions have priors of their own: beliefs about both in turn.

.. math:: μ \sim N(m_0, 1/λ_0), \quad τ \sim \mathrm{Gamma}(a_0, b_0), \qquad
   q(μ) = N\Bigl(\frac{λ_0 m_0 + E[τ] S_1}{λ}, \frac1λ\Bigr), \quad λ = λ_0 + N E[τ], \qquad
   q(τ) = \mathrm{Gamma}\bigl(a_0 + \tfrac N2,\; b_0 + \tfrac12 E_q[S_2 - 2μS_1 + Nμ^2]\bigr).

No joint belief is conjugate to such a prior; the two are found from one another until they agree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.numbers.student_t import StudentT
from posteriori.inference.latent.contract import Learned
from posteriori.inference.latent.units import table_spread
from posteriori.inference.mixtures.columns.family_columns import ColumnLayout, lay_out
from posteriori.inference.mixtures.columns.family_models import belief_affinities
from posteriori.inference.mixtures.columns.latent_ascent import LearnedFeatures
from posteriori.inference.sequences.emissions.feature_emissions import (
    DrawnFeatures,
    FeatureEmission,
    keep_features,
    of_one_column,
)
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["SeparateBeliefs", "separate_normals"]

#: Rounds of the two beliefs, and the relative change of E[τ] at which they agree.
_ROUNDS, _AGREE = 500, 1e-13


class SeparateBeliefs(NamedTuple):
    """Independent beliefs about the mean and the precision of each state's columns, (K,) or (K, D)."""

    mean: Normal
    precision: Gamma


class SeparateModel(NamedTuple):
    """Normal columns with separate priors, moved as the data are."""

    layout: ColumnLayout
    means: Normal
    precisions: Gamma

    @property
    def size(self) -> int:
        """Number of features."""
        return self.layout.size

    def of(self, x: Array) -> Array:
        """Return x, x² of rows, (F, B)."""
        return self.layout.of(x)

    def learn(self, sums: Array) -> LearnedFeatures:
        """Return beliefs that agree with one another."""
        count, (first, second) = self.layout.counts(sums), self.layout.split(sums)
        strength, a = 1.0 / self.means.variance, self.precisions.shape + 0.5 * count
        pull, tau = strength * self.means.mean, self.precisions.mean
        for _ in range(_ROUNDS):
            precision = strength + count * tau
            mean = (pull + tau * first) / precision
            square = second - 2.0 * mean * first + count * (mean**2 + 1.0 / precision)
            last, tau = tau, a / (self.precisions.rate + 0.5 * square)
            if np.all(np.abs(tau - last) <= _AGREE * tau):
                break
        if not (np.all(precision > 0) and np.all(tau > 0)):
            raise ValueError("a belief is improper")
        beliefs = SeparateBeliefs(Normal(mean, variance=1.0 / precision), Gamma(a, rate=a / tau))
        log_tau = beliefs.precision.mean_params[0]
        offset = 0.5 * (log_tau - LOG_2PI - tau * (mean**2 + 1.0 / precision))
        theta = self.layout.join([tau * mean, -0.5 * tau], offset)
        apart = np.sum(beliefs.mean.kl(self.means)) + np.sum(beliefs.precision.kl(self.precisions))
        return LearnedFeatures(theta, -float(apart), beliefs)

    def log_affinities(self, sums: Array) -> Array:
        """Return ln ∫√(q_j q_k), (K, K)."""
        return np.sum([belief_affinities(q) for q in self.learn(sums).components], axis=0)

    def draw(self, sums: Array, size: int, rng: np.random.Generator) -> DrawnFeatures:
        """Draw means and precisions from the beliefs about them."""
        q = self.learn(sums).components
        mean, tau = q.mean.sample(size, rng=rng), q.precision.sample(size, rng=rng)  # (S, K, D)
        offset = 0.5 * (np.log(tau) - LOG_2PI - tau * mean**2)
        one = zip(mean, tau, offset, strict=True)
        theta = np.stack([self.layout.join([t * m, -0.5 * t], c) for m, t, c in one])

        def density(means: Any, precisions: Any) -> Array:
            return (means.log_prob(mean) + precisions.log_prob(tau)).sum(axis=-1)

        def log_beliefs(other: Array) -> Array:
            q, states = self.learn(other).components, range(len(other))
            one = [density(*(take_members(d, np.s_[j : j + 1]) for d in q)) for j in states]
            return np.stack(one, axis=1)

        return DrawnFeatures(theta, log_beliefs, lambda: density(self.means, self.precisions))


def separate_normals(
    means: Normal, precisions: Gamma, x: Array, frequency: Array | None
) -> FeatureEmission:
    """Return the model of rows whose columns are normal, with separate priors (), or (D,)."""
    shift = table_spread(x, frequency)[1]
    layout = lay_out(x, False, shift, _squares)
    model = SeparateModel(layout, Normal(means.mean - shift, variance=means.variance), precisions)

    def finish(learned: LearnedFeatures) -> Learned:
        found: Any = learned.components
        mean, spread = found.mean.mean + shift, found.mean.variance
        beliefs = SeparateBeliefs(Normal(mean, variance=spread), found.precision)
        typical = 1.0 / found.precision.mean + spread
        members = StudentT(2.0 * found.precision.shape, mean, scale=np.sqrt(typical))
        return Learned(of_one_column(members), SeparateBeliefs(*map(of_one_column, beliefs)))

    return FeatureEmission(model, x, 0.0, finish, keep_features(model, x))


def _squares(known: Array) -> tuple[Array, Array]:
    return known, known**2
