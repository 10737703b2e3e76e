r"""What is believed of the means and precisions of states that emit normal rows, by the kind of covariance.

Each state has a precision of its own ("full"), all share one, or each is a number times I:

.. math:: μ_k\midΛ_k \sim N(m_k, (κ_kΛ_k)^{-1}), \quad Λ_k \sim \mathrm{Wishart}(ν, V), \qquad
   Λ_k = Λ, \qquad Λ_k = τ_k I, \quad τ_k \sim \mathrm{Gamma}(a, b).

One normal–Wishart prior states all three. Given that Λ = τI, its density falls to
:math:`a = \tfrac D2(ν - D - 1) + 1, b = \tfrac12\operatorname{tr}V^{-1}`, which keeps :math:`E[Σ]` of the default
prior. All are conjugate, so beliefs given paths are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import gammaln

from posteriori.distributions.conjugate.pair import find_pair
from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.vectors.mv_student_t import MvStudentT
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.inference.latent.contract import Learned
from posteriori.inference.latent.namings import log_affinities
from posteriori.inference.mixtures.normal_beliefs import (
    component_divergence,
    expected_scores,
    learn_belief,
    normal_affinities,
)
from posteriori.inference.mixtures.normal_maximum import (
    NormalParts,
    NormalPrior,
    most_likely,
    prior_density,
    raised_covariances,
)
from posteriori.inference.mixtures.normal_scores import NormalScores, NormalStatistics
from posteriori.inference.mixtures.normal_units import Units
from posteriori.inference.mixtures.wishart_priors import belief_in_rows
from posteriori.inference.sequences.emissions.feature_emissions import belief_densities
from posteriori.inference.sequences.emissions.regression_densities import inverse_definite
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "DrawnNormals",
    "NormalLaw",
    "OwnPrecisions",
    "SharedPrecision",
    "SphericalBeliefs",
    "SphericalPrecisions",
]


class DrawnNormals(NamedTuple):
    """Means and precisions that were drawn from beliefs.

    Attributes
    ----------
    scores : callable
        From the number of a draw, its normals as functions of rows.
    log_beliefs : callable
        From statistics, ln q_j(θ_k) (S, K, K).
    log_priors : callable
        To ln p(θ_k), (S, K).
    """

    scores: Callable[[int], NormalScores]
    log_beliefs: Callable[[NormalStatistics], Array]
    log_priors: Callable[[], Array]


class NormalLaw(Protocol):
    """A prior of the normals of all states, and what it learns from sums, in the units of the rows."""

    def expect(self, statistics: NormalStatistics) -> tuple[NormalScores, float]:
        """Return E ln N(z | μ_k, Λ_k) as functions of z, and −KL of the beliefs."""

    def find_mode(self, statistics: NormalStatistics) -> tuple[NormalParts, float]:
        """Return the normals of highest posterior density, and ln p of them up to a constant."""

    def learn(self, statistics: NormalStatistics, units: Units) -> Learned:
        """Return what beliefs predict of rows, and the beliefs."""

    def log_affinities(self, statistics: NormalStatistics) -> Array:
        """Return ln ∫√(q_j q_k) of the beliefs, (K, K), or a bound from above."""

    def draw(
        self, statistics: NormalStatistics, size: int, rng: np.random.Generator
    ) -> DrawnNormals:
        """Draw means and precisions from the beliefs."""


class OwnPrecisions(NamedTuple):
    """Each state has a precision of its own."""

    prior: NormalPrior

    def expect(self, statistics: NormalStatistics) -> tuple[NormalScores, float]:
        """Return E ln N(z | μ_k, Λ_k) as functions of z, and −KL of the beliefs."""
        belief = learn_belief(statistics, self.prior)
        even = np.zeros(len(statistics.counts))
        return expected_scores(belief, even), -component_divergence(belief, self.prior)

    def find_mode(self, statistics: NormalStatistics) -> tuple[NormalParts, float]:
        """Return the normals of highest posterior density, and ln p of them up to a constant."""
        spread = np.eye(statistics.sums.shape[1])
        parts = most_likely(statistics, "full", spread, self.prior)
        return parts, prior_density(parts, self.prior)

    def learn(self, statistics: NormalStatistics, units: Units) -> Learned:
        """Return Student's t of rows, and normal–Wishart beliefs."""
        return _predicted(belief_in_rows(learn_belief(statistics, self.prior), units))

    def log_affinities(self, statistics: NormalStatistics) -> Array:
        """Return ln ∫√(q_j q_k), (K, K)."""
        return normal_affinities(learn_belief(statistics, self.prior))

    def draw(
        self, statistics: NormalStatistics, size: int, rng: np.random.Generator
    ) -> DrawnNormals:
        """Draw means and precisions from the beliefs."""
        drawn: Any = self._beliefs(statistics).sample(size, rng=rng)
        d = statistics.sums.shape[1]
        height = 0.5 * (np.linalg.slogdet(drawn.precision)[1] - d * LOG_2PI)
        p = self.prior
        prior = NormalWishart(p.means, p.strength, p.dof, inverse_definite(p.inverse_scale))

        def log_beliefs(other: NormalStatistics) -> Array:
            return belief_densities(self._beliefs(other), drawn)

        return DrawnNormals(
            lambda s: NormalScores(height[s], drawn.mean[s], drawn.precision[s]),
            log_beliefs,
            lambda: np.asarray(prior.log_prob(drawn)),
        )

    def _beliefs(self, statistics: NormalStatistics) -> NormalWishart:
        q = learn_belief(statistics, self.prior)
        return NormalWishart(q.means, q.strength, q.dof, q.scale)


