"""More data after inference: what was learnt takes the place of the prior."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.beliefs.earlier import Earlier
from posteriori.modeling.beliefs.group_beliefs import as_factors, beliefs_of
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.contract.options import OPTION_NAMES, Options
from posteriori.modeling.planning.planner import Plan, make_plan
from posteriori.modeling.variational.prediction.local_ascent import (
    bind_new_data,
    fresh_plates,
    solve_new_data,
)
from posteriori.modeling.variational.variational_block import VariationalBlock

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["shared_variables", "update", "with_earlier"]


def update(posterior: Posterior, keywords: Mapping[str, Any]) -> Posterior:
    """Return the posterior after more data, with what was learnt as the prior."""
    plan = posterior._plan
    options = {k: v for k, v in keywords.items() if k in OPTION_NAMES}
    given = {k: v for k, v in keywords.items() if k not in OPTION_NAMES}
    _require_known(plan, given)
    fresh = fresh_plates(plan, given)
    _require_no_chain(plan, given)
    bound = bind_new_data(plan, given, fresh)
    shared = shared_variables(posterior, fresh)
    earlier = [f for b in beliefs_of(posterior, shared) for f in as_factors(b, bound)]
    used = {n for n in bound.observed if n not in given}  # their data were looked at before
    bound = with_earlier(bound, earlier, {*shared, *used})
    kept = {k: v for k, v in plan.given.items() if k in plan.inputs}
    data = {**kept, **given}
    chosen = Options(**options) if options else Options()
    made = make_plan(bound, plan.variables, plan.inputs, data, chosen, shared)
    starts = _starts(posterior, made, given, fresh)
    if starts:
        chosen = replace(chosen, init={**starts, **chosen.init})
        made = make_plan(bound, plan.variables, plan.inputs, data, chosen, shared)
    found = made.run()
    found._earlier = True
    return found


def shared_variables(posterior: Posterior, fresh: set[str]) -> list[str]:
    """Return the unknown variables that have no new members on some plates."""
    plan = posterior._plan
    layouts = plan.bound.layouts
    return [
        name
        for name in plan.variables
        if name in posterior._results and not fresh & {a.name for a in layouts[name].plates}
    ]


def with_earlier(bound: Bound, earlier: Sequence[Earlier], replaced: Iterable[str]) -> Bound:
    """Let factors take the place of those of some variables."""
    gone = set(replaced)
    layouts, observed = dict(bound.layouts), dict(bound.observed)
    families = dict(bound.families)
    for factor, layout, values in earlier:
        if layout is not None and values is not None:
            layouts[factor.name], observed[factor.name] = layout, values
            families[factor.name] = factor.family
    factors = (*(e.factor for e in earlier), *(f for f in bound.factors if f.name not in gone))
    return bound._replace(factors=factors, layouts=layouts, observed=observed, families=families)


def _starts(
    posterior: Posterior, plan: Plan, given: Mapping[str, Any], fresh: set[str]
) -> dict[str, Any]:
    """Return where variables begin whose parts could change places: where they were learnt."""
    names = {n for b in plan.blocks if isinstance(b, VariationalBlock) for n in b._seeded()}
    if not names or not posterior._results:
        return {}
    scene = solve_new_data(posterior, given, fresh)
    found = {}
    for name in names & scene.owners.keys():
        belief = scene.belief(name)
        states = hasattr(belief, "probabilities")
        found[name] = np.asarray(belief.probabilities if states else belief.mean)
    return found


def _require_known(plan: Plan, given: Mapping[str, Any]) -> None:
    known = [*plan.inputs, *plan.variables]
    if not given:
        raise ValueError("update needs data, as in post.update(x=...)")
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(known)}"
            raise ValueError(f"the model has no variable or input {name!r}; {hint}")


def _require_no_chain(plan: Plan, given: Mapping[str, Any]) -> None:
    chains = [name for name, variable in plan.variables.items() if variable.step is not None]
    if chains:
        raise TypeError(
            f"{', '.join(given)} may go on with the chain {', '.join(chains)} or be another series, "
            "and update cannot tell: infer again with the whole series, or with all series on a plate"
        )
