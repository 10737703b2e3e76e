r"""Members after the end of a plate: the same model, longer, with nothing seen there.

Missing members say nothing, so the posterior of the others stays as it is, and what lies after the
end of a discrete chain gets
:math:`p(z_{T+k} \mid y) = \sum_{z_T} p(z_T \mid y) (A^k)_{z_T z_{T+k}}`. It costs as much as the
first inference.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from posteriori.distributions.batches import take_members
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.contract.requests import Request, inputs_of, used_by
from posteriori.modeling.contract.solved import Solved
from posteriori.numerics.types import Array

__all__ = ["bind_after_end", "predict_longer", "refuse_ended_data"]


def predict_longer(solved: Solved, request: Request, names: Iterable[str], plate: str) -> Any:
    """Infer some variables, and all that they depend on, again, and predict the new members."""
    steps = request.sizes[plate]
    longer = _lengthen(solved.bound, request, names, plate, steps)
    predicted = solved.infer(longer).predict(request.name)
    where = longer.plates_of(request.name).index(plate)
    return take_members(predicted, (slice(None),) * where + (slice(-steps, None),))


def _lengthen(
    bound: Bound, request: Request, names: Iterable[str], plate: str, steps: int
) -> Bound:
    """Bind variables with more members on a plate, of which nothing is observed."""
    found = used_by(bound, names)
    variables = {n: bound.variables[n] for n in found}
    given = inputs_of(bound, found, {})
    asked = inputs_of(bound, request.needed, request.inputs)
    inputs = {k: bound.inputs[k] for k in given}
    for key in given:
        if plate in inputs[key].plates:
            axis = inputs[key].plates.index(plate)
            new = asked.get(key)
            given[key] = _continued(key, given[key], new, axis, steps)
    data = {**bound.evidence, **bound.observed}
    for name in found.keys() & data.keys():
        plates = bound.plates_of(name)
        more = plate in plates
        given[name] = _unseen(data[name], plates.index(plate), steps) if more else data[name]
    sizes = bound.plate_sizes()
    sizes[plate] += steps
    return Binder(variables, inputs, given, sizes).run()


def bind_after_end(
    bound: Bound,
    request: Request,
    plate: str,
    held: int,
    sizes: Mapping[str, int] = {},
    known: Mapping[str, Any] = {},
) -> Binder:
    """Return what binds a request to the last members of a plate, of which inputs do not matter, and the next.

    Parameters
    ----------
    bound : Bound
    request : Request
    plate : str
    held : int
        How many of the last members come ahead of those that follow.
    sizes, known : mappings
        Of further plates, and observations that stay.
    """
    steps = request.sizes[plate]
    variables = {n: bound.variables[n] for n in request.needed}
    given = inputs_of(bound, variables, request.inputs)
    for key, values in given.items():
        plates = bound.inputs[key].plates
        if plate in plates:
            axis, array = plates.index(plate), np.asarray(values)
            _require_length(key, array, axis, steps)
            ahead = np.take(array, [0] * held, axis=axis)
            given[key] = np.concatenate([ahead, array], axis=axis)
    plates_there = {**bound.plate_sizes(), **request.sizes, plate: steps + held, **sizes}
    inputs = {k: bound.inputs[k] for k in given}
    return Binder(variables, inputs, {**given, **known}, plates_there)


def refuse_ended_data(
    bound: Bound, request: Request, plate: str, but: Collection[type] = ()
) -> None:
    """Refuse what depends on data that end with a plate, but for families that are summed over there."""
    for name in request.needed:
        is_known = name in bound.observed and name != request.name
        if is_known and plate in bound.plates_of(name) and bound.families[name] not in but:
            raise TypeError(
                f"{request.name} depends on {name}, which was observed up to the end of plate "
                f"{plate!r} only; make {name} an Input to give its further values"
            )


def _continued(name: str, old: Any, new: Any, axis: int, steps: int) -> Array:
    """Put the values of the members that follow behind those of the data.

    Values that only missing observations depend on do not matter.
    """
    past = np.asarray(old)
    future = np.repeat(np.take(past, [-1], axis=axis), steps, axis=axis)
    if new is not None:
        future = np.asarray(new)
        _require_length(name, future, axis, steps)
    return np.concatenate([past, future], axis=axis)


def _require_length(name: str, values: Array, axis: int, steps: int) -> None:
    if values.shape[axis] != steps:
        raise ValueError(f"{name} must have {steps} further members, got shape {values.shape}")


def _unseen(values: Array, axis: int, steps: int) -> Array:
    width = [(0, steps if i == axis else 0) for i in range(values.ndim)]
    return np.pad(values, width, constant_values=np.nan)
