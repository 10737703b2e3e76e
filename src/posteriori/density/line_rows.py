"""Rows of one column, sorted, that lie in a range: what histograms count."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.estimators.estimator_rows import as_column, check_inputs, column_names
from posteriori.estimators.weighted_fits import check_frequency
from posteriori.numerics.evidence import Fingerprint
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares, unmasked

__all__ = ["LineRows", "check_column", "check_line", "counted_inputs"]


class LineRows(NamedTuple):
    """Numbers of one column.

    Attributes
    ----------
    low, high : float
        Ends of the range.
    given : bool
        Whether the range was given, or is that of the numbers.
    x : (N,)
        Sorted.
    below : (N + 1,)
        How many rows lie before each of them, and all of them.
    fingerprint : Fingerprint
    """

    low: float
    high: float
    given: bool
    x: Array
    below: Array
    fingerprint: Fingerprint

    @property
    def total(self) -> float:
        """Number of rows N."""
        return float(self.below[-1])

    def edges(self, shares: Array) -> Array:
        """Return the points at increasing shares 0, …, 1 of the range."""
        made = self.low + (self.high - self.low) * shares
        made[-1] = self.high
        if not (np.diff(made) > 0).all():
            raise ValueError(
                f"the range from {self.low:.17g} to {self.high:.17g} is too narrow for so many bins: their "
                "edges round to equal numbers; take fewer, or subtract an offset from X"
            )
        return made

    def counts(self, edges: Array) -> Array:
        """Return how many rows lie in [e_m, e_{m+1}), the last one closed, (M,)."""
        places = np.searchsorted(self.x, edges[1:-1], side="left")
        return np.diff(self.below[np.concatenate(([0], places, [len(self.x)]))])


def check_column(estimator: Any, X: Any, *, reset: bool = False) -> Array:
    """Return X, (N,) or (N, 1), as a finite float64 column (N, 1)."""
    x: Array = check_inputs(estimator, as_column(unmasked("X", X)), reset=reset)
    if x.shape[1] != 1:
        raise ValueError(
            f"X must hold one column, got {x.shape[1]}; {type(estimator).__name__} describes one number, "
            "KernelDensity several"
        )
    return x


def counted_inputs(x: Array, sample_weight: Any) -> tuple[Array, Array | None, Array | None]:
    """Return rows that count, how often each does (None: once), and their numbers in X."""
    if sample_weight is None:
        return x, None, None
    frequency = check_frequency(sample_weight, x)
    places = np.flatnonzero(frequency)
    return x[places], frequency[places], places


def check_line(estimator: Any, X: Any, sample_weight: Any) -> LineRows:
    """Return sorted rows of one column in the range of the estimator, or in their own."""
    x, frequency, places = counted_inputs(estimator._check_column(X, reset=True), sample_weight)
    require_squares("X", x)
    column = x[:, 0]
    given = estimator.range is not None
    low, high = _check_range(estimator.range) if given else (column.min(), column.max())
    wrong = (column < low) | (column > high)
    if wrong.any():
        first = int(np.argmax(wrong))
        row = first if places is None else int(places[first])
        raise ValueError(
            f"X holds {column[first]:.6g} in row {row}, outside range=({low:.6g}, {high:.6g}); widen the "
            "range or leave the row out"
        )
    if not high > low:
        single = len(column) == 1
        what = "a single value (n_samples=1)" if single else "constant"
        raise ValueError(
            f"{column_names(estimator)[0]} of X is {what}, so the rows have no range; give range=(low, high)"
        )
    order = np.argsort(column, kind="stable")
    times = np.ones(len(column)) if frequency is None else frequency[order]
    below = np.concatenate(([0.0], np.cumsum(times)))
    fingerprint = Fingerprint().update(x, frequency)
    return LineRows(float(low), float(high), given, column[order], below, fingerprint)


def _check_range(ends: Any) -> tuple[float, float]:
    values = np.asarray(ends, dtype=np.float64)
    if values.shape != (2,) or not np.isfinite(values).all() or not values[0] < values[1]:
        raise ValueError(f"range must be two finite numbers in order, (low, high); got {ends!r}")
    return float(values[0]), float(values[1])
