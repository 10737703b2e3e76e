"""Which columns depend on which others, in words."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from posteriori.numerics.types import Array

__all__ = ["describe_dependence"]

#: Coefficients below this share of the largest are rounding.
_ROUNDING = 1e-6

#: Longer accounts help nobody.
_MOST_COLUMNS = 3

#: Terms of one combination.
_MOST_TERMS = 4


def describe_dependence(factor: Array, scales: Array, rank: int, names: list[str]) -> str:
    """Say which columns the others already give.

    Parameters
    ----------
    factor : (D, D)
        Triangular factor of the columns scaled to length 1.
    scales : (D,)
        Their lengths.
    rank : int
    names : list of str

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[1.0, 2.0], [0.0, 0.0]])
    >>> describe_dependence(x / [1.0, 2.0], np.array([1.0, 2.0]), 1, ["a", "b"])
    'b = 2 a'
    """
    r, order = linalg.qr(factor, mode="r", pivoting=True)
    given, left_over = order[:rank], order[rank:]
    shares = np.linalg.solve(r[:rank, :rank], r[:rank, rank:])
    coefficients = shares / scales[given, None] * scales[left_over]
    parts = [
        f"{names[column]} = {_combination(coefficients[:, k], shares[:, k], given, names)}"
        for k, column in enumerate(left_over[:_MOST_COLUMNS])
    ]
    more = len(left_over) - len(parts)
    return ", ".join(parts) + (f", and {more} more" if more else "")


def _combination(coefficients: Array, shares: Array, given: Array, names: list[str]) -> str:
    large = np.flatnonzero(np.abs(shares) > _ROUNDING)
    if not len(large):
        return "constant"
    if len(large) > _MOST_TERMS:
        return f"a combination of {len(large)} columns"
    terms = [(coefficients[i], names[given[i]]) for i in large]
    text = " ".join(f"{'-' if c < 0 else '+'} {abs(c):.4g} {name}" for c, name in terms)
    return text.removeprefix("+ ")
