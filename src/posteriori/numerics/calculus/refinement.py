"""Expectations in pieces: where a piece is not known well enough, it is halved.

What a piece is, its owner knows: a row of numbers that ``measure`` integrates over, with an
estimate of its error, and that ``halve`` divides. All probability must be found: while it does not
add up to 1, pieces that should hold more of it are halved as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from posteriori.numerics.calculus.quadrature import Integral
from posteriori.numerics.types import Array

__all__ = ["UNSEEN", "Pieces", "refine"]

#: Probability beyond which a piece may not seem empty.
UNSEEN = 1e-12

#: Halvings of the finest piece at most: from the whole range of numbers to neighbours.
_MOST_ROUNDS = 120

#: Pieces at most; where so many do not suffice the function is too rough.
_MOST_PIECES = 30_000

#: What may be missing of the whole probability.
_MISSING = 1e-9


class Pieces(NamedTuple):
    """What is known of some pieces, (P,) each."""

    value: Array
    #: Estimated error of the value.
    error: Array
    #: The integral of the absolute value.
    size: Array
    #: The probability that was found.
    mass: Array
    #: The error if some probability was overlooked here.
    hidden: Array
    #: Whether it is of no use, or impossible, to halve it.
    final: Array


def refine(
    measure: Callable[[Array], Pieces],
    halve: Callable[[Array], Array],
    pieces: Array,
    rtol: float = 1e-11,
) -> Integral:
    """Return the sum over all pieces, halved until the error is ``rtol`` of the size.

    Parameters
    ----------
    measure : callable
        Takes pieces (P, C) and returns their :class:`Pieces`.
    halve : callable
        Takes pieces (P, C) and returns their halves (2P, C).
    pieces : array (P, C)
        Where to begin.
    rtol : float
        Error at which to stop, relative to the integral of the absolute value.

    Examples
    --------
    Simpson's rule beside the trapezoidal one, for E[√x] = 2/3 of a uniform number:

    >>> def simpson(rows):
    ...     a, b = rows.T
    ...     line = (b - a) / 2 * (np.sqrt(a) + np.sqrt(b))
    ...     curve = line / 3 + (b - a) * 2 / 3 * np.sqrt((a + b) / 2)
    ...     return Pieces(curve, np.abs(curve - line), curve, b - a, 0 * a, b - a < 1e-12)
    >>> def halve(rows):
    ...     a, b = rows.T
    ...     return np.concatenate([np.c_[a, (a + b) / 2], np.c_[(a + b) / 2, b]])
    >>> round(refine(simpson, halve, np.array([[0.0, 1.0]]), 1e-6).value, 6)
    0.666667
    """
    found = measure(pieces)
    for _ in range(_MOST_ROUNDS):
        rough = _rough(found, rtol)
        if not rough.any() or len(pieces) + rough.sum() > _MOST_PIECES:
            break
        halves = halve(pieces[rough])
        pieces = np.concatenate([pieces[~rough], halves])
        both = zip(found, measure(halves), strict=True)
        found = Pieces(*(np.append(old[~rough], new) for old, new in both))
    return Integral(*(float(part.sum()) for part in (found.value, _errors(found), found.size)))


def _errors(found: Pieces) -> Array:
    overlooked = abs(found.mass.sum() - 1.0) > _MISSING
    return found.error + found.hidden if overlooked else found.error


def _rough(found: Pieces, rtol: float) -> Array:
    """Mark the pieces to halve: all but those whose errors together are half of the goal."""
    goal, errors = rtol * found.size.sum(), _errors(found)
    if not np.isfinite(goal) or errors.sum() <= goal:
        return np.zeros(len(errors), dtype=bool)
    order = np.argsort(errors)
    rough = np.empty(len(order), dtype=bool)
    rough[order] = np.cumsum(errors[order]) > 0.5 * goal
    return rough & ~found.final
