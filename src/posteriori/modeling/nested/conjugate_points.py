"""Conjugate blocks at many values of those outside: the points are one more plate of the unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import Axis, count_of
from posteriori.modeling.contract.engine import Group, Result
from posteriori.modeling.exact.conjugate.conjugate_block import ConjugateBlock, fits_conjugate
from posteriori.modeling.exact.conjugate.conjugate_result import ConjugateResult
from posteriori.modeling.forms.conjugate_rows import reshaped
from posteriori.modeling.forms.fixing import (
    fix_at_points,
    repeat_at_points,
    repeat_layouts,
    some_at_once,
    with_points,
)
from posteriori.modeling.forms.rows_apart import rows_about
from posteriori.numerics.types import Array

__all__ = ["ConjugatePoints"]

#: Rows of all points that are read at once: 64 MB of them and their increments.
_ROWS = 2_000_000


class ConjugatePoints:
    """A block of one variable and its conjugate children at points.

    Parameters
    ----------
    block : ConjugateBlock
        At some values of those outside.
    group : Group
        With those outside unknown.
    factors : sequence of BoundFactor
        Those of the block, with those outside unknown.
    """

    def __init__(self, block: ConjugateBlock, group: Group, factors: Sequence[BoundFactor]) -> None:
        self.block = block
        self.group = group
        self.factors = tuple(factors)
        rows = sum(count_of(factor.rows) for factor in factors)
        self.at_once = max(1, _ROWS // max(rows, 1))

    def fits(self, values: Mapping[str, Array]) -> bool:
        """Tell whether the block is conjugate at all of some points."""
        parts = (self._together(part) for part in some_at_once(values, self.at_once))
        return all(_is_about_one(part) and fits_conjugate(part).holds for part in parts)

    def log_evidences(self, values: Mapping[str, Array]) -> Array:
        """Return ln p(data | values) at each point."""
        return np.array([result.log_evidence for result in self.results(values)])

    def results(self, values: Mapping[str, Array]) -> Iterator[Result]:
        """Solve the block at each point."""
        for part in some_at_once(values, self.at_once):
            group = self._together(part)
            block = ConjugateBlock(*group[:3])
            prior = member(block.prior_factor)
            belief, logs = block.learn_places(reshaped(prior, (block.count,)), block.children)
            shape = block.layout.plates[0].size, self.block.count
            batch = reshaped(belief, (shape[0], *prior.batch_shape[1:]))
            for k, log_evidence in enumerate(logs.reshape(shape).sum(axis=1)):
                yield ConjugateResult(take_members(batch, k), float(log_evidence), self.block)

    def _together(self, values: Mapping[str, Array]) -> Group:
        """Return the block with a copy of its unknown at each point."""
        points = Axis("points", len(next(iter(values.values()))))
        bound = with_points(self.group.bound, values, points)
        name = self.block.name
        factors = fix_at_points(self.factors, self.group.bound.layouts, values, points)
        factors = repeat_at_points(factors, (name,), points)
        bound = repeat_layouts(bound, (name,), points)
        return Group(bound, (name,), rows_about((name,), factors, bound))


def _is_about_one(group: Group) -> bool:
    """Tell whether factors see the unknown of a group, and no other one."""
    return all(group.bound.unknowns_of(factor) == {*group.names} for factor in group.factors)
