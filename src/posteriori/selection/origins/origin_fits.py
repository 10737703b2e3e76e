"""Candidates fitted to what is known at origins: all of them at the first, those that are not far behind at all.

What was learned at the first origin is where the search begins at the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.distributions.base import has_atoms
from posteriori.distributions.batches import take_members
from posteriori.selection.candidates import Candidate, candidates_for
from posteriori.selection.cross_validation import recorded_log_density
from posteriori.selection.lines.series_lines import NAIVE
from posteriori.selection.origins.origin_scores import FEW_DRAWS, ForecastProblem, OriginScores
from posteriori.sequence.series.series_rows import SeriesRows

__all__ = [
    "before_first_origin",
    "is_asked",
    "near_best",
    "repeats_season",
    "score_from_origin",
    "suited_series",
]

#: Values times squared steps of a season up to which these are kept one by one: ten-minute data of three months.
_MOST_WORK = 3e8
#: Draws behind the continuous ranked probability score.
_DRAWS = 1000
#: Nats behind the best of what is known at the first origin from which on a candidate goes no further.
_FAR_BEHIND = 15.0


def suited_series(problem: ForecastProblem, names: Any) -> list[Candidate]:
    """Return the candidates that suit a series, cheapest first; beside those asked for by name what repeats values."""
    y = problem.rows.y[~np.isnan(problem.rows.y)]
    traits = ["regular"] if problem.rows.clock.regular else []
    traits += ["positive"] if (y > 0.0).all() else []
    traits += ["counts"] if (y >= 0.0).all() and (y == np.rint(y)).all() else []
    traits += ["seasonal"] if problem.periods else []
    traits += ["short season"] if problem.periods and repeats_season(problem) else []
    traits += ["without inputs"] if not problem.rows.inputs.shape[1] else []
    if y.min() == y.max():
        return candidates_for("series", names or ("constant",), targets=traits)
    found = candidates_for("series", names, targets=traits)
    suited = candidates_for("series", targets=traits) if names else found
    return [*(c for c in suited if c.name in NAIVE and c not in found), *found]


def repeats_season(problem: ForecastProblem) -> bool:
    """Tell whether the shortest season can be repeated step by step, at a bearable cost."""
    return len(problem.rows.y) * min(problem.periods) ** 2 <= _MOST_WORK


def is_asked(candidate: Candidate, names: Sequence[str]) -> bool:
    """Tell whether a candidate is among those asked for by name or title, which are all where there are no names."""
    return not names or candidate.name in names or candidate.words in names


def before_first_origin(problem: ForecastProblem) -> ForecastProblem:
    """Return the problem of what is known at the first origin, which has no origins of its own."""
    rows, known = problem.rows, slice(0, problem.origins[0])
    part = rows._replace(
        y=rows.y[known], positions=rows.positions[known], inputs=rows.inputs[known]
    )
    return problem._replace(rows=part, origins=(), draws=FEW_DRAWS)


def near_best(
    candidates: Sequence[Candidate], problem: ForecastProblem, begun: Mapping[str, Any]
) -> list[Candidate]:
    """Return the candidates that are not far behind, those that repeat values, and those that failed.

    Parameters
    ----------
    candidates : sequence of Candidate
    problem : ForecastProblem
    begun : mapping
        By name models of what is known at the first origin.
    """
    limit = -np.log(problem.step) if problem.step > 0.0 else np.inf  # probabilities are below 1
    sums = {
        name: float(np.minimum(model.log_predictive_, limit).sum()) for name, model in begun.items()
    }
    least = max(sums.values(), default=0.0) - _FAR_BEHIND
    return [c for c in candidates if c.name in NAIVE or sums.get(c.name, least) >= least]


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
    begun = problem.begun.get(candidate.name) if fold == 0 else None
    model = begun or _fit_series(problem, candidate, origin)
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


def _fit_series(problem: ForecastProblem, candidate: Candidate, known: int) -> Any:
    """Return a candidate fitted to the first ``known`` steps alone."""
    model, rows = candidate.make(), problem.rows
    if candidate.encoding == "seasons":
        model.seasons = problem.periods
    if "draws" in vars(model):
        model.draws = problem.draws if known == len(rows.y) else FEW_DRAWS
        if candidate.name in problem.begun:
            model.begin_near(problem.begun[candidate.name])
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
