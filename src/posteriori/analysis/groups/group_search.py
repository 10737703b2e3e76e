"""Groups of rows: drawn where partitions can be, else those of the mixtures of highest evidence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.counted.number_weights import Found, heard_interrupts
from posteriori.analysis.groups.bound_groups import join_tried
from posteriori.analysis.groups.number_search import Tried, search_numbers
from posteriori.inference.mixtures.partitions.partition_matching import MatchedPartitions
from posteriori.mixture.groups.drawn_groups import DrawnGroups, can_be_drawn, draw_groups
from posteriori.numerics.lazy import optimize
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Grouping", "find_groups"]

#: Columns from which groups whose columns are independent are tried beside normal vectors.
_MANY_COLUMNS = 5

#: Drawn partitions that a mixture is fitted from, until every group has a component.
_STARTS = 5

#: Steps of an ascent, after which it is hardly rising.
_MOST_STEPS = 1000

_BY_BOUNDS = (
    "partitions of so large a table were not drawn: how probable each number is comes from bounds of the evidence, "
    "which are too sure where groups overlap"
)


class Grouping(NamedTuple):
    """The groups of a table.

    Attributes
    ----------
    found : Found
        How probable each number of groups is, and the mixture.
    groups : tuple of int
        The group of each component of the mixture.
    drawn : DrawnGroups or None
        Partitions, where they were drawn.
    matched : MatchedPartitions or None
        Those with the number of groups that is told; their names are the codes in ``groups``.
    """

    found: Found
    groups: tuple[int, ...]
    drawn: DrawnGroups | None = None
    matched: MatchedPartitions | None = None


def find_groups(
    x: Array,
    kinds: Sequence[str],
    numbers: range,
    asked: bool,
    seed: int = 0,
    on_tried: Callable[[Tried], None] | None = None,
) -> Grouping:
    """Find the groups of rows.

    Parameters
    ----------
    x : (N, D)
        Numbers and codes; NaN is missing.
    kinds : sequence of D str
        As of :class:`LatentClasses`.
    numbers : range
        Of groups, rising.
    asked : bool
        Whether there is one number, which was asked for.
    seed : int
    on_tried : callable, optional
        Called after every fit.
    """
    if can_be_drawn(x, kinds):
        with heard_interrupts() as pressed:
            drawn = _draw(x, kinds, numbers[-1], asked, seed, on_tried)
            if pressed:
                raise KeyboardInterrupt
        if drawn is not None:
            return drawn
    found = search_numbers(x, kinds, numbers, seed, on_tried)
    if asked:
        return Grouping(found, tuple(range(found.best.number)))
    joined = join_tried(found, x, kinds, numbers[-1])
    notes = () if can_be_drawn(x, kinds) else (_BY_BOUNDS,)
    return Grouping(joined.found._replace(notes=(*found.notes, *notes)), joined.groups)


def _draw(
    x: Array,
    kinds: Sequence[str],
    most: int,
    asked: bool,
    seed: int,
    on_tried: Callable[[Tried], None] | None,
) -> Grouping | None:
    """Return the groups of the kind of mixture with the higher evidence."""
    normal = set(kinds) == {"normal"}
    wanted = ["normal mixture"] * normal + ["latent classes"] * (
        not normal or x.shape[1] >= _MANY_COLUMNS
    )
    best: Grouping | None = None
    for kind in wanted:
        drawn = draw_groups(x, kinds, kind, most, most if asked else None, seed)
        if drawn is None:
            continue
        told = _told(drawn, x, most, asked)
        if on_tried is not None:
            on_tried(told.found.best)
        if best is None or told.found.best.log_evidence > best.found.best.log_evidence:
            best = told
    return best


def _told(drawn: DrawnGroups, x: Array, most: int, asked: bool) -> Grouping:
    """Return how probable each number is, and a mixture with the most probable one."""
    numbers = tuple(range(most if asked else 1, most + 1))
    chances = np.ones(1) if asked else drawn.chances(most)
    number = numbers[int(chances.argmax())]
    chosen, matched = drawn.with_number(number)
    best = matched.order[:_STARTS].tolist()
    for place, steps in [*((place, _MOST_STEPS) for place in best), (best[0], 1)]:
        at = chosen[place]
        labels = drawn.components[at]
        mixture = _fit(drawn, x, labels, int(drawn.models[at]), steps)
        groups, held = _name_components(mixture.predict_proba(x), labels, matched.labels[place])
        if held == number:
            break
    tried = Tried(drawn.rows.kind, len(groups), float(mixture.log_evidence_), mixture)
    found = Found((tried,), numbers, chances, tried, ())
    return Grouping(found, tuple(groups.tolist()), drawn, matched)


def _name_components(shares: Array, labels: Any, groups: IntArray) -> tuple[IntArray, int]:
    """Return the group of each component, and how many groups hold rows.

    Components are those of the partition (N,) that the ascent began with, in another order; each has the group
    of the one that shares most rows with it.
    """
    components = shares.shape[1]
    of = np.zeros(components, dtype=np.int64)
    of[labels] = groups
    fitted, begun = optimize.linear_sum_assignment(-(shares.T @ np.eye(components)[labels]))
    named = np.empty(components, dtype=np.int64)
    named[fitted] = of[begun]
    each = np.stack([shares[:, named == g].sum(axis=1) for g in range(named.max() + 1)])
    return named, len(np.unique(each.argmax(axis=0)))


def _fit(drawn: DrawnGroups, x: Array, labels: Any, model: int, steps: int) -> Any:
    """Climb to the mixture from a drawn partition; what it began with is not kept."""
    components = int(labels.max()) + 1
    mixture = drawn.rows.mixture(components, model, np.eye(components)[labels])
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = mixture.set_params(max_iter=steps).fit(x)
    return fitted.set_params(responsibilities_init=None)
