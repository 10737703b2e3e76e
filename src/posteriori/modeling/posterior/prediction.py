"""Posterior predictive distributions: which variables are new, and which rule predicts them.

Children of conjugate variables and of a common precision have predictives of their own families;
normal ones are predicted by their moments, discrete ones and mixtures by their tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.gaussian.joint_moments import joint_moments
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.contract.requests import (
    Anew,
    Request,
    accessed,
    bind_anew,
    read_request,
)
from posteriori.modeling.exact.chain.chain_block import ChainResult
from posteriori.modeling.exact.chain.chain_prediction import chain_forecast, chain_predictive
from posteriori.modeling.exact.conjugate.conjugate_block import (
    ConjugateResult,
    conjugate_predictive,
)
from posteriori.modeling.exact.discrete.discrete_forecast import discrete_forecast
from posteriori.modeling.exact.discrete.discrete_new_members import discrete_new_members
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock
from posteriori.modeling.exact.gaussian.gaussian_result import GaussianResult, in_layout_order
from posteriori.modeling.exact.gaussian.normal_prediction import predict_normal
from posteriori.modeling.exact.scaled.scaled_block import CommonPrecisionResult, student_predictive
from posteriori.modeling.exact.scaled.scaled_factors import (
    MATRICES,
    SPREADS,
    at_unit_precision,
    places_of_spread,
)
from posteriori.modeling.exact.scaled.scaled_joint import joint_of_scaled
from posteriori.modeling.forms.simulation import member
from posteriori.modeling.variational.variational_result import VariationalResult
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["dense_moments", "joint", "predict"]

_NORMAL = (Normal, MvNormal)


def predict(posterior: Posterior, name: str, keywords: Mapping[str, Any]) -> Any:
    """Return the predictive distribution of a variable under new inputs, or of new members."""
    request = read_request(posterior._plan, name, keywords)
    if any(isinstance(posterior._results.get(n), VariationalResult) for n in request.needed):
        from posteriori.modeling.variational.prediction.variational_prediction import (
            predict_variational,
        )

        return predict_variational(posterior, request)
    for rule in (_predict_after_chain, _predict_members_of_data, _predict_from_new_data):
        found = rule(posterior, request)
        if found is not None:
            return found
    anew = bind_anew(posterior, request)
    found = discrete_new_members(posterior, request, anew)
    return _predict_anew(posterior, anew, name) if found is None else found


def _predict_after_chain(posterior: Posterior, request: Request) -> Any:
    """Predict members after the end of a chain; None where new members are on no chain's length.

    ``request.sizes`` holds the number of steps after the end, under the name of the plate.
    """
    variables = posterior._plan.variables
    chains = [n for n in request.needed if variables[n].length in request.sizes]
    if not chains or request.values:
        return None
    for forecast in (chain_forecast, discrete_forecast):
        found = forecast(posterior, request)
        if found is not None:
            return found
    raise TypeError(f"{request.name} cannot be predicted after the end of {', '.join(chains)} yet")


def _predict_members_of_data(posterior: Posterior, request: Request) -> Any:
    """Predict when nothing is new: unknown members are those of the data."""
    if request.inputs or request.values or request.sizes:
        return None
    from posteriori.modeling.exact.discrete.discrete_prediction import discrete_predictive

    if request.name in posterior._results:
        return posterior[request.name]
    found = discrete_predictive(posterior, request.name, {})
    return chain_predictive(posterior, request.name) if found is None else found


def _predict_from_new_data(posterior: Posterior, request: Request) -> Any:
    """Predict discrete variables from other observations; None where there are none."""
    if not request.values:
        return None
    if posterior._earlier:
        raise TypeError(
            f"{request.name} cannot be predicted from new data after update: give "
            f"{', '.join(request.values)} to update(), which knows the earlier data"
        )
    from posteriori.modeling.exact.discrete.discrete_prediction import discrete_predictive

    found = discrete_predictive(posterior, request.name, {**request.inputs, **request.values})
    if found is None:
        _require_plain_values(posterior, request)
    return found


def _require_plain_values(posterior: Posterior, request: Request) -> None:
    """Refuse observations that would teach something about unknown variables."""
    known = {factor.name for factor in posterior._plan.known}
    for name in request.values:
        if name not in known or name == request.name:
            raise TypeError(
                f"{name} is a variable of the model, and new observations of it would change the "
                f"posterior: infer again with {name} among the data"
            )


# -- one variable ----------------------------------------------------------------------------


def _predict_anew(posterior: Posterior, anew: Anew, name: str) -> Any:
    """Return the distribution of a variable with everything above it integrated out."""
    unsolved = {name, *(anew.above(name) & anew.unsolved)}
    if any(anew.is_chain(n) for n in unsolved):
        return _predict_new_chain(posterior, anew, name)
    (factor,) = anew.factors[name]
    new = _new_normals(anew, factor) if factor.family in _NORMAL else ()
    above = accessed((factor, *new)) - {f.name for f in new}
    if not above and not new:
        return member(factor)
    families = posterior._plan.bound.families
    spreads = [p for p in above if families[p] in SPREADS]
    if factor.family in _NORMAL and len(spreads) == 1:
        return _predict_student(posterior, anew, factor, new, spreads[0])
    solved = {p: posterior._results[p] for p in above - anew.unsolved}
    alone = len(above) == 1 and not new
    if alone and all(isinstance(result, ConjugateResult) for result in solved.values()):
        (parent,) = above
        belief = posterior[parent] if solved else _predict_anew(posterior, anew, parent)
        return conjugate_predictive(factor, parent, anew.layouts[parent], belief)
    _require_normal(factor, above, solved)
    return predict_normal(solved, factor, new, anew.layouts)


def _predict_new_chain(posterior: Posterior, anew: Anew, name: str) -> Any:
    """Return a chain that the data say nothing about, or what depends on one."""
    above = anew.above(name)
    families = posterior._plan.bound.families
    alone = all(families[n] in _NORMAL for n in {*above, name})
    if not alone or above - anew.unsolved:
        chains = sorted(n for n in {*above, name} if anew.is_chain(n))
        others = sorted(n for n in above - set(chains) if n not in anew.unsolved)
        reason = f"together with {', '.join(others)}" if others else "not all of it is normal"
        raise TypeError(
            f"{name} has no closed-form predictive here: {', '.join(chains)} is a new chain, {reason}"
        )
    own = anew.is_chain(name)
    names = [n for n in anew.factors if n in above or (own and n == name)]
    factors = [f for n in names for f in anew.factors[n]]
    bound = Bound(anew.layouts, tuple(factors), {}, families, {}, {})
    result = GaussianBlock(bound, names, factors).solve()
    if own:
        return result.marginal(name)
    (factor,) = anew.factors[name]
    return predict_normal(dict.fromkeys(names, result), factor, (), anew.layouts)


def _require_normal(factor: BoundFactor, above: set[str], solved: Mapping[str, Any]) -> None:
    name = factor.name
    if factor.family not in _NORMAL:
        reason = f"it is {factor.family.__name__} and depends on {', '.join(sorted(above))}"
    elif above - solved.keys():
        reason = f"nothing normal is known of {', '.join(sorted(above - solved.keys()))}"
    else:
        others = sorted(n for n, r in solved.items() if not isinstance(r, GaussianResult))
        if not others:
            return
        reason = f"{', '.join(others)} and what is new are not normal together, or lie on a chain"
    raise TypeError(f"{name} has no closed-form predictive here: {reason}")


def _new_normals(anew: Anew, factor: BoundFactor) -> tuple[BoundFactor, ...]:
    """Return the unsolved normal variables above a factor, each after those it depends on."""
    found: set[str] = set()
    stack = [factor]
    while stack:
        for name in accessed([stack.pop()]) & anew.unsolved - found:
            first = anew.factors[name][0]
            if not anew.is_chain(name) and first.family in _NORMAL:
                found.add(name)
                stack.append(first)
    return tuple(anew.factors[name][0] for name in anew.factors if name in found)


def _predict_student(
    posterior: Posterior,
    anew: Anew,
    factor: BoundFactor,
    new: Sequence[BoundFactor],
    spread: str,
) -> Any:
    """Predict at unit precision, then average over the precision."""
    result = None if spread in anew.unsolved else posterior._results[spread]
    common = result if isinstance(result, CommonPrecisionResult) else None
    owners = {} if common is None else dict(common.owners)
    layouts = anew.layouts
    others = accessed((factor, *new)) - {f.name for f in new} - {spread}
    if not others <= owners.keys() - anew.unsolved:
        raise TypeError(
            f"{factor.name} has no closed-form predictive here: "
            f"{spread} and {', '.join(sorted(others))} were not inferred together"
        )
    belief = _predict_anew(posterior, anew, spread) if result is None else posterior[spread]
    for f in new:
        if spread not in accessed([f]):
            raise TypeError(
                f"{factor.name} has no closed-form predictive here: "
                f"the noise of {f.name} is not a multiple of {spread}"
            )
        owners[f.name] = places_of_spread(f, spread, layouts[spread])
    unit, *parents = (
        at_unit_precision(f, spread, type(belief), owners, layouts) for f in (factor, *new)
    )
    if common is not None and others and not isinstance(common.gaussian, GaussianResult):
        raise TypeError(
            f"{factor.name} has no closed-form predictive here: "
            f"{', '.join(sorted(others))} lie on a chain"
        )
    solved = {} if common is None else dict.fromkeys(others, common.gaussian)
    apart = _entries_apart(layouts, new) if type(belief) in MATRICES else layouts
    normal = predict_normal(solved, unit, parents, apart) if solved or new else member(unit)
    return student_predictive(factor, normal, spread, belief, layouts[spread])


def _entries_apart(
    layouts: Mapping[str, Layout], factors: Sequence[BoundFactor]
) -> dict[str, Layout]:
    """Return layouts in which the entries of vectors are variables of their own."""
    apart = {}
    for factor in factors:
        plates, ints, events = layouts[factor.name]
        apart[factor.name] = Layout(plates, ints + events, ())
    return {**layouts, **apart}


def joint(posterior: Posterior, names: tuple[str, ...]) -> Any:
    """Return the joint distribution of whole variables, flattened and put one after another."""
    results = {id(posterior._results[n]): posterior._results[n] for n in names}
    if len(results) != 1:
        raise ValueError(f"{' and '.join(names)} are independent: they lie in different blocks")
    (result,) = results.values()
    if isinstance(result, CommonPrecisionResult):
        return joint_of_scaled(result, names)
    if isinstance(result, VariationalResult):
        return result.joint(names)
    if not hasattr(result, "system"):
        raise TypeError(f"the joint distribution of {' and '.join(names)} has no closed form")
    mean, cov = dense_moments(result, names)
    return MvNormal(mean, cov=cov)


def dense_moments(result: Any, names: Sequence[str]) -> tuple[Array, Array]:
    """Return mean and covariance of whole normal variables, put one after another."""
    latents, equations, splits = _dense_system(result, names)
    if not splits.keys() >= set(names):
        raise TypeError(f"the joint distribution of {' and '.join(names)} has no closed form")
    mean, cov, slices = joint_moments(latents, equations)
    order = np.concatenate(
        [in_layout_order(result.layouts[n], splits[n]) + slices[n].start for n in names]
    )
    return mean[order], cov[np.ix_(order, order)]


def _dense_system(result: Any, names: Sequence[str]) -> Any:
    """Return the equations of a block; the smoother alone can do with singular noise."""
    try:
        return result.system()
    except ValueError as error:
        if not isinstance(result, ChainResult):
            raise
        raise ValueError(
            f"the joint distribution of {' and '.join(names)} has no density: {error}. Marginals "
            f"have one, as post[{names[0]!r}], and post.sample(...) draws whole paths"
        ) from None
