"""Conditioning of jointly normal numbers in decimal arithmetic of 50 digits, by elimination."""

import decimal
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Conditioned", "condition", "exact_array", "inverse"]

decimal.getcontext().prec = 50
exact = np.frompyfunc(decimal.Decimal, 1, 1)
LOG_2PI = decimal.Decimal("1.8378770664093454835606594728112352797227949472756")


def exact_array(values: Any) -> np.ndarray:
    return np.asarray(exact(np.asarray(values, dtype=float)), dtype=object)


class Conditioned(NamedTuple):
    """Means, covariances and evidence given some of the numbers; NaN stands for the given ones."""

    mean: np.ndarray
    cov: np.ndarray
    log_evidence: float


def eliminate(matrix: np.ndarray, count: int) -> tuple[np.ndarray, list[decimal.Decimal]]:
    """Return the Schur complement of the first rows, and the pivots."""
    rest, pivots = matrix.copy(), []
    for _ in range(count):
        pivots.append(rest[0, 0])
        rest = rest[1:, 1:] - np.outer(rest[1:, 0], rest[0, 1:] / rest[0, 0])
    return rest, pivots


def condition(mean: np.ndarray, cov: np.ndarray, values: np.ndarray) -> Conditioned:
    """Condition N(mean, cov) on the values that are not NaN."""
    seen, hidden = np.flatnonzero(~np.isnan(values)), np.flatnonzero(np.isnan(values))
    order, size = np.concatenate([seen, hidden]), len(values)
    bordered = np.zeros((size + 1, size + 1), dtype=object)
    bordered[:size, :size] = cov[np.ix_(order, order)]
    bordered[: len(seen), size] = exact_array(values[seen]) - mean[seen]
    bordered[size, : len(seen)] = bordered[: len(seen), size]
    rest, pivots = eliminate(bordered, len(seen))
    out_mean, out_cov = np.full(size, np.nan), np.full((size, size), np.nan)
    out_mean[hidden] = (mean[hidden] - rest[:-1, -1]).astype(float)
    out_cov[np.ix_(hidden, hidden)] = rest[:-1, :-1].astype(float)
    log_det = sum((p.ln() for p in pivots), start=decimal.Decimal(0))
    return Conditioned(out_mean, out_cov, float((rest[-1, -1] - log_det - len(seen) * LOG_2PI) / 2))


def inverse(matrix: np.ndarray) -> np.ndarray:
    size = len(matrix)
    bordered = np.zeros((2 * size, 2 * size), dtype=object)
    bordered[:size, :size] = exact_array(matrix)
    bordered[:size, size:] = bordered[size:, :size] = exact_array(np.eye(size))
    return -eliminate(bordered, size)[0]
