"""What a series says of an autoregression of one order: exactly, or with gaps by a bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import maximize_by_em
from posteriori.inference.series.gappy_regression import (
    GapBelief,
    RegressionRows,
    believe_gaps,
    expected_squares,
    lagged_rows,
    rows_with_gaps,
)
from posteriori.inference.series.scalar_chain import (
    NO_ENTRIES,
    Entries,
    FilteredSeries,
    ScalarChain,
    filter_scalar,
)
from posteriori.numerics.lazy import special
from posteriori.numerics.linalg import inverse_from_factor
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_problem import RATE, SHAPE, running_log_prob

__all__ = ["LearnedOrder", "OrderBelief", "continue_order", "learn_order"]

#: Nats that a step of the ascent must gain where there are gaps.
_GAIN = 1e-6
#: Noise, in units of the common scale.
_ONE = np.ones(1)


class OrderBelief(NamedTuple):
    """The normal–inverse-gamma belief of one order: weights of a constant and of lags.

    Attributes
    ----------
    mean, cov : (1 + p,), (1 + p, 1 + p)
        The covariance in units of σ².
    shape, rate : float
        σ² is inverse-gamma.
    """

    mean: Array
    cov: Array
    shape: float
    rate: float


class LearnedOrder(NamedTuple):
    """What was learned of one order.

    Attributes
    ----------
    belief : OrderBelief
    running : (T,)
        ln p(z_1 … z_t) for every t, or its bound; at a gap that of the value before.
    gaps : GapBelief or None
    """

    belief: OrderBelief
    running: Array
    gaps: GapBelief | None


def learn_order(z: Array, order: int, wide: float, near: OrderBelief | None = None) -> LearnedOrder:
    """Learn from a whole series, which neither begins nor ends with a gap.

    Parameters
    ----------
    z : (T,)
        In units; NaN is missing.
    order : int
    wide : float
        Standard deviation of the first value, beside noise.
    near : OrderBelief, optional
        Of a smaller order, from which to begin where there are gaps.
    """
    if not np.isnan(z).any():
        rows = RegressionRows(lagged_rows(z, order), z, np.arange(len(z)))
        return LearnedOrder(*_weigh_rows(rows, wide), None)
    found = _believe_in_turn(z, order, wide, near)
    belief, running = _weigh_rows(rows_with_gaps(found, order), wide)
    entropies = np.zeros(len(z))
    entropies[found.places] = found.entropies
    return LearnedOrder(belief, _held(running + np.cumsum(entropies), z), found)


def _believe_in_turn(z: Array, order: int, wide: float, near: OrderBelief | None) -> GapBelief:
    """Return the belief about missing values at the highest bound."""

    def expect(squares: Array) -> tuple[OrderBelief, float]:
        gaps = believe_gaps(z, order, squares)
        belief, value = _weigh_squares(expected_squares(gaps, order), len(z), z[0], wide)
        return belief, value + float(gaps.entropies.sum())

    if near is None:
        steps, seen = np.arange(len(z)), ~np.isnan(z)
        guess = np.interp(steps, steps[seen], z[seen])
        near, _ = _weigh_rows(RegressionRows(lagged_rows(guess, order), guess, steps), wide)
    start = _squares_of_noise(_with_lags(near, order))
    found = maximize_by_em(expect, _squares_of_noise, start, tol=_GAIN)
    return believe_gaps(z, order, found.parameters)


def continue_order(belief: OrderBelief, z: Array, before: Array) -> tuple[OrderBelief, Array]:
    """Return the belief after later values z, and ln p of them by step; neither has gaps."""
    lags = lagged_rows(np.concatenate([before, z]), len(belief.mean) - 1)[len(before) :]
    done = filter_scalar(_weights_chain(lags, belief.mean, belief.cov), _ONE, z)
    shape, rate = belief.shape + 0.5 * len(z), belief.rate + 0.5 * done.quadratic
    running = running_log_prob(done, z, belief.shape, belief.rate)
    return OrderBelief(done.mean, done.cov, shape, rate), running


def _weigh_rows(rows: RegressionRows, wide: float) -> tuple[OrderBelief, Array]:
    """Return the belief given rows, and ln p of the values by step."""
    counted = rows.counts_for >= 0
    done = filter_scalar(_first_chain(rows.regressors, wide), _ONE, rows.values)
    running = running_log_prob(done, rows.values, SHAPE, RATE, counted)[counted]
    return _without_first(done, len(running)), running


def _weigh_squares(
    squares: Array, steps: int, first: float, wide: float
) -> tuple[OrderBelief, float]:
    """Return the same from sums of squares of (z_t, z_{t−1}, …, 1), and ln p of all values together."""
    turned = np.roll(squares[1:, 1:], (1, 1), axis=(0, 1))  # the constant first
    prior = 1.0 / _prior_spreads(len(turned) - 1)
    precision = turned + np.diag(prior)
    across = np.roll(squares[1:, 0], 1)
    root = np.linalg.cholesky(precision)
    mean, cov = np.linalg.solve(precision, across), inverse_from_factor(root)
    rest = squares[0, 0] - mean @ across + first**2 / (1.0 + wide**2)
    shape, rate = SHAPE + 0.5 * steps, RATE + 0.5 * float(rest)
    log_volume = 2.0 * np.log(np.diag(root)).sum() - np.log(prior).sum() + np.log1p(wide**2)
    gammas = special.gammaln(shape) - special.gammaln(SHAPE)
    value = gammas + SHAPE * np.log(RATE) - shape * np.log(rate)
    value -= 0.5 * (log_volume + steps * LOG_2PI)
    return OrderBelief(mean, cov, shape, rate), float(value)


def _with_lags(belief: OrderBelief, order: int) -> OrderBelief:
    """Return a belief about more lags, of which nothing is known yet."""
    known = len(belief.mean)
    mean, cov = np.zeros(order + 1), np.diag(_prior_spreads(order))
    mean[:known], cov[:known, :known] = belief.mean, belief.cov
    return belief._replace(mean=mean, cov=cov)


def _prior_spreads(order: int) -> Array:
    """Return the prior variances of a constant and of lags, in units of σ²."""
    return np.concatenate([[1.0], 1.0 / np.arange(1.0, order + 1) ** 2])


def _without_first(done: FilteredSeries, steps: int) -> OrderBelief:
    """Return the belief about the weights; the state beside them is the first value's own."""
    shape, rate = SHAPE + 0.5 * steps, RATE + 0.5 * done.quadratic
    return OrderBelief(done.mean[1:], done.cov[1:, 1:], shape, rate)


