"""What was found among the rows, in words: the answer first, then sizes, traits and doubts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from posteriori.analysis.counted.counted_finding import NumberWords
from posteriori.analysis.counted.profiles import (
    ClusterProfile,
    trait_name,
    trait_numbers,
    trait_words,
)
from posteriori.analysis.table.wording import (
    counted,
    fixed_number,
    listed,
    one_sentence,
    probability_words,
)
from posteriori.inference.weighing.number_weights import WeighedNumbers
from posteriori.mixture.groups.drawn_groups import DrawnGroups

__all__ = ["TRAIT_HEADER", "GroupWords", "number_rows", "overlap_words", "profile_rows"]

#: Headings of the traits of a group.
TRAIT_HEADER = ("column", "mean or share", "90% interval", "all rows", "apart")

#: Standard deviations below which a column does not set a cluster apart.
_APART = 0.2

_HARDLY = "hardly apart in any single column"

#: Part of the rows in doubt from which intervals do not hold what they say: of two groups that were asked for,
#: 2.5 to 4 standard deviations apart, 90 % ones hold about 70 % beyond it and 94 % below.
_OVERLAP = 0.2

#: Clusters and traits of each that a verdict tells.
_TOLD_CLUSTERS, _TOLD_TRAITS = 4, 2


class GroupWords(NamedTuple):
    """What a verdict tells of.

    Attributes
    ----------
    number : NumberWords
    profiles : sequence of ClusterProfile
    rows : int
        Of the table.
    examples : sequence of str
        What the row is called that is most typical of each group.
    components : sequence of int
        Of the mixture, of each group.
    """

    number: NumberWords
    profiles: Sequence[ClusterProfile]
    rows: int
    examples: Sequence[str]
    components: Sequence[int]

    @property
    def doubtful(self) -> int:
        """Rows whose group is in doubt."""
        return sum(profile.in_doubt for profile in self.profiles)

    def verdict(self) -> str:
        """Return what everybody reads: which groups, and how surely."""
        table = f"these {counted(self.rows, 'row')}"
        if len(self.profiles) == 1:
            said = [self.number.one(table, "form one group"), one_sentence(self.number.sure())]
        else:
            said = [self._groups(table), one_sentence(self.number.sure(), self._between())]
        return " ".join(text for text in said if text)

    def reasons(self) -> list[str]:
        """Return what it rests on."""
        return [*self.number.reasons(self.doubtful), *_shapes(self.components)]

    def _groups(self, table: str) -> str:
        form = f"As asked, {table} are told apart as" if self.number.asked else f"T{table[1:]} form"
        told = [self._group(place) for place in range(min(len(self.profiles), _TOLD_CLUSTERS))]
        more = len(self.profiles) - len(told)
        told += [f"{more} smaller ones"] if more > 1 else ["a smaller one"] * more
        return f"{form} {len(self.profiles)} groups: {listed(told)}."

    def _group(self, place: int) -> str:
        profile, example = self.profiles[place], self.examples[place]
        traits = sorted(profile.traits, key=lambda trait: -trait.strength)[:_TOLD_TRAITS]
        telling = [trait_words(trait) for trait in traits if trait.strength >= _APART]
        such = f" such as {example}" if example else ""
        told = [f"{counted(profile.rows, 'row')}{such}", *(telling or [_HARDLY])]
        return f"group {profile.cluster} ({'; '.join(told)})"

    def _between(self) -> str:
        if not self.doubtful:
            return "no row lies in between"
        share = f" ({self.doubtful / self.rows:.0%})" if self.doubtful >= 0.01 * self.rows else ""
        lie = "lies" if self.doubtful == 1 else "lie"
        return f"{counted(self.doubtful, 'row')}{share} {lie} in between"


def _shapes(components: Sequence[int]) -> list[str]:
    """Say which groups are no single component, as shapes that are skewed, bent or long-tailed are not."""
    return [
        f"the shape of group {place} takes {n} components, with no gap between them"
        for place, n in enumerate(components, start=1)
        if n > 1
    ]


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
