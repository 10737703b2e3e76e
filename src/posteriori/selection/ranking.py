"""Ranking models: probabilities within a group of evidences, differences to the best, order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from posteriori.numerics.evidence import LogEvidence
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.types import Array
from posteriori.selection.comparison import Row
from posteriori.selection.psis import standard_error
from posteriori.selection.same_data import require_comparable

__all__ = ["ranked", "with_differences", "with_probabilities"]


def with_probabilities(
    rows: Mapping[str, Row], evidences: Mapping[str, LogEvidence]
) -> dict[str, Row]:
    """Add posterior probabilities within each group of evidences of the same data."""
    rows = dict(rows)
    for group in {(rows[name].of, rows[name].measure) for name in evidences}:
        names = [name for name in evidences if (rows[name].of, rows[name].measure) == group]
        require_comparable({name: evidences[name] for name in names})
        logs = np.array([float(evidences[name]) for name in names])
        total = log_sum_exp(logs, axis=0)
        for name, value in zip(names, logs, strict=True):
            rows[name] = replace(
                rows[name],
                probability=float(np.exp(value - total)),
                log_bayes_factor=float(value - logs.max()),
            )
    return rows


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
