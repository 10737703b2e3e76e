"""Predictions along smoothed chains: at their own times, and of the members that follow the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.chains.chain_forecast import predict_chain
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.contract.requests import Request, names_used
from posteriori.modeling.exact.chain.chain_block import ChainResult, GaussianChainBlock
from posteriori.modeling.exact.chain.chain_matrices import Part
from posteriori.modeling.exact.chain.longer_chains import forecast_by_longer_data
from posteriori.modeling.exact.scaled.scaled_block import CommonPrecisionResult, student
from posteriori.modeling.exact.scaled.scaled_factors import at_unit_precision
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.planning.planner import Plan
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["chain_forecast", "chain_predictive"]


class _Moments(NamedTuple):
    """Mean (L, E) and covariance (L, E, E) of all numbers of a variable at L times."""

    mean: Array
    cov: Array


def chain_predictive(posterior: Posterior, name: str) -> Any:
    """Return the distribution of new observations at the times of a chain; None off chains."""
    found = _solved(posterior, name)
    if found is None or name in found.chain.names:
        return None
    (factor,) = (f for f in posterior._plan.bound.factors if f.name == name)
    layouts = posterior._plan.bound.layouts
    (unit,) = _at_unit(found.scaled, [factor], layouts)
    return _scaled(found.scaled, _along(found.chain, unit))


def chain_forecast(posterior: Posterior, request: Request) -> Any:
    """Return the distribution of members after the end of a chain; None off normal chains.

    ``request.sizes`` tells how many there are, under the name of the chain's length.
    """
    found = _solved(posterior, request.name)
    if found is None or found.chain.block.time.name not in request.sizes:
        lengths = [posterior._plan.variables[n].length for n in request.needed]
        (plate, *_) = (p for p in lengths if isinstance(p, str) and p in request.sizes)
        return forecast_by_longer_data(posterior, request, plate)
    bound = _bind_future(posterior._plan, found.chain, request)
    factors = [f for f in bound.factors if f.name == request.name or f.name in found.chain.names]
    units = _at_unit(found.scaled, factors, bound.layouts)
    return _scaled(found.scaled, _ahead(found.chain, bound, units, request))


class _Solved(NamedTuple):
    """Smoothed chains, and the common precision they may be scaled by."""

    chain: ChainResult
    scaled: CommonPrecisionResult | None


def _solved(posterior: Posterior, name: str) -> _Solved | None:
    """Return the smoothed chains that a variable depends on alone, or belongs to."""
    results = posterior._results
    if name in results:
        found = [results[name]]
    else:
        factors = [f for f in posterior._plan.bound.factors if f.name == name]
        if len(factors) != 1 or factors[0].family not in (Normal, MvNormal):
            return None
        found = [results.get(access.name) for access in factors[0].accesses]
    if not found or any(result is not found[0] for result in found):
        return None
    scaled = found[0] if isinstance(found[0], CommonPrecisionResult) else None
    chain = found[0] if scaled is None else scaled.gaussian
    return _Solved(chain, scaled) if isinstance(chain, ChainResult) else None


def _at_unit(
    scaled: CommonPrecisionResult | None, factors: list[BoundFactor], layouts: Any
) -> list[BoundFactor]:
    """Set a common precision to 1."""
    if scaled is None:
        return factors
    family = type(scaled.belief)
    return [at_unit_precision(f, scaled.spread, family, scaled.owners, layouts) for f in factors]


def _scaled(scaled: CommonPrecisionResult | None, normal: Any) -> Any:
    """Average over a common precision."""
    if scaled is None:
        return normal
    return student(normal, scaled.belief, np.zeros((), dtype=np.intp))


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


def _bind_future(plan: Plan, result: ChainResult, request: Request) -> Bound:
    """Bind what is asked for to the last member, of which inputs do not matter, and the next."""
    plate = result.block.time.name
    used = set[str]().union(*(names_used(plan.variables[n]) for n in request.needed))
    inputs = {
        k: v for k, v in {**plan.given, **request.inputs}.items() if k in used & plan.inputs.keys()
    }
    for key, values in inputs.items():
        plates = plan.inputs[key].plates
        if plate in plates:
            inputs[key] = _with_last(key, values, plates.index(plate), request.sizes[plate])
    observed = [n for n in request.needed if n in plan.bound.observed and n != request.name]
    for key in observed:
        if plate in (axis.name for axis in plan.bound.layouts[key].plates):
            raise TypeError(
                f"{request.name} depends on {key}, which was observed up to the end of plate "
                f"{plate!r} only; make {key} an Input to give its further values"
            )
    known = {n: plan.given[n] for n in observed}
    layouts = plan.bound.layouts.values()
    sizes = {axis.name: axis.size for layout in layouts for axis in layout.plates}
    sizes |= {**request.sizes, plate: request.sizes[plate] + 1}
    variables = {n: plan.variables[n] for n in request.needed}
    return Binder(variables, plan.inputs, inputs | known, sizes).run()


def _with_last(name: str, values: Any, axis: int, steps: int) -> Array:
    """Put an entry for the last member, which is not looked at, ahead of those that follow."""
    array = np.asarray(values)
    if array.shape[axis] != steps:
        raise ValueError(f"{name} must have {steps} further members, got shape {array.shape}")
    return np.concatenate([np.take(array, [0], axis=axis), array], axis=axis)


def _ahead(result: ChainResult, bound: Bound, factors: list[BoundFactor], request: Request) -> Any:
    """Run chains on from their last members; entry 0 of the new times is that of these."""
    names = tuple(n for n in result.names if n in request.needed)
    chains = tuple(n for n in result.block.chains if n in names)
    block = GaussianChainBlock(bound, names, [f for f in factors if f.name in names], chains)
    if request.name in chains:
        factor = next(f for f in block.steps if f.name == request.name)
        axis, seen = factor.rows[0], _state_itself(block, request.name)
    else:
        (factor,) = (f for f in factors if f.name == request.name)
        axis = block.time
        seen = Part(*(a[1:] if len(a) > 1 else a for a in block.read(factor, axis)))
    chain, _ = block.chain_of(seen)
    kept = np.concatenate(
        [np.arange(p.start, p.stop) for p in (result.places[n] for n in block.places)]
    )
    last = result.moments._replace(
        mean=result.moments.mean[-1:, kept], cov=result.moments.cov[-1:, kept[:, None], kept]
    )
    forecast = predict_chain(chain, last, request.sizes[block.time.name])
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
