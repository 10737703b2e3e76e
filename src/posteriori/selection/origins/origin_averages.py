r"""The average of candidates that forecast a series from its origins.

Candidates are averaged by what they said one step ahead of all values, which adds up to their evidence, and by
what they said of the H steps after each origin. Such forecasts err together: they count for √H values, between 1
if one error made all others and H if each had its own. Which model leads may hang on a few stretches of the
series: the odds are averaged over a bootstrap of these, beside odds that models have before any value.

Reference: Y. Yao, A. Vehtari, D. Simpson & A. Gelman, "Using stacking to average Bayesian predictive
distributions", 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.numerics.types import Array
from posteriori.selection.origins.origin_scores import ForecastProblem, OriginScores, join_origins
from posteriori.selection.stacking import bootstrapped_weights, log_mixed

__all__ = ["average_scores"]

#: Models of a smaller share are left out of the average.
_LEAST_SHARE = 0.01
#: Stretches into which a series is divided at least, where it has as many values.
_FEWEST_STRETCHES = 5
#: Nats behind the best from which on it does not matter how many they are.
_FARTHEST = 1e4


def average_scores(
    scores: Sequence[OriginScores],
    known: Sequence[Array],
    problem: ForecastProblem,
    rng: np.random.Generator,
    log_odds: Array | float = 0.0,
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
    log_odds : (K,)
        Of the candidates before any value.

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
        weights = _weights(before[k], told[:k], problem, rng, log_odds)
        here = slice(start, start := start + len(later))
        levels = np.stack([one.level[here] for one in scores], axis=1)
        draws = _mixed_draws([one.draws[here] for one in scores], weights, rng)
        said = log_mixed(later, weights), np.median(draws, axis=1), levels @ weights, draws
        parts.append(OriginScores(*said, log_mixed(before[k], weights)))
    joined = join_origins(parts, problem)
    assert joined is not None
    return joined, _weights(np.stack(known, axis=1), told, problem, rng, log_odds)


def _weights(
    known: Array,
    told: Sequence[Array],
    problem: ForecastProblem,
    rng: np.random.Generator,
    log_odds: Array | float,
) -> Array:
    """Return weights by stretches of what is known, (T, K), and by origins, (H, K) each, without the smallest."""
    if problem.step > 0.0:  # no value has a probability above 1
        known = np.minimum(known, -np.log(problem.step))
    length = max(1, min(problem.horizon, len(known) // _FEWEST_STRETCHES))
    stretches = np.array_split(_behind_best(known), max(1, len(known) // length))
    blocks = [part.sum(axis=0) for part in stretches]
    blocks += [_behind_best(part).sum(axis=0) / np.sqrt(len(part)) for part in told]
    found = bootstrapped_weights(np.array(blocks), rng, log_odds)
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
