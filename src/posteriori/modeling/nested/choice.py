"""Which unknowns a model must know to be exact: the few that are integrated or summed over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from posteriori.modeling.binding.bound import GAUSSIAN
from posteriori.modeling.contract.conditioning import ExactParts, condition_group
from posteriori.modeling.contract.engine import Fit, Group
from posteriori.modeling.forms.state_tables import DISCRETE
from posteriori.modeling.nested.exchangeable import are_exchangeable
from posteriori.modeling.nested.orders import are_identified, in_order
from posteriori.modeling.nested.states import States, as_states, possible_states
from posteriori.modeling.nested.unbounded import Free, as_free
from posteriori.numerics.types import Array

__all__ = ["PATIENCE", "Outside", "choose_outside", "fits_nested", "in_words"]

#: Seconds that a plan may ask for by itself; more is done only if it is asked for.
PATIENCE = 20.0

#: Numbers that are integrated over at most, by themselves and where that is asked for: a lattice has
#: about twice as many points for each.
MOST_NUMBERS, MOST_ASKED_FOR = 5, 6
#: Joint states that are summed over at most.
MOST_STATES = 10_000.0
#: Points of a lattice, for plans: about as many as a normal density needs.
_POINTS = {0: 1, 1: 40, 2: 150, 3: 700, 4: 1600, 5: 3000, 6: 5000}
#: Seconds that one point takes, whatever is solved there, and one operation.
_SECONDS, _SECONDS_PER_OPERATION = 2e-3, 3e-9
#: … of chains, whose matrices are read for all points at once: about what a laptop needs.
_SECONDS_OF_CHAINS = 1.5e-4


class Outside(NamedTuple):
    """Unknowns that are integrated and summed over, and what solving the rest costs."""

    free: tuple[Free, ...]
    states: tuple[States, ...]
    operations: float = 0.0
    bytes: float = 0.0
    all_chains: bool = False

    @property
    def items(self) -> dict[str, Free | States]:
        """The unknowns by name."""
        both: tuple[Free | States, ...] = (*self.free, *self.states)
        return {item.name: item for item in both}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.items)

    @property
    def points(self) -> float:
        """About how often the rest is solved."""
        count = np.prod([s.combinations for s in self.states]) if self.states else 1.0
        return float(count) * _POINTS[min(sum(f.size for f in self.free), MOST_ASKED_FOR)]

    @property
    def seconds(self) -> float:
        """About how long that takes."""
        start = _SECONDS_OF_CHAINS if self.all_chains else _SECONDS
        return self.points * (start + _SECONDS_PER_OPERATION * self.operations)


def fits_nested(group: Group, exact_parts: ExactParts) -> Fit:
    """Tell whether few unknowns make the others exact, at a cost that is not out of proportion."""
    options = group.options
    if options is not None and options.asks_for_ascent:
        return Fit(False)
    outside = choose_outside(group, exact_parts)
    if isinstance(outside, str):
        if options is not None and options.method == "quadrature":
            raise TypeError(f'method="quadrature" does not fit {", ".join(group.names)}: {outside}')
        return Fit(False)
    if outside.seconds > PATIENCE and (options is None or options.method != "quadrature"):
        return Fit(False, instead=_too_long(outside))
    return Fit(True, outside)


def _too_long(outside: Outside) -> str:
    return (
        f"an integral over {', '.join(outside.names)} with {outside.points:.3g} points, which would "
        f'take about {in_words(outside.seconds)}; method="quadrature" asks for it'
    )


def in_words(seconds: float) -> str:
    """Return a time that is not known well."""
    if seconds < 100.0:
        return f"{seconds:.0f} s"
    return f"{seconds / 60.0:.0f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.0f} h"


def choose_outside(group: Group, exact_parts: ExactParts) -> Outside | str:
    """Return the fewest unknowns given which all others are exact, or why there are none."""
    candidates = _candidates(group)
    reason = "no few unknowns make the others exact"
    # normal unknowns are what exact blocks are best at: they are fixed last
    for fixed in (_without_normals(candidates, group), candidates):
        if not fixed or _lack_an_order(fixed, group) or not _is_exact(fixed, group, exact_parts):
            continue
        identified = _identified(fixed, group, exact_parts)
        if identified is None:
            reason = "parts that could change places have many equal posteriors"
        else:
            found = _fewest(identified, group, exact_parts)
            numbers = sum(i.size for i in found.values() if isinstance(i, Free))
            if numbers <= (most := _most_numbers(group)):
                return _with_cost(found, group, exact_parts)
            return f"{numbers} numbers would have to be integrated over, more than {most}"
    return reason


def _lack_an_order(items: Mapping[str, Free | States], group: Group) -> bool:
    """Tell whether parts could change places that nobody asked to put in order."""
    return not _is_asked_for(group) and are_exchangeable(items, group)


def _identified(
    items: dict[str, Free | States], group: Group, exact_parts: ExactParts
) -> dict[str, Free | States] | None:
    """Return unknowns none of which could change places, of classes alike in order.

    Classes whose priors overlap without being equal are integrated over in all their orders.
    """
    if not _is_asked_for(group) or not are_exchangeable(items, group):
        return items
    found = in_order(items, group, exact_parts)
    return items if found is None and are_identified(items, group, exact_parts) else found


def _most_numbers(group: Group) -> int:
    return MOST_ASKED_FOR if _is_asked_for(group) else MOST_NUMBERS


def _is_asked_for(group: Group) -> bool:
    return group.options is not None and group.options.method == "quadrature"


def _candidates(group: Group) -> dict[str, Free | States]:
    """Return unknowns of few numbers or states, the most expensive first."""
    bound, found = group.bound, dict[str, Any]()
    for name in group.names:
        own = [factor for factor in group.factors if factor.name == name]
        shape = bound.layouts[name].shape
        item: States | Free | str | None = _few_states(name, group)
        if item is None:
            variable = bound.variables.get(name)
            if len(own) != 1 or variable is None or variable.step is not None:
                continue
            if name in bound.evidence:
                continue
            item = as_states(own[0], shape) or as_free(own[0], group)
        if (isinstance(item, States) and item.combinations <= MOST_STATES) or (
            isinstance(item, Free) and item.size <= _most_numbers(group)
        ):
            found[name] = item
    return dict(sorted(found.items(), key=lambda pair: -Outside(*_sorted([pair[1]])).points))


def _few_states(name: str, group: Group) -> States | None:
    """Return a discrete variable or chain of which few joint states are possible."""
    bound = group.bound
    if bound.families[name] not in DISCRETE:
        return None
    possible = possible_states(name, group, MOST_STATES)
    if possible is None:
        return None
    first = next(factor for factor in group.factors if factor.name == name)
    states = as_states(first, bound.layouts[name].shape)
    return None if states is None else states._replace(possible=possible)


def _without_normals(items: Mapping[str, Free | States], group: Group) -> dict[str, Free | States]:
    families = group.bound.families
    return {name: item for name, item in items.items() if families[name] not in GAUSSIAN}


def _fewest(
    items: Mapping[str, Free | States], group: Group, exact_parts: ExactParts
) -> dict[str, Free | States]:
    """Leave out, one by one, what need not be known."""
    kept = dict(items)
    for name in items:
        fewer = {n: item for n, item in kept.items() if n != name}
        # classes that are not summed over must not change places
        if fewer and not are_exchangeable(fewer, group) and _is_exact(fewer, group, exact_parts):
            kept = fewer
    return kept


def _is_exact(items: Mapping[str, Free | States], group: Group, exact_parts: ExactParts) -> bool:
    """Tell whether the others are exact, in the first and in the last states."""
    return all(
        exact_parts(condition_group(group, _typical(items, state)).group) is not None
        for state in ((0, -1) if any(isinstance(i, States) for i in items.values()) else (0,))
    )


def _typical(items: Mapping[str, Free | States], state: int) -> dict[str, Array]:
    found = {}
    for name, item in items.items():
        if isinstance(item, States):
            found[name] = item.typical(state)
        else:
            found[name] = item.read(item.levels(np.array([0.5]))[0])[0]
    return found


def _with_cost(
    items: Mapping[str, Free | States], group: Group, exact_parts: ExactParts
) -> Outside:
    found = exact_parts(condition_group(group, _typical(items, 0)).group)
    assert found is not None
    parts, _ = found
    costs = [part.block().cost for part in parts]
    return Outside(
        *_sorted(items.values()),
        sum(c.operations for c in costs),
        sum(c.bytes for c in costs),
        all(part.kind.name == "chain" for part in parts),
    )


def _sorted(items: Any) -> tuple[tuple[Free, ...], tuple[States, ...]]:
    free = tuple(item for item in items if isinstance(item, Free))
    return free, tuple(item for item in items if isinstance(item, States))
