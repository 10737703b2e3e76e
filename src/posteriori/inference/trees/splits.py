"""The best division of a node by one column, in compiled loops."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from posteriori.inference.trees.profiles import HALF, LOWER, Profile, Sums
from posteriori.inference.trees.scores import (
    EVIDENCE_OF_CLASSES,
    score_into,
    score_of,
    weight_into,
    weight_of,
)
from posteriori.numerics.compilation import kernel
from posteriori.numerics.types import Array

__all__ = ["Rules", "best_cut", "best_packed_cut", "best_subset"]

#: Up to so many levels every subset is tried where no order of the levels is known to be enough.
_MOST_SUBSETS = 8

#: By how much, relative to the scores, a gain must be larger to be preferred: beyond rounding.
TIE = 1e-12


class Rules(NamedTuple):
    """How a tree is grown.

    Attributes
    ----------
    criterion : int
    prior : (P,)
        Of the criterion.
    max_depth, max_leaves : int
    min_weight : float
        Least weight of a leaf.
    min_gain : float
        A split must gain more than this; −∞ divides whatever can be divided.
    max_features : int
        How many columns that are not constant are tried in each node.
    """

    criterion: int
    prior: Array
    max_depth: int
    max_leaves: int
    min_weight: float
    min_gain: float
    max_features: int


@kernel(called="inlined")
def _score_pair(criterion: int, prior: Any, min_weight: float, left: Any, right: Any) -> float:
    """Return the score of two sets of rows, −∞ where one of them is too small."""
    if weight_into(criterion, left) < min_weight or weight_into(criterion, right) < min_weight:
        return -math.inf
    return score_into(criterion, prior, left) + score_into(criterion, prior, right)


@kernel(called="kernels")
def _scan(
    rules: Rules, profile: Profile, length: int, total: Any, missing_left: int, ordered: int
) -> tuple[float, int]:
    """Return the best score of a cut after a place of the profile, and that place.

    Parameters
    ----------
    rules, profile, length, total
    missing_left : {0, 1}
        Whether gaps go left.
    ordered : {0, 1}
        Whether places are those of the order ``keys``, of which gaps are part.
    """
    criterion, prior, min_weight = rules.criterion, rules.prior, rules.min_weight
    left, right, sums, keys = profile.left, profile.right, profile.sums, profile.keys
    slack = TIE * abs(score_of(criterion, prior, total))
    best, place, width = -math.inf, -1, len(total)
    for s in range(width):
        left[s] = profile.missing[s] if missing_left else 0.0
    for i in range(length):
        row = keys[i] if ordered else i
        for s in range(width):
            left[s] += sums[row, s]
            right[s] = total[s] - left[s]
        score = _score_pair(criterion, prior, min_weight, left, right)
        if score > best + slack:
            best, place = score, i
    return best, place


@kernel(called="kernels")
def best_cut(
    rules: Rules, profile: Profile, length: int, size: int, total: Any
) -> tuple[float, int, int, bool]:
    """Return the best score of a cut through numbers, the bins on either side, and where gaps go.

    Gaps go where the score is higher; where there are none, to the heavier side. To cut after the
    last bin is to part what is missing from what is not; the bin on the other side is then ``size``.
    """
    missing = weight_of(rules.criterion, profile.missing) > 0.0
    last = length if missing else length - 1
    best, place = _scan(rules, profile, last, total, 0, 0)
    missing_left = False
    if missing:
        other, other_place = _scan(rules, profile, length - 1, total, 1, 0)
        if other > best + TIE * abs(best):
            best, place, missing_left = other, other_place, True
    elif place >= 0:
        missing_left = _left_is_heavier(rules, profile, place, total)
    following = profile.bins[place + 1] if place + 1 < length else size
    return best, profile.bins[place], following, missing_left


@kernel(called="inlined")
def best_packed_cut(
    rules: Rules, profile: Profile, length: int, size: int, missing: int, sums: Sums
) -> tuple[float, int, int, bool]:
    """Return what :func:`best_cut` does for Newton's gain, from bins listed with whole numbers.

    The same steps without sums: boosting and forests spend their time here. There are two bins at
    least, or one and gaps.
    """
    bins, values, whole = profile.bins, profile.keys, missing
    for i in range(length):
        whole += values[i]
    best, place = _scan_packed(rules, values, length, sums, whole, 0)
    missing_left = False
    if missing != 0:
        other, other_place = _scan_packed(rules, values, length, sums, whole, missing)
        if other > best + TIE * abs(best):
            best, place, missing_left = other, other_place, True
    else:
        left = 0
        for i in range(place + 1):
            left += values[i] & LOWER
        missing_left = 2 * left >= whole & LOWER  # the heavier side
    following = bins[place + 1] if place + 1 < length else size
    return best, bins[place], following, missing_left


@kernel(called="kernels")
def _scan_packed(
    rules: Rules, values: Any, length: int, sums: Sums, whole: int, left: int
) -> tuple[float, int]:
    """Return the best score of a cut after a place, and that; ``left`` is what goes left anyway."""
    ridge, least = rules.prior[0], rules.min_weight
    slope, curvature = sums.slope_unit, sums.curvature_unit
    g = (whole >> HALF) * slope
    slack = TIE * g * g / ((whole & LOWER) * curvature + ridge)
    best, place = -math.inf, -1
    for i in range(length):
        left += values[i]
        right = whole - left
        of_left, of_right = (left & LOWER) * curvature, (right & LOWER) * curvature
        if right == 0 or of_left < least or of_right < least:
            continue
        g_left, g_right = (left >> HALF) * slope, (right >> HALF) * slope
        of_left += ridge
        of_right += ridge
        # G₁²/(H₁ + λ) + G₂²/(H₂ + λ), with one division
        score = (g_left * g_left * of_right + g_right * g_right * of_left) / (of_left * of_right)
        if score > best + slack:
            best, place = score, i
    return best, place


@kernel(called="kernels")
def _left_is_heavier(rules: Rules, profile: Profile, place: int, total: Any) -> bool:
    weight = 0.0
    for i in range(place + 1):
        weight += weight_of(rules.criterion, profile.sums[i])
    return 2.0 * weight >= weight_of(rules.criterion, total)


@kernel(called="kernels")
def best_subset(
    rules: Rules, profile: Profile, length: int, size: int, total: Any
) -> tuple[float, bool]:
    """Return the best score of a subset of levels, and where gaps go; the subset is ``goes_left``.

    What is missing is a level like the others. For numbers and two classes the best subset is a
    beginning of the levels sorted by their means. (L. Breiman, J. Friedman, R. Olshen & C. Stone,
    "Classification and regression trees", 1984, sec. 4.2.2.)
    """
    if weight_of(rules.criterion, profile.missing) > 0.0:
        profile.bins[length] = size
        for s in range(len(total)):
            profile.sums[length, s] = profile.missing[s]
        length += 1
    profile.goes_left[: size + 1] = False
    if rules.criterion > EVIDENCE_OF_CLASSES or len(total) == 2:
        best = _best_beginning(rules, profile, length, total)
    else:
        best = _best_of_classes(rules, profile, length, total)
    heavier = _marked_is_heavier(rules, profile, length, total)
    missing_left = heavier if profile.bins[length - 1] != size else profile.goes_left[size]
    _mark_absent(profile, length, size, missing_left)
    return best, missing_left


@kernel(called="kernels")
def _best_beginning(rules: Rules, profile: Profile, length: int, total: Any) -> float:
    keys = profile.keys
    for i in range(length):  # by insertion: levels are few, or nearly in order
        mean = _mean_of(rules, profile, i)
        k = i - 1
        while k >= 0 and _mean_of(rules, profile, keys[k]) > mean:
            keys[k + 1] = keys[k]
            k -= 1
        keys[k + 1] = i
    best, place = _scan(rules, profile, length - 1, total, 0, 1)
    for i in range(place + 1):
        profile.goes_left[profile.bins[keys[i]]] = True
    return best


@kernel(called="kernels")
def _mean_of(rules: Rules, profile: Profile, i: int) -> float:
    s = profile.sums[i]
    return s[1] / weight_of(rules.criterion, s)


@kernel(called="kernels")
def _best_of_classes(rules: Rules, profile: Profile, length: int, total: Any) -> float:
    """Try all subsets without the last level, or each level alone where they are many."""
    left, right, best, chosen = profile.left, profile.right, -math.inf, 0
    few = length <= _MOST_SUBSETS
    slack = TIE * abs(score_of(rules.criterion, rules.prior, total))
    for trial in range(1, 1 << (length - 1)) if few else range(length):
        for s in range(len(total)):
            left[s] = 0.0
            for i in range(length):
                if trial >> i & 1 if few else i == trial:
                    left[s] += profile.sums[i, s]
            right[s] = total[s] - left[s]
        score = _score_pair(rules.criterion, rules.prior, rules.min_weight, left, right)
        if score > best + slack:
            best, chosen = score, trial
    for i in range(length):
        profile.goes_left[profile.bins[i]] = chosen >> i & 1 if few else i == chosen
    return best


@kernel(called="kernels")
def _marked_is_heavier(rules: Rules, profile: Profile, length: int, total: Any) -> bool:
    weight = 0.0
    for i in range(length):
        if profile.goes_left[profile.bins[i]]:
            weight += weight_of(rules.criterion, profile.sums[i])
    return 2.0 * weight >= weight_of(rules.criterion, total)


@kernel(called="kernels")
def _mark_absent(profile: Profile, length: int, size: int, missing_left: bool) -> None:
    """Send levels that the node does not have where gaps go."""
    i = 0
    for b in range(size):
        if i < length and profile.bins[i] == b:
            i += 1
        else:
            profile.goes_left[b] = missing_left
