r"""Series of counts whose rate drifts: Poisson with a gamma level that forgets.

.. math:: y_t \sim \mathrm{Poisson}(\lambda_t), \qquad λ_t \mid y_{<t} \sim \mathrm{Gamma}(a, b),
   \qquad a \leftarrow \delta a,\; b \leftarrow \delta b \text{ before each later step},

so that :math:`y_t` is negative binomial given earlier counts. What is forgotten, δ, is integrated over
(0, 1) by quadrature.

Reference: A. Harvey & C. Fernandes, "Time series models for count or qualitative observations", 1989.
"""

from __future__ import annotations

import warnings
from functools import cache
from typing import Any

import numpy as np

from posteriori.distributions.composites.mixture import Mixture
from posteriori.distributions.counts.negative_binomial import NegativeBinomial
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.estimators.parameters import Constraint
from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.logspace import log_softmax, log_sum_exp
from posteriori.numerics.random import draw_counts
from posteriori.numerics.types import Array
from posteriori.sequence.series.series_estimator import SeriesEstimator
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = ["CountSeries"]

#: Nodes of the quadrature over δ; a coarser rule tells its error.
_NODES, _COARSE_NODES = 64, 48
#: Paths from each node behind a forecast.
_PATHS = 64
#: Nodes with less than this share of the heaviest are left out of forecasts.
_FAINT = 1e-6


