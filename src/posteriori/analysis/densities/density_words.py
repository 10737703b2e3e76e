"""What was found of the density of a table, in words: the best model, odd rows, gaps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from posteriori.analysis.densities.odd_rows import OddEntry
from posteriori.analysis.fitting.averaged import AVERAGE
from posteriori.analysis.fitting.preparation import OTHER
from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.report.verdict_words import verdict
from posteriori.analysis.table.columns import Column
from posteriori.analysis.table.wording import counted, entry_words, short_number

if TYPE_CHECKING:
    from posteriori.analysis.densities.describing import TableDensity

__all__ = ["density_verdict", "gaps_in_words", "odd_entry_words"]

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
