"""A block of one normal chain, its observations, and unknown constants: Kalman smoothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.mvnormal import MvNormal
from posteriori.distributions.normal import Normal
from posteriori.inference.gaussian_joint import joint_moments
from posteriori.inference.linear_gaussian_chain import (
    LinearGaussianChain,
    sample_chain_posterior,
    smooth_chain,
)
from posteriori.inference.static_effects import add_static_effects, split_static_effects
from posteriori.modeling.binding import Bound, BoundFactor, Layout
from posteriori.modeling.costs import Cost
from posteriori.modeling.gaussian import GaussianBlock
from posteriori.modeling.gaussian_links import Split, make_link
from posteriori.modeling.gaussian_result import in_layout_order
from posteriori.modeling.tables import Access, Axis, Lookup, Polynomial, Term, spread
from posteriori.numerics.types import Array, Seed

__all__ = ["GaussianChainBlock", "find_chain"]


class ChainResult(NamedTuple):
    """A smoothed chain and its constants.

    Attributes
    ----------
    mean, cov : mapping to arrays
        Moments of each variable: (T, D) for the chain, (M,) for constants, flattened.
    dense : GaussianBlock
        The same as one dense system.
    smoothed : LinearGaussianChain
        What was smoothed: states, then constants that do not move.
    y : array (T, P)
        All observations.
    places : mapping to slices
        Where each variable lies in the smoothed states.
    block : GaussianChainBlock
        What was solved.
    """

    names: tuple[str, ...]
    layouts: Mapping[str, Layout]
    mean: Mapping[str, Array]
    cov: Mapping[str, Array]
    log_evidence: float
    dense: GaussianBlock
    smoothed: LinearGaussianChain
    y: Array
    places: Mapping[str, slice]
    block: GaussianChainBlock

    def system(self) -> Any:
        """Return the chain as one dense system, for questions about several variables."""
        return self.dense.system()

    def marginal(self, name: str) -> Any:
        """Return the marginal of a variable, a batch over its plates and integer axes."""
        layout = self.layouts[name]
        mean, cov = self.mean[name], self.cov[name]
        if not layout.events:
            variance = np.diagonal(cov, axis1=-2, axis2=-1)
            shape = layout.shape
            return Normal(mean.reshape(shape)[()], variance=variance.reshape(shape)[()])
        batch = tuple(axis.size for axis in layout.plates + layout.ints)
        size = layout.events[0].size
        whole = mean.reshape(*batch, size)
        if cov.shape[-1] != size:
            count = int(np.prod(batch))
            square = cov.reshape(count, size, count, size)
            cov = np.stack([square[i, :, i, :] for i in range(count)])
        return MvNormal._from(mean=whole, cov=np.ascontiguousarray(cov.reshape(*batch, size, size)))

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw whole trajectories with their constants, (size, *shape) each."""
        paths = sample_chain_posterior(self.smoothed, self.y, size, rng=rng)
        found = {}
        for name, place in self.places.items():
            steps = slice(None) if self.mean[name].ndim == 2 else -1
            found[name] = paths[:, steps, place].reshape(size, *self.layouts[name].shape)
        return {name: found[name] for name in self.names}


def find_chain(bound: Bound, names: Iterable[str], factors: Iterable[BoundFactor]) -> str | None:
    """Return the one unknown chain of a group, if the smoother can solve it."""
    group = list(names)
    chains = [n for n in group if any(f.name == n and _is_step(f) for f in factors)]
    if len(chains) != 1:
        return None
    (chain,) = chains
    layout = bound.layouts[chain]
    time = layout.plates[0]
    if len(layout.plates) > 1 or layout.ints:
        return None
    for factor in factors:
        touches = factor.name == chain or chain in _parents(factor)
        if not touches:
            continue
        if factor.name != chain and (
            factor.name not in bound.observed or factor.rows[0] is not time
        ):
            return None
        if any(p is not time for p in factor.rows[1:] if p in _plates(bound)):
            return None
    if any(time in bound.layouts[n].plates for n in group if n != chain):
        return None
    return chain


