"""Figures of segments: series over their states, moves between these, and how long they last."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.analysis.segments.regimes import Run
from posteriori.analysis.table.values import dates_of
from posteriori.drawing.charts.arrows import Arrows
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.marks import Band, Curve, Dots, Mark, Texts
from posteriori.drawing.charts.ticks import number_ticks, round_ticks, whole_ticks
from posteriori.drawing.measures import short_text, text_width
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import group_colors
from posteriori.plotting.pictures.chain_layout import (
    Move,
    StatePlaces,
    percent,
    place_moves,
    place_states,
    ribbon_edges,
)

__all__ = ["draw_moves", "draw_runs", "draw_series"]

#: Years within which the time of the day is told, a week.
_FEW_DAYS = 7.0 / 365.0

#: Steps of one figure; a longer series is thinned.
_MOST_POINTS = 1500

#: Pixels of the radius of the circle of states, and how far the figure reaches from its centre, in radii.
_RADIUS, _FAR = 74.0, (2.25, 1.55)

#: Height of texts beside states and arrows.
_SMALL_LETTERS = 9.0


def draw_series(
    column: str, values: Array, shares: Array, places: Array, axis: str, *, dates: bool
) -> str:
    """Draw one column of one series over the probabilities of its states.

    Parameters
    ----------
    column : str
    values : (T,)
    shares : (T, K)
    places : (T,)
        Times of the steps.
    axis : str
        What the times are called.
    dates : bool
        Whether times are decimal years.
    """
    step = max(1, len(values) // _MOST_POINTS)
    x, y = places[::step], values[::step]
    known = ~np.isnan(y)
    low, high = (float(y[known].min()), float(y[known].max())) if known.any() else (0.0, 1.0)
    room = 0.06 * (high - low) or 0.5
    ends = low - room, high + room
    alone = known & ~np.append(known[1:], False) & ~np.append(False, known[:-1])
    at, edges = ribbon_edges(shares[::step], x)
    return Chart(
        f"{column} over the states",
        [
            *_ribbons(at, ends[0] + (ends[1] - ends[0]) * edges),
            Curve(x, y, "ink", 1.0),
            Dots(x[alone], y[alone], "ink", 0.8),  # between two gaps
        ],
        Axis(
            short_text(axis, 44),
            float(at[0]),
            float(at[-1]),
            most=4 if dates else 7,
            ticks=_moments if dates else number_ticks,
        ),
        Axis(short_text(column, 26), *ends),
        (BROAD + 245.0, 158.0),
    ).svg()


def _ribbons(x: Array, edges: Array) -> list[Mark]:
    colors = group_colors(edges.shape[1] - 1)
    return [Band(x, edges[:, k], edges[:, k + 1], color, 0.35) for k, color in enumerate(colors)]


def _moments(low: float, high: float, most: int) -> tuple[Array, list[str]]:
    """Return round decimal years, written as days, with the time of the day where days are few."""
    years, hours = round_ticks(low, high, most), high - low < _FEW_DAYS
    moments = [str(moment) for moment in dates_of(years, whole_days=not hours)]
    return years, [text[:16].replace("T", " ") if hours else text[:10] for text in moments]


def draw_moves(transition: Array, shares: Array) -> str:
    """Draw states as discs, as large as their shares, and the moves between them."""
    states = place_states(len(shares), shares)
    (x, y), colors = states.centers.T, group_colors(len(shares))
    discs: list[Mark] = [
        Dots(x[k], y[k], color, _RADIUS * states.radii[k], 0.8) for k, color in enumerate(colors)
    ]
    numbers = Texts(x, y, [str(k + 1) for k in range(len(x))], 11.0, bold=True, color="white")
    marks = [*discs, numbers, _stays(states, np.diag(transition))]
    wide, high = _FAR
    return Chart(
        "States and the moves between them",
        marks + _arrows(place_moves(transition, states)),
        Axis(low=-wide, high=wide, places=()),
        Axis(low=-high, high=high, places=()),
        (2.0 * _RADIUS * wide + 10.0, 2.0 * _RADIUS * high + 10.0),
        bare=True,
    ).svg()


def _arrows(moves: Sequence[Move]) -> list[Mark]:
    """Return arrows, the wider the more probable, and their texts."""
    if not moves:
        return []
    widths = np.array([0.8 + 3.0 * min(1.0, move.probability) for move in moves])
    start, stop = (np.array([move[side] for move in moves]) for side in (0, 1))
    told = [move for move in moves if move.label is not None]
    x, y = np.array([move.label for move in told]).reshape(-1, 2).T
    texts = [percent(move.probability) for move in told]
    return [Arrows(start, stop, widths), Texts(x, y, texts, _SMALL_LETTERS, halo=True)]


def _stays(states: StatePlaces, stay: Array) -> Texts:
    """Write beside each disc how probably its state stays, outwards from there."""
    texts = [f"stays {percent(p)}" for p in stay]
    half = np.array([0.5 * text_width(text, _SMALL_LETTERS) / _RADIUS for text in texts])
    side = np.where(np.abs(states.away[:, 0]) > 0.3, np.sign(states.away[:, 0]), 0.0)
    return Texts(states.beside[:, 0] + half * side, states.beside[:, 1], texts, _SMALL_LETTERS)


def draw_runs(runs: Sequence[Run], transition: Array) -> str:
    """Draw how many runs last longer than so many steps, beside what the chain expects."""
    marks: list[Mark] = []
    for k, color in enumerate(group_colors(len(transition))):
        lengths = np.sort([run.length for run in runs if run.state == k and run.whole])
        if not len(lengths):
            continue
        left = 1.0 - np.arange(len(lengths)) / len(lengths)  # share of runs at least so long
        grid = np.arange(1, int(lengths[-1]) + 1)
        marks += [
            Dots(lengths, left, color, 2.0, label=f"state {k + 1}"),
            Curve(grid, transition[k, k] ** (grid - 1.0), color, 1.2),
        ]
    return Chart(
        "How long states last",
        marks,
        Axis("steps of a run", low=0.0, ticks=whole_ticks),
        Axis("share at least so long", 0.0, 1.05, grid=True),
    ).svg()
