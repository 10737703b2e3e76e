r"""Autoregressive series, averaged over their orders by evidence.

.. math:: y_t = c + \sum_{k=1}^{p} \varphi_k\,y_{t-k} + \varepsilon_t, \qquad
          \varphi_k \sim N(0, \sigma^2/k^2), \quad \sigma^2 \sim \mathrm{IG}

in units of the series. Values before the first are taken to be equal to it, and the first is as wide as
the series: so every value counts, and orders compare. Missing values are believed in independently of the
weights, which makes the evidence of a series with gaps a lower bound.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.parameters import Constraint, one_of
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.types import Array
from posteriori.sequence.series.order_learning import (
    LearnedOrder,
    OrderBelief,
    continue_order,
    learn_order,
)
from posteriori.sequence.series.series_estimator import SeriesEstimator
from posteriori.sequence.series.series_form import measure_series
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = ["AutoregressiveSeries"]

#: Orders go up to this, and to one for so many values.
_LARGEST_ORDER, _VALUES_PER_ORDER = 24, 8
#: Paths behind a forecast.
_PATHS = 2000


class AutoregressiveSeries(SeriesEstimator):
    """A series in which each value is a weighted sum of earlier ones, with noise.

    Parameters
    ----------
    order : "evidence" or int
        How many earlier values count. By evidence, orders 0, 1, … up to 24, or one for eight values,
        are averaged.
    transform : {"none", "log"}
        Whether y or its logarithm is such a sum; densities are those of y.

    Attributes
    ----------
    order_ : Categorical
        Probabilities of the orders.
    weights_ : (P,)
        Mean weights of the lags 1, 2, …, over the orders.
    log_evidence_ : LogEvidence
        Exact without gaps between values, a "bound" with them.
    log_predictive_ : (T,)
        ln p(y_t | earlier values), 0 where there is none; they add up to the evidence. With gaps they are
        what each value adds to the bound.

    Notes
    -----
    Where there are gaps, ``update`` believes anew in what is missing; units and orders stay.

    Examples
    --------
    >>> from posteriori.datasets import load_sunspots
    >>> model = AutoregressiveSeries(transform="none").fit(load_sunspots()["sunspots"])
    >>> model.order_.mode
    9
    >>> model.forecast(3).mean.shape
    (3,)
    """

    _constraints = {
        "order": Constraint(
            "be 'evidence' or a whole number >= 0", 0, 1000, choices=("evidence",), whole=True
        ),
        "transform": one_of("none", "log"),
    }

    order_: Categorical
    _orders_kept: list[int]
    _learned: list[LearnedOrder]
    _log_weights: Array
    _center: float
    _unit: float
    _wide: float

    def __init__(self, order: Any = "evidence", *, transform: str = "none") -> None:
        self.order = order
        self.transform = transform

    @property
    def log_evidence_(self) -> LogEvidence:
        """Log evidence."""
        check_is_fitted(self, "log_predictive_")
        return self._evidence("exact" if self._learned[0].gaps is None else "bound")

    @property
    def weights_(self) -> Array:
        """Mean weights of the lags."""
        check_is_fitted(self)
        made = np.zeros(max(self._orders_kept))
        for p, learned in zip(np.exp(self._log_weights), self._learned, strict=True):
            made[: len(learned.belief.mean) - 1] += p * learned.belief.mean[1:]
        return made

    def _learn(self, rows: SeriesRows) -> Array:
        units = measure_series(rows, ())
        self._center, self._unit, self._wide = units.center, units.unit, units.level
        self._orders_kept = self._orders(len(rows.y))
        return self._learn_all(self._in_units(rows.y))

    def _learn_all(self, z: Array) -> Array:
        """Learn from a whole series; return ln p of its values by step."""
        here = _from_first_to_last(z)
        learned: list[LearnedOrder] = []
        for p in self._orders_kept:
            near = learned[-1].belief if learned else None
            learned.append(learn_order(z[here], p, self._wide, near))
        self._learned = learned
        sums = np.array([learned.running for learned in self._learned])
        running = np.asarray(log_sum_exp(sums - np.log(len(sums)), axis=0))
        self._weigh(sums[:, -1])
        terms = np.zeros(len(z))
        terms[here] = np.diff(running, prepend=0.0)
        return terms - np.log(self._unit) * ~np.isnan(z)

    def _absorb(self, rows: SeriesRows) -> Array:
        before, z = self._past(), self._in_units(rows.y[1:])
        if np.isnan(np.concatenate([before, z])).any():
            return self._absorb_around_gaps(z)
        made = [continue_order(learned.belief, z, before) for learned in self._learned]
        sums = self._log_weights[:, None] + np.array([running for _, running in made])
        self._learned = [LearnedOrder(belief, running, None) for belief, running in made]
        self._weigh(sums[:, -1])
        terms = np.diff(np.asarray(log_sum_exp(sums, axis=0)), prepend=0.0) - np.log(self._unit)
        return np.concatenate([[0.0], terms])

    def _absorb_around_gaps(self, z: Array) -> Array:
        """Learn again from all values; what later ones change of the bound counts for the first of them."""
        before = self._in_units(self._transformed(self._rows).y)
        told = float((self.log_predictive_ - self._log_slopes(self._rows)).sum())
        terms = self._learn_all(np.concatenate([before, z]))
        earlier, later = np.split(terms, [len(before)])
        if not np.isnan(z).all():
            later[np.argmin(np.isnan(z))] += earlier.sum() - told
        return np.concatenate([[0.0], later])

    def _predict(self, rows: SeriesRows, wanted: Array) -> Any:
        """Each path says what comes next, as a normal distribution: their mixture is the forecast."""
        rng = np.random.default_rng(0)
        _, means, scales = self._simulate(len(rows.y) - 1, _PATHS, rng)
        means = self._center + self._unit * means[:, wanted - 1].T
        variance = np.broadcast_to((self._unit * scales) ** 2, means.shape)
        return Mixture(np.full(_PATHS, 1.0 / _PATHS), Normal(means, variance=variance))

    def _draw(self, rows: SeriesRows, draws: int, rng: np.random.Generator) -> Array:
        values, _, _ = self._simulate(len(rows.y) - 1, draws, rng)
        return self._center + self._unit * values

    def _simulate(
        self, steps: int, draws: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """Return values and their means (S, H), and standard deviations (S,), in units."""
        orders, longest = self._orders_kept, max(*self._orders_kept, 1)
        chosen = rng.choice(len(orders), draws, p=np.exp(self._log_weights))
        weights, lags = np.zeros((draws, 1 + longest)), np.empty((draws, longest))
        scales, past = np.empty(draws), self._past()
        silent = np.isnan(past[::-1]).argmin()  # steps since the last value
        past = past[: len(past) - silent]
        for k in np.unique(chosen):
            here, learned = np.flatnonzero(chosen == k), self._learned[k]
            scales[here], drawn = _draw_weights(learned.belief, len(here), rng)
            weights[here, : drawn.shape[1]] = drawn
            lags[here] = _draw_lags(past, learned, longest, len(here), rng)
        values, means = np.empty((draws, silent + steps)), np.empty((draws, silent + steps))
        for h in range(silent + steps):
            means[:, h] = weights[:, 0] + (weights[:, 1:] * lags).sum(axis=1)
            values[:, h] = means[:, h] + scales * rng.standard_normal(draws)
            lags = np.concatenate([values[:, h : h + 1], lags[:, :-1]], axis=1)
        return values[:, silent:], means[:, silent:], scales

    def _past(self) -> Array:
        """Return all values from the first one on, in units."""
        z = self._in_units(self._transformed(self._rows).y)
        return z[_from_first_to_last(z).start :]

    def _in_units(self, y: Array) -> Array:
        return (y - self._center) / self._unit

    def _orders(self, count: int) -> list[int]:
        if self.order != "evidence":
            return [int(self.order)]
        return list(range(min(_LARGEST_ORDER, count // _VALUES_PER_ORDER) + 1))

    def _weigh(self, log_weights: Array) -> None:
        self._log_weights = log_softmax(log_weights)
        self.order_ = Categorical(np.exp(self._log_weights), labels=tuple(self._orders_kept))


def _from_first_to_last(z: Array) -> slice:
    """Return the steps between which values lie: gaps before and after them say nothing."""
    seen = np.flatnonzero(~np.isnan(z))
    return slice(int(seen[0]), int(seen[-1]) + 1)


def _draw_weights(belief: OrderBelief, draws: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return standard deviations of noise (S,) and weights (S, 1 + p)."""
    scales = np.sqrt(belief.rate / rng.gamma(belief.shape, size=draws))
    normals = rng.standard_normal((draws, len(belief.mean)))
    return scales, belief.mean + scales[:, None] * (normals @ np.linalg.cholesky(belief.cov).T)


def _draw_lags(
    past: Array, learned: LearnedOrder, longest: int, draws: int, rng: np.random.Generator
) -> Array:
    """Return the last values (S, L), the latest first, those that are missing drawn."""
    order, gaps = len(learned.belief.mean) - 1, learned.gaps
    filled = past if gaps is None else gaps.filled
    start = np.concatenate([np.full(longest, filled[0]), filled])[-longest:]
    lags = np.tile(start[::-1], (draws, 1))
    if gaps is not None:
        first = int(np.searchsorted(gaps.places, len(filled) - order))
        if first < len(gaps.places):
            normals = rng.standard_normal((draws, len(gaps.places) - first))
            drawn = normals @ np.linalg.cholesky(gaps.cov(first)).T
            lags[:, len(filled) - 1 - gaps.places[first:]] += drawn
    return lags
