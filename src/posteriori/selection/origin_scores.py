r"""Forecasts from points in the past of a series, its origins, and how well they fit what came.

.. math:: \sum_{t,h} \ln p(y_{t+h}\mid y_{\le t}), \qquad
          \mathrm{CRPS} = E|Y - y| - \tfrac12 E|Y - Y'|

At every origin a candidate is fitted to its past alone. A recorded y stands for y ± ½h, h being the step
to which values are recorded.

Candidates are averaged by what they said one step ahead of all values, which adds up to their evidence, and by
what they said of the H steps after each origin. Such forecasts err together: they count for √H values, between 1
if one error made all others and H if each had its own. Which model leads may hang on a few stretches of the
series: the odds are averaged over a bootstrap of these.

References: T. Gneiting & A. Raftery, "Strictly proper scoring rules, prediction, and estimation", 2007;
Y. Yao, A. Vehtari, D. Simpson & A. Gelman, "Using stacking to average Bayesian predictive distributions", 2018.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.distributions.base import has_atoms
from posteriori.distributions.batches import take_members
from posteriori.numerics.lazy import special
from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate, candidates_for
from posteriori.selection.cross_validation import Metrics, recorded_log_density
from posteriori.selection.lines.series_lines import NAIVE
from posteriori.selection.stacking import bootstrapped_weights, log_mixed
from posteriori.sequence.series.series_clock import set_clock
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = [
    "DRAWS",
    "FEW_DRAWS",
    "ForecastProblem",
    "OriginScores",
    "average_scores",
    "choose_origins",
    "crps_of_draws",
    "foresees",
    "is_asked",
    "join_origins",
    "measure_scores",
    "naive_forecasts",
    "naive_scale",
    "score_from_origin",
    "suited_series",
    "widening_of",
]

#: An origin has at least so many values before it, and holds each period so often.
_FEWEST, _TIMES = 8, 2

#: Draws of scales behind a forecast and an evidence: errors of the latter stay below a few tenths.
DRAWS = 200
#: Draws of scales behind a forecast from an origin, whose density needs less exactness than an evidence.
FEW_DRAWS = 100


#: Steps of a season that are kept one by one, at most.
_LONGEST_REPEATED = 100

#: Draws behind the continuous ranked probability score.
_DRAWS = 1000
#: The intervals that must have held at the origins, lest all are widened; a smaller factor changes nothing.
_HELD_MASS, _LEAST_WIDENING = 0.8, 1.05
#: For how many values it counts that intervals of these models hold elsewhere: of simulated series whose intervals held
#: less at the origins, a third lacked as much later.
_HELD_ELSEWHERE = 30.0
#: Levels nearer to 0 or 1 are as good as that.
_OUTERMOST = 1e-4
#: Models of a smaller share are left out of the average.
_LEAST_SHARE = 0.01
#: Stretches into which a series is divided at least, where it has as many values.
_FEWEST_STRETCHES = 5
#: Nats behind the best from which on it does not matter how many they are.
_FARTHEST = 1e4


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
    """

    rows: SeriesRows
    periods: tuple[float, ...]
    horizon: int
    origins: tuple[int, ...]
    step: float
    draws: int = DRAWS

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


def suited_series(problem: ForecastProblem, names: Any) -> list[Candidate]:
    """Return the candidates that suit a series, cheapest first; beside those asked for by name what repeats values."""
    y = problem.rows.y[~np.isnan(problem.rows.y)]
    traits = ["regular"] if problem.rows.clock.regular else []
    traits += ["positive"] if (y > 0.0).all() else []
    traits += ["counts"] if (y >= 0.0).all() and (y == np.rint(y)).all() else []
    traits += ["seasonal"] if problem.periods else []
    traits += ["short season"] if min(problem.periods, default=np.inf) <= _LONGEST_REPEATED else []
    traits += ["without inputs"] if not problem.rows.inputs.shape[1] else []
    if y.min() == y.max():
        return candidates_for("series", names or ("constant",), targets=traits)
    found = candidates_for("series", names, targets=traits)
    suited = candidates_for("series", targets=traits) if names else found
    return [*(c for c in suited if c.name in NAIVE and c not in found), *found]


def is_asked(candidate: Candidate, names: Sequence[str]) -> bool:
    """Tell whether a candidate is among those asked for by name or title, which are all where there are no names."""
    return not names or candidate.name in names or candidate.words in names


def _fit_series(problem: ForecastProblem, candidate: Candidate, known: int) -> Any:
    """Return a candidate fitted to the first ``known`` steps alone."""
    model, rows = candidate.make(), problem.rows
    if candidate.encoding == "seasons":
        model.seasons = problem.periods
    if "draws" in vars(model):
        model.draws = problem.draws if known == len(rows.y) else FEW_DRAWS
    part = slice(0, known)
    time = None if rows.clock.regular else rows.positions[part]
    inputs = np.nan_to_num(rows.inputs[part]) if rows.inputs.shape[1] else None
    return model.fit(rows.y[part], time, inputs)


