"""What numbers are measured in while a model learns, so that squares neither vanish nor overflow."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["TargetUnit", "learn_unit"]


class TargetUnit(NamedTuple):
    """An origin and a size.

    Attributes
    ----------
    centre : float
        The mean.
    size : float
        A power of two near the largest distance from it: dividing by it is exact.
    """

    centre: float
    size: float


def learn_unit(y: Array, weight: Array) -> TargetUnit:
    """Return the unit of targets (N,).

    Examples
    --------
    >>> learn_unit(np.array([1.0, 2.0, 6.0]), np.ones(3))
    TargetUnit(centre=3.0, size=4.0)
    """
    centre = float(np.average(y, weights=weight))
    largest = float(np.abs(y - centre).max())
    return TargetUnit(centre, float(np.exp2(np.frexp(largest)[1])) if largest > 0 else 1.0)
