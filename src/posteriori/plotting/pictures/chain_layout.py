"""Where ribbons, states and moves of a chain stand, whoever draws them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["Move", "StatePlaces", "percent", "place_moves", "place_states", "ribbon_edges"]

#: Of longer series neighbours are averaged.
_MOST_STEPS = 800

#: Moves of a smaller share of all that leave a state are not drawn: of a few states, and of more.
_LEAST, _LEAST_OF_MANY = 0.05, 0.18

#: Up to here states are a few; and so few that numbers stand beside arrows.
_FEW, _LABELLED = 3, 5

#: Radius of the circle of the states, and of the largest and the smallest state.
_LARGE, _SMALL = 0.36, 0.16


class StatePlaces(NamedTuple):
    """States as discs on a circle of radius 1.

    Attributes
    ----------
    centers : (K, 2)
    radii : (K,)
    beside : (K, 2)
        Where it is told how probably a state stays.
    away : (K, 2)
        The direction from the middle, in which that text goes on.
    """

    centers: Array
    radii: Array
    beside: Array
    away: Array


class Move(NamedTuple):
    """An arrow from state to state; its text stands at ``label``, unless states are many."""

    start: Array
    stop: Array
    probability: float
    label: Array | None


def ribbon_edges(probabilities: Array, places: Array | None = None) -> tuple[Array, Array]:
    """Return where steps are, (T,), and the edges of ribbons between 0 and 1, (T, K + 1).

    Of a long series neighbours are averaged; a single step has a width.
    """
    p, x = _thinned(probabilities, places)
    edges = np.concatenate([np.zeros((len(p), 1)), np.cumsum(p, axis=1)], axis=1)
    edges = np.minimum(edges, 1.0)
    if len(x) == 1:  # a single step has no width of its own
        return np.array([x[0] - 0.5, x[0] + 0.5]), np.repeat(edges, 2, axis=0)
    return x, edges


def place_states(count: int, shares: Array | None = None) -> StatePlaces:
    """Place so many states; their areas are their shares, where these are known."""
    angles = 0.5 * np.pi - 2.0 * np.pi * np.arange(count) / count
    centers = np.stack([np.cos(angles), np.sin(angles)], axis=1) * (count > 1)
    radii = np.full(count, min(_LARGE, 1.1 / count + 0.1))
    if shares is not None:
        radii = np.clip(_LARGE * np.sqrt(shares / max(float(shares.max()), 1e-300)), _SMALL, None)
        radii = np.minimum(radii, 2.2 / max(count, 4))
    away = centers if count > 1 else np.array([[0.0, -1.0]])
    return StatePlaces(centers, radii, centers + away * (radii + 0.12)[:, None], away)


def place_moves(transition: Array, states: StatePlaces) -> list[Move]:
    """Return the moves that are not rare among those that leave a state."""
    few = len(transition) <= _FEW
    shown = np.argwhere(_moves(transition) >= (_LEAST if few else _LEAST_OF_MANY))
    return [_place_move(transition, states, int(j), int(i)) for j, i in shown]


def _place_move(transition: Array, states: StatePlaces, j: int, i: int) -> Move:
    """Place an arrow a little to the side, so that the way back has a place of its own."""
    along = states.centers[i] - states.centers[j]
    length = float(np.hypot(*along))
    unit = along / length
    side = np.array([unit[1], -unit[0]])
    start = states.centers[j] + states.radii[j] * (0.95 * unit + 0.3 * side)
    stop = states.centers[i] - (states.radii[i] + 0.03) * (0.95 * unit - 0.3 * side)
    early = 0.74 * start + 0.26 * stop + (0.06 * length + 0.09) * side  # apart from other ways
    label = early if len(transition) <= _LABELLED else None
    return Move(start, stop, float(transition[j, i]), label)


def _moves(transition: Array) -> Array:
    """Return the share of each move among those that leave a state."""
    moves = np.array(transition, dtype=np.float64)
    np.fill_diagonal(moves, 0.0)
    totals = moves.sum(axis=1, keepdims=True)
    return np.where(totals > 1e-12, moves / np.where(totals > 0, totals, 1.0), 0.0)


def percent(p: float) -> str:
    """Write a probability with the digits that matter."""
    if 0.0 < p < 0.001:
        return "<0.1%"
    return f"{p:.1%}" if p < 0.1 or 0.9 < p < 1.0 else f"{p:.0%}"


def _thinned(probabilities: Array, places: Array | None) -> tuple[Array, Array]:
    """Return no more than so many steps, averages of their neighbours, and where they are."""
    n = len(probabilities)
    x = np.arange(n, dtype=np.float64) if places is None else np.asarray(places, dtype=np.float64)
    if n <= _MOST_STEPS:
        return probabilities, x
    starts = np.unique(np.linspace(0, n, _MOST_STEPS + 1).astype(np.int64))[:-1]
    counts = np.diff(np.append(starts, n))
    p = np.add.reduceat(probabilities, starts, axis=0) / counts[:, None]
    middle = np.add.reduceat(x, starts) / counts
    middle[0], middle[-1] = x[0], x[-1]
    return p, middle
