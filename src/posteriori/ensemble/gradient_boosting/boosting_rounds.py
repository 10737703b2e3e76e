r"""One member of a boosted ensemble: trees are added one after another.

A leaf of the tree that is added moves the predictor f of its rows by

.. math:: \eta\,\frac{G}{F + \lambda},\qquad G = \sum_n \partial l_n/\partial f,\quad F = \sum_n F_n,

a step along the natural gradient. Where l is −½(y − f)² this is the mean residual y − f, and the tree is
one that is fitted to residuals.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from posteriori.ensemble.gradient_boosting.losses import Loss
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.growing import (
    BinnedRows,
    GrownTree,
    grow_tree,
    loss_sums,
    make_rules,
)
from posteriori.inference.trees.scores import NEWTON
from posteriori.numerics.compilation import compiled_beside
from posteriori.numerics.types import Array

__all__ = ["BoostedTrees", "BoostingTable", "Schedule", "boost"]

#: Rounds after which the shape of the noise is learned anew.
_SHAPE_EVERY = 16

#: Rows that are enough to learn it from.
_ENOUGH = 20_000


class Schedule(NamedTuple):
    """How trees are added.

    Attributes
    ----------
    rounds : int
        At most.
    rate : float
        η.
    max_leaves, max_depth : int or None
    subsample : float
        Share of the rows that a tree is grown from.
    max_features : int
    ridge : float
        λ, in rows.
    least : float
        Information that a leaf must have, in rows.
    patience : int
        Rounds without a better log density of rows left out, after which a member ends.
    """

    rounds: int
    rate: float
    max_leaves: int | None
    max_depth: int | None
    subsample: float
    max_features: int
    ridge: float
    least: float
    patience: int


class BoostingTable(NamedTuple):
    """The rows that all members share.

    Attributes
    ----------
    binned : BinnedRows
    x : (N, D)
    y : (N,)
    weight : (N,)
    """

    binned: BinnedRows
    x: Array
    y: Array
    weight: Array


class BoostedTrees(NamedTuple):
    """A member.

    Attributes
    ----------
    start : (P,)
        Predictors before the first tree.
    trees : list of Trees
        In rounds of one for each predictor.
    values : list of (M,)
        What a leaf adds.
    shape : float
        Of the noise, as the last trees took it.
    left_out : (n,)
        Rows that the member has not seen.
    predictors : (P, n)
        What it predicts for them.
    trace : tuple of float
        Log density of these after each round.
    """

    start: Array
    trees: list[Trees]
    values: list[Array]
    shape: float
    left_out: Any
    predictors: Array
    trace: tuple[float, ...]


class _Work(NamedTuple):
    """What a member works on: predictors (P, N), slopes, information (N,)."""

    f: Array
    slope: Array
    information: Array
    rows: Any
    left_out: Any


def boost(
    table: BoostingTable,
    loss: Loss,
    schedule: Schedule,
    rows: Any,
    left_out: Any,
    seed: int,
    *,
    pool: ThreadPoolExecutor | None = None,
    stopped: threading.Event | None = None,
    tell: Any = lambda: None,
) -> BoostedTrees:
    """Return a member that is learned from some rows, and ended by others.

    Parameters
    ----------
    table : BoostingTable
    loss : Loss
    schedule : Schedule
    rows, left_out : (n,) of int32
        Sorted. Where none are left out all rounds are run.
    seed : int
    pool : ThreadPoolExecutor, optional
    stopped : threading.Event, optional
        Set when no further round shall begin.
    tell : callable
        Called after each round.
    """
    size, rng = len(table.y), np.random.default_rng(seed)
    start = loss.start(table.y[rows], table.weight[rows])
    f = np.repeat(start[:, None], size, axis=1)
    work = _Work(f, np.zeros(size), np.zeros(size), rows, left_out)
    judges = left_out if len(left_out) else rows
    y, weight = table.y[judges], table.weight[judges]
    shape = loss.learn_shape(y[:_ENOUGH], f[:, judges[:_ENOUGH]], weight[:_ENOUGH])
    trees, values, trace = list[Trees](), list[Array](), list[float]()
    best, kept = -np.inf, f[:, left_out]
    if len(left_out):
        best = loss.score(y, kept, weight, shape)
    best_round = 0
    for t in range(schedule.rounds):
        if stopped is not None and stopped.is_set():
            break
        _add_round(table, loss, schedule, work, shape, rng, pool, trees, values)
        tell()
        if t % _SHAPE_EVERY == _SHAPE_EVERY - 1:
            shape = loss.learn_shape(y[:_ENOUGH], f[:, judges[:_ENOUGH]], weight[:_ENOUGH])
        if len(left_out) == 0:
            best_round = t + 1
            continue
        now = f[:, left_out]
        trace.append(loss.score(y, now, weight, shape))
        if trace[-1] > best:
            best, kept, best_round = trace[-1], now, t + 1
        if t + 1 - best_round >= schedule.patience:
            break
    count = best_round * len(loss.slopes)
    if not len(left_out):
        kept = f[:, rows]
    return BoostedTrees(start, trees[:count], values[:count], shape, judges, kept, tuple(trace))


def _add_round(
    table: BoostingTable,
    loss: Loss,
    schedule: Schedule,
    work: _Work,
    shape: float,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor | None,
    trees: list[Trees],
    values: list[Array],
) -> None:
    loss.begin_round(work.f)
    seen, unseen = _subsample(work, schedule.subsample, rng)
    for k, fill in enumerate(loss.slopes):
        fill(seen, table.y, table.weight, work.f, k, shape, work.slope, work.information)
        unit = loss.unit(k, work.information[seen])
        grown = _grow(table, schedule, work, seen.copy(), unit, rng, pool)
        value = np.zeros(len(grown.gain))
        _step_leaves(
            grown.rows,
            grown.start,
            grown.stop,
            grown.trees.column,
            work.slope,
            work.information,
            schedule.ridge * unit,
            schedule.rate,
            loss.longest(k),
            value,
            work.f[k],
        )
        if len(unseen):
            grown.trees.add_to_rows(value, table.x, unseen, work.f[k])
        trees.append(grown.trees)
        values.append(value)


def _subsample(work: _Work, share: float, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return the rows that a tree is grown from, and all others that must be told of it."""
    if share >= 1.0:
        return work.rows, work.left_out
    chosen = rng.random(len(work.rows)) < share
    chosen[rng.integers(len(chosen))] = True
    return work.rows[chosen], np.concatenate([work.left_out, work.rows[~chosen]])


