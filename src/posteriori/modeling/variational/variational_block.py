"""The variational block: parts of a model that are exact alone, believed in independently."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from posteriori.modeling.beliefs.earlier import is_earlier
from posteriori.modeling.binding.bound import GAUSSIAN, Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.contract.costs import Cost
from posteriori.modeling.contract.engine import Block
from posteriori.modeling.contract.options import Options
from posteriori.modeling.forms.state_tables import DISCRETE, number_of_states
from posteriori.modeling.variational.ascent.coordinate_ascent import (
    Ascent,
    ascend,
    best_start,
    sweep,
)
from posteriori.modeling.variational.ascent.grouping import data_plate, group_variables
from posteriori.modeling.variational.ascent.informed import (
    Cut,
    can_extend,
    find_informed,
    take_over,
)
from posteriori.modeling.variational.ascent.problem import Problem
from posteriori.modeling.variational.ascent.rotation import find_pairs
from posteriori.modeling.variational.ascent.starts import (
    class_start,
    factor_start,
    seeded_variables,
)
from posteriori.modeling.variational.densities.addressing import add_up_rows
from posteriori.modeling.variational.densities.densities import log_density, why_not_variational
from posteriori.modeling.variational.densities.monomials import Monomial
from posteriori.modeling.variational.densities.references import (
    find_references,
    measured_from,
    restored,
)
from posteriori.modeling.variational.nodes.chain_node import ChainNode, time_of
from posteriori.modeling.variational.nodes.conjugate_node import ConjugateNode
from posteriori.modeling.variational.nodes.discrete_node import DiscreteNode
from posteriori.modeling.variational.nodes.gaussian_node import GaussianNode
from posteriori.modeling.variational.nodes.node import Node
from posteriori.modeling.variational.nodes.point_node import PointNode
from posteriori.modeling.variational.nodes.state_chain import chained_names
from posteriori.modeling.variational.stream.stochastic import ascend_in_batches, settle
from posteriori.modeling.variational.stream.streamed_node import StreamedProblem
from posteriori.modeling.variational.stream.streaming import Stream, find_stream
from posteriori.modeling.variational.variational_result import VariationalResult
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import IntArray

__all__ = ["VariationalBlock"]

#: Starts of models whose unknowns can change places, and the sweeps after which the best is kept.
_STARTS = 5
_TRIAL_SWEEPS = 15


class VariationalBlock(Block):
    """Unknown variables that need several exact blocks.

    Parameters
    ----------
    bound : Bound
    names : sequence of str
    factors : sequence of BoundFactor
        All factors that touch them.
    options : Options
    references : mapping to Table, optional
        What normal variables are measured from; by default chosen from the data.
    groups : sequence of tuples of str, optional
        Which variables are believed in jointly; by default all that can be.
    """

    method = "variational message passing"

    def __init__(
        self,
        bound: Bound,
        names: Sequence[str],
        factors: Sequence[BoundFactor],
        options: Options | None = None,
        references: Mapping[str, Table] | None = None,
        groups: Sequence[tuple[str, ...]] | None = None,
    ) -> None:
        self.bound = bound
        self.names = tuple(names)
        self.written = tuple(factors)
        self.references = find_references(factors, bound) if references is None else references
        self.factors = tuple(measured_from(self.references, factors, bound.layouts))
        self.options = options or Options()
        for name in self.names:
            reason = why_not_variational(bound, name)
            if reason is not None:
                raise TypeError(f"no method for {name}: {reason}")
        written = [
            m for i, factor in enumerate(self.factors) for m in log_density(factor, bound, i)
        ]
        self.monomials = add_up_rows(written, bound.layouts)
        apart = self.options.factorize
        self.groups = groups or group_variables(
            bound,
            self.names,
            self.factors,
            self.monomials,
            [self.names] if isinstance(apart, str) else apart,
        )
        self.plate = data_plate(bound, self.groups)

    @property
    def why(self) -> str:
        """Why this method is used."""
        return (
            f"{len(self.groups)} groups of variables are exact given the others; "
            "their beliefs are independent, so the evidence is a lower bound"
        )

    @property
    def order(self) -> tuple[str, ...]:
        """The order of updates."""
        problem = self._problem(1)
        return tuple(" & ".join(node.names) for node in (*problem.shared, *problem.local))

    @property
    def cost(self) -> Cost:
        """Operations and memory of one sweep, roughly."""
        operations = words = 0.0
        for monomial in self.monomials:
            axes = {a for t in monomial.tables for a in t.axes}
            axes |= {
                a for access in monomial.accesses for a in access.places if isinstance(a, Axis)
            }
            cells = float(np.prod([float(a.size) for a in axes])) if axes else 1.0
            operations += 4.0 * cells
            words = max(words, cells)
        return Cost(operations, 8.0 * words)

    def describe(self) -> str:
        """Say which parts are updated in turn."""
        owner = self._problem(1).owner
        chains = chained_names(self.monomials, self.bound.layouts)
        parts = []
        for group in self.groups:
            how = ", by forward-backward" if len(group) == 1 and group[0] in chains else ""
            parts.append(f"{' & '.join(group)}: {owner[group[0]].describe()}{how}")
        return "; ".join(parts)

    # -- making ------------------------------------------------------------------------------

    def _is_local(self, group: Sequence[str]) -> bool:
        return self.plate is not None and all(
            self.plate in self.bound.layouts[name].plates for name in group
        )

    def _problem(
        self, starts: int, solved: Problem | None = None, cut: Cut | None = None
    ) -> Problem:
        """Return the problem of all members, with nodes of a cut problem that has been solved."""
        restart = Axis("restart", starts) if solved is None else solved.restart
        nodes = [
            self._formed(self._node(group, restart))
            if cut is None
            or solved is None
            or any(cut.touches(self.bound.layouts[name]) for name in group)
            else solved.owner[group[0]]
            for group in self.groups
        ]
        started = {*self._seeded(), *self.options.init}  # are of use before they are updated
        # precisions after means: measured from prior means they would hide what the start has found
        nodes.sort(key=lambda n: (not started.isdisjoint(n.names), n.follows_means))
        if solved is not None:  # new nodes answer for what they share with solved ones
            nodes.sort(key=lambda n: n not in solved.nodes)
        local = [n for n in nodes if self._is_local(n.names)]
        local.sort(key=lambda n: n.comes_last)
        return Problem(self.monomials, nodes, local, restart)

    def _formed(self, node: Node) -> Node:
        return PointNode(node) if self.options.form.keys() & set(node.names) else node

    def _node(
        self,
        group: tuple[str, ...],
        restart: Axis,
        bound: Bound | None = None,
        monomials: Sequence[Monomial] | None = None,
    ) -> Node:
        """Return a node, by default for all members of its variables."""
        bound = bound or self.bound
        family = bound.families[group[0]]
        if family in DISCRETE:
            return DiscreteNode(bound, self._states(group), restart)
        if family not in GAUSSIAN:
            return ConjugateNode(group[0], family, bound.layouts[group[0]], restart)
        written = self.monomials if monomials is None else monomials
        touching = [m for m in written if any(a.name in group for a in m.accesses)]
        if len(group) == 1:
            time = time_of(group[0], bound.layouts[group[0]], touching)
            if time is not None:
                return ChainNode(group[0], time, bound.layouts, bound.families, touching, restart)
        return GaussianNode(group, bound.layouts, bound.families, touching, restart)

    def _states(self, names: Sequence[str]) -> dict[str, int]:
        """Return the number of states of discrete variables."""
        first = {f.name: f for f in reversed(self.factors)}
        return {name: number_of_states(first[name]) for name in names}

    # -- solving -----------------------------------------------------------------------------

    def solve(self) -> VariationalResult:
        """Ascend with the members that data depend on; then find the belief about the others."""
        cut = find_informed(self.bound, self.written)
        if cut is None:
            return self._solve()
        factors, empty = cut.factors(self.written, self.bound), cut.empty(self.bound)
        groups = [tuple(name for name in group if name not in empty) for group in self.groups]
        informed = VariationalBlock(
            cut.bound(self.bound, factors),
            [name for name in self.names if name not in empty],
            factors,
            replace(self.options, init=cut.arrays(self.options.init, self.bound.layouts)),
            {name: cut.table(table) for name, table in self.references.items()},
            [group for group in groups if group],
        )._solve()
        whole = self if can_extend(cut, self.groups, self.bound) else self._parted(cut)
        return VariationalResult(whole, whole._extended(informed, cut), informed.ascent, informed)

    def _parted(self, cut: Cut) -> VariationalBlock:
        """Return the block with members without data believed in apart from what they share."""
        groups = []
        for group in self.groups:
            touched = tuple(n for n in group if cut.touches(self.bound.layouts[n]))
            groups += [tuple(n for n in group if n not in touched), touched]
        return VariationalBlock(
            self.bound,
            self.names,
            self.written,
            self.options,
            self.references,
            [group for group in groups if group],
        )

    def _extended(self, informed: VariationalResult, cut: Cut) -> Problem:
        """Return the beliefs about all members, given those about what they share."""
        solved = informed.problem
        if isinstance(solved, StreamedProblem):
            local = solved.streamed
            layouts = self.bound.layouts
            touched = [g for g in self.groups if any(cut.touches(layouts[n]) for n in g)]
            if touched == [local.names]:  # found when somebody asks for it
                return Stream(self, local.names).problem(solved.shared, solved.restart)
        problem = self._problem(1, solved, cut)
        whole = [node for node in problem.nodes if node not in solved.nodes]
        self._start_from_priors(problem, whole)
        if len(whole) > 1:
            for node in whole:
                take_over(node, informed.problem.owner, cut, self.bound)
            whole = [node for node in whole if not self._is_taken_over(node)]
        after = -np.inf
        for _ in range(self.options.max_iter if whole else 0):
            for node in whole:
                problem.update(node)
            before, after = after, float(problem.bound(whole[-1])[0])
            if len(whole) == 1 or after - before < self.options.tol:
                break
        return problem

    def _is_taken_over(self, node: Node) -> bool:
        """Tell whether a node has its belief: members without data are as what they share says."""
        name, *others = node.names
        alone = self.bound.families[name] in DISCRETE and not others
        return alone and name not in chained_names(self.monomials, self.bound.layouts)

    def _solve(self) -> VariationalResult:
        """Ascend from several starts, and from the best of them to the end."""
        options = self.options
        seeds = self._seeded()
        starts = options.restarts or (_STARTS if seeds and not options.init else 1)
        problem = self._problem(starts)
        pairs = find_pairs(self.factors, self.bound)
        rng = as_generator(options.rng)
        stream, rows = find_stream(self, starts), None
        if stream is not None:
            rows = None if options.init else stream.sample(rng)
            problem = stream.problem(problem.shared, problem.restart, rows)
        self._start(problem, seeds, starts, rng, rows)
        several = starts > 1 or rows is not None
        trial = [sweep(problem) for _ in range(_TRIAL_SWEEPS)] if several else []
        first: list[float] = []
        if trial:
            best = best_start(trial[-1])
            first = [float(bounds[best]) for bounds in trial] if rows is None else []
            _select(problem, best)
            if options.batch_size is not None and pairs:
                settle(problem, pairs, tol=options.tol)
            if stream is not None:  # of all rows, and in larger parts
                problem = stream.problem(problem.shared, problem.restart)
        if options.batch_size is None or not isinstance(problem, StreamedProblem):
            ascent = self._ascend(problem)
            return VariationalResult(self, problem, ascent._replace(trace=(*first, *ascent.trace)))
        ascent = ascend_in_batches(
            problem,
            batch_size=options.batch_size,
            tol=options.tol,
            max_iter=options.max_iter,
            rng=rng,
            pairs=pairs,
            callback=options.callback,
        )
        return VariationalResult(self, problem, ascent)

    def _ascend(self, problem: Problem) -> Ascent:
        options = self.options
        return ascend(
            problem,
            tol=options.tol,
            max_iter=options.max_iter,
            callback=options.callback,
            pairs=find_pairs(self.factors, self.bound),
            classes=[name for name, kind in self._seeded().items() if kind == "classes"],
            progress=options.progress,
        )

    @property
    def exchangeable(self) -> dict[str, str]:
        """Variables whose parts could change places: those that start from classes or factors."""
        return self._seeded()

    def _seeded(self) -> dict[str, str]:
        """Return the variables that need a start other than their prior."""
        return seeded_variables(self.bound, self.factors)

    def _start(
        self,
        problem: Problem,
        seeds: Mapping[str, str],
        starts: int,
        rng: np.random.Generator,
        rows: IntArray | None = None,
    ) -> None:
        bound = self.bound
        self._start_from_priors(problem, problem.nodes)
        for name, kind in seeds.items():
            if name in self.options.init:
                continue
            some = rows if self.plate in bound.layouts[name].plates else None
            if kind == "classes":
                size = self._states([name])[name]
                found = class_start(name, size, bound, self.factors, starts, rng, some)
            else:
                found = factor_start(name, bound, self.factors, starts, rng, some)
            problem.owner[name].set_centre(name, found)
        for name, value in self.options.init.items():
            if name not in problem.owner:  # another block's
                continue
            if name in self.references:
                value = value - restored(0.0, self.references[name], bound.layouts[name].axes)
            problem.owner[name].start_from(name, value, bound.layouts[name].shape)
        for name in seeds:  # what meets a given start follows it rather than a start of its own
            if name not in self.options.init and self._meets(name, self.options.init):
                problem.update(problem.owner[name])

    def _start_from_priors(self, problem: Problem, nodes: Sequence[Node]) -> None:
        for name in self.bound.layouts:  # parents of a node come before its last variable
            node = problem.owner.get(name)
            if node is not None and node in nodes and node.names[-1] == name:
                sources = self._prior_of(node)
                if sources:
                    problem.update(node, sources)
        for node in nodes:  # missing data have no prior of their own
            if not self._prior_of(node):
                problem.update(node)

    def _prior_of(self, node: Node) -> set[int]:
        """Return the factors of a node's variables, or what earlier data say of them alone."""
        names = set(node.names)
        own = {i: {f.name} for i, f in enumerate(self.factors) if f.name in names}
        for i, factor in enumerate(self.factors):
            told = {a.name for a in factor.accesses}
            if is_earlier(factor.name) and told <= names:
                own[i] = told
        return set(own) if names <= set[str]().union(*own.values()) else set()

    def _meets(self, name: str, others: Iterable[str]) -> bool:
        """Tell whether a variable meets one of others in a product."""
        terms = (term for factor in self.factors for term in factor.terms)
        met = ({access.name for access in term.accesses} for term in terms)
        return any(name in names and not names.isdisjoint(others) for names in met)


def _select(problem: Problem, start: int) -> None:
    """Keep one start."""
    for node in problem.nodes:
        node.select(start)
    problem.restart.size = 1
