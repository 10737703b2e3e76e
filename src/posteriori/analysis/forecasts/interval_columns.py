"""Distributions of later steps as columns: medians, and ends of intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

__all__ = ["interval_columns"]


def interval_columns(dist: Any, mass: Sequence[float]) -> dict[str, Any]:
    """Return medians and ends of intervals by the names of their columns.

    Examples
    --------
    >>> from posteriori import Normal
    >>> list(interval_columns(Normal([0.0], variance=1.0), (0.8,)))
    ['median', 'lower_80', 'upper_80']
    """
    columns = {"median": np.asarray(dist.median)}
    for m in mass:
        name = f"{100 * m:g}"
        columns[f"lower_{name}"] = np.asarray(dist.quantile(0.5 - 0.5 * m))
        columns[f"upper_{name}"] = np.asarray(dist.quantile(0.5 + 0.5 * m))
    return columns
