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
    Polynomial,
    Term,
    count_of,
    labels_of,
    shape_of,
)
from posteriori.modeling.forms.normal_rows import Split, as_variance, make_link, spread_of
from posteriori.numerics.linalg import explicit_inverse
from posteriori.numerics.types import Array

__all__ = [
    "Columns",
    "StepMatrices",
    "in_companion_form",
    "join_parts",
    "place_side_by_side",
    "read_part",
    "solve_for_now",
    "widened",
]


class Columns(NamedTuple):
    """Where chains lie among the numbers of a state s, and constants among those of c.

    A chain that depends on p earlier members has p of them in the state, the newest first: its
    companion form. ``orders`` tells p.
    """

    states: Mapping[str, slice]
    constants: Mapping[str, slice]
    orders: Mapping[str, int]

    def member(self, name: str, lag: int = 0) -> slice:
        """Return where the newest member of a chain lies, or one that was so some steps ago."""
        place = self.states[name]
        size = (place.stop - place.start) // self.orders[name]
        return slice(place.start + lag * size, place.start + (lag + 1) * size)

    @property
    def n_states(self) -> int:
        return max((place.stop for place in self.states.values()), default=0)

    @property
    def n_constants(self) -> int:
        return max((place.stop for place in self.constants.values()), default=0)


class StepMatrices(NamedTuple):
    """Mean offset + now · s_t + before · s_{t−1} + constants · c, and noise covariance.

    Each has a leading time axis, of length 1 where nothing changes; ahead of it may stand one of
    points at which numbers outside of the chain are tried out.
    """

    offset: Array
    now: Array
    before: Array
    constants: Array
    noise: Array

    @property
    def sees(self) -> Array:
        """How an emission sees (s_t, c)."""
        return _joined([self.now, self.constants], axis=-1)

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
    factor: BoundFactor,
    time: Axis | None,
    layouts: Mapping[str, Layout],
    columns: Columns,
    points: Axis | None = None,
) -> StepMatrices:
    """Return the affine mean and the noise of a factor, one entry a step or one for all.

    Parameters
    ----------
    factor : BoundFactor
        Normal, with a mean affine in the unknowns and a known spread.
    time : Axis or None
        Its row axis that runs along the chain: of arrivals, for a step.
    points : Axis, optional
        Its row axis that runs over points: the matrices then have one ahead of that of time.
    """
    outer = (time,) if points is None else (points, time)
    labels = tuple(a for a in factor.rows if a not in outer) + factor.events
    width, ones = count_of(labels), (1,) * len(outer)
    offset: Any = np.zeros((*ones, width))
    states = dict.fromkeys((True, False), np.zeros((*ones, width, columns.n_states)))
    constants: Any = np.zeros((*ones, width, columns.n_constants))
    for term in factor.parameters["mean"].terms:
        inner = [_without_time(access, columns) for access in term.accesses]
        moving = set(term.table.axes).union(labels_of(*inner))
        lead = tuple(a for a in outer if a is not None and a in moving)
        lengths = tuple(a.size if a is not None and a in moving else 1 for a in outer)
        if not inner:
            offset = offset + term.table.over(lead + labels).reshape(*lengths, width)
            continue
        (access,) = inner
        block = _coefficients(term, access, lead + labels, layouts, columns)
        block = block.reshape(*lengths, width, block.shape[-1])
        if access.name in columns.constants:
            constants = _added(constants, block, columns.constants[access.name])
        else:
            lag = _lag(term.accesses[0], factor, columns)
            place = columns.member(access.name, max(lag - 1, 0))
            states[not lag] = _added(states[not lag], block, place)
    noise = _noise(factor, outer, width)
    return StepMatrices(offset, states[True], states[False], constants, noise)


def join_parts(parts: Iterable[StepMatrices]) -> StepMatrices:
    """Stack what several factors say of one time."""
    offset, now, before, constants, noise = (list(column) for column in zip(*parts, strict=True))
    return StepMatrices(
        _joined([a[..., None] for a in offset], axis=-2)[..., 0],
        _joined(now, axis=-2),
        _joined(before, axis=-2),
        _joined(constants, axis=-2),
        _block_diagonal(noise),
    )


