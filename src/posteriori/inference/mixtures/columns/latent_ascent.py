r"""Mixtures that are learned from sums of features: EM with parameters, variational Bayes with beliefs.

.. math:: L = \sum_n w_n \ln\sum_k e^{E[\ln\pi_k] + \langle E[\theta_k],\,t(x_n)\rangle} + c(x_n)
   - \mathrm{KL}(q(\pi)\,\|\,p(\pi)) - \sum_k\mathrm{KL}(q(\theta_k)\,\|\,p(\theta))

is the bound of variational Bayes. Estimates take the place of expectations in EM; there every component has
also seen all rows of the table, together as one millionth of a row, so that none shrinks to a
point and no probability becomes 0. What those rows add to L is then in the place of the divergences.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult, maximize_by_em
from posteriori.inference.mixtures.columns.sound_components import Shrinkable
from posteriori.inference.mixtures.feature_pass import (
    Features,
    MixturePass,
    pass_over_rows,
    read_blocks_of_rows,
    remember_features,
)
from posteriori.inference.mixtures.normal_beliefs import weight_terms
from posteriori.numerics.types import Array

__all__ = [
    "IMAGINED",
    "LatentModel",
    "LearnedFeatures",
    "WeightLaw",
    "ascend_features",
    "linear_scores",
    "look_by_features",
    "sum_of_features",
    "sums_of_shares",
]

#: Rows, alike to those of the whole table, that every component of a maximum-likelihood mixture has seen
#: beside its own.
IMAGINED = 1e-6


class LearnedFeatures(NamedTuple):
    """Components that were learned from sums of features.

    Attributes
    ----------
    theta : (K, F)
        Coefficients of the features in E[ln p(x | θ_k)].
    bonus : float
        What they add to the objective: −Σ KL, or the imagined rows.
    components : object
        Parameters or beliefs.
    """

    theta: Array
    bonus: float
    components: Any


class LatentModel(Features, Protocol):
    """Components that are learned from sums of features."""

    @property
    def shrinkable(self) -> Shrinkable:
        """Columns in which a component could shrink to a point."""

    def learn(self, sums: Array) -> LearnedFeatures:
        """Return the components of highest objective, given T_k (K, F)."""


class WeightLaw(NamedTuple):
    """How mixing weights are learned: with a symmetric Dirichlet prior, or most likely (None)."""

    concentration: float | None

    def learn(self, counts: Array) -> tuple[Array, float]:
        """Return E[ln π] (K,) and what the weights add to the objective."""
        k, total = len(counts), float(counts.sum())
        if self.concentration is None:
            log_share = np.log((counts + IMAGINED) / (total + k * IMAGINED))
            return log_share, IMAGINED * float(log_share.sum())
        expected, divergence = weight_terms(counts, self.concentration)
        return expected, -divergence

    def mean(self, counts: Array) -> Array:
        """Return E[π], (K,)."""
        added = counts + (IMAGINED if self.concentration is None else self.concentration)
        return added / added.sum()


def ascend_features(
    model: LatentModel,
    weights: WeightLaw,
    x: Array,
    frequency: Array | None,
    start: Array,
    **options: Any,
) -> EMResult:
    """Climb from sums of features (K, F); the parameters that are found are sums as well.

    Parameters
    ----------
    model : LatentModel
    weights : WeightLaw
    x : (N, D)
    frequency : (N,) or None
    start : (K, F)
    **options
        Of :func:`maximize_by_em`.
    """
    look = look_by_features(model, weights, x, frequency)
    return maximize_by_em(
        lambda sums: _objective(look(sums)), lambda found: found.statistics, start, **options
    )


def look_by_features(
    model: LatentModel, weights: WeightLaw, x: Array, frequency: Array | None
) -> Callable[[Array], MixturePass]:
    """Return the function from sums to what rows say under them, with the whole objective."""
    features = remember_features(model, x)

    def look(sums: Array) -> MixturePass:
        theta, bonus = linear_scores(model, weights, sums)
        found = pass_over_rows(features, theta, x, frequency)
        return found._replace(log_likelihood=found.log_likelihood + bonus)

    return look


def linear_scores(model: LatentModel, weights: WeightLaw, sums: Array) -> tuple[Array, float]:
    """Return E[ln π_k p(x | θ_k)] as coefficients of the features, and what else the objective has."""
    if not (sums[:, 0] >= 0).all():  # a jump went too far
        raise ValueError("a component has less than no rows")
    log_weights, from_weights = weights.learn(sums[:, 0])
    learned = model.learn(sums)
    theta = learned.theta.copy()
    theta[:, 0] += log_weights
    if not np.isfinite(theta).all():
        raise ValueError("a component has no density")
    return theta, learned.bonus + from_weights


def _objective(found: MixturePass) -> tuple[MixturePass, float]:
    return found, found.log_likelihood


def sum_of_features(model: Features, x: Array, frequency: Array | None) -> Array:
    """Return Σ_n w_n t(x_n), (F,)."""
    total = np.zeros(model.size)
    for rows in read_blocks_of_rows(len(x), model.size):
        t = model.of(x[rows])
        total += t.sum(axis=1) if frequency is None else t @ frequency[rows]
    return total


def sums_of_shares(model: Features, x: Array, frequency: Array | None, shares: Array) -> Array:
    """Return Σ_n w_n r_nk t(x_n), (K, F), of shares (K, N)."""
    total = np.zeros((len(shares), model.size))
    for rows in read_blocks_of_rows(len(x), model.size):
        part = shares[:, rows] if frequency is None else shares[:, rows] * frequency[rows]
        total += part @ model.of(x[rows]).T
    return total
