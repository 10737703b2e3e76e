"""Predictions from discrete posteriors: mixtures over the states that a variable depends on.

What depends on discrete variables only is predicted exactly by solving their block again, wider:
with a copy of what was observed, with new members, or with members after the end of a chain. Nothing
is observed below what is added, so the posterior of the others stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from posteriori.distributions.composites.mixture import Mixture
from posteriori.modeling.binding.binder import bind
from posteriori.modeling.binding.bound import Bound, BoundFactor, Layout
from posteriori.modeling.binding.labelled import Axis, Table
from posteriori.modeling.contract.engine import Result
from posteriori.modeling.contract.longer_data import predict_longer, refuse_ended_data
from posteriori.modeling.contract.requests import Anew, Request, accessed, bind_anew
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.exact.discrete.discrete_new_members import copy_new_members
from posteriori.modeling.forms.state_tables import (
    DISCRETE,
    StateTable,
    View,
    conditional_parameters,
    is_discrete,
    views_of,
)
from posteriori.numerics.types import Array

if TYPE_CHECKING:
    from posteriori.modeling.exact.discrete.discrete_block import DiscreteBlock
    from posteriori.modeling.exact.discrete.discrete_result import DiscreteResult

__all__ = ["StatePredictions"]

#: Variables that nothing informs are solved together where this many cells are made for it at most.
LITTLE_WORK = 1e6

#: A name that nobody can give to a variable.
_NEW = "new {}"


class StatePredictions:
    """Questions about what depends on discrete variables only.

    Parameters
    ----------
    solved : Solved
        Also without any discrete block: nothing may be known of the variables.
    make_block : callable
        ``make_block(bound, names, factors, more=None)``, a block of discrete variables.
    """

    def __init__(self, solved: Solved, make_block: Callable[..., DiscreteBlock]) -> None:
        self.solved = solved
        self.bound = solved.bound
        self.make_block = make_block

    def predict(self, request: Request) -> Any:
        """Return a predictive distribution; None where it depends on anything else."""
        bound = self.bound
        after = any(bound.variables[n].length in request.sizes for n in request.needed)
        if after and not request.values:
            return self._after_chain(request)
        if request.values or not (request.inputs or request.sizes):
            return self._of_data(request.name, {**request.inputs, **request.values})
        return self._of_new_members(request, bind_anew(self.solved, request))

    def joint(self, names: Sequence[str]) -> Any:
        """Return the joint table of discrete variables; None where they depend on others."""
        bound = self.bound
        if any(n not in bound.latent for n in names) or not is_discrete(bound, names):
            return None
        ancestors = _ancestors(bound, set(names))
        if not self._are_solved_here(ancestors):
            return None
        return self._block_with(bound, ancestors).joint(names)

    # -- members of the data ---------------------------------------------------------------

    def _of_data(self, name: str, changed: Mapping[str, Any]) -> Any:
        bound, solved = self.bound, self.solved
        if not changed and (found := self._of_uninformed(name)) is not None:
            return found
        own = [f for f in bound.factors if f.name == name]
        parents = accessed(own)
        if bound.families[name] not in DISCRETE and (not parents or name in parents):
            return None
        ancestors = _ancestors(bound, {*parents, name} - set(bound.observed))
        if not self._are_solved_here(ancestors - {name}) or not self._are_solved_here({name}, True):
            return None
        if changed:
            return self._inferred_anew(name, changed)
        if name in solved.by_name:
            return solved.marginal(name)
        return self._predictive(name, own, ancestors)

    def _are_solved_here(self, names: set[str], any_family: bool = False) -> bool:
        """Tell whether variables are discrete, and solved by blocks of this kind if at all."""
        if not any_family and not is_discrete(self.bound, names):
            return False
        results = [self.solved.by_name[n] for n in names if n in self.solved.by_name]
        return all(result.states() is not None for result in results)

    def _inferred_anew(self, name: str, changed: Mapping[str, Any]) -> Any:
        """Infer with new data: no parameter was learnt, so the old data say nothing more."""
        bound = self.bound
        given = {k: v for k, v in bound.given.items() if k != name} | dict(changed)
        return self.solved.infer(bind(bound.variables, bound.inputs, given))[name]

    def _predictive(self, name: str, own: list[BoundFactor], ancestors: set[str]) -> Any:
        bound = self.bound
        if bound.families[name] in DISCRETE:
            if name in bound.observed:
                bound, own = _copied(bound, name, own)
                name = own[0].name
            return self._block_with(bound, ancestors | {name}, own).solve().marginal(name)
        (factor,) = own
        return self._mixture(bound, factor, self._block_with(bound, ancestors - {name}))

    def _of_uninformed(self, name: str) -> Any:
        """Return the marginal of a variable that nothing informs; None where it is asked for alone.

        All of them are solved together, once, where that is little work.
        """
        if name not in self.solved.barren:
            return None
        answers = self.solved.answers
        if "uninformed" not in answers:
            answers["uninformed"] = self._solved_together()
        together = answers["uninformed"]
        return None if together is None or name not in together.names else together.marginal(name)

    def _solved_together(self) -> DiscreteResult | None:
        bound, names = self.bound, set[str]()
        for name in self.solved.barren:
            above = _ancestors(bound, {name})
            if not any(bound.layouts[n].axes for n in above) and self._are_solved_here(above):
                names |= above
        if not names:
            return None
        try:
            block = self._block_with(bound, names)
            single = not any(bound.layouts[n].axes for n in block.names)
            return block.solve() if single and block.planned.work <= LITTLE_WORK else None
        except MemoryError:
            return None

    # -- new members -----------------------------------------------------------------------

    def _of_new_members(self, request: Request, anew: Anew) -> Any:
        name, bound = request.name, self.bound
        above = anew.above(name)
        discrete = bound.families[name] in DISCRETE
        if not (above or discrete) or not self._are_solved_here(above):
            return None
        copies = copy_new_members(bound, request, anew)
        if discrete:
            factors = [f for fs in copies.factors.values() for f in fs]
            block = self._block_with(copies.bound, copies.joined, factors)
            return block.solve().marginal(copies.name_of(name))
        (factor,) = copies.factors[name]
        others = [f for n, fs in copies.factors.items() if n != name for f in fs]
        block = self._block_with(copies.bound, copies.joined - {copies.name_of(name)}, others)
        return self._mixture(copies.bound, factor, block)

    # -- after the end of a chain ----------------------------------------------------------

    def _after_chain(self, request: Request) -> Any:
        """Infer again with members added of which nothing is observed."""
        bound, by_name = self.bound, self.solved.by_name
        unknown = {n for n in request.needed if n not in bound.observed and n != request.name}
        if len(request.sizes) != 1 or not self._are_solved_here(unknown):
            return None
        if not unknown and bound.families[request.name] not in DISCRETE:
            return None
        if not self._are_solved_here({request.name}, True):
            return None
        (plate,) = request.sizes
        refuse_ended_data(bound, request, plate, but=DISCRETE)
        results = [by_name[n] for n in (*unknown, request.name) if n in by_name]
        together = [f.name for block in _blocks(results) for f in block.factors]
        return predict_longer(self.solved, request, {*request.needed, *together}, plate)

    # -- blocks ----------------------------------------------------------------------------

    def _block_with(
        self, bound: Bound, names: set[str], more: Sequence[BoundFactor] = ()
    ) -> DiscreteBlock:
        """Return one block of variables, of all that is solved together with them, and of more."""
        blocks = _blocks(r for r in self.solved.results if set(r.names) & names)
        wanted = set(names).union(*(block.names for block in blocks))
        factors = [factor for block in blocks for factor in block.factors]
        present = {id(factor) for factor in factors}
        own = {factor.name for factor in more}
        for factor in bound.factors:
            if factor.name in wanted - own and id(factor) not in present:
                factors.append(factor)
        ordered = [name for name in bound.layouts if name in wanted]
        block = self.make_block(bound, ordered, [*factors, *more])
        return block.with_tables_of(blocks)

    def _mixture(self, bound: Bound, factor: BoundFactor, block: DiscreteBlock) -> Any:
        views = views_of(factor, block.sizes)
        weights = self._combined_probabilities(block, bound, factor, views)
        return _mixture_over_states(factor, views, weights)

    def _combined_probabilities(
        self, block: DiscreteBlock, bound: Bound, factor: BoundFactor, views: tuple[View, ...]
    ) -> Array:
        """Return P of all combinations of states that each row sees, (*rows, combinations)."""
        sizes = tuple(view.state.size for view in views)
        count = int(np.prod(sizes))
        new = _NEW.format(factor.name)
        state = Axis(new, count)
        with np.errstate(divide="ignore"):
            same = np.log(np.eye(count)).reshape(*sizes, count)
        own = View(new, factor.rows, state)
        table = StateTable(
            new, Table(same, (*(v.state for v in views), state)), factor.rows, (*views, own)
        )
        layouts = {**bound.layouts, new: Layout(factor.rows, (), ())}
        wider = bound._replace(layouts=layouts, labels={**bound.labels, new: None})
        return self.make_block(wider, block.names, block.factors, table).solve().probabilities(new)


def _blocks(results: Iterable[Result]) -> list[DiscreteBlock]:
    """Return the blocks of discrete variables."""
    found = (result.states() for result in results)
    return [cast("DiscreteBlock", block) for block in found if block is not None]


def _ancestors(bound: Bound, names: set[str]) -> set[str]:
    """Return unknown variables and all unknown variables above them."""
    above = {name: accessed(f for f in bound.factors if f.name == name) for name in bound.latent}
    found, stack = set(), list(names)
    while stack:
        name = stack.pop()
        if name not in found:
            found.add(name)
            stack.extend(above.get(name, ()))
    return found


def _copied(bound: Bound, name: str, own: list[BoundFactor]) -> tuple[Bound, list[BoundFactor]]:
    """Add an unknown copy of an observed variable."""
    new = _NEW.format(name)
    copied = bound._replace(
        layouts={**bound.layouts, new: bound.layouts[name]},
        families={**bound.families, new: bound.families[name]},
        labels={**bound.labels, new: bound.labels[name]},
    )
    return copied, [factor._replace(name=new) for factor in own]


def _mixture_over_states(factor: BoundFactor, views: tuple[View, ...], weights: Array) -> Any:
    """Return the child's distribution for each combination of states, weighted."""
    rows = tuple(axis.size for axis in factor.rows)
    states = tuple(view.state.size for view in views)
    values = {}
    for key, value in conditional_parameters(factor, views).items():
        event = value.shape[len(states) + len(rows) :]
        full = np.broadcast_to(value, states + rows + event)
        full = full.reshape(int(np.prod(states)), *rows, *event)
        values[key] = np.moveaxis(full, 0, len(rows))
    return Mixture(weights / weights.sum(axis=-1, keepdims=True), factor.family(**values))
