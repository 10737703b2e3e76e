"""Tables over discrete variables as flat arrays: what every exact answer starts from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.numerics.compilation import as_kernel_indices, as_kernel_input
from posteriori.numerics.types import Array, IntArray

__all__ = ["LEAST", "TableSet", "gather_log_tables", "gather_scopes", "gather_tables", "in_logs"]

#: Products are held as plain numbers while no cell can be smaller than e to this.
LEAST = -640.0


class TableSet(NamedTuple):
    """The factors of a distribution over variables 0, …, n − 1.

    Attributes
    ----------
    sizes : (n,) of int
        States of each variable.
    start : (F + 1,) of int
    scope, stride : (S,) of int
        Table f has the variables ``scope[start[f] : start[f + 1]]``, whose next state is so many cells on.
    base, row : (F,) of int
        Its first cell, and how many cells further that of the next row of evidence is: 0 where all rows
        share it.
    cells : (M,)
        All tables, each divided by its largest cell; or, with ``logs``, the logarithms of that.
    log_scale : (F,)
        ln of what they were divided by.
    floor : (F,)
        ln of the smallest cell that is not 0.
    logs : bool
    """

    sizes: IntArray
    start: IntArray
    scope: IntArray
    stride: IntArray
    base: IntArray
    row: IntArray
    cells: Array
    log_scale: Array
    floor: Array
    logs: bool

    @property
    def n_tables(self) -> int:
        """How many tables there are."""
        return len(self.base)

    def scope_of(self, table: int) -> IntArray:
        """Return the variables of a table."""
        return self.scope[self.start[table] : self.start[table + 1]]


def gather_tables(
    sizes: Sequence[int], scopes: Sequence[Sequence[int]], tables: Sequence[Array]
) -> TableSet:
    """Return tables of nonnegative numbers, each over the variables of its scope, as one value."""
    return _gather(sizes, scopes, [_scaled(np.asarray(table, dtype=float)) for table in tables])


def gather_log_tables(
    sizes: Sequence[int], scopes: Sequence[Sequence[int]], logs: Sequence[Array]
) -> TableSet:
    """Return tables that are given by their logarithms; they stay such where plain numbers would not hold them."""
    made = [_shifted(table) for table in logs]
    if min((floor for _, _, floor in made), default=0.0) < LEAST:
        return _gather(sizes, scopes, made)._replace(logs=True)
    return _gather(sizes, scopes, [(np.exp(cells), top, floor) for cells, top, floor in made])


def gather_scopes(sizes: Sequence[int], scopes: Sequence[Sequence[int]]) -> TableSet:
    """Return tables without cells, to plan for those that are to come."""
    return _gather(sizes, scopes, [(np.zeros(0), 0.0, 0.0) for _ in scopes])


def _gather(
    sizes: Sequence[int],
    scopes: Sequence[Sequence[int]],
    made: Sequence[tuple[Array, float, float]],
) -> TableSet:
    """Lay tables behind one another, each with its scale and the logarithm of its smallest cell."""
    start = np.cumsum([0, *(len(scope) for scope in scopes)])
    scope = np.array([v for scope in scopes for v in scope], dtype=np.int64)
    strides = [_strides([sizes[v] for v in scope]) for scope in scopes]
    base = np.cumsum([0, *(cells.size for cells, _, _ in made)])
    steps = np.array([step for steps in strides for step in steps])
    places = (np.array(sizes), start, scope, steps, base[:-1], np.zeros(len(made)))
    numbers = (
        np.concatenate([np.zeros(0), *(cells.reshape(-1) for cells, _, _ in made)]),
        np.array([scale for _, scale, _ in made]),
        np.array([floor for _, _, floor in made]),
    )
    return TableSet(*map(as_kernel_indices, places), *map(as_kernel_input, numbers), False)  # type: ignore[call-arg, arg-type]


def in_logs(tables: TableSet) -> TableSet:
    """Return the same tables in logarithms: slower, and without a limit to how small a product may be."""
    with np.errstate(divide="ignore"):
        cells = np.log(tables.cells)
    return tables._replace(cells=as_kernel_input(cells), logs=True)


def _scaled(cells: Array) -> tuple[Array, float, float]:
    """Return a table divided by its largest cell, ln of that cell, and of the smallest that is not 0."""
    top = cells.max(initial=0.0)
    if not top > 0.0:
        return cells, 0.0, 0.0
    scaled = cells / top
    return scaled, float(np.log(top)), float(np.log(scaled[scaled > 0.0].min()))


def _shifted(logs: Array) -> tuple[Array, float, float]:
    """Return logarithms less the largest, that one, and the smallest that is left above −∞."""
    top = float(logs.max(initial=-np.inf))
    if top == -np.inf:
        return logs, 0.0, 0.0
    shifted = logs - top
    return shifted, top, float(shifted[shifted > -np.inf].min())


def _strides(shape: Sequence[int]) -> list[int]:
    """Return how many cells on the next state of each axis is, that of the last axis being the next cell."""
    steps, step = [], 1
    for size in reversed(shape):
        steps.append(step)
        step *= size
    return steps[::-1]
