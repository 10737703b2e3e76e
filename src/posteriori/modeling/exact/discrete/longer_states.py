r"""Members after the end of a discrete chain: the same model, longer, with nothing seen there.

Missing members say nothing, so the posterior of the others stays as it is, and what lies after the
end gets :math:`p(z_{T+k} \mid y) = \sum_{z_T} p(z_T \mid y) (A^k)_{z_T z_{T+k}}`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.contract.requests import Request, names_used
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.numerics.types import Array

__all__ = ["lengthen"]


def lengthen(bound: Bound, request: Request, names: Iterable[str], plate: str, steps: int) -> Bound:
    """Bind some variables, and all that they depend on, with more members on a plate."""
    _require_discrete_observations(bound, request, plate)
    found = _with_ancestors(bound, names)
    variables = {n: v for n, v in bound.variables.items() if n in found}
    used = set[str]().union(*(names_used(v) for v in variables.values()))
    asked = set[str]().union(*(names_used(bound.variables[n]) for n in request.needed))
    inputs = {k: item for k, item in bound.inputs.items() if k in used}
    given: dict[str, Any] = {k: bound.given[k] for k in inputs if k in bound.given}
    for key in given:
        if plate in inputs[key].plates:
            axis = inputs[key].plates.index(plate)
            new = request.inputs.get(key, given[key]) if key in asked else None
            given[key] = _continued(key, given[key], new, axis, steps)
    data = {**bound.evidence, **bound.observed}
    for name in found & data.keys():
        plates = bound.plates_of(name)
        more = plate in plates
        given[name] = _unseen(data[name], plates.index(plate), steps) if more else data[name]
    axes = [axis for layout in bound.layouts.values() for axis in layout.plates]
    sizes = {axis.name: axis.size + (steps if axis.name == plate else 0) for axis in axes}
    return Binder(variables, inputs, given, sizes).run()


def _require_discrete_observations(bound: Bound, request: Request, plate: str) -> None:
    for name in request.needed:
        ends = plate in bound.plates_of(name)
        known = name in bound.observed and name != request.name
        if ends and known and bound.families[name] not in DISCRETE:
            raise TypeError(
                f"{request.name} depends on {name}, which was observed up to the end of plate "
                f"{plate!r} only; make {name} an Input to give its further values"
            )


def _with_ancestors(bound: Bound, names: Iterable[str]) -> set[str]:
    """Return variables and all that they depend on."""
    stack = list(names)
    found: set[str] = set()
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(n for n in names_used(bound.variables[name]) if n in bound.variables)
    return found


def _continued(name: str, old: Any, new: Any, axis: int, steps: int) -> Array:
    """Put the values of the members that follow behind those of the data.

    Values that only missing observations depend on do not matter.
    """
    past = np.asarray(old)
    future = np.repeat(np.take(past, [-1], axis=axis), steps, axis=axis)
    if new is not None:
        future = np.asarray(new)
        if future.shape[axis] != steps:
            raise ValueError(f"{name} must have {steps} further members, got shape {future.shape}")
    return np.concatenate([past, future], axis=axis)


def _unseen(values: Array, axis: int, steps: int) -> Array:
    width = [(0, steps if i == axis else 0) for i in range(values.ndim)]
    return np.pad(values, width, constant_values=np.nan)
