"""The best division of a node by one column, from its profile, in compiled loops."""

from __future__ import annotations

import math
from typing import Any

from posteriori.inference.trees.nodes import Rules
from posteriori.inference.trees.profiles import GAPS, LEFT_SIDE, RIGHT_SIDE, Profile
from posteriori.inference.trees.scores import EVIDENCE_OF_CLASSES, TIE, score_of, weight_of
from posteriori.numerics.compilation import kernel

__all__ = ["NOTHING", "best_division"]

#: In place of a place: all rows lie in one bin.
NOTHING = -2

#: Up to so many levels every subset is tried where no order of the levels is known to be enough.
_MOST_SUBSETS = 8


@kernel(called="kernels")
def best_division(
    rules: Rules, profile: Profile, length: int, size: int, total: Any, levels: int
) -> tuple[float, int, int, bool]:
    """Return how many bins are listed, the best score, after which of them, and where gaps go.

    Gaps of numbers go where the score is higher. Of categories they are a level like the others. For
    numbers and two classes the best subset is a beginning of the levels sorted by their means (L.
    Breiman, J. Friedman, R. Olshen & C. Stone, "Classification and regression trees", 1984, sec.
    4.2.2). Where nothing is missing gaps go to the heavier side. The place is ``NOTHING`` where the column
    cannot divide the node.
    """
    gaps = weight_of(rules.criterion, profile.sides[GAPS]) > 0.0
    if levels > 0 and gaps:
        profile.places[length] = size
        for s in range(len(total)):
            profile.sums[length, s] = profile.sides[GAPS, s]
        length += 1
    of_gaps, missing_left = gaps and levels == 0, False
    if length + of_gaps < 2:
        return length, -math.inf, NOTHING, False
    slack = TIE * abs(score_of(rules.criterion, rules.prior, total))
    if levels > 0 and rules.criterion <= EVIDENCE_OF_CLASSES and len(total) > 2:
        best, place = _best_of_classes(rules, profile, length, total, slack)
    else:
        if levels > 0:
            _sort_levels(rules.criterion, profile, length)
        best, place, missing_left = _best_cut(rules, profile, length, total, slack, of_gaps)
    if not of_gaps:
        missing_left = _left_is_heavier(rules.criterion, profile, place, total)
    if levels > 0 and gaps:
        for i in range(length):
            missing_left = i <= place if profile.places[i] == size else missing_left
    return length, best, place, missing_left


@kernel(called="kernels")
def _best_cut(
    rules: Rules, profile: Profile, length: int, total: Any, slack: float, gaps: bool
) -> tuple[float, int, bool]:
    """Return the best score of a cut, after which place it is, and where gaps go.

    To cut after the last bin is to part what is missing from what is not.
    """
    left, right, sums = profile.sides[LEFT_SIDE], profile.sides[RIGHT_SIDE], profile.sums
    best, place, missing_left, width = -math.inf, -1, False, len(total)
    for side in range(2 if gaps else 1):
        top, at = -math.inf, -1
        for s in range(width):
            left[s] = profile.sides[GAPS, s] if side == 1 else 0.0
        for i in range(length if gaps and side == 0 else length - 1):
            for s in range(width):
                left[s] += sums[i, s]
                right[s] = total[s] - left[s]
            score = _score_sides(rules, profile.sides)
            if score > top + slack:
                top, at = score, i
        if side == 0 or top > best + TIE * abs(best):
            best, place, missing_left = top, at, side == 1
    return best, place, missing_left


@kernel(called="kernels")
def _score_sides(rules: Rules, sides: Any) -> float:
    """Return the score of both sides, −∞ where one of them is too small."""
    score = 0.0
    for side in range(LEFT_SIDE, RIGHT_SIDE + 1):
        if weight_of(rules.criterion, sides[side]) < rules.min_weight:
            return -math.inf
        score += score_of(rules.criterion, rules.prior, sides[side])
    return score


@kernel(called="kernels")
def _left_is_heavier(criterion: int, profile: Profile, place: int, total: Any) -> bool:
    weight = 0.0
    for i in range(place + 1):
        weight += weight_of(criterion, profile.sums[i])
    return 2.0 * weight >= weight_of(criterion, total)


@kernel(called="kernels")
def _sort_levels(criterion: int, profile: Profile, length: int) -> None:
    """Sort levels by their means, by insertion: they are few, or nearly in order."""
    for i in range(1, length):
        k = i
        while k > 0 and _mean_of(criterion, profile, k - 1) > _mean_of(criterion, profile, k):
            _swap(profile, k - 1, k)
            k -= 1


@kernel(called="kernels")
def _mean_of(criterion: int, profile: Profile, i: int) -> float:
    return profile.sums[i, 1] / weight_of(criterion, profile.sums[i])


@kernel(called="kernels")
def _swap(profile: Profile, i: int, k: int) -> None:
    places, sums = profile.places, profile.sums
    places[i], places[k] = places[k], places[i]
    for s in range(sums.shape[1]):
        sums[i, s], sums[k, s] = sums[k, s], sums[i, s]


@kernel(called="kernels")
def _best_of_classes(
    rules: Rules, profile: Profile, length: int, total: Any, slack: float
) -> tuple[float, int]:
    """Try all subsets without the last level, or each level alone where they are many; put it first."""
    left, right, sums = profile.sides[LEFT_SIDE], profile.sides[RIGHT_SIDE], profile.sums
    best, chosen, few = -math.inf, 0, length <= _MOST_SUBSETS
    for trial in range(1, 1 << (length - 1)) if few else range(length):
        for s in range(len(total)):
            left[s] = 0.0
            for i in range(length):
                if trial >> i & 1 if few else i == trial:
                    left[s] += sums[i, s]
            right[s] = total[s] - left[s]
        score = _score_sides(rules, profile.sides)
        if score > best + slack:
            best, chosen = score, trial
    place = -1
    for i in range(length):
        if chosen >> i & 1 if few else i == chosen:
            place += 1
            _swap(profile, place, i)
    return best, place
