"""The report of segments as one HTML page, with its figures: series over their states, moves, runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from posteriori.analysis.groups.cluster_figures import draw_numbers
from posteriori.analysis.report.figures import at_a_glance
from posteriori.analysis.report.time_figures import time_axis, time_places
from posteriori.analysis.segments.regimes import (
    chain_rows,
    regime_rows,
    state_rows,
    surprises_of,
    trait_table,
)
from posteriori.analysis.segments.segment_rows import place_words, step_places
from posteriori.analysis.table.values import dates_of
from posteriori.analysis.table.wording import counted, short_number
from posteriori.analysis.tasks.sections import (
    Beside,
    Figure,
    Finding,
    Grid,
    Part,
    Words,
)
from posteriori.drawing.charts.arrows import Arrows
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.marks import Band, Bars, Curve, Dots, Mark, Texts
from posteriori.drawing.charts.ticks import LETTERS, whole_ticks
from posteriori.drawing.measures import short_text, text_width
from posteriori.inference.state_chains.state_runs import Run, find_runs
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

if TYPE_CHECKING:
    from posteriori.analysis.segments.segmenting import Segmentation

__all__ = ["draw_first", "segment_findings", "segment_heading"]

#: Series and columns that are drawn, and surprising stretches that are listed.
_SERIES, _COLUMNS, _SURPRISES = 6, 4, 12
#: Steps of one figure; a longer series is thinned.
_MOST_POINTS = 1500

#: Stretches of states of one figure, how strongly they are coloured, and the strip of probabilities, as a part of the
#: height.
_STRETCHES, _FAINT, _STRIP = 240, 0.22, 0.1

#: Pixels of the radius of the circle of states, and how far the figure reaches from its centre, in radii.
_RADIUS, _FAR = 80.0, (1.9, 1.6)

_NUMBERS, _STATES = "How many states", "What the states are like"

_EVIDENCE = (
    "The evidence is the log probability of the table under a hidden chain with so many states, its "
    "parameters integrated out by draws; after ± stands the error of the estimate. All numbers and kinds "
    "were equally probable before; a number counts only if each of its states is that which some row is "
    "most probably in, so that one with a state to spare has none of the probability. The last fifth is the log density of the end of every series under a "
    "chain that has learned from what comes before it: higher is better. Columns are independent in each "
    "state, or related to one another; of each number the chain of higher evidence is shown."
)


def segment_heading(found: Segmentation, data: str) -> tuple[str, str]:
    """Name the data, and say how many rows of how many series were divided, and how."""
    arrangement = found.rows.arrangement
    return f"Segments of {data}", (
        f"States behind {counted(int((arrangement.rows >= 0).sum()), 'row')} in "
        f"{counted(len(arrangement.series), 'series', 'series')}, told by "
        f"{counted(len(found.rows.used), 'column')}; {counted(len(found.found.tried), 'hidden chain')} compared "
        "by evidence."
    )


def segment_findings(found: Segmentation) -> Iterator[Finding]:
    """Yield further series over their states, how many states there are, what they are like, and what surprises."""
    yield Finding("Further columns and series", partial(_series, found))
    yield Finding(_NUMBERS, lambda: [Grid(*state_rows(found.found))], "both")
    yield Finding(_NUMBERS, partial(_numbers, found))
    if len({one.kind for one in found.found.tried}) > 1:
        yield Finding("All chains", lambda: [Grid(*chain_rows(found.found))], "details")
    if found.n_states > 1:
        tables = (regime_rows(found.regimes), trait_table(found.regimes))
        yield Finding(_STATES, lambda: [Grid(*table) for table in tables], "both")
        yield Finding(_STATES, partial(_moves_and_runs, found))
    yield Finding("Surprising stretches", partial(_surprises, found))
    yield at_a_glance(found.notes, found.columns, found.rows.frame)


def draw_first(found: Segmentation) -> Figure:
    """Draw the column that states differ most in, of the longest series, over its states."""
    series, column = _drawn(found)[0]
    return Figure(
        _draw(found, series, column),
        "Behind the series stands the most probable state in its shade; the strip below shows how probable each is.",
    )


def _drawn(found: Segmentation) -> list[tuple[int, int | None]]:
    """Return what is drawn: the longest series, and of each the columns that states differ most in."""
    lengths, used = found.rows.arrangement.lengths, found.rows.used
    longest = np.argsort(-lengths, kind="stable")[:_SERIES].tolist()
    strengths = [max(one.traits[d].strength for one in found.regimes) for d in range(len(used))]
    numbers = [d for d, column in enumerate(used) if column.kind == "number"]
    columns: list[int | None] = [*sorted(numbers, key=lambda d: -strengths[d])[:_COLUMNS]]
    return [(s, d) for s in longest for d in columns or [None]]


def _series(found: Segmentation) -> list[Part]:
    arrangement = found.rows.arrangement
    (longest, first), *others = _drawn(found)
    count = int(arrangement.lengths[longest])
    parts: list[Part] = []
    if any(one.mean_run < count / _STRETCHES for one in found.regimes):
        said = (
            f"The last {_STRETCHES} {arrangement.steps}: above many runs are too short to be seen."
        )
        parts.append(Figure(_draw(found, longest, first, _STRETCHES), said))
    told = ""
    for series, column in others:
        name = arrangement.series[series].name
        parts += [Words(name, "bold")] if name != told else []
        told = name
        parts.append(Figure(_draw(found, series, column)))
    more = len(arrangement.series) - _SERIES
    return [*parts, *([Words(f"And {counted(more, 'shorter one')}.")] if more > 0 else [])]


def _draw(found: Segmentation, series: int, column: int | None, last: int = 0) -> str:
    """Draw a column of a series, or its last steps, over its states; these alone where no column holds numbers."""
    rows, ends = found.rows, np.cumsum(found.rows.arrangement.lengths)
    places, axis = step_places(rows, series)
    places = places[-last:]
    part = slice(ends[series] - len(places), ends[series])
    label, values = "", np.full(len(places), np.nan)
    if column is not None:
        label, values = rows.used[column].name, rows.x[part, column]
    times = pd.DatetimeIndex(dates_of(places, whole_days=False)) if rows.dated else places
    return draw_series(label, values, found.step_shares[part], times, axis)


def _numbers(found: Segmentation) -> list[Part]:
    said = Words(_EVIDENCE)
    if len(found.numbers) == 1:
        return [said]
    drawn = Figure(draw_numbers(found.numbers, found.number_probabilities, "states"))
    return [Beside([drawn], [said])]


def _moves_and_runs(found: Segmentation) -> list[Part]:
    order = list(found.model.order)
    transition = found.model.pipeline[-1].transition[np.ix_(order, order)]
    runs = find_runs(found.step_shares, found.rows.arrangement.lengths)
    moves = Figure(
        draw_moves(transition, np.array([one.share for one in found.regimes])),
        "Discs are as large as the shares of the states; arrows tell how probably a row is followed by one of "
        "another state.",
    )
    lasting = Figure(
        draw_runs(runs, transition, found.model.min_length),
        "Dots are the runs that were seen from their beginning to their end, lines what the chain expects: "
        "where dots leave the line, states last longer or end sooner than a chain can say.",
    )
    return [Beside([moves], [lasting])]


def _surprises(found: Segmentation) -> list[Part]:
    listed = surprises_of(found.rows, found.model, found.seed)[:_SURPRISES]
    if not listed:
        return [Words("None: no row is less probable than the chain itself would draw.")]
    rows = []
    for one in listed:
        places, _ = step_places(found.rows, one.series)
        name = found.rows.arrangement.series[one.series].name
        ends = (place_words(found.rows, places[k]) for k in (one.start, one.start + one.length - 1))
        rows.append((*ends, name, str(one.length), short_number(one.nats, 3)))
    said = Words(
        "Rows that are less probable, given those before them, than all but one in a thousand that the chain "
        "would draw: outliers, or the beginning of something new."
    )
    header = ("from", "to", "series", "rows", "nats below usual")
    return [said, Grid(header, rows)]


# -- figures ---------------------------------------------------------------------------------


def draw_series(column: str, values: Array, shares: Array, times: Any, axis: str) -> str:
    """Draw one column of one series over its most probable states, and how probable each state is below it.

    Parameters
    ----------
    column : str
    values : (T,)
    shares : (T, K)
    times : (T,)
        Dates, or numbers.
    axis : str
        What the times are called.
    """
    places = time_places(times)
    step = max(1, len(values) // _MOST_POINTS)
    x, y = places[::step], values[::step]
    known = ~np.isnan(y)
    low, high = (float(y[known].min()), float(y[known].max())) if known.any() else (0.0, 1.0)
    room = 0.06 * (high - low) or 0.5
    floor, top = low - room, high + room
    strip = _STRIP * (top - floor)
    alone = known & ~np.append(known[1:], False) & ~np.append(False, known[:-1])
    at, edges = ribbon_edges(shares, places)
    return Chart(
        f"{column} over the states",
        [
            *_shades(shares, places, floor, top),
            *_ribbons(at, floor - strip + strip * edges),
            Curve(x, y, "ink", 1.0),
            Dots(x[alone], y[alone], "ink", 0.8),  # between two gaps
        ],
        time_axis(times)._replace(label=short_text(axis, 44), low=float(at[0]), high=float(at[-1])),
        Axis(short_text(column, 26), floor - strip, top),
        (BROAD, 210.0),
    ).svg()


def _shades(shares: Array, places: Array, floor: float, top: float) -> list[Mark]:
    """Return a faint shade behind each stretch of the most probable state; of short ones the most frequent state.

    There are no more stretches than can be told apart on a page.
    """
    count = len(shares)
    starts = np.unique(np.linspace(0, count, min(count, _STRETCHES) + 1).astype(np.int64))[:-1]
    states = np.add.reduceat(shares, starts).argmax(axis=1)
    changes = np.flatnonzero(np.diff(states)) + 1
    begins = starts[changes]
    borders = 0.5 * (places[begins - 1] + places[begins])
    left, right = np.append(places[0], borders), np.append(borders, places[-1])
    mine = states[np.append(0, changes)]
    return [
        Bars(
            left[mine == k],
            right[mine == k],
            np.full((mine == k).sum(), top),
            color,
            _FAINT,
            floor,
            f"state {k + 1}",
        )
        for k, color in enumerate(group_colors(shares.shape[1]))
    ]


def _ribbons(x: Array, edges: Array) -> list[Mark]:
    colors = group_colors(edges.shape[1] - 1)
    return [Band(x, edges[:, k], edges[:, k + 1], color, 0.7) for k, color in enumerate(colors)]


def draw_moves(transition: Array, shares: Array) -> str:
    """Draw states as discs, as large as their shares, and the moves between them."""
    states = place_states(len(shares), shares)
    (x, y), colors = states.centers.T, group_colors(len(shares))
    discs: list[Mark] = [
        Dots(x[k], y[k], color, _RADIUS * states.radii[k], 0.8) for k, color in enumerate(colors)
    ]
    numbers = Texts(x, y, [str(k + 1) for k in range(len(x))], bold=True, halo=True)
    marks = [*discs, numbers, _stays(states, np.diag(transition))]
    wide, high = _FAR
    return Chart(
        "States and the moves between them",
        marks + _arrows(place_moves(transition, states)),
        Axis(low=-wide, high=wide, places=()),
        Axis(low=-high, high=high, places=()),
        (2.0 * _RADIUS * wide + 10.0, 2.0 * _RADIUS * high + 10.0),
        bare=True,
        fixed=True,
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
    return [Arrows(start, stop, widths), Texts(x, y, texts, halo=True)]


def _stays(states: StatePlaces, stay: Array) -> Texts:
    """Write beside each disc how probably its state stays, outwards from there."""
    texts = [f"stays\n{percent(p)}" for p in stay]
    half = 0.5 * text_width("stays", LETTERS) / _RADIUS
    side = np.where(np.abs(states.away[:, 0]) > 0.3, np.sign(states.away[:, 0]), 0.0)
    return Texts(states.beside[:, 0] + half * side, states.beside[:, 1], texts)


def draw_runs(runs: Sequence[Run], transition: Array, least: int = 1) -> str:
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
            Curve(grid, transition[k, k] ** np.maximum(grid - least, 0.0), color, 1.2),
        ]
    return Chart(
        "How long states last",
        marks,
        Axis("steps of a run", low=0.0, ticks=whole_ticks),
        Axis("share at least so long", 0.0, 1.05, grid=True),
    ).svg()
