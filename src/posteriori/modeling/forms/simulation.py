"""Drawing from a model and evaluating its joint density: all parameters are known numbers."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import decode_labels, encode_labels
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.binder import Binder, bind
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout, child_term
from posteriori.modeling.binding.construction import construct, log_prob_of, member
from posteriori.modeling.binding.labelled import (
    Axis,
    Lookup,
    Polynomial,
    Table,
    look_up,
    shape_of,
    spread,
    substitute,
)
from posteriori.modeling.binding.places import locate
from posteriori.modeling.language.expressions import Input, Variable
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

__all__ = ["expected_log_prior", "log_joint", "log_prob_of_known", "simulate", "simulate_leaves"]

#: The plate of draws, under a name that nobody can give to one.
_DRAWS = "draws of the posterior"


def simulate(
    variables: Mapping[str, Variable],
    inputs: Mapping[str, Input],
    given: Mapping[str, Any],
    plates: Mapping[str, int],
    rng: Seed,
    size: int | None = None,
) -> dict[str, Array]:
    """Draw every variable once, or ``size`` times; those among ``given`` keep their values."""
    generator = as_generator(rng)
    sizes = plates if size is None else {**plates, _DRAWS: size}
    binder = Binder(variables, inputs, given, sizes)
    found = {}
    for name, variable in variables.items():
        start = len(binder.factors)
        drawn = name not in given
        repeated = drawn and size is not None
        binder.bind_variable(name, _repeated(variable) if repeated else variable)
        if drawn:
            binder.observed[name] = _draw(binder, name, binder.factors[start:], generator)
        at = int(isinstance(variable.length, str))  # the first axis of such a chain is its time
        values = binder.observed[name]
        found[name] = np.moveaxis(values, at, 0) if repeated else values
    return found


def simulate_leaves(
    bound: Bound,
    leaves: Collection[str],
    draws: Mapping[str, Any],
    size: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Draw leaves, variables that no observation depends on, all draws at once.

    The draws are one more plate: solved variables carry it with their draws as data, and every
    leaf is repeated over it.

    Parameters
    ----------
    bound : Bound
    leaves : collection of str
    draws : mapping to arrays (S, *shape)
        Joint draws of the solved variables.
    size : int
        Number of draws S.
    rng : Generator
    """
    if not leaves:
        return {}
    inputs = {k: v for k, v in bound.given.items() if k in bound.inputs}
    layouts = bound.layouts
    sizes = {**bound.plate_sizes(), _DRAWS: size}
    binder = Binder(bound.variables, bound.inputs, inputs, sizes)
    found = {}
    for name, variable in bound.variables.items():
        at = int(isinstance(variable.length, str))  # the first axis of such a chain is its time
        if name not in leaves:
            _put_known(binder, layouts[name], name, bound.observed.get(name), draws, at)
            continue
        start = len(binder.factors)
        binder.bind_variable(name, _repeated(variable))
        drawn = _draw(binder, name, binder.factors[start:], rng)
        binder.observed[name] = drawn
        found[name] = _in_words(np.moveaxis(drawn, at, 0), variable)
    return found


def _repeated(variable: Variable) -> Variable:
    """Return a variable with a member for each draw."""
    repeated = copy.copy(variable)
    repeated.plates = (_DRAWS, *variable.plates)
    return repeated


def _put_known(
    binder: Binder,
    layout: Layout,
    name: str,
    observed: Array | None,
    draws: Mapping[str, Any],
    at: int,
) -> None:
    """Let a variable have its data, or its draws on a plate of their own."""
    plates = tuple(binder.plates.get(axis.name, axis) for axis in layout.plates)
    if observed is None:
        plates = (*plates[:at], binder.plates[_DRAWS], *plates[at:])
        values, labels = draws[name], binder.variables[name].labels
        codes = values if labels is None else encode_labels(values, labels)
        observed = np.moveaxis(np.asarray(codes, dtype=np.float64), 0, at)
    binder.layouts[name] = Layout(plates, layout.ints, layout.events)
    binder.observed[name] = observed


def _in_words(values: Array, variable: Variable) -> Any:
    """Return states as whole numbers, or as labels where they have names."""
    if variable.labels is not None:
        return decode_labels(values, variable.labels)
    return values.astype(np.intp) if variable.family in (Bernoulli, Categorical) else values


def _draw(binder: Binder, name: str, factors: list[BoundFactor], rng: np.random.Generator) -> Array:
    """Draw a variable, or the members of a chain one after another."""
    layout = binder.layouts[name]
    first = np.asarray(member(factors[0]).sample(rng=rng), dtype=np.float64)
    at = next((i for i, p in enumerate(factors[0].places) if isinstance(p, Lookup)), None)
    if at is None:
        return first
    whole = np.zeros(layout.shape)
    path = np.moveaxis(whole, at, 0)
    known = factors[0].places[at].positions.values
    path[known] = first
    rows = tuple(axis for axis in layout.lead if axis is not layout.axes[at])
    for t in range(np.size(known), len(path)):
        step = _at_time(factors[1], {name: Table(whole, layout.axes)}, t)
        path[t] = _in_order(member(step).sample(rng=rng), step, rows)
    return whole


