"""New members of the data's plate: their own unknowns, given beliefs about all that is shared.

The beliefs of shared variables stay as they are. The unknowns of the new members are solved with the
new data as in any sweep: responsibilities of new rows, scores, or the states of another series.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.beliefs.earlier import is_earlier
from posteriori.modeling.binding.binder import Binder
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.contract.options import Options
from posteriori.modeling.contract.requests import Anew, Request, plate_sizes
from posteriori.modeling.planning.planner import barren_variables, unknowns_of
from posteriori.modeling.variational.ascent.coordinate_ascent import Ascent, sweep
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.densities.references import find_references
from posteriori.modeling.variational.prediction.scene import Scene, moved_references, set_scene
from posteriori.modeling.variational.variational_block import VariationalBlock
from posteriori.modeling.variational.variational_result import VariationalResult
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.planning.planner import Plan
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["bind_new_data", "fresh_plates", "infer_local", "solve_new_data"]


class FixedNode:
    """A node of another problem whose belief is not updated.

    Parameters
    ----------
    node
        What answers.
    names : sequence of str
        Those of its variables that are asked for.
    """

    kind = "fixed"

    def __init__(self, node: Any, names: Sequence[str]) -> None:
        self.node = node
        self.names = tuple(names)

    def update(self, messages: Iterable[Any]) -> None:
        """Stay."""

    def expect(self, accesses: Sequence[Any]) -> list[tuple[Table, ...]]:
        """Return the expectation under the belief that it has."""
        found: list[tuple[Table, ...]] = self.node.expect(accesses)
        return found

    def entropy(self) -> Array:
        """0: what does not change is not counted."""
        return np.zeros(1)


class LocalBlock(VariationalBlock):
    """Unknowns of new members, with nodes of what they share with others."""

    def __init__(
        self,
        bound: Bound,
        names: Sequence[str],
        factors: Sequence[BoundFactor],
        options: Options,
        references: Mapping[str, Table],
        fixed: Sequence[FixedNode],
    ) -> None:
        super().__init__(bound, names, factors, options, references)
        self.fixed = tuple(fixed)

    def _problem_of_new_members(self) -> Problem:
        restart = Axis("restart", 1)
        nodes = [self._formed(self._node(group, restart)) for group in self.groups]
        nodes.sort(key=lambda n: n.kind == "discrete")
        return Problem(self.monomials, [*self.fixed, *nodes], (), restart)

    def solve(self) -> VariationalResult:
        """Start from what the shared variables say, and ascend."""
        problem = self._problem_of_new_members()
        self._start(problem, {}, 1, np.random.default_rng(0))
        trace = [float(sweep(problem)[0])]
        converged = len(self.groups) == 1
        while not converged and len(trace) < self.options.max_iter:
            trace.append(float(sweep(problem)[0]))
            converged = trace[-1] - trace[-2] < self.options.tol
        return VariationalResult(self, problem, Ascent(tuple(trace), converged, "new members"))


def infer_local(posterior: Posterior, request: Request) -> Scene:
    """Solve the unknowns of new members with their data."""
    plan = posterior._plan
    if request.name in request.given:
        raise ValueError(f"{request.name} is given: predict something else, or leave it out")
    fresh = fresh_plates(plan, request.values)
    if not fresh:
        raise TypeError(
            f"{', '.join(request.values)} lies on no named plate, so that new observations speak of "
            "the same unknowns: post.update(...) takes them into account"
        )
    return solve_new_data(posterior, request.given, fresh, request.name)


def solve_new_data(
    posterior: Posterior, given: Mapping[str, Any], fresh: set[str], name: str = ""
) -> Scene:
    """Solve the unknowns on fresh plates; all others keep their beliefs.

    Parameters
    ----------
    posterior : Posterior
    given : mapping
        Data and inputs of the new members.
    fresh : set of str
        The plates that they are members of.
    name : str
        What will be predicted: it is not among what is unknown.
    """
    plan = posterior._plan
    bound = bind_new_data(plan, given, fresh)
    new = {n for n, layout in bound.layouts.items() if fresh & {a.name for a in layout.plates}}
    shared = _Shared(posterior, bound, new)
    owners, references, belief = dict(shared.owners), dict(shared.references), posterior.__getitem__
    solved = _solve_new_members(shared, new)
    if solved is not None:
        owners |= {n: solved.problem.owner[n] for n in solved.names}
        references |= solved.block.references
        belief = _first_of(solved, posterior)
    parts: dict[str, list[BoundFactor]] = {n: [] for n in plan.variables}
    for factor in bound.factors:
        parts[factor.name].append(factor)
    unsolved = frozenset(n for n in bound.latent if n not in owners and n != name)
    anew = Anew(parts, bound.layouts, unsolved)
    return set_scene(anew, owners, belief, plan.bound.labels, references)


class _Shared:
    """Variables that keep their beliefs: the nodes that answer for them, and their references."""

    def __init__(self, posterior: Posterior, bound: Bound, new: set[str]) -> None:
        self.bound = bound
        self.owners: dict[str, Any] = {}
        self.references: dict[str, Table] = {}
        self.options = Options()
        for name in posterior._plan.variables:
            result = posterior._results.get(name)
            if name not in new and isinstance(result, VariationalResult):
                self.owners[name] = result.problem.owner[name]
                self.references |= moved_references(result, [name], bound.layouts)
                chosen = result.block.options
                self.options = Options(tol=chosen.tol, max_iter=chosen.max_iter)

    def nodes(self, names: Iterable[str]) -> list[FixedNode]:
        """Return the nodes of some variables, each once."""
        found: dict[int, FixedNode] = {}
        for name in names:
            node = self.owners[name]
            known = found.setdefault(id(node), FixedNode(node, ()))
            known.names = (*known.names, name)
        return list(found.values())


def _solve_new_members(shared: _Shared, new: set[str]) -> VariationalResult | None:
    """Solve the unknowns on the new plates that the new data speak of, if there are any."""
    bound = shared.bound
    informed = {n for n in bound.latent if n in new} - set(barren_variables(bound))
    factors = [f for f in bound.factors if unknowns_of(f, bound) & informed]
    touched = set[str]().union(*(unknowns_of(f, bound) for f in factors))
    names = [n for n in bound.layouts if n in touched and n not in shared.owners]
    if not names:
        return None
    near = find_references(factors, bound)
    references = {n: table for n, table in near.items() if n in names} | shared.references
    fixed = shared.nodes(n for n in bound.layouts if n in touched & shared.owners.keys())
    return LocalBlock(bound, names, factors, shared.options, references, fixed).solve()


def fresh_plates(plan: Plan, given: Mapping[str, Any]) -> set[str]:
    """Return the named plates of which data or inputs have new members.

    Of several plates, those whose size is that of before keep their members; if no size is another
    one, the first plate has the new members.
    """
    old = plate_sizes(plan)
    sizes: dict[str, int] = {}
    for name, values in given.items():
        layout = plan.bound.layouts.get(name)
        plates = plan.inputs[name].plates if layout is None else [a.name for a in layout.plates]
        sizes |= {p: n for p, n in zip(plates, np.shape(values), strict=False) if p in old}
    changed = {p for p, n in sizes.items() if n != old[p]}
    return changed or set(list(sizes)[:1])


def bind_new_data(plan: Plan, given: Mapping[str, Any], fresh: set[str]) -> Bound:
    """Bind the model to new data; other plates, their data and their inputs stay."""
    data = dict(given)
    layouts = plan.bound.layouts
    for name, value in {**plan.bound.observed, **plan.given}.items():
        if name in data or is_earlier(name):
            continue
        plates = (
            plan.inputs[name].plates
            if name in plan.inputs
            else [axis.name for axis in layouts[name].plates]
        )
        if not fresh & set(plates):
            data[name] = value
    sizes = {p: n for p, n in plate_sizes(plan).items() if p not in fresh}
    return Binder(plan.variables, plan.inputs, data, sizes).run()


def _first_of(solved: VariationalResult, posterior: Posterior) -> Any:
    def belief(name: str) -> Any:
        return solved.marginal(name) if name in solved.names else posterior[name]

    return belief
