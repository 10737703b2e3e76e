"""Variables of which only the best value is wanted: a node whose belief has no width.

With the unknowns of some nodes at a point, coordinate ascent is expectation maximisation; with all of
them there, it climbs to a mode of the joint density.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.contract.linear_forms import Expectation
from posteriori.modeling.variational.nodes.node import Message, Node
from posteriori.numerics.types import Array

__all__ = ["PointNode"]

#: Where the state of the node inside is kept.
_INSIDE = "node inside"


class PointNode(Node):
    """A node at the mode of what its messages say.

    Parameters
    ----------
    node : Node
        The node that would hold the whole belief.
    """

    noun = "a point"

    def __init__(self, node: Node) -> None:
        self.node = node
        self.names, self.kind, self.form = node.names, node.kind, node.form
        self.restart = node.restart
        self.follows_means, self.comes_last = node.follows_means, node.comes_last
        self.can_turn = node.can_turn
        self._log_total = np.zeros(node.restart.size)

    def update(self, messages: Iterable[Message]) -> None:
        """Move to the mode."""
        self.node.update(messages)
        self._log_total = self.node.settle()

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return the product of the values at the point."""
        return [tuple(table for a in accesses for table in self.node.expect([a])[0])]

    def summable(self, accesses: Sequence[Any], free: frozenset[Axis]) -> frozenset[Axis]:
        return self.node.summable(accesses, free)

    def expect_sum(self, accesses: Sequence[Any], summed: frozenset[Axis]) -> Expectation:
        return self.node.expect_sum(accesses, summed)

    def covariance(self, a: Any, b: Any) -> Expectation:
        return []

    def log_total(self) -> Array:
        """Log of the joint density at the point, for each start."""
        return self._log_total

    def entropy(self) -> Array:
        """0: a point has no width."""
        return np.zeros(self.restart.size)

    def whole(self) -> Node:
        return self.node

    def centre(self, name: str) -> Array | None:
        return self.node.centre(name)

    def set_centre(self, name: str, values: Array) -> None:
        self.node.set_centre(name, values)

    def start_from(self, name: str, value: Any, shape: tuple[int, ...]) -> None:
        self.node.start_from(name, value, shape)

    def select(self, start: int) -> None:
        self.node.select(start)
        self._log_total = self._log_total[start : start + 1]

    def state(self) -> dict[str, Any]:
        return {**super().state(), _INSIDE: self.node.state()}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.node.set_state(state[_INSIDE])
        super().set_state({key: value for key, value in state.items() if key != _INSIDE})

    def second_moment(self, name: str, axis: int) -> Array:
        return self.node.second_moment(name, axis)

    def transform(self, name: str, axis: int, matrix: Array) -> None:
        self.node.transform(name, axis, matrix)

    def overlaps(self, name: str) -> Array:
        return self.node.overlaps(name)

    def map_states(self, name: str, matrix: Array) -> None:
        self.node.map_states(name, matrix)

    def marginal(self, name: str) -> Any:
        """Return the point."""
        return self.node.point(name)

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, Any]:
        return {n: np.broadcast_to(v, (size, *np.shape(v))) for n, v in self.highest().items()}

    def highest(self) -> dict[str, Any]:
        return self.node.highest()

    def describe(self) -> str:
        return self.node.describe()
