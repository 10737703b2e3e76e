"""One variable and its conjugate children as a graph on which messages pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.distributions.conjugate.pair import NaturalPair
from posteriori.inference.messages.forest_order import RowFactor, View
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import shape_of
from posteriori.modeling.forms.conjugate_rows import Child, Sight, place_index, reshaped, see
from posteriori.modeling.forms.message_graph import BlockGraph, missing_numbers
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.exact.conjugate.conjugate_block import ConjugateBlock

__all__ = ["conjugate_graph"]


def conjugate_graph(block: ConjugateBlock) -> BlockGraph:
    """Return the graph of one variable and its children."""
    bound = block.bound
    prior = reshaped(member(block.prior_factor), (block.count,))
    name, own = block.name, block.prior_factor
    graph = BlockGraph()
    shapes = [np.shape(part)[1:] for part in prior.natural]
    graph.add_natural(name, shape_of(own.rows), type(prior), shapes)

    def send_prior(rows: Any, slot: int, incoming: Any) -> tuple[Array, ...]:
        return tuple(np.asarray(part)[rows] for part in prior.natural)

    graph.add_factor(own, own.rows, RowFactor(name, block.count, (View(name),), send_prior), 0)
    for factor, child in zip(block.child_factors, block.children, strict=True):
        graph.add_factor(factor, factor.rows, _conjugate_rows(factor, child, prior, block, bound))
    return graph


def _conjugate_rows(
    factor: BoundFactor, child: Child, prior: Any, block: ConjugateBlock, bound: Bound
) -> RowFactor:
    """Return the rows of a child, whose messages are increments of natural parameters."""
    if child.has_known_rows or not issubclass(child.pair_class(type(prior)), NaturalPair):
        raise TypeError(
            f"no messages to {block.name}: rows of {child.name} ({child.family.__name__}) do not "
            f"add to the natural parameters of a {type(prior).__name__}"
        )
    one = take_members(prior, 0)
    shapes = [np.shape(part)[1:] for part in prior.natural]
    there = ~np.any(missing_numbers(factor, bound), axis=1)
    position = np.cumsum(there) - 1  # of a row among those that are there

    def send(rows: Any, slot: int, incoming: Any) -> tuple[Array, ...]:
        said = there[rows]
        made = tuple(np.zeros((len(rows), *shape)) for shape in shapes)
        if said.any():
            part = child.at(position[rows[said]])
            for total, sums in zip(
                made, part.pair(one).summarize(part.values[None]).sums, strict=True
            ):
                total[said] = sums
        return made

    sight = see(factor, block.name, block.layout)
    assert isinstance(sight, Sight)
    index = place_index(sight, factor.rows, block.layout)
    return RowFactor(child.name, len(there), (View(block.name, index),), send)
