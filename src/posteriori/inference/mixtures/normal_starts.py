"""Where mixtures of normals begin, and the best of several ascents with moves between them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.clusters.rough_clusters import nearest_of, rough_centers
from posteriori.inference.mixtures.mixture_rows import GappyRows, MixtureRows
from posteriori.inference.mixtures.normal_learning import (
    NormalLearner,
    PointLearner,
    ascend_normals,
    look_from,
)
from posteriori.inference.mixtures.normal_moves import raise_by_move
from posteriori.inference.mixtures.normal_scores import NormalStatistics
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Found", "NormalSearch", "best_ascent", "clustered_start", "with_known_spread"]

#: Of more rows than this a sample serves to find where to begin; the last ascent sees all.
_SAMPLE = 20_000

#: Steps of k-means from the seeds.
_ROUNDS = 20

#: Starts that are tried at most for one without a component on the floor.
_MOST_STARTS = 5


class NormalSearch(NamedTuple):
    """How a mixture is looked for.

    Attributes
    ----------
    n_components, n_init : int
    moves, may_empty, named, hard : bool
        Whether components are merged and split; whether they may be left without rows; whether they have
        priors of their own; whether each row belongs to one alone.
    start : NormalStatistics or None
        Where to begin; None: at clusters of k-means.
    options : dict
        Of the ascent.
    """

    n_components: int
    n_init: int
    moves: bool
    may_empty: bool
    named: bool
    hard: bool
    start: NormalStatistics | None
    options: dict[str, Any]


class Found(NamedTuple):
    """The best of some ascents: sums of statistics, the objective along the way, how it ended."""

    statistics: NormalStatistics
    trace: tuple[float, ...]
    n_iter: int
    converged: bool
    message: str


def best_ascent(
    learner: NormalLearner,
    rows: MixtureRows,
    search: NormalSearch,
    rng: np.random.Generator,
    is_sound: Callable[[NormalStatistics], bool],
) -> Found:
    """Return the highest end of several ascents, of sound ones if there are any.

    Parameters
    ----------
    learner : NormalLearner
    rows : MixtureRows
    search : NormalSearch
    rng : Generator
    is_sound : callable
        Tells whether no component has shrunk to the floor.
    """
    n = len(rows.x) if not isinstance(rows, GappyRows) else len(rows.z)
    part = rows
    if n > _SAMPLE and search.start is None:
        part = rows.take(np.sort(rng.choice(n, _SAMPLE, replace=False)))
    best: tuple[bool, Found] | None = None
    most = 1 if search.start is not None else max(search.n_init, _MOST_STARTS)
    for i in range(most):
        if i >= search.n_init and best is not None and best[0]:
            break
        start = search.start
        if start is None:
            start = clustered_start(part, search.n_components, rng)
        found = _climb(learner, part, start, search)
        sound = is_sound(found.statistics)
        if best is None or (sound, found.trace[-1]) > (best[0], best[1].trace[-1]):
            best = (sound, found)
        if found.message.startswith("interrupted"):
            break
    found = best[1]  # type: ignore[index]  # there is at least one start
    if part is not rows:
        grown = NormalStatistics(*(s * (rows.total / part.total) for s in found.statistics))
        found = _last(learner, rows, grown, search)
    elif not found.converged and not found.message.startswith("interrupted"):
        warnings.warn(
            f"the ascent {found.message}; raise max_iter or tol", ConvergenceWarning, stacklevel=3
        )
    return found


def _climb(
    learner: NormalLearner, rows: MixtureRows, start: NormalStatistics, search: NormalSearch
) -> Found:
    """Climb from a start, and on from each move that leads higher."""
    found = _quiet(learner, rows, start, search)
    look = look_from(learner, rows, search.hard)
    for _ in range(2 * search.n_components):
        if not search.moves or search.n_components == 1 or "interrupted" in found.message:
            break
        scores, _ = learner.scores(found.statistics)
        moved = raise_by_move(
            look,
            rows,
            scores,
            found.trace[-1],
            may_empty=search.may_empty,
            named=search.named,
        )
        if moved is None:
            break
        further = _quiet(learner, rows, moved, search)
        trace = (*found.trace, *further.trace)
        found = further._replace(trace=trace, n_iter=found.n_iter + further.n_iter)
    return found


def _quiet(
    learner: NormalLearner, rows: MixtureRows, start: NormalStatistics, search: NormalSearch
) -> Found:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said once, at the end
        return _last(learner, rows, start, search)


def _last(
    learner: NormalLearner, rows: MixtureRows, start: NormalStatistics, search: NormalSearch
) -> Found:
    found = ascend_normals(learner, rows, start, hard=search.hard, **search.options)
    return Found(*found)


def clustered_start(rows: MixtureRows, k: int, rng: np.random.Generator) -> NormalStatistics:
    """Return the sums of k clusters: k-means from k-means++ seeds, gaps at the centre of the data."""
    z = np.nan_to_num(rows.read(slice(None)))
    centers = rough_centers(z, k, rows.frequency, rng, steps=_ROUNDS)
    shares: Array = (nearest_of(z, centers) == np.arange(k)[:, None]) * 1.0
    return rows.share_out(shares)


def with_known_spread(rows: GappyRows) -> GappyRows:
    """Return rows with gaps that know their covariance under one normal, by EM."""
    d = rows.z.shape[1]
    full = rows._replace(kind="full")
    learner = PointLearner("full", np.eye(d), None, {})
    start = full.share_out(np.ones((1, len(rows.z))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some digits are enough
        found = ascend_normals(learner, full, start, tol=1e-3, max_iter=100)
    return rows._replace(spread=learner.parts(found.parameters).covs[0])
