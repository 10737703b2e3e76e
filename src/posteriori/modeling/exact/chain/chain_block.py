"""A block of normal chains that move together, their observations, and unknown constants."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from posteriori.inference.chains.linear_gaussian_chain import LinearGaussianChain, smooth_chain
from posteriori.inference.chains.static_effects import add_static_effects
from posteriori.modeling.binding.bound import Bound, BoundFactor, child_term
from posteriori.modeling.binding.labelled import Access, Axis, Lookup, count_of, spread
from posteriori.modeling.binding.places import same_place
from posteriori.modeling.contract.costs import Cost, counted
from posteriori.modeling.contract.engine import Block, Fit, Group
from posteriori.modeling.exact.chain.chain_matrices import (
    Columns,
    StepMatrices,
    in_companion_form,
    join_parts,
    place_side_by_side,
    read_part,
    solve_for_now,
    widened,
)
from posteriori.modeling.exact.chain.chain_result import ChainResult
from posteriori.modeling.exact.gaussian.gaussian_block import GaussianBlock, fits_gaussian
from posteriori.modeling.forms.fixing import at_point
from posteriori.numerics.types import Array, IntArray

__all__ = ["GaussianChainBlock", "find_chain", "fits_chain"]


def fits_chain(group: Group) -> Fit:
    """Tell whether a group is jointly normal, moves along one time, and is seen step by step."""
    if not fits_gaussian(group).holds:
        return Fit(False)
    chains = find_chain(group.bound, group.names, group.factors)
    return Fit(chains is not None, chains)


def find_chain(
    bound: Bound, names: Iterable[str], factors: Iterable[BoundFactor]
) -> tuple[str, ...] | None:
    """Return the unknown chains of a group, if the smoother can solve it: one time for all."""
    group, kept = list(names), list(factors)
    moving = {f.name for f in kept if _is_step(f)}
    chains = tuple(n for n in group if n in moving)
    if not chains:
        return None
    time = bound.layouts[chains[0]].plates[0]
    if any(bound.layouts[n].plates != (time,) or bound.layouts[n].ints for n in chains):
        return None
    if any(time in bound.layouts[n].plates for n in group if n not in chains):
        return None
    fits = all(_fits(factor, chains, time, bound) for factor in kept)
    return chains if fits else None


class GaussianChainBlock(Block):
    """Normal chains with known covariances, observed along their time; unknown constants.

    Factors may have ``points`` as one of their rows: numbers that differ between them are then
    tried out, and there is a chain for each point.
    """

    method = "Kalman smoother in square roots"
    order = ("forwards in time", "backwards")

    def __init__(
        self,
        bound: Bound,
        names: Iterable[str],
        factors: Iterable[BoundFactor],
        chains: tuple[str, ...],
        points: Axis | None = None,
    ) -> None:
        self.bound = bound
        self.names = tuple(names)
        self.chains = chains
        self.points = points
        self.constants = tuple(n for n in self.names if n not in chains)
        self.factors = kept = list(factors)
        own = [[f for f in kept if f.name == chain] for chain in chains]
        self.firsts, self.steps = (list(part) for part in zip(*own, strict=True))
        others = [f for f in kept if f.name not in chains]
        self.emissions = [f for f in others if _seen(f, chains)]
        self.priors = [f for f in others if not _seen(f, chains)]
        self.time = bound.layouts[chains[0]].plates[0]
        layouts = bound.layouts
        orders = {f.name: order_of(f) for f in self.steps}
        self.columns = Columns(
            place_side_by_side({n: orders[n] * count_of(layouts[n].events) for n in chains}),
            place_side_by_side({n: count_of(layouts[n].axes) for n in self.constants}),
            orders,
        )

    @property
    def why(self) -> str:
        """Why this method holds."""
        count = "one normal chain" if len(self.chains) == 1 else f"{len(self.chains)} normal chains"
        return f"{count}, observed step by step, with known spreads and affine means"

    def describe(self) -> str:
        """Say how long and wide the chains are."""
        steps = counted(self.time.size, "step")
        text = f"{steps} of {counted(self.columns.n_states, 'number')}, cost linear in the steps"
        what = "constants" if len(self.constants) > 1 else "constant"
        return f"{text}; {what} {', '.join(self.constants)}" if self.constants else text

    @property
    def cost(self) -> Cost:
        """What filter and smoother cost: rotations of D × 2D arrays at every step."""
        d, steps = self.columns.n_states + self.columns.n_constants, self.time.size
        axes = [(f, self.times_of(f)[0]) for f in self.emissions]
        p = sum(count_of(a for a in f.rows + f.events if a is not time) for f, time in axes)
        return Cost(
            steps * (20.0 * d**3 + 4.0 * p * d * (d + p)), 8.0 * steps * (3 * d * d + 2 * d + p)
        )

    def solve(self) -> ChainResult:
        """Return the smoothed states, the constants and the exact evidence."""
        chain, log_evidence = self.chain_of(self.seen())
        posterior = smooth_chain(chain, self.y, pairs=False)
        total = float(posterior.log_evidence) + log_evidence
        return ChainResult(total, posterior, chain, self.y, self)

    @cached_property
    def y(self) -> Array:
        """All observations, (T, P)."""
        return np.concatenate([self.data(f) for f in self.emissions], axis=1)

    def seen(self) -> StepMatrices:
        """Return the matrices of all emissions."""
        return join_parts(self.part_of(f) for f in self.emissions)

    @property
    def places(self) -> dict[str, slice]:
        """Where each variable lies among the smoothed numbers."""
        return {n: self.columns.member(n) for n in self.chains} | self._moved_constants()

    @property
    def n_held(self) -> int:
        """How many members of a chain a state holds at most."""
        return max(self.columns.orders.values())

    @property
    def spans(self) -> dict[str, slice]:
        """Where each variable lies, with the earlier members that a state holds."""
        return dict(self.columns.states) | self._moved_constants()

    def _moved_constants(self) -> dict[str, slice]:
        width, places = self.columns.n_states, self.columns.constants
        return {n: slice(width + s.start, width + s.stop) for n, s in places.items()}

    def chain_of(self, seen: StepMatrices) -> tuple[LinearGaussianChain, Any]:
        """Return the chain of states and constants, and the evidence of what it leaves out.

        Where there are points, all arrays have them as their first axis, of length 1 if nothing
        differs.
        """
        start = join_parts(self.first_parts())
        step = solve_for_now(join_parts(self.step_parts()))
        chain = LinearGaussianChain(
            start.offset[..., 0, :],
            start.noise[..., 0, :, :],
            step.before,
            step.offset,
            step.noise,
            seen.now,
            seen.offset,
            seen.noise,
        )
        if not self.constants:
            return chain, 0.0
        mean, cov, log_evidence = self._constants_prior()
        wider = add_static_effects(
            chain,
            cov,
            mean=mean,
            initial=start.constants[..., 0, :, :],
            transition=step.constants,
            emission=seen.constants,
        )
        return wider, log_evidence

    def first_parts(self) -> list[StepMatrices]:
        """Return the matrices of the first member of each chain."""
        lead = () if self.points is None else (slice(None),)
        found = []
        for f in self.firsts:
            part = StepMatrices(*(a[*lead, :1] for a in self._early(f)))
            found.append(widened(part, self.columns.orders[f.name]))
        return found

    def _early(self, first: BoundFactor) -> StepMatrices:
        """Return the matrices of those members of a chain that depend on none."""
        (axis,) = first.places[0].labels or (None,)
        return self.read(first, axis)

    def step_parts(self) -> list[StepMatrices]:
        """Return the matrices of the steps of each chain."""
        found = []
        for first, step in zip(self.firsts, self.steps, strict=True):
            part = self.read(step, step.rows[-1])  # rows: points, if any, and arrivals
            order, place = self.columns.orders[step.name], self.columns.states[step.name]
            if order > 1:
                part = in_companion_form(self._early(first), part, order, self.time.size, place)
            found.append(part)
        return found

    def part_of(self, factor: BoundFactor) -> StepMatrices:
        """Return the matrices of a factor along the chain's time, at any of it."""
        axis, times = self.times_of(factor)
        part = self.read(factor, axis)
        if axis is self.time or axis is None:
            return part
        lead = 0 if self.points is None else 1
        return StepMatrices(
            *(
                a if a.shape[lead] == 1 else _at_times(a, times, self.time.size, along=lead)
                for a in part
            )
        )

    def data(self, factor: BoundFactor) -> Array:
        """Return the observations of an emission, (T, P); NaN at times that it does not see."""
        axis, times = self.times_of(factor)
        rows = tuple(row for row in factor.rows if row is not self.points)
        values = spread(child_term(factor, self.bound).table, rows + factor.events)
        if axis is not None:
            values = np.moveaxis(values, rows.index(axis), 0)
        values = values.reshape(len(times), -1)
        if axis is self.time:
            return values
        return _at_times(values, times, self.time.size, fill=np.nan)

    def times_of(self, factor: BoundFactor) -> tuple[Axis | None, IntArray]:
        """Return the rows' axis that runs along the chain, if any, and its times."""
        return _times_of(factor, self.chains, self.time)

    def read(self, factor: BoundFactor, time: Axis | None) -> StepMatrices:
        """Return the matrices of a factor at the times of one of its axes."""
        return read_part(factor, time, self.bound.layouts, self.columns, self.points)

    def _constants_prior(self) -> tuple[Array, Array, Any]:
        """Return what is known of the constants without the chain, as one vector."""
        if self.points is None or not any(self.points in f.rows for f in self.priors):
            return self._constants_given(self.priors)
        found = [
            self._constants_given([at_point(f, self.points, k) for f in self.priors])
            for k in range(self.points.size)
        ]
        mean, cov, log_evidence = (np.array(column) for column in zip(*found, strict=True))
        return mean, cov, log_evidence

    def _constants_given(self, priors: list[BoundFactor]) -> tuple[Array, Array, float]:
        solved = GaussianBlock(self.bound, self.constants, priors).solve()
        return *solved.dense_moments(self.constants), solved.log_evidence


