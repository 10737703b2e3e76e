"""Which unknowns a variational belief is too sure of, told by what was cut apart.

An unknown that is learnt from hidden ones, which are themselves uncertain and depend on it, is
believed in as if they were known. This is told from the beliefs alone, without draws:

- spreads of normal values that are hidden, or whose means are: much of the squares that they are
  learnt from is uncertainty;
- parameters of classes, and moves between them, where it is uncertain who is in which class, or where the
  ascent has given up a state of a chain;
- normal unknowns that multiply hidden ones, such as loadings.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from posteriori.inference.weighing.reliability import OVERLAP
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor, child_term
from posteriori.modeling.binding.construction import construct
from posteriori.modeling.binding.labelled import Polynomial, Switch, Table, substitute
from posteriori.modeling.forms.state_tables import DISCRETE, state_probabilities
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.numerics.types import Array

__all__ = ["find_too_narrow", "is_cut_from_states"]

#: Hidden numbers for each row of a spread, below which they are determined by many rows each.
_FEW_ROWS = 0.5
#: Share of expected squares that is uncertainty, from which on a spread is too sure.
_UNCERTAIN = 0.25
#: The same, up to which states are certain: all that depends on them is as it were given them.
_CERTAIN = 0.001
#: Expected members below which a class is not used.
_UNUSED = 0.5

Marginal = Callable[[str], Any]


def find_too_narrow(approximation: Approximation, marginal: Marginal) -> tuple[str, ...]:
    """Return the unknowns whose intervals are too narrow, in the order of the model."""
    bound, factors = approximation.bound, approximation.written
    found: set[str] = set()
    for factor in factors:
        if factor.family in GAUSSIAN:
            found |= set(_multipliers(factor, bound))
            found |= set(_hidden_spreads(factor, bound, marginal))
    for name, states in _cut_apart(approximation):
        p = _probabilities(marginal(states))
        gave_up = states in approximation.chained and _has_unused(p)
        if gave_up or _overlap(p) > OVERLAP:
            found.add(name)
    free = found - approximation.options.form.keys()
    return tuple(name for name in approximation.names if name in free)


def is_cut_from_states(approximation: Approximation, marginal: Marginal) -> bool:
    """Tell whether unknowns are believed in apart from states that are not certain.

    Whether a class without members has none is not certain either: an ascent gives up classes that
    overlap with others.
    """
    found = [_probabilities(marginal(name)) for name in {s for _, s in _cut_apart(approximation)}]
    return any(_overlap(p) > _CERTAIN or _has_unused(p) for p in found)


def _cut_apart(approximation: Approximation) -> Iterator[tuple[str, str]]:
    """Yield unknowns and the states that choose them, where they are believed in apart."""
    owner = {name: group for group in approximation.structure.groups for name in group}
    for factor in approximation.written:
        for name, states in _chosen_by_states(factor, approximation.bound):
            if owner[name] != owner[states]:
                yield name, states


def _multipliers(factor: BoundFactor, bound: Bound) -> Iterator[str]:
    """Yield normal unknowns that multiply another one, but the longest of each product."""
    for term in factor.parameters["mean"].terms:
        names = {a.name for a in term.accesses if bound.families[a.name] in GAUSSIAN}
        if len(names) > 1:
            longest = max(names, key=lambda name: math.prod(bound.layouts[name].shape))
            yield from names - {longest}


def _hidden_spreads(factor: BoundFactor, bound: Bound, marginal: Marginal) -> Iterator[str]:
    """Yield unknown spreads of a factor whose squares are mostly guessed."""
    parameters = dict(factor.parameters)
    mean = {a.name for t in parameters.pop("mean").terms for a in t.accesses}
    parameters.pop("weight", None)  # of the rows of a Student t variable: one each, in no print
    spreads = {a.name for poly in parameters.values() for t in poly.terms for a in t.accesses}
    normal = mean | ({factor.name} - bound.observed.keys())
    if any(isinstance(access, Switch) for access in factor.accesses):
        return  # whose rows they are is not known: classes are looked at by themselves
    hidden = sum(math.prod(bound.layouts[name].shape) for name in normal)
    rows = math.prod(axis.size for axis in (*factor.rows, *factor.events))
    if spreads and hidden >= _FEW_ROWS * rows:
        uncertain = _uncertain_share(factor, bound, marginal)
        yield from (name for name in spreads if uncertain > _UNCERTAIN)


def _uncertain_share(factor: BoundFactor, bound: Bound, marginal: Marginal) -> float:
    """Return 1 − w eᵀ Λ e / N, with residuals e, precision Λ and weights w at the means of unknowns.

    What is missing of E[w eᵀ Λ e] ≈ N is the uncertainty of the residuals.
    """
    names = {a.name for a in factor.accesses} | ({factor.name} - bound.observed.keys())
    values = {n: Table(np.asarray(marginal(n).mean), bound.layouts[n].axes) for n in names}
    at = {key: substitute(poly, values).value() for key, poly in factor.parameters.items()}
    child = Polynomial((child_term(factor, bound),), factor.rows, factor.events)
    x = substitute(child, values).value()
    weight = at.pop("weight", np.ones(()))
    normal = construct(factor.family, at, factor.name)
    there = np.isfinite(x).reshape(*x.shape[: len(factor.rows)], -1).all(axis=-1)
    x = np.where(np.isfinite(x), x, at["mean"])
    squares = (2.0 * weight * (normal.log_prob(at["mean"]) - normal.log_prob(x)))[there]
    width = math.prod(axis.size for axis in factor.events)
    return 1.0 - float(squares.mean()) / width if squares.size else 0.0


def _chosen_by_states(factor: BoundFactor, bound: Bound) -> Iterator[tuple[str, str]]:
    """Yield unknowns whose factor sees hidden states: parameters that these choose, shares, moves.

    What is as long as the states has few of them to depend on.
    """
    own = {factor.name} - bound.observed.keys() if factor.family in DISCRETE else set()
    states = {a.name for a in factor.accesses if isinstance(a, Switch)} | own
    others = {a.name for a in factor.accesses} | ({factor.name} - bound.observed.keys())
    size = {n: math.prod(bound.layouts[n].shape) for n in others | states}
    for name in others - states:
        yield from ((name, chooser) for chooser in states if size[name] < size[chooser])


def _probabilities(belief: Any) -> Array:
    """Return the probabilities of states (members, K)."""
    p = state_probabilities(belief)
    return p.reshape(-1, p.shape[-1])


def _has_unused(p: Array) -> bool:
    """Tell whether a class has no members: along a chain one that an ascent gave up may have been visited."""
    return bool(np.any(p.sum(axis=0) < _UNUSED))


def _overlap(p: Array) -> float:
    """Return the mean probability of not being in the most probable state."""
    return float(np.mean(1.0 - p.max(axis=-1)))
