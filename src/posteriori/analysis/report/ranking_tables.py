"""The ranking as a table of texts, for terminals and pages alike, and the remarks that belong to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Protocol

from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME, Outcome
from posteriori.analysis.table.wording import (
    even_number,
    fixed_number,
    number_with_error,
    short_number,
)
from posteriori.analysis.tasks.sections import Grid, Printed, Words
from posteriori.selection.comparison import Comparison, Row
from posteriori.selection.cross_validation import Metrics

__all__ = [
    "Ranked",
    "aligned",
    "behind_best",
    "detailed_table",
    "explanations",
    "failures_of",
    "fit_columns",
    "for_the_asking",
    "group_legend",
    "ranked_data",
    "ranking_parts",
    "ranking_table",
    "remark_parts",
    "warnings_of",
]

#: A header, and rows of as many texts.
Table = tuple[tuple[str, ...], list[tuple[str, ...]]]

#: Errors that are shown, under which heading, and how they are written.
_ERRORS: dict[str, tuple[str, Callable[[float], str]]] = {
    "RMSE": ("RMSE", even_number),
    "MAE": ("miss", even_number),
    "factor": ("factor", lambda value: f"×{short_number(value, 3)}"),
    "R²": ("R²", lambda value: fixed_number(value, 2)),
    "accuracy": ("right", lambda value: f"{100.0 * value:.1f} %"),
}

#: Stands behind an error that is larger than without any column.
_WORSE = "!"

#: What an evidence is of, in words.
_WORDS = {
    "y|X": "target given columns",
    "y|X (counts)": "counts given columns",
    "y|X, chosen scale": "target given columns, prior scale chosen by it",
    "y|X, prequential": "target given columns, each block of rows predicted by earlier ones",
    "y|X (counts), prequential": "counts given columns, each block of rows predicted by earlier ones",
    "X": "all columns",
    "X,y (numbers)": "target and columns",
    "X,y (codes)": "target and columns, with codes for categories",
}

#: What a report and a table leave out that takes further fits.
_FOR_THE_ASKING = (
    "--thorough (thorough=True) adds what takes further fits: the evidence of models without a prior, each "
    "block of rows predicted by earlier ones, and in the report how far priors move the evidences"
)

_HELD_OUT = (
    "held out: log density of rows that the model has not seen, ± standard error; "
    "behind: its difference to the best, row by row"
)

#: What the headings of the short table mean.
_MEANINGS = {
    "score": "score: log density of a row that the model has not seen, on average",
    "behind": "behind: difference of all rows to the best",
    "miss": "miss: mean absolute error",
    "factor": "factor: by which predictions are typically too large or too small",
    "weight": "weight: share in the average",
}

#: Headings that are left out where the window is narrow, in this order.
_GO_FIRST = ("seconds", "kind", "evidence", "prob.", "weight", "R²")

#: What stands in the place of numbers that were not waited for, and of the time they took.
_UNREACHED = {OUT_OF_TIME: ("not reached", ""), INTERRUPTED: ("interrupted", "")}


class HasOutcomes(Protocol):
    """What has tried candidates."""

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """What became of each model."""


class Ranked(HasOutcomes, Protocol):
    """What a ranking tells of: models of a target, or densities of a table."""

    @property
    def ranking(self) -> Comparison:
        """Best first."""

    @property
    def detailed_rows(self) -> list[Row]:
        """The same, with all evidences that were asked for."""

    @property
    def thorough(self) -> bool:
        """Whether that is all that there are."""

    @property
    def metrics(self) -> Mapping[str, Metrics]:
        """Errors of unseen rows, by model."""

    @property
    def problem(self) -> Any:
        """Has the rows, ``X``."""

    @property
    def baseline(self) -> str:
        """The model that ignores all columns; empty if there is none."""

    def error_ratio(self, name: str) -> float:
        """How large the error of a model is beside that of the model without columns."""

    def words(self, name: str) -> str:
        """What a model is called where it is shown."""


def ranking_table(found: Ranked) -> Table:
    """Return the ranking for everybody, best first: score of a row, errors, share in the average."""
    errors = _errors(found)
    header = ("model", "score", "behind", *(_ERRORS[name][0] for name in errors), "weight")
    return header, [_brief_cells(row, found, errors) for row in found.ranking.rows]


def detailed_table(found: Ranked) -> Table:
    """Return the ranking with evidences, their kinds and groups, and the time of all fits."""
    first = _errors(found)[:1]
    groups = _group_letters(found.detailed_rows)
    header = ("model", "held out", "behind", *(_ERRORS[name][0] for name in first))
    header += ("evidence", "kind", "prob.", "seconds")
    return header, [_cells(row, found, first, groups) for row in found.detailed_rows]


def _errors(found: Ranked) -> list[str]:
    best = found.metrics.get(found.ranking.rows[0].name, {})
    return [name for name in best if name in _ERRORS]


def _brief_cells(row: Row, found: Ranked, errors: list[str]) -> tuple[str, ...]:
    name = found.words(row.name)
    if row.failure:
        word, _ = _UNREACHED.get(row.failure, ("failed", ""))
        return (name, word, *("" for _ in range(len(errors) + 2)))
    score = fixed_number(row.elpd / len(found.problem.X), 2)
    return (name, score, behind_best(row), *_error_cells(row, found, errors), _share(row.weight))


def behind_best(row: Row) -> str:
    """Return how far a model is behind the best, with its error; nothing for the best."""
    if row.elpd_difference == 0.0:
        return ""
    return number_with_error(row.elpd_difference, row.elpd_difference_se)


def _error_cells(row: Row, found: Ranked, errors: list[str]) -> list[str]:
    cells = [_ERRORS[name][1](found.metrics[row.name][name]) for name in errors]
    if cells and found.error_ratio(row.name) > 1.0:
        cells[0] += _WORSE
    return cells


def _share(weight: float) -> str:
    if math.isnan(weight) or weight == 0.0:
        return ""
    return f"{weight:.2f}"


def _cells(row: Row, found: Ranked, errors: list[str], groups: dict[str, str]) -> tuple[str, ...]:
    name = found.words(row.name)
    if row.failure:
        word, seconds = _UNREACHED.get(row.failure, ("failed", short_number(row.seconds, 2)))
        return (name, word, *("" for _ in range(len(errors) + 4)), seconds)
    # where an evidence is large, its decimals decide nothing
    decimals = 1 if abs(row.log_evidence) < 1e4 else 0
    evidence = fixed_number(row.log_evidence, decimals) if row.of else ""
    alone = sum(other.of == row.of for other in found.detailed_rows) < 2
    probability = "" if alone else _probability(row.probability)
    probability += groups.get(row.of, "") if row.of else ""
    return (
        name,
        number_with_error(row.elpd, row.elpd_se),
        behind_best(row),
        *_error_cells(row, found, errors),
        evidence,
        row.kind,
        probability,
        short_number(row.seconds, 2),
    )


def _probability(p: float) -> str:
    if math.isnan(p):
        return ""
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"


def _group_letters(rows: Sequence[Row]) -> dict[str, str]:
    """Return a letter for each group of evidences that compare, if there is more than one."""
    groups = list(dict.fromkeys(row.of for row in rows if row.of))
    if len(groups) < 2:
        return dict.fromkeys(groups, "")
    return {group: f" {chr(ord('a') + k)}" for k, group in enumerate(groups)}


# -- remarks ---------------------------------------------------------------------------------------


def explanations(found: Ranked, header: Sequence[str], hidden: Sequence[str]) -> list[str]:
    """Say what the headings mean, and which that matter a wider window would show."""
    shown = [name for name in header if name not in hidden]
    lines = ["; ".join(_MEANINGS[name] for name in shown if name in _MEANINGS)]
    if "held out" in header:
        lines = [_HELD_OUT, *(() if "prob." in hidden else group_legend(found))]
        lines += for_the_asking(found)
    names = [row.name for row in found.ranking.rows if not row.failure]
    if any(found.error_ratio(name) > 1.0 for name in names):
        flat = found.words(found.baseline)
        lines.append(f"{_WORSE} errs more than “{flat}”, which ignores all columns")
    missed = [name for name in hidden if name not in ("seconds", "kind")]
    return [*lines, f"a wider window also shows: {', '.join(missed)}"] if missed else lines


def group_legend(found: Ranked) -> list[str]:
    """Say what the evidences of each group are of; nothing if there is one group."""
    letters = _group_letters(found.detailed_rows)
    if len(letters) < 2:
        return []
    named = "; ".join(f"{letter.strip()}: {_WORDS.get(of, of)}" for of, letter in letters.items())
    return [f"evidence and prob. compare within a group only ({named})"]


def for_the_asking(found: Ranked) -> list[str]:
    """Say how to get the evidences that take further fits; nothing if they are there."""
    return [] if found.thorough else [_FOR_THE_ASKING]


def failures_of(found: HasOutcomes) -> list[str]:
    """Say why models have no result: a line for each reason."""
    return _together([(o.failure, o.candidate.words) for o in found.outcomes.values() if o.failure])


def warnings_of(found: HasOutcomes) -> list[str]:
    """Say what models warned of first: a line for each warning."""
    said = [(w, o.candidate.words) for o in found.outcomes.values() for w in o.warnings[:1]]
    return _together(said)


def _together(said: list[tuple[str, str]]) -> list[str]:
    """Return each text once, behind the names of all that it is about."""
    names: dict[str, list[str]] = {}
    for text, name in said:
        names.setdefault(text, []).append(name)
    return [f"{', '.join(about)}: {text}" for text, about in names.items()]


def ranking_parts(found: Ranked, *, details: bool) -> Iterator[Printed]:
    """Yield the ranking, with evidences if details are asked for, what failed, and what warned."""
    header, rows = (detailed_table if details else ranking_table)(found)
    yield Grid(
        header, rows, strong=True, remarks=lambda hidden: explanations(found, header, hidden)
    )
    yield from remark_parts(found)


def remark_parts(found: HasOutcomes) -> Iterator[Printed]:
    """Yield what failed, and what warned."""
    yield from (Words(text, "yellow") for text in failures_of(found))
    yield from (Words(text, "dim") for text in warnings_of(found))


def ranked_data(found: Ranked) -> dict[str, Any]:
    """Return the ranking as data, errors of unseen rows with it."""
    rows = [
        {**asdict(row), "words": found.words(row.name), "errors": found.metrics.get(row.name, {})}
        for row in found.ranking.rows
    ]
    return {"ranking": rows}


# -- lines of text ---------------------------------------------------------------------------------


def fit_columns(
    header: tuple[str, ...], rows: Sequence[tuple[str, ...]], width: int
) -> tuple[list[str], list[str]]:
    """Return lines no wider than so many letters, and the headings that had to go.

    Columns go first that the verdict needs least.
    """
    table = [header, *rows]
    widths = [max(len(row[k]) for row in table) + 2 for k in range(len(header))]
    kept = list(range(len(header)))
    others = [name for name in header[3:] if name not in _GO_FIRST][::-1]
    for heading in (*_GO_FIRST, *others, "score", "held out"):
        if heading in header and sum(widths[k] for k in kept) - 2 > width:
            kept.remove(header.index(heading))
    lines = aligned([tuple(row[k] for k in kept) for row in table])
    return lines, [name for k, name in enumerate(header) if k not in kept]


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Return lines of text: names to the left, numbers to the right."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
