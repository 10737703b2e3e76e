"""Classes with effects of levels: spreads by Laplace's evidence and a prior, the belief moved to its mean."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from posteriori.estimators.linear_predictor import LearnedWeights
from posteriori.inference.effects.effect_layout import EffectLayout, GroupedRows
from posteriori.inference.predictors.generalized_linear import Likelihood
from posteriori.inference.predictors.grouped.grouped_fit import (
    GroupedDensity,
    GroupedFit,
    learn_spreads,
)
from posteriori.inference.predictors.grouped.grouped_predictor import GroupedPredictor
from posteriori.inference.predictors.grouped.grouped_softmax import GroupedSoftmax
from posteriori.inference.predictors.grouped_contrasts import GroupedContrasts
from posteriori.inference.predictors.grouped_weights import GroupedWeights
from posteriori.inference.predictors.mode_finding import Mode, find_mode
from posteriori.inference.predictors.normal_bound import find_mean
from posteriori.inference.predictors.pairs.grouped_pair import GroupedPair
from posteriori.inference.predictors.softmax_likelihood import SoftmaxLikelihood
from posteriori.inference.predictors.weight_belief import WeightBelief
from posteriori.numerics.types import Array

__all__ = ["corrected_weights", "learn_class_effects"]

#: The spread of effects at which the search begins.
_START = 0.5


def learn_class_effects(
    rows: GroupedRows,
    likelihood: Likelihood | SoftmaxLikelihood,
    level: Array,
    prior_precision: float,
    frequency: Array | None,
    *,
    learn_precision: bool,
    tol: float,
    max_iter: int,
) -> LearnedWeights:
    """Learn weights, effects and spreads.

    Parameters
    ----------
    rows : GroupedRows
        Design matrix, with a column of ones first if there is an intercept, and levels.
    likelihood : callable, or SoftmaxLikelihood of more than two classes
    level : (M,)
        Prior means of the first weights, for each of M predictors.
    prior_precision : float
        Of all weights.
    frequency : (N,), optional
    learn_precision : bool
        Whether the precision of the weights is chosen by evidence as well.
    tol, max_iter
        Of the ascents.
    """
    sizes, d, m = tuple(int(n) for n in rows.codes.max(axis=0) + 1), rows.x.shape[1], len(level)
    layout = EffectLayout(d, sizes)
    mean = np.zeros((layout.size, m))
    mean[:1] = level
    plain = np.full(d, prior_precision)
    precision = np.repeat(layout.spread_out(plain, np.full(len(sizes), _START**-2)), m)
    priors = precision, mean.ravel()
    density: GroupedDensity
    if isinstance(likelihood, SoftmaxLikelihood):
        density = GroupedSoftmax(rows, layout, likelihood, *priors, frequency)
    else:
        density = GroupedPredictor(rows, layout, likelihood, *priors, frequency)
    blocks = density.blocks + ([slice(0, d * m)] if learn_precision and d else [])

    def ascend(density: GroupedDensity, near: Mode | None, tol: float) -> Mode:
        start = density.prior_mean if near is None else near.point
        return find_mode(density, start, tol=tol, max_iter=max_iter, near=near)

    # a row of classes says little: without a prior few levels often seem to be all alike
    effects = np.arange(len(blocks)) < len(sizes)
    fit = learn_spreads(density, blocks, 1.0, tol, ascend, half_cauchy=effects)
    return LearnedWeights.of_groups(fit, _moved_to_mean(fit))


def corrected_weights(learned: LearnedWeights) -> WeightBelief:
    """Return the belief about the weights behind statements about rows."""
    assert learned.effects is not None
    mean, cov = learned.effects.belief.weights
    return learned.belief._replace(mean=mean, cov=cov)


def _moved_to_mean(fit: GroupedFit) -> GroupedWeights | GroupedContrasts:
    """Return Laplace's belief moved to the mean, as :func:`move_to_mean` does; or as it is."""
    density = fit.density
    assert not isinstance(density, GroupedPair)  # classes have one predictor, or contrasts
    belief = density.belief(fit.mode)
    averaged = density.averaged(belief.row_moments(density.rows)[1])
    moved = find_mean(averaged, fit.mode.point, fit.mode)
    if not moved.converged:
        return belief
    return replace(belief, factor=moved.precision.factorize(), mean=moved.point)