def _grow(
    table: BoostingTable,
    schedule: Schedule,
    work: _Work,
    rows: Any,
    unit: float,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor | None,
) -> GrownTree:
    rules = make_rules(
        NEWTON,
        (schedule.ridge * unit,),
        max_depth=schedule.max_depth,
        max_leaves=schedule.max_leaves,
        min_weight=schedule.least * unit,
        max_features=schedule.max_features,
    )
    sums = loss_sums(work.slope, work.information, rows)
    seed = int(rng.integers(1, 2**31 - 1))
    return grow_tree(table.binned, sums, rules, rows, n_sums=2, seed=seed, pool=pool)


@compiled_beside
def _step_leaves(
    rows: Any,
    start: Any,
    stop: Any,
    column: Any,
    slope: Any,
    information: Any,
    ridge: float,
    rate: float,
    longest: float,
    value: Any,
    f: Any,
) -> None:
    """Write the steps of the leaves from slopes that are not rounded, and move their rows."""
    for leaf in range(len(column)):
        if column[leaf] >= 0:
            continue
        g = h = 0.0
        for i in range(start[leaf], stop[leaf]):
            g += slope[rows[i]]
            h += information[rows[i]]
        step = g / (h + ridge) if h + ridge > 0.0 else 0.0  # G/(F + λ)
        value[leaf] = rate * min(max(step, -longest), longest)
        for i in range(start[leaf], stop[leaf]):
            f[rows[i]] += value[leaf]
