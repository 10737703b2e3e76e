"""Series of numbers as users give them: one array, or a list of arrays of different lengths."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["is_list_of_series"]


def is_list_of_series(y: Any, n_outputs: int) -> bool:
    """Tell a list of series from one series that is written as a list.

    Examples
    --------
    >>> is_list_of_series([1.0, 2.0], 1), is_list_of_series([[1.0, 2.0], [3.0]], 1)
    (False, True)
    >>> is_list_of_series([[1.0, 2.0], [3.0, 4.0]], 2)  # two observations
    False
    """
    if not isinstance(y, list | tuple) or not y:
        return False
    axes = {np.ndim(part) for part in y}
    if axes == {1} and n_outputs == 1:
        return any(len(part) != 1 for part in y)  # of numbers in brackets, a column
    return axes == {2} or axes == {1, 2}
