"""Groups of rows: drawn where partitions can be, else those of the mixtures of highest evidence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.fitting.number_weights import Found, heard_interrupts
from posteriori.analysis.groups.bound_groups import join_tried
from posteriori.analysis.groups.drawn_groups import DrawnGroups, can_be_drawn, draw_groups
from posteriori.analysis.groups.number_search import Tried, search_numbers
from posteriori.inference.mixtures.partitions.partition_matching import MatchedPartitions
from posteriori.numerics.types import Array
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
    if asked:
        numbers, chances = (most,), np.ones(1)
    else:
        numbers, chances = tuple(range(1, most + 1)), drawn.chances(most)
    number = numbers[int(chances.argmax())]
    chosen, matches = drawn.with_number(number)
    matched: MatchedPartitions | None = matches
    best = matches.order[:_STARTS].tolist()
    for place, steps in [*((place, _MOST_STEPS) for place in best), (best[0], 1)]:
        at = chosen[place]
        mixture = _fit(drawn, x, drawn.components[at], int(drawn.models[at]), steps)
        shares = mixture.predict_proba(x)
        inside = np.stack([(matches.labels[place] == g) @ shares for g in range(number)])
        groups = inside.argmax(axis=0)
        if len(np.unique(groups)) == number:
            break
    else:  # components have left a group even in one step: told are those that are left
        groups, matched = np.unique(groups, return_inverse=True)[1], None
    tried = Tried(drawn.rows.kind, len(groups), float(mixture.log_evidence_), mixture)
    found = Found((tried,), numbers, chances, tried, ())
    return Grouping(found, tuple(groups.tolist()), drawn, matched)


def _fit(drawn: DrawnGroups, x: Array, labels: Any, model: int, steps: int) -> Any:
    """Climb to the mixture from a drawn partition; what it began with is not kept."""
    components = int(labels.max()) + 1
    mixture = drawn.rows.mixture(components, model, np.eye(components)[labels])
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = mixture.set_params(max_iter=steps).fit(x)
    return fitted.set_params(responsibilities_init=None)
