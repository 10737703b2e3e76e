"""New members of the data's plate: their own unknowns, given beliefs about all that is shared.

The beliefs of shared variables stay as they are. The unknowns of the new members are solved with the
new data as in any sweep: responsibilities of new rows, scores, or the states of another series.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from posteriori.modeling.binding.bound import Bound
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.contract.new_data import bind_new_data, fresh_plates
from posteriori.modeling.contract.options import Options
from posteriori.modeling.contract.requests import Anew, Request, by_child
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.variational.ascent.approximation import Approximation
from posteriori.modeling.variational.ascent.coordinate_ascent import sweep
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.ascent.starts import start_from_priors
from posteriori.modeling.variational.densities.references import find_references
from posteriori.modeling.variational.nodes.node import Node
from posteriori.modeling.variational.prediction.scene import Scene, believed, set_scene
from posteriori.numerics.types import Array

__all__ = ["infer_local", "new_members", "solve_new_data"]


class FixedNode(Node):
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


def _solve_given(local: Approximation, fixed: Sequence[FixedNode]) -> Problem:
    """Start from what the shared variables say, and ascend."""
    restart = Axis("restart", 1)
    nodes = sorted(
        (local.node(g, restart) for g in local.structure.groups), key=lambda n: n.comes_last
    )
    problem = Problem(local.monomials, [*fixed, *nodes], (), restart)
    start_from_priors(local, problem, problem.nodes)
    before = float(sweep(problem)[0])
    for _ in range(local.options.max_iter - 1 if len(local.structure.groups) > 1 else 0):
        bound = float(sweep(problem)[0])
        if bound - before < local.options.tol:
            break
        before = bound
    return problem


def infer_local(solved: Solved, request: Request) -> Scene:
    """Solve the unknowns of new members with their data."""
    return solve_new_data(solved, request.given, new_members(solved, request), request.name)


def new_members(solved: Solved, request: Request) -> set[str]:
    """Return the plates whose new members a request has data of."""
    if request.name in request.given:
        raise ValueError(f"{request.name} is given: predict something else, or leave it out")
    fresh = fresh_plates(solved.bound, request.values)
    if not fresh:
        raise TypeError(
            f"{', '.join(request.values)} lies on no named plate, so that new observations speak of "
            "the same unknowns: post.update(...) takes them into account"
        )
    return fresh


def solve_new_data(
    solved: Solved, given: Mapping[str, Any], fresh: set[str], name: str = ""
) -> Scene:
    """Solve the unknowns on fresh plates; all others keep their beliefs.

    Parameters
    ----------
    solved : Solved
    given : mapping
        Data and inputs of the new members.
    fresh : set of str
        The plates that they are members of.
    name : str
        What will be predicted: it is not among what is unknown.
    """
    bound = bind_new_data(solved.bound, given, fresh)
    new = {n for n, layout in bound.layouts.items() if fresh & {a.name for a in layout.plates}}
    shared = _Shared(solved, bound, new)
    owners: dict[str, Any] = dict(shared.owners)
    references = dict(shared.references)
    belief: Callable[[str], Any] = solved.believed
    local = _new_members(shared, new)
    if local is not None:
        approximation, fixed = local
        problem = _solve_given(approximation, fixed)
        owners |= {n: problem.owner[n] for n in approximation.names}
        references |= approximation.references

        def belief(name: str) -> Any:
            if name not in approximation.names:
                return solved.believed(name)
            return approximation.restored(name, problem.owner[name].marginal(name))

    unsolved = frozenset(n for n in bound.latent if n not in owners and n != name)
    anew = Anew(by_child(bound.factors), bound.layouts, unsolved)
    return set_scene(anew, owners, belief, bound.labels, references)


class _Shared:
    """Variables that keep their beliefs: the nodes that answer for them, and their references."""

    def __init__(self, solved: Solved, bound: Bound, new: set[str]) -> None:
        self.bound = bound
        chosen = solved.options or Options()
        self.options = Options(tol=chosen.tol, max_iter=chosen.max_iter)
        kept = [name for name in solved.by_name if name not in new]
        self.owners, self.references = believed(solved, kept, bound.layouts)

    def nodes(self, names: Iterable[str]) -> list[FixedNode]:
        """Return the nodes of some variables, each once."""
        found: dict[int, FixedNode] = {}
        for name in names:
            node = self.owners[name]
            known = found.setdefault(id(node), FixedNode(node, ()))
            known.names = (*known.names, name)
        return list(found.values())


def _new_members(shared: _Shared, new: set[str]) -> tuple[Approximation, list[FixedNode]] | None:
    """Return the unknowns on the new plates that the new data speak of, if there are any."""
    bound = shared.bound
    informed = {n for n in bound.latent if n in new} - set(bound.barren())
    factors = [f for f in bound.factors if bound.unknowns_of(f) & informed]
    touched = set[str]().union(*(bound.unknowns_of(f) for f in factors))
    names = [n for n in bound.layouts if n in touched and n not in shared.owners]
    if not names:
        return None
    near = find_references(factors, bound)
    references = {n: table for n, table in near.items() if n in names} | shared.references
    fixed = shared.nodes(n for n in bound.layouts if n in touched & shared.owners.keys())
    return Approximation(bound, names, factors, shared.options, references), fixed
