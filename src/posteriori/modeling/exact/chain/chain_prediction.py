"""Predictions along smoothed chains: at their own times, and of the members that follow the end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.inference.chains.chain_forecast import predict_chain, predict_chains
from posteriori.inference.chains.linear_gaussian_chain import ChainPosterior
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Axis
from posteriori.modeling.contract.engine import Result
from posteriori.modeling.contract.longer_data import bind_after_end, refuse_ended_data
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.chain.chain_matrices import StepMatrices
from posteriori.modeling.forms.fixing import fix_at_points
from posteriori.numerics.linalg import symmetrize
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock
    from posteriori.modeling.exact.chain.chain_result import ChainResult

__all__ = ["bind_future", "predict_along", "predict_at_points", "run_on"]


#: What turns factors into such in which the chains alone are unknown.
_Freed = Callable[[Sequence[BoundFactor], Mapping[str, Layout]], Sequence[BoundFactor]]


class _Moments(NamedTuple):
    """Mean (L, E) and covariance (L, E, E) of all numbers of a variable at L times.

    Points, where there are any, come first.
    """

    mean: Array
    cov: Array


def predict_along(result: Any, solved: Solved, request: Request) -> Any:
    """Predict what depends on smoothed chains alone; None for all else.

    The result may hold the chains at unit precision: it sets factors to that, and averages.

    ``request.sizes`` tells how many members follow the end, under the name of the chain's length.
    """
    chain, bound = result.chain, solved.bound
    if chain is None or request.values or not _depends_alone(result, solved, request.name):
        return None
    found = _along_or_ahead(chain, bound, request, result.at_unit)
    return None if found is None else result.averaged(found)


def predict_at_points(
    result: ChainResult, bound: Bound, values: Mapping[str, Array], request: Request
) -> Any:
    """Predict what depends on smoothed chains and on values outside; None for all else.

    Parameters
    ----------
    result : ChainResult
        At all points: moments (K, T, D), of a block with points.
    bound : Bound
        The model in which those outside are unknown.
    values : mapping
        Of those outside, (K, ...).

    Returns
    -------
    distribution
        A batch whose first axis counts the points.
    """
    points = result.block.points
    assert points is not None
    own = [f for f in bound.factors if f.name == request.name]
    seen = {access.name for f in own for access in f.accesses}
    known = {*result.names, *values}
    is_alone = own[0].family in GAUSSIAN and seen <= known and seen & set(result.names)
    if request.values or not (request.name in result.names or (len(own) == 1 and is_alone)):
        return None

    def fixed(
        factors: Sequence[BoundFactor], layouts: Mapping[str, Layout]
    ) -> Sequence[BoundFactor]:
        there = {name: array for name, array in values.items() if name in layouts}
        return fix_at_points(factors, layouts, there, points)

    return _along_or_ahead(result, bound, request, fixed)


def _along_or_ahead(result: ChainResult, bound: Bound, request: Request, freed: _Freed) -> Any:
    """Predict at the times of the data, or after their end; None for all else."""
    block = result.block
    own = [f for f in bound.factors if f.name == request.name]
    if not request.sizes and not request.inputs and len(own) == 1:
        return _along(result, *freed(own, bound.layouts))
    if block.time.name not in request.sizes:
        return None
    future = bind_future(bound, request, block.time.name, block.n_held)
    factors = [f for f in future.factors if f.name == request.name or f.name in result.names]
    return run_on(block, result.moments, future, list(freed(factors, future.layouts)), request)


def _depends_alone(result: Result, solved: Solved, name: str) -> bool:
    """Tell whether a variable belongs to a result, or is normal and depends on nothing else."""
    if name in solved.by_name:
        return solved.by_name[name] is result
    factors = [f for f in solved.bound.factors if f.name == name]
    if len(factors) != 1 or factors[0].family not in GAUSSIAN:
        return False
    found = [solved.by_name.get(access.name) for access in factors[0].accesses]
    return bool(found) and all(each is result for each in found)


# -- at the times of the data ----------------------------------------------------------------


def _along(result: ChainResult, factor: BoundFactor) -> Any:
    """Return N(K m_t + c, K P_t Kᵀ + R) of states and constants together."""
    block, post = result.block, result.moments
    axis, times = block.times_of(factor)
    if axis is not None and axis not in factor.rows:  # constants alone, the same at all times
        axis, times = None, np.array([-1])
    part = block.read(factor, axis)
    mean = (part.sees @ post.mean[..., times, :][..., None])[..., 0] + part.offset
    around = part.sees @ post.cov[..., times, :, :] @ np.swapaxes(part.sees, -1, -2)
    return _distribution(factor, axis, _Moments(mean, around + part.noise), block.points)


def _distribution(
    factor: BoundFactor, axis: Axis | None, moments: _Moments, points: Axis | None
) -> Any:
    """Return a batch over the rows of a factor, whose axis along time may have another length."""
    rows = [a for a in factor.rows if a is not points]
    others = tuple(a.size for a in rows if a is not axis)
    lead, count = moments.mean.shape[:-1], int(np.prod(others))  # (K,) if any, L
    mean = moments.mean.reshape(*lead, count, -1)
    size = mean.shape[-1]
    square = moments.cov.reshape(*lead, count, size, count, size)
    cov = np.stack([square[..., i, :, i, :] for i in range(count)], axis=-3)
    mean, cov = mean.reshape(*lead, *others, size), cov.reshape(*lead, *others, size, size)
    first = len(lead) - 1
    if axis is None:
        mean, cov = np.take(mean, 0, axis=first), np.take(cov, 0, axis=first)
    else:
        place = first + rows.index(axis)
        mean, cov = np.moveaxis(mean, first, place), np.moveaxis(cov, first, place)
    if factor.family is MvNormal:
        return MvNormal(mean, cov=symmetrize(cov))
    return Normal(mean[..., 0][()], variance=cov[..., 0, 0][()])


# -- after the end ---------------------------------------------------------------------------


def bind_future(bound: Bound, request: Request, plate: str, held: int) -> Bound:
    """Bind what is asked for to the last members, of which inputs do not matter, and the next."""
    refuse_ended_data(bound, request, plate)
    observed = [n for n in request.needed if n in bound.observed and n != request.name]
    known = {n: bound.given[n] for n in observed}
    return bind_after_end(bound, request, plate, held, known=known).run()


def run_on(
    past: GaussianChainBlock,
    moments: ChainPosterior,
    bound: Bound,
    factors: list[BoundFactor],
    request: Request,
) -> Any:
    """Run chains on from their last members, which are the first entries of the new times."""
    names = tuple(n for n in past.names if n in request.needed)
    chains = tuple(n for n in past.chains if n in names)
    points = past.points
    made = [f for f in factors if f.name in names]
    block = type(past)(bound, names, made, chains, points)
    if request.name in chains:
        factor = next(f for f in block.steps if f.name == request.name)
        axis, seen = factor.rows[-1], _state_itself(block, request.name)
    else:
        (factor,) = (f for f in factors if f.name == request.name)
        axis, seen = block.time, _later(block.read(factor, block.time), block)
    chain, _ = block.chain_of(seen)
    steps = request.sizes[block.time.name]
    chain = chain._replace(
        transition=_last(chain.transition, steps, 2),
        transition_offset=_last(chain.transition_offset, steps, 1),
        transition_cov=_last(chain.transition_cov, steps, 2),
    )
    spans = past.spans
    kept = np.concatenate([np.arange(spans[n].start, spans[n].stop) for n in block.spans])
    last = moments._replace(
        mean=moments.mean[..., -1:, kept],
        cov=moments.cov[..., -1:, kept[:, None], kept],
    )
    ahead = predict_chain if points is None else predict_chains
    forecast = ahead(chain, last, steps)
    return _distribution(factor, axis, _Moments(forecast.mean, forecast.cov), points)


def _later(part: StepMatrices, block: GaussianChainBlock) -> StepMatrices:
    """Leave out the members that are held, where times differ."""
    steps = block.time.size - block.n_held
    return StepMatrices(*(_last(a, steps, n) for a, n in zip(part, (1, 2, 2, 2, 2), strict=True)))


def _last(value: Any, steps: int, event_ndim: int) -> Array:
    """Return the last entries along time; one that is the same at all times stays as it is."""
    a = np.asarray(value)
    along = a.ndim - event_ndim - 1
    length = a.shape[along]
    return a if length == 1 else np.take(a, range(length - steps, length), axis=along)


def _state_itself(block: GaussianChainBlock, name: str) -> StepMatrices:
    """Return the matrices of an observation of one chain without noise."""
    columns, lead = block.columns, (1,) if block.points is None else (1, 1)
    rows = np.eye(columns.n_states)[columns.member(name)]
    size = len(rows)
    return StepMatrices(
        np.zeros((*lead, size)),
        rows.reshape(*lead, *rows.shape),
        np.zeros((*lead, *rows.shape)),
        np.zeros((*lead, size, columns.n_constants)),
        np.zeros((*lead, size, size)),
    )
