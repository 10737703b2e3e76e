"""Groups of rows: drawn where partitions can be, else those of the mixtures of highest evidence."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from posteriori.analysis.table.wording import counted
from posteriori.inference.mixtures.partitions.partition_matching import MatchedPartitions
from posteriori.inference.weighing.number_weights import (
    NumberSearch,
    WeighedNumbers,
    heard_interrupts,
    try_numbers,
    weigh_numbers,
)
from posteriori.mixture.groups.drawn_groups import (
    DrawnGroups,
    can_be_drawn,
    draw_groups,
    fewest_rows,
)
from posteriori.mixture.groups.joined_components import group_components
from posteriori.mixture.latent_classes import LatentClasses
from posteriori.mixture.normal.bayesian_gaussian_mixture import BayesianGaussianMixture
from posteriori.numerics.lazy import optimize
from posteriori.numerics.logspace import softmax
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.warnings import ConvergenceWarning

__all__ = ["Grouping", "Tried", "find_groups", "search_numbers"]

#: Columns from which groups whose columns are independent are tried beside normal vectors.
_MANY_COLUMNS = 5

#: Drawn partitions that a mixture is fitted from, until every group has a component.
_FROM_DRAWS = 5

#: Entries of a table from which fewer starts are tried: each takes long, and more rows leave fewer summits.
_LARGE = 100_000

#: Starts of latent classes in other tables and in such; a normal mixture moves on from where one has ended.
_STARTS, _FEW_STARTS = 4, 1

#: Nats; far less than evidences must differ to tell numbers apart.
_TOLERANCE = 1e-3

#: Steps of an ascent, after which it is hardly rising.
_MOST_STEPS = 1000

#: Weight below which a mixture is not looked at.
_HOPELESS = 1e-3

_BY_BOUNDS = (
    "partitions of so large a table were not drawn: how probable each number is comes from bounds of the evidence, "
    "which are too sure where groups overlap"
)


class Tried(NamedTuple):
    """One mixture that was fitted.

    Attributes
    ----------
    kind : {"normal mixture", "latent classes"}
    number : int
        Of components.
    log_evidence : float
    model : estimator
    """

    kind: str
    number: int
    log_evidence: float
    model: Any

    @property
    def words(self) -> str:
        """What was tried."""
        return f"{self.kind} of {counted(self.number, 'component')}"


class Grouping(NamedTuple):
    """The groups of a table.

    Attributes
    ----------
    found : WeighedNumbers
        How probable each number of groups is, and the mixture.
    groups : tuple of int
        The group of each component of the mixture.
    drawn : DrawnGroups or None
        Partitions, where they were drawn.
    matched : MatchedPartitions or None
        Those with the number of groups that is told; their names are the codes in ``groups``.
    """

    found: WeighedNumbers
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
    if not can_be_drawn(x, kinds):
        found = found._replace(notes=(*found.notes, _BY_BOUNDS))
    return _join_tried(found, x, kinds, numbers[-1])


# -- from draws ------------------------------------------------------------------------------


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
    scales = drawn.partitions.scales[chosen].mean(axis=0)
    rival = int(np.bincount(drawn.partitions.rivals[chosen]).argmax())
    best = matched.order[:_FROM_DRAWS].tolist()
    for place, steps in [*((place, _MOST_STEPS) for place in best), (best[0], 1)]:
        labels = drawn.components[chosen[place]]
        mixture = _climb_from(drawn, x, labels, rival, scales, steps)
        groups, held = _name_components(mixture.predict_proba(x), labels, matched.labels[place])
        if held == number:
            break
    evidence = drawn.rows.log_evidence(mixture, rival, scales)
    tried = Tried(drawn.rows.kind, len(groups), evidence, mixture)
    found = WeighedNumbers((tried,), numbers, chances, tried, ())
    return Grouping(found, tuple(groups.tolist()), drawn, matched)


def _name_components(shares: Array, labels: Any, groups: IntArray) -> tuple[IntArray, int]:
    """Return the group of each component, and how many groups hold as many rows as a group has.

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
    held = np.bincount(each.argmax(axis=0)) >= fewest_rows(len(shares))
    return named, int(held.sum())