# -- reading factors -------------------------------------------------------------------------


def _fits(factor: BoundFactor, chains: tuple[str, ...], time: Axis, bound: Bound) -> bool:
    """Tell whether a factor is a first member, a step, an emission, or none of the chains'."""
    seen = _seen(factor, chains)
    if factor.name in chains:
        if not _is_step(factor):
            return not seen and factor.rows == factor.places[0].labels
        return all(_is_step_read(access, factor, bound) for access in seen)
    if not seen:
        return True
    if factor.name not in bound.observed:
        return False
    places = [access.places[0] for access in seen]
    if not all(_same_times(place, places[0]) for place in places):
        return False
    axis, times = _times_of(factor, chains, time)
    if axis is not None and axis not in factor.rows:
        return False  # a sum over members
    if np.bincount(times, minlength=1).max() > 1:  # a member is seen twice
        return False
    plates = {p for layout in bound.layouts.values() for p in layout.plates}
    return not any(row in plates for row in factor.rows if row is not axis)


def _times_of(
    factor: BoundFactor, chains: tuple[str, ...], time: Axis
) -> tuple[Axis | None, IntArray]:
    seen = _seen(factor, chains)
    place = seen[0].places[0] if seen else time
    (axis,) = place.labels or (None,)
    return axis, np.atleast_1d(place.positions.values).astype(np.intp)


