"""How far to trust an approximate posterior of a model: its draws, weighed by the model."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.inference.weighing.reliability import (
    Deviation,
    Reliability,
    deviation_of_numbers,
    deviation_of_states,
    join_reliabilities,
    judge_deviations,
    read_draws,
)
from posteriori.modeling.contract.engine import Result
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.posterior.importance_weights import Moments, Weighed, weigh
from posteriori.numerics.calculus.pareto_smoothing import smooth_weights
from posteriori.numerics.random import as_generator
from posteriori.numerics.telling.progress import Progress
from posteriori.numerics.types import Array, Seed

__all__ = ["check_reliability"]


def check_reliability(solved: Solved, draws: Any, rng: Seed) -> Reliability:
    """Weigh draws of all approximate blocks of a posterior."""
    size = read_draws(draws)
    generator = as_generator(rng)
    if solved.is_merged:
        raise TypeError(
            "a merged posterior has no data to weigh its draws by: check those that were merged"
        )
    found = []
    for result in solved.results:
        checked = _check_block(result, solved, size, generator)
        if checked is not None:
            found.append(checked)
    return join_reliabilities(found)


def _check_block(
    result: Result, solved: Solved, size: int, rng: np.random.Generator
) -> Reliability | None:
    weighable = result.weighable()
    if weighable is None or not weighable.apart or solved.exact_parts is None:
        return None
    progress = Progress(None, kept="the draws so far")
    weighed = weigh(weighable, solved.exact_parts, size, rng, progress)
    log_weights, shapes = smooth_weights(weighed.log_ratios[:, None])
    weights = np.exp(log_weights[:, 0])
    deviations = _deviations(weighed, weights)
    return judge_deviations(
        {name: deviations[name] for name in weighable.group.names if name in deviations},
        khat=float(shapes[0]),
        effective_size=1.0 / float(weights @ weights),
        draws=len(weights),
        weighed=tuple(weighed.draws),
        held=tuple(weighable.points),
    )


def _deviations(weighed: Weighed, weights: Array) -> dict[str, Deviation]:
    """Return how far all unknowns are off."""
    found = {}
    for name, draws in weighed.draws.items():
        x = draws.reshape(len(draws), -1)
        if name in weighed.states:
            x = (x[..., None] == np.arange(weighed.states[name])).astype(np.float64)
            found[name] = deviation_of_states(x.mean(axis=0), np.tensordot(weights, x, axes=1))
        else:
            mean = weights @ x
            found[name] = deviation_of_numbers(
                (x.mean(axis=0), x.var(axis=0)), (mean, weights @ (x - mean) ** 2)
            )
    for name, believed in weighed.believed.items():
        found[name] = _of_others(believed, [g.get(name) for g in weighed.given], weights)
    return found


def _of_others(believed: Moments, given: list[Moments | None], weights: Array) -> Deviation:
    """Compare a belief with a mixture over the draws."""
    kept = [(w, m) for w, m in zip(weights, given, strict=True) if m is not None]
    share = np.array([w for w, _ in kept])
    means = np.array([m.mean for _, m in kept])
    mean = np.tensordot(share, means, axes=1)
    if believed.variance is None:
        return deviation_of_states(believed.mean, mean)
    inner = np.array([m.variance for _, m in kept])
    return deviation_of_numbers(
        (believed.mean, believed.variance), (mean, share @ (inner + (means - mean) ** 2))
    )
