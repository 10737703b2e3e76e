r"""One normal vector whose precision is sparse and changes while its pattern stays.

.. math:: q(v) \propto \exp(h^T v - \tfrac12 v^T J v)

Which numbers meet, the order of their elimination and the pattern of the factor are found once
(:class:`Meetings`); every further solve is numbers only. In an order that keeps the factor sparse,
along a chain with what it shares last, cost grows with the length of the chain.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.inference.gaussian.sparse_kernels import (
    entries_of_inverse,
    factorize_like,
    find_columns,
    find_entries,
    solve_lower,
    solve_upper,
)
from posteriori.numerics.types import Array, IntArray

__all__ = ["Meetings", "SparseSolution", "solve_sparse"]

#: Columns of the inverse that are found at a time: some tens keep all rows in the caches.
_COLUMNS = 64


class Meetings:
    """Which numbers of a vector meet, in the order of their elimination.

    Parameters
    ----------
    order : integers (n,)
        The numbers, the first to be eliminated first.
    pairs : sequence of pairs of integers (m,)
        Numbers that meet; each meets itself.
    most : int
        Entries that the factor may have.

    Attributes
    ----------
    fits : bool
        Whether the factor has no more; otherwise nothing can be solved.
    begin, below : integers
        Where the columns of the factor begin, and the rows of its entries.
    """

    def __init__(
        self, order: IntArray, pairs: Sequence[tuple[IntArray, IntArray]], most: int
    ) -> None:
        self.size = len(order)
        self.place = np.empty(self.size, dtype=np.int64)
        self.place[order] = np.arange(self.size)
        found = [self._keys(i, j) for i, j in pairs]
        keys = np.sort(np.concatenate([np.arange(self.size) * (self.size + 1), *found]))
        self.keys = keys[np.diff(keys, prepend=-1) > 0]
        self.starts = np.searchsorted(self.keys, np.arange(self.size + 1) * self.size)
        self.rows = self.keys % max(self.size, 1)
        self.parent, self.begin = find_columns(self.starts, self.rows, most)
        self.fits = bool(self.begin[-1] >= 0)
        self.below = self._factor_rows() if self.fits else self.rows

    def _factor_rows(self) -> Any:
        """Return the rows of the factor's entries: those of any matrix with this pattern."""
        unit = (self.keys % (self.size + 1) == 0).astype(np.float64)
        return factorize_like(self.starts, self.rows, unit, self.parent, self.begin)[0]

    def _keys(self, i: IntArray, j: IntArray) -> IntArray:
        """Number the entries of the upper triangle, by columns."""
        p, q = self.place[i], self.place[j]
        return np.maximum(p, q) * self.size + np.minimum(p, q)

    def at(self, i: IntArray, j: IntArray) -> IntArray:
        """Return where the entries of numbers that meet stand among those of the precision."""
        return np.searchsorted(self.keys, self._keys(i, j))

    def on_factor(self, i: IntArray, j: IntArray) -> IntArray:
        """Return where entries stand on the pattern of the factor; −1 for those that do not."""
        found: IntArray = find_entries(self.begin, self.below, self.place[i], self.place[j])
        return found

    def multiply(self, precision: Array, v: Array) -> Array:
        """Return J v for one start, J (entries,) and v (n,)."""
        ordered = np.empty(self.size)
        ordered[self.place] = v
        columns = self.keys // self.size
        found = np.bincount(self.rows, precision * ordered[columns], self.size)
        off = self.rows != columns
        found += np.bincount(columns[off], (precision * ordered[self.rows])[off], self.size)
        return found[self.place]


class SparseSolution(NamedTuple):
    """A normal vector, for each start.

    Attributes
    ----------
    meetings : Meetings
    mean : array (S, n)
    lower, inverse : arrays (S, entries)
        The factor of the precision, and entries of the covariance on its pattern.
    log_det : array (S,)
        Of the precision.
    """

    meetings: Meetings
    mean: Array
    lower: Array
    inverse: Array
    log_det: Array

    def covariances(self, i: IntArray, j: IntArray) -> Array:
        """Return covariances (S, m) of any numbers: beyond the pattern column by column."""
        where = self.meetings.on_factor(i, j)
        found = self.inverse[:, where]
        beyond = np.flatnonzero(where < 0)
        if beyond.size:
            left, right = i[beyond], j[beyond]
            if np.unique(left).size < np.unique(right).size:
                left, right = right, left
            found[:, beyond] = self._by_columns(left, right)
        return found

    def _by_columns(self, rows: IntArray, columns: IntArray) -> Array:
        """Return entries of the inverse from whole columns of it."""
        different, which = np.unique(columns, return_inverse=True)
        found = np.empty((len(self.mean), len(rows)))
        for first in range(0, len(different), _COLUMNS):
            some = different[first : first + _COLUMNS]
            here = np.flatnonzero((which >= first) & (which < first + len(some)))
            units = np.zeros((self.meetings.size, len(some)))
            units[self.meetings.place[some], np.arange(len(some))] = 1.0
            for s, lower in enumerate(self.lower):
                solved = units.copy()
                solve_lower(self.meetings.begin, self.meetings.below, lower, solved)
                solve_upper(self.meetings.begin, self.meetings.below, lower, solved)
                found[s, here] = solved[self.meetings.place[rows[here]], which[here] - first]
        return found

    def deviations(self, size: int, rng: np.random.Generator) -> Array:
        """Draw v − m of the first start, (size, n)."""
        noise: Array = rng.standard_normal((self.meetings.size, size))
        solve_upper(self.meetings.begin, self.meetings.below, self.lower[0], noise)
        return noise[self.meetings.place].T


def solve_sparse(meetings: Meetings, precision: Array, h: Array) -> SparseSolution:
    """Return means, covariances and the log determinant.

    Parameters
    ----------
    meetings : Meetings
    precision : array (S, entries)
        The upper triangle of J in the order of elimination, as :meth:`Meetings.at` has it.
    h : array (S, n)

    Raises
    ------
    ValueError
        When a precision is not positive definite.
    """
    begin, below, place = meetings.begin, meetings.below, meetings.place
    mean = np.empty(h.shape)
    lower, inverse = np.empty((2, len(h), begin[-1]))
    for s in range(len(h)):
        _, lower[s], failed = factorize_like(
            meetings.starts, meetings.rows, precision[s], meetings.parent, begin
        )
        if failed >= 0:
            raise ValueError("the precision of a normal vector is not positive definite")
        ordered = np.empty((meetings.size, 1))
        ordered[place, 0] = h[s]
        solve_lower(begin, below, lower[s], ordered)
        solve_upper(begin, below, lower[s], ordered)
        mean[s] = ordered[place, 0]
        inverse[s] = entries_of_inverse(begin, below, lower[s])
    log_det = 2.0 * np.log(lower[:, begin[:-1]]).sum(axis=1)
    return SparseSolution(meetings, mean, lower, inverse, log_det)
