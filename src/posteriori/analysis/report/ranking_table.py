"""The ranking as a table of words, for terminals and pages alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from posteriori.analysis.fitting.running import INTERRUPTED, OUT_OF_TIME
from posteriori.analysis.table.number_words import (
    even_number,
    fixed_number,
    number_with_error,
    short_number,
)
from posteriori.selection.comparison import Row

if TYPE_CHECKING:
    from posteriori.analysis.analyzing import Analysis

__all__ = ["aligned", "failures_of", "group_legend", "ranking_table", "warnings_of"]

#: How many of the errors that people know are shown.
_SHOWN_METRICS = 1

#: What an evidence is of, in words.
_WORDS = {
    "y|X": "target given columns",
    "y|X (counts)": "counts given columns",
    "y|X, chosen scale": "target given columns, prior scale chosen by it",
    "X,y (numbers)": "target and columns",
    "X,y (codes)": "target and columns, with codes for categories",
}

#: What stands in the place of numbers that were not waited for, and of the time they took.
_UNREACHED = {OUT_OF_TIME: ("not reached", ""), INTERRUPTED: ("interrupted", "")}


def ranking_table(analysis: Analysis) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows, best first; models without a result come last, with no numbers."""
    best = analysis.metrics.get(analysis.ranking.rows[0].name, {})
    metrics = list(best)[:_SHOWN_METRICS]
    groups = _group_letters(analysis.ranking.rows)
    header = ("model", "held out", "behind", *metrics)
    header += ("evidence", "kind", "prob.", "seconds")
    return header, [_cells(row, analysis, metrics, groups) for row in analysis.ranking.rows]


def group_legend(analysis: Analysis) -> list[str]:
    """Say what the evidences of each group are of; nothing if there is one group."""
    letters = _group_letters(analysis.ranking.rows)
    if len(letters) < 2:
        return []
    named = "; ".join(f"{letter.strip()}: {_WORDS.get(of, of)}" for of, letter in letters.items())
    return [f"evidence and prob. compare within a group only ({named})"]


def failures_of(analysis: Analysis) -> list[str]:
    """Say why models have no result: a line for each reason."""
    return _together([(o.failure, o.name) for o in analysis.outcomes.values() if o.failure])


def warnings_of(analysis: Analysis) -> list[str]:
    """Say what models warned of first: a line for each warning."""
    return _together([(w, o.name) for o in analysis.outcomes.values() for w in o.warnings[:1]])


def _together(said: list[tuple[str, str]]) -> list[str]:
    """Return each text once, behind the names of all that it is about."""
    names: dict[str, list[str]] = {}
    for text, name in said:
        names.setdefault(text, []).append(name)
    return [f"{', '.join(about)}: {text}" for text, about in names.items()]


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


def _group_letters(rows: tuple[Row, ...]) -> dict[str, str]:
    """Return a letter for each group of evidences that compare, if there is more than one."""
    groups = list(dict.fromkeys(row.of for row in rows if row.of))
    if len(groups) < 2:
        return dict.fromkeys(groups, "")
    return {group: f" {chr(ord('a') + k)}" for k, group in enumerate(groups)}


def _cells(
    row: Row, analysis: Analysis, metrics: list[str], groups: dict[str, str]
) -> tuple[str, ...]:
    if row.failure:
        word, seconds = _UNREACHED.get(row.failure, ("failed", short_number(row.seconds, 2)))
        return (row.name, word, *("" for _ in range(len(metrics) + 4)), seconds)
    behind = (
        ""
        if row.elpd_difference == 0.0
        else number_with_error(row.elpd_difference, row.elpd_difference_se)
    )
    errors = [even_number(analysis.metrics[row.name][name]) for name in metrics]
    group = groups.get(row.of, "")
    evidence = _evidence(row.log_evidence) if row.of else ""
    alone = sum(other.of == row.of for other in analysis.ranking.rows) < 2
    probability = "" if alone else _probability(row.probability)
    probability += group if row.of else ""
    return (
        row.name,
        number_with_error(row.elpd, row.elpd_se),
        behind,
        *errors,
        evidence,
        row.kind,
        probability,
        short_number(row.seconds, 2),
    )


def _evidence(value: float) -> str:
    """Write a log evidence; where it is large, its decimals decide nothing."""
    return fixed_number(value, 1 if abs(value) < 1e4 else 0)


def _probability(p: float) -> str:
    if math.isnan(p):
        return ""
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"
