"""Rows of a conditional table: Σ_k p(k | parents) = 1, checked, and repaired where digits were cut."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["TableAxes", "conditional_table", "require_weights"]

#: How far from 1 a sum may be that is put down to numbers printed with few digits.
_TOLERANCE = 1e-6


class TableAxes(NamedTuple):
    """What the axes of a conditional table are.

    Attributes
    ----------
    names : tuple of str
        The parents, then the variable itself.
    labels : tuple of tuple of str
        The states of each.
    """

    names: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(map(len, self.labels))

    @property
    def n_rows(self) -> int:
        """How many combinations of states the parents have; the last parent is the fastest."""
        return math.prod(self.shape[:-1])

    def describe(self, row: int) -> str:
        """Write a row as p(x | a=no, b=yes)."""
        *parents, name = self.names
        if not parents:
            return f"p({name})"
        places = np.unravel_index(row, self.shape[:-1])
        columns = zip(parents, self.labels, places, strict=False)
        given = ", ".join(f"{parent}={labels[place]}" for parent, labels, place in columns)
        return f"p({name} | {given})"


def conditional_table(
    axes: TableAxes, values: Array, refuse: Callable[[int, str], ValueError]
) -> tuple[Array, tuple[str, ...]]:
    """Return the table with an axis for each name, and a note when rows were divided by their sum.

    Sums that differ from 1 by rounding alone stay as they are, so that what was written is read.

    Parameters
    ----------
    axes : TableAxes
    values : ndarray, shape (R, K)
        A row for each combination of states of the parents.
    refuse : callable
        Makes the error for a row and what is wrong with it.

    Raises
    ------
    ValueError
        When a number is negative or not finite, or a row does not sum to 1 within 1e-6.
    """
    require_weights(values, lambda row, what: refuse(row, f"{axes.describe(row)} {what}"))
    with np.errstate(over="ignore"):  # a sum of infinity is refused below
        sums = values.sum(axis=1)
    excess = np.abs(sums - 1.0)
    worst = int(np.argmax(excess))
    if excess[worst] > _TOLERANCE:
        raise refuse(worst, f"{axes.describe(worst)} {_wrong_sum(float(sums[worst]))}")
    if excess[worst] <= values.shape[1] * np.finfo(float).eps:
        return values.reshape(axes.shape), ()
    inexact = excess > values.shape[1] * np.finfo(float).eps
    table = np.where(inexact[:, None], values / sums[:, None], values)
    note = (
        f"{np.count_nonzero(inexact)} of {len(values)} rows of {axes.names[-1]!r} were divided by "
        f"their sums, which differed from 1 by up to {excess[worst]:.1e}"
    )
    return table.reshape(axes.shape), (note,)


def require_weights(values: Array, refuse: Callable[[int, str], ValueError]) -> None:
    """Refuse numbers that are negative or not finite.

    Parameters
    ----------
    values : ndarray, shape (R, K)
    refuse : callable
        Makes the error for a row and what is wrong with it.
    """
    fine = (values >= 0.0) & (values < np.inf)  # NaN is neither
    if not fine.all():
        row, place = np.argwhere(~fine)[0]
        raise refuse(int(row), f"holds {float(values[row, place])}; expected numbers from 0 on")


def _wrong_sum(total: float) -> str:
    apart = f"{abs(total - 1.0):.3g} too {'much' if total > 1.0 else 'little'}"
    return f"sums to {total:.9g}, {apart}; expected 1 within {_TOLERANCE:g}"
