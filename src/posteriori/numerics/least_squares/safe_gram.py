"""When a Gram matrix keeps all digits of its columns, so that no triangle of the rows is needed."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["CONSTANT", "INDEPENDENT", "LARGEST", "SMALLEST", "SafeGram", "safe_gram"]

#: Inputs of which the others leave less than this share of the squares are triangularised, not
#: squared: errors of rounding in the Gram matrix grow by as much.
INDEPENDENT = 1e-4

#: A share of the target's variance this small that is left over wants all digits.
_PERFECT = 1e-6

#: A spread this small beside the mean is rounding.
CONSTANT = 1e-13

#: Squares outside these bounds lose digits or overflow.
SMALLEST, LARGEST = 1e-280, 1e280


class SafeGram(NamedTuple):
    """A Gram matrix far from singular.

    Attributes
    ----------
    gram : (D + M, D + M)
    left : (D + M,)
        At most what the columns before it leave of each column's squares, R_jj². Further rows only
        add to that: while it is large enough, no factor is needed to tell that digits are safe.
    """

    gram: Array
    left: Array


def safe_gram(
    gram: Array, left: Array, n_inputs: int, weight: float, mean: Array
) -> SafeGram | None:
    """Return a Gram matrix in which rounding does not show, None for others.

    ``left`` is what is known of R_jj² from below; where that does not suffice, R is made. ``weight`` and
    ``mean`` are those of the rows: a spread that is rounding beside the mean counts as none.
    """
    squares = np.diagonal(gram)
    constant = weight * (CONSTANT * mean) ** 2
    if not (np.all(squares > constant + SMALLEST) and squares.max() < LARGEST):
        return None
    needed = INDEPENDENT * squares
    needed[n_inputs:] = _PERFECT * squares[n_inputs:]
    if np.all(left >= needed):
        return SafeGram(gram, left)
    try:
        left = np.diagonal(np.linalg.cholesky(gram)) ** 2
    except np.linalg.LinAlgError:
        return None
    return SafeGram(gram, left) if np.all(left >= needed) else None
