"""Processes at new points: the same model at the points of the data and the new ones, nothing seen there.

What is not observed says nothing, so the posterior at the points of the data stays as it is, and the values
at new points follow from it through the covariance of all. It costs as much as an inference with as many
points.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.contract.requests import Request, names_used
from posteriori.modeling.contract.solved import Solved
from posteriori.numerics.types import Array

__all__ = ["predict_more_points"]


def predict_more_points(solved: Solved, request: Request) -> Any:
    """Return the prediction of what depends on a process at new points."""
    bound = solved.bound
    if request.values or solved.has_earlier:
        raise TypeError(
            f"{request.name} cannot be predicted at new points from new observations too, or after "
            "update: infer again with all data"
        )
    new = {key: _new_rows(key, value, bound.given[key]) for key, value in request.inputs.items()}
    counts = {len(value) for value in new.values()}
    if len(counts) > 1:
        raise ValueError(f"inputs must have a row for each new point, got {sorted(counts)} rows")
    (count,) = counts
    longer = _bind_all_points(bound, new, count)
    predicted = solved.infer(longer).predict(request.name)
    if predicted.event_shape:
        size = predicted.event_shape[0]
        return predicted.marginal(np.arange(size - count, size))
    lead = (slice(None),) * (len(predicted.batch_shape) - 1)
    return take_members(predicted, (*lead, slice(-count, None)))


def _new_rows(key: str, value: Any, old: Any) -> Array:
    """Return the rows of an input at new points."""
    rows = np.asarray(value, dtype=np.float64)
    if rows.shape[1:] != np.shape(old)[1:] or not rows.ndim or not len(rows):
        raise ValueError(
            f"{key} must have a row for each new point, as in the data, whose shape is {np.shape(old)}; "
            f"got shape {rows.shape}"
        )
    return rows


def _bind_all_points(bound: Bound, new: Mapping[str, Array], count: int) -> Bound:
    """Bind the model at old and new points; observations at new ones are missing."""
    touched = _below_inputs(bound, set(new))
    given: dict[str, Any] = {}
    for key, old in bound.given.items():
        if key in new:
            given[key] = np.concatenate([np.asarray(old, dtype=np.float64), new[key]])
        elif key in touched:
            values = np.asarray(old, dtype=np.float64)
            given[key] = np.concatenate(
                [values, np.full((*values.shape[:-1], count), np.nan)], axis=-1
            )
        else:
            given[key] = old
    sizes = bound.plate_sizes()
    try:
        return Binder(bound.variables, bound.inputs, given, sizes).run()
    except ValueError as error:
        error.add_note(
            "Every input with a row for each point must be given for the new points, too."
        )
        raise


def _below_inputs(bound: Bound, keys: set[str]) -> set[str]:
    """Return the variables that depend on some inputs, directly or through others."""
    found: set[str] = set()
    for name, variable in bound.variables.items():  # parents come first
        if names_used(variable) & (keys | found):
            found.add(name)
    return found