def _forecast_later(model: Any, rows: SeriesRows, part: slice) -> Any:
    """Return the distributions of later steps of a series, which the model has not seen."""
    inputs = rows.inputs[part] if rows.inputs.shape[1] else None
    if rows.clock.regular:
        return model.forecast(part.stop - part.start, inputs=inputs)
    return model.forecast(time=rows.positions[part], inputs=inputs)


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


def score_from_origin(problem: ForecastProblem, candidate: Candidate, fold: int | None) -> Any:
    """Fit a candidate to what is known at an origin, and say what it thinks of what came.

    Parameters
    ----------
    problem : ForecastProblem
    candidate : Candidate
    fold : int or None
        Which origin; None fits to all steps and returns the model.
    """
    if fold is None:
        model = _fit_series(problem, candidate, len(problem.rows.y))
        return Pipeline([("model", model)])
    origin = problem.origins[fold]
    model = _fit_series(problem, candidate, origin)
    predictive = _forecast_later(model, problem.rows, problem.ahead(origin))
    places = problem.seen(origin)
    whole = len(places) == predictive.batch_shape[0]
    some = predictive if whole else take_members(predictive, places - origin)
    y = problem.rows.y[places]
    level, log_density = np.asarray(some.cdf(y)), recorded_log_density(some, y, problem.step)
    if has_atoms(some):
        level = level - 0.5 * np.exp(log_density)
    draws = np.sort(some.sample(_DRAWS, rng=np.random.default_rng(0)), axis=0).T
    known = model.log_predictive_
    return OriginScores(log_density, np.asarray(some.median), level, draws, known)


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


def average_scores(
    scores: Sequence[OriginScores],
    known: Sequence[Array],
    problem: ForecastProblem,
    rng: np.random.Generator,
) -> tuple[OriginScores, Array]:
    """Return what the average says, at each origin with the weights of what was known then, and its weights.

    Parameters
    ----------
    scores : sequence of OriginScores
        Of K candidates.
    known : sequence of (T,)
        ln p(y_t | earlier values) of all steps, by candidate.
    problem : ForecastProblem
    rng : Generator

    Returns
    -------
    OriginScores
    (K,)
        The weights that the whole series and all origins ask for.
    """
    logs = np.stack([one.log_density for one in scores], axis=1)
    told = np.split(logs, np.cumsum(problem.sizes)[:-1])
    before = np.split(
        np.stack([one.known for one in scores], axis=1), np.cumsum(problem.origins)[:-1]
    )
    parts, start = [], 0
    for k, later in enumerate(told):
        weights = _weights(before[k], told[:k], problem, rng)
        here = slice(start, start := start + len(later))
        levels = np.stack([one.level[here] for one in scores], axis=1)
        draws = _mixed_draws([one.draws[here] for one in scores], weights, rng)
        said = log_mixed(later, weights), np.median(draws, axis=1), levels @ weights, draws
        parts.append(OriginScores(*said, log_mixed(before[k], weights)))
    joined = join_origins(parts, problem)
    assert joined is not None
    return joined, _weights(np.stack(known, axis=1), told, problem, rng)


def _weights(
    known: Array, told: Sequence[Array], problem: ForecastProblem, rng: np.random.Generator
) -> Array:
    """Return weights by stretches of what is known, (T, K), and by origins, (H, K) each, without the smallest."""
    if problem.step > 0.0:  # no value has a probability above 1
        known = np.minimum(known, -np.log(problem.step))
    length = max(1, min(problem.horizon, len(known) // _FEWEST_STRETCHES))
    stretches = np.array_split(_behind_best(known), max(1, len(known) // length))
    blocks = [part.sum(axis=0) for part in stretches]
    blocks += [_behind_best(part).sum(axis=0) / np.sqrt(len(part)) for part in told]
    found = bootstrapped_weights(np.array(blocks), rng)
    kept = np.where(found < _LEAST_SHARE, 0.0, found)
    return kept / kept.sum()


def _behind_best(logs: Array) -> Array:
    """Return how far each is behind the best of its row; values that nobody thought possible say nothing."""
    best = logs.max(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        gaps = np.maximum(logs - best, -_FARTHEST)
    return np.where(np.isfinite(best), gaps, 0.0)


def _mixed_draws(draws: list[Array], weights: Array, rng: np.random.Generator) -> Array:
    """Return as many draws of a mixture as each member has, sorted, (N, S)."""
    size = draws[0].shape[1]
    counts = rng.multinomial(size, weights)
    picked = [
        one[:, rng.choice(size, count, replace=False)]
        for one, count in zip(draws, counts, strict=True)
        if count
    ]
    return np.sort(np.concatenate(picked, axis=1), axis=1)
