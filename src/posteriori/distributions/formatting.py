"""How distributions print."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["format_distribution", "format_number"]


def format_distribution(family: str, parameters: Mapping[str, Any]) -> str:
    """Return constructor-like text, e.g. ``Normal(0.8, variance=0.8)``.

    A key that ends in "=" is printed before its value; values of None are left out.
    """
    parts = [
        f"{name}{_format(value)}" if name.endswith("=") else _format(value)
        for name, value in parameters.items()
        if value is not None
    ]
    return f"{family}({', '.join(parts)})"


def format_number(x: float) -> str:
    """Print a number with up to 6 decimals, or in scientific form when very large or small."""
    if x == 0 or 1e-4 <= abs(x) < 1e16:
        return np.format_float_positional(x, precision=6, unique=True, trim="-")
    return np.format_float_scientific(x, precision=6, unique=True, trim="-")


def _format(value: Any) -> str:
    if isinstance(value, tuple):
        return repr(value)
    array = np.asarray(value)
    if array.ndim == 0:
        return format_number(float(array))
    text = np.array2string(array, precision=6, separator=", ", threshold=12, edgeitems=2)
    return " ".join(text.split())
