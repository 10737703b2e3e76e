r"""Factors of discrete variables as log tables over their states.

A factor p(child | parents) whose parents are discrete is a table: parameters are evaluated for all
states at once, by labels, and so is the log density of the child: of its states where it is
unknown, of its value where it is observed, and 0 where that is missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import Bound, BoundFactor, child_term
from posteriori.modeling.binding.construction import construct_chosen, log_prob_of
from posteriori.modeling.binding.labelled import Axis, Switch, Table, Term, shape_of, spread
from posteriori.modeling.binding.places import add_tables, compact, locate
from posteriori.numerics.types import Array

__all__ = [
    "is_discrete",
    "DISCRETE",
    "MOST_CELLS",
    "StateTable",
    "View",
    "conditional_member",
    "conditional_parameters",
    "evidence_table",
    "number_of_states",
    "require_constant_states",
    "require_rows",
    "same_labels",
    "state_probabilities",
    "state_table",
    "views_of",
]

#: Families whose variables have a few states.
DISCRETE = (Categorical, Bernoulli)

#: More cells than this in one table are refused before the memory is asked for.
MOST_CELLS = 1 << 28


def state_probabilities(belief: Bernoulli | Categorical) -> Array:
    """Return the probabilities of all states, (*batch, K)."""
    if isinstance(belief, Bernoulli):
        return np.stack([1.0 - belief.probability, belief.probability], axis=-1)
    return belief.probabilities


class View(NamedTuple):
    """A discrete variable as the rows of a factor see it, and the label of its states."""

    name: str
    places: tuple[Any, ...]
    state: Axis


class StateTable(NamedTuple):
    """A factor as a log table.

    Attributes
    ----------
    name : str
        The child.
    table : Table
        Log probabilities; labels are some of ``rows`` and the states of ``views``.
    rows : tuple of Axis
    views : tuple of View
    """

    name: str
    table: Table
    rows: tuple[Axis, ...]
    views: tuple[View, ...]


def number_of_states(factor: BoundFactor) -> int:
    """Return K of the child of a factor."""
    return 2 if factor.family is Bernoulli else factor.parameters["probabilities"].axes[-1].size


def state_table(factor: BoundFactor, bound: Bound, sizes: Mapping[str, int]) -> StateTable:
    """Return the log table of a factor.

    Parameters
    ----------
    factor : BoundFactor
    bound : Bound
    sizes : mapping
        Number of states of every unknown variable.
    """
    views = views_of(factor, sizes)
    _require_memory(factor, views)
    member = conditional_member(factor, views)
    if factor.name not in bound.observed:
        return _of_latent(factor, member, views, sizes)
    labels = tuple(view.state for view in views) + factor.rows
    x = spread(child_term(factor, bound).table, factor.rows + factor.events)
    x = x.reshape((1,) * len(views) + x.shape)
    table = compact(_log_likelihood(factor, member, x), labels)
    _require_possible(factor, table, views)
    return StateTable(factor.name, table, factor.rows, views)


def evidence_table(name: str, bound: Bound, size: int) -> StateTable:
    """Return the table that is 1 where a variable has its known state, or is not known."""
    axes = bound.layouts[name].axes
    known = bound.evidence[name][..., None]
    state = Axis(name, size)
    logs = np.where(np.isnan(known) | (known == np.arange(size)), 0.0, -np.inf)
    wrong = np.argwhere(np.isneginf(logs).all(axis=-1))
    if len(wrong):
        where = tuple(int(i) for i in wrong[0])
        raise ValueError(
            f"{name} has states 0 to {size - 1}, got {bound.evidence[name][where]:g} at index "
            f"{', '.join(map(str, where))}"
        )
    return StateTable(name, Table(logs, (*axes, state)), axes, (View(name, axes, state),))


def views_of(factor: BoundFactor, sizes: Mapping[str, int]) -> tuple[View, ...]:
    """Return how a factor's parameters see discrete variables, each way once."""
    found: dict[Any, View] = {}
    for poly in factor.parameters.values():
        for term in poly.terms:
            for access in term.accesses:
                size = sizes[access.name]
                require_rows(factor, access, size)
                if not {a for p in access.places for a in p.labels} <= set(factor.rows):
                    raise TypeError(
                        f"one {factor.name} depends on a whole row of {access.name} at once; "
                        "give each its own row, or write the members as separate variables"
                    )
                view = View(access.name, access.places, Axis(access.name, size))
                found.setdefault(_key(access), view)
    return tuple(found.values())


