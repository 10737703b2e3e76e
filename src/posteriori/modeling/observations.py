"""Reading data: numbers of the right shape and size, or an error that says which are not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from posteriori.distributions.labels import encode_labels
from posteriori.numerics.types import Array

__all__ = ["read_input", "read_observation", "require_finite_observations"]


def read_input(name: str, values: Any) -> Array:
    """Return the numbers of an input, which are all known and finite."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(np.sum(array)):  # a sum is cheaper than a mask of all numbers
        wrong = np.argwhere(~np.isfinite(array))
        if len(wrong):
            raise ValueError(
                f"input {name} must be finite, got {_value_at(array, wrong[0])}; inputs cannot be "
                "missing: leave these rows out, or make the input a variable of the model"
            )
    return array


def read_observation(name: str, values: Any, labels: Any) -> Array:
    """Return observed numbers, or the numbers of observed labels; NaN where they are missing."""
    array = np.asarray(values)
    if labels is not None and array.dtype.kind not in "biuf":
        array = np.asarray(encode_labels(values, labels))
    if array.dtype.kind not in "biuf":
        raise TypeError(f"{name} must hold numbers, got dtype {array.dtype}")
    return array.astype(np.float64, copy=False)


def require_finite_observations(observed: Mapping[str, Array]) -> None:
    """Refuse infinite observations."""
    for name, values in observed.items():
        if np.isfinite(np.sum(values)):
            continue
        wrong = np.argwhere(np.isinf(values))
        if len(wrong):
            raise ValueError(
                f"{name} must be finite, or NaN where it is missing, got "
                f"{_value_at(values, wrong[0])}"
            )


def _value_at(array: Array, where: Array) -> str:
    value = array[tuple(where)]
    return f"{value} at index {', '.join(map(str, where))}" if len(where) else f"{value}"
