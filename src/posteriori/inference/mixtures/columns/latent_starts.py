"""Where mixtures that are learned from sums of features begin: at clusters of rows in their features."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.clusters.distinct_rows import DistinctRows, distinct_rows
from posteriori.inference.clusters.rough_clusters import nearest_of
from posteriori.inference.clusters.seeding import seed_centers
from posteriori.inference.mixtures.columns.latent_ascent import (
    LatentModel,
    WeightLaw,
    ascend,
    linear_scores,
    look_by_features,
    sums_of_shares,
)
from posteriori.inference.mixtures.columns.member_fits import climb_by_fits
from posteriori.inference.mixtures.component_moves import moved_shares, rising_moves
from posteriori.inference.mixtures.feature_pass import responsibilities
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Search", "climb_latent", "fit_from_best_start"]

#: Of more distinct rows than this a sample serves to find where to begin; the last ascent sees all.
_SAMPLE = 20_000

#: Steps by which a start shows where it leads.
_TRIAL = 30

#: The same of fits, each of which is found step by step.
_TRIAL_FITS = 5


class Search(NamedTuple):
    """How a mixture is looked for.

    Attributes
    ----------
    n_components, n_init : int
        Components, and starts of which each takes some steps; the highest goes on.
    moves : bool
        Whether components are merged and split where that one ends.
    weights : WeightLaw
    shares : (K, N) or None
        Where to begin; None: at seeds.
    rng : Generator
    max_iter : int
        Steps of the last ascent.
    options : mapping
        Further ones of :func:`maximize_by_em`.
    """

    n_components: int
    n_init: int
    moves: bool
    weights: WeightLaw
    shares: Array | None
    rng: np.random.Generator
    max_iter: int
    options: Mapping[str, Any]


def climb_latent(
    model: LatentModel, x: Array, frequency: Array | None, search: Search
) -> tuple[Array, EMResult]:
    """Return the sums (K, F) of the components that are found, the largest first, and the ascent."""
    if search.shares is None:
        ascent = _from_seeds(model, x, frequency, search)
    else:
        start = sums_of_shares(model, x, frequency, search.shares)
        ascent = _last(model, x, frequency, start, search)
    found = ascent.parameters
    return found[np.argsort(-found[:, 0], kind="stable")], ascent


def _from_seeds(model: LatentModel, x: Array, frequency: Array | None, search: Search) -> EMResult:
    """Return the ascent from the best of some starts."""
    some = _distinct(x, frequency, search.rng)
    part, times = some.rows, some.weight
    t = model.of(part)
    z = _equal_units(t, times)
    steps = 0 if search.n_init == 1 else min(_TRIAL, search.max_iter)
    trials: list[EMResult] = []
    while len(trials) < search.n_init and not (trials and _is_interrupted(trials[-1])):
        shares = nearest_of(z, seed_centers(z, search.n_components, times, search.rng))
        start = ((shares == np.arange(search.n_components)[:, None]) * times) @ t.T
        with _quiet():
            trials.append(ascend(model, search.weights, part, times, start, max_iter=steps))
    best = max(trials, key=lambda trial: trial.trace[-1])
    if search.moves and search.n_components > 1 and not _is_interrupted(trials[-1]):
        best = _climb_by_moves(model, some, t, z, best, search)
    total = float(len(x)) if frequency is None else float(frequency.sum())
    start = best.parameters * (total / times.sum())
    if _is_interrupted(trials[-1]) or _is_interrupted(best):
        with _quiet():
            found = _last(model, x, frequency, start, search._replace(max_iter=0))
    else:
        found = _last(model, x, frequency, start, search)
    if len(part) == _SAMPLE or best.n_iter == 0:
        return found
    trace = (*best.trace[:-1], *found.trace)
    return found._replace(trace=trace, n_iter=best.n_iter + found.n_iter)


def _climb_by_moves(
    model: LatentModel, some: DistinctRows, t: Array, z: Array, best: EMResult, search: Search
) -> EMResult:
    """Climb on from where a trial ended, and from each move that leads higher.

    Parameters
    ----------
    model : LatentModel
    some : DistinctRows
    t : (F, N)
        Their features.
    z : (N, F)
        These in equal units.
    best : EMResult
    search : Search
    """
    x, times = some.rows, some.weight
    look = look_by_features(model, search.weights, x, times)

    def onwards(before: EMResult, start: Array) -> EMResult:
        with _quiet():
            found = _last(model, x, times, start, search)
        trace = (*before.trace, *found.trace[start is before.parameters :])
        return found._replace(trace=trace, n_iter=before.n_iter + found.n_iter)

    best = onwards(best, best.parameters)
    for _ in range(2 * search.n_components):
        if _is_interrupted(best):
            break
        theta, _ = linear_scores(model, search.weights, best.parameters)
        moved = moved_shares(z, times, responsibilities(theta @ t)[0], may_empty=True)
        rising = rising_moves(look, lambda shares: (shares * times) @ t.T, moved, best.trace[-1])
        start = next(rising, None)
        if start is None:
            break
        best = onwards(best, start)
    return best


def _is_interrupted(ascent: EMResult) -> bool:
    return ascent.message.startswith("interrupted")


def _last(
    model: LatentModel, x: Array, frequency: Array | None, start: Array, search: Search
) -> EMResult:
    return ascend(
        model, search.weights, x, frequency, start, max_iter=search.max_iter, **search.options
    )


def fit_from_best_start(family: Any, x: Array, frequency: Array | None, search: Search) -> EMResult:
    """Return the best ascent by fits of a family."""
    options = {**search.options, "max_iter": search.max_iter}
    if search.shares is not None:
        return climb_by_fits(family, x, frequency, search.shares, **options)
    trials = []
    for _ in range(search.n_init):
        shares = _seeded_rows(x, frequency, search)
        with _quiet():
            trials.append(climb_by_fits(family, x, frequency, shares, max_iter=_TRIAL_FITS))
    best = max(trials, key=lambda trial: trial.trace[-1])
    found = climb_by_fits(family, x, frequency, best.parameters, **options)
    trace = (*best.trace[:-1], *found.trace)
    return found._replace(trace=trace, n_iter=best.n_iter + found.n_iter)


def _seeded_rows(x: Array, frequency: Array | None, search: Search) -> Array:
    """Return which of K seeds is nearest to each row (K, N), missing entries at the mean."""
    weight = np.ones(len(x)) if frequency is None else frequency
    seen = x == x
    mean = weight @ np.where(seen, x, 0.0) / (weight @ seen)
    filled = np.where(seen, x, mean)
    spread = np.sqrt(weight @ (filled - mean) ** 2 / weight.sum())
    z = (filled - mean) / np.where(spread > 0, spread, 1.0)
    some = _distinct(z, frequency, search.rng)
    centers = seed_centers(some.rows, search.n_components, some.weight, search.rng)
    return (nearest_of(z, centers) == np.arange(search.n_components)[:, None]) * 1.0


def _distinct(x: Array, frequency: Array | None, rng: np.random.Generator) -> DistinctRows:
    """Return distinct rows, of many a sample; what else is drawn does not depend on their number."""
    return distinct_rows(x, frequency, _SAMPLE, rng.spawn(1)[0])


def _equal_units(t: Array, times: Array) -> Array:
    """Return features (F, N) that vary in units of their spread, a row for each row: (N, F)."""
    mean = (t @ times / times.sum())[:, None]
    spread = np.sqrt((t - mean) ** 2 @ times / times.sum())
    return ((t - mean)[spread > 0] / spread[spread > 0][:, None]).T


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some steps are enough
        yield
