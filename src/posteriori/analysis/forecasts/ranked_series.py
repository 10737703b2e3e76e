"""Candidates of a series ranked by what they say from origins, with their average."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from posteriori.analysis.fitting.averaged import AVERAGE
from posteriori.analysis.fitting.ranked_outcomes import all_outcomes, order_outcomes
from posteriori.analysis.fitting.running import Outcome
from posteriori.selection.candidates import Candidate
from posteriori.selection.comparison import Comparison
from posteriori.selection.cross_validation import Metrics
from posteriori.selection.origins.forecast_problem import ForecastProblem
from posteriori.selection.origins.origin_scores import average_scores, measure_scores
from posteriori.sequence.series.series_average import SeriesAverage

__all__ = ["RankedSeries", "rank_series"]


class RankedSeries(NamedTuple):
    """All candidates.

    Attributes
    ----------
    outcomes : dict of Outcome
        By name, best first.
    ranking : Comparison
    metrics : dict of Metrics
        Of what was forecast from origins, by name.
    """

    outcomes: dict[str, Outcome]
    ranking: Comparison
    metrics: dict[str, Metrics]


def rank_series(
    candidates: Sequence[Candidate],
    reached: Sequence[Outcome],
    ended: str,
    problem: ForecastProblem,
    seed: int,
) -> RankedSeries:
    """Return the outcomes of all candidates and of their average, best first.

    Parameters
    ----------
    candidates : sequence of Candidate
    reached : sequence of Outcome
        Of those that were waited for.
    ended : {"", "interrupted", "time"}
        Why the others were not.
    problem : ForecastProblem
    seed : int
    """
    outcomes = all_outcomes(candidates, reached, ended)
    weights = _add_average(outcomes, problem, seed)
    unseen = {name: o.unseen for name, o in outcomes.items() if o.unseen is not None}
    held = {name: problem.sum_by_origin(one.log_density) for name, one in unseen.items()}
    if len(problem.origins) == 1:  # then values stand for themselves
        held = {name: one.log_density for name, one in unseen.items()}
    method = f"{len(problem.origins)} origins" if problem.origins else ""
    ordered, ranking = order_outcomes(outcomes, weights, held, method)
    metrics = {name: measure_scores(one, problem) for name, one in unseen.items()}
    return RankedSeries(ordered, ranking, metrics)


def _add_average(
    outcomes: dict[str, Outcome], problem: ForecastProblem, seed: int
) -> dict[str, float]:
    """Add the average of all candidates that have said something, and return its weights."""
    members = {name: o for name, o in outcomes.items() if o.unseen is not None}
    if len(members) < 2:
        return {}
    scores, shares = average_scores(
        [o.unseen for o in members.values()],
        [o.model[-1].log_predictive_ for o in members.values()],
        problem,
        np.random.default_rng(seed),
    )
    weights = dict(zip(members, shares.tolist(), strict=True))
    kept = {name: share for name, share in weights.items() if share > 0.0}
    model = SeriesAverage({name: members[name].model[-1] for name in kept}, kept)
    candidate = Candidate(
        AVERAGE,
        "series",
        f"{SeriesAverage.__module__}.{SeriesAverage.__name__}",
        prior="those of its members",
        title="average of the models",
    )
    outcomes[AVERAGE] = Outcome(
        candidate,
        model=Pipeline([("model", model)]),
        unseen=scores,
        seconds=sum(o.seconds for o in members.values()),
    )
    return weights
