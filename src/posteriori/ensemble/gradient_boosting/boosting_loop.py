r"""The rounds of one member as one compiled loop.

A leaf of the tree that is added moves the predictor f of its rows by

.. math:: \eta\,\frac{G}{F + \lambda},\qquad G = \sum_n \partial l_n/\partial f,\quad F = \sum_n F_n,

a step along the natural gradient. Where l is −½(y − f)² this is the mean residual y − f, and the tree is
one that is fitted to residuals.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from posteriori.ensemble.gradient_boosting.left_out_noise import count_score, student_score
from posteriori.ensemble.gradient_boosting.loss_slopes import (
    COUNTS,
    LOGISTIC,
    SOFTMAX,
    STUDENT,
    fill_slopes,
    sum_classes,
)
from posteriori.inference.trees.flat_trees import leaf_of
from posteriori.inference.trees.grower.growth import grow_packed
from posteriori.inference.trees.grower.nodes import (
    LEFT,
    NODES,
    PRIME,
    START,
    STOP,
    Rules,
    Table,
    Tree,
    draw_number,
    write_tree,
)
from posteriori.inference.trees.grower.whole_sums import pack_loss
from posteriori.inference.trees.scores import NEWTON
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array, IntArray

__all__ = [
    "BEST",
    "LONGEST",
    "MARKS",
    "NOISE",
    "PREDICTOR",
    "RIDGE",
    "ROUNDS",
    "SEEN",
    "SHAPE",
    "SLOPES",
    "SUMS",
    "TREES",
    "Judges",
    "Learning",
    "Plan",
    "Room",
    "add_rounds",
    "step_leaves",
]

# Phases of a round; all but the first two may be handed back: threads divide slopes, sums and steps.
DONE, DRAWING, SLOPES, SUMS, STEPS, SHAPE = range(6)

# Places in the state: phase, rounds so far, the best of them, the predictor whose tree is grown, how many
# rows it is grown from and how many others are told; trees and marks of levels that this call has written.
PHASE, ROUNDS, BEST, PREDICTOR, SEEN, OTHERS, TREES, MARKS = range(8)

# Places in the numbers: units of slopes and of curvatures, λ, the least information of a leaf and its
# longest step before the learning rate, the best score, the shape of the noise.
SLOPE_UNIT, CURVATURE_UNIT, RIDGE, LEAST, LONGEST, SCORE, NOISE = range(7)

#: Rounds after which the shape of the noise is learned anew.
_SHAPE_EVERY = 16

#: Of the least information of a leaf: rows that are all alike have it, however their sums are rounded.
_ALMOST = 1.0 - 2.0**-16


class Plan(NamedTuple):
    """How trees are added: numbers of a :class:`Schedule`, and when to hand back.

    Attributes
    ----------
    loss, predictors : int
    rounds, patience : int
    rate, share : float
        η, and the share of the rows that a tree is grown from.
    max_leaves, max_depth, max_features : int
    ridge, least : float
    most : int
        Rows from which on work is handed back to be divided among threads.
    """

    loss: int
    predictors: int
    rounds: int
    patience: int
    rate: float
    share: float
    max_leaves: int
    max_depth: int
    max_features: int
    ridge: float
    least: float
    most: int


class Learning(NamedTuple):
    """Rows, and what is known of them.

    Attributes
    ----------
    x : (N, D)
    y : (N,)
    weight : (N,) or (0,)
    f : (P, N)
        Predictors.
    slope, information, packed : (N,)
        Of the rows that the next tree is grown from.
    rows, left_out : (n,)
        Those that are learned from, and the others.
    drawn, others : (n,)
        Those that the next trees are grown from, and all others that must be told of them.
    """

    x: Array
    y: Array
    weight: Array
    f: Array
    slope: Array
    information: Array
    packed: IntArray
    rows: Any
    left_out: Any
    drawn: Any
    others: Any


class Room(NamedTuple):
    """Room for a tree as it grows: see :class:`Tree`, and :func:`grow_packed`.

    Attributes
    ----------
    nodes, gain, rows, other, columns, state
    slots : (C, cells)
    places, values, goes_left : (B,)
    prior : (1,)
    """

    nodes: IntArray
    gain: Array
    rows: Any
    other: Any
    columns: IntArray
    state: IntArray
    slots: IntArray
    places: IntArray
    values: IntArray
    goes_left: Any
    prior: Array


class Judges(NamedTuple):
    """Rows left out.

    Attributes
    ----------
    y, weight : (n,)
    now, kept : (P, n)
        Predictors after this round, and after the best.
    room : (n,)
    """

    y: Array
    weight: Array
    now: Array
    kept: Array
    room: Array


@kernel(allocates=False)
def add_rounds(
    plan: Plan,
    table: Table,
    learning: Learning,
    room: Room,
    judges: Judges,
    trees: Any,
    steps: Any,
    state: Any,
    numbers: Any,
    helped: bool,
) -> int:
    """Add rounds until there is no room for more trees, or none is needed: DONE.

    A phase that is handed back is to be done by the caller, who says so by ``helped``.

    Parameters
    ----------
    plan, table, learning, room, judges
    trees : tuple of arrays
        Those of :class:`Trees`, to write to.
    steps : (M,)
        What leaves add.
    state, numbers
        By the places above; a member begins with −1 rounds in the phase SHAPE.
    helped : bool
    """
    while True:
        phase, seen, k = state[PHASE], state[SEEN], state[PREDICTOR]
        if phase == DRAWING:
            full = state[TREES] + plan.predictors >= len(trees[8])
            if full or _is_done(plan, len(learning.left_out), state):
                return DONE
            _begin_round(plan, learning, room.state, state)
        elif phase == SHAPE:
            if (state[ROUNDS] + 1) % _SHAPE_EVERY == 0 and not helped:
                return SHAPE
            state[ROUNDS] += 1
            _judge(plan.loss, learning.f, learning.left_out, judges, state, numbers)
            state[PHASE] = DRAWING
        elif phase != SUMS and seen > plan.most and not helped:
            return phase
        elif phase == SLOPES:
            if not helped:
                _fill(plan.loss, learning, seen, k, numbers[NOISE])
            _begin_tree(plan, learning, seen, k, room, numbers)
            state[PHASE] = SUMS
        elif phase == SUMS:
            if _grow(plan, table, learning.packed, room, trees, seen, state, numbers, helped):
                return SUMS
            state[PHASE] = STEPS
        else:
            if not helped:
                _step(plan.rate, learning, room, trees, steps, state, numbers)
            _tell_others(learning, state, k, trees, steps)
            state[TREES] += 1
            state[PREDICTOR] += 1
            state[PHASE] = SLOPES if k + 1 < plan.predictors else SHAPE
        helped = False


@kernel(called="kernels")
def _step(
    rate: float,
    learning: Learning,
    room: Room,
    trees: Any,
    steps: Any,
    state: Any,
    numbers: Any,
) -> None:
    """Step in all leaves of the tree that has grown."""
    root, count = trees[8][state[TREES]], room.state[NODES]
    step_leaves(
        room.nodes[:count],
        room.rows,
        learning.slope,
        learning.information,
        rate,
        numbers[RIDGE],
        numbers[LONGEST],
        steps[root : root + count],
        learning.f[state[PREDICTOR]],
    )


@kernel(called="kernels")
def _is_done(plan: Plan, left_out: int, state: Any) -> bool:
    waited = state[ROUNDS] - state[BEST] if left_out else 0
    return state[ROUNDS] >= plan.rounds or waited >= plan.patience


@kernel(called="kernels")
def _begin_round(plan: Plan, learning: Learning, random: Any, state: Any) -> None:
    """Draw the rows that trees are grown from, one at least, and list all others."""
    rows, left_out, drawn, others = (
        learning.rows,
        learning.left_out,
        learning.drawn,
        learning.others,
    )
    if plan.loss == SOFTMAX:
        sum_classes(learning.f)
    seen, told = 0, len(left_out)
    for i in range(told):
        others[i] = left_out[i]
    sure = draw_number(random) % len(rows) if plan.share < 1.0 else 0
    for i in range(len(rows)):
        if plan.share >= 1.0 or draw_number(random) < plan.share * PRIME or i == sure:
            drawn[seen] = rows[i]
            seen += 1
        else:
            others[told] = rows[i]
            told += 1
    state[SEEN], state[OTHERS], state[PREDICTOR], state[PHASE] = seen, told, 0, SLOPES


@kernel(called="kernels")
def _fill(loss: int, learning: Learning, seen: int, k: int, shape: float) -> None:
    """Fill in slopes and information of the rows that are drawn."""
    fill_slopes(
        learning.drawn[:seen],
        learning.y,
        learning.weight,
        learning.f,
        k,
        shape,
        learning.slope,
        learning.information,
        loss,
    )


@kernel(called="kernels")
def _begin_tree(
    plan: Plan, learning: Learning, seen: int, k: int, room: Room, numbers: Any
) -> None:
    """Turn slopes into whole numbers; λ and the least leaf are rows, where predictors have a unit.

    Slopes of logarithms change fast, so their steps are bounded.
    """
    slope, information, drawn = learning.slope, learning.information, learning.drawn
    pack_loss(slope, information, drawn[:seen], learning.packed, numbers)
    one = 1.0
    if plan.loss == STUDENT:
        total = curved = 0.0
        for i in range(seen):
            curved += information[drawn[i]]
            total += learning.weight[drawn[i]] if len(learning.weight) else 1.0
        one = curved / total
    room.state[NODES], room.prior[0] = 0, one * plan.ridge
    numbers[RIDGE], numbers[LEAST] = room.prior[0], one * plan.least * _ALMOST
    numbers[LONGEST] = math.inf if plan.loss == STUDENT and k == 0 else 1.0
    for i in range(seen):
        room.rows[i] = drawn[i]


@kernel(called="kernels")
def _grow(
    plan: Plan,
    table: Table,
    packed: Any,
    room: Room,
    trees: Any,
    seen: int,
    state: Any,
    numbers: Any,
    added: bool,
) -> bool:
    """Grow a tree and write it; tell whether a sum is handed back before that."""
    rules = Rules(
        NEWTON,
        room.prior,
        plan.max_depth,
        plan.max_leaves,
        numbers[LEAST],
        0.0,
        plan.max_features,
    )
    tree = Tree(room.nodes, room.gain, room.rows[:seen], room.other, room.columns, room.state)
    units = numbers[SLOPE_UNIT], numbers[CURVATURE_UNIT]
    spots = room.places, room.values, room.goes_left
    if grow_packed(table, tree, packed, room.slots, *units, rules, *spots, plan.most, added):
        return True
    state[MARKS] = write_tree(table, tree, state[TREES], state[MARKS], trees)
    return False


@kernel(allocates=False)
def step_leaves(
    nodes: Any,
    rows: Any,
    slope: Any,
    information: Any,
    rate: float,
    ridge: float,
    longest: float,
    steps: Any,
    f: Any,
) -> None:
    """Write the steps of the leaves from slopes that are not rounded, and move their rows."""
    for node in range(len(nodes)):
        steps[node] = g = h = 0.0
        if nodes[node, LEFT] >= 0:
            continue
        for i in range(nodes[node, START], nodes[node, STOP]):
            g += slope[rows[i]]
            h += information[rows[i]]
        step = g / (h + ridge) if h + ridge > 0.0 else 0.0  # G/(F + λ)
        steps[node] = rate * min(max(step, -longest), longest)
        for i in range(nodes[node, START], nodes[node, STOP]):
            f[rows[i]] += steps[node]


@kernel(called="kernels")
def _tell_others(learning: Learning, state: Any, k: int, trees: Any, steps: Any) -> None:
    x, f, others = learning.x, learning.f, learning.others
    for i in range(state[OTHERS]):
        f[k, others[i]] += steps[leaf_of(trees, state[TREES], x, others[i])]


@kernel(called="kernels")
def _judge(loss: int, f: Any, left_out: Any, judges: Judges, state: Any, numbers: Any) -> None:
    """Ask rows left out; keep what is predicted for them if it was never better."""
    now = judges.now
    for p in range(len(f)):
        for i in range(len(left_out)):
            now[p, i] = f[p, left_out[i]]
    score = _score(loss, judges, numbers[NOISE]) if len(left_out) else -math.inf
    if score > numbers[SCORE]:
        numbers[SCORE], state[BEST] = score, state[ROUNDS]
        for p in range(len(f)):
            for i in range(len(left_out)):
                judges.kept[p, i] = now[p, i]


@kernel(called="kernels")
def _score(loss: int, judges: Judges, shape: float) -> float:
    """Return the log density of rows left out; of numbers with the common width that suits them best."""
    y, weight, f, room, score = judges.y, judges.weight, judges.now, judges.room, 0.0
    if loss == SOFTMAX:
        sum_classes(f)
    for i in range(len(y)):
        if loss == STUDENT:
            z = (y[i] - f[0, i]) * math.exp(-f[1, i])
            room[i] = z * z
            score -= weight[i] * f[1, i]
        elif loss == COUNTS:
            room[i] = math.exp(f[0, i])
        elif loss == LOGISTIC:
            against = -f[0, i] if y[i] > 0.0 else f[0, i]
            score -= weight[i] * (max(against, 0.0) + math.log1p(math.exp(-abs(against))))
        else:
            score += weight[i] * (f[int(y[i]), i] - f[len(f) - 1, i])
    if loss == STUDENT:
        return score + student_score(room, weight, shape)
    return score + count_score(y, room, weight, shape) if loss == COUNTS else score
