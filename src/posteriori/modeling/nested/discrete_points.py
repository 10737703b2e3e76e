"""Discrete blocks at many values of numbers outside: tables are read for all points at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock, DiscreteResult
from posteriori.modeling.forms.fixing import fix_at_points, some_at_once, with_points
from posteriori.modeling.forms.state_tables import StateTable, state_table
from posteriori.numerics.types import Array

__all__ = ["DiscretePoints"]

#: Cells of the tables of all points that are held at once: 32 MB.
_CELLS = 4_000_000


class DiscretePoints:
    """A block of discrete variables at points.

    Parameters
    ----------
    block : DiscreteBlock
        At some values of those outside.
    group : Group
        With those outside unknown.
    factors : sequence of BoundFactor
        Those of the block, in its order, with those outside unknown.
    """

    def __init__(self, block: DiscreteBlock, group: Group, factors: Sequence[BoundFactor]) -> None:
        self.block = block
        self.group = group
        self.factors = tuple(factors)
        cells = sum(table.table.values.size for table in block.tables)
        self.at_once = max(1, _CELLS // max(cells, 1))

    def solve(self, values: Mapping[str, Array]) -> Iterator[DiscreteResult]:
        """Solve the block at each point."""
        for part in some_at_once(values, self.at_once):
            yield from self._solve_together(part)

    def _solve_together(self, values: Mapping[str, Array]) -> Iterator[DiscreteResult]:
        points = Axis("points", len(next(iter(values.values()))))
        bound = with_points(self.group.bound, values, points)
        factors = fix_at_points(self.factors, self.group.bound.layouts, values, points)
        tables = [state_table(factor, bound, self.block.sizes) for factor in factors]
        tables += self.block.tables[len(tables) :]
        block = self.block
        for k in range(points.size):
            block = block.refilled([_at_point(table, points, k) for table in tables])
            yield block.solve()


def _at_point(table: StateTable, points: Axis, k: int) -> StateTable:
    """Return the table at one of its points."""
    rows = tuple(axis for axis in table.rows if axis is not points)
    values, axes = table.table
    if points in axes:
        where = axes.index(points)
        values, axes = values.take(k, axis=where), axes[:where] + axes[where + 1 :]
    return table._replace(table=Table(values, axes), rows=rows)
