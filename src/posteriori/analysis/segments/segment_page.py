"""The report of segments as one HTML page, with its figures: series over their states, moves, runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from posteriori.analysis.groups.cluster_figures import draw_numbers
from posteriori.analysis.segments.regimes import (
    chain_rows,
    regime_rows,
    state_rows,
    surprises_of,
    trait_table,
)
from posteriori.analysis.table.values import dates_of
from posteriori.analysis.table.wording import counted, date_words, short_number
from posteriori.analysis.tasks.sections import (
    AT_A_GLANCE,
    Beside,
    Figure,
    Grid,
    Markup,
    Page,
    Part,
    Section,
    Words,
    at_a_glance,
)
from posteriori.drawing.charts.arrows import Arrows
from posteriori.drawing.charts.chart import BROAD, Axis, Chart
from posteriori.drawing.charts.marks import LETTERS, Band, Curve, Dots, Mark, Texts
from posteriori.drawing.charts.ticks import number_ticks, round_ticks, whole_ticks
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

__all__ = ["make_segment_page"]

#: Series and columns that are drawn, and surprising stretches that are listed.
_SERIES, _COLUMNS, _SURPRISES = 6, 4, 12
#: Years within which the time of the day is told, a week.
_FEW_DAYS = 7.0 / 365.0

#: Steps of one figure; a longer series is thinned.
_MOST_POINTS = 1500

#: Pixels of the radius of the circle of states, and how far the figure reaches from its centre, in radii.
_RADIUS, _FAR = 80.0, (1.9, 1.6)


def make_segment_page(found: Segmentation, title: str) -> Page:
    """Return the report; the title is what the data are called."""
    shares = found.model.probabilities(found.rows.frame, found.rows.arrangement)
    frame = found.rows.frame
    columns = [(column, frame.get(column.name)) for column in found.columns]
    parts = [
        Section("The series and their states", _series(found, shares)),
        Section("How many states", _numbers(found)),
        Section("What the states are like", _regimes(found, shares)),
        Section("Surprising stretches", _surprises(found)),
        Section(AT_A_GLANCE, at_a_glance(found.notes, columns, len(frame))),
    ]
    return Page(f"Segments of {title}", _lede(found), parts, found.seed)


def _lede(found: Segmentation) -> str:
    arrangement = found.rows.arrangement
    return (
        f"States behind {counted(int((arrangement.rows >= 0).sum()), 'row')} in "
        f"{counted(len(arrangement.series), 'series', 'series')}, told by "
        f"{counted(len(found.rows.used), 'column')}; {counted(len(found.found.tried), 'hidden chain')} compared "
        "by evidence."
    )


def _series(found: Segmentation, shares: Array) -> list[Part]:
    arrangement = found.rows.arrangement
    longest = np.argsort(-arrangement.lengths, kind="stable")[:_SERIES].tolist()
    drawn = [part for s in longest for part in _one_series(found, shares, s)]
    more = len(arrangement.series) - len(longest)
    rest = [Words(f"And {counted(more, 'shorter one')}.")] if more > 0 else []
    said = Words(
        "Behind each series stand the states in their colours, each as high as it is probable: where one "
        "fills the whole height there is no doubt."
    )
    return [said, _legend(found), *drawn, *rest]


def _one_series(found: Segmentation, shares: Array, s: int) -> list[Part]:
    """Return the columns of numbers of one series over its states; the states alone if there are none."""
    rows, lengths = found.rows, found.rows.arrangement.lengths
    start = int(lengths[:s].sum())
    part = slice(start, start + int(lengths[s]))
    places, axis = _places(found, s)
    dates = rows.time is not None and rows.time.kind == "date"
    columns = [d for d, c in enumerate(rows.used) if c.kind == "number"][:_COLUMNS]
    curves = [(rows.used[d].name, rows.x[part, d]) for d in columns]
    curves = curves or [("probability", np.full(len(places), np.nan))]
    name = rows.arrangement.series[s].name
    figures = [
        draw_series(label, values, shares[part], places, axis, dates=dates)
        for label, values in curves
    ]
    head = [Words(name, "bold")] if name else []
    return [*head, *(Figure(svg, long=True) for svg in figures)]


def _legend(found: Segmentation) -> Markup:
    colors = group_colors(found.n_states)
    marks = [
        f'<span style="color:{c}" aria-hidden="true">■</span> state {k}'
        for k, c in enumerate(colors, start=1)
    ]
    return Markup(f"<p>{' &nbsp; '.join(marks)}</p>")


def _places(found: Segmentation, series: int) -> tuple[Array, str]:
    """Return where the steps of a series are, and what that is called."""
    arrangement, time = found.rows.arrangement, found.rows.time
    rows = arrangement.series[series].rows
    if arrangement.times is None or time is None:
        return np.arange(1.0, len(rows) + 1.0), "row"
    places, known = np.arange(len(rows), dtype=np.float64), rows >= 0
    times = np.interp(places, places[known], arrangement.times[rows[known]])
    return times, time.name


def _numbers(found: Segmentation) -> list[Part]:
    listed: list[Part] = [Grid(*state_rows(found.found))]
    if len({one.kind for one in found.found.tried}) > 1:
        listed.append(Section("All chains", [Grid(*chain_rows(found.found))]))
    said = Words(
        "The evidence is the log probability of the table under a hidden chain with so many states, its "
        "parameters integrated out by draws; after ± stands the error of the estimate. All numbers and kinds "
        "were equally probable before; a number counts only if each of its states is that which some row is "
        "most probably in, so that one with a state to spare has none of the probability. The last fifth is the log density of the end of every series under a "
        "chain that has learned from what comes before it: higher is better. Columns are independent in each "
        "state, or related to one another; of each number the chain of higher evidence is shown."
    )
    if len(found.numbers) == 1:
        return [said, *listed]
    drawn = Figure(draw_numbers(found.numbers, found.number_probabilities, "states"))
    return [Beside([drawn], [said]), *listed]


def _regimes(found: Segmentation, shares: Array) -> list[Part]:
    if found.n_states == 1:
        return []
    order = list(found.model.order)
    transition = found.model.pipeline[-1].transition[np.ix_(order, order)]
    runs = find_runs(shares, found.rows.arrangement.lengths)
    moves = Figure(
        draw_moves(transition, np.array([one.share for one in found.regimes])),
        "Discs are as large as the shares of the states; arrows tell how probably a row is followed by one of "
        "another state.",
    )
    lasting = Figure(
        draw_runs(runs, transition),
        "Dots are the runs that were seen from their beginning to their end, lines what the chain expects: "
        "where dots leave the line, states last longer or end sooner than a chain can say.",
    )
    told = [Grid(*regime_rows(found.regimes)), Grid(*trait_table(found.regimes))]
    return [*told, Beside([moves], [lasting])]


def _surprises(found: Segmentation) -> list[Part]:
    listed = surprises_of(found.rows, found.model, found.seed)[:_SURPRISES]
    if not listed:
        return [Words("None: no row is less probable than the chain itself would draw.")]
    rows = []
    for one in listed:
        places, _ = _places(found, one.series)
        name = found.rows.arrangement.series[one.series].name
        ends = (places[one.start], places[one.start + one.length - 1])
        rows.append((*_when(found, *ends), name, str(one.length), short_number(one.nats, 3)))
    said = Words(
        "Rows that are less probable, given those before them, than all but one in a thousand that the chain "
        "would draw: outliers, or the beginning of something new."
    )
    header = ("from", "to", "series", "rows", "nats below usual")
    return [said, Grid(header, rows)]


def _when(found: Segmentation, first: float, last: float) -> tuple[str, str]:
    time = found.rows.time
    words = date_words if time is not None and time.kind == "date" else short_number
    return words(first), words(last)


# -- figures ---------------------------------------------------------------------------------


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
        (BROAD, 158.0),
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
