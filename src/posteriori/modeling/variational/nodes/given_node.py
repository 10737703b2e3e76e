"""Beliefs that are given, not sought: independent members of any distribution with the moments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from posteriori.distributions.algebra.expectations import expect
from posteriori.distributions.composites.point_mass import PointMass
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, Layout
from posteriori.modeling.binding.labelled import Axis, Table, count_of, seen, shape_of, spread
from posteriori.modeling.binding.places import same_members
from posteriori.modeling.contract.linear_forms import Expectation, member_covariance
from posteriori.modeling.variational.densities.law import LAWS
from posteriori.modeling.variational.densities.monomials import LOG_ZERO
from posteriori.modeling.variational.densities.number_functions import (
    Numbers,
    expect_by_scores,
    key_of,
    leaves_family,
    numbers_of,
)
from posteriori.modeling.variational.nodes.node import Node
from posteriori.numerics.types import Array

__all__ = ["GivenNode", "GivenNormals", "make_given_node"]


class GivenNode(Node):
    """A variable whose members are believed in independently.

    Parameters
    ----------
    name : str
    axes : tuple of Axis
        The variable's own axes.
    tables : sequence of Table
        What its expectations are made of, over these axes.
    entropy : float
        Of all members together.
    """

    kind = "given"

    def __init__(
        self, name: str, axes: tuple[Axis, ...], tables: Sequence[Table], entropy: float
    ) -> None:
        self.names = (name,)
        self.axes = axes
        self.tables = tuple(tables)
        self._entropy = entropy

    def entropy(self) -> Array:
        """Entropy of all members together, of the one start."""
        return np.array([self._entropy])


class GivenNormals(GivenNode):
    """Tables: the mean, and the covariance of each member unless it has no width."""

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        """Return E[x], or E[x_i x_j] = m_i m_j + cov[i, j]."""
        mean = self.tables[0]
        means = tuple(seen(mean, self.axes, a.places) for a in accesses)
        if len(accesses) == 1 or len(self.tables) == 1:
            return [means]
        return [means, *self.covariance(*accesses)]

    def covariance(self, a: Any, b: Any) -> Expectation:
        """Return the covariance of two accesses, 0 between members."""
        return [member_covariance(self.tables[1], self.axes, a, b)]


class _DiscreteNode(GivenNode):
    """Table: the probabilities, with the states last."""

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        (p,) = self.tables
        axes = (*self.axes, p.axes[-1])
        views = tuple(seen(p, axes, (*s.places, s.state)) for s in accesses)
        for s, t in itertools.combinations(accesses, 2):
            if all(np.any(table.values) for table in same_members(s.places, t.places)):
                raise TypeError(
                    f"a factor reads {self.names[0]} at one member in two ways; "
                    "write it as one table"
                )
        return [views]


class _StatisticNode(GivenNode):
    """Tables: the expectation of each sufficient statistic; other functions are numbers'."""

    def __init__(self, *parts: Any, numbers: Callable[[], GivenNode]) -> None:
        super().__init__(*parts)
        self.numbers = numbers

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        if leaves_family([key_of(accesses)]):
            return self.numbers().expect(accesses)
        (stat,) = accesses
        table = self.tables[stat.component]
        return [(seen(table, table.axes, stat.places),)]


class _NumberNode(GivenNode):
    """Functions of numbers whose prior is of no family that messages stay in."""

    def __init__(self, name: str, belief: Any, numbers: Numbers, layout: Layout) -> None:
        self.belief, self.numbers = belief, numbers
        each = np.broadcast_to(self._expected(belief.log_prob), shape_of(layout.lead))
        entropy = 0.0 if isinstance(belief, PointMass) else -float(each.sum())
        super().__init__(name, layout.lead, (), entropy)

    def _expected(self, function: Callable[[Array], Array]) -> Array:
        if isinstance(self.belief, PointMass):
            return np.asarray(function(self.belief.location[None]))[0]
        return expect_by_scores(self.belief, function)

    def expect(self, accesses: Sequence[Any]) -> Expectation:
        key, shape = key_of(accesses), shape_of(self.axes)

        def product(x: Array) -> Array:
            wide = np.broadcast_to(x, (len(x), *shape))
            flat = wide.reshape(len(x), count_of(self.axes))
            (found,) = self.numbers.evaluate([key], flat, slice(0, flat.shape[1]))
            return np.maximum(found, LOG_ZERO).reshape(wide.shape)

        values = np.broadcast_to(self._expected(product), shape)
        return [(seen(Table(values, self.axes), self.axes, accesses[0].places),)]


