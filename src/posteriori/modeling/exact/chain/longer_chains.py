"""Forecasts by inference with members added whose data are missing.

It costs as much as the first inference, and serves normal chains that were not smoothed alone: those
on further plates, or beside unknown variables that lie on the chain's length too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.distributions.vectors.mvnormal import MvNormal
from posteriori.modeling.binding.binder import bind
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.numerics.types import Array

__all__ = ["forecast_by_longer_data"]


def forecast_by_longer_data(solved: Solved, request: Request, plate: str) -> Any:
    """Return the distribution of members after the end of a plate; None where they are not normal."""
    bound, steps = solved.bound, request.sizes[plate]
    chains = [n for n in request.needed if bound.variables[n].length == plate]
    families = [bound.variables[n].family for n in (*chains, request.name)]
    if not all(family in (Normal, MvNormal) for family in families) or len(request.sizes) > 1:
        return None
    given = dict(bound.given)
    for name in bound.observed:
        given[name] = _with_missing(bound, name, plate, steps)
    for name, item in bound.inputs.items():
        if plate in item.plates:
            more = request.inputs.get(name, bound.given[name])
            given[name] = _joined(name, bound.given[name], more, item.plates.index(plate), steps)
        elif name in request.inputs:
            return None
    longer = bind(bound.variables, bound.inputs, given)
    found = solved.infer(longer).predict(request.name)
    return _last_members(found, longer.plates_of(request.name).index(plate), steps)


def _with_missing(bound: Bound, name: str, plate: str, steps: int) -> Array:
    """Add missing members to the data of a variable on a plate."""
    values, names = bound.observed[name], bound.plates_of(name)
    if plate not in names:
        return values
    pad = [(0, 0)] * values.ndim
    pad[names.index(plate)] = (0, steps)
    return np.pad(values, pad, constant_values=np.nan)


def _joined(name: str, old: Any, new: Any, axis: int, steps: int) -> Array:
    array = np.asarray(new)
    if array.shape[axis] != steps:
        raise ValueError(f"{name} must have {steps} further members, got shape {array.shape}")
    return np.concatenate([np.asarray(old), array], axis=axis)


def _last_members(d: Any, axis: int, steps: int) -> Any:
    """Return the last members of a batch along one of its axes."""
    parameters = {}
    for key, value in d._given_parameters().items():
        event = np.ndim(value) - len(d.batch_shape) if np.ndim(value) else 0
        shape = d.batch_shape + np.shape(value)[np.ndim(value) - event :]
        full = np.broadcast_to(value, shape)
        parameters[key] = np.take(full, range(full.shape[axis] - steps, full.shape[axis]), axis)
    return d._from(**parameters)
