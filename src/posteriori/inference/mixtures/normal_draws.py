r"""Parameters of normal components, drawn from their normal–Wishart beliefs given sums of the rows.

.. math:: Λ_k \sim W(ν_k, V_k), \qquad μ_k\mid Λ_k \sim N(m_k, (κ_kΛ_k)^{-1}).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from posteriori.distributions.joint.normal_wishart import NormalWishart
from posteriori.inference.gaps.completed_rows import normals_from_covariances
from posteriori.inference.gaps.gap_patterns import gap_patterns
from posteriori.inference.gaps.normal_gaps import seen_log_densities
from posteriori.inference.mixtures.component_draws import (
    BelievedMixture,
    DrawnComponents,
    LogLikelihood,
    TurnsOfMixture,
    WeightDraws,
    linear_log_likelihood,
    with_turns,
)
from posteriori.inference.mixtures.mixture_rows import CompleteRows, GappyRows, MixtureRows
from posteriori.inference.mixtures.normal_beliefs import learn_belief
from posteriori.inference.mixtures.normal_learning import VariationalLearner
from posteriori.inference.mixtures.normal_maximum import NormalPrior
from posteriori.inference.mixtures.normal_scores import (
    NormalFeatures,
    NormalScores,
    NormalStatistics,
    theta_of,
    unpack_sums,
    upper_triangle,
)
from posteriori.inference.mixtures.normal_units import Units
from posteriori.numerics.linalg import triangular_inverse
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["NormalDraws", "normal_mixture_belief"]


class NormalDraws(NamedTuple):
    """Normal components with priors of K of them, in the units of the rows.

    Attributes
    ----------
    prior : NormalPrior
    units : Units
    """

    prior: NormalPrior
    units: Units

    def draw(self, sums: Array, rng: np.random.Generator) -> DrawnComponents:
        """Draw means and covariances of components with sums (C, K, F)."""
        chains, d = len(sums), self.prior.means.shape[1]
        flat = sums.reshape(-1, sums.shape[-1])
        every = NormalPrior(*(np.concatenate([part] * chains) for part in self.prior))
        belief = learn_belief(unpack_sums(flat, "full", np.eye(d)), every)
        drawn = NormalWishart(belief.means, belief.strength, belief.dof, belief.scale).sample(
            rng=rng
        )
        roots = np.linalg.cholesky(drawn.precision)
        white = triangular_inverse(roots)
        height = np.log(np.diagonal(roots, axis1=1, axis2=2)).sum(axis=1) - 0.5 * d * LOG_2PI
        theta = theta_of(NormalScores(height, drawn.mean, drawn.precision), "full")
        covs = self.units.raw_covs(np.swapaxes(white, 1, 2) @ white)
        return DrawnComponents(
            theta, {"means": self.units.raw_means(drawn.mean), "covariances": covs}
        )


def normal_mixture_belief(
    rows: MixtureRows,
    x: Array,
    learner: VariationalLearner,
    statistics: NormalStatistics,
    shares: Array,
    alike: bool,
) -> BelievedMixture | TurnsOfMixture:
    """Return what is believed of a mixture, with draws of its posterior where all rows are whole.

    Parameters
    ----------
    rows : MixtureRows
    x : (N, D)
        The same, as they were given.
    learner : VariationalLearner
        With the priors.
    statistics : NormalStatistics
        Expected sums, where the ascent has ended.
    shares : (N, K)
        p(component | row) of the fit.
    alike : bool
        Whether components have one prior.
    """
    i, j = upper_triangle(x.shape[1])
    sums = np.column_stack([statistics.counts, statistics.sums, statistics.squares[:, i, j]])
    draws = NormalDraws(learner.prior, rows.units)
    weights = WeightDraws(learner.concentration, learner.sticks)
    belief = BelievedMixture(draws, weights, sums, shares, _with_gaps(x, rows.frequency))
    if isinstance(rows, GappyRows):
        return belief
    return _by_turns(belief, rows, alike)


def _by_turns(
    belief: BelievedMixture, rows: CompleteRows, alike: bool
) -> BelievedMixture | TurnsOfMixture:
    features = NormalFeatures("full", rows.units).of(rows.x)
    belief = belief._replace(log_likelihood=linear_log_likelihood(features, rows.frequency))
    return with_turns(belief, features, rows.frequency, alike)


def _with_gaps(x: Array, frequency: Array | None) -> LogLikelihood:
    """Return the log likelihood of seen entries."""
    patterns, weight = gap_patterns(x), 1.0 if frequency is None else frequency

    def log_likelihood(theta: Array, values: Mapping[str, Array]) -> Array:
        found = []
        for share, means, covs in zip(
            values["weights"], values["means"], values["covariances"], strict=True
        ):
            each = seen_log_densities(x, patterns, normals_from_covariances(means, covs))
            with np.errstate(divide="ignore"):
                rows = log_sum_exp(each + np.log(share), axis=1)
            found.append(float(np.sum(rows * weight)))
        return np.array(found)

    return log_likelihood
