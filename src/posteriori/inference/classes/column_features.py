r"""Columns of each kind as features, in which log densities and statistics of classes are linear.

.. math:: \ln p(x\mid\theta_k) = \langle \theta_k, t(x)\rangle + c(x), \qquad
   T_k = \sum_n r_{nk}\,t(x_n),

of which :math:`T_k` is what a class with responsibilities r has counted: with r of 0 and 1 that of labelled
rows. A missing entry is 0 in all features of its column, one of which tells whether it is seen.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.inference.classes.class_moments import ColumnMoments, blocks_of_rows
from posteriori.inference.classes.column_models import category_sizes
from posteriori.inference.classes.expected_logs import (
    binary_logs,
    category_logs,
    count_logs,
    normal_logs,
)
from posteriori.inference.classes.gaussian_learning import LearnedClasses
from posteriori.inference.classes.joint_tables import CellCounts, table_cells, table_sizes
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = ["ColumnFeatures", "column_features"]

#: Stands for a probability or rate of 0, which only a column that is constant can have: then no row
#: asks for it, and its logarithm has to be finite only.
_TINY = 1e-300

#: How far sums of features may round below 0.
_ROUNDING = 1e-9

#: The largest table whose cells can be features of their own.
_MOST_FEATURES = 10_000


class ColumnFeatures(Protocol):
    """Features of all columns of one kind."""

    @property
    def size(self) -> int:
        """Number F of features."""
        ...

    def fill(self, x: Array, out: Array) -> None:
        """Write t(x) of rows (B, D) to (F, B)."""

    def tally(self, sums: Array, counts: Array) -> Any:
        """Return statistics of classes from sums of features (K, F) and of rows (K,)."""

    def scores(self, learned: LearnedClasses) -> tuple[Array, Array]:
        """Return what every row has (K,), and θ (K, F)."""


def column_features(kind: str, x: Array, frequency: Array | None, prior: Any) -> ColumnFeatures:
    """Return the features of columns (N, D) of one kind, whose rows count so often."""
    if kind == "table":
        sizes = table_sizes(x)
        if np.prod(np.array(sizes, dtype=np.float64)) > _MOST_FEATURES:
            raise ValueError(
                f"the table of {len(sizes)} columns has more than {_MOST_FEATURES} cells; choose "
                'columns="categorical", which needs one table for each column'
            )
        return CellFeatures(sizes)
    if kind == "categorical":
        return CategoryFeatures(tuple(category_sizes(x, prior)))
    gaps = any(bool(np.isnan(x[here]).any()) for here in blocks_of_rows(x))
    if kind == "normal":
        return NormalFeatures(*_centre_and_scale(x, frequency), gaps)
    return (BinaryFeatures if kind == "bernoulli" else CountFeatures)(x.shape[1], gaps)


def _centre_and_scale(x: Array, frequency: Array | None) -> tuple[Array, Array]:
    """Return mean and standard deviation of seen entries, 1 where there is none, block by block."""
    weight = np.ones(len(x)) if frequency is None else frequency
    count, total, squares = np.zeros((3, x.shape[1]))
    for here in blocks_of_rows(x):
        count += weight[here] @ (x[here] == x[here])
        total += weight[here] @ np.nan_to_num(x[here])
    count[count == 0.0] = 1.0
    centre = total / count
    for here in blocks_of_rows(x):
        squares += weight[here] @ np.nan_to_num(x[here] - centre) ** 2
    return centre, np.sqrt(np.where(squares > 0, squares / count, 1.0))


class BinaryFeatures(NamedTuple):
    """Features x of columns ``width`` that hold 0 and 1, and whether they are seen."""

    width: int
    gaps: bool

    @property
    def size(self) -> int:
        """D, twice as many with gaps."""
        return self.width * (1 + self.gaps)

    def fill(self, x: Array, out: Array) -> None:
        """Write x, 0 where it is missing, and seen."""
        if not self.gaps:
            out[...] = x.T
            return
        np.fmax(x.T, 0.0, out=out[: self.width])  # of a number and NaN it is the number
        np.equal(x.T, x.T, out=out[self.width :])

    def tally(self, sums: Array, counts: Array) -> ColumnMoments:
        """Return counts and means."""
        total = sums[:, : self.width]
        n = sums[:, self.width :] if self.gaps else np.repeat(counts[:, None], self.width, axis=1)
        return ColumnMoments(n, total / np.where(n > 0, n, 1.0), np.zeros_like(total))

    def scores(self, learned: LearnedClasses) -> tuple[Array, Array]:
        """Return x·ln θ/(1 − θ) + ln(1 − θ)."""
        if learned.posterior is None:
            q = learned.densities.probabilities
            one, zero = _log(q), _log(1.0 - q)
        else:
            one, zero = binary_logs(learned.posterior)
        return self._linear(one - zero, zero)

    def _linear(self, slope: Array, offset: Array) -> tuple[Array, Array]:
        if self.gaps:
            return np.zeros(len(slope)), np.concatenate([slope, offset], axis=1)
        return offset.sum(axis=1), slope


class CountFeatures(BinaryFeatures):
    """The same of columns that hold counts."""

    __slots__ = ()

    def scores(self, learned: LearnedClasses) -> tuple[Array, Array]:
        """Return x·ln λ − λ."""
        if learned.posterior is None:
            mean = learned.densities.rate
            log_rate = _log(mean)
        else:
            log_rate, mean = count_logs(learned.posterior)
        return self._linear(log_rate, -mean)


class NormalFeatures(NamedTuple):
    """Features z and z² of standardised columns z = (x − centre)/scale, and whether they are seen."""

    centre: Array
    scale: Array
    gaps: bool

    @property
    def size(self) -> int:
        """Two or three for each column."""
        return len(self.centre) * (2 + self.gaps)

    def fill(self, x: Array, out: Array) -> None:
        """Write z and z², 0 where x is missing, and seen."""
        d = len(self.centre)
        z = out[:d]
        np.subtract(x.T, self.centre[:, None], out=z)
        z /= self.scale[:, None]
        if self.gaps:
            np.equal(z, z, out=out[2 * d :])
            z[np.isnan(z)] = 0.0
        np.multiply(z, z, out=out[d : 2 * d])

    def tally(self, sums: Array, counts: Array) -> ColumnMoments:
        """Return moments of x."""
        d = len(self.centre)
        n = sums[:, 2 * d :] if self.gaps else np.repeat(counts[:, None], d, axis=1)
        mean = sums[:, :d] / np.where(n > 0, n, 1.0)
        squares = np.maximum(sums[:, d : 2 * d] - n * mean**2, 0.0)
        return ColumnMoments(n, self.centre + self.scale * mean, self.scale**2 * squares)

    def scores(self, learned: LearnedClasses) -> tuple[Array, Array]:
        """Return c − ½τ(x − m)², multiplied out in z."""
        if learned.posterior is None:
            scale = learned.densities.scales
            height, precision = -np.log(scale) - 0.5 * LOG_2PI, scale**-2.0
        else:
            height, precision = normal_logs(learned.posterior)
        tau = precision * self.scale**2
        mean = (learned.densities.means - self.centre) / self.scale
        offset = height - 0.5 * tau * mean**2
        theta = np.concatenate([tau * mean, -0.5 * tau], axis=1)
        if self.gaps:
            return np.zeros(len(theta)), np.concatenate([theta, offset], axis=1)
        return offset.sum(axis=1), theta


class CategoryFeatures(NamedTuple):
    """A feature for each category of each column, 1 where it is the row's."""

    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of all categories."""
        return sum(self.sizes)

    def fill(self, x: Array, out: Array) -> None:
        """Write 1 for the category of each seen entry, else 0."""
        out[...] = 0.0
        first = 0
        for column, size in zip(x.T, self.sizes, strict=True):
            seen = np.flatnonzero(column == column)
            out[first + column[seen].astype(np.intp), seen] = 1.0
            first += size

    def tally(self, sums: Array, counts: Array) -> list[Array]:
        """Return counts (K, C) of each column."""
        return np.split(sums, np.cumsum(self.sizes)[:-1], axis=1)

    def scores(self, learned: LearnedClasses) -> tuple[Array, Array]:
        """Return ln θ_c."""
        if learned.posterior is None:
            logs = [_log(table) for table in learned.densities.tables]
        else:
            logs = [category_logs(belief) for belief in learned.posterior]
        theta = np.concatenate(logs, axis=1)
        return np.zeros(len(theta)), theta


class CellFeatures(NamedTuple):
    """A feature for each combination of categories."""

    sizes: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of cells."""
        return int(np.prod(self.sizes))

    def fill(self, x: Array, out: Array) -> None:
        """Write 1 for the cell of each row, else 0."""
        out[...] = 0.0
        out[table_cells(x, self.sizes), np.arange(len(x))] = 1.0

    def tally(self, sums: Array, counts: Array) -> CellCounts:
        """Return counts of the cells."""
        return CellCounts(self.sizes, sums)

    def scores(self, learned: LearnedClasses) -> tuple[Array, Array]:
        """Return ln θ of the cells."""
        if learned.posterior is None:
            theta = _log(learned.densities.table)
        else:
            theta = category_logs(learned.posterior)
        return np.zeros(len(theta)), theta


def _log(share: Array) -> Array:
    """Return the logarithms of probabilities or rates, refusing what no rows can have."""
    if (share < -_ROUNDING).any():
        raise ValueError("sums of features of rows are not negative")
    return np.log(np.maximum(share, _TINY))
