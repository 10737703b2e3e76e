"""The one spelling of array types."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

__all__ = ["Array", "IntArray", "Natural", "Seed", "number"]

#: Float64 array; where the shape is (), the immutable scalar ``np.float64`` stands for it.
#: (NumPy's stubs widen float64 to floating in linear algebra, hence no element type here.)
Array: TypeAlias = NDArray[Any]
IntArray: TypeAlias = NDArray[np.int64]

#: Natural parameters, mean parameters or sufficient statistics: one array per component.
Natural: TypeAlias = tuple[Array, ...]

#: What ``rng=`` accepts: a generator, a seed, or None for fresh entropy.
Seed: TypeAlias = np.random.Generator | int | None


def number(x: float) -> Array:
    """Return a number as the array of shape () that it stands for."""
    return np.float64(x)  # type: ignore[return-value]
