"""Discrete variables, solved together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import decode_labels
from posteriori.modeling.beliefs.group_beliefs import Belief, DiscreteBelief
from posteriori.modeling.binding.labelled import Axis, Table, shape_of, spread
from posteriori.modeling.contract.engine import Result, Terms
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.discrete.discrete_account import discrete_terms
from posteriori.modeling.exact.discrete.discrete_prediction import StatePredictions
from posteriori.modeling.exact.discrete.solved_states import SolvedStates, decode_states
from posteriori.modeling.forms.message_graph import (
    BlockGraph,
    PassedMessages,
    pass_inside,
    table_rows,
)
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock
    from posteriori.tables import JointTable

__all__ = ["DiscreteResult"]


class DiscreteResult(Result):
    """A solved block.

    Attributes
    ----------
    names : tuple of str
    log_evidence : float
        Log probability of the data that the block explains.
    """

    def __init__(self, block: DiscreteBlock) -> None:
        self.block = block
        self.names = block.names
        self.solved = SolvedStates(block.planned)
        self.log_evidence = self.solved.log_total
        self._beliefs = self.solved.marginals()

    def states(self) -> DiscreteBlock:
        """Return the block, which can be solved again together with more."""
        return self.block

    def probabilities(self, name: str) -> Array:
        """Return P(state) of a variable, (*plates, *integer axes, K)."""
        nodes = self.block.graph.nodes[name]
        shape = self.block.bound.layouts[name].shape
        parts = []
        for node in nodes:
            labels = (*self.block.graph.plates[node], node)
            parts.append(spread(self._beliefs[node], labels))
        size = nodes[0].size
        if len(nodes) > 1:
            return np.stack(parts).reshape(*shape, size)
        return np.broadcast_to(parts[0], (*shape, size))

    def marginal(self, name: str) -> Distribution:
        """Return the marginal of a variable, a batch over its plates and integer axes."""
        p = self.probabilities(name)
        if self.block.bound.families[name] is Bernoulli:
            return Bernoulli._from(probability=np.minimum(p[..., 1], 1.0))
        p = np.ascontiguousarray(p / p.sum(axis=-1, keepdims=True))
        return Categorical._from(probabilities=p)._labelled(self._labels(name))

    def most_likely(self) -> dict[str, Any]:
        """Return the states that together have the highest probability."""
        return self._read(decode_states(self.block.planned), ())

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Any]:
        """Draw ``size`` configurations: (size, *plates, *integer axes) for each variable."""
        draw = Axis("draw", size)
        return self._read(self.solved.draw(draw, as_generator(rng)), (draw,))

    def predict(self, solved: Solved, request: Request) -> Distribution | None:
        """Predict what depends on discrete variables only."""
        return self._asked(solved).predict(request)

    def joint(self, solved: Solved, names: Sequence[str]) -> JointTable:
        """Return the joint table of variables, those that nothing informs among them."""
        return self._asked(solved).joint(names)

    def account(self) -> Terms:
        """Return the energies of factors, and the entropy of all variables together."""
        energies, entropy = discrete_terms(self.block.planned, self.solved)
        return Terms(energies, {", ".join(self.names): entropy})

    def messages(self) -> Iterator[PassedMessages]:
        """Pass tables over states."""
        block, graph = self.block, BlockGraph()
        for name, size in block.sizes.items():
            graph.add_states(name, size, block.bound)
        for i, table in enumerate(block.tables):
            factor = block.factors[i] if i < len(block.factors) else None
            last = len(table.views) - 1
            child = last if table.views[last].name == table.name else None
            graph.add_factor(factor, table.rows, table_rows(table, block.bound), child)
        yield pass_inside(graph)

    def carried_over(self, solved: Solved, names: Sequence[str]) -> list[Belief]:
        """Return the joint probabilities of variables of one member each."""
        layouts = solved.bound.layouts
        if any(layouts[n].axes for n in names):
            raise TypeError(
                f"{', '.join(names)} have several members that may depend on one another, which "
                "cannot be carried over to new data: infer again with all data"
            )
        return [DiscreteBelief(tuple(names), np.asarray(self.joint(solved, names).probabilities))]

    def _asked(self, solved: Solved) -> StatePredictions:
        return StatePredictions(solved, type(self.block))

    def _read(self, states: Mapping[Axis, Table], lead: tuple[Axis, ...]) -> dict[str, Any]:
        """Give states the layout of their variables, and labels where these have names."""
        found: dict[str, Any] = {}
        for name in self.names:
            nodes = self.block.graph.nodes[name]
            shape = shape_of(lead) + self.block.bound.layouts[name].shape
            parts = [spread(states[n], (*lead, *self.block.graph.plates[n])) for n in nodes]
            if len(nodes) > 1:
                codes = np.stack(parts, axis=-1).reshape(shape)
            else:
                codes = np.broadcast_to(parts[0], shape)
            labels = self._labels(name)
            found[name] = codes.copy() if labels is None else decode_labels(codes, labels)
        return found

    def _labels(self, name: str) -> Any:
        return self.block.bound.labels.get(name)
