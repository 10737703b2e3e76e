r"""What a set of rows is worth as one leaf: the number that a split has to raise.

A node is known by sums s over its rows, and every criterion is a function of these alone:

.. math:: \text{gain} = f(s_\text{left}) + f(s_\text{right}) - f(s),\qquad f = -N_m Q_m,

with the impurity Q of the N rows. Children count by their share of the rows, as Q is multiplied by N.
(The printed variance reduction of the notes lacks these shares.)

Sums are class weights :math:`(n_1, \dots, n_K)`, or moments :math:`(\sum w, \sum wy, \sum wy^2)`, or for
Newton's gain :math:`(\sum h, \sum g)` with slopes g and curvatures h of a loss. Gini's impurity of two
classes is :math:`2(n_2 - n_2^2/n)`, whose first part no division changes: half its gain is Newton's with
the weight n for H and that of the second class for G.
"""

from __future__ import annotations

import math
from typing import Any

from posteriori.numerics.compilation import kernel

__all__ = [
    "CLASS_CRITERIA",
    "CRITERIA",
    "ENTROPY",
    "ERROR",
    "EVIDENCE_OF_CLASSES",
    "EVIDENCE_OF_COUNTS",
    "EVIDENCE_OF_NUMBERS",
    "GINI",
    "GINI_OF_TWO",
    "NEWTON",
    "POISSON",
    "TIE",
    "VARIANCE",
    "is_pure",
    "score_of",
    "weight_of",
]

# Criteria of classes come first: sums of theirs are weights, those of the others begin with one.
ENTROPY, GINI, ERROR, EVIDENCE_OF_CLASSES = 0, 1, 2, 3
#: Of numbers, counts, losses, and of two classes as (weight, weight of the second).
VARIANCE, POISSON, EVIDENCE_OF_NUMBERS, EVIDENCE_OF_COUNTS, NEWTON, GINI_OF_TWO = 4, 5, 6, 7, 8, 9

#: By how much, relative to the scores, a gain must be larger to be preferred: beyond rounding.
TIE = 1e-12

#: Criteria by the names that users write.
CRITERIA = {
    "entropy": ENTROPY,
    "gini": GINI,
    "error": ERROR,
    "variance": VARIANCE,
    "poisson": POISSON,
}
CLASS_CRITERIA = ("entropy", "gini", "error")


@kernel(called="inlined")
def weight_of(criterion: int, s: Any) -> float:
    """Return how many rows the sums are of."""
    if criterion > EVIDENCE_OF_CLASSES:
        return s[0]
    total = 0.0
    for k in range(len(s)):
        total += s[k]
    return total


@kernel(called="kernels")
def is_pure(criterion: int, s: Any) -> bool:
    """Tell whether all rows are of one class, whose impurity no division lowers."""
    if criterion == GINI_OF_TWO:
        return s[1] == 0.0 or s[1] == s[0]
    if criterion >= EVIDENCE_OF_CLASSES:
        return False
    n = most = 0.0
    for k in range(len(s)):
        n += s[k]
        most = max(most, s[k])
    return n == most


@kernel(called="inlined")
def score_of(criterion: int, prior: Any, s: Any) -> float:
    """Return f(s), which is 0 for no rows.

    Parameters
    ----------
    criterion : int
    prior : (P,)
        Of the evidences: concentration of each class; m, κ, a, b of normal numbers (y is N(μ, 1/τ),
        μ is N(m, 1/(κτ)), τ is Gamma(a, rate b)); a, b of counts. Of Newton's gain: λ, which is added
        to the curvature; 0 for two classes.
    s : (S,)
    """
    if criterion <= EVIDENCE_OF_CLASSES:
        return _score_of_classes(criterion, prior, s)
    n, total = s[0], s[1]
    if n <= 0.0:
        return 0.0
    if criterion >= NEWTON:
        return total * total / (n + prior[0])  # G²/(H + λ)
    if criterion == VARIANCE:
        return total * total / n - s[2]  # −Σ(y − ȳ)²
    if criterion == POISSON:
        return 2.0 * total * math.log(total / n) if total > 0.0 else 0.0  # −deviance, + 2Σ y ln y
    if criterion == EVIDENCE_OF_NUMBERS:
        return _evidence_of_numbers(prior, n, total, s[2])
    return _evidence_of_counts(prior[0], prior[1], n, total)


@kernel(called="inlined")
def _score_of_classes(criterion: int, prior: Any, s: Any) -> float:
    n = score = 0.0
    for k in range(len(s)):
        n += s[k]
    if n <= 0.0:
        return 0.0
    if criterion == GINI:
        for k in range(len(s)):
            score += s[k] * s[k]
        return score / n - n  # −n Σ p(1 − p)
    if criterion == ENTROPY:
        for k in range(len(s)):
            score += s[k] * math.log2(s[k]) if s[k] > 0.0 else 0.0
        return score - n * math.log2(n)  # n Σ p log₂ p
    if criterion == ERROR:
        for k in range(len(s)):
            score = max(score, s[k])
        return score - n
    return _evidence_of_classes(prior[0], n, s)


@kernel(called="kernels")
def _evidence_of_classes(c: float, n: float, s: Any) -> float:
    score = math.lgamma(len(s) * c) - math.lgamma(len(s) * c + n)
    for k in range(len(s)):
        score += math.lgamma(c + s[k]) - math.lgamma(c)
    return score


@kernel(called="kernels")
def _evidence_of_numbers(prior: Any, n: float, total: float, squares: float) -> float:
    m, kappa, a, b = prior[0], prior[1], prior[2], prior[3]
    mean = total / n
    scatter = max(squares - total * mean, 0.0)
    a_n = a + 0.5 * n
    b_n = b + 0.5 * scatter + 0.5 * kappa * n * (mean - m) ** 2 / (kappa + n)
    return (
        math.lgamma(a_n)
        - math.lgamma(a)
        + a * math.log(b)
        - a_n * math.log(b_n)
        + 0.5 * math.log(kappa / (kappa + n))
        - 0.5 * n * math.log(2.0 * math.pi)
    )


@kernel(called="kernels")
def _evidence_of_counts(a: float, b: float, n: float, total: float) -> float:
    """Return the log evidence of counts, less Σ ln y!, which no division changes."""
    return a * math.log(b) - math.lgamma(a) + math.lgamma(a + total) - (a + total) * math.log(b + n)
