"""Posterior predictive distributions: which variables are new, and which rule predicts them.

Each result is asked for a rule of its own kind first. The rules here put together what several blocks
know: children of conjugate variables and of a common precision have predictives of their own
families, normal ones are predicted by their moments.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.distributions.batches import join_members
from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.bound import GAUSSIAN, BoundFactor
from posteriori.modeling.binding.construction import member
from posteriori.modeling.binding.labelled import Switch, shape_of
from posteriori.modeling.contract.engine import Result
from posteriori.modeling.contract.linear_forms import Owners, locate_mean
from posteriori.modeling.contract.longer_data import predict_longer
from posteriori.modeling.contract.more_points import predict_more_points
from posteriori.modeling.contract.requests import (
    Anew,
    Request,
    accessed,
    bind_anew,
    no_closed_form,
    read_request,
)
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.chain.observed_chain import continue_observed
from posteriori.modeling.exact.conjugate.conjugate_prediction import conjugate_predictive
from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock
from posteriori.modeling.exact.discrete.discrete_prediction import StatePredictions
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.scaled.scaled_factors import (
    MATRICES,
    SPREADS,
    at_unit_precision,
    entries_apart,
    places_of_spread,
)
from posteriori.modeling.exact.scaled.student import student
from posteriori.modeling.forms.normal_rows import known_variance
from posteriori.modeling.forms.rows_apart import split_rows
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.language.processes import is_process
from posteriori.numerics.linalg import symmetrize

__all__ = ["joint", "predict", "predict_request"]


def predict(solved: Solved, name: str, keywords: Mapping[str, Any]) -> Any:
    """Return the predictive distribution of a variable under new inputs, or of new members."""
    request = read_request(solved.bound, name, keywords)
    if request.values and solved.has_earlier and not _is_approximate(solved, request.needed):
        raise TypeError(
            f"{name} cannot be predicted from new data after update: give "
            f"{', '.join(request.values)} to update(), which knows the earlier data"
        )
    if name in solved.by_name and not (request.inputs or request.values or request.sizes):
        return solved.marginal(name)
    return predict_request(solved, request)


def predict_request(solved: Solved, request: Request) -> Any:
    """Return the predictive distribution that a question asks for."""
    bound, name = solved.bound, request.name
    variables = bound.variables
    if any(is_process(variables[n]) for n in request.new):
        return predict_more_points(solved, request)
    lengths = [variables[n].length for n in request.needed]
    after = [] if request.values else [p for p in lengths if p in request.sizes]
    is_normal_series = name in bound.observed and bound.families[name] in GAUSSIAN
    if is_normal_series and variables[name].length in after:
        return continue_observed(solved, request)
    for rule in _rules(solved, request.needed):
        found = rule(solved, request)
        if found is not None:
            return found
    if request.values:
        _require_plain_values(solved, request)
    if after:
        return _predict_after_end(solved, request, str(after[0]))
    return _predict_anew(solved, bind_anew(solved, request), name)


def _rules(solved: Solved, names: Sequence[str]) -> Iterator[Any]:
    """Yield the rules of the blocks that a prediction needs, approximations first."""
    results = dict.fromkeys(solved.by_name[n] for n in names if n in solved.by_name)
    yield from (result.predict for result in sorted(results, key=lambda r: r.kind == "exact"))
    if any(solved.bound.families[name] in DISCRETE for name in names):
        yield lambda solved, request: StatePredictions(solved, DiscreteBlock).predict(request)


def _is_approximate(solved: Solved, names: Sequence[str]) -> bool:
    return any(solved.by_name[n].kind != "exact" for n in names if n in solved.by_name)


def _predict_after_end(solved: Solved, request: Request, plate: str) -> Any:
    """Predict members after the end of a chain that no block could carry on by itself."""
    bound = solved.bound
    chains = [n for n in request.needed if bound.variables[n].length in request.sizes]
    normal = all(bound.families[n] in GAUSSIAN for n in (*chains, request.name))
    along = all(plate in bound.inputs[key].plates for key in request.inputs)
    if not normal or not along or len(request.sizes) > 1:
        raise TypeError(
            f"{request.name} cannot be predicted after the end of {', '.join(chains)} yet"
        )
    return predict_longer(solved, request, bound.variables, plate)


def _require_plain_values(solved: Solved, request: Request) -> None:
    """Refuse observations that would teach something about unknown variables."""
    known = {factor.name for factor in solved.known}
    for name in request.values:
        if name not in known or name == request.name:
            raise TypeError(
                f"{name} is a variable of the model, and new observations of it would change the "
                f"posterior: infer again with {name} among the data"
            )


def joint(solved: Solved, names: Sequence[str]) -> Any:
    """Return the joint distribution of whole variables, flattened and put one after another."""
    results = dict.fromkeys(solved.by_name.get(n) for n in names)
    if all(result is None or result.states() is not None for result in results):
        table = StatePredictions(solved, DiscreteBlock).joint(names)
        if table is not None:
            return table
    if None in results or len(results) > 1:
        predicted = [n for n in names if n not in solved.by_name]
        if len(names) == 1 and (alone := _one_vector(predict(solved, names[0], {}))) is not None:
            return alone
        if predicted:
            raise TypeError(
                f"no observation depends on {' and '.join(predicted)}: post[{predicted[0]!r}] is its "
                "distribution alone, and sample() draws all variables together"
            )
        raise ValueError(f"{' and '.join(names)} are independent: they lie in different blocks")
    (result,) = results
    return result.joint(solved, names)  # type: ignore[union-attr]


def _one_vector(marginal: Any) -> MvNormal | None:
    """Return a normal variable without plates as one vector; None for any other."""
    if marginal.batch_shape:
        return None
    if isinstance(marginal, Normal):
        return MvNormal(np.reshape(marginal.mean, 1), cov=np.reshape(marginal.variance, (1, 1)))
    return marginal if isinstance(marginal, MvNormal) else None


# -- one variable ----------------------------------------------------------------------------


def _predict_anew(solved: Solved, anew: Anew, name: str) -> Any:
    """Return the distribution of a variable with everything above it integrated out."""
    unsolved = {name, *(anew.above(name) & anew.unsolved)}
    if any(anew.is_chain(n) for n in unsolved):
        return _predict_new_chain(solved, anew, name)
    (factor,) = anew.factors[name]
    parts = split_rows(factor, solved.bound.families)
    if len(parts) == 1:
        return _predict_rows(solved, anew, factor)
    parts = [part for part in parts if len(part.positions)]
    found = [_predict_rows(solved, anew, part.factor) for part in parts]
    return join_members(shape_of(factor.rows), [part.positions for part in parts], found)


def _predict_rows(solved: Solved, anew: Anew, factor: BoundFactor) -> Any:
    """Return the distribution of rows that see the same unknowns."""
    new = _new_normals(anew, factor) if factor.family in GAUSSIAN else ()
    above = accessed((factor, *new)) - {f.name for f in new}
    if not above and not new:
        return member(factor)
    families = solved.bound.families
    spreads = [p for p in above if families[p] in SPREADS]
    if factor.family in GAUSSIAN and len(spreads) == 1:
        return _predict_student(solved, anew, factor, new, spreads[0])
    results = {p: solved.by_name[p] for p in above - anew.unsolved}
    if len(above) == 1 and not new:
        (parent,) = above
        known = results[parent].independent() if results else None
        if known is not None or not results:
            belief = _predict_anew(solved, anew, parent) if known is None else known
            return conjugate_predictive(factor, parent, anew.layouts[parent], belief)
    told = [r for r in dict.fromkeys(results.values()) if not r.spread]
    owners = {n: o for r in told for n, o in r.answers(above & set(r.names)).items()}
    _require_normal(factor, results, above, owners)
    return _predict_normal(anew, factor, new, owners)


def _predict_new_chain(solved: Solved, anew: Anew, name: str) -> Any:
    """Return a chain that the data say nothing about, or what depends on one."""
    above = anew.above(name)
    families = solved.bound.families
    alone = all(families[n] in GAUSSIAN for n in {*above, name})
    if not alone or above - anew.unsolved:
        chains = sorted(n for n in {*above, name} if anew.is_chain(n))
        others = sorted(n for n in above - set(chains) if n not in anew.unsolved)
        reason = f"together with {', '.join(others)}" if others else "not all of it is normal"
        raise no_closed_form(name, f"{', '.join(chains)} is a new chain, {reason}")
    own = anew.is_chain(name)
    names = [n for n in anew.factors if n in above or (own and n == name)]
    factors = [f for n in names for f in anew.factors[n]]
    bound = solved.bound._replace(layouts=anew.layouts, factors=tuple(factors), observed={})
    result = GaussianBlock(bound, names, factors).solve()
    if own:
        return result.marginal(name)
    (factor,) = anew.factors[name]
    return _predict_normal(anew._replace(unsolved=frozenset()), factor, (), result.answers(names))


def _predict_normal(
    anew: Anew, factor: BoundFactor, parents: Iterable[BoundFactor], owners: Owners
) -> Any:
    """Return the predictive distribution of a normal factor with known noise.

    Parameters
    ----------
    anew : Anew
    factor : BoundFactor
    parents : iterable of BoundFactor
        Normal variables that are not solved.
    owners : mapping
        What answers for the solved ones.
    """
    for each in (factor, *parents):
        _require_affine(each, factor.name)
    center, cov = locate_mean(anew, factor, owners, known_variance)
    if factor.family is Normal:
        return Normal(center[()], variance=(cov + known_variance(factor))[()])
    return MvNormal(center, cov=symmetrize(cov + known_variance(factor)))


def _require_affine(factor: BoundFactor, name: str) -> None:
    for key, poly in factor.parameters.items():
        for term in poly.terms:
            names = [access.name for access in term.accesses]
            if key != "mean" and names:
                reason = f"the {key} of {factor.name} depends on {', '.join(names)}"
            elif len(names) > 1:
                reason = f"{factor.name} multiplies {' and '.join(names)}, which are both unknown"
            elif any(isinstance(access, Switch) for access in term.accesses):
                reason = f"{factor.name} switches with {names[0]}"
            else:
                continue
            raise no_closed_form(name, reason)


def _require_normal(
    factor: BoundFactor, results: Mapping[str, Result], above: set[str], told: Collection[str]
) -> None:
    """Refuse a factor that is not normal, or depends on what nothing tells moments of."""
    name, untold = factor.name, sorted(above - set(told))
    unknown = [n for n in untold if n not in results or results[n].spread]
    if factor.family not in GAUSSIAN:
        reason = f"it is {factor.family.__name__} and depends on {', '.join(sorted(above))}"
    elif not untold:
        return
    elif unknown:
        reason = f"nothing normal is known of {', '.join(unknown)}"
    else:
        reason = f"{', '.join(untold)} and what is new are not normal together, or lie on a chain"
    raise no_closed_form(name, reason)


def _new_normals(anew: Anew, factor: BoundFactor) -> tuple[BoundFactor, ...]:
    """Return the unsolved normal variables above a factor, each after those it depends on."""
    found: set[str] = set()
    stack = [factor]
    while stack:
        for name in accessed([stack.pop()]) & anew.unsolved - found:
            first = anew.factors[name][0]
            if not anew.is_chain(name) and first.family in GAUSSIAN:
                found.add(name)
                stack.append(first)
    return tuple(anew.factors[name][0] for name in anew.factors if name in found)


def _predict_student(
    solved: Solved,
    anew: Anew,
    factor: BoundFactor,
    new: Sequence[BoundFactor],
    spread: str,
) -> Any:
    """Predict at unit precision, then average over the precision."""
    result = None if spread in anew.unsolved else solved.by_name[spread]
    common = result if result is not None and result.spread == spread else None
    owners = {} if common is None else dict(common.owners)
    layouts = anew.layouts
    others = accessed((factor, *new)) - {f.name for f in new} - {spread}
    if not others <= owners.keys() - anew.unsolved:
        reason = f"{spread} and {', '.join(sorted(others))} were not inferred together"
        raise no_closed_form(factor.name, reason)
    belief = _predict_anew(solved, anew, spread) if result is None else result.marginal(spread)
    for f in new:
        if spread not in accessed([f]):
            reason = f"the noise of {f.name} is not a multiple of {spread}"
            raise no_closed_form(factor.name, reason)
        owners[f.name] = places_of_spread(f, spread, layouts[spread])
    unit, *parents = (
        at_unit_precision(f, spread, type(belief), owners, layouts) for f in (factor, *new)
    )
    told = {} if common is None else common.answers(others)
    if others - told.keys():
        raise no_closed_form(factor.name, f"{', '.join(sorted(others))} lie on a chain")
    apart = entries_apart(layouts, new) if type(belief) in MATRICES else layouts
    factors = {**anew.factors, **{parent.name: [parent] for parent in parents}}
    at_one = anew._replace(factors=factors, layouts=apart)
    normal = _predict_normal(at_one, unit, parents, told) if told or new else member(unit)
    return student(normal, belief, places_of_spread(factor, spread, layouts[spread]))