def conditional_member(factor: BoundFactor, views: tuple[View, ...]) -> Any:
    """Return the child's distribution as a batch over states and rows (length 1 where constant)."""
    return construct_chosen(factor.family, conditional_parameters(factor, views), factor.name)


def conditional_parameters(factor: BoundFactor, views: tuple[View, ...]) -> dict[str, Array]:
    """Return the parameters as arrays over states, rows and events."""
    states = {_key(view): view.state for view in views}
    labels = tuple(states.values()) + factor.rows
    values = {}
    for key, poly in factor.parameters.items():
        events = poly.axes[len(poly.axes) - factor.family._parameters[key] :]
        value = add_tables([_by_state(term, states) for term in poly.terms], labels + events)
        shape = value.shape[: len(labels)] + shape_of(events)
        values[key] = np.broadcast_to(value, shape)
    return values


def same_labels(mine: Sequence[StateTable], theirs: Sequence[StateTable]) -> bool:
    """Tell whether tables differ in their values only."""
    return len(mine) == len(theirs) and all(
        a.table.axes == b.table.axes
        and a.table.values.shape == b.table.values.shape
        and a.rows == b.rows
        and len(a.views) == len(b.views)
        and all(_same_view(v, w) for v, w in zip(a.views, b.views, strict=True))
        for a, b in zip(mine, theirs, strict=True)
    )


# -- steps -----------------------------------------------------------------------------------


def _key(access: Any) -> tuple[Any, ...]:
    """Return what tells two views of a variable apart."""
    places = (
        p if isinstance(p, Axis) else (p.positions.values.tobytes(), p.labels)
        for p in access.places
    )
    return (access.name, *places)


def _by_state(term: Term, states: Mapping[Any, Axis]) -> Table:
    """Label the table of a term by the states of its variables; a plain variable is its code."""
    new = {a.state: states[_key(a)] for a in term.accesses if isinstance(a, Switch)}
    axes = [new.get(axis, axis) for axis in term.table.axes]
    parts: list[Any] = [term.table.values, axes]
    for access in term.accesses:
        if not isinstance(access, Switch):
            state = states[_key(access)]
            parts += [np.arange(float(state.size)), [state]]
    wanted = list(dict.fromkeys(axis for labels in parts[1::2] for axis in labels))
    codes = {axis: i for i, axis in enumerate(wanted)}
    operands = [[codes[a] for a in p] if isinstance(p, list) else p for p in parts]
    return Table(np.einsum(*operands, list(codes.values())), tuple(wanted))


def require_rows(factor: BoundFactor, access: Any, size: int) -> None:
    """Refuse a table that has not a row for each state of the variable that indexes it."""
    if isinstance(access, Switch) and access.state.size != size:
        raise ValueError(
            f"a table with {access.state.size} rows is indexed by {access.name}, "
            f"which has {size} states, in the parameters of {factor.name}: give it {size} rows"
        )


def require_constant_states(factor: BoundFactor, first: int, later: int) -> None:
    """Refuse a chain whose step leads to other states than it starts from."""
    if first != later:
        raise ValueError(
            f"{factor.name} has {first} states at first but {later} in a later "
            "member; a chain keeps its number of states"
        )


