"""What was found among the rows, in words: the answer first, then sizes, traits and doubts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from posteriori.analysis.counted.counted_finding import CountWords
from posteriori.analysis.counted.profiles import (
    ClusterProfile,
    trait_name,
    trait_numbers,
    trait_words,
)
from posteriori.analysis.table.wording import counted, fixed_number, probability_words
from posteriori.inference.weighing.number_weights import WeighedNumbers
from posteriori.mixture.groups.drawn_groups import DrawnGroups

__all__ = ["TRAIT_HEADER", "number_rows", "overlap_words", "profile_rows", "verdict_in_words"]

#: Headings of the traits of a group.
TRAIT_HEADER = ("column", "mean or share", "90% interval", "all rows", "apart")

#: Standard deviations below which a column does not set a cluster apart.
_APART = 0.2

_GROUPS = CountWords("group", "in", "form one group", "probability of one:")

#: Part of the rows in doubt from which intervals do not hold what they say: of two groups that were asked for,
#: 2.5 and 3 standard deviations apart, 90 % ones hold 67 and 78 %.
_OVERLAP = 0.1

#: Clusters and traits of each that a verdict tells.
_TOLD_CLUSTERS, _TOLD_TRAITS = 6, 2


def verdict_in_words(
    profiles: Sequence[ClusterProfile],
    rows: int,
    probability: float | None,
    *,
    most: bool,
    components: Sequence[int],
) -> str:
    """Return the verdict.

    Parameters
    ----------
    profiles : sequence of ClusterProfile
    rows : int
        Of the table.
    probability : float or None
        Of the number of clusters; None where it was asked for.
    most : bool
        Whether no larger number was tried.
    components : sequence of int
        Of the mixture, of each cluster.
    """
    table = f"these {counted(rows, 'row')}"
    answer = _GROUPS.answer(len(profiles), table, probability) + _shapes(components)
    if len(profiles) == 1:
        return answer
    told = [_cluster_in_words(profile) for profile in profiles[:_TOLD_CLUSTERS]]
    more = len(profiles) - _TOLD_CLUSTERS
    rest = f" {counted(more, 'smaller group')} beside them." if more > 0 else ""
    larger = _GROUPS.larger() if most and probability is not None else ""
    return f"{answer}{larger} {' '.join(told)}{rest} {_GROUPS.doubts(profiles, rows)}"


def _shapes(components: Sequence[int]) -> str:
    """Say which groups are no single component, as shapes that are skewed, bent or long-tailed are not."""
    if len(components) == 1:
        n = components[0]
        return f" Its shape takes {n} components, with no gap between them." if n > 1 else ""
    several = [
        f"{n} components the shape of group {place}"
        for place, n in enumerate(components, start=1)
        if n > 1
    ]
    return (
        f" {sum(components)} components describe them: it takes {_listed(several)}."
        if several
        else ""
    )


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _cluster_in_words(profile: ClusterProfile) -> str:
    telling = [trait for trait in profile.traits if abs(trait.distance) >= _APART]
    apart = "; ".join(trait_words(trait) for trait in telling[:_TOLD_TRAITS])
    size = counted(profile.rows, "row")
    return f"Group {profile.cluster}, {size}: {apart or 'hardly apart in any single column'}."


def overlap_words(doubtful: float) -> str:
    """Say that intervals are too narrow, where such a part of the rows is in doubt; else nothing."""
    if doubtful < _OVERLAP:
        return ""
    return (
        f"groups overlap (partitions that are as probable differ about {doubtful:.0%} of the rows): intervals of "
        "their means and shares are too narrow"
    )


def number_rows(
    found: WeighedNumbers, drawn: DrawnGroups | None = None
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return header and rows of a table: numbers of groups, how probable they are, and what they are made of.

    Of drawn partitions these are the components that so many groups have; else the evidence of mixtures with so
    many components, of each kind.
    """
    if drawn is not None:
        return _drawn_rows(found, drawn)
    kinds = list(dict.fromkeys(one.kind for one in found.tried))
    evidence = {(one.number, one.kind): fixed_number(one.log_evidence) for one in found.tried}
    rows = [
        (str(n), probability_words(p), *(evidence.get((n, kind), "") for kind in kinds))
        for n, p in zip(found.numbers, found.probabilities.tolist(), strict=True)
    ]
    return ("groups", "probability", *(f"evidence, {kind}" for kind in kinds)), rows


def _drawn_rows(
    found: WeighedNumbers, drawn: DrawnGroups
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the numbers up to the largest that was drawn, with their usual components."""
    rows: list[tuple[str, ...]] = []
    for n, p in zip(found.numbers, found.probabilities.tolist(), strict=True):
        mine = drawn.n_components[drawn.n_groups == n]
        if n > drawn.n_groups.max():
            break
        low, high = (int(end) for end in np.quantile(mine, [0.05, 0.95])) if len(mine) else (0, 0)
        told = "" if not len(mine) else str(low) if low == high else f"{low} to {high}"
        rows.append((str(n), probability_words(p), told))
    return ("groups", "probability", "of components"), rows


def profile_rows(profile: ClusterProfile, limit: int | None) -> list[tuple[str, ...]]:
    """Return the strongest traits as cells: column, mean or share, interval, all rows, distance."""
    rows: list[tuple[str, ...]] = []
    for trait in profile.traits[:limit]:
        mean, low, high, overall = trait_numbers(trait)
        between = f"{low} to {high}" if low and high else ""
        sign = "+" if trait.distance > 0 else ""
        rows.append(
            (
                trait_name(trait, " = {}"),
                mean,
                between,
                overall,
                f"{sign}{fixed_number(trait.distance)}",
            )
        )
    return rows