class GaussianChainBlock:
    """One normal chain with known covariances, observed at every step; unknown constants."""

    method = "Kalman smoother in square roots"
    why = "one normal chain, observed step by step, with known spreads and affine means"
    order = ("forwards in time", "backwards")

    def __init__(
        self, bound: Bound, names: Iterable[str], factors: Iterable[BoundFactor], chain: str
    ) -> None:
        self.bound = bound
        self.names = tuple(names)
        self.chain = chain
        self.constants = tuple(n for n in self.names if n != chain)
        self.factors = kept = list(factors)
        self.first, self.step = (f for f in kept if f.name == chain)
        self.emissions = [f for f in kept if f.name != chain and chain in _parents(f)]
        self.priors = [f for f in kept if f.name != chain and chain not in _parents(f)]
        self.time = bound.layouts[chain].plates[0]

    def describe(self) -> str:
        """Say how long and wide the chain is."""
        layout = self.bound.layouts[self.chain]
        width = layout.events[0].size if layout.events else 1
        constants = f"; constants {', '.join(self.constants)}" if self.constants else ""
        return f"{self.time.size} steps of {width} numbers, cost linear in the steps{constants}"

    @property
    def cost(self) -> Cost:
        """What filter and smoother cost: rotations of D × 2D arrays at every step."""
        layouts = self.bound.layouts
        states = layouts[self.chain].events[0].size if layouts[self.chain].events else 1
        d = states + sum(int(np.prod(layouts[n].shape)) for n in self.constants)
        seen = [f.rows[1:] + f.events for f in self.emissions]
        p = sum(int(np.prod([axis.size for axis in axes])) for axes in seen)
        steps = self.time.size
        return Cost(
            steps * (20.0 * d**3 + 4.0 * p * d * (d + p)), 8.0 * steps * (3 * d * d + 2 * d + p)
        )

    def solve(self) -> ChainResult:
        """Return the smoothed states, the constants and the exact evidence."""
        start, step, seen = self.parts()
        y = np.concatenate([self.data(f) for f in self.emissions], axis=1)
        chain = LinearGaussianChain(
            start.offset[0],
            start.noise[0],
            step.states,
            step.offset,
            step.noise,
            _stack([p.states for p in seen]),
            _stack([p.offset for p in seen]),
            _block_diagonal([p.noise for p in seen]),
        )
        layouts = {n: self.bound.layouts[n] for n in self.names}
        if not self.constants:
            post = smooth_chain(chain, y, pairs=False)
            return ChainResult(
                self.names,
                layouts,
                {self.chain: post.mean},
                {self.chain: post.cov},
                float(post.log_evidence),
                self._dense(),
                chain,
                y,
                {self.chain: slice(None)},
                self,
            )
        mean, cov, slices, log_evidence = self._constants_prior()
        wider = add_static_effects(
            chain,
            cov,
            mean=mean,
            initial=start.constants[0],
            transition=step.constants,
            emission=_stack([p.constants for p in seen]),
        )
        whole = smooth_chain(wider, y, pairs=False)
        parts = split_static_effects(whole, len(mean))
        means = {self.chain: parts.states.mean} | {n: parts.mean[s] for n, s in slices.items()}
        covs = {self.chain: parts.states.cov} | {n: parts.cov[s, s] for n, s in slices.items()}
        total = float(whole.log_evidence) + log_evidence
        width = parts.states.mean.shape[-1]
        places = {self.chain: slice(width)} | {
            n: slice(width + s.start, width + s.stop) for n, s in slices.items()
        }
        return ChainResult(
            self.names, layouts, means, covs, total, self._dense(), wider, y, places, self
        )

    def parts(self) -> tuple[Part, Part, list[Part]]:
        """Return the matrices of the first state, the steps and each emission."""
        start = self._part(self.first, self.first.rows + self.first.events, None)
        step = self._part(self.step, self.step.rows[1:] + self.step.events, self.step.rows[0])
        return start, step, [self.parts_of(f) for f in self.emissions]

    def parts_of(self, factor: BoundFactor) -> Part:
        """Return the matrices of a factor that sees the chain step by step."""
        return self._part(factor, factor.rows[1:] + factor.events, self.time)

    def _dense(self) -> GaussianBlock:
        return GaussianBlock(self.bound, self.names, self.factors)

    def _constants_prior(self) -> tuple[Array, Array, dict[str, slice], float]:
        """Return what is known of the constants without the chain, as one vector."""
        solved = GaussianBlock(self.bound, self.constants, self.priors).solve()
        mean, cov, slices = joint_moments(solved.latents, solved.equations)
        order, places, start = [], {}, 0
        for name in self.constants:
            ordered = in_layout_order(self.bound.layouts[name], solved.splits[name])
            order.append(ordered + slices[name].start)
            places[name] = slice(start, start + len(ordered))
            start += len(ordered)
        kept = np.concatenate(order)
        return mean[kept], cov[np.ix_(kept, kept)], places, solved.log_evidence

    # -- from factors to matrices ----------------------------------------------------------

    def _part(self, factor: BoundFactor, labels: tuple[Axis, ...], time: Axis | None) -> Part:
        """Return the affine mean and the noise of a factor, one entry a step or one for all."""
        width = int(np.prod([axis.size for axis in labels]))
        layout = self.bound.layouts[self.chain]
        size = layout.events[0].size if layout.events else 1
        total = sum(int(np.prod(self.bound.layouts[n].shape)) for n in self.constants)
        offset: Any = np.zeros((1, width))
        states: Any = np.zeros((1, width, size))
        constants: Any = np.zeros((1, width, total))
        starts = np.cumsum(
            [0] + [int(np.prod(self.bound.layouts[n].shape)) for n in self.constants]
        )
        for term in factor.parameters["mean"].terms:
            moves = time is not None and _moves(term, time)
            lead: tuple[Axis, ...] = (time,) if moves and time is not None else ()
            if not term.accesses:
                values = np.broadcast_to(
                    spread(term.table, lead + labels), [a.size for a in lead + labels]
                )
                offset = offset + values.reshape(-1, width)
                continue
            (access,) = term.accesses
            block = self._coefficients(term, access, lead + labels).reshape(
                (len(lead) and lead[0].size) or 1, width, -1
            )
            if access.name == self.chain:
                states = states + block
            else:
                at = self.constants.index(access.name)
                padded = np.zeros((len(block), width, total))
                padded[..., starts[at] : starts[at + 1]] = block
                constants = constants + padded
        return Part(offset, states, constants, _noise(factor, labels, time, width))

    def _coefficients(self, term: Term, access: Access, labels: tuple[Axis, ...]) -> Array:
        """Return K (rows, numbers of the variable), the time of a chain left aside."""
        axes = self.bound.layouts[access.name].axes
        skip = 1 if access.name == self.chain else 0
        inner = Access(access.name, access.places[skip:])
        layout = Layout((), (), axes[skip:])
        split = Split((), tuple(range(len(axes) - skip)))
        link = make_link(term, inner, labels, split, {access.name: layout})
        return link.coefficients

    def data(self, factor: BoundFactor) -> Array:
        """Return the observations of an emission, (T, P)."""
        return self.bound.observed[factor.name].reshape(self.time.size, -1)


