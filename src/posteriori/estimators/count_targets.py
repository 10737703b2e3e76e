"""Checks of targets that are counts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from posteriori.numerics.types import Array

__all__ = ["check_counts"]


def check_counts(estimator: Any, y: Array, stacklevel: int = 3) -> None:
    """Refuse targets below 0, and warn of those that are not whole."""
    name = type(estimator).__name__
    if np.any(y < 0):
        row = int(np.argmax(y < 0))
        raise ValueError(f"{name} needs counts >= 0 as y, got {y[row]:g} in row {row}")
    if np.any(y != np.floor(y)):
        row = int(np.argmax(y != np.floor(y)))
        warnings.warn(
            f"{name} is a model of counts, but y is {y[row]:g} in row {row}; the log evidence of "
            "such targets compares with that of other models of counts only",
            UserWarning,
            stacklevel=stacklevel,
        )
