"""Series of numbers as users give them to systems: one array, or a list of arrays of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.sequence.sequence_rows import is_list_of_sequences

__all__ = ["is_list_of_series"]


def is_list_of_series(y: Any, n_outputs: int) -> bool:
    """Tell a list of series from one series that is written as a list.

    An array is never one: more axes are a batch. Lists of numbers are series where an observation is a
    number.

    Examples
    --------
    >>> is_list_of_series([1.0, 2.0], 1), is_list_of_series([[1.0, 2.0], [3.0]], 1)
    (False, True)
    >>> is_list_of_series([[1.0, 2.0], [3.0, 4.0]], 2)  # two observations
    False
    """
    if not isinstance(y, list | tuple):
        return False
    numbers = n_outputs == 1 and any(np.ndim(part) == 1 and len(part) != 1 for part in y)
    return numbers or is_list_of_sequences(y)