def _climb_from(
    drawn: DrawnGroups, x: Array, labels: Any, rival: int, scales: Array, steps: int
) -> Any:
    """Climb to the mixture from a drawn partition; what it began with is not kept."""
    components = int(labels.max()) + 1
    mixture = drawn.rows.mixture(components, rival, scales, np.eye(components)[labels])
    fitted = _climbed(mixture.set_params(max_iter=steps), x)
    return fitted.set_params(responsibilities_init=None)


# -- by bounds -------------------------------------------------------------------------------


def search_numbers(
    x: Array,
    kinds: Sequence[str],
    numbers: Sequence[int],
    seed: int = 0,
    on_tried: Callable[[Tried], None] | None = None,
) -> WeighedNumbers:
    """Fit mixtures with each number of components, and say how probable each number is.

    Arguments are those of :func:`find_groups`, errors those of :func:`try_numbers`; where all kinds are
    "normal", columns may also depend on one another.
    """

    def climbed(kind: str) -> NumberSearch:
        return NumberSearch(
            kind,
            f"no {kind} was fitted",
            lambda number: _fit(_mixture(kind, kinds, number, x.size, seed), kind, x),
            lambda one: _without_empty(one, x, kinds, numbers, seed),
        )

    wanted = ["normal mixture"] * (set(kinds) == {"normal"}) + ["latent classes"]
    return weigh_numbers(*try_numbers([climbed(kind) for kind in wanted], numbers, on_tried))


def _without_empty(
    one: Tried, x: Array, kinds: Sequence[str], numbers: Sequence[int], seed: int
) -> Tried | None:
    """Return the mixture of the components that have rows, where some have none."""
    shares = one.model.predict_proba(x)
    used = np.bincount(shares.argmax(axis=1), minlength=one.number) > 0
    if used.all() or used.sum() not in numbers:
        return None
    kept = shares[:, used] / shares[:, used].sum(axis=1, keepdims=True)
    begun = _mixture(one.kind, kinds, int(used.sum()), x.size, seed)
    return _fit(begun.set_params(responsibilities_init=kept), one.kind, x)


def _mixture(kind: str, kinds: Sequence[str], number: int, size: int, seed: int) -> Any:
    options: dict[str, Any] = {
        "weight_concentration_prior": 1.0,  # 1/K would make components free that are not needed
        "tol": _TOLERANCE,
        "max_iter": _MOST_STEPS,
        "random_state": seed,
    }
    if kind == "normal mixture":
        return BayesianGaussianMixture(number, **options)
    starts = _FEW_STARTS if size > _LARGE else _STARTS
    return LatentClasses(number, list(kinds), n_init=starts, **options)


def _fit(mixture: Any, kind: str, x: Array) -> Tried:
    fitted = _climbed(mixture, x)
    return Tried(kind, fitted.n_components, float(fitted.log_evidence_), fitted)


def _climbed(mixture: Any, x: Array) -> Any:
    """Return a fitted mixture: an ascent that is cut off has a bound all the same."""
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):  # jumps may lead nowhere
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mixture.fit(x)


def _join_tried(found: WeighedNumbers, x: Array, kinds: Sequence[str], most: int) -> Grouping:
    """Weigh numbers of groups by the evidence of the mixtures whose components form them."""
    each = softmax(np.array([one.log_evidence for one in found.tried]))
    chances = np.zeros(most)
    best: dict[int, tuple[Tried, IntArray]] = {}
    for one, weight in zip(found.tried, each.tolist(), strict=True):
        if weight < _HOPELESS:
            continue
        joined = group_components(one.model, x, kinds, most)
        for groups in joined:
            number = int(groups.max()) + 1
            chances[number - 1] += weight / len(joined)
            if number not in best or one.log_evidence > best[number][0].log_evidence:
                best[number] = one, groups
    told, groups = best[int(chances.argmax()) + 1]
    numbers = tuple(range(1, most + 1))
    weighed = found._replace(numbers=numbers, probabilities=chances / chances.sum(), best=told)
    return Grouping(weighed, tuple(groups.tolist()))