class _Shared(NamedTuple):
    """Means (K, D) worth ``strength`` (K,) rows, and the belief in the one precision."""

    means: Array
    strength: Array
    precision: Wishart


class SharedPrecision(NamedTuple):
    """All states share one precision; of their priors the first says what is known of it."""

    prior: NormalPrior

    def expect(self, statistics: NormalStatistics) -> tuple[NormalScores, float]:
        """Return E ln N(z | μ_k, Λ) as functions of z, and −KL of the beliefs."""
        q, (k, d) = self._beliefs(statistics), statistics.sums.shape
        mean = q.precision.mean
        height = 0.5 * (q.precision.mean_params[0] - d * LOG_2PI - d / q.strength)
        scores = NormalScores(height, q.means, np.broadcast_to(mean, (k, d, d)))
        ratio, shift = self.prior.strength / q.strength, q.means - self.prior.means
        pull = self.prior.strength * np.einsum("ki,ij,kj->k", shift, mean, shift)
        of_means = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + pull).sum()
        return scores, -float(of_means + q.precision.kl(self._own))

    def find_mode(self, statistics: NormalStatistics) -> tuple[NormalParts, float]:
        """Return the normals of highest posterior density, and ln p of them up to a constant."""
        q, (k, d) = self._beliefs(statistics), statistics.sums.shape
        shape = float(q.precision.dof) - d - 1.0 + k  # exponent of |Λ|½, a half for each mean
        cov = raised_covariances(q.precision.inverse_scale[None] / shape, np.eye(d))[0]
        precision = inverse_definite(cov)
        shift = q.means - self.prior.means
        pull = self.prior.strength @ np.einsum("ki,ij,kj->k", shift, precision, shift)
        before = float(self.prior.dof[0]) - d - 1.0 + k
        trace = np.vdot(self.prior.inverse_scale[0], precision)
        beside = 0.5 * (before * np.linalg.slogdet(precision)[1] - trace - pull)
        parts = NormalParts(np.ones(k), q.means, np.broadcast_to(cov, (k, d, d)))
        return parts, float(beside)

    def learn(self, statistics: NormalStatistics, units: Units) -> Learned:
        """Return Student's t of rows, and what is believed of each mean with the one precision."""
        q, k = self._beliefs(statistics), len(statistics.counts)
        to_z = np.swapaxes(units.inverse, 0, 1)
        scale = to_z @ q.precision.scale @ to_z.T
        scales = np.broadcast_to(0.5 * (scale + scale.T), (k, *scale.shape))
        dof = np.full(k, float(q.precision.dof))
        return _predicted(NormalWishart(units.raw_means(q.means), q.strength, dof, scales))

    def log_affinities(self, statistics: NormalStatistics) -> Array:
        r"""Return a bound of ln ∫√(q_j q_k), (K, K), whose sums over orders bound those of all states together.

        Given Λ a coefficient is :math:`c_{jk}\exp(-\tfrac14 h_{jk}δ^\topΛδ)` with δ = m_j − m_k; by Hölder's
        inequality the mean of a product of K of them is at most the product of :math:`(E f^K)^{1/K}`.
        """
        q, (k, d) = self._beliefs(statistics), statistics.sums.shape
        total = q.strength[:, None] + q.strength
        product = q.strength[:, None] * q.strength
        shift = q.means[:, None] - q.means
        pull = np.einsum("jki,il,jkl->jk", shift, q.precision.scale, shift)
        log_c = 0.5 * d * np.log(2.0 * np.sqrt(product) / total)
        spread = np.log1p(0.5 * k * product / total * pull)
        return np.asarray(log_c - 0.5 * q.precision.dof / k * spread)

    def draw(
        self, statistics: NormalStatistics, size: int, rng: np.random.Generator
    ) -> DrawnNormals:
        """Draw one precision and all means given it; each state bears its part of the former's density."""
        q, (k, d) = self._beliefs(statistics), statistics.sums.shape
        precision = np.asarray(q.precision.sample(size, rng=rng))
        log_det = np.linalg.slogdet(precision)[1]
        root = np.swapaxes(np.linalg.cholesky(precision), -1, -2)[:, None]
        noise = np.linalg.solve(root, rng.standard_normal((size, k, d))[..., None])[..., 0]
        means = q.means + noise / np.sqrt(q.strength)[:, None]
        height = np.broadcast_to(0.5 * (log_det - d * LOG_2PI)[:, None], (size, k))

        def densities(law: _Shared) -> Array:
            """Return ln N(μ_k | m_j, (κ_j Λ)⁻¹), (S, K, K)."""
            shift = means[:, None] - law.means[:, None]
            squares = np.einsum("sjki,sil,sjkl->sjk", shift, precision, shift, optimize=True)
            strength = law.strength[:, None]
            heights = 0.5 * (d * np.log(strength) + log_det[:, None, None] - d * LOG_2PI)
            own = np.asarray(law.precision.log_prob(precision)) / k
            return heights - 0.5 * strength * squares + own[:, None, None]

        prior = _Shared(self.prior.means, self.prior.strength, self._own)
        return DrawnNormals(
            lambda s: NormalScores(height[s], means[s], np.broadcast_to(precision[s], (k, d, d))),
            lambda other: densities(self._beliefs(other)),
            lambda: np.diagonal(densities(prior), axis1=1, axis2=2),
        )

    @property
    def _own(self) -> Wishart:
        return Wishart(self.prior.dof[0], inverse_definite(self.prior.inverse_scale[0]))

    def _beliefs(self, statistics: NormalStatistics) -> _Shared:
        prior, counts = self.prior, statistics.counts
        strength = prior.strength + counts
        means = (prior.strength[:, None] * prior.means + statistics.sums) / strength[:, None]
        before = (prior.strength[:, None] * prior.means).T @ prior.means
        after = (strength[:, None] * means).T @ means
        inverse = prior.inverse_scale[0] + statistics.squares.sum(axis=0) + before - after
        scale = inverse_definite(0.5 * (inverse + inverse.T))
        return _Shared(means, strength, Wishart(prior.dof[0] + counts.sum(), scale))


