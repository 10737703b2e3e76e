"""The one spelling of array types."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "IntArray", "Natural", "Seed"]

#: Float64 array; where the shape is (), the immutable scalar ``np.float64`` stands for it.
Array: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]

#: Natural parameters, mean parameters or sufficient statistics: one array per component.
Natural: TypeAlias = tuple[Array, ...]

#: What ``rng=`` accepts: a generator, a seed, or None for fresh entropy.
Seed: TypeAlias = np.random.Generator | int | None
