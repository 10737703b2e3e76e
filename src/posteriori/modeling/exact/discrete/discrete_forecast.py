r"""Members after the end of a discrete chain: the same model, longer, with nothing seen there.

Missing members say nothing, so the posterior of the others stays as it is, and what lies after the
end gets :math:`p(z_{T+k} \mid y) = \sum_{z_T} p(z_T \mid y) (A^k)_{z_T z_{T+k}}`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.contract.requests import Request, names_used
from posteriori.modeling.exact.discrete.discrete_block import DiscreteResult, is_discrete
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.planning.planner import Plan
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["discrete_forecast"]


def discrete_forecast(posterior: Posterior, request: Request) -> Any:
    """Return the distribution of members after the end of a chain; None off discrete chains.

    ``request.sizes`` tells how many there are, under the name of the chain's length.
    """
    plan = posterior._plan
    unknown = [n for n in request.needed if n not in plan.bound.observed and n != request.name]
    results = [posterior._results[n] for n in unknown if n in posterior._results]
    if request.values or len(request.sizes) != 1 or not is_discrete(plan.bound, unknown):
        return None
    if not unknown and plan.bound.families[request.name] not in DISCRETE:
        return None
    if request.name in posterior._results:
        results.append(posterior._results[request.name])
    if not all(isinstance(result, DiscreteResult) for result in results):
        return None
    ((plate, steps),) = request.sizes.items()
    _require_discrete_observations(plan, request, plate)
    longer = _lengthen(plan, request, _solved_together(plan, request.needed, results), plate, steps)
    predicted = longer.predict(request.name)
    where = [axis.name for axis in longer._plan.bound.layouts[request.name].plates].index(plate)
    return take_members(predicted, (slice(None),) * where + (slice(-steps, None),))


def _require_discrete_observations(plan: Plan, request: Request, plate: str) -> None:
    bound = plan.bound
    for name in request.needed:
        ends = plate in (axis.name for axis in bound.layouts[name].plates)
        known = name in bound.observed and name != request.name
        if ends and known and bound.families[name] not in DISCRETE:
            raise TypeError(
                f"{request.name} depends on {name}, which was observed up to the end of plate "
                f"{plate!r} only; make {name} an Input to give its further values"
            )


def _solved_together(
    plan: Plan, needed: Iterable[str], results: Iterable[DiscreteResult]
) -> set[str]:
    """Return what was solved together with the variables, and all that it depends on."""
    stack = [*needed, *(f.name for result in results for f in result.block.factors)]
    found: set[str] = set()
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(n for n in names_used(plan.variables[name]) if n in plan.variables)
    return found


def _lengthen(plan: Plan, request: Request, names: set[str], plate: str, steps: int) -> Posterior:
    """Infer again with more members on a plate, of which nothing is observed."""
    from posteriori.modeling.planning.planner import make_plan

    variables = {n: v for n, v in plan.variables.items() if n in names}
    used = set[str]().union(*(names_used(v) for v in variables.values()))
    asked = set[str]().union(*(names_used(plan.variables[n]) for n in request.needed))
    inputs = {k: item for k, item in plan.inputs.items() if k in used}
    given: dict[str, Any] = {k: plan.given[k] for k in inputs if k in plan.given}
    for key in given:
        if plate in inputs[key].plates:
            axis = inputs[key].plates.index(plate)
            new = request.inputs.get(key, given[key]) if key in asked else None
            given[key] = _continued(key, given[key], new, axis, steps)
    for name in names & {*plan.bound.observed, *plan.bound.evidence}:
        plates = [p.name for p in plan.bound.layouts[name].plates]
        seen = _data(plan, name)
        given[name] = _unseen(seen, plates.index(plate), steps) if plate in plates else seen
    axes = [axis for layout in plan.bound.layouts.values() for axis in layout.plates]
    sizes = {axis.name: axis.size + (steps if axis.name == plate else 0) for axis in axes}
    bound = Binder(variables, inputs, given, sizes).run()
    return make_plan(bound, variables, inputs, given).run()


def _data(plan: Plan, name: str) -> Array:
    known: Mapping[str, Array] = plan.bound.observed
    return known[name] if name in known else plan.bound.evidence[name]


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
