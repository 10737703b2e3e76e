r"""States that emit normal rows, with gaps or without, in the units in which mixtures of normals are learned.

.. math:: s_{tk} = a_k - \tfrac12 (z_t - m_k)^\top P_k (z_t - m_k), \qquad
   \sum_t r_{tk}, \quad \sum_t r_{tk} z_t, \quad \sum_t r_{tk} z_t z_t^\top.

Missing entries are integrated out, each state completing them in its own way. A column without spread is
measured in units of its size, and no covariance falls below a part of the spread of all rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaps.completed_rows import Normals, normals_from_precisions
from posteriori.inference.gaps.normal_gaps import expected_moments, integrated_scores
from posteriori.inference.latent.contract import Learned, Scored, Sums
from posteriori.inference.latent.units import column_scale, table_spread
from posteriori.inference.mixtures.mixture_rows import (
    CompleteRows,
    GappyRows,
    MixtureRows,
    about_origin,
    full_precisions,
)
from posteriori.inference.mixtures.normal_maximum import (
    NormalParts,
    NormalPrior,
    most_likely,
    scores_of,
)
from posteriori.inference.mixtures.normal_scores import (
    NormalFeatures,
    NormalScores,
    NormalStatistics,
    theta_of,
    unpack_sums,
)
from posteriori.inference.mixtures.normal_starts import with_known_spread
from posteriori.inference.mixtures.normal_units import RowMoments, table_moments
from posteriori.inference.mixtures.wishart_priors import (
    prior_in_units,
)
from posteriori.inference.sequences.dirichlet_rows import Estimate
from posteriori.inference.sequences.draws.chain_turns import EmissionDraws
from posteriori.inference.sequences.emissions.feature_emissions import feature_scores, keep_features
from posteriori.inference.sequences.emissions.normal_laws import (
    DrawnNormals,
    NormalLaw,
    OwnPrecisions,
    SharedPrecision,
    SphericalPrecisions,
)
from posteriori.inference.sequences.emissions.regression_densities import inverse_definite
from posteriori.numerics.rank import exceeds_rounding, is_definite
from posteriori.numerics.types import Array

__all__ = ["NormalEmission", "normal_emission"]

#: What is added to each column's variance, relative to it, where columns depend on one another.
_RIDGE = 1e-6


class NormalEmission(NamedTuple):
    """Normal rows.

    Attributes
    ----------
    rows : MixtureRows
        In units of their own.
    law : NormalLaw or None
        Of estimates of highest density, and of beliefs.
    estimate : {"likelihood", "mode", "belief"}
    features : (F, T) or None
        Of rows without gaps, where they are few enough to be kept.
    """

    rows: MixtureRows
    law: NormalLaw | None
    estimate: Estimate
    features: Array | None = None

    @property
    def numeric(self) -> bool:
        """Sums are numbers."""
        return True

    @property
    def exact(self) -> bool:
        """Whether beliefs are exact where the states are known."""
        return isinstance(self.rows, CompleteRows)

    @property
    def shared(self) -> bool:
        """Whether all states have one covariance."""
        return self.rows.kind == "shared" or isinstance(self.law, SharedPrecision)

    @property
    def n_sums(self) -> int:
        """Number of parts of the sums."""
        return 3

    def expected_sums(self, shares: Array) -> Sums:
        """Return sums over rows, gaps completed by one normal of all rows."""
        rows = self.rows
        if self.features is not None and isinstance(rows, CompleteRows):
            return tuple(unpack_sums(shares.T @ self.features.T, rows.kind, rows.squares))
        return tuple(rows._replace(frequency=None).expected_sums(shares.T))

    def look(self, sums: Sums) -> Scored:
        """Return the quadratic functions at all rows."""
        scores, bonus = self._scores(NormalStatistics(*sums))
        rows, constant = self.rows, -self.rows.log_scale
        if isinstance(rows, CompleteRows) and rows.kind == "shared":
            constant -= 0.5 * float(np.vdot(scores.precisions, rows.squares))  # of all rows at once
        return Scored(self._values(scores), constant, bonus, self._summing(scores))

    def learn(self, sums: Sums) -> Learned:
        """Return normals, or the Student's t that beliefs predict."""
        units, kind, d = self.rows.units, self.rows.kind, sums[1].shape[1]
        if self.estimate == "belief":
            return self._law.learn(NormalStatistics(*sums), units)
        parts, _ = self._parts(NormalStatistics(*sums))
        means = units.raw_means(parts.means)
        if kind == "diagonal":
            variance = parts.covs * np.diag(units.root) ** 2
            member = (
                Normal(means[:, 0], variance=variance[:, 0])
                if d == 1
                else Normal(means, variance=variance)
            )
            return Learned(member, None, 2 * d)
        k = len(means)
        spherical = kind == "spherical"
        covs = (
            parts.covs[:, None, None] * np.eye(d)
            if spherical
            else np.broadcast_to(parts.covs, (k, d, d))
        )
        emission = MvNormal(means, cov=units.raw_covs(covs))
        free = 1 if spherical else d * (d + 1) // 2
        if self.shared:
            return Learned(emission, None, d, free)
        return Learned(emission, None, d + free)

    def reorder(self, sums: Sums, order: Array) -> Sums:
        """Return the sums of states in another order."""
        counts, first, second = sums
        return counts[order], first[order], second if self.rows.kind == "shared" else second[order]

    def log_affinities(self, sums: Sums) -> Array:
        """Return ln ∫√(q_j q_k) of the beliefs, (K, K)."""
        return self._law.log_affinities(NormalStatistics(*sums))

    def draw(self, sums: Sums, size: int, rng: np.random.Generator) -> EmissionDraws:
        """Draw means and precisions, in the units of the rows, from the beliefs about them."""
        drawn = self._law.draw(NormalStatistics(*sums), size, rng)
        return EmissionDraws(
            lambda s: self._values(drawn.scores(s)),
            lambda other: drawn.log_beliefs(NormalStatistics(*other)),
            drawn.log_priors,
            parameters=lambda: self._parameters(drawn, size),
        )

    # -- steps -------------------------------------------------------------------------------

    def _parameters(self, drawn: DrawnNormals, size: int) -> dict[str, Array]:
        """Return means (S, K, D) and covariances (S, K, D, D) in the units of the data."""
        units, each = self.rows.units, [drawn.scores(s) for s in range(size)]
        means = np.stack([units.raw_means(one.means) for one in each])
        covs = [inverse_definite(full_precisions(one, self.rows.kind)) for one in each]
        return {"mean": means, "cov": np.stack([units.raw_covs(one) for one in covs])}

    @property
    def _law(self) -> NormalLaw:
        assert self.law is not None  # beliefs have one
        return self.law

    def _parts(self, statistics: NormalStatistics) -> tuple[NormalParts, float]:
        """Return the normals of highest likelihood or density, and what else the objective has."""
        if self.law is None:
            spread = np.eye(statistics.sums.shape[1])
            found, beside = most_likely(statistics, self.rows.kind, spread), 0.0
        else:
            found, beside = self.law.find_mode(statistics)
        return found._replace(weights=np.ones(len(found.weights))), beside

    def _scores(self, statistics: NormalStatistics) -> tuple[NormalScores, float]:
        """Return quadratic functions of rows, and what else the objective has."""
        if statistics.counts.min() < 0.0:  # a jump went too far
            raise ValueError("a state has less than no rows")
        if self.estimate == "belief":
            return self._law.expect(statistics)
        parts, beside = self._parts(statistics)
        return scores_of(parts, self.rows.kind), beside

    def _values(self, scores: NormalScores) -> Array:
        rows = self.rows
        if isinstance(rows, GappyRows):
            normals = self._normals(scores)
            return integrated_scores(rows.z, rows.patterns, normals, scores.log_norm)
        theta = theta_of(scores, rows.kind)
        if self.features is not None:
            return np.matmul(self.features.T, theta.T)
        return feature_scores(NormalFeatures(rows.kind, rows.units), rows.x, theta)

    def _summing(self, scores: NormalScores) -> Callable[[Array], Sums]:
        """Return the function from shares to sums; each state completes rows in its own way."""
        rows = self.rows
        if not isinstance(rows, GappyRows):
            return self.expected_sums
        normals = self._normals(scores)

        def summarize(shares: Array) -> Sums:
            found = expected_moments(rows.z, rows.patterns, normals, shares)
            return tuple(about_origin(found, scores.means, rows.kind))

        return summarize

    def _normals(self, scores: NormalScores) -> Normals:
        return normals_from_precisions(scores.means, full_precisions(scores, self.rows.kind))