def _same_times(a: Any, b: Any) -> bool:
    return len(a.labels) < 2 and same_place(a, b)


def _is_step_read(access: Access, step: BoundFactor, bound: Bound) -> bool:
    """Tell whether a step reads a chain at the time of arrival, or at one that its state holds."""
    run, held = access.places[0].run, bound.variables[access.name].order
    (arrival,) = step.rows
    return run is not None and run.label is arrival and 0 <= order_of(step) - run.start <= held


def _is_step(factor: BoundFactor) -> bool:
    """Tell whether a factor leads from earlier members of a chain to the next."""
    place = factor.places[0] if factor.places else None
    return isinstance(place, Lookup) and bool(place.positions.axes) and order_of(factor) > 0


def order_of(step: BoundFactor) -> int:
    """Return how many members of a chain are there before the first step."""
    start = step.places[0].positions.values
    return int(start[0]) if start.ndim == 1 and start.size else 0


def _seen(factor: BoundFactor, chains: tuple[str, ...]) -> list[Access]:
    """Return how a factor sees the chains."""
    return [access for access in factor.accesses if access.name in chains]


def _at_times(
    values: Array, times: IntArray, n_steps: int, fill: float = 0.0, along: int = 0
) -> Array:
    """Put what belongs to some times among all."""
    moved = np.moveaxis(values, along, 0)
    out = np.full((n_steps, *moved.shape[1:]), fill)
    out[times] = moved
    return np.moveaxis(out, 0, along)
