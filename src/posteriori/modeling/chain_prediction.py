"""Predictions along smoothed chains: at their own times, and of the members that follow the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.inference.chain_forecast import predict_chain
from posteriori.modeling.binding import Binder, Bound, BoundFactor
from posteriori.modeling.chain_matrices import Part
from posteriori.modeling.common_precision import (
    CommonPrecisionResult,
    at_unit_precision,
    student,
)
from posteriori.modeling.forney_model import parents_of
from posteriori.modeling.gaussian_chain import ChainResult, GaussianChainBlock
from posteriori.modeling.planning import Plan
from posteriori.modeling.tables import Axis
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.posterior import Posterior

__all__ = ["chain_predictive"]


class _Moments(NamedTuple):
    """Mean (L, E) and covariance (L, E, E) of all numbers of a variable at L times."""

    mean: Array
    cov: Array


def chain_predictive(posterior: Posterior, name: str, inputs: Mapping[str, Any]) -> Any:
    """Return the distribution of a variable along a chain, or after its end; None off chains.

    Where the name of the chain's plate is given a number, or inputs on that plate are given, the
    members that follow the end are meant.
    """
    plan = posterior._plan
    result = _solved(posterior, name)
    scaled = isinstance(result, CommonPrecisionResult)
    chain = result.gaussian if scaled else result
    if not isinstance(chain, ChainResult):
        return None
    steps = _count_steps(plan, chain, inputs)
    if steps is None and inputs:
        return None
    if steps is None and name in chain.block.chains:
        return result.marginal(name)
    bound = plan.bound if steps is None else _bind_future(plan, chain, name, inputs, steps)
    factors = [f for f in bound.factors if not scaled or f.name != result.spread]
    if scaled:
        spread, family = result.spread, type(result.belief)
        factors = [
            at_unit_precision(f, spread, family, result.owners, bound.layouts)
            for f in factors
            if f.name == name or f.name in chain.names
        ]
    if steps is None:
        (factor,) = (f for f in factors if f.name == name)
        normal = _along(chain, factor)
    else:
        normal = _ahead(chain, bound, factors, name, steps)
    return student(normal, result.belief, np.zeros((), dtype=np.intp)) if scaled else normal


def _solved(posterior: Posterior, name: str) -> Any:
    """Return the result that holds all unknowns that a variable depends on, or the variable."""
    results = posterior._results
    if name in results:
        chains = getattr(getattr(results[name], "gaussian", results[name]), "block", None)
        return results[name] if name in getattr(chains, "chains", ()) else None
    factors = [f for f in posterior._plan.bound.factors if f.name == name]
    if len(factors) != 1 or factors[0].family not in (Normal, MvNormal):
        return None
    terms = [t for poly in factors[0].parameters.values() for t in poly.terms]
    found = [results.get(access.name) for t in terms for access in t.accesses]
    return found[0] if found and all(result is found[0] for result in found) else None


# -- at the times of the data ----------------------------------------------------------------


def _along(result: ChainResult, factor: BoundFactor) -> Any:
    """Return N(K m_t + c, K P_t Kᵀ + R) of states and constants together."""
    block, post = result.block, result.moments
    axis, times = block.times_of(factor)
    if axis is not None and axis not in factor.rows:  # constants alone, the same at all times
        axis, times = None, np.array([-1])
    part = block.read(factor, axis)
    mean = (part.sees @ post.mean[times][..., None])[..., 0] + part.offset
    cov = part.sees @ post.cov[times] @ np.swapaxes(part.sees, -1, -2) + part.noise
    return _distribution(factor, axis, _Moments(mean, cov))


def _distribution(factor: BoundFactor, axis: Axis | None, moments: _Moments) -> Any:
    """Return a batch over the rows of a factor, whose axis along time may have another length."""
    others = tuple(a.size for a in factor.rows if a is not axis)
    length, count = len(moments.mean), int(np.prod(others))
    mean = moments.mean.reshape(length, count, -1)
    size = mean.shape[-1]
    square = moments.cov.reshape(length, count, size, count, size)
    each = np.arange(count)
    cov = np.moveaxis(square[:, each, :, each], 0, 1)  # (L, rows, E, E)
    mean, cov = mean.reshape(length, *others, size), cov.reshape(length, *others, size, size)
    if axis is None:
        mean, cov = mean[0], cov[0]
    else:
        place = factor.rows.index(axis)
        mean, cov = np.moveaxis(mean, 0, place), np.moveaxis(cov, 0, place)
    if factor.family is MvNormal:
        return MvNormal(mean, cov=symmetrize(cov))
    return Normal(mean[..., 0][()], variance=cov[..., 0, 0][()])


# -- after the end ---------------------------------------------------------------------------


def _count_steps(plan: Plan, result: ChainResult, inputs: Mapping[str, Any]) -> int | None:
    """Return how many members after the end are asked for, None where it is none of them."""
    plate = plan.variables[result.block.chains[0]].length
    told: dict[str, int] = {}
    for key, value in inputs.items():
        if key in plan.inputs:
            plates = plan.inputs[key].plates
            if plate in plates and np.ndim(value) < len(plates):
                raise ValueError(f"{key} has plates {', '.join(plates)}: give it an array")
            if plate in plates:
                told[key] = np.shape(value)[plates.index(plate)]
        elif key == plate:
            if not isinstance(value, (int, np.integer)) or value < 1:
                raise ValueError(f"{key} must be a number of members to predict, got {value!r}")
            told[key] = int(value)
        else:
            raise ValueError(f"the model has no input or plate {key!r} to predict by")
    if len(set(told.values())) > 1:
        sizes = ", ".join(f"{size} in {key}" for key, size in told.items())
        raise ValueError(f"plate {plate!r} has different numbers of further members: {sizes}")
    return next(iter(told.values()), None)


def _bind_future(
    plan: Plan, result: ChainResult, name: str, inputs: Mapping[str, Any], steps: int
) -> Bound:
    """Bind chains and variable to the last member, of which inputs do not matter, and the next."""
    plate = result.block.time.name
    needed = _ancestors(plan, {*result.names, name})
    sizes = {a.name: a.size for layout in plan.bound.layouts.values() for a in layout.plates}
    fresh = {p for key in inputs if key in plan.inputs for p in plan.inputs[key].plates}
    sizes = {p: size for p, size in sizes.items() if p not in fresh} | {plate: steps + 1}
    given: dict[str, Any] = {}
    for key in needed & plan.inputs.keys():
        plates = plan.inputs[key].plates
        if plate not in plates:
            given[key] = inputs.get(key, plan.given[key])
            continue
        if key not in inputs:
            raise ValueError(
                f"{key} lies on plate {plate!r}: give it for the members to predict, {key}=..."
            )
        axis = plates.index(plate)
        values = np.asarray(inputs[key])
        first = np.take(values, [0], axis=axis)
        given[key] = np.concatenate([first, values], axis=axis)
    for key in needed & plan.bound.observed.keys() - {name}:
        if plate in (a.name for a in plan.bound.layouts[key].plates):
            raise TypeError(
                f"{name} depends on {key}, which was observed only up to the end of plate "
                f"{plate!r}; make {key} an Input to give its further values"
            )
        given[key] = plan.given[key]
    variables = {n: v for n, v in plan.variables.items() if n in needed}
    return Binder(variables, plan.inputs, given, sizes).run()


def _ancestors(plan: Plan, names: set[str]) -> set[str]:
    """Return variables and inputs that some variables depend on, and themselves."""
    found: set[str] = set()
    waiting = sorted(names)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        if name in plan.variables:
            variable = plan.variables[name]
            parameters = [variable.parameters]
            parameters += [] if variable.step is None else [variable.step.parameters]
            waiting += [p.name for part in parameters for p in parents_of(part)]  # type: ignore[attr-defined]
    return found


def _ahead(
    result: ChainResult, bound: Bound, factors: list[BoundFactor], name: str, steps: int
) -> Any:
    """Run the chain on from its last state; entry 0 of the new times is that state itself."""
    chains = result.block.chains
    own = [f for f in factors if f.name in result.names]
    block = GaussianChainBlock(bound, result.names, own, chains)
    if name in chains:
        factor = next(f for f in block.steps if f.name == name)
        axis, seen = factor.rows[0], _state_itself(block, name)
    else:
        (factor,) = (f for f in factors if f.name == name)
        axis = block.time
        seen = Part(*(a[1:] if len(a) > 1 else a for a in block.read(factor, axis)))
    forecast = predict_chain(block.chain_of(seen)[0], result.moments, steps)
    return _distribution(factor, axis, _Moments(forecast.mean, forecast.cov))


def _state_itself(block: GaussianChainBlock, name: str) -> Part:
    """Return the matrices of an observation of one chain without noise."""
    columns = block.columns
    rows = np.eye(columns.n_states)[None, columns.states[name]]
    size = rows.shape[1]
    return Part(
        np.zeros((1, size)),
        rows,
        np.zeros_like(rows),
        np.zeros((1, size, columns.n_constants)),
        np.zeros((1, size, size)),
    )
