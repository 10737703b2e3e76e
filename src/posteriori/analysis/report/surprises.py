"""Rows that a model did not expect."""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.analysis.cross_fitting import Unseen
from posteriori.numerics.types import Array

__all__ = ["expected_at_least", "surprising_rows"]


def surprising_rows(unseen: Unseen, codes: Any = None, *, most: int = 8) -> Array:
    """Return the rows of which a model expected fewer than one so improbable, worst first.

    Parameters
    ----------
    unseen : Unseen
    codes : (N,) of int, optional
        Places of the classes that came; for numbers there are none.
    most : int
        No more than this many are returned.
    """
    expected = expected_at_least(unseen, codes)
    order = np.lexsort((unseen.log_density, expected))[:most]
    return order[expected[order] < 1.0]


def expected_at_least(unseen: Unseen, codes: Any = None) -> Array:
    r"""Return how many rows at least as improbable as each the model expected among all, (N,).

    For numbers it is :math:`2N\min(F, 1 - F)`, F being the level of what came; for classes the sum of
    all probabilities, of any class in any row, up to that of the class that came.
    """
    if codes is None:
        level = unseen.level
        return 2.0 * len(level) * np.minimum(level, 1.0 - level)
    p = unseen.prediction
    came = p[np.arange(len(p)), codes]
    ascending = np.sort(p, axis=None)
    below = np.append(0.0, np.cumsum(ascending))
    # equal probabilities differ in their last digit from fold to fold
    return below[np.searchsorted(ascending, came * (1.0 + 1e-9), side="right")]
