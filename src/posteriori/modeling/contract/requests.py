"""What a prediction is asked for: which inputs are new, and which plates get new members.

A variable is new when it lies on a plate with new members, or when what it depends on is new. Of
the others the posterior is known: they are those of the data.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Lookup
from posteriori.modeling.language.chain import Previous
from posteriori.modeling.language.dependencies import arguments_of
from posteriori.modeling.language.expressions import Expression, Input, Variable
from posteriori.numerics.validation import hint, meant_or_has

if TYPE_CHECKING:
    from posteriori.modeling.contract.solved import Solved

__all__ = [
    "Anew",
    "Request",
    "accessed",
    "bind_anew",
    "by_child",
    "inputs_of",
    "names_used",
    "no_closed_form",
    "read_request",
    "used_by",
]


class Request(NamedTuple):
    """A question about one variable.

    Attributes
    ----------
    name : str
    inputs, values : mappings
        Inputs and observed variables that differ from those of the data.
    sizes : mapping to int
        Number of new members of each plate that gets any.
    needed : tuple of str
        The variable and all that it depends on, in the order of the model.
    new : frozenset of str
        Those of them that are not the members of the data.
    given : mapping
        Inputs and observed variables as they were given, also those equal to the data's.
    """

    name: str
    inputs: Mapping[str, Any]
    values: Mapping[str, Any]
    sizes: Mapping[str, int]
    needed: tuple[str, ...]
    new: frozenset[str]
    given: Mapping[str, Any]


class Anew(NamedTuple):
    """Variables bound to new inputs and plates.

    Attributes
    ----------
    factors : mapping to lists of BoundFactor
        Of each variable; two of a chain.
    layouts : mapping to Layout
    unsolved : frozenset of str
        Unknown variables of which the data say nothing directly: new ones, and those that no
        observation depends on.
    """

    factors: Mapping[str, list[BoundFactor]]
    layouts: Mapping[str, Layout]
    unsolved: frozenset[str]

    def is_chain(self, name: str) -> bool:
        """Tell whether a variable is a chain, of one member or more: factors see one at a time."""
        return any(isinstance(place, Lookup) for place in self.factors[name][0].places)

    def above(self, name: str) -> set[str]:
        """Return unknown variables that one depends on, up to the first that are solved."""
        found: set[str] = set()
        stack = [name]
        while stack:
            new = accessed(self.factors[stack.pop()]) - found - {name}
            found |= new
            stack.extend(new & self.unsolved)
        return found


def accessed(factors: Iterable[BoundFactor]) -> set[str]:
    """Return the unknown variables that the parameters of factors depend on."""
    return {access.name for factor in factors for access in factor.accesses}


def by_child(factors: Iterable[BoundFactor]) -> dict[str, list[BoundFactor]]:
    """Return the factors of each variable."""
    found: dict[str, list[BoundFactor]] = {}
    for factor in factors:
        found.setdefault(factor.name, []).append(factor)
    return found


def no_closed_form(name: str, reason: str) -> TypeError:
    """Return the refusal of a prediction."""
    return TypeError(f"{name} has no closed-form predictive here: {reason}")


# -- reading keywords ------------------------------------------------------------------------


def read_request(bound: Bound, name: str, keywords: Mapping[str, Any]) -> Request:
    """Sort keywords into inputs, observations and plates; refuse those that make no sense."""
    _require_variable(bound, name)
    used = used_by(bound, [name])
    needed = tuple(used)
    plates = bound.plate_sizes()
    inputs, values, sizes = {}, {}, {}
    for key, value in keywords.items():
        if key in bound.inputs:
            inputs[key] = value
        elif key in bound.variables:
            values[key] = value
        elif key in plates:
            sizes[key] = _count(bound, name, key, value)
        else:
            raise ValueError(_unknown_keyword(bound, key, plates))
    given = {**inputs, **values}
    inputs = {k: v for k, v in inputs.items() if not _is_same(v, bound.given.get(k))}
    values = {k: v for k, v in values.items() if not _is_same(v, bound.given.get(k))}
    relevant = {p for n in needed for p in bound.plates_of(n)}
    carriers = {k: bound.inputs[k].plates for k in inputs}
    carriers |= {k: bound.plates_of(k) for k in values if k in needed}
    for key, carried in carriers.items():
        shape = np.shape(keywords[key])
        for plate, size in zip(carried, shape, strict=False):
            if plate in relevant:
                _add_size(sizes, plate, size, key)
    new = _new_variables(bound, used, {*inputs, *values}, set(sizes))
    request = Request(name, inputs, values, sizes, needed, new, given)
    _require_inputs(bound, request, set[str]().union(*used.values()), keywords)
    return request


def _require_variable(bound: Bound, name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f'predict takes the name of a variable, as in predict("y"), got {name!r}')
    if name in bound.variables:
        return
    if name in bound.inputs:
        raise ValueError(f"{name} is an input: it is given, not predicted")
    meant = meant_or_has(name, bound.variables)
    raise ValueError(f"the model has no variable {name!r} to predict{meant}")


def names_used(variable: Variable) -> set[str]:
    """Return the variables and inputs that a variable's distribution is made of."""
    stack: list[Any] = list(variable.parameters.values())
    stack.extend(() if variable.step is None else variable.step.parameters.values())
    found: set[str] = set()
    seen: set[int] = set()
    while stack:
        item = stack.pop()
        if isinstance(item, (Variable, Previous, Input)):
            found.add(str(item.name))
        elif isinstance(item, Expression) and id(item) not in seen:
            seen.add(id(item))
            stack.extend(arguments_of(item))
    return found


