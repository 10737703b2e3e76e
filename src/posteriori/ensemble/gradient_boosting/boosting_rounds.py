r"""One member of a boosted ensemble: trees are added one after another.

A leaf of the tree that is added moves the predictor f of its rows by

.. math:: \eta\,\frac{G}{F + \lambda},\qquad G = \sum_n \partial l_n/\partial f,\quad F = \sum_n F_n,

a step along the natural gradient. Where l is −½(y − f)² this is the mean residual y − f, and the tree is
one that is fitted to residuals.
"""

from __future__ import annotations

from collections.abc import Callable
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
from posteriori.numerics.compilation import kernel
from posteriori.numerics.threads import in_halves, run_beside
from posteriori.numerics.types import Array

__all__ = ["BoostedTrees", "BoostingTable", "Schedule", "boost"]

#: Rounds after which the shape of the noise is learned anew.
_SHAPE_EVERY = 16

#: Rows that are enough to learn it from.
_ENOUGH = 20_000

#: Of the least information of a leaf: rows that are all alike have it, however their sums are rounded.
_ALMOST = 1.0 - 2.0**-16


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
    weight : (N,) or (0,)
        Empty where all rows count once.
    """

    binned: BinnedRows
    x: Array
    y: Array
    weight: Array

    def weight_of(self, rows: Any) -> Array:
        """Return how often rows count."""
        return self.weight[rows] if len(self.weight) else np.ones(len(rows))


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
    judges : (n,)
        Rows that the member has not seen; all where it has seen all.
    predictors : (P, n)
        What it predicts for them.
    trace : tuple of float
        Log density of rows left out after each round.
    """

    start: Array
    trees: list[Trees]
    values: list[Array]
    judges: Any
    predictors: Array
    trace: tuple[float, ...]


def boost(
    table: BoostingTable,
    loss: Loss,
    schedule: Schedule,
    rows: Any,
    left_out: Any,
    rng: np.random.Generator,
    *,
    pool: ThreadPoolExecutor | None = None,
    goes_on: Callable[[], bool] = lambda: True,
) -> BoostedTrees:
    """Return a member that is learned from some rows, and ended by others.

    Parameters
    ----------
    table : BoostingTable
    loss : Loss
    schedule : Schedule
    rows, left_out : (n,) of int32
        Sorted. Where none are left out all rounds are run.
    rng : numpy.random.Generator
    pool : ThreadPoolExecutor, optional
    goes_on : callable
        Asked before each round; False ends the member.
    """
    member = _Member(table, loss, schedule, rows, left_out, rng, pool)
    while not member.is_done and goes_on():
        member.add_round()
    return member.result()


