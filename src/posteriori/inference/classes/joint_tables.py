r"""Several categorical columns together: one probability for each combination of categories.

With D columns of 0 and 1 a class has :math:`2^D - 1` free parameters, against D of naive Bayes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln, xlogy

from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.inference.classes.class_moments import ClassRows
from posteriori.inference.classes.gaussian_learning import LearnedClasses
from posteriori.numerics.types import Array

__all__ = [
    "CellCounts",
    "TableClasses",
    "count_cells",
    "learn_table",
    "log_beta",
    "table_cells",
    "table_sizes",
]

#: The largest table that is learned.
_MOST_CELLS = 10_000_000


class TableClasses(NamedTuple):
    """Joint probabilities of categories.

    Attributes
    ----------
    sizes : tuple of D int
        Number of categories of each column.
    table : (K, C)
        Probabilities of the C combinations, the last column running fastest.
    """

    sizes: tuple[int, ...]
    table: Array

    def log_prob(self, x: Array) -> Array:
        """Return ln p(x | C_k), (N, K)."""
        with np.errstate(divide="ignore"):
            return np.log(self.table.T)[self.cells(x)]

    def cells(self, x: Array) -> Any:
        """Return the place of each row's combination in the table, (N,)."""
        _require_whole_rows(x)
        too_large = x >= np.array(self.sizes)
        if too_large.any():
            row, column = np.argwhere(too_large)[0]
            raise ValueError(
                f"category {x[row, column]:.0f} of column {column} of the table was not there to be "
                f"learned (0 to {self.sizes[column] - 1} were)"
            )
        return table_cells(x, self.sizes)

    def sample(self, codes: Any, rng: np.random.Generator) -> Array:
        """Draw a row for each class code."""
        cells = np.empty(len(codes), dtype=np.intp)
        for k, p in enumerate(self.table):
            mine = codes == k
            cells[mine] = rng.choice(len(p), size=int(mine.sum()), p=p)
        return np.stack(np.unravel_index(cells, self.sizes), axis=1).astype(np.float64)

    @property
    def n_parameters(self) -> int:
        """Free parameters of one class."""
        return self.table.shape[1] - 1


class CellCounts(NamedTuple):
    """How often each class has each combination: ``counts`` (K, C) of tables of the given ``sizes``."""

    sizes: tuple[int, ...]
    counts: Array


def count_cells(rows: ClassRows, prior: Any) -> CellCounts:
    """Return the combinations of categories of labelled rows, counted."""
    sizes = table_sizes(rows.x)
    k, n_cells = len(rows.classes), int(np.prod(sizes))
    flat = rows.codes * n_cells + table_cells(rows.x, sizes)
    counts = np.bincount(flat, weights=rows.frequency, minlength=k * n_cells)
    return CellCounts(sizes, counts.reshape(k, n_cells).astype(np.float64))


def table_sizes(x: Array) -> tuple[int, ...]:
    """Return the number of categories of each column, refusing tables that are too large."""
    _require_whole_rows(x)
    sizes = tuple((np.maximum(x.max(axis=0), 1.0).astype(int) + 1).tolist())
    n_cells = float(np.prod(np.array(sizes, dtype=np.float64)))
    if n_cells > _MOST_CELLS:
        raise ValueError(
            f"the table of {len(sizes)} columns has {n_cells:.3g} cells for each class; choose "
            'columns="categorical", which needs one table for each column'
        )
    return sizes


def learn_table(
    cells: CellCounts, prior: Dirichlet | None, integrate: bool, labels: Any
) -> LearnedClasses:
    """Learn one table for each class; the prior is of all its cells."""
    sizes, counts = cells
    if not integrate:
        table = counts / counts.sum(axis=1, keepdims=True)
        return LearnedClasses(TableClasses(sizes, table), None, float(xlogy(counts, table).sum()))
    n_cells = counts.shape[1]
    prior = prior or Dirichlet(np.ones(n_cells))
    before = prior.concentration
    if before.shape != (n_cells,):
        raise ValueError(f"the prior must have one entry for each of the {n_cells} cells")
    after = before + counts
    table = after / after.sum(axis=1, keepdims=True)
    value = float((log_beta(after) - log_beta(before)).sum())
    return LearnedClasses(TableClasses(sizes, table), Dirichlet(after), value, prior=prior)


def log_beta(concentration: Array) -> Any:
    """Return the log normaliser of Dirichlet distributions."""
    return gammaln(concentration).sum(axis=-1) - gammaln(concentration.sum(axis=-1))


def _require_whole_rows(x: Array) -> None:
    if np.isnan(x).any():
        row, column = np.argwhere(np.isnan(x))[0]
        raise ValueError(f"row {row} misses column {column} of the table (NaN); leave the row out")


def table_cells(x: Array, sizes: tuple[int, ...]) -> Any:
    """Return the place of each row's combination among all, (N,)."""
    return np.ravel_multi_index(tuple(x.T.astype(np.intp)), sizes)