def _of_latent(
    factor: BoundFactor, member: Any, views: tuple[View, ...], sizes: Mapping[str, int]
) -> StateTable:
    own = View(factor.name, factor.places, Axis(factor.name, sizes[factor.name]))
    if factor.family is Bernoulli:
        p = np.asarray(member.probability)
        with np.errstate(divide="ignore"):
            logs = np.stack([np.log1p(-p), np.log(p)], axis=-1)
    else:
        logs = member._log_probabilities
    require_constant_states(factor, own.state.size, logs.shape[-1])
    labels = (*(view.state for view in views), *factor.rows, own.state)
    return StateTable(factor.name, compact(logs, labels), factor.rows, (*views, own))


def _log_likelihood(factor: BoundFactor, member: Any, x: Array) -> Array:
    """Return the log density of observed values, 0 where they are missing."""
    width = len(factor.events)
    gaps = np.isnan(x)
    if not gaps.any():
        return log_prob_of(member, x, factor.name)
    lead = x.shape[: x.ndim - width]
    missing = gaps.reshape(*lead, -1)
    absent = missing.all(axis=-1)
    if np.any(missing.any(axis=-1) & ~absent):
        if factor.family is not MvNormal:
            raise ValueError(
                f"{factor.name} misses some entries of a vector; of a {factor.family.__name__} "
                "whole vectors only can be missing"
            )
        return _partly_missing(factor, member, x, missing)
    rows = x.reshape(-1, *x.shape[len(lead) :])
    present = rows[~absent.ravel()]
    if not len(present):
        return np.zeros((1,) * len(lead))
    filled = np.where(absent.reshape(lead + (1,) * width), present[0], x)
    return np.where(absent, 0.0, log_prob_of(member, filled, factor.name))


def _partly_missing(factor: BoundFactor, member: Any, x: Array, missing: Array) -> Array:
    """Return the log density of the entries that are there, pattern by pattern."""
    patterns = np.unique(missing.reshape(-1, missing.shape[-1]), axis=0)
    total: Any = 0.0
    for pattern in patterns:
        keep = np.flatnonzero(~pattern)
        here = (missing == pattern).all(axis=-1)
        if not len(keep):
            continue
        values = np.where(here[..., None], x[..., keep], 0.0)
        total = total + np.where(here, log_prob_of(member.marginal(keep), values, factor.name), 0.0)
    return total


def _require_memory(factor: BoundFactor, views: tuple[View, ...]) -> None:
    rows = math.prod(float(axis.size) for axis in factor.rows)
    cells = rows * math.prod(float(view.state.size) for view in views)
    if cells > MOST_CELLS:
        raise MemoryError(
            f"{factor.name} depends on {len(views)} discrete variables at once: a table of "
            f"{cells:.3g} cells is too large; let it depend on fewer, or observe some"
        )


def _require_possible(factor: BoundFactor, table: Table, views: tuple[View, ...]) -> None:
    states = {view.state for view in views}
    inner = tuple(i for i, axis in enumerate(table.axes) if axis in states)
    dead = np.all(np.isneginf(table.values), axis=inner)
    if np.any(dead):
        axes = [axis for axis in table.axes if axis not in states]
        names = list(dict.fromkeys(view.name for view in views))
        at = locate(axes, np.argwhere(dead)[0], (factor.name, *names))
        raise ValueError(
            f"the data have probability 0: the value of {factor.name}{at} is impossible in every "
            f"state of {', '.join(names)}"
        )


def is_discrete(bound: Bound, names: Iterable[str], factors: Iterable[BoundFactor] = ()) -> bool:
    """Tell whether all of the variables have a few states; refuse an index that has not."""
    for factor in factors:
        for access in factor.accesses:
            family = bound.families[access.name]
            if isinstance(access, Switch) and family not in DISCRETE:
                raise TypeError(
                    f"{factor.name} uses {access.name} as an index, but that is "
                    f"{family.__name__}: only Categorical and Bernoulli variables can index"
                )
    return all(bound.families[name] in DISCRETE for name in names)


def _same_view(a: View, b: View) -> bool:
    places = zip(a.places, b.places, strict=True)
    return a.name == b.name and a.state is b.state and all(p is q for p, q in places)
