"""Reading data: numbers of the right shape and size, or an error that says which are not."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from posteriori.distributions.base import Distribution
from posteriori.distributions.labels import encode_labels
from posteriori.numerics.symbol import Symbol
from posteriori.numerics.types import Array
from posteriori.numerics.validation import require_squares, unmasked

__all__ = ["read_input", "read_observation", "require_finite_observations", "require_values"]


def require_values(data: Mapping[str, Any]) -> None:
    """Refuse variables and distributions in the place of data, and rows of several lengths."""
    for name, value in data.items():
        items = value if isinstance(value, list | tuple) else (value,)
        for item in items:
            if isinstance(item, Symbol):
                raise TypeError(
                    f"{name} is given {item!r}, which has no value yet; data are numbers: what depends "
                    "on other variables is written in the model"
                )
            if isinstance(item, Distribution):
                raise TypeError(
                    f"{name} is given a {type(item).__name__} distribution; data are numbers, such as "
                    "draws by sample()"
                )
        try:
            np.shape(value)
        except ValueError:
            raise ValueError(
                f"{name} is ragged: its rows differ in length; fill them up with NaN where data are missing"
            ) from None


def read_input(name: str, values: Any) -> Array:
    """Return the numbers of an input, which are all known and finite."""
    array = _numbers(f"input {name}", np.asarray(unmasked(name, values)))
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
    values = unmasked(name, values)
    array = np.asarray(values)
    if labels is not None and array.dtype.kind not in "biuf":
        array = np.asarray(encode_labels(values, labels))
    return _numbers(name, array)


def _numbers(name: str, array: Any) -> Array:
    """Return real numbers, NaN for None; refuse everything else."""
    kind = array.dtype.kind
    if kind in "biuf":
        return np.asarray(array, dtype=np.float64)
    flat = array.ravel().tolist()
    for k, value in enumerate(flat):
        if kind != "O" or not (value is None or isinstance(value, Real)):
            where = np.unravel_index(k, array.shape)
            hint = "; strings are read by .astype(float)" if isinstance(value, str) else ""
            raise TypeError(f"{name} must hold numbers, got {_value_at(array, where)}{hint}")
    try:
        numbers = np.array([np.nan if v is None else float(v) for v in flat])
    except OverflowError:
        raise ValueError(f"{name} must be finite, got a whole number beyond 1e308") from None
    return numbers.reshape(array.shape)


def require_finite_observations(observed: Mapping[str, Array]) -> None:
    """Refuse infinite observations, and those whose squares would be."""
    for name, values in observed.items():
        wrong = np.argwhere(np.isinf(values))
        if len(wrong):
            raise ValueError(
                f"{name} must be finite, or NaN where it is missing, got "
                f"{_value_at(values, wrong[0])}"
            )
        require_squares(name, values)


def _value_at(array: Any, where: Any) -> str:
    value = array[tuple(where)]
    value = repr(str(value)) if isinstance(value, str) else value
    return f"{value} at index {', '.join(map(str, where))}" if len(where) else f"{value}"
