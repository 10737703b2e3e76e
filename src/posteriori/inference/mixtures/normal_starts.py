"""Where mixtures of normals begin, and the best of several ascents with moves between them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.ascent.expectation_maximization import EMResult
from posteriori.inference.clusters.rough_clusters import nearest_of, rough_centers
from posteriori.inference.mixtures.component_moves import rising_moves
from posteriori.inference.mixtures.feature_pass import read_blocks_of_rows, responsibilities
from posteriori.inference.mixtures.mixture_rows import GappyRows, MixtureRows, full_precisions
from posteriori.inference.mixtures.normal_learning import (
    GIVEN_UP,
    NormalLearner,
    PointLearner,
    ascend_normals,
    look_from,
)
from posteriori.inference.mixtures.normal_scores import NormalScores, NormalStatistics
from posteriori.numerics.types import Array
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = [
    "NormalSearch",
    "best_ascent",
    "clustered_start",
    "column_start",
    "with_known_spread",
]

#: Of more rows than this a sample serves to find where to begin; the last ascent sees all.
_SAMPLE = 20_000

#: Steps of k-means from the seeds.
_ROUNDS = 20

#: Seedings of k-means in the units of the columns, of which the tightest clusters are a start.
_SEEDINGS = 5

#: Starts that are tried at most for one without a component on the floor.
_MOST_STARTS = 5

#: What a cluster has of its rows for itself where clusters begin wide.
_OWN = 0.2


class NormalSearch(NamedTuple):
    """How a mixture is looked for.

    Attributes
    ----------
    n_components, n_init : int
    split_merge, may_empty, named, hard : bool
        Whether components are merged and split; whether they may be left without rows; whether they have
        priors of their own; whether each row belongs to one alone.
    start : NormalStatistics or None
        Where to begin; None: at clusters of k-means.
    ascend : callable
        From learner, rows and a start, an ascent over sums of statistics.
    both_units : bool
        Whether clusters by the deviations of the columns are a start, too.
    """

    n_components: int
    n_init: int
    split_merge: bool
    may_empty: bool
    named: bool
    hard: bool
    start: NormalStatistics | None
    ascend: Callable[..., EMResult]
    both_units: bool = False


def best_ascent(
    learner: NormalLearner,
    rows: MixtureRows,
    search: NormalSearch,
    rng: np.random.Generator,
    is_sound: Callable[[NormalStatistics], bool],
) -> EMResult:
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
    n, part = rows.n_rows, rows
    if n > _SAMPLE and search.start is None:
        part = rows.take(np.sort(rng.choice(n, _SAMPLE, replace=False)))
    best: tuple[bool, EMResult] | None = None
    most = 1 if search.start is not None else max(search.n_init, _MOST_STARTS)
    for i in range(most):
        if i >= search.n_init and best is not None and best[0]:
            break
        start = search.start
        if start is None:
            wide = i >= search.n_init  # narrow clusters had shrunk to the floor
            start = clustered_start(part, search.n_components, rng, wide=wide)
        found = _climb(learner, part, start, search, is_sound, most > search.n_init)
        if i == 0 and search.both_units and search.start is None:
            found = _higher(found, learner, part, search, is_sound, rng)
        sound = is_sound(found.parameters)
        if best is None or (sound, found.trace[-1]) > (best[0], best[1].trace[-1]):
            best = (sound, found)
        if found.interrupted:
            break
    assert best is not None  # there is at least one start
    found = best[1]
    if found.message == GIVEN_UP:  # so did all others: the best of them goes on
        further = _quiet(learner, part, found.parameters, search, done=found.n_iter + 1)
        found = _joined(found, further)
    if part is not rows:
        grown = NormalStatistics(*(s * (rows.total / part.total) for s in found.parameters))
        found = search.ascend(learner, rows, grown)
    elif not found.converged and not found.interrupted:
        warnings.warn(
            f"the ascent {found.message}; raise max_iter or tol", ConvergenceWarning, stacklevel=3
        )
    return found


def _higher(
    found: EMResult,
    learner: NormalLearner,
    rows: MixtureRows,
    search: NormalSearch,
    is_sound: Callable[[NormalStatistics], bool],
    rng: np.random.Generator,
) -> EMResult:
    """Return the ascent from clusters by the deviations of the columns, where it ends higher.

    In units in which rows have covariance I groups that lie far apart are as near as any others, and k-means may
    divide what belongs together, as it does iris.
    """
    if found.interrupted:
        return found
    start = column_start(rows, search.n_components, rng)
    other = _climb(learner, rows, start, search, is_sound, True)
    ends = [(is_sound(one.parameters), one.trace[-1]) for one in (found, other)]
    return other if ends[1] > ends[0] else found


def _climb(
    learner: NormalLearner,
    rows: MixtureRows,
    start: NormalStatistics,
    search: NormalSearch,
    is_sound: Callable[[NormalStatistics], bool],
    may_give_up: bool,
) -> EMResult:
    """Climb from a start, and on from each move that leads higher.

    Where other starts may be tried, it is given up once a component has shrunk to the floor: there the
    likelihood rises without end, and most slowly with gaps.
    """
    limit = {"hopeless": lambda statistics: not is_sound(statistics)} if may_give_up else {}
    found = _quiet(learner, rows, start, search, **limit)
    if not search.split_merge or search.n_components == 1:
        return found
    for _ in range(2 * search.n_components):
        further = _moved(learner, rows, found, search, is_sound)
        if further is None:
            break
        found = _joined(found, further)  # a move is a step
    return found


def _joined(found: EMResult, further: EMResult) -> EMResult:
    trace = (*found.trace, *further.trace)
    return further._replace(trace=trace, n_iter=len(trace) - 1)


def _moved(
    learner: NormalLearner,
    rows: MixtureRows,
    found: EMResult,
    search: NormalSearch,
    is_sound: Callable[[NormalStatistics], bool],
) -> EMResult | None:
    """Return the ascent from the first move that leads higher, from what is sound to what is sound.

    On the floor the likelihood rewards spikes, and so would moves.
    """
    if found.interrupted or not is_sound(found.parameters):
        return None
    shares = _share_rows(rows, learner.scores(found.parameters)[0])
    rising = rising_moves(
        look_from(learner, rows, search.hard),
        rows.expected_sums,
        found.trace[-1],
        rows.filled(),
        rows.frequency,
        shares,
        may_empty=search.may_empty,
        named=search.named,
    )
    ascents = (_quiet(learner, rows, start, search) for start in rising)
    return next((further for further in ascents if is_sound(further.parameters)), None)


def _share_rows(rows: MixtureRows, scores: NormalScores) -> Array:
    """Return the responsibilities (K, N) of rows, gaps taken as lying at the centre of the data."""
    precisions = full_precisions(scores, rows.kind)
    shares = np.empty((len(scores.means), rows.n_rows))
    for here in read_blocks_of_rows(rows.n_rows, scores.means.size):
        shift = np.nan_to_num(rows.read(here)) - scores.means[:, None]
        squares = np.einsum("kni,kni->kn", shift @ precisions, shift)
        shares[:, here] = responsibilities(scores.log_norm[:, None] - 0.5 * squares)[0]
    return shares


def _quiet(
    learner: NormalLearner,
    rows: MixtureRows,
    start: NormalStatistics,
    search: NormalSearch,
    **limit: Any,
) -> EMResult:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # said once, at the end
        return search.ascend(learner, rows, start, **limit)


def clustered_start(
    rows: MixtureRows,
    k: int,
    rng: np.random.Generator,
    *,
    wide: bool = False,
) -> NormalStatistics:
    """Return the sums of k clusters: k-means from k-means++ seeds, gaps at the centre of the data.

    Wide ones have their centres at seeds, and share most of each row evenly.
    """
    z = rows.filled()
    centers = rough_centers(z, k, rows.frequency, rng, steps=0 if wide else _ROUNDS)
    shares: Array = (nearest_of(z, centers) == np.arange(k)[:, None]) * 1.0
    own = _OWN if wide else 1.0
    return rows.expected_sums(own * shares + (1.0 - own) / k)


def column_start(rows: MixtureRows, k: int, rng: np.random.Generator) -> NormalStatistics:
    """Return the sums of k clusters by the deviations of the columns, the tightest of a few."""
    root = rows.units.root
    z = rows.filled() @ (root / np.linalg.norm(root, axis=1, keepdims=True)).T
    best, least = np.zeros(len(z), dtype=np.int64), np.inf
    for _ in range(_SEEDINGS):
        centers = rough_centers(z, k, rows.frequency, rng, steps=_ROUNDS)
        labels = nearest_of(z, centers)
        loss = float(np.average(((z - centers[labels]) ** 2).sum(axis=1), weights=rows.frequency))
        if loss < least:
            best, least = labels, loss
    shares: Array = (best == np.arange(k)[:, None]) * 1.0
    return rows.expected_sums(shares)


def with_known_spread(rows: GappyRows) -> GappyRows:
    """Return rows with gaps that know their covariance under one normal, by EM."""
    d = rows.z.shape[1]
    full = rows._replace(kind="full")
    learner = PointLearner("full", np.eye(d), None, {})
    start = full.expected_sums(np.ones((1, len(rows.z))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some digits are enough
        found = ascend_normals(learner, full, start, tol=1e-3, max_iter=100)
    return rows._replace(spread=learner.parts(found.parameters).covs[0])