class CountSeries(SeriesEstimator):
    """Counts around a level that drifts.

    Parameters
    ----------
    discount : "integrated" or float
        δ in (0, 1]: the share of what is known of the level that is left after a step. 1 is a level
        that stays.
    prior : Gamma, optional
        Of the first level; exponential around the mean of the series if None.

    Attributes
    ----------
    log_evidence_ : LogEvidence
        "exact" given δ, else by "quadrature".
    log_predictive_ : (T,)
        ln p(y_t | earlier counts); they add up to the evidence.
    discount_ : float
        Posterior mean of δ.
    level_ : Gamma or Mixture
        Of the level at the last step.

    Examples
    --------
    >>> model = CountSeries().fit([3, 5, 4, 6, 5, 12, 14, 11, 13])
    >>> model.forecast(1).mean.round(1), model.log_evidence_.kind
    (array([11.8]), 'quadrature')
    """

    _constraints = {
        "discount": Constraint(
            "be 'integrated' or a number in (0, 1]", 0.0, 1.0, open=True, choices=("integrated",)
        )
    }

    discount_: float
    _nodes: Array
    _log_weights: Array
    _shapes: Array
    _rates: Array
    _error: float

    def __init__(self, discount: Any = "integrated", prior: Gamma | None = None) -> None:
        self.discount = discount
        self.prior = prior

    @property
    def log_evidence_(self) -> LogEvidence:
        """Log evidence."""
        exact = self.discount != "integrated"
        return self._evidence("exact" if exact else "quadrature", None if exact else self._error)

    @property
    def level_(self) -> Any:
        """Belief about the last level."""
        members = Gamma(self._shapes, rate=self._rates)
        if len(self._nodes) == 1:
            return Gamma(self._shapes[0], rate=self._rates[0])
        return Mixture(np.exp(self._log_weights), members)

    def _learn(self, rows: SeriesRows) -> Array:
        _require_counts(rows.y, 0)
        lowest, highest = np.nanmin(rows.y), np.nanmax(rows.y)
        if lowest == highest:
            warnings.warn(
                f"y is constant ({lowest:g}); forecasts are counts around it, those of StructuralSeries repeat it",
                UserWarning,
                stacklevel=3,
            )
        shape, rate = self._first_level(rows.y)
        if self.discount != "integrated":
            nodes, logs = np.array([float(self.discount)]), np.zeros(1)
        else:
            nodes, logs = _legendre(_NODES)
        shapes, rates = np.full(len(nodes), shape), np.full(len(nodes), rate)
        terms, shapes, rates = _filter_counts(rows.y, nodes, shapes, rates, first=True)
        sums = logs + np.cumsum(terms, axis=0)
        running = np.asarray(log_sum_exp(sums, axis=1))
        self._error = 0.0
        if self.discount == "integrated":
            coarse, coarse_logs = _legendre(_COARSE_NODES)
            start = np.full(len(coarse), shape), np.full(len(coarse), rate)
            other, _, _ = _filter_counts(rows.y, coarse, *start, first=True)
            self._error = abs(float(log_sum_exp(coarse_logs + other.sum(axis=0)) - running[-1]))
        self._nodes, self._shapes, self._rates = nodes, shapes, rates
        self._weigh(sums[-1])
        return np.diff(running, prepend=0.0)

    def _absorb(self, rows: SeriesRows) -> Array:
        _require_counts(rows.y[1:], len(self._rows.y))
        state = self._nodes, self._shapes, self._rates
        terms, self._shapes, self._rates = _filter_counts(rows.y[1:], *state)
        sums = self._log_weights + np.cumsum(terms, axis=0)
        self._weigh(sums[-1])
        return np.diff(np.asarray(log_sum_exp(sums, axis=1)), prepend=[0.0, 0.0])

    def _predict(self, rows: SeriesRows, wanted: Array) -> Any:
        kept = np.flatnonzero(self._log_weights > self._log_weights.max() + np.log(_FAINT))
        places = np.repeat(kept, _PATHS)
        _, shapes, rates = self._simulate(places, len(rows.y) - 1, np.random.default_rng(0))
        weights = np.exp(log_softmax(self._log_weights[places]))
        shapes, rates = shapes[:, wanted - 1].T, rates[:, wanted - 1].T
        return Mixture(weights, NegativeBinomial(shapes, mean=shapes / rates))

    def _draw(self, rows: SeriesRows, draws: int, rng: np.random.Generator) -> Array:
        places = rng.choice(len(self._nodes), draws, p=np.exp(self._log_weights))
        return self._simulate(places, len(rows.y) - 1, rng)[0]

    def _simulate(
        self, places: Array, steps: int, rng: np.random.Generator
    ) -> tuple[Array, Array, Array]:
        """Return counts, and shapes and rates of the levels behind them, (S, H)."""
        a, b, delta = self._shapes[places], self._rates[places], self._nodes[places]
        counts, shapes, rates = (np.empty((len(places), steps)) for _ in range(3))
        for h in range(steps):
            a, b = delta * a, delta * b
            shapes[:, h], rates[:, h] = a, b
            counts[:, h] = draw_counts(rng.gamma(a) / b, rng)
            a, b = a + counts[:, h], b + 1.0
        return counts, shapes, rates

    def _weigh(self, log_weights: Array) -> None:
        self._log_weights = log_softmax(log_weights)
        self.discount_ = float(np.exp(self._log_weights) @ self._nodes)

    def _first_level(self, y: Array) -> tuple[float, float]:
        if self.prior is None:
            return 1.0, 1.0 / max(float(np.nanmean(y)), 1.0 / (len(y) + 1.0))
        if not isinstance(self.prior, Gamma) or self.prior.batch_shape:
            raise ValueError(f"prior must be a Gamma of one number, got {self.prior!r}")
        return float(self.prior.shape), float(self.prior.rate)


def _filter_counts(
    y: Array, delta: Array, a: Array, b: Array, first: bool = False
) -> tuple[Array, Array, Array]:
    """Return ln p(y_t | earlier) (T, K) for each δ, and the level after the last step."""
    shapes, rates = np.empty((len(y), len(delta))), np.empty((len(y), len(delta)))
    for t, count in enumerate(y):
        if t or not first:
            a, b = delta * a, delta * b
        shapes[t], rates[t] = a, b
        if count == count:
            a, b = a + count, b + 1.0
    seen = ~np.isnan(y)
    terms = np.zeros_like(shapes)
    ahead = NegativeBinomial(shapes[seen], mean=shapes[seen] / rates[seen])
    terms[seen] = ahead.log_prob(y[seen, None])
    return terms, a, b


@cache
def _legendre(count: int) -> tuple[Array, Array]:
    """Return nodes and log weights on (0, 1)."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    made = 0.5 * (1.0 + nodes), np.log(0.5 * weights)
    for one in made:
        one.setflags(write=False)
    return made


def _require_counts(y: Array, first: int) -> None:
    wrong = ~np.isnan(y) & ((y < 0) | (y != np.rint(y)))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"y holds {y[row]:.6g} in step {first + row}, which is no count; CountSeries takes whole numbers "
            ">= 0, StructuralSeries any"
        )
