"""Points at which a fitted model is asked, with the names of the columns that it has seen."""

from __future__ import annotations

from typing import Any

from posteriori.estimators.contract import NamesColumns, offers
from posteriori.numerics.lazy import pandas
from posteriori.numerics.types import Array

__all__ = ["named_points", "seen_names"]


def named_points(model: Any, points: Array) -> Any:
    """Return points (N, D) as the model takes them without a warning."""
    if not offers(model, NamesColumns):
        return points
    return pandas.DataFrame(points, columns=model.feature_names_in_)


def seen_names(model: Any, otherwise: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the columns that a model has seen, or others."""
    return tuple(model.feature_names_in_) if offers(model, NamesColumns) else otherwise
