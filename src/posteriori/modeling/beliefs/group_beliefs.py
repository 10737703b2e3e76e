"""What a posterior says of variables that further data will speak of, group by group."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.numbers.gamma import Gamma
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.distributions.vectors.wishart import Wishart
from posteriori.modeling.beliefs.earlier import (
    Earlier,
    Placement,
    Scale,
    known_prior,
    normal_rows,
)
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.construction import constructor_parameters
from posteriori.modeling.binding.labelled import Access, Axis, Polynomial, Switch, Table, Term
from posteriori.numerics.linalg import explicit_inverse, symmetrize
from posteriori.numerics.special import LOG_2PI
from posteriori.numerics.types import Array

__all__ = [
    "Belief",
    "ConjugateBelief",
    "DiscreteBelief",
    "GroupBelief",
    "NormalBelief",
    "ScaledBelief",
    "as_factors",
    "dense_belief",
    "require_few",
    "without_batch",
]

#: Numbers of normal variables whose joint belief is carried over.
_MOST_NUMBERS = 3000


class ConjugateBelief(NamedTuple):
    """A variable whose members are independent: its own distribution."""

    name: str
    member: Any

    def moved(self, shifts: Mapping[str, Array]) -> ConjugateBelief:
        """Stay: only normal variables are measured from anywhere."""
        return self

    def log_prob(self, draws: Mapping[str, Any]) -> Array:
        """Return the log density of draws (S, *shape), (S,)."""
        values = draws[self.name]
        return np.asarray(self.member.log_prob(values)).reshape(len(values), -1).sum(axis=1)


class NormalBelief(NamedTuple):
    """Jointly normal variables.

    Attributes
    ----------
    names : tuple of str
    mean, precision : (*batch, n), (*batch, n, n)
    batch : mapping to tuples of int
        The axes of each variable along which vectors are independent.
    numbers : mapping to arrays
        Positions in a vector, for each member along the other axes.
    """

    names: tuple[str, ...]
    mean: Array
    precision: Array
    batch: Mapping[str, tuple[int, ...]]
    numbers: Mapping[str, Array]

    def moved(self, shifts: Mapping[str, Array]) -> NormalBelief:
        """Add a constant to variables, an array over the axes of each."""
        mean = np.array(self.mean)
        for name, shift in shifts.items():
            batch = self.batch[name]
            order = (*batch, *(i for i in range(np.ndim(shift)) if i not in batch))
            mean[..., self.numbers[name]] += np.transpose(shift, order)
        return self._replace(mean=mean)

    def log_prob(self, draws: Mapping[str, Any]) -> Array:
        """Return the log density of draws (S, *shape) of all variables, (S,)."""
        size = len(draws[self.names[0]])
        vectors = np.empty((size, *self.mean.shape))
        for name in self.names:
            batch = self.batch[name]
            order = (*batch, *(i for i in range(draws[name].ndim - 1) if i not in batch))
            moved = np.transpose(draws[name], (0, *(1 + i for i in order)))
            vectors[..., self.numbers[name]] = moved
        root = np.linalg.cholesky(self.precision)  # (v − m)ᵀ Λ (v − m) = |Lᵀ(v − m)|²
        away = np.einsum("...ji,...j->...i", root, vectors - self.mean)
        logs = np.log(np.diagonal(root, axis1=-2, axis2=-1)) - 0.5 * LOG_2PI
        return np.asarray((logs - 0.5 * away**2).reshape(size, -1).sum(axis=1))


class ScaledBelief(NamedTuple):
    """Normal variables at unit precision, and the belief about their common precision."""

    normal: NormalBelief
    spread: str
    member: Any


class DiscreteBelief(NamedTuple):
    """Discrete variables of one member each, and their joint probabilities."""

    names: tuple[str, ...]
    probabilities: Array


#: What is believed of a group of variables, independently of all others.
GroupBelief = ConjugateBelief | NormalBelief
Belief = GroupBelief | ScaledBelief | DiscreteBelief


def without_batch(belief: NormalBelief, layouts: Mapping[str, Layout]) -> NormalBelief:
    """Return a joint belief with all its vectors in one."""
    shape = belief.mean.shape
    if len(shape) == 1:
        return belief
    n, count = shape[-1], math.prod(shape[:-1])
    whole = np.zeros((count, n, count, n))
    whole[np.arange(count), :, np.arange(count)] = belief.precision.reshape(count, n, n)
    numbers = {}
    for name in belief.names:
        axes, batch = layouts[name].shape, belief.batch[name]
        at = np.arange(count).reshape(shape[:-1])
        wide = np.expand_dims(at, tuple(range(len(batch), len(axes))))
        order = (*batch, *(i for i in range(len(axes)) if i not in batch))
        own = np.broadcast_to(wide * n, tuple(axes[i] for i in order)) + belief.numbers[name]
        numbers[name] = np.transpose(own, [order.index(i) for i in range(len(axes))])
    return NormalBelief(
        belief.names,
        belief.mean.reshape(-1),
        whole.reshape(count * n, count * n),
        dict.fromkeys(belief.names, ()),
        numbers,
    )


def dense_belief(
    names: Sequence[str], mean: Array, cov: Array, layouts: Mapping[str, Layout]
) -> NormalBelief:
    """Return the joint belief of whole variables, put one after another."""
    numbers, start = {}, 0
    for name in names:
        size = math.prod(layouts[name].shape)
        numbers[name] = np.arange(start, start + size).reshape(layouts[name].shape)
        start += size
    precision = symmetrize(explicit_inverse(cov))
    return NormalBelief(tuple(names), mean, precision, dict.fromkeys(names, ()), numbers)


def require_few(names: Sequence[str], layouts: Mapping[str, Layout]) -> None:
    """Refuse more numbers than a joint belief should hold."""
    count = sum(math.prod(layouts[n].shape) for n in names)
    if count > _MOST_NUMBERS:
        raise MemoryError(
            f"{', '.join(names)} hold {count} numbers that depend on one another, more than the "
            f"{_MOST_NUMBERS} that can be carried over: infer again with all data"
        )


# -- writing ---------------------------------------------------------------------------------


def as_factors(belief: Belief, bound: Bound) -> list[Earlier]:
    """Return the factors that say the same, over the axes of a binding."""
    if isinstance(belief, ConjugateBelief):
        return [_own_prior(belief.name, belief.member, bound)]
    if isinstance(belief, DiscreteBelief):
        return _conditionals(belief, bound)
    if isinstance(belief, NormalBelief):
        return [_rows(belief, bound, None)]
    spread = _own_prior(belief.spread, belief.member, bound)
    if bound.layouts[belief.spread].events:
        return [spread, _one_vector(belief, bound)]
    key = "precision" if isinstance(belief.member, Gamma) else "variance"
    return [spread, _rows(belief.normal, bound, Scale(Access(belief.spread, ()), key))]


def _own_prior(name: str, member: Any, bound: Bound) -> Earlier:
    parameters = constructor_parameters(member)
    if isinstance(member, (Bernoulli, Categorical)):
        key = "probability" if isinstance(member, Bernoulli) else "probabilities"
        parameters = {key: np.asarray(getattr(member, key))}
    return known_prior(name, type(member), parameters, bound.layouts[name])


def _rows(belief: NormalBelief, bound: Bound, scale: Scale | None) -> Earlier:
    batch = tuple(Axis("batch", n) for n in belief.mean.shape[:-1])
    parts = {}
    for name in belief.names:
        axes, shared = bound.layouts[name].axes, belief.batch[name]
        places = tuple(batch[shared.index(i)] if i in shared else a for i, a in enumerate(axes))
        own = tuple(a for i, a in enumerate(axes) if i not in shared)
        parts[name] = Placement(places, Table(belief.numbers[name], own))
    return normal_rows(parts, belief.mean, belief.precision, batch, scale)


def _one_vector(belief: ScaledBelief, bound: Bound) -> Earlier:
    """Return the prior of one vector whose precision is a multiple of an unknown matrix."""
    (name,) = belief.normal.names
    (event,) = bound.layouts[name].axes
    weight = float(belief.normal.precision[0, 0])  # at unit precision all entries are alike
    if isinstance(belief.member, Wishart):
        key, amount = "precision", weight
    else:
        key, amount = "cov", 1.0 / weight
    twin = Axis("twin", event.size)
    noise = Term(Table(np.asarray(amount), ()), (Access(belief.spread, (event, twin)),))
    parameters = {
        "mean": Polynomial((Term(Table(belief.normal.mean, (event,))),), (), (event,)),
        key: Polynomial((noise,), (), (event, twin)),
    }
    return Earlier(BoundFactor(name, MvNormal, parameters, (), (event,), (event,)))


def _conditionals(belief: DiscreteBelief, bound: Bound) -> list[Earlier]:
    """Write p(a, b, c) as p(a) p(b | a) p(c | a, b)."""
    found = []
    states: list[Axis] = []
    for i, name in enumerate(belief.names):
        p = belief.probabilities.sum(axis=tuple(range(i + 1, belief.probabilities.ndim)))
        total = p.sum(axis=-1, keepdims=True)
        p = np.where(total > 0, p / np.where(total > 0, total, 1.0), 1.0 / p.shape[-1])
        event = Axis(name, p.shape[-1])
        switches = tuple(
            Switch(other, (), state) for other, state in zip(belief.names, states, strict=False)
        )
        family = bound.families[name]
        if family is Bernoulli:
            key, table = "probability", Table(p[..., 1], tuple(states))
            poly = Polynomial((Term(table, switches),), (), ())
        else:
            key, table = "probabilities", Table(p, (*states, event))
            poly = Polynomial((Term(table, switches),), (), (event,))
        found.append(Earlier(BoundFactor(name, family, {key: poly}, (), (), ())))
        states.append(Axis(name, p.shape[-1]))
    return found
