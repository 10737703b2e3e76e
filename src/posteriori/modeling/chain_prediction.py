"""Predictions along a smoothed chain: what the states say at their own times, and noise."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.inference.linear_gaussian_chain import smooth_chain
from posteriori.modeling.binding import BoundFactor
from posteriori.modeling.common_precision import (
    CommonPrecisionResult,
    at_unit_precision,
    student_predictive,
)
from posteriori.modeling.gaussian_chain import ChainResult
from posteriori.numerics.linalg import symmetrize

if TYPE_CHECKING:
    from posteriori.modeling.posterior import Posterior

__all__ = ["chain_predictive"]


def chain_predictive(posterior: Posterior, name: str, inputs: Mapping[str, Any]) -> Any:
    """Return the distribution of new observations at the times of a chain.

    None where the variable sees no chain step by step, or inputs are new.
    """
    plan = posterior._plan
    if name in posterior._results or any(
        value is not plan.given.get(key) for key, value in inputs.items() if key in plan.inputs
    ):
        return None
    factors = [f for f in plan.bound.factors if f.name == name]
    if len(factors) != 1 or factors[0].family not in (Normal, MvNormal):
        return None
    (factor,) = factors
    accesses = [a for p in factor.parameters.values() for t in p.terms for a in t.accesses]
    found = [posterior._results.get(a.name) for a in accesses]
    if not found or any(result is not found[0] for result in found):
        return None
    result = found[0]
    if isinstance(result, ChainResult):
        return _predict(result, factor)
    if not isinstance(result, CommonPrecisionResult) or not isinstance(
        result.gaussian, ChainResult
    ):
        return None
    spread, belief, layouts = result.spread, result.belief, plan.bound.layouts
    unit = at_unit_precision(factor, spread, type(belief), result.owners, layouts)
    normal = _predict(result.gaussian, unit)
    if normal is None:
        return None
    return student_predictive(factor, normal, spread, belief, layouts[spread])


def _predict(result: ChainResult, factor: BoundFactor) -> Any:
    """Return N(K m_t + c, K P_t Kᵀ + R) of states and constants together; None off the chain."""
    block = result.block
    terms = factor.parameters["mean"].terms
    seen = [a for term in terms for a in term.accesses if a.name == block.chain]
    along = factor.rows[:1] == (block.time,) and all(a.places[0] is block.time for a in seen)
    if not seen or not along or (factor.events and len(factor.rows) > 1):
        return None
    part = block.parts_of(factor)
    post = smooth_chain(result.smoothed, result.y, pairs=False)
    mean = (part.gain @ post.mean[..., None])[..., 0] + part.offset
    cov = part.gain @ post.cov @ np.swapaxes(part.gain, -1, -2) + part.noise
    if factor.family is MvNormal:
        return MvNormal(mean, cov=symmetrize(cov))
    shape = tuple(axis.size for axis in factor.rows)
    variance = np.diagonal(cov, axis1=-2, axis2=-1)
    return Normal(mean.reshape(shape), variance=variance.reshape(shape))
