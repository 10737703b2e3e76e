r"""Posterior predictive distributions by draws of the exact posterior.

Where draws θ_s of all that is unknown correct a belief, what is predicted is the average over them,

.. math:: p(\tilde y \mid y) \approx \frac{1}{S}\sum_s p(\tilde y \mid \theta_s) .

The draws are one more plate of the model. Given them all else is known, but for classes of new rows, which
are summed over.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.distributions.composites.averages import average_first
from posteriori.modeling.binding.bound import Bound, BoundFactor
from posteriori.modeling.binding.labelled import Axis, count_of, labels_of
from posteriori.modeling.contract.engine import Group
from posteriori.modeling.contract.new_data import bind_new_data
from posteriori.modeling.contract.requests import Anew, Request, accessed, bind_anew, by_child
from posteriori.modeling.contract.solved import Solved
from posteriori.modeling.forms.data_points import as_codes
from posteriori.modeling.forms.fixing import (
    fix_at_points,
    repeat_at_points,
    repeat_layouts,
    with_points,
)
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.variational.prediction.local_ascent import new_members
from posteriori.modeling.variational.prediction.scene import Scene
from posteriori.modeling.variational.prediction.variational_prediction import predictive
from posteriori.numerics.types import Array

__all__ = ["predict_by_draws"]

#: Draws at most and at least, and numbers of a term that they have together: 32 MB.
_MOST, _FEWEST, _NUMBERS = 1000, 200, 4_000_000


class _Question(NamedTuple):
    """What a request is about, bound.

    Attributes
    ----------
    bound : Bound
        With the layouts of new members.
    factors : sequence of BoundFactor
        Of the variable that is asked for, of all new ones above it, and of their data.
    new : frozenset of str
        Unknowns that have no draws.
    informed : tuple of str
        Those of them that data speak of.
    """

    bound: Bound
    factors: Sequence[BoundFactor]
    new: frozenset[str]
    informed: tuple[str, ...] = ()

    def at(self, values: Mapping[str, Array], draws: Axis) -> _Question:
        """Return the question with a plate of draws, at each of which some unknowns have values."""
        factors = fix_at_points(self.factors, self.bound.layouts, values, draws)
        bound = with_points(repeat_layouts(self.bound, self.new, draws), values, draws)
        return self._replace(bound=bound, factors=repeat_at_points(factors, self.new, draws))


def predict_by_draws(solved: Solved, request: Request) -> Any:
    """Return the average over draws; None where what is new is not exact given each of them."""
    asked = _with_new_data(solved, request) if request.values else _without_data(solved, request)
    if any(solved.bound.families[name] not in DISCRETE for name in asked.informed):
        return None
    draws = Axis("draws", _count_draws(asked))
    there = asked.at(_draw(solved, asked, draws.size), draws)
    beliefs = _solve_informed(solved, there)
    if beliefs is None:
        return None
    found = beliefs.get(request.name) or predictive(_scene(there, beliefs), request.name)
    return average_first(np.full(draws.size, 1.0 / draws.size), [found])


def _without_data(solved: Solved, request: Request) -> _Question:
    """Ask for what follows from the draws alone."""
    anew = bind_anew(solved, request)
    factors = [f for name in (*anew.unsolved, request.name) for f in anew.factors[name]]
    bound = solved.bound._replace(layouts=anew.layouts)
    return _Question(bound, factors, anew.unsolved - {request.name})


def _with_new_data(solved: Solved, request: Request) -> _Question:
    """Ask for what new data say of their own members, at the draws of all that is shared."""
    fresh = new_members(solved, request)
    bound = bind_new_data(solved.bound, request.given, fresh)
    layouts = bound.layouts
    members = {n for n in bound.latent if fresh & {a.name for a in layouts[n].plates}}
    new = frozenset(bound.latent) - (solved.by_name.keys() - members)
    informed = tuple(n for n in bound.latent if n in new - set(bound.barren()))
    factors = [f for f in bound.factors if bound.unknowns_of(f) & new]
    return _Question(bound, factors, new, informed)


def _count_draws(asked: _Question) -> int:
    """Return how many draws fit into memory."""
    terms = [term for factor in asked.factors for term in factor.terms]
    largest = max(count_of({*t.table.axes, *labels_of(*t.accesses)}) for t in terms)
    return int(np.clip(_NUMBERS / largest, _FEWEST, _MOST))


def _draw(solved: Solved, asked: _Question, size: int) -> dict[str, Array]:
    """Draw all that is not new together, states as codes."""
    known = sorted(accessed(asked.factors) - asked.new)
    rng, drawn = np.random.default_rng(0), dict[str, Any]()
    for result in dict.fromkeys(solved.by_name[name] for name in known):
        drawn |= result.sample(size, rng=rng)
    return as_codes({name: drawn[name] for name in known}, solved.bound)


def _solve_informed(solved: Solved, asked: _Question) -> dict[str, Any] | None:
    """Return the marginals, at each draw, of new members that data speak of."""
    names = asked.informed
    about = tuple(f for f in asked.factors if asked.bound.unknowns_of(f) & {*names})
    found = (
        solved.exact_parts(Group(asked.bound, names, about))
        if solved.exact_parts and names
        else ((), ())
    )
    if found is None:
        return None
    results = [part.block().solve() for part in found[0]]
    return {name: result.marginal(name) for result in results for name in result.names}


def _scene(asked: _Question, beliefs: Mapping[str, Any]) -> Scene:
    """Return what the forward rules look at, all of whose knowledge is in the factors."""
    unsolved = asked.new - set(asked.informed)
    anew = Anew(by_child(asked.factors), asked.bound.layouts, unsolved)
    return Scene(anew, {}, beliefs.__getitem__, asked.bound.labels)
