r"""Log likelihood of single data under draws of a posterior, ln p(y_n | θ_s).

A datum is a member of the named plates of what was observed, or an entry where there are none;
variables observed on the same plates make one datum together. States that belong to one datum
alone, as those of a mixture, are summed over: given all data they are nearly known, and draws of
them say little about what they would be without their datum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from posteriori.modeling.binding.bound import Bound, BoundFactor, child_term, gap_name
from posteriori.modeling.binding.construction import construct
from posteriori.modeling.binding.labelled import (
    Axis,
    Polynomial,
    Table,
    Term,
    count_of,
    gather,
    look_up,
    spread,
    substitute,
)
from posteriori.modeling.forms.data_points import Data, as_codes
from posteriori.modeling.forms.state_tables import DISCRETE, number_of_states
from posteriori.modeling.language.dependencies import names_with_children
from posteriori.numerics.logspace import log_sum_exp
from posteriori.numerics.random import as_generator
from posteriori.numerics.types import Array, Seed

if TYPE_CHECKING:
    from posteriori.modeling.posterior.posterior import Posterior

__all__ = ["draw_unknowns", "find_data", "log_likelihood", "replicate"]

#: Numbers that draws may take up together.
_MOST = 1 << 24


def find_data(posterior: Posterior) -> list[Data]:
    """Return the data of a posterior, by the names of what was observed.

    Raises
    ------
    TypeError
        When data cannot be told apart; the message says why.
    """
    solved, bound = posterior._solved, posterior._solved.bound
    if solved.has_earlier or solved.is_merged:
        raise TypeError("earlier data are no longer there: infer from all data at once")
    if bound.evidence:
        raise TypeError(f"some members of {', '.join(bound.evidence)} are known, others not")
    groups: dict[tuple[Axis, ...], list[str]] = {}
    for name in sorted(bound.observed):
        _require_apart(name, posterior)
        layout = bound.layouts[name]
        groups.setdefault(layout.plates or layout.ints, []).append(name)
    if not groups:
        raise TypeError("nothing was observed")
    _require_closed(groups.values(), posterior)
    return [Data(tuple(names), axes, _seen(names, axes, bound)) for axes, names in groups.items()]


def draw_unknowns(posterior: Posterior, size: int, rng: Seed) -> dict[str, Array]:
    """Draw what was inferred from the joint posterior, states as codes."""
    bound, generator = posterior._solved.bound, as_generator(rng)
    numbers = sum(int(np.prod(bound.layouts[name].shape)) for name in posterior._solved.by_name)
    if numbers * size > _MOST:
        raise TypeError(f"{size} draws of {numbers} unknown numbers are too many")
    found: dict[str, Array] = {}
    for result in posterior._solved.results:
        found |= as_codes(result.sample(size, rng=generator), bound)
    return found


def log_likelihood(
    posterior: Posterior,
    data: Data,
    draws: Mapping[str, Array],
    rows: Any,
    *,
    sum_states: bool = True,
) -> Array:
    """Return ln p(datum | draw) of some of the data.

    Parameters
    ----------
    posterior : Posterior
    data : Data
    draws : mapping of names to arrays (S, *shape)
        As of :func:`draw_unknowns`.
    rows : (R,) of int
        Which of ``data.positions``.
    sum_states : bool
        Whether states that belong to one datum alone are summed over, instead of drawn.

    Returns
    -------
    (S, R)
    """
    bound = posterior._solved.bound
    size = len(next(iter(draws.values()), np.zeros(1)))
    states = _own_states(bound, data) if sum_states else {}
    scene = _Scene(bound, data, draws, data.positions[rows], Axis("draws", size), states)
    total: Any = 0.0
    for factor in scene.factors:
        total = total + scene.log_density(factor)
    for _ in states:
        total = log_sum_exp(total, axis=0)
    return np.broadcast_to(total, (size, len(rows)))


def replicate(posterior: Posterior, name: str, size: int, rng: Seed) -> Array:
    """Draw an observed variable anew, each time from other parameters, (size, *shape).

    All else that was observed stays as it is.
    """
    bound, generator = posterior._solved.bound, as_generator(rng)
    if name not in bound.observed or bound.variables[name].length is not None:
        raise ValueError(f"{name!r} must be an observed variable, and no chain")
    (factor,) = (f for f in bound.factors if f.name == name)
    draw = Axis("draws", size)
    draws = draw_unknowns(posterior, size, generator)
    scene = _Scene(bound, Data((name,), (), np.zeros(1)), draws, np.zeros(1), draw, {})
    rows = (size, *(axis.size for axis in factor.rows))
    parameters = {k: scene.value(p, (draw,)) for k, p in factor.parameters.items()}
    key, first = next(iter(parameters.items()))
    parameters[key] = np.broadcast_to(first, (*rows, *first.shape[len(rows) :]))
    made = construct(factor.family, parameters, name)
    return np.asarray(made.sample(rng=generator), dtype=np.float64)


class _Scene:
    """Data as the draws see them: labels are states, then draws, then rows."""

    def __init__(
        self,
        bound: Bound,
        data: Data,
        draws: Mapping[str, Array],
        positions: Any,
        draw: Axis,
        states: Mapping[str, Axis],
    ) -> None:
        self.bound, self.data, self.draw = bound, data, draw
        self.row = Axis("data", len(positions))
        self.states = states
        owned = {*data.names, *self.states}
        self.factors = [f for f in bound.factors if f.name in owned]
        sizes = [axis.size for axis in data.axes]
        places = np.unravel_index(positions, sizes) if sizes else ()
        self.picks = [
            (axis, Table(np.asarray(at), (self.row,)))
            for axis, at in zip(data.axes, places, strict=True)
        ]
        self.values = {
            name: Table(values, (draw, *bound.layouts[name].axes))
            for name, values in draws.items()
            if name not in self.states
        }
        for name, state in self.states.items():
            self.values[name] = Table(np.arange(state.size, dtype=np.float64), (state,))

    def log_density(self, factor: BoundFactor) -> Array:
        """Return ln p of a factor, (*states, S, R)."""
        lead = (*self.states.values(), self.draw, self.row)
        inner = tuple(axis for axis in factor.rows if axis not in self.data.axes)
        parameters = {k: self.value(poly, lead) for k, poly in factor.parameters.items()}
        if factor.name in self.states:
            distribution = construct(factor.family, parameters, factor.name)
            x = spread(self.values[factor.name], lead + inner)
            return np.asarray(distribution.log_prob(x))
        data = child_term(factor, self.bound).table
        for axis, at in self.picks:
            data = gather(data, axis, at)
        x = spread(data, lead + inner + factor.events)
        there, x = _filled(factor, x)
        distribution = construct(factor.family, parameters, factor.name)
        logs = np.where(there, distribution.log_prob(x), 0.0)
        return logs.sum(axis=tuple(range(len(lead), logs.ndim)))

    def value(self, poly: Polynomial, lead: tuple[Axis, ...]) -> Array:
        """Return a parameter at the draws, of length 1 where it does not vary."""
        terms = tuple(Term(t.table, tuple(map(self._at_draws, t.accesses))) for t in poly.terms)
        for axis, at in self.picks:
            terms = look_up(terms, axis, at)
        axes = tuple(axis for axis in poly.labels if axis not in self.data.axes)
        known = substitute(Polynomial(terms, lead, axes), self.values)
        return known.over(known.labels)

    def _at_draws(self, access: Any) -> Any:
        if access.name in self.states:
            return access._replace(places=(self.states[access.name],))
        return access._replace(places=(self.draw, *access.places))


def _own_states(bound: Bound, data: Data) -> dict[str, Axis]:
    """Return the discrete unknowns of which every datum has its own, with an axis of states.

    Raises
    ------
    TypeError
        When the states of a datum depend on those of others, as along a chain.
    """
    found: dict[str, Axis] = {}
    for name in bound.latent:
        if bound.families[name] not in DISCRETE or not set(bound.layouts[name].axes) & set(
            data.axes
        ):
            continue
        own = [f for f in bound.factors if f.name == name]
        below = [f for f in bound.factors if any(a.name == name for a in f.accesses)]
        seen = [a for f in below for a in f.accesses if a.name == name]
        alone = len(own) == 1 and bound.layouts[name].axes == data.axes
        if not (alone and all(a.places == data.axes for a in seen)):
            raise TypeError(f"the states of {name} are not those of single data")
        if any(f.name not in (*data.names, *bound.latent) for f in below):
            raise TypeError(f"{name} has children on other plates than its own")
        found[name] = Axis(name, number_of_states(own[0]))
    return found


def _filled(factor: BoundFactor, x: Array) -> tuple[Any, Array]:
    """Return which values are there, and all of them with gaps filled by what is possible."""
    missing = np.isnan(x)
    if not missing.any():
        return True, x
    events = tuple(range(x.ndim - len(factor.events), x.ndim))
    there = ~missing.any(axis=events)
    if factor.events and np.any(~missing.all(axis=events) & ~there):
        raise TypeError(f"{factor.name} misses some entries of its vectors")
    some = x[there][0] if there.any() else np.zeros(x.shape[x.ndim - len(factor.events) :])
    full = there.reshape(there.shape + (1,) * len(factor.events))
    return there, np.where(full, x, some)


def _seen(names: Sequence[str], axes: tuple[Axis, ...], bound: Bound) -> Any:
    """Return the positions of data of which something is known."""
    count = count_of(axes)
    known = np.zeros(count, dtype=bool)
    for name in names:
        known |= ~np.isnan(bound.observed[name]).reshape(count, -1).all(axis=1)
    return np.flatnonzero(known)


def _require_apart(name: str, posterior: Posterior) -> None:
    bound = posterior._solved.bound
    if bound.variables[name].length is not None:
        raise TypeError(f"{name} is an observed chain: its members depend on one another")
    if gap_name(name) in bound.layouts:
        raise TypeError(f"{name} has gaps that other values depend on")


def _require_closed(groups: Any, posterior: Posterior) -> None:
    """Refuse data on which data of another group depend: they cannot be left out alone."""
    variables, barren = posterior._solved.bound.variables, posterior._solved.barren
    for names in groups:
        others = {n: v for n, v in variables.items() if n not in (*names, *barren)}
        for name in names_with_children(others) & set(names):
            raise TypeError(f"other variables than {', '.join(names)} depend on {name}")
