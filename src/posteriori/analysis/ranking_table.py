"""The ranking as a table of words, for terminals and pages alike."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from posteriori.selection.comparison import Row

if TYPE_CHECKING:
    from posteriori.analysis.analyzing import Analysis

__all__ = ["group_legend", "ranking_table", "short_number"]

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


def ranking_table(analysis: Analysis) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows, best first; models that failed come last, with no numbers."""
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
        return (row.name, "failed", *("" for _ in range(len(metrics) + 4)), f"{row.seconds:.2g}")
    behind = (
        "" if row.elpd_difference == 0.0 else _pair(row.elpd_difference, row.elpd_difference_se)
    )
    errors = [short_number(analysis.metrics[row.name][name]) for name in metrics]
    group = groups.get(row.of, "")
    evidence = _signed(row.log_evidence) if row.of else ""
    alone = sum(other.of == row.of for other in analysis.ranking.rows) < 2
    probability = "" if alone else _probability(row.probability)
    probability += group if row.of else ""
    return (
        row.name,
        _pair(row.elpd, row.elpd_se),
        behind,
        *errors,
        evidence,
        row.kind,
        probability,
        f"{row.seconds:.2g}",
    )


def short_number(value: float) -> str:
    """Write a number with four digits."""
    if math.isnan(value):
        return ""
    return f"{value:.4g}".replace("-", "−")


def _pair(value: float, error: float) -> str:
    digits = 1 if error < 10 else 0
    return f"{value:.{digits}f} ± {error:.{digits}f}".replace("-", "−")


def _signed(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")


def _probability(p: float) -> str:
    if math.isnan(p):
        return ""
    return f"{p:.3f}" if p >= 0.0005 else "<0.001"
