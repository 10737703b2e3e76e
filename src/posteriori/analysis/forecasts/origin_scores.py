r"""What candidates say of later values from origins, and how well that fits what came.

.. math:: \sum_{t,h} \ln p(y_{t+h}\mid y_{\le t}), \qquad
          \mathrm{CRPS} = E|Y - y| - \tfrac12 E|Y - Y'|

At every origin a candidate is fitted to its past alone. A recorded y stands for y ± ½h, h being the step
to which values are recorded.

Reference: T. Gneiting & A. Raftery, "Strictly proper scoring rules, prediction, and estimation", 2007.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.forecasts.forecast_problem import (
    ForecastProblem,
    fit_all,
    fit_series,
    forecast_later,
)
from posteriori.distributions.batches import has_atoms, take_members
from posteriori.numerics.types import Array
from posteriori.selection.candidates import Candidate
from posteriori.selection.cross_validation import Metrics, recorded_log_density
from posteriori.selection.stacking import log_mixed, stacking_weights

__all__ = [
    "OriginScores",
    "average_scores",
    "crps_of_draws",
    "join_origins",
    "measure_scores",
    "naive_scale",
    "score_from_origin",
]

#: Draws behind the continuous ranked probability score.
_DRAWS = 1000
#: Models of a smaller share are left out of the average.
_LEAST_SHARE = 0.01


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
    """

    log_density: Array
    median: Array
    level: Array
    draws: Array


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
        return fit_all(problem, candidate)
    origin = problem.origins[fold]
    model = fit_series(problem, candidate, origin)
    predictive = forecast_later(model, problem.rows, problem.ahead(origin))
    places = problem.seen(origin)
    some = take_members(predictive, places - origin)
    y = problem.rows.y[places]
    level, log_density = np.asarray(some.cdf(y)), recorded_log_density(some, y, problem.step)
    if has_atoms(some):
        level = level - 0.5 * np.exp(log_density)
    draws = np.sort(some.sample(_DRAWS, rng=np.random.default_rng(0)), axis=0).T
    return OriginScores(log_density, np.asarray(some.median), level, draws)


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


def measure_scores(scores: OriginScores, problem: ForecastProblem) -> Metrics:
    """Return CRPS, error in units of the seasonal naive one, and shares inside intervals."""
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
    }


def average_scores(
    scores: Sequence[OriginScores], problem: ForecastProblem, rng: np.random.Generator
) -> tuple[OriginScores, Array]:
    """Return what the average says, at each origin with the stacking weights of earlier ones, and its weights.

    At the first origin all have equal weights; the weights that are returned, (K,), are those of all
    origins.
    """
    logs = np.stack([one.log_density for one in scores], axis=1)
    count, ends = logs.shape[1], np.cumsum(problem.sizes)
    parts = []
    for start, end in zip([0, *ends[:-1]], ends, strict=True):
        weights = _weights(logs[:start]) if start else np.full(count, 1.0 / count)
        here = slice(int(start), int(end))
        levels = np.stack([one.level[here] for one in scores], axis=1)
        draws = _mixed_draws([one.draws[here] for one in scores], weights, rng)
        middle = np.median(draws, axis=1)
        parts.append(OriginScores(log_mixed(logs[here], weights), middle, levels @ weights, draws))
    joined = join_origins(parts, problem)
    assert joined is not None
    return joined, _weights(logs)


def _weights(logs: Array) -> Array:
    """Return stacking weights without the smallest; values that nobody thought possible say nothing."""
    possible = np.isfinite(logs.max(axis=1))
    if not possible.any():
        return np.full(logs.shape[1], 1.0 / logs.shape[1])
    found = stacking_weights(logs[possible])
    kept = np.where(found < _LEAST_SHARE, 0.0, found)
    return kept / kept.sum()


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
