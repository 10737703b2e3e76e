"""The posterior of a nested block: a mixture over the points of those outside."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.composites.averages import average, average_first
from posteriori.distributions.composites.empirical import Empirical
from posteriori.distributions.composites.numeric import Numeric, NumericCounts
from posteriori.distributions.counts.bernoulli import Bernoulli
from posteriori.distributions.counts.categorical import Categorical
from posteriori.inference.quadrature.lattices import Lattice
from posteriori.inference.quadrature.margins import margin
from posteriori.modeling.contract.engine import Result, Terms
from posteriori.modeling.contract.longer_data import predict_longer
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.contract.weighable import Apart, Weighable
from posteriori.modeling.forms.fixing import fix
from posteriori.modeling.forms.simulation import log_prob_of_known
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.nested.conditional_model import ConditionalModel, Point, WholePoint
from posteriori.modeling.nested.lattice_draws import kernels
from posteriori.modeling.nested.unbounded import Free
from posteriori.modeling.posterior.prediction import predict_request
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.nested.nested_block import NestedBlock

__all__ = ["Branch", "NestedResult"]

#: Points of less weight than this are left out of mixtures.
_LEAST_WEIGHT = 1e-6
#: Nodes of the densities of those outside.
_NODES = 513


@dataclass(frozen=True, eq=False)
class Branch:
    """A joint state of discrete ones outside, with the lattice of the others and what is left.

    Without others, ``log_joint`` is ln p(states, data).
    """

    states: Mapping[str, Array]
    lattice: Lattice | None
    rest: ConditionalModel
    log_joint: float = 0.0

    @property
    def logs(self) -> Array:
        """Log masses of the points."""
        return np.array([self.log_joint]) if self.lattice is None else self.lattice.log_masses

    @property
    def log_mass(self) -> float:
        """Ln p(states, data)."""
        return float(log_sum_exp(self.logs))


class NestedResult(Result):
    """A mixture over points: exact given each, weighted by its posterior."""

    looks_again = True

    def __init__(self, block: NestedBlock, branches: Sequence[Branch]) -> None:
        self.block = block
        self.names = block.names
        logs = np.array([branch.log_mass for branch in branches])
        self.log_evidence = float(log_sum_exp(logs))
        self.kind = "quadrature" if block.outside.free else "exact"
        self.branches = list(branches)
        self.shares = np.exp(logs - self.log_evidence)
        errors = [
            0.0 if branch.lattice is None else branch.lattice.error for branch in self.branches
        ]
        self.error = float(self.shares @ errors)

    # -- points ----------------------------------------------------------------------------

    @cached_property
    def _places(self) -> list[tuple[int, int]]:
        """Branch and number of each point that matters."""
        return [
            (i, int(k))
            for i, branch in enumerate(self.branches)
            for k in np.flatnonzero(self._shares_of(i) > _LEAST_WEIGHT)
        ]

    def _shares_of(self, i: int) -> Array:
        branch = self.branches[i]
        return self.shares[i] * np.exp(branch.logs - branch.log_mass)

    @cached_property
    def weights(self) -> Array:
        """Probabilities of the points that matter."""
        shares = [self._shares_of(i) for i in range(len(self.branches))]
        found = np.array([shares[i][k] for i, k in self._places])
        return found / found.sum()

    def _values(self, i: int, numbers: Array) -> dict[str, Array]:
        """Return what the rest of a branch is solved at, for some of its points."""
        branch = self.branches[i]
        if branch.lattice is None:
            return {name: values[None] for name, values in branch.states.items()}
        return self.block.coordinates.read(branch.lattice.points[numbers])[0]

    def _points(self) -> Iterable[Point]:
        """Solve the points that matter, or those of an earlier question."""
        return self._kept if self.block.keeps else self._solved()

    @cached_property
    def _kept(self) -> list[Point]:
        return list(self._solved())

    def _solved(self) -> Iterator[Point]:
        places = np.array(self._places)
        for i, branch in enumerate(self.branches):
            numbers = places[places[:, 0] == i, 1]
            if len(numbers):
                for point in branch.rest.points(self._values(i, numbers)):
                    yield point._replace(values={**branch.states, **point.values})

    def _point(self, n: int) -> Point:
        if self.block.keeps:
            return self._kept[n]
        i, k = self._places[n]
        (point,) = self.branches[i].rest.points(self._values(i, np.array([k])))
        return point._replace(values={**self.branches[i].states, **point.values})

    def _whole_points(self) -> Iterator[WholePoint]:
        """Solve the points that matter with all their rows."""
        for i, k in self._places:
            branch, values = self.branches[i], self._values(i, np.array([k]))
            point = branch.rest.at({name: array[0] for name, array in values.items()})
            yield replace(point, values={**branch.states, **point.values})

    # -- answers ---------------------------------------------------------------------------

    def marginal(self, name: str) -> Distribution:
        """Return a density on a grid, probabilities of states, or a mixture over the points."""
        for item in self.block.outside.free:
            if item.name == name:
                return self._density(item)
        if name in self.block.outside.names:
            return self._probabilities(name)
        found = [_by_name(point)[name].marginal(name) for point in self._points()]
        return average(self.weights, found)

    def _density(self, item: Free) -> Distribution:
        """Return the marginal of numbers that were integrated over."""
        start = self.block.coordinates.names.index(item.name)
        if item.is_simplex or item.prior.event_shape:
            values = np.array([p.values[item.name] for p in self._points()])
            return self._weighted_points(values, item)
        members = [self._member(item, start + j, j) for j in range(item.size)]
        nodes, density = (np.array(t).reshape(*item.shape, -1) for t in zip(*members, strict=True))
        return Numeric(nodes, density)

    def _weighted_points(self, values: Array, item: Free) -> Distribution:
        lead = len(item.shape) - 1
        moved = np.moveaxis(values, 0, lead)
        weights = np.broadcast_to(self.weights, (*item.shape[:lead], len(self.weights)))
        return Empirical(moved, weights=weights, event_ndim=1)

    def _member(self, item: Free, axis: int, j: int) -> tuple[Array, Array]:
        """Return nodes and the density there of one number."""
        lattices = [branch.lattice for branch in self.branches if branch.lattice is not None]
        ends = [lattice.points[:, axis] for lattice in lattices]
        at = np.linspace(min(e.min() for e in ends), max(e.max() for e in ends), _NODES)
        density = sum(
            share * margin(lattice, axis, at)
            for share, lattice in zip(self.shares, lattices, strict=True)
        )
        one = item._replace(shape=(1,), low=np.ravel(item.low)[[j]], high=np.ravel(item.high)[[j]])
        values, log_jacobian = one.read(at[:, None])
        nodes, heights = values[:, 0], density * np.exp(-log_jacobian)
        order = np.argsort(nodes)
        nodes, heights = nodes[order], heights[order]
        kept = np.append(np.diff(nodes) > 0, True) & np.isfinite(heights)
        return _same_length(nodes[kept], heights[kept])

    def _probabilities(self, name: str) -> Distribution:
        """Return the marginal of a variable that was summed over."""
        (item,) = (s for s in self.block.outside.states if s.name == name)
        family = self.block.group.bound.families[name]
        found = np.zeros((*item.shape, len(item.values)))
        for share, branch in zip(self.shares, self.branches, strict=True):
            found += share * (branch.states[name][..., None] == item.values)
        if family is Bernoulli:
            return Bernoulli(np.clip(found[..., 1], 0.0, 1.0))
        if family in DISCRETE:
            return Categorical(found, labels=self.block.group.bound.labels[name])
        return NumericCounts(item.values[0], found)

    def sample(self, size: int, *, rng: Seed = None) -> dict[str, Array]:
        """Draw points by weight, numbers between them, and all others given the points."""
        generator = as_generator(rng)
        chosen = generator.choice(len(self.weights), size=size, p=self.weights)
        draws: dict[str, Array] = {}
        for n in np.unique(chosen):
            where = np.flatnonzero(chosen == n)
            for name, values in self._draws_at(n, len(where), generator).items():
                whole = draws.setdefault(name, np.empty((size, *values.shape[1:]), values.dtype))
                whole[where] = values
        return {name: draws[name] for name in self.names}

    def _draws_at(self, n: int, count: int, rng: np.random.Generator) -> dict[str, Any]:
        i, k = self._places[n]
        branch, point = self.branches[i], self._point(n)
        found: dict[str, Any] = {}
        for result in point.results:
            found |= result.sample(count, rng=rng)
        for name, values in branch.states.items():
            found[name] = _in_words(np.repeat(values[None], count, axis=0), self._labels(name))
        if branch.lattice is not None:
            around = kernels(branch.lattice, np.full(count, k))
            found |= self.block.coordinates.read(around.sample(rng))[0]
        return found

    def weighable(self) -> Weighable | None:
        """Return draws of those outside, given which all others are exact; sums need no check."""
        outside = self.block.outside
        if not outside.free:
            return None
        size = sum(f.size for f in outside.free) + sum(math.prod(s.shape) for s in outside.states)
        apart = Apart(outside.names, size, True, self._draw_outside)
        return Weighable(self.block.group, (apart,), {}, self.marginal)

    def _draw_outside(self, size: int, rng: np.random.Generator) -> tuple[dict[str, Array], Array]:
        """Draw those outside as :meth:`sample` does, with the log density of the draws."""
        places = np.array(self._places)
        draws: dict[str, Array] = {}
        log_q = np.empty(size)
        chosen = rng.choice(len(self.weights), size=size, p=self.weights)
        for i in np.unique(places[chosen, 0]):
            mine, where = places[:, 0] == i, np.flatnonzero(places[chosen, 0] == i)
            lattice, states = self.branches[i].lattice, self.branches[i].states
            assert lattice is not None
            u = kernels(lattice, places[chosen[where], 1]).sample(rng)
            mixture = kernels(lattice, places[mine, 1])
            values, log_jacobian = self.block.coordinates.read(u)
            log_q[where] = mixture.log_density(u, self.weights[mine]) - log_jacobian
            same = {n: np.broadcast_to(v, (len(where), *v.shape)) for n, v in states.items()}
            for name, drawn in {**same, **values}.items():
                draws.setdefault(name, np.empty((size, *drawn.shape[1:])))[where] = drawn
        return draws, log_q

    def _labels(self, name: str) -> Any:
        return self.block.group.bound.labels[name]

    def most_likely(self) -> dict[str, Any]:
        """Return the best point of those outside, and of all others given it."""
        point = self._point(int(np.argmax(self.weights)))
        best: dict[str, Any] = {}
        for name, values in point.values.items():
            is_state = name in self.branches[0].states
            best[name] = (_in_words(values, self._labels(name)) if is_state else values)[()]
        for result in point.results:
            best |= result.most_likely()
        return {name: best[name] for name in self.names}

    def joint(self, solved: Solved, names: Sequence[str]) -> Distribution:
        """Return the mixture of the joint distributions at the points."""
        if set(names) & set(self.block.outside.names):
            raise TypeError(
                f"the joint distribution of {' and '.join(names)} has no closed form; sample() "
                "draws from it"
            )
        found = list[Any]()
        for point in self._whole_points():
            results = {
                result for result in _by_name(point).values() if set(names) & set(result.names)
            }
            if len(results) != 1:
                raise TypeError(f"{' and '.join(names)} were not solved together at every point")
            found.append(results.pop().joint(solved, names))
        return average(self.weights, found)

    def predict(self, solved: Solved, request: Request) -> Distribution | None:
        """Return the mixture of what is predicted at the points."""
        plate = self._continued(request)
        if plate is not None:
            return predict_longer(solved, request, solved.bound.variables, plate)
        if len(self.branches) == 1:
            numbers = np.array(self._places)[:, 1]
            found = self.branches[0].rest.predict(self._values(0, numbers), request)
            if found:
                return average_first(self.weights, found)
        points = self._whole_points()
        return average(
            self.weights, [predict_request(self._at(solved, point), request) for point in points]
        )

    def _continued(self, request: Request) -> str | None:
        """Return the plate of a chain that was summed over and is to go on."""
        variables = self.block.group.bound.variables
        lengths = [variables[item.name].length for item in self.block.outside.states]
        found = [p for p in lengths if isinstance(p, str) and p in request.sizes]
        return found[0] if found and len(request.sizes) == 1 and not request.values else None

    def account(self) -> Terms:
        """Average the terms at the points; those outside have the entropy of their density."""
        energies: dict[str, float] = {}
        entropies: dict[str, float] = {}
        for weight, point in zip(self.weights, self._whole_points(), strict=True):
            terms = [result.account() for result in point.results]
            for name, value in (pair for t in terms for pair in t.energies):
                energies[name] = energies.get(name, 0.0) + weight * value
            for factor in point.known:
                value = log_prob_of_known(factor, self._bound_at(point))
                energies[factor.name] = energies.get(factor.name, 0.0) + weight * value
            for name, value in (pair for t in terms for pair in t.entropies.items()):
                entropies[name] = entropies.get(name, 0.0) + weight * value
        total = sum(energies.values()) + sum(entropies.values())
        outside = ", ".join(self.block.outside.names)
        return Terms(list(energies.items()), {**entropies, outside: self.log_evidence - total})

    def _bound_at(self, point: WholePoint) -> Any:
        return fix(self.block.group.bound, point.values)

    def _at(self, solved: Solved, point: WholePoint) -> Solved:
        """Return all that is solved, with this block at one of its points."""
        others = [r is not self for r in solved.results]
        blocks = [b for b, other in zip(solved.blocks, others, strict=True) if other]
        results = [r for r in solved.results if r is not self]
        return replace(
            solved,
            bound=fix(solved.bound, point.values),
            blocks=(*blocks, *point.blocks),
            results=(*results, *point.results),
            known=(*solved.known, *point.known),
            log_known=solved.log_known + point.log_known,
        )


def _by_name(point: Point | WholePoint) -> dict[str, Result]:
    return {name: result for result in point.results for name in result.names}


def _same_length(nodes: Array, heights: Array) -> tuple[Array, Array]:
    """Fill up with nodes in between, so that members can stand in one array."""
    if len(nodes) == _NODES:
        return nodes, heights
    at = np.interp(np.linspace(0.0, len(nodes) - 1.0, _NODES), np.arange(len(nodes)), nodes)
    return at, np.interp(at, nodes, heights)


def _in_words(values: Array, labels: Any) -> Any:
    """Return states as labels where they have names, as whole numbers where they have none."""
    codes = values.astype(np.intp)
    return codes if labels is None else np.asarray(labels)[codes]