class _Member:
    """A member as it grows.

    Attributes
    ----------
    f : (P, N)
        Predictors of all rows.
    slope, information : (N,)
        Of the rows that the next tree is grown from.
    judges : (n,)
        Rows that teach the shape of the noise: those left out, or some where none are.
    """

    def __init__(
        self,
        table: BoostingTable,
        loss: Loss,
        schedule: Schedule,
        rows: Any,
        left_out: Any,
        rng: np.random.Generator,
        pool: ThreadPoolExecutor | None,
    ) -> None:
        self.table, self.loss, self.schedule = table, loss, schedule
        self.rows, self.left_out, self.rng, self.pool = rows, left_out, rng, pool
        size = len(table.y)
        self.start = loss.start(table.y[rows], table.weight_of(rows))
        self.f = np.repeat(self.start[:, None], size, axis=1)
        self.slope, self.information = np.zeros(size), np.zeros(size)
        self.trees, self.values, self.trace = list[Trees](), list[Array](), list[float]()
        self.judges = left_out if len(left_out) else rows[:_ENOUGH]
        self.y, self.weight = table.y[self.judges], table.weight_of(self.judges)
        self.shape = self._learn_shape()
        self.best, self.kept = 0, self.f[:, left_out]
        self.best_score = self._score(self.kept) if len(left_out) else -np.inf

    @property
    def rounds(self) -> int:
        """How many rounds there were."""
        return len(self.trees) // len(self.loss.slopes)

    @property
    def is_done(self) -> bool:
        """Whether no further round is needed."""
        waited = self.rounds - self.best if len(self.left_out) else 0
        return self.rounds >= self.schedule.rounds or waited >= self.schedule.patience

    def add_round(self) -> None:
        """Add a tree to each predictor, and look what rows left out say."""
        self.loss.begin_round(self.f)
        seen, unseen = self._subsample()
        grown = [self._add_tree(k, seen, unseen) for k in range(len(self.loss.slopes))]
        self.trees += [tree for tree, _ in grown]
        self.values += [value for _, value in grown]
        if self.rounds % _SHAPE_EVERY == 0:
            self.shape = self._learn_shape()
        if len(self.left_out):
            now = self.f[:, self.left_out]
            self.trace.append(self._score(now))
            if self.trace[-1] > self.best_score:
                self.best, self.best_score, self.kept = self.rounds, self.trace[-1], now

    def result(self) -> BoostedTrees:
        """Return the rounds up to the best."""
        alone = len(self.left_out) == 0
        count = (self.rounds if alone else self.best) * len(self.loss.slopes)
        judges, kept = (self.rows, self.f) if alone else (self.left_out, self.kept)
        trees, values = self.trees[:count], self.values[:count]
        return BoostedTrees(self.start, trees, values, judges, kept, tuple(self.trace))

    def _learn_shape(self) -> float:
        y, weight = self.y[:_ENOUGH], self.weight[:_ENOUGH]
        return self.loss.learn_shape(y, self.f[:, self.judges[:_ENOUGH]], weight)

    def _score(self, f: Array) -> float:
        return self.loss.score(self.y, f, self.weight, self.shape)

    def _subsample(self) -> tuple[Any, Any]:
        """Return the rows that trees are grown from, and all others that must be told of them."""
        if self.schedule.subsample >= 1.0:
            return self.rows, self.left_out
        chosen = self.rng.random(len(self.rows)) < self.schedule.subsample
        chosen[self.rng.integers(len(chosen))] = True  # never none
        return self.rows[chosen], np.concatenate([self.left_out, self.rows[~chosen]])

    def _add_tree(self, k: int, seen: Any, unseen: Any) -> tuple[Trees, Array]:
        table, slope, information = self.table, self.slope, self.information
        fill, f = self.loss.slopes[k], self.f[k]
        given = table.y, table.weight, self.f, k, self.shape, slope, information
        run_beside(fill, [(part, *given) for part in in_halves(seen, self.pool)], self.pool)
        one = self.loss.row_information(information, table.weight, seen)
        ridge, least = one * self.schedule.ridge, one * self.schedule.least * _ALMOST
        grown = self._grow(seen, ridge, least)
        value = np.zeros(len(grown.gain))
        leaves = np.flatnonzero(grown.trees.is_leaf)
        rest = slope, information, self.schedule.rate, ridge, self.loss.longest_step(k), value, f
        jobs = [
            (grown.rows, some, grown.start[some], grown.stop[some], *rest)
            for some in in_halves(leaves, self.pool)
        ]
        run_beside(_step_leaves, jobs, self.pool)
        if len(unseen):
            grown.trees.add_to_rows(value, table.x, unseen, f)
        return grown.trees, value

    def _grow(self, seen: Any, ridge: float, least: float) -> GrownTree:
        rules = make_rules(
            NEWTON,
            (ridge,),
            max_depth=self.schedule.max_depth,
            max_leaves=self.schedule.max_leaves,
            min_weight=least,
            max_features=self.schedule.max_features,
        )
        sums = loss_sums(self.slope, self.information, seen, self.pool)
        seed = int(self.rng.integers(1, 2**31 - 1))
        return grow_tree(
            self.table.binned, sums, rules, seen.copy(), n_sums=2, seed=seed, pool=self.pool
        )


@kernel(allocates=False)
def _step_leaves(
    rows: Any,
    leaves: Any,
    start: Any,
    stop: Any,
    slope: Any,
    information: Any,
    rate: float,
    ridge: float,
    longest: float,
    value: Any,
    f: Any,
) -> None:
    """Write the steps of the leaves from slopes that are not rounded, and move their rows."""
    for leaf in range(len(leaves)):
        g = h = 0.0
        for i in range(start[leaf], stop[leaf]):
            g += slope[rows[i]]
            h += information[rows[i]]
        step = g / (h + ridge) if h + ridge > 0.0 else 0.0  # G/(F + λ)
        step = rate * min(max(step, -longest), longest)
        value[leaves[leaf]] = step
        for i in range(start[leaf], stop[leaf]):
            f[rows[i]] += step
