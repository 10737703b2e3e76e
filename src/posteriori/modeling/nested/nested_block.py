r"""Exact inference given a few unknowns, and an integral over these.

.. math:: p(y) = \int p(y\mid\theta)\,p(\theta)\,d\theta, \qquad
          p(x\mid y) = \int p(x\mid y,\theta)\,p(\theta\mid y)\,d\theta,

where p(y | θ) and p(x | y, θ) come from the exact blocks. θ are spreads, coefficients of
recursions, mixing weights: numbers, which are integrated over on a lattice, or a few states,
which are summed (H. Rue, S. Martino, N. Chopin, "Approximate Bayesian inference for latent Gaussian
models by using integrated nested Laplace approximations", 2009; here the inner part is exact).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import numpy as np

from posteriori.inference.quadrature.lattices import Lattice, NoFallError, integrate
from posteriori.modeling.binding.bound import BoundFactor
from posteriori.modeling.contract.costs import Cost, counted
from posteriori.modeling.contract.engine import Block, Fit, Group
from posteriori.modeling.forms.fixing import fix_factors
from posteriori.modeling.forms.simulation import log_prob_of_known
from posteriori.modeling.nested.choice import (
    Inside,
    Outside,
    choose_outside,
    leave,
    solve_inside,
)
from posteriori.modeling.nested.nested_result import Branch, NestedResult, Point
from posteriori.modeling.nested.reweighting import Reweighted, reweighted
from posteriori.modeling.nested.states import joint_states
from posteriori.modeling.nested.unbounded import Coordinates
from posteriori.numerics.progress import Progress
from posteriori.numerics.types import Array

__all__ = ["NestedBlock", "fits_nested"]

#: Seconds that a plan may ask for by itself; more is done only if it is asked for.
_PATIENCE = 20.0
#: Bytes of the results of all points that are kept; beyond, they are solved again when needed.
_KEPT_BYTES = 2.0e8


def fits_nested(group: Group, inside: Inside) -> Fit:
    """Tell whether few unknowns make the others exact, at a cost that is not out of proportion."""
    options = group.options
    if options is not None and options.asks_for_ascent:
        return Fit(False)
    outside = choose_outside(group, inside)
    if isinstance(outside, str):
        if options is not None and options.algorithm == "quadrature":
            raise TypeError(
                f'algorithm="quadrature" does not fit {", ".join(group.names)}: {outside}'
            )
        return Fit(False)
    if outside.seconds > _PATIENCE and (options is None or options.algorithm != "quadrature"):
        return Fit(False, instead=_too_long(outside))
    return Fit(True, outside)


def _too_long(outside: Outside) -> str:
    return (
        f"an integral over {', '.join(outside.names)} with {outside.points:.3g} points, which would "
        f'take about {_duration(outside.seconds)}; algorithm="quadrature" asks for it'
    )


def _duration(seconds: float) -> str:
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.0f} h"


class NestedBlock(Block):
    """A few unknowns outside, exact blocks inside.

    Parameters
    ----------
    group : Group
    outside : Outside
    inside : callable
        Makes the exact blocks of what is left.
    """

    def __init__(self, group: Group, outside: Outside, inside: Inside) -> None:
        self.group = group
        self.outside = outside
        self.inside = inside
        self.names = group.names
        self.factors = group.factors
        self.coordinates = Coordinates(outside.free)

    @property
    def method(self) -> str:
        """Sums, integrals, or both."""
        parts = []
        if self.outside.states:
            parts.append(f"sum over {', '.join(s.name for s in self.outside.states)}")
        if self.outside.free:
            parts.append(f"integral over {', '.join(f.name for f in self.outside.free)}")
        return " and ".join(parts)

    @property
    def why(self) -> str:
        """What is exact."""
        return f"given {', '.join(self.outside.names)} all else is exact"

    @property
    def order(self) -> tuple[str, ...]:
        """Those outside first."""
        return (*self.outside.names, *(n for n in self.names if n not in self.outside.names))

    @property
    def cost(self) -> Cost:
        """What solving the rest at all points costs."""
        points = self.outside.points
        return Cost(points * self.outside.operations, self.outside.bytes)

    def describe(self) -> str:
        """Say how often the rest is solved."""
        return f"the rest is solved exactly at about {counted(round(self.outside.points), 'point')}"

    def solve(self) -> NestedResult:
        """Return the posterior as a mixture over points."""
        options = self.group.options
        progress = Progress(None if options is None else options.progress, kept="nothing")
        search = _Search(self, progress)
        branches = []
        try:
            for states in joint_states(self.outside.states):
                branch = search.branch(states)
                if branch is not None:
                    branches.append(branch)
        finally:
            progress.close()
        if not branches:
            raise ValueError(
                f"the data are impossible whatever {', '.join(self.outside.names)} are"
            ) from search.failure
        return NestedResult(self, branches)

    @cached_property
    def _reweighted(self) -> Reweighted | None:
        """The rest as rows that are weighted anew, where those outside are spreads only."""
        if self.outside.states:
            return None
        starts, _ = self.coordinates.starts()
        values, _ = self.coordinates.read(starts[0])
        left = leave(self.group, values)
        return reweighted(self.group, left, self.outside.names)

    def quickly_at(self, values: Mapping[str, Array]) -> Point:
        """Solve the rest, without reading all rows again where only their weights differ."""
        rows = self._reweighted
        if rows is None:
            return self.at(values)
        bound = self.group.bound
        known = fix_factors(self._priors, bound, values)
        left = bound._replace(observed={**bound.observed, **values})
        log_known = sum(log_prob_of_known(factor, left) for factor in known)
        result = rows.at(values)
        total = float(result.log_evidence) + log_known
        return Point(values, (rows.block,), (result,), known, log_known, total)

    @cached_property
    def _priors(self) -> tuple[BoundFactor, ...]:
        """Factors that have no unknowns but those outside."""
        outside = set(self.outside.names)
        return tuple(f for f in self.factors if self.group.bound.unknowns_of(f) <= outside)

    def at(self, values: Mapping[str, Array]) -> Point:
        """Solve the rest given values of those outside."""
        left, found = solve_inside(self.group, values, self.inside)
        if found is None:
            raise TypeError(f"not exact given {', '.join(values)}")
        blocks, known = found
        log_known = sum(log_prob_of_known(factor, left.bound) for factor in known)
        results = tuple(block.solve() for block in blocks)
        total = sum(float(result.log_evidence) for result in results) + log_known
        return Point(values, blocks, results, known, log_known, total)


class _Search:
    """Solves the rest at points, and keeps what it found where memory allows."""

    def __init__(self, block: NestedBlock, progress: Progress) -> None:
        self.block = block
        self.progress = progress
        self.count = 0
        self.failure: Exception | None = None
        points = block.outside.points
        self.keeps = points * block.outside.bytes <= _KEPT_BYTES

    def branch(self, states: Mapping[str, Array]) -> Branch | None:
        """Return one joint state with its lattice; None where the data are impossible."""
        solved: dict[bytes, Point] = {}
        if not self.block.coordinates.size:
            point = self._solve(states)
            return None if point is None else Branch(states, None, [point])
        lattice = self._lattice(self._log_density(states, solved))
        if lattice is None:
            return None
        points = [solved.get(u.tobytes()) for u in lattice.points]
        return Branch(states, lattice, points)

    def _lattice(self, log_density: Callable[[Array], Array]) -> Lattice | None:
        starts, scales = self.block.coordinates.starts()
        try:
            return integrate(log_density, starts, scales)
        except NoFallError as error:
            name = self.block.coordinates.names[error.coordinate]
            raise ValueError(
                f"the posterior of {name} is improper, or has no end within reach: its prior and "
                "the data do not rule out extreme values; give it a prior that does"
            ) from None
        except ValueError as error:
            if self.failure is None:
                self.failure = error
            return None

    def _log_density(
        self, states: Mapping[str, Array], solved: dict[bytes, Point]
    ) -> Callable[[Array], Array]:
        def at(u: Array) -> float:
            values, log_jacobian = self.block.coordinates.read(u)
            point = self._solve({**states, **values})
            if point is None:
                return -np.inf
            if self.keeps:
                solved[u.tobytes()] = point
            return point.log_joint + log_jacobian

        return lambda points: np.array([at(u) for u in points])

    def _solve(self, values: Mapping[str, Array]) -> Point | None:
        self.count += 1
        self.progress.say(f"{self.count} of about {self.block.outside.points:.0f} points")
        try:
            with np.errstate(all="ignore"):
                point = self.block.quickly_at(values)
        except (ValueError, np.linalg.LinAlgError, OverflowError) as error:
            if self.failure is None:
                self.failure = error
            return None  # impossible, or beyond what numbers can hold
        return point if np.isfinite(point.log_joint) else None
