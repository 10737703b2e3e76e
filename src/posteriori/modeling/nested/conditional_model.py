"""What is left of a model when those outside have values: evidences at many points, or answers.

The rest is planned once. At a point only known numbers differ, so its blocks are made anew of the
same parts: chains and tables of states for all points at once, rows of normal models by new weights.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout, child_term
from posteriori.modeling.binding.construction import log_prob_of, member
from posteriori.modeling.binding.labelled import Axis, shape_of, spread
from posteriori.modeling.contract.conditioning import ExactParts, condition_group
from posteriori.modeling.contract.engine import Block, Group, Planned, Result
from posteriori.modeling.contract.requests import Request
from posteriori.modeling.exact.chain.chain_block import GaussianChainBlock
from posteriori.modeling.exact.conjugate.conjugate_block import ConjugateBlock, fits_conjugate
from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock
from posteriori.modeling.forms.fixing import (
    at_point,
    fix_at_points,
    fix_factors,
    with_points,
)
from posteriori.modeling.forms.rows_apart import rows_about
from posteriori.modeling.forms.simulation import log_prob_of_known
from posteriori.modeling.nested.chain_points import ChainPoints
from posteriori.modeling.nested.conjugate_points import ConjugatePoints
from posteriori.modeling.nested.discrete_points import DiscretePoints
from posteriori.modeling.nested.reweighting import reweighted
from posteriori.numerics.types import Array

__all__ = ["ConditionalModel", "Point", "WholePoint"]

#: What is impossible at a point, or beyond what numbers can hold.
_FAILURES = (ValueError, np.linalg.LinAlgError, OverflowError)
#: Numbers of known factors that are looked at together, for all points: 16 MB.
_NUMBERS = 2_000_000


class Point(NamedTuple):
    """Results of the rest at values of those outside."""

    values: Mapping[str, Array]
    results: tuple[Result, ...]


@dataclass(frozen=True, eq=False)
class WholePoint:
    """The rest at values of those outside, with all its rows.

    Attributes
    ----------
    values : mapping
    blocks, results : tuples
    known : tuple of BoundFactor
        Factors that have no unknowns there, with the prior of those outside.
    log_known : float
        ln p of these.
    """

    values: Mapping[str, Array]
    blocks: tuple[Block, ...]
    results: tuple[Result, ...]
    known: tuple[BoundFactor, ...]
    log_known: float


class ConditionalModel:
    """What is left of a group when some unknowns have values.

    Parameters
    ----------
    group : Group
        With those outside unknown.
    typical : mapping
        Some values of those outside.
    exact_parts : callable
        Finds the exact parts of what is left.
    keeps : bool
        Whether to keep results that were found on the way to evidences.
    """

    def __init__(
        self, group: Group, typical: Mapping[str, Array], exact_parts: ExactParts, keeps: bool
    ) -> None:
        self.group = group
        left = condition_group(group, typical)
        found = exact_parts(left.group)
        if found is None:
            raise TypeError(f"not exact given {', '.join(typical)}")
        parts, known = found
        whole = {id(f): g for f, g in zip(left.group.factors, left.whole, strict=True)}
        self.known = [whole[id(f)] for f in known]
        self.parts = [_Part(p, [whole[id(f)] for f in p.group.factors], group) for p in parts]
        self.solvers = [part.solver(tuple(typical), keeps) for part in self.parts]
        self.failure: Exception | None = None

    def log_joints(self, values: Mapping[str, Array]) -> Array:
        """Return ln p(values, data) at points; −inf where the data are impossible."""
        count = _count(values)
        try:
            with np.errstate(all="ignore"):
                total = self._log_known(values)
                for solver in self.solvers:
                    total = total + solver.log_evidences(values)
        except _FAILURES as error:
            if count == 1:
                self.failure = self.failure or error
                return np.array([-np.inf])
            halves = slice(None, count // 2), slice(count // 2, None)
            return np.concatenate(
                [self.log_joints({n: v[half] for n, v in values.items()}) for half in halves]
            )
        return np.where(np.isfinite(total), total, -np.inf)

    def holds_at(self, values: Mapping[str, Array]) -> bool:
        """Tell whether the plan, made at some values, is known to hold at all of these."""
        return all(
            solver.fits(values)
            if isinstance(solver, ConjugatePoints)
            else part.planned.kind.name == "discrete"
            for part, solver in zip(self.parts, self.solvers, strict=True)
        )

    def points(self, values: Mapping[str, Array]) -> Iterator[Point]:
        """Yield the results at points where the data are possible."""
        found = [solver.results(values) for solver in self.solvers]
        for k in range(_count(values)):
            yield Point(_at(values, k), tuple(next(results) for results in found))

    def at(self, values: Mapping[str, Array]) -> WholePoint:
        """Solve the rest at values of those outside."""
        bound = self.group.bound._replace(observed={**self.group.bound.observed, **values})
        known = fix_factors(self.known, bound, values)
        blocks = tuple(part.block(values) for part in self.parts)
        log_known = sum(log_prob_of_known(factor, bound) for factor in known)
        return WholePoint(values, blocks, tuple(b.solve() for b in blocks), known, log_known)

    def predict(self, values: Mapping[str, Array], request: Request) -> list[Any]:
        """Predict at many points together, as batches that they lead; none without a rule."""
        own = {n for n in request.needed if n in self.group.names and n not in values}
        for part, solver in zip(self.parts, self.solvers, strict=True):
            if isinstance(solver, ChainPoints) and own <= {*part.planned.group.names, request.name}:
                return solver.predict(values, request)
        return []

    def _log_known(self, values: Mapping[str, Array]) -> Array:
        """Return the log densities of known factors at points, the prior of those outside among them."""
        points = Axis("points", _count(values))
        bound = with_points(self.group.bound, values, points)
        total = np.zeros(points.size)
        for factor in fix_at_points(self.known, self.group.bound.layouts, values, points):
            total += _log_probs(factor, bound, points)
        return total


def _log_probs(factor: BoundFactor, bound: Bound, points: Axis) -> Array:
    """Return the log density of a known factor at each point."""
    if points not in factor.rows:
        return np.full(points.size, log_prob_of_known(factor, bound))
    x = spread(child_term(factor, bound).table, factor.rows + factor.events)
    rows = int(np.prod(shape_of(factor.rows[1:])))
    if np.isnan(x).any() or points.size * rows > _NUMBERS:
        return np.array([_log_prob_at(factor, bound, points, k) for k in range(points.size)])
    logs = log_prob_of(member(factor), x, factor.name)
    return logs.reshape(points.size, -1).sum(axis=1)


def _log_prob_at(factor: BoundFactor, bound: Bound, points: Axis, k: int) -> float:
    plates, ints, events = bound.layouts[factor.name]
    if plates[:1] == (points,):  # the child is one of those outside
        layouts = {**bound.layouts, factor.name: Layout(plates[1:], ints, events)}
        values = {**bound.observed, factor.name: bound.observed[factor.name][k]}
        bound = bound._replace(layouts=layouts, observed=values)
    return log_prob_of_known(at_point(factor, points, k), bound)


def _count(values: Mapping[str, Array]) -> int:
    return len(next(iter(values.values())))


def _at(values: Mapping[str, Array], k: int) -> dict[str, Array]:
    return {name: array[k] for name, array in values.items()}


# -- parts -------------------------------------------------------------------------------------


class _Solver(Protocol):
    """Solves a part of the rest at points."""

    def log_evidences(self, values: Mapping[str, Array]) -> Array: ...

    def results(self, values: Mapping[str, Array]) -> Iterator[Result]: ...


#: Results at the points of values (K, ...), one after another.
_Solve = Callable[[Mapping[str, Array]], Iterator[Result]]


class _Part(NamedTuple):
    """A part of the rest: how it was planned, and its factors with those outside unknown."""

    planned: Planned
    factors: Sequence[BoundFactor]
    group: Group

    def block(self, values: Mapping[str, Array]) -> Block:
        """Return the block at values of those outside."""
        bound = self.group.bound
        known = bound._replace(observed={**bound.observed, **values})
        fixed = fix_factors(self.factors, bound, values)
        return self.planned.block(known, rows_about(self.planned.group.names, fixed, known))

    def solve(self, values: Mapping[str, Array]) -> Result:
        """Solve the block at values of those outside."""
        return self.block(values).solve()

    def solver(self, outside: tuple[str, ...], keeps: bool) -> _Solver:
        """Return the best way to solve the part at many points."""
        if self._has_some_rows(outside):
            return self._conjugate() or _Kept(_one_by_one(self.solve), keeps)
        if self.planned.kind.name == "chain":
            block = self.planned.block()
            assert isinstance(block, GaussianChainBlock)
            return ChainPoints(block, self.group, self.factors)
        if self.planned.kind.name == "discrete":
            states = self.planned.block()
            assert isinstance(states, DiscreteBlock)
            return _Kept(DiscretePoints(states, self.group, self.factors).solve, keeps)
        if self.planned.kind.name == "gaussian":
            group = self.planned.group._replace(bound=self.group.bound, factors=tuple(self.factors))
            rows = reweighted(group, self.planned.group, outside)
            if rows is not None:
                return _Kept(_one_by_one(rows.at), keeps)
        return self._conjugate() or _Kept(_one_by_one(self.solve), keeps)

    def _has_some_rows(self, outside: Collection[str]) -> bool:
        """Tell whether a factor is here with some of its rows only."""
        mine = {*self.planned.group.names, *outside}
        return any(not self.group.bound.unknowns_of(factor) <= mine for factor in self.factors)

    def _conjugate(self) -> ConjugatePoints | None:
        """Return the part as one variable with conjugate children, if it is that."""
        group = self.planned.group
        if not fits_conjugate(group).holds:
            return None
        block = ConjugateBlock(*group[:3])
        if any(child.has_known_rows for child in block.children):
            return None
        return ConjugatePoints(block, self.group, self.factors)


def _one_by_one(solve: Callable[[Mapping[str, Array]], Result]) -> _Solve:
    """Return a method that solves at one point after another."""

    def solve_all(values: Mapping[str, Array]) -> Iterator[Result]:
        for k in range(_count(values)):
            yield solve(_at(values, k))

    return solve_all


class _Kept:
    """Solves a part at points, and keeps the results if memory allows."""

    def __init__(self, solve: _Solve, keeps: bool) -> None:
        self.solve = solve
        self.keeps = keeps
        self.kept: dict[bytes, Result] = {}

    def log_evidences(self, values: Mapping[str, Array]) -> Array:
        """Return ln p(data | values) at each point."""
        return np.array([float(result.log_evidence) for result in self.results(values)])

    def results(self, values: Mapping[str, Array]) -> Iterator[Result]:
        """Solve the part at each point."""
        keys = [
            b"".join(array.tobytes() for array in _at(values, k).values())
            for k in range(_count(values))
        ]
        new = self._not_kept(keys)
        solved = self.solve({name: array[new] for name, array in values.items()}) if new else None
        for key in keys:
            found = self.kept.get(key)
            if found is None:
                assert solved is not None
                found = next(solved)
                if self.keeps:
                    self.kept[key] = found
            yield found

    def _not_kept(self, keys: Sequence[bytes]) -> list[int]:
        """Return the points to solve: of those that are kept each once."""
        known, new = set(self.kept), []
        for k, key in enumerate(keys):
            if key not in known:
                new.append(k)
                if self.keeps:
                    known.add(key)
        return new
