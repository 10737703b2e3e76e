"""What variational inference has found: beliefs about the variables of a block, and the bound."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.beliefs.group_beliefs import Belief
from posteriori.modeling.binding.bound import Layout
from posteriori.modeling.binding.labelled import Table
from posteriori.modeling.contract.engine import Group, Result, Terms
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.contract.weighable import Apart, Weighable
from posteriori.modeling.forms.data_points import as_codes
from posteriori.modeling.forms.message_graph import (
    BlockGraph,
    NoMessages,
    PassedMessages,
    pass_inside,
)
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.modeling.variational.ascent.coordinate_ascent import Ascent
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.augmentation.correction import (
    Correction,
    can_correct,
    correct,
)
from posteriori.modeling.variational.densities.heavy_tails import is_weight, without_weight
from posteriori.modeling.variational.messages.expected_factors import node_graphs
from posteriori.modeling.variational.nodes.grid_node import GridNode
from posteriori.modeling.variational.nodes.node import Node
from posteriori.modeling.variational.overconfidence import find_too_narrow, is_cut_from_states
from posteriori.modeling.variational.prediction.drawn_prediction import predict_by_draws
from posteriori.modeling.variational.prediction.variational_prediction import (
    predict_from_posterior,
    predict_under_beliefs,
)
from posteriori.modeling.variational.responses import find_responding
from posteriori.numerics.evidence import Namings
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["VariationalResult"]

#: Numbers of all messages of a factor: 400 MB.
_MOST_NUMBERS = 50_000_000


class VariationalResult(Result):
    """Beliefs about all variables of a variational block.

    Attributes
    ----------
    names : tuple of str
    log_evidence : float
        The bound.
    ascent : Ascent
    informed : VariationalResult
        Of the members that data depend on: what the bound is made of.
    """

    def __init__(
        self,
        approximation: Approximation,
        problem: Problem,
        ascent: Ascent,
        informed: VariationalResult | None = None,
    ) -> None:
        self.informed = informed or self
        self.approximation = approximation
        self.problem = problem
        self.ascent = ascent
        self.names = tuple(name for name in approximation.names if not is_weight(name))
        self.kind = "type-II" if approximation.options.form else "bound"
        structure, known = approximation.structure, approximation.bound.evidence
        classes = {n for n, kind in structure.exchangeable.items() if kind == "classes"}
        #: Where no prior tells classes apart the ascent has found one of their orders.
        self.namings: Namings = "one" if classes - {*structure.named, *known} else "all"
        self.trace = ascent.trace
        self.log_evidence = ascent.trace[-1]
        #: Densities on grids have no prior that they could be: all data are looked at again.
        self.looks_again = any(node.kind == GridNode.kind for node in problem.nodes)

    def marginal(self, name: str) -> Distribution:
        """Return the posterior of a variable, a batch over its plates and integer axes.

        It is what draws tell, or the belief.
        """
        if name in self.corrected():
            assert self.correction is not None
            return self.correction.marginal(name)
        return self.believed(name)

    def believed(self, name: str) -> Distribution:
        """Return the belief about a variable, as the ascent found it."""
        return self.approximation.restored(name, self.problem.owner[name].marginal(name))

    @cached_property
    def correction(self) -> Correction | None:
        """Draws of a small block whose beliefs are too sure, from the first question for a marginal on."""
        if self.informed is not self:
            return self.informed.correction
        found = self.approximation
        if not can_correct(found) or not is_cut_from_states(found, self.believed):
            return None
        return correct(found, self.problem)

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Any]:
        """Draw all variables, (size, *shape) each: joint within a group, independent between.

        What draws of the exact posterior answer for is joint.
        """
        generator = as_generator(rng)
        known = self.corrected()
        drawn = {} if self.correction is None else self.correction.sample(known, size, generator)
        found: dict[str, Any] = {}
        for node in self.problem.nodes:
            if not set(node.names) <= set(known):
                found |= node.draw(size, generator)
        restored = self.approximation.restored
        return {n: drawn[n] if n in drawn else restored(n, found[n]) for n in self.names}

    def most_likely(self) -> dict[str, Any]:
        """Return the highest point of the belief of each group."""
        found: dict[str, Any] = {}
        for node in self.problem.nodes:
            found |= node.highest()
        return {name: self.approximation.restored(name, found[name]) for name in self.names}

    def answers(self, names: Iterable[str]) -> dict[str, Node]:
        """Return the node of each variable."""
        return {name: self.problem.owner[name] for name in names if name in self.problem.owner}

    def references(self, name: str, layouts: Mapping[str, Layout]) -> dict[str, Table]:
        """Return what a variable is measured from, over its axes in another binding."""
        if name not in self.approximation.references:
            return {}
        values, labels = self.approximation.references[name]
        old = self.approximation.bound.layouts[name].axes
        new = dict(zip(old, layouts[name].axes, strict=True))
        return {name: Table(values, tuple(new[a] for a in labels))}

    def predict(self, solved: Solved, request: Request) -> Distribution | None:
        """Predict by draws of the exact posterior where these correct beliefs, or under the beliefs."""
        found = predict_from_posterior(solved, request)
        if found is None and self.correction is not None:
            found = predict_by_draws(solved, request)
        return predict_under_beliefs(solved, request) if found is None else found

    def account(self) -> Terms:
        """Return E[ln f] of each factor, and the entropy of each group."""
        problem, factors = self.informed.problem, self.informed.approximation.factors
        energies = [
            (without_weight(factors[i].name), float(e[0])) for i, e in problem.energies().items()
        ]
        groups = {", ".join(node.names): float(node.entropy()[0]) for node in problem.nodes}
        return Terms(energies, groups)

    def messages(self) -> Iterator[PassedMessages]:
        """Pass messages inside each group that is believed in independently."""
        for graph in node_graphs(self.informed):
            names = ", ".join(graph.variables)
            if _numbers_of_messages(graph) > _MOST_NUMBERS:
                reason = f"no messages to {names}: one for each row would be too large to write out"
                yield PassedMessages(graph, NoMessages(graph.variables, reason))
                continue
            try:
                yield pass_inside(graph)
            except ValueError:
                reason = (
                    f"no messages between {names}: factors that join their members close a loop. Their "
                    "belief is that of all of them together, and post[...] has its marginals"
                )
                yield PassedMessages(graph, NoMessages(graph.variables, reason))

    def joint(self, solved: Solved, names: Sequence[str]) -> MvNormal:
        """Return the joint belief of normal variables of one group, put one after another."""
        mean, cov = self.joint_moments(names)
        if self.correction is not None and set(names) <= set(self.corrected()):
            mean, cov = self.correction.joint_moments(names)
        return MvNormal(mean, cov=cov)

    def joint_moments(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return mean and covariance of normal variables of one group, put one after another.

        Raises
        ------
        ValueError
            When they are believed in independently.
        TypeError
            When they are not normal, or lie on a chain.
        """
        owners = {id(self.problem.owner[name]): self.problem.owner[name] for name in names}
        if len(owners) > 1:
            groups = "; ".join(", ".join(node.names) for node in self.problem.nodes)
            raise ValueError(
                f"{' and '.join(names)} are believed in independently: their joint distribution is "
                f"the product (groups: {groups})"
            )
        (node,) = owners.values()
        mean, cov = node.joint_moments(names)
        parts = (np.zeros(self.approximation.bound.layouts[name].shape) for name in names)
        shift = [
            self.approximation.restored(n, z).ravel() for n, z in zip(names, parts, strict=True)
        ]
        return mean + np.concatenate(shift), cov

    def carried_over(self, solved: Solved, names: Sequence[str]) -> list[Belief]:
        """Return what is believed of some variables, group by group."""
        found: list[Belief] = []
        for node in self.problem.nodes:
            mine = tuple(n for n in node.names if n in names)
            if mine:
                shapes = {name: self.approximation.bound.layouts[name].shape for name in mine}
                shifts = {n: self.approximation.restored(n, np.zeros(shapes[n])) for n in mine}
                found += [belief.moved(shifts) for belief in node.carried_over(mine)]
        return found

    def weighable(self) -> Weighable:
        """Return draws of each group; unknowns at points keep their values."""
        found, bound = self.informed, self.informed.approximation.bound
        chosen = found.approximation.options.form
        groups, points = [], dict[str, Any]()
        for node in found.problem.nodes:
            if chosen.keys().isdisjoint(node.names):
                groups.append(found._apart(node))
            else:
                points |= {n: found.approximation.restored(n, v) for n, v in node.highest().items()}
        approximated = Group(bound, found.names, found.approximation.written)
        return Weighable(approximated, tuple(groups), as_codes(points, bound), found.believed)

    def _apart(self, node: Any) -> Apart:
        bound, restored = self.approximation.bound, self.approximation.restored

        def draw(size: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
            draws = as_codes(node.draw(size, rng), bound)
            values = {name: restored(name, drawn) for name, drawn in draws.items()}
            log_q = node.log_prob(draws) if node.has_density else np.full(size, np.nan)
            return values, np.broadcast_to(log_q, (size,))

        size = sum(math.prod(bound.layouts[name].shape) for name in node.names)
        return Apart(node.names, size, node.has_density, draw)

    def too_narrow(self) -> tuple[str, ...]:
        """Return unknowns that were cut from others which they depend on, in the order of the model."""
        if self.correction is not None:
            return self.correction.too_narrow
        return self.informed._too_narrow

    @cached_property
    def _too_narrow(self) -> tuple[str, ...]:
        found = {*find_too_narrow(self.approximation, self.believed)}
        found |= find_responding(self.problem, self.ascent)
        return tuple(name for name in self.names if name in found)

    def cautions(self) -> list[str]:
        """Return what draws could not tell."""
        return [] if self.correction is None else self.correction.cautions

    def corrected(self) -> tuple[str, ...]:
        """Return unknowns that draws answer for: those with all their members."""
        if self.correction is None:
            return ()
        layouts, informed = (
            self.approximation.bound.layouts,
            self.informed.approximation.bound.layouts,
        )
        return tuple(
            n for n in self.names if n in informed and layouts[n].shape == informed[n].shape
        )

    def chains(self, name: str) -> Array | None:
        """Return the walks of an unknown that draws answer for."""
        if name not in self.corrected():
            return None
        assert self.correction is not None
        return np.swapaxes(self.correction.walks.draws[name], 0, 1)

    @property
    def n_draws(self) -> int:  # type: ignore[override]
        """Draws of the correction."""
        return 0 if self.correction is None else self.correction.walks.size

    def used_classes(self) -> dict[str, tuple[int, int]]:
        """Return how many states of each index of unknown parameters are used, and how many it has.

        A state is used when at least half a member is expected to be in it.
        """
        found = {}
        for name, kind in self.approximation.structure.exchangeable.items():
            if kind == "classes":
                p = np.asarray(self.informed.problem.owner[name].centre(name))[0]
                expected = p.reshape(-1, p.shape[-1]).sum(axis=0)
                found[name] = (int(np.sum(expected >= 0.5)), len(expected))
        return found


def _numbers_of_messages(graph: BlockGraph) -> int:
    """Return how many numbers the messages of a factor to all its rows have at most."""
    sizes = [
        factor.rows * sum(math.prod(shape) for shape in graph.variables[view.variable].shapes)
        for factor in graph.factors
        for view in factor.views
    ]
    return max(sizes, default=0)
