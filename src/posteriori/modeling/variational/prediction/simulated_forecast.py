"""What follows the end of a chain whose parameters are believed in: simulated from the beliefs.

No closed form is left once parameters are unknown. So parameters and last states are drawn, every draw
is carried on step by step, and the answer is the mixture of what the draws say of each step: its moments
have the standard error of as many draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.batches import joined
from posteriori.distributions.composites.averages import average_last, with_last
from posteriori.distributions.counts.categorical import Categorical
from posteriori.distributions.labels import encode_labels
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.binding.labelled import Table
from posteriori.modeling.contract.longer_data import bind_after_end
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.forms.simulation import (
    _DRAWS as DRAWS,
    _at_time,
    _put_known,
    _repeated,
    member,
)
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.language.expressions import Variable

__all__ = ["forecast"]

#: How many draws a forecast is made of.
_SIZE = 4000


def forecast(solved: Solved, request: Request, plate: str) -> Any:
    """Return the predictive distribution of the members that follow the end of a plate.

    The chain is bound with more members: its first ones, as many as a step depends on, are the old
    end.
    """
    bound = solved.bound
    rng = np.random.default_rng(0)
    draws = solved.sample(_SIZE, rng)
    held = max(
        bound.variables[n].order for n in request.needed if bound.variables[n].length == plate
    )
    binder = bind_after_end(bound, request, plate, held, {DRAWS: _SIZE})
    for name, variable in binder.variables.items():
        layout = bound.layouts[name]
        known = bound.observed.get(name)
        if plate not in {axis.name for axis in layout.plates}:
            time = int(isinstance(variable.length, str))  # such a chain's first axis is its time
            _put_known(binder, layout, name, known, draws, time)
            continue
        start = len(binder.factors)
        binder.bind_variable(name, _repeated(variable))
        factors = binder.factors[start:]
        if variable.length == plate:
            end = _last(draws.get(name), variable) if known is None else known[-variable.order :]
            steps = _carry_on(binder, name, factors[1], end, rng)
            if name == request.name:
                return _mixture(steps, 1, variable)
        elif name == request.name:
            return _after_end(factors[0], plate, request.sizes[plate], variable)
        else:
            raise TypeError(
                f"{request.name} cannot be predicted after the end of {plate}: {name} is new, too"
            )
    raise AssertionError(f"{request.name} does not lie on {plate}")


def _last(draws: Any, variable: Variable) -> Array:
    """Return the last members of drawn paths, (p, S, ...)."""
    codes = draws if variable.labels is None else encode_labels(draws, variable.labels)
    return np.moveaxis(np.asarray(codes, dtype=np.float64)[:, -variable.order :], 1, 0)


def _carry_on(
    binder: Binder, name: str, step: BoundFactor, end: Array, rng: np.random.Generator
) -> Any:
    """Draw one member after another; return what was drawn from, a batch over steps and draws."""
    layout = binder.layouts[name]
    path = np.zeros(layout.shape)
    order = len(end)
    path[:order] = end if end.ndim == path.ndim else end[:, None]
    if step.rows[1:] != layout.plates[1:] + layout.ints:
        raise TypeError(
            f"{name} cannot be carried on: its step and its first member differ in rows"
        )
    conditionals = []
    for t in range(order, len(path)):
        conditionals.append(member(_at_time(step, {name: Table(path, layout.axes)}, t)))
        path[t] = conditionals[-1].sample(rng=rng)
    binder.observed[name] = path
    return joined(conditionals, np.stack)


def _after_end(factor: BoundFactor, plate: str, steps: int, variable: Variable) -> Any:
    """Return what depends on a chain, without the rows of the old end."""
    made = member(factor)
    names = [axis.name for axis in factor.rows]
    at = names.index(plate)
    rows = np.arange(factor.rows[at].size - steps, factor.rows[at].size)
    later = joined([made], lambda values: np.take(values[0], rows, axis=at))
    return _mixture(later, names.index(DRAWS), variable)


def _mixture(made: Any, draws: int, variable: Variable) -> Any:
    """Average over the axis of the draws."""
    found = average_last(np.full(_SIZE, 1.0 / _SIZE), with_last(made, draws))
    return found._labelled(variable.labels) if isinstance(found, Categorical) else found