def used_by(bound: Bound, names: Iterable[str]) -> dict[str, set[str]]:
    """Return what variables, and all that they depend on, are made of, in the order of the model."""
    found: dict[str, set[str]] = {}
    stack = list(names)
    while stack:
        item = stack.pop()
        if item not in found:
            found[item] = names_used(bound.variables[item])
            stack.extend(n for n in found[item] if n in bound.variables)
    return {n: found[n] for n in bound.variables if n in found}


def _count(bound: Bound, name: str, plate: str, value: Any) -> int:
    """Return the number of new members that a keyword asks for."""
    if plate not in bound.plates_of(name):
        own = ", ".join(bound.plates_of(name)) or "none"
        raise ValueError(
            f"{plate}={value!r}: {name} does not lie on plate {plate!r} (its plates: {own})"
        )
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(
            f"{plate} is a plate: give the number of its new members, a whole number, got {value!r}"
        ) from None
    if count < 1:
        raise ValueError(f"{plate} must be at least 1 new member, got {count}")
    return count


def _add_size(sizes: dict[str, int], plate: str, size: int, key: str) -> None:
    if size < 1:
        raise ValueError(f"{key} has no members on plate {plate!r}: give at least one")
    if sizes.setdefault(plate, size) != size:
        raise ValueError(
            f"plate {plate!r} gets {sizes[plate]} new members but {key} has {size} on it; "
            "give as many"
        )


def _unknown_keyword(bound: Bound, key: str, plates: Mapping[str, int]) -> str:
    known = [*bound.inputs, *plates]
    text = f"the model has no input or plate {key!r}{meant_or_has(key, known)}"
    if hint(key, known):
        return text
    fixed = [n for n, v in bound.variables.items() if any(isinstance(p, int) for p in v.plates)]
    if fixed:
        text += (
            f"; {', '.join(fixed)} repeats a fixed number of times: "
            'a named plate, as in .iid("n"), can get new members'
        )
    return text


def _is_same(value: Any, old: Any) -> bool:
    """Tell whether a value is that of the data."""
    if value is old:
        return True
    if old is None or np.shape(value) != np.shape(old):
        return False
    a, b = np.asarray(value), np.asarray(old)
    return bool(np.all((a == b) | ((a != a) & (b != b))))


def _new_variables(
    bound: Bound, used: Mapping[str, set[str]], changed: set[str], fresh: set[str]
) -> frozenset[str]:
    new: set[str] = set()
    for name in used:
        if used[name] & (changed | new) or fresh & set(bound.plates_of(name)):
            new.add(name)
    return frozenset(new)


def _require_inputs(
    bound: Bound, request: Request, used: set[str], keywords: Mapping[str, Any]
) -> None:
    """Refuse to use inputs of the data for new members."""
    for key, item in bound.inputs.items():
        plates = [p for p in item.plates if p in request.sizes]
        if plates and key in used and key not in keywords:
            size = request.sizes[plates[0]]
            raise ValueError(
                f"{key} lies on plate {plates[0]!r}: give it for the {size} new members too"
            )


# -- binding ---------------------------------------------------------------------------------


def inputs_of(bound: Bound, names: Iterable[str], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that variables use, some with new values."""
    used = set[str]().union(*(names_used(bound.variables[n]) for n in names))
    inputs = {**bound.given, **new}
    return {k: inputs[k] for k in bound.inputs if k in used and k in inputs}


def bind_anew(solved: Solved, request: Request) -> Anew:
    """Bind a variable and what it depends on; observations of the data stay where they are."""
    bound = solved.bound
    variables = {n: bound.variables[n] for n in request.needed}
    given = inputs_of(bound, variables, request.inputs)
    known = {k: v for k, v in request.values.items() if k in variables}
    declared = {k: bound.inputs[k] for k in given}
    binder = Binder(variables, declared, given | known, bound.plate_sizes() | dict(request.sizes))
    factors = {}
    for name, variable in variables.items():
        start = len(binder.factors)
        binder.bind_variable(name, variable)
        factors[name] = binder.factors[start:]
        if name in bound.observed and name not in {*request.new, *known, request.name}:
            binder.observed[name] = bound.observed[name]
    informed = solved.by_name.keys() - request.new
    unsolved = variables.keys() - informed - binder.observed.keys() - {request.name}
    return Anew(factors, binder.layouts, frozenset(unsolved))
