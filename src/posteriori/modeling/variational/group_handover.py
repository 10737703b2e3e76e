"""What independent beliefs hand over to the data that follow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from posteriori.modeling.beliefs.group_beliefs import (
    Belief,
    ConjugateBelief,
    NormalBelief,
    dense_belief,
)
from posteriori.modeling.variational.nodes.conjugate_node import ConjugateNode
from posteriori.modeling.variational.nodes.discrete_node import DiscreteNode
from posteriori.modeling.variational.nodes.gaussian_node import GaussianNode
from posteriori.modeling.variational.nodes.point_node import PointNode
from posteriori.modeling.variational.stream.streamed_node import awaited
from posteriori.numerics.linalg import symmetrize

if TYPE_CHECKING:
    from posteriori.modeling.variational.variational_result import VariationalResult

__all__ = ["groups_carried_over"]


def groups_carried_over(result: VariationalResult, names: Sequence[str]) -> list[Belief]:
    """Return what is believed of some variables, group by group."""
    found: list[Belief] = []
    for node in result.problem.nodes:
        mine = tuple(n for n in node.names if n in names)
        if not mine:
            continue
        node = awaited(node)
        if isinstance(node, ConjugateNode):
            found.append(ConjugateBelief(mine[0], node.pick(0)))
        elif isinstance(node, DiscreteNode) and not node.is_joined:
            found += [ConjugateBelief(n, result.marginal(n)) for n in mine]
        elif isinstance(node, GaussianNode):
            found.append(_of_node(result, node, mine))
        else:
            kind = "a point" if isinstance(node, PointNode) else f"a {node.kind} group"
            raise TypeError(
                f"what is known of {', '.join(mine)}, {kind}, cannot be carried over to new data: "
                "infer again with all data"
            )
    return found


def _of_node(result: VariationalResult, node: GaussianNode, names: tuple[str, ...]) -> NormalBelief:
    if names != node.names:
        joint = result.joint_moments(names)
        return dense_belief(names, *joint, result.block.bound.layouts)
    n = node.size
    mean = np.array(node.mean[0])
    flat = np.arange(mean.size).reshape(1, *mean.shape)
    for name, places in node.unpack(flat).items():
        shift = np.asarray(result.marginal(name).mean) - node.marginal(name).mean
        mean.reshape(-1)[places[0]] += shift
    cov = np.broadcast_to(node.cov[0], (*mean.shape, n))
    where = node.unpack(np.broadcast_to(np.arange(n), (1, *mean.shape)))
    batch = {name: node.batch_of(name) for name in names}
    numbers = {}
    for name in names:
        first = tuple(0 if i in batch[name] else slice(None) for i in range(where[name].ndim - 1))
        numbers[name] = where[name][0][first]
    return NormalBelief(names, mean, symmetrize(np.linalg.inv(cov)), batch, numbers)