def _squares_of_noise(belief: OrderBelief) -> Array:
    """Return E[ccᵀ/σ²] of c = (1, −φ_1, …, −φ_p, −constant)."""
    c = np.concatenate([[1.0], -np.roll(belief.mean, -1)])
    made = belief.shape / belief.rate * np.outer(c, c)
    made[1:, 1:] += np.roll(belief.cov, (-1, -1), axis=(0, 1))
    return made


def _held(running: Array, z: Array) -> Array:
    """Return running sums that stay at gaps: what is said of them counts for the next value."""
    latest = np.maximum.accumulate(np.where(np.isnan(z), 0, np.arange(len(z))))
    return running[latest]


def _first_chain(regressors: Array, wide: float) -> ScalarChain:
    """Return the chain from the first value on, whose own state makes it as wide as the series."""
    order = regressors.shape[1] - 1
    emission = np.concatenate([np.zeros((len(regressors), 1)), regressors], axis=1)
    emission[0] = 0.0
    emission[0, 0] = 1.0
    spreads = np.concatenate([[wide**2], _prior_spreads(order)])
    return _weights_chain(emission, np.zeros(order + 2), np.diag(spreads))


def _weights_chain(emission: Array, mean: Array, cov: Array) -> ScalarChain:
    """Return a chain whose states stay: regression."""
    places = np.arange(len(mean))
    none = np.zeros(0, dtype=np.int64)
    stay = Entries(places, places, np.ones((1, len(mean))))
    start = mean, cov, NO_ENTRIES, none, np.zeros(len(mean), dtype=bool)
    return ScalarChain(np.ascontiguousarray(emission), stay, NO_ENTRIES, none, *start)
