"""More data after inference: what was learnt takes the place of the prior."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.beliefs.earlier import Earlier
from posteriori.modeling.beliefs.group_beliefs import Belief, as_factors
from posteriori.modeling.binding.binder import bind
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.contract.engine import Block
from posteriori.modeling.contract.new_data import bind_new_data, fresh_plates
from posteriori.modeling.contract.options import OPTION_NAMES, Options
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.variational.prediction.local_ascent import solve_new_data
from posteriori.numerics.validation import meant_or_has

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["carried_over", "shared_variables", "update", "with_earlier"]


def update(solved: Solved, keywords: Mapping[str, Any]) -> Posterior:
    """Return the posterior after more data, with what was learnt as the prior."""
    old = solved.bound
    options = {k: v for k, v in keywords.items() if k in OPTION_NAMES}
    given = {k: v for k, v in keywords.items() if k not in OPTION_NAMES}
    _require_known(old, given)
    fresh = fresh_plates(old, given)
    _require_no_chain(old, given)
    if any(result.looks_again for result in solved.results):
        return _with_all_data(solved, given, fresh, Options(**options) if options else None)
    bound = bind_new_data(old, given, fresh)
    bound = bound._replace(names=_kept_names(old, fresh), levels=old.levels)
    shared = shared_variables(solved, fresh)
    earlier = [f for b in carried_over(solved, shared) for f in as_factors(b, bound)]
    used = {n for n in bound.observed if n not in given}  # their data were looked at before
    inputs = {k: v for k, v in old.given.items() if k in old.inputs}
    bound = with_earlier(bound, earlier, {*shared, *used})._replace(given={**inputs, **given})
    chosen = Options(**options) if options else Options()
    plan = solved.plan(bound, chosen, shared)
    starts = _starts(solved, plan.blocks, given, fresh)
    if starts:
        chosen = replace(chosen, init={**starts, **chosen.init})
        plan = solved.plan(bound, chosen, shared)
    return plan.run(has_earlier=True)  # type: ignore[no-any-return]


def _kept_names(old: Bound, fresh: set[str]) -> dict[str, Any]:
    """Return the names of places, but for those of plates with new members."""
    return {
        name: tuple(
            None if axis.name in fresh and axis in old.layouts[name].plates else known
            for axis, known in zip(old.layouts[name].axes, names, strict=True)
        )
        for name, names in old.names.items()
    }


def _with_all_data(
    solved: Solved, given: Mapping[str, Any], fresh: set[str], options: Options | None
) -> Posterior:
    """Infer from earlier and new data together; the evidence is that of the new given the earlier.

    Variables on a plate with new members have those of before as well.
    """
    old = solved.bound
    together = {k: v for k, v in old.given.items() if k in {*old.inputs, *old.variables}}
    for name, values in given.items():
        plates = old.inputs[name].plates if name in old.inputs else old.plates_of(name)
        axis = next((i for i, plate in enumerate(plates) if plate in fresh), None)
        if axis is None:
            raise ValueError(f"{name} was given before and has no plate on which it could go on")
        if name in together:
            together[name] = np.concatenate(
                [np.asarray(together[name]), np.asarray(values)], axis=axis
            )
        else:
            raise ValueError(f"{name} was not among the earlier data; give all data to infer()")
    before = solved.posterior(solved).log_evidence
    again = solved.infer(bind(old.variables, old.inputs, together), options)
    after = again.log_evidence
    evidence = after.without(before)
    return solved.posterior(replace(again._solved, evidence=evidence))  # type: ignore[no-any-return]


def carried_over(solved: Solved, names: Sequence[str]) -> list[Belief]:
    """Return what is believed of some variables, jointly where they were solved together."""
    found: list[Belief] = []
    for result in solved.results:
        mine = tuple(n for n in result.names if n in names)
        if mine:
            found += result.carried_over(solved, mine)
    return found


def shared_variables(solved: Solved, fresh: set[str]) -> list[str]:
    """Return the unknown variables that have no new members on some plates."""
    bound = solved.bound
    return [
        name
        for name in bound.variables
        if name in solved.by_name and not fresh & set(bound.plates_of(name))
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
    solved: Solved, blocks: Iterable[Block], given: Mapping[str, Any], fresh: set[str]
) -> dict[str, Any]:
    """Return where variables begin whose parts could change places: where they were learnt."""
    names = {name for block in blocks for name in block.exchangeable}
    if not names or not solved.by_name:
        return {}
    scene = solve_new_data(solved, given, fresh)
    found = {}
    for name in names & scene.owners.keys():
        belief = scene.belief(name)
        discrete = solved.bound.families[name] in DISCRETE
        found[name] = np.asarray(belief.probabilities if discrete else belief.mean)
    return found


def _require_known(bound: Bound, given: Mapping[str, Any]) -> None:
    known = [*bound.inputs, *bound.variables]
    if not given:
        raise ValueError("update needs data, as in post.update(x=...)")
    for name in given:
        if name not in known:
            meant = meant_or_has(name, known)
            raise ValueError(f"the model has no variable or input {name!r}{meant}")


def _require_no_chain(bound: Bound, given: Mapping[str, Any]) -> None:
    chains = [name for name, variable in bound.variables.items() if variable.step is not None]
    if chains:
        raise TypeError(
            f"{', '.join(given)} may go on with the chain {', '.join(chains)} or be another series, "
            "and update cannot tell: infer again with the whole series, or with all series on a plate"
        )