def in_companion_form(
    early: StepMatrices, late: StepMatrices, order: int, length: int, place: slice
) -> StepMatrices:
    """Return the steps of a chain that depends on ``order`` earlier members.

    Parameters
    ----------
    early : StepMatrices
        Of the first members, which depend on none.
    late : StepMatrices
        Of those that follow.
    order, length : int
        How many members are early, and there are.
    place : slice
        Where they lie among the numbers of a state.
    """
    columns = []
    for a, b, ndim in zip(early, late, (1, 2, 2, 2, 2), strict=True):
        along = -ndim - 1
        first = np.take(_lasting(a, order, along), range(1, order), axis=along)
        rest = _lasting(b, length - order, along)
        lead = np.broadcast_shapes(first.shape[:along], rest.shape[:along])
        parts = [np.broadcast_to(x, lead + x.shape[along:]) for x in (first, rest)]
        columns.append(np.concatenate(parts, axis=along))
    step = widened(StepMatrices(*columns), order)
    size = step.offset.shape[-1] // order
    older = np.arange(size, order * size)
    step.before[..., older, place.start + older - size] = 1.0  # what was newest is next to it
    return step


def widened(part: StepMatrices, order: int) -> StepMatrices:
    """Add rows for the older members of a state, which have neither mean nor noise."""
    more = (order - 1) * part.offset.shape[-1]

    def below(a: Array, widths: tuple[int, ...]) -> Array:
        lead = [(0, 0)] * (a.ndim - len(widths))
        return np.pad(a, [*lead, *((0, w) for w in widths)])

    return StepMatrices(
        below(part.offset, (more,)),
        below(part.now, (more, 0)),
        below(part.before, (more, 0)),
        below(part.constants, (more, 0)),
        below(part.noise, (more, more)),
    )


def _lasting(a: Array, length: int, along: int) -> Array:
    """Write out an axis of length 1."""
    return np.repeat(a, length, axis=along) if a.shape[along] == 1 else a


def solve_for_now(step: StepMatrices) -> StepMatrices:
    """Turn s_t = B s_t + A s_{t−1} + Ec + b + e into s_t = (I − B)⁻¹(A s_{t−1} + Ec + b + e)."""
    if not step.now.any():
        return step
    solver = step.solver
    return StepMatrices(
        (solver @ step.offset[..., None])[..., 0],
        np.zeros_like(step.now),
        solver @ step.before,
        solver @ step.constants,
        solver @ step.noise @ np.swapaxes(solver, -1, -2),
    )


def _without_time(access: Access, columns: Columns) -> Access:
    """Leave the time of a chain aside."""
    return access._replace(places=access.places[1 if access.name in columns.states else 0 :])


def _lag(access: Access, factor: BoundFactor, columns: Columns) -> int:
    """Return how many steps before the time of arrival a step reads a chain."""
    if factor.name not in columns.states:
        return 0
    here, there = (place.positions.values[0] for place in (factor.places[0], access.places[0]))
    return int(here - there)


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
    lead = np.broadcast_shapes(total.shape[:-2], block.shape[:-2])
    out = np.array(np.broadcast_to(total, lead + total.shape[-2:]))
    out[..., place] += block
    return out


def _noise(factor: BoundFactor, outer: tuple[Axis | None, ...], width: int) -> Array:
    """Return the noise covariance (1 or T, E, E); rows at one time are independent."""
    rows = tuple(a for a in factor.rows if a not in outer)
    key, poly = spread_of(factor)
    if factor.family is Normal:
        values = as_variance(key, _known(poly, rows, outer), matrix=False)
        return values.reshape(*values.shape[: len(outer)], width, 1) * np.eye(width)
    matrix = as_variance(key, _known(poly, rows + poly.axes[-2:], outer), matrix=True)
    size = matrix.shape[-1]
    count = width // size
    blocks = matrix.reshape(*matrix.shape[: len(outer)], count, size, size)
    return _block_diagonal([blocks[..., i, :, :] for i in range(count)])


def _known(poly: Polynomial, labels: tuple[Axis, ...], outer: tuple[Axis | None, ...]) -> Array:
    """Return a known expression over the outer axes, of length 1 where it does not vary."""
    seen = {axis for term in poly.terms for axis in term.table.axes}
    lead = tuple(a for a in outer if a is not None and a in seen)
    full = np.broadcast_to(poly.over(lead + labels), shape_of(lead + labels))
    lengths = tuple(a.size if a is not None and a in seen else 1 for a in outer)
    return full.reshape(lengths + full.shape[len(lead) :])


def _joined(parts: list[Array], axis: int) -> Array:
    """Put matrices beside or below one another, at all steps and points of any of them."""
    lead = np.broadcast_shapes(*(p.shape[:-2] for p in parts))
    return np.concatenate([np.broadcast_to(p, lead + p.shape[-2:]) for p in parts], axis=axis)


def _block_diagonal(parts: list[Array]) -> Array:
    if len(parts) == 1:
        return parts[0]
    lead = np.broadcast_shapes(*(p.shape[:-2] for p in parts))
    width = sum(p.shape[-1] for p in parts)
    out = np.zeros((*lead, width, width))
    start = 0
    for p in parts:
        stop = start + p.shape[-1]
        out[..., start:stop, start:stop] = p
        start = stop
    return out