class Part(NamedTuple):
    """Mean offset + states · s + constants · c, and noise covariance; a leading time axis each."""

    offset: Array
    states: Array
    constants: Array
    noise: Array

    @property
    def gain(self) -> Array:
        """States and constants side by side."""
        longest = max(len(self.states), len(self.constants))
        parts = (self.states, self.constants)
        return np.concatenate([np.broadcast_to(p, (longest, *p.shape[1:])) for p in parts], axis=2)


def _noise(factor: BoundFactor, labels: tuple[Axis, ...], time: Axis | None, width: int) -> Array:
    """Return the noise covariance (1 or T, E, E)."""
    for key, power in (("variance", 1.0), ("scale", 2.0), ("precision", -1.0)):
        if factor.family is Normal and key in factor.parameters:
            values = _known(factor.parameters[key], labels, time) ** power
            return values.reshape(-1, width)[:, :, None] * np.eye(width)
    key = "cov" if "cov" in factor.parameters else "precision"
    poly = factor.parameters[key]
    matrix = _known(poly, poly.axes[-2:], time)
    return np.linalg.inv(matrix) if key == "precision" else matrix


def _known(poly: Polynomial, labels: tuple[Axis, ...], time: Axis | None) -> Array:
    moves = time is not None and any(_moves(term, time) for term in poly.terms)
    lead = (time,) if moves and time is not None else ()
    total: Any = 0.0
    for term in poly.terms:
        total = total + spread(term.table, lead + labels)
    shape = [axis.size for axis in lead + labels]
    full = np.broadcast_to(total, shape)
    return full if lead else full[None]


def _moves(term: Term, time: Axis) -> bool:
    """Tell whether a term differs from step to step, apart from the state that it sees."""
    return time in term.table.axes


def _stack(parts: list[Array]) -> Array:
    longest = max(len(p) for p in parts)
    return np.concatenate([np.broadcast_to(p, (longest, *p.shape[1:])) for p in parts], axis=1)


def _block_diagonal(parts: list[Array]) -> Array:
    longest = max(len(p) for p in parts)
    width = sum(p.shape[-1] for p in parts)
    out = np.zeros((longest, width, width))
    start = 0
    for p in parts:
        stop = start + p.shape[-1]
        out[:, start:stop, start:stop] = p
        start = stop
    return out


def _parents(factor: BoundFactor) -> set[str]:
    return {a.name for p in factor.parameters.values() for t in p.terms for a in t.accesses}


def _is_step(factor: BoundFactor) -> bool:
    """Tell whether a factor leads from one member of a chain to the next."""
    place = factor.places[0] if factor.places else None
    return isinstance(place, Lookup) and bool(place.positions.axes)


def _plates(bound: Bound) -> set[Axis]:
    return {p for layout in bound.layouts.values() for p in layout.plates}
