"""Ranking models: probabilities within a group of evidences, differences to the best, order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row

__all__ = [
    "best_first",
    "ranked",
    "require_comparable",
    "row_of",
    "standard_error",
    "with_differences",
    "with_probabilities",
]


def standard_error(pointwise: Array) -> float:
    """Return the standard error of a sum of independent terms."""
    n = len(pointwise)
    return float(np.sqrt(n) * pointwise.std(ddof=1)) if n > 1 else float("nan")


def row_of(
    name: str, evidence: LogEvidence | None, pointwise: Array, *, of: str = "", **others: Any
) -> Row:
    """Return the row of a model with the held-out log densities of its rows, (N,)."""
    elpd = {"elpd": float(pointwise.sum()), "elpd_se": standard_error(pointwise)}
    row = Row(name, **{**elpd, **others})
    if evidence is None:
        return row
    return replace(row, log_evidence=float(evidence), kind=evidence.kind, of=of or evidence.of)


def with_probabilities(
    rows: Mapping[str, Row], evidences: Mapping[str, LogEvidence]
) -> dict[str, Row]:
    """Add posterior probabilities within each group of evidences of the same data."""
    rows = dict(rows)
    for group in {(rows[name].of, rows[name].measure) for name in evidences}:
        names = [name for name in evidences if (rows[name].of, rows[name].measure) == group]
        require_comparable({name: evidences[name] for name in names})
        logs = np.array([float(evidences[name]) for name in names])
        total = np.logaddexp.reduce(logs)
        for name, value in zip(names, logs, strict=True):
            rows[name] = replace(
                rows[name],
                probability=float(np.exp(value - total)),
                log_bayes_factor=float(value - logs.max()),
            )
    return rows


def require_comparable(evidences: Mapping[str, LogEvidence]) -> None:
    """Refuse evidences that answer the same question about different data."""
    first: dict[str, str] = {}
    for name, evidence in evidences.items():
        one = first.setdefault(evidence.of, name)
        if one != name and not evidences[one].comparable(evidence):
            raise ValueError(
                f"the evidences of {one} and {name} are of different data; fit both to the same rows "
                "and targets"
            )


def with_differences(
    rows: Mapping[str, Row],
    pointwise: Mapping[str, Array],
    errors: Mapping[str, float] | None = None,
) -> dict[str, Row]:
    """Add how far each model is behind the best, with the error of the paired difference.

    Probabilities and densities are apart; so are models whose data are divided into other rows.

    Parameters
    ----------
    rows : mapping from name to Row
    pointwise : mapping from name to (N,)
        Held-out log density of every row.
    errors : mapping from name to float, optional
        Standard errors of the sums from other sources than the choice of the data.
    """
    rows = dict(rows)
    held = {name: values for name, values in pointwise.items() if np.isfinite(values.sum())}
    for group in {(rows[name].measure, len(values)) for name, values in held.items()}:
        names = [n for n, values in held.items() if (rows[n].measure, len(values)) == group]
        best = max(names, key=lambda name: held[name].sum())
        for name in names:
            gap = held[name] - held[best]
            parts = [standard_error(gap), *((errors or {}).get(n, 0.0) for n in (name, best))]
            error = float("nan") if name == best else float(np.linalg.norm(parts))
            rows[name] = replace(
                rows[name], elpd_difference=float(gap.sum()), elpd_difference_se=error
            )
    return rows


def best_first(rows: Iterable[Row]) -> list[Row]:
    """Sort by held-out density; failures last."""
    return sorted(rows, key=lambda row: (bool(row.failure), -np.nan_to_num(row.elpd)))


def ranked(rows: list[Row]) -> list[Row]:
    """Sort by evidence within one group, by held-out density across groups; failures last."""
    sound = [row for row in rows if not row.failure]
    one_group = len({(row.of, row.measure) for row in sound}) == 1 and all(r.of for r in sound)

    def key(row: Row) -> tuple[bool, float, float]:
        evidence, held = (
            -np.nan_to_num(row.log_evidence, nan=-np.inf),
            -np.nan_to_num(row.elpd, nan=-np.inf),
        )
        first, second = (evidence, held) if one_group else (held, evidence)
        return bool(row.failure), float(first), float(second)

    return sorted(rows, key=key)
