"""Checks of what the generators are asked for: each names the argument, the value and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np

from posteriori.numerics.types import Array
from posteriori.numerics.validation import real

__all__ = ["count", "interval", "one_number", "vector"]


def count(name: str, value: Any, least: int = 1) -> int:
    """Check a whole number that is not below ``least``."""
    if not isinstance(value, Integral) or isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be an integer, got {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, got {value}")
    return int(value)


def one_number(name: str, value: Any, check: Callable[[str, Any], Array] = real) -> float:
    """Check one number, with a check of :mod:`posteriori.numerics.validation`."""
    checked = check(name, value)
    if np.ndim(checked):
        raise ValueError(f"{name} must be one number, got shape {checked.shape}")
    return float(checked)


def vector(name: str, value: Any, check: Callable[[str, Any], Array] = real) -> Array:
    """Check a list of at least one number."""
    checked = check(name, value)
    if np.ndim(checked) != 1 or not len(checked):
        raise ValueError(f"{name} must be a list of numbers, got shape {np.shape(checked)}")
    return checked


def interval(low: Any, high: Any) -> tuple[float, float]:
    """Check the ends of an interval."""
    a, b = one_number("low", low), one_number("high", high)
    if not a < b:
        raise ValueError(f"low must be below high, got low={a:g} and high={b:g}")
    return a, b