def normal_emission(
    x: Array,
    frequency: Array | None,
    kind: str,
    k: int,
    prior: NormalWishart | None,
    estimate: Estimate,
) -> NormalEmission:
    """Return the model of normal rows.

    Parameters
    ----------
    x : (T, D)
        NaN is missing.
    frequency : (T,) or None
    kind : {"full", "shared", "diagonal", "spherical"}
    k : int
        States.
    prior : NormalWishart or None
        Of all but "diagonal": one, or a batch of k; of "shared" these have one law of precisions.
    estimate : {"likelihood", "mode", "belief"}
    """
    wanted = kind
    if kind == "shared" and prior is not None:
        kind = "full"  # with squares in the scores: draws differ in what all states have in common
    _, mean, variance = table_spread(x, frequency)
    wider = np.where(
        exceeds_rounding(np.sqrt(variance), np.abs(mean)),
        0.0,
        column_scale(mean, np.zeros_like(mean)),
    )
    rows: MixtureRows
    if np.isnan(x).any():
        rows = with_known_spread(GappyRows.of(x, frequency, kind, wider))
    else:
        moments = table_moments(x, frequency)
        cov = moments.cov + np.diag(wider)
        if kind in ("full", "shared") and not is_definite(cov):
            cov = cov + _RIDGE * np.diag(np.diag(cov))
        rows = CompleteRows.of(x, frequency, kind, RowMoments(moments.total, moments.mean, cov))
    law = None if prior is None else _law_of(wanted, prior_in_units(prior, rows.units, k))
    model = NormalEmission(rows, law, estimate)
    if isinstance(rows, CompleteRows):
        return model._replace(features=keep_features(NormalFeatures(kind, rows.units), x))
    return model


def _law_of(kind: str, prior: NormalPrior) -> NormalLaw:
    if kind == "spherical":
        return SphericalPrecisions(prior)
    if kind != "shared":
        return OwnPrecisions(prior)
    if np.ptp(prior.dof) or np.ptp(prior.inverse_scale, axis=0).any():
        raise ValueError(
            "states that share a covariance have one prior of it: give a prior whose dof and scale are the "
            'same for all states, or take covariance="full"'
        )
    return SharedPrecision(prior)