def _in_order(values: Array, step: BoundFactor, rows: tuple[Axis, ...]) -> Array:
    """Give the rows of a step the order that the chain's axes have."""
    order = [step.rows.index(axis) for axis in rows if axis in step.rows]
    missing = tuple(i for i, axis in enumerate(rows) if axis not in step.rows)
    moved = np.transpose(values, (*order, *range(len(order), np.ndim(values))))
    return np.expand_dims(moved, missing)


def _at_time(step: BoundFactor, values: Mapping[str, Table], t: int) -> BoundFactor:
    """Return the step that arrives at time t, given the path so far."""
    arrival = step.rows[0]
    start = next(int(p.positions.values[0]) for p in step.places if isinstance(p, Lookup))
    now = Table(np.asarray(t - start), ())
    parameters = {}
    for key, poly in step.parameters.items():
        terms = look_up(poly.terms, arrival, now)
        plates = tuple(p for p in poly.plates if p is not arrival)
        parameters[key] = substitute(Polynomial(terms, plates, poly.axes), values)
    return step._replace(parameters=parameters, rows=step.rows[1:])


def log_joint(
    variables: Mapping[str, Variable], inputs: Mapping[str, Input], values: Mapping[str, Any]
) -> float:
    """Return the sum of the log densities of all factors."""
    missing = [name for name in variables if name not in values]
    if missing:
        raise ValueError(
            f"log_joint needs a value of every variable; missing: {', '.join(missing)}"
        )
    gaps = [name for name in variables if _has_gaps(values[name])]
    if gaps:
        raise ValueError(f"log_joint needs all values, but {', '.join(gaps)} has some missing")
    bound = bind(variables, inputs, values)
    logs = []
    for factor in bound.factors:
        x = spread(child_term(factor, bound).table, factor.rows + factor.events)
        logs.append(np.ravel(member(factor).log_prob(x)))
    terms = np.concatenate([*logs, [0.0]])
    if np.isposinf(terms).any() and np.isneginf(terms).any():
        raise ValueError(
            "the density of one variable is 0 at these values and that of another infinite: their product is "
            "not defined; move a value off the edge of its domain"
        )
    return float(np.sum(terms))


def expected_log_prior(belief: Any, prior: Any) -> float:
    """Return E[ln prior] = −H[belief] − KL(belief ‖ prior)."""
    return -float(np.sum(belief.entropy()) + np.sum(belief.kl(prior)))


def log_prob_of_known(factor: BoundFactor, bound: Bound) -> float:
    """Return the log density of a factor without unknowns, without what is missing.

    Raises
    ------
    ValueError
        When the data are impossible; the message says where.
    """
    x = spread(child_term(factor, bound).table, factor.rows + factor.events)
    there = ~np.isnan(x)
    if there.all():
        return _total(factor, log_prob_of(member(factor), x, factor.name))
    lead = len(factor.rows)
    count = int(np.prod(x.shape[:lead]))
    values = {key: poly.value() for key, poly in factor.parameters.items()}
    flat = {key: value.reshape(count, *value.shape[lead:]) for key, value in values.items()}
    x, there = x.reshape(count, *x.shape[lead:]), there.reshape(count, -1)
    logs = np.zeros(count)
    for pattern in np.unique(there, axis=0):  # rows that miss the same entries
        rows = np.flatnonzero((there == pattern).all(axis=1))
        if pattern.any():
            parts = {key: value[rows] for key, value in flat.items()}
            here = construct(factor.family, parts, factor.name)
            values_there = x[rows]
            if not pattern.all():
                entries = np.flatnonzero(pattern)
                here, values_there = _marginal(factor, here, entries), values_there[:, entries]
            logs[rows] = log_prob_of(here, values_there, factor.name)
    return _total(factor, logs)


def _marginal(factor: BoundFactor, vectors: Any, entries: Array) -> Any:
    """Return the distribution of some entries of vectors."""
    if factor.family is not MvNormal:
        raise ValueError(
            f"{factor.name} misses some entries of its vectors, which {factor.family.__name__} "
            "cannot leave out: give whole vectors, or NaN in all entries"
        )
    return vectors.marginal(entries)


def _total(factor: BoundFactor, logs: Array) -> float:
    """Add up log densities; refuse data that are impossible."""
    total = float(np.sum(logs))
    if total == -np.inf:
        shape = shape_of(factor.rows)
        where = np.argwhere(np.isneginf(logs.reshape(shape)))[0]
        raise ValueError(
            f"the data have probability 0: the value of {factor.name}"
            f"{locate(factor.rows, where, (factor.name,))} is impossible under its known parameters"
        )
    return total


def _has_gaps(values: Any) -> bool:
    array = np.asarray(values)
    return array.dtype.kind == "f" and bool(np.isnan(array).any())