def make_given_node(
    name: str, belief: Any, bound: Bound, states: int | None, reference: Table | None
) -> GivenNode:
    """Return the node of a belief.

    Parameters
    ----------
    name : str
    belief : Distribution
        A batch over the variable's plates and integer axes, or one for all of them.
    bound : Bound
    states : int or None
        Number of states of a discrete variable.
    reference : Table, optional
        What a normal variable is measured from.
    """
    if states is not None:
        return _discrete_node(name, belief, bound, states)
    layout = bound.layouts[name]
    lead, events = shape_of(layout.lead), shape_of(layout.events)
    _check_shape(name, belief, lead, events)
    if bound.families[name] in GAUSSIAN:
        tables = _normal_tables(belief, layout, reference)
        return GivenNormals(name, layout.axes, tables, _entropy(belief, lead))
    law = LAWS.get(bound.families[name])

    def numbers() -> GivenNode:
        return _NumberNode(name, belief, numbers_of(bound.factors, name, layout), layout)

    if law is None or not law.statistics:
        return numbers()
    tables = _statistic_tables(name, belief, bound.families[name], layout)
    return _StatisticNode(name, layout.axes, tables, _entropy(belief, lead), numbers=numbers)


def _discrete_node(name: str, belief: Any, bound: Bound, states: int) -> GivenNode:
    axes = bound.layouts[name].axes
    p = _known_states(name, _probabilities(name, belief, states), bound)
    try:
        p = np.broadcast_to(p, (*shape_of(axes), states))
    except ValueError:
        raise ValueError(
            f"{name} has axes {shape_of(axes)}; its belief is a batch {p.shape[:-1]}"
        ) from None
    entropy = -float(np.sum(p * np.log(np.where(p > 0, p, 1.0))))
    return _DiscreteNode(name, axes, [Table(p, (*axes, Axis(name, states)))], entropy)


def _normal_tables(belief: Any, layout: Layout, reference: Table | None) -> list[Table]:
    """Return the means and, unless they are points, the covariances of the members."""
    shape, events = shape_of(layout.axes), shape_of(layout.events)
    mean = np.broadcast_to(belief.mean, shape)
    if reference is not None:
        mean = mean - spread(reference, layout.axes)
    if isinstance(belief, PointMass):
        return [Table(mean, layout.axes)]
    twins = tuple(Axis("twin", n) for n in events)
    cov = np.broadcast_to(belief.cov if events else belief.variance, shape + events)
    return [Table(mean, layout.axes), Table(cov, (*layout.axes, *twins))]


def _statistic_tables(name: str, belief: Any, family: Any, layout: Layout) -> list[Table]:
    """Return the expectation of each statistic for all members."""
    found = []
    for part, width in zip(_statistics(name, belief, family), family._natural_ndims, strict=True):
        axes = (*layout.lead, *(layout.events if width else ()))
        found.append(Table(np.broadcast_to(part, shape_of(axes)), axes))
    return found


def _statistics(name: str, belief: Any, family: Any) -> Sequence[Array]:
    """Return E[T(x)]: in closed form, at a point, or by quadrature for numbers."""
    if isinstance(belief, family):
        parts: Sequence[Array] = belief.mean_params
        return parts
    if isinstance(belief, PointMass):
        at: Sequence[Array] = family.sufficient(belief.location)
        return at
    if belief.event_shape:
        raise TypeError(
            f"the belief about {name} must be a {family.__name__} or a PointMass, "
            f"got {type(belief).__name__}"
        )
    components = range(len(family._natural_ndims))
    return [expect(belief, partial(_statistic, family=family, component=k)) for k in components]


def _statistic(x: Array, family: Any, component: int) -> Array:
    return np.asarray(family.sufficient(x)[component])


def _probabilities(name: str, belief: Any, states: int) -> Array:
    if hasattr(belief, "probabilities"):
        p = np.asarray(belief.probabilities)
    elif hasattr(belief, "probability"):
        p = np.stack([1.0 - belief.probability, belief.probability], axis=-1)
    elif isinstance(belief, PointMass):
        p = (np.asarray(belief.location)[..., None] == np.arange(states)).astype(np.float64)
    else:
        raise TypeError(
            f"the belief about {name} must be Bernoulli, Categorical or a PointMass, "
            f"got {type(belief).__name__}"
        )
    if p.shape[-1] != states:
        raise ValueError(f"{name} has {states} states, its belief has {p.shape[-1]}")
    return p


def _known_states(name: str, p: Array, bound: Bound) -> Array:
    """Put certainty where members of a discrete variable were observed."""
    known = bound.evidence.get(name)
    if known is None:
        return p
    there = ~np.isnan(known)[..., None]
    return np.where(there, known[..., None] == np.arange(p.shape[-1]), p)


def _check_shape(name: str, belief: Any, lead: tuple[int, ...], events: tuple[int, ...]) -> None:
    shape = belief.batch_shape + belief.event_shape
    fits = isinstance(belief, PointMass) or belief.event_shape == events
    try:
        fits = fits and np.broadcast_shapes(shape, lead + events) == lead + events
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            f"{name} has members of shape {events} on axes {lead}; its belief is a batch "
            f"{belief.batch_shape} of events {belief.event_shape}"
        )


def _entropy(belief: Any, lead: tuple[int, ...]) -> float:
    """Return the entropy of all members together."""
    if isinstance(belief, PointMass):
        return 0.0
    return float(np.sum(np.broadcast_to(belief.entropy(), lead)))
