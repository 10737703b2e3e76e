"""What values of chains check: laws of first states and of transitions, names of states."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from posteriori.distributions.labels import (
    LabelsLike,
    check_labels,
    decode_labels,
    encode_labels,
)
from posteriori.numerics.types import Array, IntArray
from posteriori.numerics.validation import probability_vector

__all__ = ["check_rows", "check_states", "decode_states", "encode_states", "log_of"]


def check_rows(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """Check probabilities of the given shape whose last axis sums to 1."""
    table = probability_vector(name, value)
    if table.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {table.shape}")
    return table


def check_states(states: LabelsLike | None, size: int) -> tuple[Hashable, ...] | None:
    """Check names of states: distinct, and as many as there are states."""
    if states is None:
        return None
    names = tuple(states.tolist() if isinstance(states, np.ndarray) else states)
    if len(names) != size:
        raise ValueError(f"states must name the {size} states, got {len(names)} names")
    return check_labels(names)


def encode_states(path: Any, states: tuple[Hashable, ...] | None, size: int) -> IntArray:
    """Turn a path of names, or of whole numbers 0 … K − 1, into numbers."""
    if states is not None:
        return np.asarray(encode_labels(path, states)).astype(np.int64)
    codes = np.asarray(path)
    if codes.dtype.kind not in "iub":
        whole = np.asarray(codes, dtype=float)
        if not np.all(whole == np.floor(whole)):
            raise ValueError(f"states must be whole numbers 0 … {size - 1}, got {path!r}")
    codes = codes.astype(np.int64)
    if codes.size and (codes.min() < 0 or codes.max() >= size):
        bad = codes[(codes < 0) | (codes >= size)].flat[0]
        raise ValueError(f"states must lie in 0 … {size - 1}, got {bad}")
    return codes


def decode_states(codes: IntArray, states: tuple[Hashable, ...] | None) -> Any:
    """Turn numbers of states into their names, where they have any."""
    return codes if states is None else decode_labels(codes, states)


def log_of(p: Array) -> Array:
    """Return ln p, −inf where p is 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(p))
