"""One member of a boosted ensemble: what its compiled rounds need, and the trees that they leave."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from posteriori.ensemble.gradient_boosting import boosting_loop as loop
from posteriori.ensemble.gradient_boosting.boosting_loop import Judges, Learning, Plan, Room
from posteriori.ensemble.gradient_boosting.loss_slopes import fill_slopes
from posteriori.ensemble.gradient_boosting.losses import Loss
from posteriori.inference.trees.flat_trees import Trees
from posteriori.inference.trees.grower.many_trees import new_trees, written_trees
from posteriori.inference.trees.grower.nodes import NODES, Rules, Tree, largest_tree, new_tree
from posteriori.inference.trees.grower.profiles import empty_profile
from posteriori.inference.trees.growing import (
    MANY_ROWS,
    BinnedRows,
    add_beside,
    make_rules,
    new_slots,
)
from posteriori.inference.trees.scores import NEWTON
from posteriori.numerics.compilation import as_kernel_input
from posteriori.numerics.threads import in_halves, run_beside
from posteriori.numerics.types import Array

__all__ = ["BoostedTrees", "BoostingTable", "Schedule", "boost"]

#: Rows that are enough to learn the shape of the noise from.
_ENOUGH = 20_000

#: Rounds of one compiled call, at most, and entries that these may look at: a call lasts a moment.
_ROUNDS, _ENTRIES = 64, 20_000_000


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
        What leaves add.
    judges : (n,)
        Rows that the member has not seen; all where it has seen all.
    predictors : (P, n)
        What it predicts for them.
    """

    start: Array
    trees: list[Trees]
    values: list[Array]
    judges: Any
    predictors: Array

    @property
    def n_trees(self) -> int:
        """How many trees there are."""
        return sum(len(part.roots) for part in self.trees)


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
    tell: Callable[[int], None] = lambda rounds: None,
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
        Asked every few rounds; False ends the member.
    tell : callable
        Told how many rounds were added.
    """
    member = _Member(table, loss, schedule, rows, left_out, rng, pool)
    while goes_on():
        added = member.add_rounds()
        tell(added)
        if not added:
            break
    return member.result()


class _Member:
    """A member as it grows; see :mod:`boosting_loop`."""

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
        self.loss, self.pool, self.bins = loss, pool, table.binned.bins
        self.table, size = table.binned.table, len(table.y)
        self.start = loss.start(table.y[rows], table.weight_of(rows))
        self.plan = _plan_of(loss, schedule, size if pool is None else MANY_ROWS)
        self.learning = _learning_of(table, self.start, rows, left_out)
        self.judges = _judges_of(table, self.start, left_out)
        self.largest = largest_tree(_rules_of(schedule), len(rows), np.inf)
        tree = new_tree(rows.copy(), self.largest, len(self.bins.n_levels), _seed(rng))
        spots = empty_profile(int(self.bins.sizes.max()), 0)
        slots = new_slots(self.largest, self.table)
        self.room = Room(*tree, slots, spots.places, spots.keys, spots.goes_left, np.zeros(1))
        self.state = np.array([loop.SHAPE, -1, 0, 0, 0, 0, 0, 0], dtype=np.int64)
        self.numbers = np.array([1.0, 1.0, 0.0, 0.0, 1.0, -np.inf, 0.0])
        self.trees, self.values = list[Trees](), list[Array]()

    def add_rounds(self) -> int:
        """Add some rounds; return how many."""
        count = self.plan.predictors * self._rounds_at_once()
        marks = count * (self.largest // 2) * int(self.bins.n_levels.max(initial=0))
        trees = new_trees(count, count * self.largest, marks, self.bins)
        steps, helped = np.empty(count * self.largest), False
        self.state[[loop.TREES, loop.MARKS]] = 0
        shared = self.plan, self.table, self.learning, self.room, self.judges
        while asked := loop.add_rounds(*shared, trees, steps, self.state, self.numbers, helped):
            self._help(asked, trees, steps)
            helped = True
        added = int(self.state[loop.TREES])
        if added:
            self.trees.append(written_trees(trees, added))
            self.values.append(steps[: len(self.trees[-1].column)].copy())
        return added // self.plan.predictors

    def _rounds_at_once(self) -> int:
        entries = len(self.learning.rows) * len(self.bins.n_levels) * self.plan.predictors
        left = self.plan.rounds - max(int(self.state[loop.ROUNDS]), 0)
        return max(1, min(_ROUNDS, _ENTRIES // entries, left))

    def _help(self, asked: int, trees: Any, steps: Array) -> None:
        """Do what a compiled call hands back: the shape of the noise, or what threads divide."""
        learning, room, numbers = self.learning, self.room, self.numbers
        k = self.state[loop.PREDICTOR]
        if asked == loop.SHAPE:
            numbers[loop.NOISE] = self._learn_shape()
        elif asked == loop.SLOPES:
            given = *learning[1:4], k, numbers[loop.NOISE], *learning[4:6], self.plan.loss
            parts = in_halves(learning.drawn[: self.state[loop.SEEN]], self.pool)
            run_beside(fill_slopes, [(part, *given) for part in parts], self.pool)
        elif asked == loop.SUMS:
            add_beside(self.table, Tree(*room[:6]), room.slots, learning.packed, self.pool)
        else:
            root, count = trees[-1][self.state[loop.TREES]], room.state[NODES]
            given = room.rows, *learning[4:6], self.plan.rate, *numbers[[loop.RIDGE, loop.LONGEST]]
            jobs = [
                (room.nodes[some], *given, steps[root:][some], learning.f[k])
                for some in (slice(count // 2), slice(count // 2, count))
            ]
            run_beside(loop.step_leaves, jobs, self.pool)

    def _learn_shape(self) -> float:
        learning = self.learning
        judges = (learning.left_out if len(learning.left_out) else learning.rows)[:_ENOUGH]
        weight = learning.weight[judges] if len(learning.weight) else np.ones(len(judges))
        return self.loss.learn_shape(learning.y[judges], learning.f[:, judges], weight)

    def result(self) -> BoostedTrees:
        """Return the rounds up to the best."""
        learning, alone = self.learning, len(self.learning.left_out) == 0
        judges = (learning.rows, learning.f) if alone else (learning.left_out, self.judges.kept)
        left = self.plan.predictors * int(self.state[loop.ROUNDS if alone else loop.BEST])
        trees, values = list[Trees](), list[Array]()
        for part, value in zip(self.trees, self.values, strict=True):
            if left > 0:
                trees.append(part.first(left))
                values.append(value[: len(trees[-1].column)])
            left -= len(part.roots)
        return BoostedTrees(self.start, trees, values, *judges)


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 2**31 - 1))


def _rules_of(schedule: Schedule) -> Rules:
    return make_rules(NEWTON, max_depth=schedule.max_depth, max_leaves=schedule.max_leaves)


def _plan_of(loss: Loss, schedule: Schedule, most: int) -> Plan:
    rules = _rules_of(schedule)
    return Plan(
        loss.number,
        len(loss.slopes),
        schedule.rounds,
        schedule.patience,
        schedule.rate,
        schedule.subsample,
        rules.max_leaves,
        rules.max_depth,
        schedule.max_features,
        schedule.ridge,
        schedule.least,
        most,
    )


def _learning_of(table: BoostingTable, start: Array, rows: Any, left_out: Any) -> Learning:
    size = len(table.y)
    return Learning(
        table.x,
        table.y,
        table.weight,
        np.repeat(start[:, None], size, axis=1),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size, dtype=np.int64),
        rows,
        left_out,
        np.empty_like(rows),
        np.empty(size, dtype=np.int32),
    )


def _judges_of(table: BoostingTable, start: Array, left_out: Any) -> Judges:
    now, kept = (np.zeros((len(start), len(left_out))) for _ in range(2))
    seen = as_kernel_input(table.y[left_out]), as_kernel_input(table.weight_of(left_out))
    return Judges(*seen, now, kept, np.zeros(len(left_out)))
