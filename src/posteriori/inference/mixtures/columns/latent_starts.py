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
from posteriori.inference.clusters.seeding import seed_centers, seed_rows
from posteriori.inference.latent.ascent import Search, best_of_starts
from posteriori.inference.latent.units import standardized
from posteriori.inference.mixtures.columns.latent_ascent import (
    LatentModel,
    WeightLaw,
    ascend_features,
    linear_scores,
    look_by_features,
    sum_of_features,
    sums_of_shares,
)
from posteriori.inference.mixtures.columns.member_fits import climb_by_fits
from posteriori.inference.mixtures.columns.sound_components import are_sound
from posteriori.inference.mixtures.component_moves import rising_moves
from posteriori.inference.mixtures.feature_pass import read_blocks_of_rows, responsibilities
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["LatentSearch", "climb_latent", "fit_from_best_start"]

#: Steps by which a start shows where it leads.
_TRIAL = 30

#: The same of fits, each of which is found step by step.
_TRIAL_FITS = 5


class LatentSearch(NamedTuple):
    """How a mixture is looked for.

    Attributes
    ----------
    n_components, n_init : int
        Components, and starts of which each takes some steps; the highest goes on.
    split_merge : bool
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
    split_merge: bool
    weights: WeightLaw
    shares: Array | None
    rng: np.random.Generator
    max_iter: int
    options: Mapping[str, Any]


def climb_latent(
    model: LatentModel, x: Array, frequency: Array | None, search: LatentSearch
) -> tuple[Array, EMResult]:
    """Return the sums (K, F) of the components that are found, the largest first, and the ascent."""
    if search.shares is None:
        ascent = _from_seeds(model, x, frequency, search)
    else:
        start = sums_of_shares(model, x, frequency, search.shares)
        ascent = _last(model, x, frequency, start, search)
    found = ascent.parameters
    return found[np.argsort(-found[:, 0], kind="stable")], ascent


def _from_seeds(
    model: LatentModel, x: Array, frequency: Array | None, search: LatentSearch
) -> EMResult:
    """Return the ascent from the best of some starts."""
    some = _distinct(x, frequency, search)
    part, times = some.rows, some.weight
    z = _equal_units(model, part, times)
    steps = 0 if search.n_init == 1 else min(_TRIAL, search.max_iter)
    trials: list[EMResult] = []
    while len(trials) < search.n_init and not (trials and trials[-1].interrupted):
        centers = seed_centers(z, search.n_components, times, search.rng)
        shares = nearest_of(z, centers) == np.arange(search.n_components)[:, None]
        start = sums_of_shares(model, part, times, shares)
        with _quiet():
            trials.append(
                ascend_features(model, search.weights, part, times, start, max_iter=steps)
            )
    best = max(trials, key=lambda trial: (_is_sound(model, some, search, trial), trial.trace[-1]))
    if search.split_merge and search.n_components > 1 and not trials[-1].interrupted:
        best = _climb_by_moves(model, some, z, best, search)
    total = float(len(x)) if frequency is None else float(frequency.sum())
    start = best.parameters * (total / times.sum())
    if trials[-1].interrupted or best.interrupted:
        with _quiet():
            found = _last(model, x, frequency, start, search._replace(max_iter=0))
    else:
        found = _last(model, x, frequency, start, search)
    drawn = len(part) == seed_rows(search.n_components, x.shape[1])
    if drawn or best.n_iter == 0:  # steps on a sample are not those of all rows
        return found
    trace = (*best.trace[:-1], *found.trace)
    return found._replace(trace=trace, n_iter=best.n_iter + found.n_iter)


def _climb_by_moves(
    model: LatentModel, some: DistinctRows, z: Array, best: EMResult, search: LatentSearch
) -> EMResult:
    """Climb on from where a trial ended, and from each move that leads higher.

    Parameters
    ----------
    model : LatentModel
    some : DistinctRows
    z : (N, F)
        Their features in equal units.
    best : EMResult
    search : LatentSearch
    """
    x, times = some.rows, some.weight
    look = look_by_features(model, search.weights, x, times)

    def expected_sums(shares: Array) -> Array:
        return sums_of_shares(model, x, times, shares)

    def onwards(before: EMResult, start: Array) -> EMResult:
        with _quiet():
            found = _last(model, x, times, start, search)
        trace = (*before.trace, *found.trace[start is before.parameters :])
        return found._replace(trace=trace, n_iter=len(trace) - 1)  # a move is a step

    best = onwards(best, best.parameters)
    may_empty = search.weights.concentration is not None
    for _ in range(2 * search.n_components):
        if best.interrupted or not _is_sound(model, some, search, best):
            break
        shares = _share_rows(model, search.weights, best.parameters, x)
        rising = rising_moves(
            look, expected_sums, best.trace[-1], z, times, shares, may_empty=may_empty
        )
        ascents = (onwards(best, start) for start in rising)
        further = next((found for found in ascents if _is_sound(model, some, search, found)), None)
        if further is None:
            break
        best = further
    return best


def _is_sound(
    model: LatentModel, some: DistinctRows, search: LatentSearch, found: EMResult
) -> bool:
    """Tell whether no component has shrunk to a point: moves would lead there where likelihood has no bound."""
    if not model.shrinkable.columns:
        return True
    shares = _share_rows(model, search.weights, found.parameters, some.rows)
    return are_sound(some.rows, shares * some.weight, model.shrinkable)


def _share_rows(model: LatentModel, weights: WeightLaw, sums: Array, x: Array) -> Array:
    """Return the responsibilities (K, N) of rows."""
    theta, _ = linear_scores(model, weights, sums)
    shares = np.empty((len(theta), len(x)))
    for rows in read_blocks_of_rows(len(x), model.size):
        shares[:, rows] = responsibilities(theta @ model.of(x[rows]))[0]
    return shares


def _last(
    model: LatentModel, x: Array, frequency: Array | None, start: Array, search: LatentSearch
) -> EMResult:
    return ascend_features(
        model, search.weights, x, frequency, start, max_iter=search.max_iter, **search.options
    )


def fit_from_best_start(
    family: Any, x: Array, frequency: Array | None, search: LatentSearch
) -> EMResult:
    """Return the best ascent by fits of a family."""

    def climb(start: Any, **options: Any) -> EMResult:
        return climb_by_fits(family, x, frequency, start, **options)

    how = Search(search.n_init, _TRIAL_FITS, search.max_iter, search.options)
    if search.shares is not None:
        return best_of_starts(climb, iter([search.shares]), how._replace(n_init=1))
    starts = (_seeded_rows(x, frequency, search) for _ in range(search.n_init))
    return best_of_starts(climb, starts, how)


def _seeded_rows(x: Array, frequency: Array | None, search: LatentSearch) -> Array:
    """Return which of K seeds is nearest to each row (K, N), missing entries at the mean."""
    z = standardized(x, frequency)
    some = _distinct(z, frequency, search)
    centers = seed_centers(some.rows, search.n_components, some.weight, search.rng)
    return (nearest_of(z, centers) == np.arange(search.n_components)[:, None]) * 1.0


def _distinct(x: Array, frequency: Array | None, search: LatentSearch) -> DistinctRows:
    """Return distinct rows, of many a sample: it serves to find where to begin, and the last ascent sees all.

    What else is drawn does not depend on their number.
    """
    most = seed_rows(search.n_components, x.shape[1])
    return distinct_rows(x, frequency, most, search.rng.spawn(1)[0])


def _equal_units(model: LatentModel, x: Array, times: Array) -> Array:
    """Return the features of rows that vary, in units of their spread, (N, F)."""
    total, blocks = times.sum(), [*read_blocks_of_rows(len(x), model.size)]
    mean = sum_of_features(model, x, times)[:, None] / total
    largest = np.zeros(model.size)
    for rows in blocks:
        largest = np.maximum(largest, np.abs(model.of(x[rows]) - mean).max(axis=1))
    unit = np.where(largest > 0, largest, 1.0)[:, None]  # squares of squares overflow otherwise
    squares = np.zeros(model.size)
    for rows in blocks:
        squares += ((model.of(x[rows]) - mean) / unit) ** 2 @ times[rows]
    spread = unit[:, 0] * np.sqrt(squares / total)
    varies = spread > 0
    z = np.empty((len(x), int(varies.sum())))
    for rows in blocks:
        z[rows] = ((model.of(x[rows]) - mean)[varies] / spread[varies, None]).T
    return z


@contextmanager
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some steps are enough
        yield
