"""Where mixtures that are learned from sums of features begin: at clusters of rows in their features."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.clusters.seeding import seed_centers, squared_distances
from posteriori.inference.mixtures.latent_ascent import LatentModel, WeightLaw, ascend
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["best_ascent_from_seeds", "distinct_rows", "seeded_shares"]

#: Of more distinct rows than this a sample serves to find where to begin; the last ascent sees all.
_SAMPLE = 20_000

#: Steps by which a start shows where it leads.
_TRIAL = 30

#: An odd number whose multiples spread over all words: 2⁶⁴ divided by the golden ratio.
_SPREADING = np.uint64(0x9E3779B97F4A7C15)


def best_ascent_from_seeds(
    model: LatentModel,
    weights: WeightLaw,
    x: Array,
    frequency: Array | None,
    k: int,
    n_init: int,
    rng: np.random.Generator,
    *,
    max_iter: int,
    **options: Any,
) -> EMResult:
    """Return the ascent from the best of some starts; the parameters that are found are sums (K, F).

    Parameters
    ----------
    model : LatentModel
    weights : WeightLaw
    x : (N, D)
    frequency : (N,) or None
    k, n_init : int
        Components, and starts of which each takes some steps; the highest goes on.
    rng : Generator
    max_iter : int
        Steps of the last ascent.
    **options
        Further ones of :func:`maximize_by_em`.
    """
    at, times = distinct_rows(x, frequency, rng)
    part = x[at]
    t = model.of(part)
    trial_steps = 0 if n_init == 1 else min(_TRIAL, max_iter)
    trials: list[EMResult] = []
    while len(trials) < n_init and not (trials and "interrupted" in trials[-1].message):
        start = (seeded_shares(t, times, k, rng) * times) @ t.T
        trials.append(_trial(model, weights, part, times, start, trial_steps))
    best = max(trials, key=lambda trial: trial.trace[-1])
    total = float(len(x)) if frequency is None else float(frequency.sum())
    start = best.parameters * (total / times.sum())
    found = ascend(model, weights, x, frequency, start, max_iter=max_iter, **options)
    if len(at) == _SAMPLE or n_init == 1:
        return found
    return found._replace(trace=(*best.trace[:-1], *found.trace), n_iter=best.n_iter + found.n_iter)


def distinct_rows(x: Array, frequency: Array | None, rng: np.random.Generator) -> tuple[Any, Array]:
    """Return the places of distinct rows, of many a random sample, and how often each counts.

    Which rows are drawn depends on what they hold, not on their order or on how often they are there.
    """
    word = np.full(len(x), rng.integers(1 << 63), dtype=np.uint64)
    for column in x.T:
        plain = np.where(np.isnan(column), np.nan, column + 0.0)  # one NaN, one 0
        word = (word ^ plain.view(np.uint64)) * _SPREADING
        word ^= word >> np.uint64(32)
    _, at, place = np.unique(word, return_index=True, return_inverse=True)
    times = np.bincount(place, weights=frequency, minlength=len(at)).astype(np.float64)
    return at[:_SAMPLE], times[:_SAMPLE]


def seeded_shares(t: Array, times: Array, k: int, rng: np.random.Generator) -> Array:
    """Return which of k seeds is nearest to each row (k, B), from features (F, B) in equal units."""
    mean = (t @ times / times.sum())[:, None]
    spread = np.sqrt((t - mean) ** 2 @ times / times.sum())
    z = ((t - mean)[spread > 0] / spread[spread > 0][:, None]).T
    nearest = squared_distances(z, seed_centers(z, k, times, rng)).argmin(axis=1)
    return (nearest == np.arange(k)[:, None]) * 1.0


def _trial(
    model: LatentModel, weights: WeightLaw, x: Array, times: Array, start: Array, steps: int
) -> EMResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some steps are enough
        return ascend(model, weights, x, times, start, max_iter=steps)
