"""A model whose groups of variables are believed in independently: q = Π q(group).

It says what is approximated: the log density as monomials, the groups, and what normal variables are
measured from; and it makes the nodes of the groups, in the order of their updates.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from operator import attrgetter
from typing import Any, NamedTuple

from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Axis, Lookup, Switch, Table, spread
from posteriori.modeling.binding.products import axes_of
from posteriori.modeling.contract.options import Options
from posteriori.modeling.forms.state_tables import DISCRETE, number_of_states
from posteriori.modeling.variational.ascent.grouping import LARGEST_JOINT, find_structure
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.densities.addressing import add_up_rows
from posteriori.modeling.variational.densities.densities import log_density, why_not_variational
from posteriori.modeling.variational.densities.heavy_tails import with_weights
from posteriori.modeling.variational.densities.law import LAWS
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.modeling.variational.densities.number_functions import (
    keys_of,
    leaves_family,
    numbers_of,
)
from posteriori.modeling.variational.densities.references import find_references, measured_from
from posteriori.modeling.variational.nodes.chain_node import ChainNode
from posteriori.modeling.variational.nodes.conjugate_node import ConjugateNode
from posteriori.modeling.variational.nodes.discrete_node import DiscreteNode
from posteriori.modeling.variational.nodes.gaussian_node import GaussianNode
from posteriori.modeling.variational.nodes.grid_node import GridNode
from posteriori.modeling.variational.nodes.node import Node
from posteriori.modeling.variational.nodes.normal_node import batch_axes, longest_vector, time_of
from posteriori.modeling.variational.nodes.point_node import PointNode
from posteriori.modeling.variational.nodes.sparse_node import SparseNode
from posteriori.modeling.variational.nodes.sparse_numbers import SparseNumbers
from posteriori.modeling.variational.nodes.state_chain import find_state_chain

__all__ = ["Approximation", "Turn"]


class Turn(NamedTuple):
    """When a node is updated in a sweep: the lower first, the first entry that differs decides.

    Attributes
    ----------
    is_new : bool
        New nodes answer for what they share with nodes that were solved before.
    is_started : bool
        A node that has a start is of use to the others before its update.
    follows_means : bool
        Precisions measured from prior means would hide what a start has found.
    """

    is_new: bool
    is_started: bool
    follows_means: bool


class Approximation:
    """What is approximated.

    Parameters
    ----------
    bound : Bound
    names : sequence of str
        The unknown variables.
    factors : sequence of BoundFactor
        All factors that touch them.
    options : Options
    references : mapping to Table, optional
        What normal variables are measured from; by default chosen from the data.
    groups : sequence of tuples of str, optional
        Which variables are believed in jointly; by default all that can be.

    Attributes
    ----------
    written, factors : tuple of BoundFactor
        As they were given, and with normal variables measured from their references.
    monomials : list of Monomial
        The log density.
    structure : Structure
        How the variables belong together.
    """

    def __init__(
        self,
        bound: Bound,
        names: Sequence[str],
        factors: Sequence[BoundFactor],
        options: Options,
        references: Mapping[str, Table] | None = None,
        groups: Sequence[tuple[str, ...]] | None = None,
    ) -> None:
        bound, names, factors = with_weights(bound, names, factors)
        self.bound, self.names, self.options = bound, names, options
        self.written = factors
        self.references = find_references(factors, bound) if references is None else references
        self.factors = tuple(measured_from(self.references, factors, bound.layouts))
        for name in self.names:
            reason = why_not_variational(bound, name)
            if reason is not None:
                raise TypeError(f"no method for {name}: {reason}")
        written = [
            m for i, factor in enumerate(self.factors) for m in log_density(factor, bound, i)
        ]
        self.monomials = add_up_rows(written, bound.layouts)
        self.structure = find_structure(
            bound, self.names, self.factors, self.monomials, self._apart(), groups
        )

    def _apart(self) -> Iterable[Iterable[str]] | str:
        """Return what is not to be joined: a point would make points of all that it is joined with."""
        apart, points = self.options.factorize, self.options.form.keys()
        if isinstance(apart, str):
            return apart
        others = [name for name in self.names if name not in points]
        return [*apart, *((point, other) for point in points for other in others)]

    @cached_property
    def chained(self) -> set[str]:
        """The discrete variables whose members meet as a chain."""
        found = set()
        for monomial in self.monomials:
            steps = [access for access in monomial.accesses if isinstance(access, Switch)]
            if len(steps) == 2:
                axes = self.bound.layouts[steps[0].name].axes
                if find_state_chain(steps, axes) or find_state_chain(steps[::-1], axes):
                    found.add(steps[0].name)
        return found

    @cached_property
    def largest(self) -> float:
        """How many numbers a table has at most, those of members that rows name among them."""
        found = []
        for monomial in self.monomials:
            sizes = [float(axis.size) for axis in axes_of(monomial)]
            for access in monomial.accesses:
                axes = self.bound.layouts[access.name].axes
                seen = zip(access.places, axes, strict=False)
                sizes += [axis.size for place, axis in seen if isinstance(place, Lookup)]
            found.append(2.0 * math.prod(sizes))  # J and Σ of normal vectors
        return max(found)

    def regrouped(self, groups: Sequence[tuple[str, ...]]) -> Approximation:
        """Return the approximation with other groups."""
        return Approximation(
            self.bound, self.names, self.written, self.options, self.references, groups
        )

    def restored(self, name: str, values: Any) -> Any:
        """Return values of a variable, or its distribution, with its reference added."""
        if name not in self.references:
            return values
        return values + spread(self.references[name], self.bound.layouts[name].axes)

    # -- nodes ---------------------------------------------------------------------------------

    def problem(self, restart: Axis, solved: Mapping[str, Node] | None = None) -> Problem:
        """Return the problem of all nodes; some groups may have theirs already, by their first name."""
        known = solved or {}
        nodes = [
            known.get(group[0]) or self.node(group, restart) for group in self.structure.groups
        ]
        started = {*self.structure.exchangeable, *self.options.init}
        turns = {
            n: Turn(n.names[0] not in known, not started.isdisjoint(n.names), n.follows_means)
            for n in nodes
        }
        nodes.sort(key=turns.__getitem__)
        local = [node for node in nodes if node.names in self.structure.local]
        local.sort(key=attrgetter("comes_last"))
        return Problem(self.monomials, nodes, local, restart)

    def node(
        self,
        group: tuple[str, ...],
        restart: Axis,
        bound: Bound | None = None,
        monomials: Sequence[Monomial] | None = None,
    ) -> Node:
        """Return the node of a group, by default for all members of its variables."""
        bound = bound or self.bound
        layout, family = bound.layouts[group[0]], bound.families[group[0]]
        node: Node
        if family in DISCRETE:
            first = {f.name: f for f in reversed(self.factors)}
            sizes = {name: number_of_states(first[name]) for name in group}
            node = DiscreteNode(bound, sizes, restart)
        elif family in GAUSSIAN:
            written = self.monomials if monomials is None else monomials
            node = _normal_node(group, bound.layouts, written, restart)
        else:
            written = self.monomials if monomials is None else monomials
            node = self._single_node(group[0], family, layout, restart, written)
        return PointNode(node) if self.options.form.keys() & set(group) else node

    def _single_node(
        self, name: str, family: Any, layout: Layout, restart: Axis, monomials: Sequence[Monomial]
    ) -> Node:
        """Return the node of a variable alone: of its own family, or a density on a grid."""
        law, keys = LAWS.get(family), keys_of(monomials, name)
        if law is None or not law.statistics or leaves_family(keys):
            return GridNode(name, numbers_of(self.factors, name, layout), keys, layout, restart)
        node: Node = (law.node or ConjugateNode)(name, family, layout, restart)
        return node


def _normal_node(
    group: tuple[str, ...],
    layouts: Mapping[str, Layout],
    monomials: Sequence[Monomial],
    restart: Axis,
) -> Node:
    """Return the node of a chain alone, of chains beside others, or of dense vectors."""
    touching = [m for m in monomials if any(a.name in group for a in m.accesses)]
    apart = batch_axes(group, layouts, touching)
    times = {name: time_of(name, layouts[name], touching) for name in group}
    time = times[group[0]]
    if len(group) == 1 and time is not None:
        return ChainNode(group[0], time, layouts, apart, restart)
    chained = any(found is not None for found in times.values())
    if chained or longest_vector(group, layouts, apart) > LARGEST_JOINT:
        numbers = SparseNumbers(group, layouts, touching)
        if numbers.fits:
            return SparseNode(numbers, restart)
    return GaussianNode(group, layouts, apart, restart)
