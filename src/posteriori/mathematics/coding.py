r"""One-of-K codes: category k of K as the unit vector :math:`e_k`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import as_observation, whole

__all__ = ["from_one_hot", "one_hot"]


def one_hot(codes: Any, n_categories: int | None = None, *, first: int = 0) -> Array:
    """Return the one-of-K code (..., K) of whole-number codes (...).

    Parameters
    ----------
    codes : int or array of int (...)
        Categories, counted from ``first``.
    n_categories : int, optional
        Number of categories K; by default just enough for the largest code.
    first : int
        The code of the first category: 1 for the faces of a die.

    Raises
    ------
    ValueError
        When a code is no whole number or not among the K categories.

    Examples
    --------
    >>> one_hot(3, 6, first=1)  # face 3 of a die
    array([0., 0., 1., 0., 0., 0.])
    """
    index = np.asarray(as_observation(codes, "codes")) - first
    if index.size and (np.any(index < 0) or not np.all(np.isfinite(index))):
        raise ValueError(f"codes must be whole numbers >= {first}, got {index.min() + first:g}")
    index = np.asarray(whole("codes", index))
    size = int(index.max(initial=-1)) + 1 if n_categories is None else n_categories
    if size < 1:
        raise ValueError(f"n_categories must be at least 1, got {size}")
    if np.any(index >= size):
        raise ValueError(
            f"codes must lie between {first} and {first + size - 1}, got {index.max() + first:g}"
        )
    return (index[..., None] == np.arange(size)) * 1.0


def from_one_hot(vectors: ArrayLike, *, first: int = 0) -> IntArray:
    """Return the codes (...) of one-of-K vectors (..., K): the inverse of :func:`one_hot`.

    Raises
    ------
    ValueError
        When a row is not a unit vector; take ``argmax`` of scores or probabilities instead.

    Examples
    --------
    >>> from_one_hot([[0, 0, 1], [1, 0, 0]])
    array([2, 0])
    """
    rows = np.asarray(as_observation(vectors, "vectors"))
    if rows.ndim < 1:
        raise ValueError("vectors must have a last axis of K categories, got a single number")
    valid = np.isin(rows, (0.0, 1.0)).all(axis=-1) & (rows.sum(axis=-1) == 1.0)
    if not np.all(valid):
        example = rows[~valid][0] if rows.ndim > 1 else rows
        raise ValueError(
            f"vectors must hold a single 1 among 0s, got {example}; "
            "use argmax for scores or probabilities"
        )
    return np.argmax(rows, axis=-1) + first
