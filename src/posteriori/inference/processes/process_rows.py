r"""Rows of a process, those with equal inputs as one.

What K targets with noise :math:`n v_k` at one input say of the function is what their mean says,

.. math:: \prod_k N(y_k\mid f, n v_k) = N\Bigl(\bar y\,\Big|\,f, \frac nw\Bigr)\,
          e^{-S/2n}\,(2\pi n)^{-(K-1)/2}\,w^{-1/2}\prod_k v_k^{-1/2},\qquad
          w = \sum_k\frac1{v_k},\quad \bar y = \sum_k\frac{y_k}{wv_k},\quad
          S = \sum_k\frac{(y_k-\bar y)^2}{v_k}.

A row that counts f times is f such targets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array, IntArray

__all__ = ["ProcessRows", "borrow_rows", "merge_rows", "refuse_contradictions"]


class ProcessRows(NamedTuple):
    """Distinct inputs, sorted: the order of given rows is no matter.

    Attributes
    ----------
    X : (N, D)
    y : (N, Q)
        Means of the targets at each.
    weight : (N,)
        w: the noise of the means is n/w.
    count : (N,)
        How many targets they are means of.
    scatter : (N,)
        S, summed over outputs.
    log_variance : float
        Σ ln v over all targets of an output.
    place : (M,) of int < N
        To which of them each given row belongs.
    """

    X: Array
    y: Array
    weight: Array
    count: Array  # type: ignore[assignment]  # not how often an entry is in a tuple
    scatter: Array
    log_variance: float
    place: IntArray

    @property
    def is_plain(self) -> bool:
        """Whether every target has the same noise, once."""
        return bool((self.weight == 1.0).all() and (self.count == 1.0).all())

    def log_constant(self, noise: Array) -> float:
        """Return what the spread of targets around their means adds to ln p, for noise n (N,).

        Where there is no noise the targets are equal, and count once.
        """
        if self.is_plain or not noise.any():
            return 0.0
        heard, n = noise > 0, np.where(noise > 0, noise, 1.0)
        each = 0.5 * (self.count - 1.0) * (LOG_2PI + np.log(n)) + 0.5 * np.log(self.weight)
        total = self.y.shape[1] * (each @ heard + 0.5 * self.log_variance)
        return float(-total - 0.5 * (self.scatter / n) @ heard)

    def constant_slope(self, noise: Array) -> Array:
        """Return the derivative of :meth:`log_constant` in n, (N,)."""
        n = np.where(noise > 0, noise, 1.0)
        slope = 0.5 * (self.scatter / n - self.y.shape[1] * (self.count - 1.0)) / n
        return np.where(noise > 0, slope, 0.0)


def merge_rows(
    X: Array,
    y: Array,
    frequency: Array | None = None,
    variance: Array | None = None,
    earlier: ProcessRows | None = None,
) -> ProcessRows:
    """Return rows (M, D), (M, Q) by their distinct inputs.

    Parameters
    ----------
    X, y : (M, D), (M, Q)
    frequency : (M,), optional
        How often each row counts.
    variance : (M,), optional
        v, relative to the noise.
    earlier : ProcessRows, optional
        Of the first of the rows: their inputs stay where they are, and others come after them.

    Examples
    --------
    >>> rows = merge_rows(np.array([[0.0], [1.0], [0.0]]), np.array([[1.0], [5.0], [3.0]]))
    >>> rows.y[:, 0], rows.weight, rows.scatter
    (array([2., 5.]), array([2., 1.]), array([2., 0.]))
    """
    f = np.ones(len(X)) if frequency is None else np.asarray(frequency, dtype=np.float64)
    v = np.ones(len(X)) if variance is None else np.asarray(variance, dtype=np.float64)
    first, place = _distinct(X, earlier)
    log_variance = float(f @ np.log(v))
    if len(first) == len(X) and frequency is None:
        at = X[first], y[first], 1.0 / v[first], f
        return ProcessRows(*at, np.zeros(len(X)), log_variance, place)
    size, share = len(first), f / v
    weight = np.bincount(place, share, size)
    mean = np.column_stack([np.bincount(place, share * one, size) for one in y.T]) / weight[:, None]
    lone = np.bincount(place, minlength=size) == 1
    mean[lone] = y[first[lone]]  # not to a rounding error: as they came
    scatter = np.bincount(place, share * ((y - mean[place]) ** 2).sum(axis=1), size)
    return ProcessRows(
        X[first], mean, weight, np.bincount(place, f, size), scatter, log_variance, place
    )


def borrow_rows(X: Array, y: Array) -> ProcessRows:
    """Return rows by their distinct inputs, without a copy where one column grows from row to row.

    What is borrowed changes with the caller's arrays, so it is not to be kept.
    """
    if not _is_sorted(X):
        return merge_rows(X, y)
    one, none = (np.broadcast_to(value, len(X)) for value in (1.0, 0.0))
    return ProcessRows(X, y, one, one, none, 0.0, np.arange(len(X)))


def _distinct(X: Array, earlier: ProcessRows | None) -> tuple[IntArray, IntArray]:
    """Return where each distinct input came first, in their order, and which of them each row is."""
    if earlier is None and _is_sorted(X):
        return np.arange(len(X)), np.arange(len(X))
    _, first, place = np.unique(X, axis=0, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    if earlier is None:
        return first, place
    rank = np.empty(len(first), dtype=np.int64)
    old = first < len(earlier.place)
    rank[old] = earlier.place[first[old]]
    rank[~old] = len(earlier.X) + np.arange(np.count_nonzero(~old))
    return first[np.argsort(rank)], rank[place]


def _is_sorted(X: Array) -> bool:
    """Tell whether one column grows from row to row: then all inputs are distinct."""
    return X.shape[1] == 1 and bool((X[1:] > X[:-1]).all())


def refuse_contradictions(rows: ProcessRows, y: Array, noise: Array) -> None:
    """Say which rows have equal inputs and other targets, where nothing is noise.

    Parameters
    ----------
    rows : ProcessRows
    y : (M, Q)
        Targets as they were given.
    noise : (N,)
        Its variance at the distinct inputs.
    """
    wrong = (rows.scatter > 0) & (noise == 0)
    if not wrong.any():
        return
    one = int(np.argmax(wrong))
    same = np.flatnonzero(rows.place == one)
    other = same[np.argmax((y[same] != y[same[0]]).any(axis=1))]
    raise ValueError(
        f"rows {same[0]} and {other} have the same inputs and the targets {_shown(y[same[0]])} and "
        f"{_shown(y[other])}, and the kernel has no noise; add White() to it, or give noise_variance"
    )


def _shown(y: Any) -> str:
    return ", ".join(f"{value:.6g}" for value in y)
