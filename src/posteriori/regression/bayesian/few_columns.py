r"""Few columns among many: sets of columns that join one by one, averaged over.

Each set S of k of the D columns has the prior :math:`1/\binom Dk` up to a constant, and given it the scale
of the weights and the noise are integrated as for all columns. Of the :math:`2^D` sets those are kept that a
greedy search comes by, each with one more column than the one before, the one that explains most of what
is left:

.. math:: p(S_k\mid y) \propto \binom Dk^{-1} p(y\mid S_k),\qquad S_0\subset S_1\subset\dots

Reference: Y. Pati, R. Rezaiifar & P. Krishnaprasad, "Orthogonal matching pursuit", 1993 (the search).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.least_squares.regression_statistics import RegressionStatistics, trapezoid
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.rank import exceeds_rounding
from posteriori.numerics.types import Array
from posteriori.regression.bayesian.belief import LinearBelief, join_beliefs
from posteriori.regression.bayesian.conjugate_weights import (
    integrated_evidence,
    less_prior_mean,
    make_belief,
    weight_posterior,
)
from posteriori.regression.bayesian.priors import SettledPrior
from posteriori.regression.bayesian.scales.hyper_grid import (
    RelativeScale,
    integrate_hyperparameters,
)
from posteriori.regression.bayesian.scales.spectrum import decompose

__all__ = ["AveragedSets", "average_sets", "joining_columns"]

#: A set of columns that is less probable than the best by this, in logarithms, ends the search; sets of
#: less than the next probability are left out; and no set is larger than the last.
_HOPELESS, _RARE, _MOST_COLUMNS = 15.0, 1e-4, 60

#: Columns that explain this share of what the best one does are as good: the first is taken.
_ALIKE = 1.0 - 1e-9


class AveragedSets(NamedTuple):
    """What is learned over all sets.

    Attributes
    ----------
    belief : LinearBelief
    log_evidence : float
    n_sets : int
        How many sets the search came by.
    """

    belief: LinearBelief
    log_evidence: float
    n_sets: int


class SetMember(NamedTuple):
    """What is learned given a set of columns.

    Attributes
    ----------
    columns : (k,)
        Which they are.
    log_joint : float
        ln p(S) p(y | S), up to a constant.
    mean : (G, k)
        Weights at the nodes of the integral over their scale.
    directions : (k, K)
    precisions : (G, K)
    probabilities, shape, scale : (G,)
        Of the nodes, and of the noise given them.
    """

    columns: Array
    log_joint: float
    mean: Array
    directions: Array
    precisions: Array
    probabilities: Array
    shape: Array
    scale: Array


def average_sets(statistics: RegressionStatistics, prior: SettledPrior) -> AveragedSets:
    """Return the average over sets of columns that join one by one, given statistics of few rows."""
    d = statistics.n_inputs
    factor = statistics.reduced[:d, :d] / prior.scales
    target = statistics.reduced[:d, d] - statistics.reduced[:d, :d] @ prior.given.mean
    members = [_member_of(statistics, prior, np.zeros(0, dtype=np.int64))]
    for columns in joining_columns(factor, target):
        members.append(_member_of(statistics, prior, columns))
        best = max(one.log_joint for one in members)
        if members[-1].log_joint < best - _HOPELESS or len(columns) >= _MOST_COLUMNS:
            break
    logs = np.array([one.log_joint for one in members])
    shares = np.exp(log_softmax(logs))
    kept = np.flatnonzero(shares > _RARE)
    beliefs = [_belief_of(statistics, prior, members[k]) for k in kept]
    belief = join_beliefs(beliefs, shares[kept] / shares[kept].sum())
    price = np.log(d + 1.0)  # as many sizes as these are equally probable
    return AveragedSets(belief, float(log_sum_exp(logs)) - price, len(members))


def joining_columns(factor: Array, target: Array) -> Iterator[Array]:
    """Yield sets of columns, each with the one more that explains most of what is left.

    Parameters
    ----------
    factor : (R, D)
        Columns, measured from their means.
    target : (R,)
    """
    length = np.sqrt((factor**2).sum(axis=0))
    unit = factor / np.where(length > 0, length, 1.0)
    basis, left, chosen = np.zeros((len(factor), 0)), target, np.zeros(0, dtype=np.int64)
    while len(chosen) < factor.shape[1]:
        new = unit - basis @ (basis.T @ unit)
        size = np.sqrt((new**2).sum(axis=0))
        usable = exceeds_rounding(size, 1.0)
        usable[chosen] = False
        if not usable.any():
            return
        gain = np.where(usable, np.abs(left @ new) / np.where(usable, size, 1.0), -1.0)
        best = int(np.argmax(gain >= _ALIKE * gain.max()))
        direction = new[:, best] / size[best]
        basis, left = np.column_stack([basis, direction]), left - direction * (direction @ left)
        chosen = np.append(chosen, best)
        yield np.sort(chosen)


def _member_of(statistics: RegressionStatistics, prior: SettledPrior, columns: Array) -> SetMember:
    """Return what is learned given a set of columns."""
    some = less_prior_mean(statistics, prior.given.mean, columns)
    some = replace(some, squared=trapezoid(some.reduced))
    intercept, shape, scale = prior.intercept, prior.noise_shape, prior.noise_scale
    price = _log_price(statistics.n_inputs, len(columns))
    if not len(columns):
        nothing = weight_posterior(some, np.zeros((0, 0)), np.zeros(0))
        log_evidence, a, b = integrated_evidence(some, nothing, shape, scale, intercept)
        none = np.zeros((1, 0)), np.zeros((0, 0)), np.zeros((1, 0))
        one = np.ones(1)
        return SetMember(columns, log_evidence - price, *none, one, a * one, b * one)
    spectrum = decompose(some, np.zeros(len(columns)), prior.scales[columns], intercept)
    grid = integrate_hyperparameters(spectrum, RelativeScale(len(columns), shape, scale))
    return SetMember(
        columns,
        grid.log_evidence - price,
        spectrum.weights(grid.ratios),
        spectrum.directions,
        spectrum.squares + grid.ratios[:, None],
        grid.probabilities,
        grid.shape,
        grid.scale,
    )


def _belief_of(
    statistics: RegressionStatistics, prior: SettledPrior, one: SetMember
) -> LinearBelief:
    """Return what is believed given a set: weights of other columns are at their prior mean."""
    mean = np.tile(prior.given.mean, (len(one.shape), 1))
    mean[:, one.columns] += one.mean
    directions = np.zeros((statistics.n_inputs, one.directions.shape[1]))
    directions[one.columns] = one.directions
    noise = one.shape, one.scale, one.probabilities
    return make_belief(statistics, prior.intercept, mean, directions, one.precisions, *noise)


def _log_price(columns: int, chosen: int) -> float:
    """Return ln C(D, k)."""
    first, rest = special.gammaln(chosen + 1.0), special.gammaln(columns - chosen + 1.0)
    return float(special.gammaln(columns + 1.0) - first - rest)
