"""Discrete unknowns that are summed over: their joint states, one after another.

Zeros of tables may leave few of them. A state that is never left once it is entered makes one change
point: of the 2ᵀ paths of a chain with two states T are possible. Members are taken one after another,
parents first, and every joint state of those before is continued by the states that have a probability
above 0 there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.base import Univariate, has_atoms
from posteriori.distributions.numbers.beta import Beta
from posteriori.distributions.vectors.dirichlet import Dirichlet
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import Access
from posteriori.modeling.binding.places import member_index
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.forms.fixing import fix_factors
from posteriori.modeling.forms.state_tables import (
    DISCRETE,
    StateTable,
    number_of_states,
    state_table,
)
from posteriori.modeling.nested.unbounded import Free, as_free
from posteriori.numerics.types import Array, IntArray

__all__ = ["States", "as_states", "joint_states", "possible_states"]

#: Counts are summed over but for this much of their prior, at either end.
_LEFT = 1e-14
#: Joint states that are held at most, times their members: 32 MB.
_MOST_NUMBERS = 4_000_000


class States(NamedTuple):
    """A discrete unknown: every member takes one of ``values``.

    Attributes
    ----------
    name : str
    shape : tuple of int
    values : array (K,)
    possible : array (C, *shape) or None
        The joint states of all members that the prior allows; None for all Kᴹ.
    """

    name: str
    shape: tuple[int, ...]
    values: Array
    possible: Array | None = None

    @property
    def combinations(self) -> float:
        """Number of joint states of all members; of thousands of members infinity."""
        if self.possible is not None:
            return float(len(self.possible))
        with np.errstate(over="ignore"):
            return float(np.float64(len(self.values)) ** np.prod(self.shape))

    def typical(self, at: int) -> Array:
        """Return one of the joint states."""
        if self.possible is not None:
            return np.asarray(self.possible[at])
        return np.full(self.shape, self.values[at])

    def joint(self) -> Iterator[Array]:
        """Yield all joint states of the members."""
        if self.possible is not None:
            yield from self.possible
            return
        for chosen in product(self.values, repeat=int(np.prod(self.shape))):
            yield np.array(chosen).reshape(self.shape)


def as_states(factor: BoundFactor, shape: tuple[int, ...]) -> States | None:
    """Return a discrete unknown with its states; None of a continuous one."""
    if factor.family in DISCRETE:
        return States(factor.name, shape, np.arange(float(number_of_states(factor))))
    if not issubclass(factor.family, Univariate) or not _is_known(factor):
        return None
    prior = member(factor)
    if not has_atoms(prior):
        return None
    low = float(np.min(prior.quantile(_LEFT)))
    high = float(np.max(prior.quantile(1.0 - _LEFT)))
    return States(factor.name, shape, np.arange(low, high + 1.0))


def _is_known(factor: BoundFactor) -> bool:
    return all(poly.is_known for poly in factor.parameters.values())


def joint_states(items: tuple[States, ...]) -> Iterator[dict[str, Any]]:
    """Yield the values of all variables in each joint state."""
    names = [item.name for item in items]
    for chosen in product(*(item.joint() for item in items)):
        yield dict(zip(names, chosen, strict=True))


def possible_states(name: str, group: Group, most: float) -> Array | None:
    """Return the possible joint states (C, *shape) of the members of a variable.

    None where no table of it holds a 0, or more states than ``most`` are left.

    Parameters
    ----------
    name : str
        A discrete unknown; parents of it that are discrete unknowns, too, are summed over.
    group : Group
    most : float
    """
    if all(_are_drawn(factor, group) for factor in group.factors if factor.name == name):
        return None
    names = _with_parents(name, group)
    factors = None if names is None else _at_typical_numbers(names, group)
    if names is None or factors is None:
        return None
    sizes = {n: number_of_states(next(f for f in factors if f.name == n)) for n in names}
    try:
        tables = [state_table(factor, group.bound, sizes) for factor in factors]
    except (MemoryError, TypeError, ValueError):  # what has no table has no list of states
        return None
    if not any(np.isneginf(t.table.values).any() for t in tables if t.name == name):
        return None
    shape = group.bound.layouts[name].shape
    members = _in_order(_members(tables, group))
    found = None if members is None else _continued(members, most)
    if found is None:
        return None
    rows = [found[(name, j)] for j in range(int(np.prod(shape)))]
    return np.unique(np.array(rows).T, axis=0).reshape(-1, *shape).astype(np.float64)


def _are_drawn(factor: BoundFactor, group: Group) -> bool:
    """Tell whether probabilities are unknown numbers with a prior that has no mass at 0 and 1."""
    if len(factor.terms) != 1 or np.any(factor.terms[0].table.values != 1.0):
        return False
    seen = {group.bound.families[a.name] for a in factor.accesses if isinstance(a, Access)}
    return bool(seen) and seen <= {Beta, Dirichlet}


def _with_parents(name: str, group: Group) -> list[str] | None:
    """Return a variable and the discrete unknowns that it depends on."""
    bound, found, open_ = group.bound, list[str](), [name]
    while open_:
        here = open_.pop()
        if here in found:
            continue
        if here in bound.evidence:  # some members are known
            return None
        found.append(here)
        for factor in group.factors:
            if factor.name == here:
                parents = {a.name for a in factor.accesses}
                open_ += [n for n in parents if bound.families[n] in DISCRETE]
    return found


def _at_typical_numbers(names: Sequence[str], group: Group) -> tuple[BoundFactor, ...] | None:
    """Return factors with some numbers for unknown ones: what is 0 there is 0 everywhere."""
    factors = [factor for factor in group.factors if factor.name in names]
    values = {}
    for parent in {a.name for f in factors for a in f.accesses} - set(names):
        own = [f for f in group.factors if f.name == parent]
        item = as_free(own[0], group) if len(own) == 1 else ""
        if not isinstance(item, Free):
            return None
        values[parent] = item.read(item.levels(np.array([0.5]))[0])[0]
    return fix_factors(factors, group.bound, values)


class _Member(NamedTuple):
    """One member: its parents, and whether it can be in each of its states given theirs."""

    key: tuple[str, int]
    parents: tuple[tuple[str, int], ...]
    is_possible: Array


def _members(tables: Sequence[StateTable], group: Group) -> Iterator[_Member]:
    """Yield the members of all variables."""
    for table in tables:
        states = tuple(view.state for view in table.views)
        cells = np.isfinite(table.table.over(table.rows + states))
        cells = cells.reshape(-1, *cells.shape[len(table.rows) :])
        seen = [
            (v.name, member_index(v.places, group.bound.layouts[v.name].axes, table.rows))
            for v in table.views
        ]
        for row, possible in enumerate(cells):
            *parents, own = ((name, int(index[row])) for name, index in seen)
            yield _Member(own, tuple(parents), possible)


def _in_order(members: Iterator[_Member]) -> list[_Member] | None:
    """Return members after their parents; None where there are too many to be looked at."""
    waiting: dict[tuple[str, int], _Member] = {}
    for one in members:
        waiting[one.key] = one
        if len(waiting) ** 2 > _MOST_NUMBERS:
            return None
    found: dict[tuple[str, int], _Member] = {}
    stack = list(reversed(waiting.values()))
    while stack:
        one = stack[-1]
        missing = [waiting[key] for key in one.parents if key not in found]
        if missing:
            stack += missing
        else:
            found.setdefault(one.key, stack.pop())
    return list(found.values())


def _continued(
    members: Sequence[_Member], most: float
) -> Mapping[tuple[str, int], IntArray] | None:
    """Return the state of each member in all possible joint states; None where they are many."""
    row = {one.key: i for i, one in enumerate(members)}
    states = np.zeros((len(members), 1), dtype=np.int32)
    for i, one in enumerate(members):
        above: Any = tuple(states[row[key]] for key in one.parents)
        possible = np.broadcast_to(
            one.is_possible[above], (states.shape[1], one.is_possible.shape[-1])
        )
        origin, state = np.nonzero(possible)
        if len(origin) > most or len(origin) * len(members) > _MOST_NUMBERS:
            return None
        if not np.array_equal(origin, np.arange(states.shape[1])):
            states = states[:, origin]
        states[i] = state
    return {key: states[i] for key, i in row.items()}
