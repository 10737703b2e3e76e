"""The report of segments: its sections."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from posteriori.analysis.groups.cluster_figures import draw_numbers
from posteriori.analysis.groups.cluster_words import date_words
from posteriori.analysis.segments.regimes import find_runs, find_surprises
from posteriori.analysis.segments.segment_figures import draw_moves, draw_runs, draw_series
from posteriori.analysis.segments.segment_words import (
    chain_rows,
    regime_rows,
    state_rows,
    trait_table,
)
from posteriori.analysis.table.wording import counted, short_number
from posteriori.analysis.tasks.sections import (
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
from posteriori.numerics.types import Array
from posteriori.plotting.parts.style import group_colors

if TYPE_CHECKING:
    from posteriori.analysis.segments.segmenting import Segmentation

__all__ = ["make_segment_page", "segmenting_code"]

#: Series and columns that are drawn, and surprising stretches that are listed.
_SERIES, _COLUMNS, _SURPRISES = 6, 4, 12


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
        at_a_glance(found.notes, columns, len(frame)),
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
    marks = [f'<span style="color:{c}">■</span> state {k}' for k, c in enumerate(colors, start=1)]
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
    runs = find_runs(found.rows, shares)
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
    listed = find_surprises(found.rows, found.model, found.seed, _SURPRISES)
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


def segmenting_code(found: Segmentation, loading: str = "") -> str:
    """Return code that finds the same states again."""
    rows = found.rows
    options = [f"columns={[c.name for c in rows.used]!r}"]
    options += [f"{n}={c.name!r}" for n, c in (("time", rows.time), ("by", rows.by)) if c]
    wanted = found.n_states if found.asked else (found.numbers[0], found.numbers[-1])
    options += [f"states={wanted}", f"seed={found.seed}"]
    return (
        "from posteriori import segment\n"
        f"{loading or '# table: the data that were segmented'}\n\n"
        f"found = segment(table, {', '.join(options)})\n"
        "found.states, found.probabilities  # of each row\n"
        "found.regimes  # what each state is like\n"
        "found.model.predict(table)  # of other tables as well\n"
    )
