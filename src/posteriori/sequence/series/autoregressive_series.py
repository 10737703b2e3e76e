r"""Autoregressive series, averaged over their orders by evidence.

.. math:: y_t = c + \sum_{k=1}^{p} \varphi_k\,y_{t-k} + \varepsilon_t, \qquad
          \varphi_k \sim N(0, \sigma^2/k^2), \quad \sigma^2 \sim \mathrm{IG}

in units of the series. Values before the first are taken to be equal to it, and the first is as wide as
the series: so every value counts, and orders compare.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.normal import Normal
from posteriori.estimators.parameters import Constraint, one_of
from posteriori.inference.series.scalar_chain import (
    NO_ENTRIES,
    Entries,
    FilteredSeries,
    ScalarChain,
    filter_scalar,
)
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_estimator import SeriesEstimator
from posteriori.sequence.series.series_measures import measure_series
from posteriori.sequence.series.series_problem import RATE, SHAPE, running_log_prob
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = ["AutoregressiveSeries"]

#: Orders go up to this, and to one for so many values.
_LARGEST_ORDER, _VALUES_PER_ORDER = 24, 8
#: Paths behind a forecast.
_PATHS = 2000


class _OrderBelief(NamedTuple):
    """The normal–inverse-gamma belief of one order: weights of a constant and of lags."""

    mean: Array
    cov: Array
    rate: float


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
        Exact.
    log_predictive_ : (T,)
        ln p(y_t | earlier values); they add up to the evidence.

    Notes
    -----
    Gaps are refused: use ``StructuralSeries(trend="constant", autoregression=p)``.

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
    _beliefs: list[_OrderBelief]
    _log_weights: Array
    _shape: float
    _center: float
    _unit: float

    def __init__(self, order: Any = "evidence", *, transform: str = "none") -> None:
        self.order = order
        self.transform = transform

    @property
    def log_evidence_(self) -> LogEvidence:
        """Log evidence."""
        return self._evidence("exact")

    @property
    def weights_(self) -> Array:
        """Mean weights of the lags."""
        check_is_fitted(self)
        made = np.zeros(max(self._orders_kept))
        for p, belief in zip(np.exp(self._log_weights), self._beliefs, strict=True):
            made[: len(belief.mean) - 1] += p * belief.mean[1:]
        return made

    def _learn(self, rows: SeriesRows) -> Array:
        _refuse_gaps(rows.y, 0)
        units = measure_series(rows, ())
        z = (rows.y - units.center) / units.unit
        orders = self._orders(len(z))
        made = [filter_scalar(_first_chain(z, p, units.level), _ONE, z) for p in orders]
        sums = np.array([running_log_prob(done, z, SHAPE, RATE) for done in made])
        self._center, self._unit = units.center, units.unit
        # the state beside the weights is the first value's own
        self._beliefs = [
            _OrderBelief(d.mean[1:], d.cov[1:, 1:], RATE + 0.5 * d.quadratic) for d in made
        ]
        self._shape = SHAPE + 0.5 * len(z)
        running = np.asarray(log_sum_exp(sums - np.log(len(orders)), axis=0))
        self._weigh(sums[:, -1], orders)
        return np.diff(running, prepend=0.0) - np.log(units.unit)

    def _absorb(self, rows: SeriesRows) -> Array:
        _refuse_gaps(rows.y[1:], len(self._rows.y))
        z = (rows.y[1:] - self._center) / self._unit
        before = self._past()
        made: list[FilteredSeries] = []
        sums = np.empty((len(self._beliefs), len(z)))
        for k, (order, belief) in enumerate(zip(self._orders_kept, self._beliefs, strict=True)):
            whole = np.concatenate([before, z])
            lags = _lags(whole, order)[len(before) :]
            made.append(filter_scalar(_weights_chain(lags, belief.mean, belief.cov), _ONE, z))
            sums[k] = self._log_weights[k] + running_log_prob(made[-1], z, self._shape, belief.rate)
        self._beliefs = [
            _OrderBelief(d.mean, d.cov, b.rate + 0.5 * d.quadratic)
            for d, b in zip(made, self._beliefs, strict=True)
        ]
        self._shape += 0.5 * len(z)
        self._weigh(sums[:, -1], self._orders_kept)
        terms = np.diff(np.asarray(log_sum_exp(sums, axis=0)), prepend=0.0) - np.log(self._unit)
        return np.concatenate([[0.0], terms])

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
        scales = np.sqrt(
            np.array([b.rate for b in self._beliefs])[chosen] / rng.gamma(self._shape, size=draws)
        )
        weights = np.zeros((draws, 1 + longest))
        for k in np.unique(chosen):
            here, belief = np.flatnonzero(chosen == k), self._beliefs[k]
            normals = rng.standard_normal((len(here), len(belief.mean)))
            root = np.linalg.cholesky(belief.cov)
            drawn = belief.mean + scales[here, None] * (normals @ root.T)
            weights[here, : drawn.shape[1]] = drawn
        past = self._past()
        start = np.concatenate([np.full(longest, past[0]), past])[-longest:]
        lags = np.tile(start[::-1], (draws, 1))  # the latest first
        values, means = np.empty((draws, steps)), np.empty((draws, steps))
        for h in range(steps):
            means[:, h] = weights[:, 0] + (weights[:, 1:] * lags).sum(axis=1)
            values[:, h] = means[:, h] + scales * rng.standard_normal(draws)
            lags = np.concatenate([values[:, h : h + 1], lags[:, :-1]], axis=1)
        return values, means, scales

    def _past(self) -> Array:
        """Return all values so far, in units."""
        return (self._transformed(self._rows).y - self._center) / self._unit

    def _orders(self, count: int) -> list[int]:
        if self.order != "evidence":
            return [int(self.order)]
        return list(range(min(_LARGEST_ORDER, count // _VALUES_PER_ORDER) + 1))

    def _weigh(self, log_weights: Array, orders: list[int]) -> None:
        self._log_weights = log_softmax(log_weights)
        self._orders_kept = orders
        self.order_ = Categorical(np.exp(self._log_weights), labels=tuple(orders))


#: Noise, in units of the common scale.
_ONE = np.ones(1)


def _lags(z: Array, order: int) -> Array:
    """Return 1 and the values before each, (T, 1 + p); before the first lie copies of it."""
    padded = np.concatenate([np.full(order, z[0]), z])
    columns = [padded[order - k : len(padded) - k] for k in range(1, order + 1)]
    return np.column_stack([np.ones(len(z)), *columns])


def _first_chain(z: Array, order: int, wide: float) -> ScalarChain:
    """Return the chain from the first value on, whose own state makes it as wide as the series."""
    emission = np.concatenate([np.zeros((len(z), 1)), _lags(z, order)], axis=1)
    emission[0] = 0.0
    emission[0, 0] = 1.0
    spreads = np.concatenate([[wide**2, 1.0], 1.0 / np.arange(1.0, order + 1) ** 2])
    return _weights_chain(emission, np.zeros(order + 2), np.diag(spreads))


def _weights_chain(emission: Array, mean: Array, cov: Array) -> ScalarChain:
    """Return a chain whose states stay: regression."""
    places = np.arange(len(mean))
    none = np.zeros(0, dtype=np.int64)
    stay = Entries(places, places, np.ones((1, len(mean))))
    start = mean, cov, NO_ENTRIES, none, np.zeros(len(mean), dtype=bool)
    return ScalarChain(np.ascontiguousarray(emission), stay, NO_ENTRIES, none, *start)


def _refuse_gaps(y: Array, first: int) -> None:
    if np.isnan(y).any():
        row = first + int(np.argmax(np.isnan(y)))
        raise ValueError(
            f"y has a gap at step {row}; AutoregressiveSeries takes none: use "
            "StructuralSeries(trend='constant', autoregression=2), which does"
        )
