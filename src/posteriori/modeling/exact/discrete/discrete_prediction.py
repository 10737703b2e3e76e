"""Predictions from discrete posteriors: mixtures over the states that a variable depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.composites.mixture import Mixture
from posteriori.modeling.binding.binder import bind
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.contract.requests import accessed
from posteriori.modeling.exact.discrete.discrete_block import (
    DiscreteBlock,
    DiscreteResult,
    is_discrete,
)
from posteriori.modeling.forms.state_tables import (
    DISCRETE,
    StateTable,
    View,
    conditional_parameters,
    views_of,
)
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = [
    "block_with",
    "combined_probabilities",
    "discrete_predictive",
    "joint_table",
    "mixture_over_states",
]

#: A name that nobody can give to a variable.
_NEW = "new {}"


def discrete_predictive(posterior: Posterior, name: str, inputs: Mapping[str, Any]) -> Any:
    """Return the predictive of a variable that depends on discrete ones only, else None."""
    plan = posterior._plan
    if name not in plan.variables:
        return None
    own = [f for f in plan.bound.factors if f.name == name]
    parents = accessed(own)
    if plan.bound.families[name] not in DISCRETE and (not parents or name in parents):
        return None
    ancestors = _ancestors(plan.bound, {*parents, name} - set(plan.bound.observed))
    if not is_discrete(plan.bound, ancestors - {name}):
        return None
    changed = {k: v for k, v in inputs.items() if v is not plan.given.get(k)}
    if name in posterior._results and not isinstance(posterior._results[name], DiscreteResult):
        return None
    if changed:
        return _inferred_anew(posterior, name, changed)
    if name in posterior._results:
        return posterior[name]
    return _predictive(posterior, name, own, ancestors)


def joint_table(posterior: Posterior, names: Sequence[str]) -> Any:
    """Return the joint table of discrete variables, else None."""
    bound = posterior._plan.bound
    if not names or any(n not in bound.latent for n in names) or not is_discrete(bound, names):
        return None
    ancestors = _ancestors(bound, set(names))
    if not is_discrete(bound, ancestors):
        return None
    return block_with(posterior, bound, ancestors).joint(names)


def _inferred_anew(posterior: Posterior, name: str, changed: Mapping[str, Any]) -> Any:
    """Infer with new data: no parameter was learnt, so the old data say nothing more."""
    from posteriori.modeling.planning.planner import make_plan

    plan = posterior._plan
    for key in changed:
        if key not in plan.inputs and key not in plan.variables:
            raise ValueError(f"the model has no variable or input {key!r}")
    given = {k: v for k, v in plan.given.items() if k != name} | dict(changed)
    bound = bind(plan.variables, plan.inputs, given)
    return make_plan(bound, plan.variables, plan.inputs, given).run()[name]


def _predictive(
    posterior: Posterior, name: str, own: list[BoundFactor], ancestors: set[str]
) -> Any:
    bound = posterior._plan.bound
    if bound.families[name] in DISCRETE:
        if name in bound.observed:
            bound, own = _copied(bound, name, own)
            name = own[0].name
        block = block_with(posterior, bound, ancestors | {name}, own)
        return block.solve().marginal(name)
    (factor,) = own
    block = block_with(posterior, bound, ancestors - {name})
    views = views_of(factor, block.sizes)
    weights = combined_probabilities(block, bound, factor, views)
    return mixture_over_states(factor, views, weights)


def _ancestors(bound: Bound, names: set[str]) -> set[str]:
    """Return unknown variables and all unknown variables above them."""
    above = {name: accessed(f for f in bound.factors if f.name == name) for name in bound.latent}
    found, stack = set(), list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(above.get(name, ()))
    return found


def block_with(
    posterior: Posterior, bound: Bound, names: set[str], more: Sequence[BoundFactor] = ()
) -> DiscreteBlock:
    """Return one block of variables, of all that is solved together with them, and of more."""
    solved = {id(r): r for r in posterior._blocks if set(r.names) & names}.values()
    wanted = set(names).union(*(result.names for result in solved))
    factors = [factor for result in solved for factor in result.block.factors]
    present = {id(factor) for factor in factors}
    own = {factor.name for factor in more}
    for factor in bound.factors:
        if factor.name in wanted - own and id(factor) not in present:
            factors.append(factor)
    ordered = [name for name in bound.layouts if name in wanted]
    return DiscreteBlock(bound, ordered, [*factors, *more])


def _copied(bound: Bound, name: str, own: list[BoundFactor]) -> tuple[Bound, list[BoundFactor]]:
    """Add an unknown copy of an observed variable."""
    new = _NEW.format(name)
    copied = bound._replace(
        layouts={**bound.layouts, new: bound.layouts[name]},
        families={**bound.families, new: bound.families[name]},
        labels={**bound.labels, new: bound.labels[name]},
    )
    return copied, [factor._replace(name=new) for factor in own]


def combined_probabilities(
    block: DiscreteBlock, bound: Bound, factor: BoundFactor, views: tuple[View, ...]
) -> Array:
    """Return P of all combinations of states that each row sees, (*rows, combinations)."""
    count = int(np.prod([view.state.size for view in views]))
    new = _NEW.format(factor.name)
    state = Axis(new, count)
    sizes = tuple(view.state.size for view in views)
    with np.errstate(divide="ignore"):
        same = np.log(np.eye(count)).reshape(*sizes, count)
    own = View(new, factor.rows, state)
    table = StateTable(
        new, Table(same, (*(v.state for v in views), state)), factor.rows, (*views, own)
    )
    layouts = {**bound.layouts, new: Layout(factor.rows, (), ())}
    wider = bound._replace(layouts=layouts, labels={**bound.labels, new: None})
    return DiscreteBlock(wider, block.names, block.factors, table).solve().probabilities(new)


def mixture_over_states(factor: BoundFactor, views: tuple[View, ...], weights: Array) -> Any:
    """Return the child's distribution for each combination of states, weighted."""
    rows = tuple(axis.size for axis in factor.rows)
    states = tuple(view.state.size for view in views)
    values = {}
    for key, value in conditional_parameters(factor, views).items():
        event = value.shape[len(states) + len(rows) :]
        full = np.broadcast_to(value, states + rows + event).reshape(-1, *rows, *event)
        values[key] = np.moveaxis(full, 0, len(rows))
    return Mixture(weights / weights.sum(axis=-1, keepdims=True), factor.family(**values))
