"""The report of a table's density: its sections."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from posteriori.analysis.densities.density_figures import SHARES, draw_column, draw_pair
from posteriori.analysis.densities.joint_problem import joint_candidates
from posteriori.analysis.densities.odd_rows import OddEntry
from posteriori.analysis.fitting.preparation import OTHER
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.ranking.ranked_outcomes import AVERAGE
from posteriori.analysis.table.association import association_matrix
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.wording import counted, entry_words, fixed_number, short_number
from posteriori.analysis.targets.verdict_words import verdict
from posteriori.analysis.tasks.sections import (
    AT_A_GLANCE,
    Beside,
    CodeAgain,
    Figure,
    Figures,
    Finding,
    Grid,
    Items,
    Part,
    Words,
    at_a_glance,
)

if TYPE_CHECKING:
    from posteriori.analysis.densities.describing import TableDensity

__all__ = [
    "density_code",
    "density_findings",
    "density_heading",
    "density_verdict",
    "gaps_in_words",
    "odd_entry_words",
]


#: Folds, unless others are asked for.
_FOLDS = 5
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

#: Columns of numbers among which pairs are looked for, and pairs that are drawn.
_MOST_COLUMNS, _MOST_PAIRS = 30, 6

#: Rows with gaps that are told.
_MOST_FILLED = 15


def density_findings(found: TableDensity) -> Iterator[Finding]:
    """Yield the ranking, how columns go together, odd rows, filled gaps, and what the columns hold."""
    yield from found.ranking_findings(found.single_rows, partial(_priors, found))
    if not found.ranking.rows[0].failure:
        yield Finding("Columns together", partial(_pairs, found))
        yield Finding("Odd rows", partial(_odd, found))
        yield Finding("Gaps filled in", partial(_fill_ins, found))
    columns = [(column, found.frame.get(column.name)) for column in found.columns]
    glance = partial(at_a_glance, found.notes, columns, len(found.frame))
    yield Finding(AT_A_GLANCE, glance)


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


def _pairs(found: TableDensity) -> list[Part]:
    """Draw the pairs of columns of numbers that go together most closely."""
    model = found.outcomes[found.best_single].model[-1]
    x, odd = found.problem.X, [one.row for one in found.odd_rows]
    chosen = _strongest_pairs(found)
    numbers = [k for k, c in enumerate(found.used) if c.kind in ("number", "date")]
    if chosen:
        drawn = [draw_pair(model, x, columns, found.used, odd) for columns in chosen]
    else:
        drawn = [draw_column(model, x, column, found.used) for column in numbers]
    if not drawn:
        return []
    shares = ", ".join(f"{share:.0%}" for share in sorted(SHARES))
    said = f"Lines are those of “{found.words(found.best_single)}”"
    said += f": they enclose {shares} of the probability." if chosen else "."
    said += " Rings are odd rows." if odd and chosen else ""
    count = len(numbers) * (len(numbers) - 1) // 2
    if len(chosen) < count:
        said += " Of all pairs those are drawn that go together most closely."
    return [Words(said), Figures([Figure(svg) for svg in drawn])]


def _strongest_pairs(found: TableDensity) -> list[tuple[int, int]]:
    """Return the pairs of columns of numbers that go together most closely, in the order of the table."""
    places = [k for k, c in enumerate(found.used) if c.kind in ("number", "date")][:_MOST_COLUMNS]
    pairs = list(combinations(range(len(places)), 2))
    if len(pairs) > _MOST_PAIRS:
        series = {found.used[k].name: found.frame[found.used[k].name] for k in places}
        strength = association_matrix(series)
        pairs = sorted(sorted(pairs, key=lambda p: -np.nan_to_num(strength[p]))[:_MOST_PAIRS])
    return [(places[i], places[j]) for i, j in pairs]


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
    words = entry_words(column.kind, value)
    if column.kind in ("category", "boolean"):
        return words, f"{sure:.0%}"
    return words, f"± {short_number(sure, 3)}{' days' if column.kind == 'date' else ''}"


def density_code(found: TableDensity, loading: str = "") -> str:
    """Return code that describes the table again."""
    tried = [row.name for row in found.single_rows]
    folds = len(found.problem.splits)
    asked = {
        "task": "density",
        "seed": found.seed,
        "drop": [column.name for column in found.columns if column.kind == "dropped"],
        "models": None
        if set(tried) == {c.name for c in joint_candidates(found.problem)}
        else tried,
        "folds": None if folds == min(_FOLDS, len(found.problem.X)) else folds,
    }
    return _AGAIN.code(asked, loading)


#: The model to which others are compared: it knows nothing of how columns go together.
_APART = "independent columns"

#: Odd rows, and columns with gaps, that a verdict names.
_TOLD_ROWS, _TOLD_COLUMNS = 3, 4

#: Days of a year.
_YEAR = 365.25


def density_verdict(found: TableDensity) -> str:
    """Say which model describes the table best, by how much, which rows are odd, which gaps were filled."""
    best, rows = found.ranking.rows[0], len(found.problem.X)
    if best.failure:
        return verdict(found.single_rows, rows)
    row = found.ranking[found.best_single]
    ahead = (-row.elpd_difference, row.elpd_difference_se) if best.name == AVERAGE else None
    outcomes = found.outcomes.values()
    which = verdict(
        found.single_rows,
        rows,
        untried=sum(o.failure in (INTERRUPTED, OUT_OF_TIME) for o in outcomes),
        names={name: o.candidate.words for name, o in found.outcomes.items()},
        average=ahead,
    )
    parts = (_dependence(found), which, _odd_rows(found), gaps_in_words(found))
    return " ".join(part for part in parts if part)


def _dependence(found: TableDensity) -> str:
    """Say what is gained over columns that know nothing of one another, a row."""
    flat = next((row for row in found.single_rows if row.name == _APART), None)
    alone = len(found.used) < 2 or len(found.single_rows) < 2
    if flat is None or flat.failure or alone:
        return ""
    rows, name = len(found.problem.X), found.words(found.best_single)
    gain, error = -flat.elpd_difference / rows, flat.elpd_difference_se / rows
    if flat.name == found.best_single:
        return "No model finds that the columns tell of one another."
    if not gain >= 2.0 * error:
        return "The columns tell next to nothing of one another that these rows show."
    return (
        f"An unseen row is {_times(gain)} as probable under “{name}” as under “{_APART}” "
        f"({gain:.2f} ± {error:.2f} nats a row)."
    )


def _times(gain: float) -> str:
    """Write e^gain as a factor.

    Examples
    --------
    >>> _times(0.7), _times(12.0), _times(math.inf)
    ('2 times', 'e^12 times', 'infinitely many times')
    """
    if not math.isfinite(gain):
        return "infinitely many times"
    return f"{short_number(math.exp(gain), 2)} times" if gain < 7.0 else f"e^{gain:.0f} times"


def _odd_rows(found: TableDensity) -> str:
    odd, places = found.odd_rows, found.rows
    if not odd:
        return "No row is odd."
    told = []
    for one in odd[:_TOLD_ROWS]:
        words = [odd_entry_words(found, entry) for entry in one.entries[:1]]
        why = [f" ({name} {value}, expected {expected})" for name, value, expected in words]
        told.append(f"row {places[one.row] + 1}" + "".join(why))
    rest = f" and {len(odd) - _TOLD_ROWS} more" if len(odd) > _TOLD_ROWS else ""
    be = "is" if len(odd) == 1 else "are"
    return f"{counted(len(odd), 'row')} {be} odd: {', '.join(told)}{rest}."


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
    return entry_words(column.kind, value)


def gaps_in_words(found: TableDensity) -> str:
    """Say how many gaps were filled in, and in which columns; nothing where there are none."""
    missing = found.frame.isna().sum()
    names = [str(name) for name in missing.index if missing[name]]
    if not names:
        return ""
    shown = ", ".join(names[:_TOLD_COLUMNS])
    more = f" and {len(names) - _TOLD_COLUMNS} more columns" if len(names) > _TOLD_COLUMNS else ""
    total = counted(int(missing.sum()), "gap")
    verb = "was" if missing.sum() == 1 else "were"
    return f"{total} in {shown}{more} {verb} filled in."
