"""The report of a table's density: its sections."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from posteriori.analysis.comparisons.verdict_words import (
    NO_MODEL,
    choice_of,
    doubt_of,
    untried_in_words,
)
from posteriori.analysis.densities.density_figures import SHARES, draw_column, draw_pair
from posteriori.analysis.densities.joint_problem import joint_candidates
from posteriori.analysis.densities.odd_rows import OddEntry
from posteriori.analysis.fitting.preparation import OTHER
from posteriori.analysis.report.figures import PICTURE, at_a_glance
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.wording import (
    counted,
    entry_words,
    fixed_number,
    one_sentence,
    short_number,
)
from posteriori.analysis.targets.reasons import differences_of
from posteriori.analysis.tasks.sections import (
    Beside,
    CodeAgain,
    Figure,
    Figures,
    Finding,
    Grid,
    Items,
    Part,
    Words,
)

if TYPE_CHECKING:
    from posteriori.analysis.densities.describing import TableDensity

__all__ = [
    "density_code",
    "density_findings",
    "density_heading",
    "density_reasons",
    "density_verdict",
    "draw_density_picture",
    "gaps_in_words",
    "odd_entry_words",
]


_AGAIN = CodeAgain(
    "compare",
    "found",
    "described",
    (
        "found.ranking.to_frame()",
        "found.odd_rows, found.fill_ins",
        "found.model.predict(table.head())  # log densities and filled gaps; of new rows as well",
    ),
)

#: Pairs that are drawn beside the first.
_MOST_PAIRS = 6

#: Rows with gaps that are told.
_MOST_FILLED = 15


def density_findings(found: TableDensity) -> Iterator[Finding]:
    """Yield the ranking, how columns go together, odd rows, filled gaps, and what the columns hold."""
    yield from found.ranking_findings(found.single_rows, partial(_priors, found))
    if not found.ranking.rows[0].failure:
        yield Finding("Columns together", partial(_pairs, found))
        yield Finding("Odd rows", partial(_odd, found))
        yield Finding("Gaps filled in", partial(_fill_ins, found))
    yield at_a_glance(found.notes, found.columns, found.frame)


def density_heading(found: TableDensity, data: str) -> tuple[str, str]:
    """Name the data, and say of how many rows they are, described by how many models."""
    rows, columns = found.problem.X.shape
    return f"The density of {data}", (
        f"The density of {counted(columns, 'column')} together, in {counted(rows, 'row')}; "
        f"{counted(len(found.single_rows), 'model')} compared by how probable they hold rows that they have "
        "not seen."
    )


def _priors(found: TableDensity) -> list[Part]:
    said = (
        "Densities are in the units of the table. A recorded number stands for any within the step that it is "
        "recorded to, so that no model gains by being narrower than that."
    )
    priors = [
        f"{found.words(row.name)}: {found.outcomes[row.name].candidate.prior}"
        for row in found.single_rows
    ]
    return [Words(said), Items(priors)]


def draw_density_picture(found: TableDensity) -> Figure | None:
    """Draw the two columns of numbers that go together most closely with their density, or the only one."""
    if found.ranking.rows[0].failure or not _numbers(found):
        return None
    model, pairs = found.outcomes[found.best_single].model[-1], _number_pairs(found)
    x, odd, name = (
        found.problem.X,
        [one.row for one in found.odd_rows],
        found.words(found.best_single),
    )
    if not pairs:
        svg = draw_column(model, x, _numbers(found)[0], found.used, PICTURE)
        return Figure(svg, f"The line is that of “{name}”.")
    svg = draw_pair(model, x, pairs[0], found.used, odd, PICTURE)
    rings = " Rings are odd rows." if odd else ""
    return Figure(svg, f"{_lines(name)}{rings}")


def _lines(name: str) -> str:
    shares = ", ".join(f"{share:.0%}" for share in sorted(SHARES))
    return f"Lines are those of “{name}”: they enclose {shares} of the probability."


def _pairs(found: TableDensity) -> list[Part]:
    """Draw more pairs of columns of numbers, those first that go together most closely."""
    model, pairs = found.outcomes[found.best_single].model[-1], _number_pairs(found)
    x, odd = found.problem.X, [one.row for one in found.odd_rows]
    drawn = [draw_pair(model, x, pair, found.used, odd) for pair in pairs[1 : _MOST_PAIRS + 1]]
    if not drawn:
        return []
    order = " Pairs come first that go together most closely."
    return [
        Words(_lines(found.words(found.best_single)) + order),
        Figures([Figure(svg) for svg in drawn]),
    ]


def _numbers(found: TableDensity) -> list[int]:
    """Return the places of columns of numbers."""
    return [k for k, column in enumerate(found.used) if column.kind in ("number", "date")]


def _number_pairs(found: TableDensity) -> list[tuple[int, int]]:
    """Return pairs of columns of numbers, those first that go together most closely."""
    numbers = _numbers(found)
    return [pair for pair in found.pairs if set(pair) <= set(numbers)]


def _odd(found: TableDensity) -> list[Part]:
    odd, places = found.odd_rows, found.rows
    if not odd:
        none = "None: the best model could expect rows like the least probable ones."
        return [Words(none)]
    rows = []
    for one in odd:
        cells = (str(places[one.row] + 1), fixed_number(one.log_density))
        entries = [odd_entry_words(found, entry) for entry in one.entries]
        rows += [(*cells, *told) for told in entries or [("no single one", "", "")]]
    said = (
        f"Rows so improbable that “{found.words(found.best_single)}”, which has not seen them, expects fewer than "
        "0.1 as odd among all: errors in the data, or what the model does not know. Columns are told whose "
        "entries the other entries of the row do not expect. Row 1 is the first below the header."
    )
    header = ("row", "log density", "column", "entry", "expected")
    return [Words(said), Grid(header, rows)]


def _fill_ins(found: TableDensity) -> list[Part]:
    """Tell how well gaps can be filled, by column, and some of them."""
    filled = found.fill_ins
    gaps = [column for column in found.used if f"{column.name}_filled" in filled]
    if not gaps:
        return []
    spread = [_spread_cells(found, column, filled) for column in gaps]
    said = (
        f"What “{found.words(found.kept)}” expects in the place of gaps, given what is seen of their rows: "
        "means and standard deviations, of a category the most probable level. The smaller the deviation beside "
        "that of the column, the more the other columns tell."
    )
    columns = Grid(("column", "gaps", "filled to", "the column varies by"), spread)
    some = Grid(("row", "column", "filled in", "sure to"), _some_filled(found, gaps, filled))
    return [Words(said), Beside([columns], [some])]


def _spread_cells(found: TableDensity, column: Column, filled: pd.DataFrame) -> tuple[str, ...]:
    missing = found.frame[column.name].isna()
    sure = filled[f"{column.name}_sd"][missing[filled.index].to_numpy()].to_numpy()
    if column.kind in ("category", "boolean"):
        often = found.frame[column.name].value_counts(normalize=True).iloc[0]
        told = (f"right in {sure.mean():.0%}, it expects", f"most frequent {often:.0%}")
    else:
        unit = 365.25 if column.kind == "date" else 1.0
        days = " days" if column.kind == "date" else ""
        typical = float(np.sqrt(np.mean(sure**2)))
        own = unit * float(found.frame[column.name].std())
        told = (f"± {short_number(typical, 3)}{days}", f"± {short_number(own, 3)}{days}")
    return (column.name, f"{int(missing.sum()):,}", *told)


def _some_filled(
    found: TableDensity, gaps: list[Column], filled: pd.DataFrame
) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for row in filled.index:
        for column in gaps:
            if len(rows) < _MOST_FILLED and pd.isna(found.frame[column.name].loc[row]):
                value, sure = (
                    filled[f"{column.name}_{what}"].loc[row] for what in ("filled", "sd")
                )
                rows.append((str(row + 1), column.name, *_filled_cells(column, value, sure)))
    return rows


def _filled_cells(column: Column, value: float | str, sure: float) -> tuple[str, str]:
    words = entry_words(column.written, value)
    if column.kind in ("category", "boolean"):
        return words, f"{sure:.0%}"
    return words, f"± {short_number(sure, 3)}{' days' if column.kind == 'date' else ''}"


def density_code(found: TableDensity, loading: str = "") -> str:
    """Return code that describes the table again."""
    asked = {"task": "density", **found.asked_again(joint_candidates(found.problem))}
    return _AGAIN.code(asked, loading)


#: The model to which others are compared: it knows nothing of how columns go together.
_APART = "independent columns"

#: Odd rows, and columns with gaps, that a verdict names.
_TOLD_ROWS, _TOLD_COLUMNS = 3, 4

#: Days of a year.
_YEAR = 365.25


def density_verdict(found: TableDensity) -> str:
    """Say whether columns go together, which model describes them, which rows are odd, which gaps were filled."""
    if found.ranking.rows[0].failure:
        return NO_MODEL
    told = [
        _together(found),
        one_sentence(choice_of(found), doubt_of(found)),
        one_sentence(untried_in_words(found), _odd_rows(found), gaps_in_words(found)),
    ]
    return " ".join(text for text in told if text)


def density_reasons(found: TableDensity) -> list[str]:
    """Return what the verdict rests on: what is gained over columns apart, and differences of models."""
    if found.ranking.rows[0].failure:
        return []
    gained = _gain(found)
    if gained is None:
        return differences_of(found)
    gain, error = gained
    said = f"“{found.words(found.best_single)}” is ahead of “{_APART}” by {gain:.2f} ± {error:.2f} nats for each unseen row."
    return [said, *differences_of(found)]


def _gain(found: TableDensity) -> tuple[float, float] | None:
    """Return what is gained over columns that know nothing of one another, a row, and its error."""
    flat = next((row for row in found.single_rows if row.name == _APART), None)
    alone = len(found.used) < 2 or len(found.single_rows) < 2
    if flat is None or flat.failure or alone:
        return None
    rows = len(found.problem.X)
    return -flat.elpd_difference / rows, flat.elpd_difference_se / rows


def _together(found: TableDensity) -> str:
    """Say whether columns tell of one another, and how much."""
    gained = _gain(found)
    if gained is None:
        return ""
    gain, error = gained
    if not (gain > 0.0 and gain >= 2.0 * error):
        return "The columns tell next to nothing of one another, as far as the rows show."
    first, second = (found.used[place].name for place in found.pairs[0])
    return (
        f"The columns go together, “{first}” and “{second}” most closely: an unseen row is typically {_times(gain)} as "
        "likely for a model that knows how they do as for one that takes each column alone."
    )


def _times(gain: float) -> str:
    """Write e^gain as a factor.

    Examples
    --------
    >>> _times(0.7), _times(12.0)
    ('2 times', 'more than 1,000 times')
    """
    return f"{short_number(math.exp(gain), 2)} times" if gain < 7.0 else "more than 1,000 times"


def _odd_rows(found: TableDensity) -> str:
    odd, places = found.odd_rows, found.rows
    if not odd:
        return "no row is odd"
    told = []
    for one in odd[:_TOLD_ROWS]:
        words = [odd_entry_words(found, entry) for entry in one.entries[:1]]
        why = [f" ({name} {value}, expected {expected})" for name, value, expected in words]
        told.append(f"row {places[one.row] + 1}" + "".join(why))
    rest = f" and {len(odd) - _TOLD_ROWS} more" if len(odd) > _TOLD_ROWS else ""
    be, look = ("is", "it is an error") if len(odd) == 1 else ("are", "they are errors")
    return f"{counted(len(odd), 'row')} {be} odd, {', '.join(told)}{rest}: look whether {look}"


def odd_entry_words(found: TableDensity, entry: OddEntry) -> tuple[str, str, str]:
    """Return the name of a column, its odd entry, and what the others of the row expect there."""
    column = found.used[entry.column]
    value = _code_words(found, column, entry.value)
    expected = _code_words(found, column, entry.expected)
    if column.kind in ("category", "boolean"):
        return column.name, value, f"{expected} ({entry.spread:.0%})"
    days = column.kind == "date"
    spread = short_number(_YEAR * entry.spread if days else entry.spread, 2)
    return column.name, value, f"{expected} ± {spread}{' days' if days else ''}"


def _code_words(found: TableDensity, column: Column, value: float) -> str:
    """Write an entry: a number, a day, or the level that a code stands for."""
    if column.kind == "category":
        return (OTHER, *found.problem.encoder.levels_[column.name])[int(value)]
    return entry_words(column.written, value)


def gaps_in_words(found: TableDensity) -> str:
    """Say how many gaps were filled in, and in which columns; nothing where there are none."""
    missing = found.frame.isna().sum()
    names = [str(name) for name in missing.index if missing[name]]
    if not names:
        return ""
    shown = ", ".join(names[:_TOLD_COLUMNS])
    others = len(names) - _TOLD_COLUMNS
    more = f" and {counted(others, 'more column')}" if others > 0 else ""
    total = counted(int(missing.sum()), "gap")
    verb = "was" if missing.sum() == 1 else "were"
    return f"{total} in {shown}{more} {verb} filled in"
