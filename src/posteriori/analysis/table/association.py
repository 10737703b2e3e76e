"""How strongly columns go together, between 0 and 1, whatever they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from posteriori.numerics.types import Array

__all__ = ["association", "association_matrix", "strongest_first"]

#: Rows that are looked at.
_MOST_ROWS = 5_000


def association_matrix(columns: dict[str, pd.Series]) -> Array:
    """Return the associations of all pairs of columns, (D, D)."""
    coded = [
        _coded(series.iloc[:: max(1, len(series) // _MOST_ROWS)]) for series in columns.values()
    ]
    matrix = np.eye(len(coded))
    for i, one in enumerate(coded):
        for j in range(i):
            matrix[i, j] = matrix[j, i] = association(one, coded[j])
    return matrix


def strongest_first(target: pd.Series, columns: dict[str, pd.Series]) -> list[str]:
    """Return the names of columns, those that go with the target most closely first."""
    strength = {
        name: association_matrix({"target": target, "column": series})[0, 1]
        for name, series in columns.items()
    }
    return sorted(strength, key=lambda name: -strength[name])


def association(one: tuple[Array, bool], other: tuple[Array, bool]) -> float:
    """Return the association of two columns over the rows where both are known.

    Parameters
    ----------
    one, other : pairs of (N,) and bool
        Values, NaN where they are missing, and whether they are codes of categories.

    Returns
    -------
    float
        |Spearman's ρ| of numbers, the correlation ratio η of ranks by category, Cramér's V of
        categories.
    """
    (a, a_is_code), (b, b_is_code) = one, other
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = a[both], b[both]
    if len(a) < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return 0.0
    if a_is_code and b_is_code:
        return _cramers_v(a, b)
    if a_is_code or b_is_code:
        codes, numbers = (a, b) if a_is_code else (b, a)
        return _correlation_ratio(codes, rankdata(numbers))
    return abs(float(np.corrcoef(rankdata(a), rankdata(b))[0, 1]))


def _coded(series: pd.Series) -> tuple[Array, bool]:
    if pd.api.types.is_numeric_dtype(series.dtype):
        return series.to_numpy(np.float64), False
    codes = pd.factorize(series)[0].astype(np.float64)
    return np.where(codes < 0, np.nan, codes), True


def _correlation_ratio(codes: Array, values: Array) -> float:
    """Return η = √(variance between the groups / variance of all)."""
    group = np.unique(codes, return_inverse=True)[1]
    counts = np.bincount(group)
    means = np.bincount(group, weights=values) / counts
    between = float((counts * (means - values.mean()) ** 2).sum())
    return float(np.sqrt(between / ((values - values.mean()) ** 2).sum()))


def _cramers_v(a: Any, b: Any) -> float:
    """Return √(χ²/(N (min(r, c) − 1)))."""
    rows, columns = (np.unique(x, return_inverse=True)[1] for x in (a, b))
    table = np.zeros((rows.max() + 1, columns.max() + 1))
    np.add.at(table, (rows, columns), 1.0)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / len(a)
    chi = float(((table - expected) ** 2 / expected).sum())
    return float(np.sqrt(chi / (len(a) * (min(table.shape) - 1))))
