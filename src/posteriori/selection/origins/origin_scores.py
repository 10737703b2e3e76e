r"""Forecasts from points in the past of a series, its origins, and how well they fit what came.

.. math:: \sum_{t,h} \ln p(y_{t+h}\mid y_{\le t}), \qquad
          \mathrm{CRPS} = E|Y - y| - \tfrac12 E|Y - Y'|

At every origin a candidate is fitted to its past alone. A recorded y stands for y ± ½h, h being the step
to which values are recorded.

Reference: T. Gneiting & A. Raftery, "Strictly proper scoring rules, prediction, and estimation", 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.selection.cross_validation import Metrics
from posteriori.sequence.series.series_clock import set_clock
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = [
    "DRAWS",
    "FEW_DRAWS",
    "ForecastProblem",
    "OriginScores",
    "choose_origins",
    "crps_of_draws",
    "foresees",
    "join_origins",
    "measure_scores",
    "naive_forecasts",
    "naive_scale",
    "widening_of",
]

#: An origin has at least so many values before it, and holds each period so often.
_FEWEST, _TIMES = 8, 2

#: Draws of scales behind a forecast and an evidence: errors of the latter stay below a few tenths.
DRAWS = 200
#: Draws of scales behind a forecast from an origin, whose density needs less exactness than an evidence.
FEW_DRAWS = 100
#: Nothing was begun.
_NOTHING: Mapping[str, Any] = {}

#: The intervals that must have held at the origins, lest all are widened; a smaller factor changes nothing.
_HELD_MASS, _LEAST_WIDENING = 0.8, 1.05
#: For how many values it counts that intervals of these models hold elsewhere: of simulated series whose intervals held
#: less at the origins, a third lacked as much later.
_HELD_ELSEWHERE = 30.0
#: Levels nearer to 0 or 1 are as good as that.
_OUTERMOST = 1e-4


class ForecastProblem(NamedTuple):
    """A series to be forecast.

    Attributes
    ----------
    rows : SeriesRows
    periods : tuple of float
    horizon : int
    origins : tuple of int
        How many steps are known at each, the earliest first.
    step : float
        To which values are recorded; 0 where they show none.
    draws : int
        Of the scales of structural series, in fits to all steps.
    begun : mapping
        By name models of what is known at the first origin, where the search for others begins.
    """

    rows: SeriesRows
    periods: tuple[float, ...]
    horizon: int
    origins: tuple[int, ...]
    step: float
    draws: int = DRAWS
    begun: Mapping[str, Any] = _NOTHING

    @property
    def classes(self) -> None:
        """Series have none."""
        return None

    @property
    def X(self) -> Array:
        """All values."""
        return self.rows.y

    @property
    def splits(self) -> tuple[int, ...]:
        """The origins."""
        return self.origins

    def ahead(self, origin: int) -> slice:
        """Return the steps that are forecast from an origin."""
        return slice(origin, min(origin + self.horizon, len(self.rows.y)))

    def seen(self, origin: int) -> Array:
        """Return which of them have a value, places in the series."""
        part = self.ahead(origin)
        return part.start + np.flatnonzero(~np.isnan(self.rows.y[part]))

    @property
    def sizes(self) -> list[int]:
        """How many values are forecast from each origin."""
        return [len(self.seen(origin)) for origin in self.origins]

    @property
    def values(self) -> Array:
        """The values that are forecast, origin after origin."""
        parts = [self.rows.y[self.seen(origin)] for origin in self.origins]
        return np.concatenate([np.zeros(0), *parts])

    @property
    def steps_ahead(self) -> Array:
        """How far ahead of its origin each of them is, from 1 on."""
        parts = [self.seen(origin) - origin + 1 for origin in self.origins]
        return np.concatenate([np.zeros(0, dtype=np.int64), *parts])

    def sum_by_origin(self, terms: Array) -> Array:
        """Return the sums over the values of each origin."""
        ends = np.cumsum(self.sizes)[:-1]
        return np.array([part.sum() for part in np.split(terms, ends)])


def choose_origins(
    rows: SeriesRows, periods: tuple[float, ...], horizon: int, wanted: int
) -> tuple[int, ...]:
    """Return how many steps are known at each origin: the last a horizon before the end.

    Origins are a horizon apart where the series is long enough, else closer, else fewer: each has eight
    values before it and holds every period twice.

    Parameters
    ----------
    rows : SeriesRows
    periods : tuple of float
    horizon, wanted : int
        How many steps are forecast, and from how many origins.
    """
    known = np.cumsum(~np.isnan(rows.y))
    least = int(np.ceil(_TIMES * max(periods, default=0.0)))
    last = len(rows.y) - horizon
    first = max(least, int(np.searchsorted(known, _FEWEST) + 1))
    if wanted == 0 or last < first:
        return ()
    apart = horizon if wanted == 1 else max(1, min(horizon, (last - first) // (wanted - 1)))
    places = last - apart * np.arange(wanted)[::-1]
    after = np.concatenate([[0], known])
    return tuple(
        int(p)
        for p in places
        if p >= first and after[min(p + horizon, len(known))] > after[p] and foresees(rows, p)
    )


def foresees(rows: SeriesRows, known: int) -> bool:
    """Tell whether models of the first ``known`` steps can say when later ones are.

    Where times are irregular, but those that are known are not, later ones lie between the known steps.
    """
    return rows.clock.regular or not set_clock(rows.positions[:known]).regular


# -- scores ----------------------------------------------------------------------------------


class OriginScores(NamedTuple):
    """What is said of N later values.

    Attributes
    ----------
    log_density : (N,)
        ln p(y | past of the origin), averaged over the step to which values are recorded.
    median : (N,)
    level : (N,)
        p(Y ≤ y | past), with half of what is at y; uniform where forecasts are calibrated.
    draws : (N, S)
        Of the forecasts, sorted.
    known : (M,)
        ln p(y_t | earlier values) of the steps before each origin, origin after origin.
    """

    log_density: Array
    median: Array
    level: Array
    draws: Array
    known: Array


def join_origins(parts: list[OriginScores], problem: ForecastProblem) -> OriginScores | None:
    """Return what is said from all origins, the earliest first."""
    del problem
    if not parts:
        return None
    return OriginScores(*(np.concatenate(one) for one in zip(*parts, strict=True)))


def crps_of_draws(draws: Array, y: Array) -> Array:
    """Return the continuous ranked probability score of sorted draws (N, S) beside what came, (N,).

    Examples
    --------
    >>> crps_of_draws(np.array([[0.0, 1.0]]), np.array([0.0]))
    array([0.25])
    """
    size = draws.shape[1]
    below = np.arange(1, size) / size
    # ½ E|Y − Y'| = ∫ F(1 − F) over the gaps between sorted draws
    spread = (below * (1.0 - below) * np.diff(draws, axis=1)).sum(axis=1)
    return np.abs(draws - y[:, None]).mean(axis=1) - spread


def naive_scale(problem: ForecastProblem) -> Array:
    """Return for each forecast value the mean error of the seasonal naive forecast in its past, (N,)."""
    lag = round(min(problem.periods)) if problem.periods else 1
    scales = []
    for origin, size in zip(problem.origins, problem.sizes, strict=True):
        past = problem.rows.y[:origin]
        gaps = np.abs(past[lag:] - past[:-lag])
        known = gaps[~np.isnan(gaps)]
        if not known.size:
            known = np.abs(np.diff(past[~np.isnan(past)]))
        scales.append(np.full(size, known.mean() if known.size else np.nan))
    return np.concatenate([np.zeros(0), *scales])


def naive_forecasts(problem: ForecastProblem) -> dict[str, Array]:
    """Return for each forecast value what repeating the last value says, and repeating the last season, (N,)."""
    y, lag = problem.rows.y, round(min(problem.periods, default=0.0))
    found: dict[str, list[Array]] = {"the last value": [], "the last season": []}
    for origin in problem.origins:
        past = y[:origin]
        last = past[~np.isnan(past)][-1]
        places = problem.seen(origin)
        found["the last value"].append(np.full(len(places), last))
        if lag:
            season = past[origin - lag + (places - origin) % lag]
            found["the last season"].append(np.where(np.isnan(season), last, season))
    return {name: np.concatenate(parts) for name, parts in found.items() if parts}


def widening_of(scores: OriginScores, problem: ForecastProblem) -> float:
    r"""Return by how much intervals are to be widened, on the scale of normal levels: 1 where they held.

    With :math:`z = |\Phi^{-1}(u)|` of the levels u of what came, the factor at which 80 % intervals would have held
    is a quantile of z over that of the normal distribution, as of conformal prediction. It counts for as many values
    as there are, √H of an origin, against those of other series.
    """
    z = np.abs(special.ndtri(np.clip(scores.level, _OUTERMOST, 1.0 - _OUTERMOST)))
    share = min(1.0, _HELD_MASS * (len(z) + 1) / len(z))
    seen = float(np.quantile(z, share) / special.ndtri(0.5 + 0.5 * _HELD_MASS))
    count = float(np.sqrt(problem.sizes).sum())
    factor = max(seen, 1.0) ** (count / (count + _HELD_ELSEWHERE))
    return factor if factor >= _LEAST_WIDENING else 1.0


def measure_scores(scores: OriginScores, problem: ForecastProblem) -> Metrics:
    """Return CRPS, error in units of the seasonal naive one, shares inside intervals, and by how much to widen them."""
    y, scale = problem.values, naive_scale(problem)
    crps = crps_of_draws(scores.draws, y)
    error = np.abs(y - scores.median)
    usable = scale > 0.0
    middle = np.abs(scores.level - 0.5)
    return {
        "CRPS": float(crps.mean()),
        "MAE": float(error.mean()),
        "scaled error": float((error[usable] / scale[usable]).mean()) if usable.any() else np.nan,
        "inside 80 %": float(np.mean(middle <= 0.4)),
        "inside 95 %": float(np.mean(middle <= 0.475)),
        "widening": widening_of(scores, problem),
    }
