"""From bound factors to the matrices of a linear-Gaussian chain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.numbers.normal import Normal
from posteriori.modeling.binding.bound import BoundFactor, Layout
from posteriori.modeling.binding.labelled import (
    Access,
    Axis,
    Lookup,
    Polynomial,
    Term,
    count_of,
    labels_of,
    shape_of,
)
from posteriori.modeling.forms.links import Split, make_link
from posteriori.modeling.forms.normal_rows import as_variance, spread_of
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.types import Array

__all__ = [
    "Columns",
    "StepMatrices",
    "join_parts",
    "place_side_by_side",
    "read_part",
    "solve_for_now",
]


class Columns(NamedTuple):
    """Where chains lie among the numbers of a state s, and constants among those of c."""

    states: Mapping[str, slice]
    constants: Mapping[str, slice]

    @property
    def n_states(self) -> int:
        return max((place.stop for place in self.states.values()), default=0)

    @property
    def n_constants(self) -> int:
        return max((place.stop for place in self.constants.values()), default=0)


class StepMatrices(NamedTuple):
    """Mean offset + now · s_t + before · s_{t−1} + constants · c, and noise covariance.

    Each has a leading time axis, of length 1 where nothing changes.
    """

    offset: Array
    now: Array
    before: Array
    constants: Array
    noise: Array

    @property
    def sees(self) -> Array:
        """How an emission sees (s_t, c)."""
        return _joined([self.now, self.constants], axis=2)

    @property
    def solver(self) -> Array:
        """(I − B)⁻¹, where steps read chains at the time of arrival: s_t = B s_t + …."""
        return explicit_inverse(np.eye(self.now.shape[-1]) - self.now)


def place_side_by_side(sizes: Mapping[str, int]) -> dict[str, slice]:
    """Give each name its numbers, one after another."""
    places, start = {}, 0
    for name, size in sizes.items():
        places[name] = slice(start, start + size)
        start += size
    return places


def read_part(
    factor: BoundFactor, time: Axis | None, layouts: Mapping[str, Layout], columns: Columns
) -> StepMatrices:
    """Return the affine mean and the noise of a factor, one entry a step or one for all.

    Parameters
    ----------
    factor : BoundFactor
        Normal, with a mean affine in the unknowns and a known spread.
    time : Axis or None
        Its row axis that runs along the chain: of arrivals, for a step.
    """
    labels = tuple(a for a in factor.rows if a is not time) + factor.events
    width = count_of(labels)
    offset: Any = np.zeros((1, width))
    states = dict.fromkeys((True, False), np.zeros((1, width, columns.n_states)))
    constants: Any = np.zeros((1, width, columns.n_constants))
    for term in factor.parameters["mean"].terms:
        inner = [_within(access, columns) for access in term.accesses]
        moving = set(term.table.axes).union(labels_of(*inner))
        lead = (time,) if time is not None and time in moving else ()
        if not inner:
            offset = offset + term.table.over(lead + labels).reshape(-1, width)
            continue
        (access,) = inner
        block = _coefficients(term, access, lead + labels, layouts, columns)
        block = block.reshape(-1, width, block.shape[-1])
        if access.name in columns.constants:
            constants = _added(constants, block, columns.constants[access.name])
        else:
            now = factor.name not in columns.states or _is_arrival(term.accesses[0].places[0])
            states[now] = _added(states[now], block, columns.states[access.name])
    return StepMatrices(offset, states[True], states[False], constants, _noise(factor, time, width))


def join_parts(parts: Iterable[StepMatrices]) -> StepMatrices:
    """Stack what several factors say of one time."""
    offset, now, before, constants, noise = (list(column) for column in zip(*parts, strict=True))
    return StepMatrices(
        _joined(offset, axis=1),
        _joined(now, axis=1),
        _joined(before, axis=1),
        _joined(constants, axis=1),
        _block_diagonal(noise),
    )


def solve_for_now(step: StepMatrices) -> StepMatrices:
    """Turn s_t = B s_t + A s_{t−1} + Ec + b + e into s_t = (I − B)⁻¹(A s_{t−1} + Ec + b + e)."""
    if not step.now.any():
        return step
    solver = step.solver
    return StepMatrices(
        (solver @ step.offset[..., None])[..., 0],
        np.zeros_like(step.now[:1]),
        solver @ step.before,
        solver @ step.constants,
        solver @ step.noise @ np.swapaxes(solver, -1, -2),
    )


def _within(access: Access, columns: Columns) -> Access:
    """Leave the time of a chain aside."""
    return access._replace(places=access.places[1 if access.name in columns.states else 0 :])


def _is_arrival(place: Lookup) -> bool:
    """Tell whether a step reads a chain at the time of arrival, and not one before it."""
    return bool(place.positions.values[0] > 0)


def _coefficients(
    term: Term,
    access: Access,
    labels: tuple[Axis, ...],
    layouts: Mapping[str, Layout],
    columns: Columns,
) -> Array:
    """Return K (rows, numbers of the variable)."""
    axes = layouts[access.name].axes[1 if access.name in columns.states else 0 :]
    split = Split((), tuple(range(len(axes))))
    link = make_link(term, access, labels, split, {access.name: Layout((), (), axes)})
    return link.coefficients


def _added(total: Array, block: Array, place: slice) -> Array:
    """Add the coefficients of one variable to those of all."""
    longest = max(len(total), len(block))
    out = np.array(np.broadcast_to(total, (longest, *total.shape[1:])))
    out[..., place] += block
    return out


def _noise(factor: BoundFactor, time: Axis | None, width: int) -> Array:
    """Return the noise covariance (1 or T, E, E); rows at one time are independent."""
    rows = tuple(a for a in factor.rows if a is not time)
    key, poly = spread_of(factor)
    if factor.family is Normal:
        values = as_variance(key, _known(poly, rows, time), matrix=False)
        return values.reshape(-1, width)[:, :, None] * np.eye(width)
    matrix = as_variance(key, _known(poly, rows + poly.axes[-2:], time), matrix=True)
    size = matrix.shape[-1]
    count = width // size
    blocks = matrix.reshape(-1, count, size, size)
    return _block_diagonal([blocks[:, i] for i in range(count)])


def _known(poly: Polynomial, labels: tuple[Axis, ...], time: Axis | None) -> Array:
    moves = time is not None and any(time in term.table.axes for term in poly.terms)
    lead = (time,) if moves and time is not None else ()
    full = np.broadcast_to(poly.over(lead + labels), shape_of(lead + labels))
    return full if lead else full[None]


def _joined(parts: list[Array], axis: int) -> Array:
    longest = max(len(p) for p in parts)
    return np.concatenate([np.broadcast_to(p, (longest, *p.shape[1:])) for p in parts], axis=axis)


def _block_diagonal(parts: list[Array]) -> Array:
    if len(parts) == 1:
        return parts[0]
    longest = max(len(p) for p in parts)
    width = sum(p.shape[-1] for p in parts)
    out = np.zeros((longest, width, width))
    start = 0
    for p in parts:
        stop = start + p.shape[-1]
        out[:, start:stop, start:stop] = p
        start = stop
    return out