class SphericalBeliefs(NamedTuple):
    """Beliefs about means and precisions of states: τ_k, and μ_k of precision κ_k τ_k I given it.

    Attributes
    ----------
    location : (K, D)
    mean_strength : (K,)
        κ, the rows that the knowledge of means is worth.
    precision : Gamma
        Of τ, a batch (K,).
    """

    location: Array
    mean_strength: Array
    precision: Gamma


class SphericalPrecisions(NamedTuple):
    """Each state has a number for its precision in all directions."""

    prior: NormalPrior

    def expect(self, statistics: NormalStatistics) -> tuple[NormalScores, float]:
        """Return E ln N(z | μ_k, τ_k⁻¹ I) as functions of z, and −KL of the beliefs."""
        q, d, prior = self._beliefs(statistics), statistics.sums.shape[1], self._own
        log_tau, tau = q.precision.mean_params[0], q.precision.mean
        height = 0.5 * d * (log_tau - LOG_2PI - 1.0 / q.mean_strength)
        ratio = prior.mean_strength / q.mean_strength
        pull = prior.mean_strength * tau * ((q.location - prior.location) ** 2).sum(axis=1)
        of_means = 0.5 * (d * (ratio - 1.0 - np.log(ratio)) + pull)
        divergence = of_means + q.precision.kl(prior.precision)
        return NormalScores(height, q.location, tau), -float(divergence.sum())

    def find_mode(self, statistics: NormalStatistics) -> tuple[NormalParts, float]:
        """Return the normals of highest posterior density, and ln p of them up to a constant."""
        q, d, prior = self._beliefs(statistics), statistics.sums.shape[1], self._own
        tau = (q.precision.shape + 0.5 * d - 1.0) / q.precision.rate
        tau = 1.0 / raised_covariances(1.0 / tau[:, None, None], np.eye(1))[:, 0, 0]
        squares = ((q.location - prior.location) ** 2).sum(axis=1)
        beside = prior.precision.log_prob(tau) + 0.5 * d * np.log(tau)
        beside = beside - 0.5 * prior.mean_strength * tau * squares
        return NormalParts(np.ones(len(tau)), q.location, 1.0 / tau), float(beside.sum())

    def learn(self, statistics: NormalStatistics, units: Units) -> Learned:
        """Return Student's t of rows, and the beliefs."""
        q, d = self._beliefs(statistics), statistics.sums.shape[1]
        square = units.root[0, 0] ** 2  # one unit for all columns
        rate = q.precision.rate * square
        means = units.raw_means(q.location)
        spread = rate / q.precision.shape * (1.0 + 1.0 / q.mean_strength)
        predicted = MvStudentT(
            2.0 * q.precision.shape, means, scale=spread[:, None, None] * np.eye(d)
        )
        beliefs = SphericalBeliefs(means, q.mean_strength, Gamma(q.precision.shape, rate=rate))
        return Learned(predicted, beliefs)

    def log_affinities(self, statistics: NormalStatistics) -> Array:
        """Return ln ∫√(q_j q_k), (K, K)."""
        q, d = self._beliefs(statistics), statistics.sums.shape[1]
        first = q.mean_strength[:, None] * q.location
        second = q.precision.rate + 0.5 * (first * q.location).sum(axis=1)

        def log_normalizer(a: Array, kappa: Array, at: Array, b: Array) -> Array:
            rate = b - 0.5 * (at**2).sum(axis=-1) / kappa
            return gammaln(a) - a * np.log(rate) - 0.5 * d * np.log(kappa)

        parts = q.precision.shape, q.mean_strength, first, second
        halfway = log_normalizer(*(0.5 * (part[:, None] + part) for part in parts))
        return log_affinities(log_normalizer(*parts), halfway)

    def draw(
        self, statistics: NormalStatistics, size: int, rng: np.random.Generator
    ) -> DrawnNormals:
        """Draw means and precisions from the beliefs."""
        q, (k, d) = self._beliefs(statistics), statistics.sums.shape
        tau = np.asarray(q.precision.sample(size, rng=rng))
        wide = np.sqrt(tau * q.mean_strength)[..., None]
        means = q.location + rng.standard_normal((size, k, d)) / wide
        height = 0.5 * d * (np.log(tau) - LOG_2PI)

        def densities(law: SphericalBeliefs) -> Array:
            """Return ln q_j(μ_k, τ_k), (S, K, K)."""
            shift = ((means[:, None] - law.location[:, None]) ** 2).sum(axis=-1)
            each, strength = tau[:, None, :], law.mean_strength[:, None]
            law_of = Gamma(law.precision.shape[:, None], rate=law.precision.rate[:, None])
            heights = 0.5 * d * (np.log(strength * each) - LOG_2PI)
            return heights - 0.5 * strength * each * shift + law_of.log_prob(each)

        return DrawnNormals(
            lambda s: NormalScores(height[s], means[s], tau[s]),
            lambda other: densities(self._beliefs(other)),
            lambda: np.diagonal(densities(self._own), axis1=1, axis2=2),
        )

    @property
    def _own(self) -> SphericalBeliefs:
        """The prior, given that precisions are numbers times I."""
        p, d = self.prior, self.prior.means.shape[1]
        shape = 0.5 * d * (p.dof - d - 1.0) + 1.0
        rate = 0.5 * np.trace(p.inverse_scale, axis1=1, axis2=2)
        return SphericalBeliefs(p.means, p.strength, Gamma(shape, rate=rate))

    def _beliefs(self, statistics: NormalStatistics) -> SphericalBeliefs:
        prior, (counts, sums, squares), d = self._own, statistics, statistics.sums.shape[1]
        strength = prior.mean_strength + counts
        means = (prior.mean_strength[:, None] * prior.location + sums) / strength[:, None]
        before = prior.mean_strength * (prior.location**2).sum(axis=1)
        about = squares + before - strength * (means**2).sum(axis=1)
        shape = prior.precision.shape + 0.5 * d * counts
        return SphericalBeliefs(
            means, strength, Gamma(shape, rate=prior.precision.rate + 0.5 * about)
        )


def _predicted(belief: NormalWishart) -> Learned:
    return Learned(find_pair(belief, MvNormal).predictive(belief), belief)
