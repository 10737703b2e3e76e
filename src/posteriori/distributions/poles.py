"""Densities beside their poles, so that infinite ones can be compared.

At 0 the densities of Gamma(0.5, 1) and Gamma(0.6, 1) are both infinite; which of them is the larger
is seen at the number beside 0, and a point that was rounded to 0 lies there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from posteriori.numerics.types import Array
from posteriori.numerics.validation import as_observation

__all__ = ["log_prob_beside_poles"]


def log_prob_beside_poles(d: Any, x: Any) -> Array:
    """Return ln p(x), and where that is infinite its value at the next number within the support.

    Examples
    --------
    >>> from posteriori import Gamma
    >>> log_prob_beside_poles(Gamma([0.5, 0.5], [1.0, 4.0]), 0.0).round(6)  # twice as dense
    array([371.647671, 372.340818])
    """
    value: Array = d.log_prob(x)
    at_pole = np.asarray(value == np.inf)
    if not at_pole.any():
        return value
    points = as_observation(x)
    event = (1,) * len(d.event_shape)
    beside = np.nextafter(points, d._interior())
    there = d.log_prob(np.where(at_pole.reshape(at_pole.shape + event), beside, points))
    return np.where(at_pole, there, value)[()]
